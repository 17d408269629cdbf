"""A unit of work: plain data in, files out, the same ones each time, whole or not at all."""

import json
from dataclasses import asdict

import pytest

from benchmarks import units
from benchmarks.arms import parse_arms
from benchmarks.config import make_config
from benchmarks.directory import begin
from benchmarks.plan import make_plan
from benchmarks.suites import BENCHMARKS
from benchmarks.units import discard_unfinished, is_finished, run_unit, unit_from_json
from sesa_env.errors import RetrievalError
from sesa_env.types import Attempt

BOLD = "bold=tests.benchmarks.tiny:bold"


@pytest.fixture
def plan(tiny_data):
    config = make_config("flashrag", "smoke", parse_arms([BOLD]), data=str(tiny_data))
    return make_plan(config, dict.fromkeys(BENCHMARKS, 4))


def test_units_survive_json(plan):
    for unit in plan.units:
        assert unit_from_json(json.loads(json.dumps(asdict(unit)))) == unit


def test_a_unit_leaves_the_same_files_wherever_it_runs(plan, tmp_path):
    for root in ("one", "two"):
        for unit in (plan.banks[0], plan.evaluations[2]):
            run_unit(json.loads(json.dumps(asdict(unit))), str(tmp_path / root))
    name = f"units/{plan.evaluations[2].id}/records.jsonl"
    assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert len((tmp_path / "one" / name).read_text().splitlines()) == 8


def test_a_unit_repeated_beside_its_result_keeps_it(plan, tmp_path):
    for _ in range(2):
        run_unit(asdict(plan.banks[0]), str(tmp_path))
    assert [path.name for path in (tmp_path / "units").iterdir()] == [plan.banks[0].id]


def test_a_unit_that_fails_leaves_nothing(plan, tmp_path, monkeypatch):
    def broken(*arguments):
        raise RuntimeError("no disk")

    monkeypatch.setattr(units, "write_records", broken)
    run_unit(asdict(plan.banks[0]), str(tmp_path))
    with pytest.raises(RuntimeError, match="no disk"):
        run_unit(asdict(plan.evaluations[0]), str(tmp_path))
    assert not is_finished(tmp_path, plan.evaluations[0].id)
    assert [path.name for path in (tmp_path / "units").iterdir()] == [plan.banks[0].id]


def test_a_failed_search_stops_the_unit(plan, tmp_path, monkeypatch):
    def failed(world, questions, *rest, **options):
        return [Attempt("", correct=False, malformed=True, failed_searches=1) for _ in questions]

    monkeypatch.setattr(units, "play_questions", failed)
    run_unit(asdict(plan.banks[0]), str(tmp_path))
    with pytest.raises(RetrievalError, match="4 searches failed, so its scores would mean nothing"):
        run_unit(asdict(plan.evaluations[0]), str(tmp_path))
    assert not is_finished(tmp_path, plan.evaluations[0].id)


def test_what_a_killed_unit_left_is_discarded(plan, tmp_path):
    run_unit(asdict(plan.banks[0]), str(tmp_path))
    (tmp_path / "units" / ".unfinished-eval-x-7").mkdir()
    (tmp_path / "units" / ".unfinished-eval-x-7" / "records.jsonl").write_text("{")
    discard_unfinished(tmp_path)
    assert [path.name for path in (tmp_path / "units").iterdir()] == [plan.banks[0].id]


def test_one_unit_can_be_run_by_hand(plan, tiny_data, tmp_path, capsysbinary):
    config = make_config("flashrag", "smoke", parse_arms([BOLD]), data=str(tiny_data))
    begin(tmp_path, config, plan, "world")
    assert units.main([str(tmp_path), plan.banks[0].id]) == 0
    assert json.loads(capsysbinary.readouterr().out)["id"] == plan.banks[0].id
    assert is_finished(tmp_path, plan.banks[0].id)
    assert units.main([str(tmp_path), "x"]) == 2
    assert "has no unit 'x'" in capsysbinary.readouterr().err.decode()
    assert units.main([]) == 2
