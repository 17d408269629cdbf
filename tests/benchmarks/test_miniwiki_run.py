"""The main claim in small: cards from failures of `naive` help `skilled`, about entities that no failure was about."""

from dataclasses import asdict, replace

import pytest

from benchmarks.arms import parse_arms
from benchmarks.banks import BANK_FILE
from benchmarks.config import make_config
from benchmarks.plan import make_plan
from benchmarks.preflight import check
from benchmarks.records import read_records
from benchmarks.scores import Scores
from benchmarks.units import RECORDS_FILE, UNITS, run_unit
from sesa_env.records import open_memory


@pytest.fixture(scope="module")
def plan():
    config = replace(make_config("miniwiki", "smoke", parse_arms(["skilled"]), questions=10), seeds=(3,), loop_steps=12)
    return make_plan(config, check(config).available)


def run(plan, root):
    for unit in plan.units:
        run_unit(asdict(unit), str(root))
    return [record for unit in plan.evaluations for record in read_records(root / UNITS / unit.id / RECORDS_FILE)]


@pytest.fixture(scope="module")
def finished(plan, tmp_path_factory):
    root = tmp_path_factory.mktemp("miniwiki")
    return root, run(plan, root)


def test_the_bank_helps(finished):
    comparison = Scores(finished[1]).compare(("skilled", "off"), ("skilled", "on"))
    assert comparison.macro.low > 0
    assert comparison.test.p < 0.05


def test_loop_bank_and_records_are_the_same_each_time(plan, finished, tmp_path):
    root, records = finished
    assert run(plan, tmp_path) == records
    bank = f"{UNITS}/{plan.banks[0].id}/{BANK_FILE}"
    assert open_memory(str(tmp_path / bank)).fingerprint == open_memory(str(root / bank)).fingerprint


def test_only_on_mode_is_shown_cards(finished):
    records = finished[1]
    assert all(record["cards"] == [] for record in records if record["mode"] == "off")
    assert any(record["cards"] for record in records if record["mode"] == "on")
