"""Coupling: distances by hand, what is paired, and branches that go on from one checkpoint with another bank."""

import shutil

import pytest

pytest.importorskip("torch", reason="needs the llm extra")

from agents.selfplay.__main__ import train
from agents.selfplay.branch import EMPTY, branch
from agents.selfplay.config import RunConfig
from agents.selfplay.directory import stored_config
from agents.selfplay.metrics import read_metrics
from agents.selfplay.presets import configure
from benchmarks.experiment.coupling import Coupled, branches, distance, is_branched, measure, train_branch
from benchmarks.experiment.design import Coupling
from benchmarks.experiment.training import run_directory
from sesa_env.errors import ConfigError
from sesa_env.memory.bank import SkillBank
from sesa_env.plain import build

SMALL = {"questions": {"per_update": 2}, "rules": {"group_size": 2}, "skills": {"bootstrap": 2}, "tensorboard": False}


def test_distances_by_hand():
    assert distance({"a": 3, "b": 3}, {"a": 1, "b": 1}) == pytest.approx(0, abs=1e-6)
    assert distance({"a": 2}, {"b": 5}) == pytest.approx(1)
    assert 0 < distance({"a": 3, "b": 1}, {"a": 1, "b": 3}) < 1


def test_what_an_exchanged_bank_moves_is_beyond_chance_or_not():
    far, near = (0.4, 0.43, 0.4, 0.41), (0.21, 0.2, 0.22, 0.18)
    moved = Coupled(null=(0.2, 0.22, 0.21, 0.19), empty=far, other=near, start=far)
    assert moved.beyond_null("empty").low > 0
    assert moved.beyond_null("other").low < 0 < moved.beyond_null("other").high


def test_each_run_has_two_continuations_of_its_own_one_empty_and_one_of_another():
    coupling = Coupling("main", "sesa", (4, 5), 3, 10)
    found = branches(coupling, {("main", "sesa", seed): f"cell-{seed}" for seed in (4, 5)})
    assert [(one.seed, one.bank, one.donor) for one in found[:5]] == [
        (4, "own", "cell-5"), (4, "own", "cell-5"), (4, "empty", "cell-5"), (4, "other", "cell-5"), (4, "start", "cell-5"),
    ]  # fmt: skip
    assert found[-1].donor == "cell-4"
    assert len({one.draws for one in found}) == len({one.id for one in found}) == 10


@pytest.fixture(scope="module")
def parent(tmp_path_factory):
    root = tmp_path_factory.mktemp("experiment")
    config = configure("quick", "sesa", updates=2, seed=1000, settings=[SMALL])
    train(config, run_directory(root, "cell-0"), show=False)
    return root


def cards(path):
    with SkillBank.open(path, create=False) as bank:
        return {card.id for card in bank.cards()}


def test_a_branch_goes_on_from_the_checkpoint_with_the_bank_that_it_is_given(parent, tmp_path):
    run = run_directory(parent, "cell-0")
    before = sorted((path, path.stat().st_mtime_ns) for path in run.rglob("*"))
    own, empty = tmp_path / "own", tmp_path / "empty"
    branch(run, own, 7)
    branch(run, empty, 7, EMPTY)
    assert sorted((path, path.stat().st_mtime_ns) for path in run.rglob("*")) == before
    assert (cards(own / "checkpoints/000002/bank.sqlite"), cards(empty / "checkpoints/000002/bank.sqlite")) == (
        cards(run / "bank.sqlite"), set(),
    )  # fmt: skip
    config = stored_config(own)
    assert (config.seed, config.world_options["seed"], config.updates) == (7, 1000, 2)
    train(build(RunConfig, {**config.to_json(), "updates": 3}, "test"), own, resume=True, show=False)
    assert [row["step"] for row in read_metrics(own)] == [0, 1, 2]
    assert read_metrics(own)[:2] == read_metrics(run)


def test_a_place_that_is_taken_and_a_run_without_a_checkpoint_are_refused(parent, tmp_path):
    run = run_directory(parent, "cell-0")
    with pytest.raises(ConfigError, match="nothing in"):
        branch(run, tmp_path, 7)
    broken = tmp_path / "broken"
    shutil.copytree(run, broken)
    shutil.rmtree(broken / "checkpoints")
    with pytest.raises(ConfigError, match="expected a run with a checkpoint"):
        branch(broken, tmp_path / "child", 7)


def test_branches_are_trained_and_measured(parent):
    coupling = Coupling("main", "sesa", (0,), 1, 6)
    found = branches(coupling, {("main", "sesa", 0): "cell-0"})
    for one in found:
        assert not is_branched(parent, one)
        train_branch({**one.__dict__}, str(parent))
        assert is_branched(parent, one)
    assert not run_directory(parent, found[-1].id).exists()  # the start policy is asked, and not trained
    coupled = measure(coupling, parent, found)
    assert all(0 <= value <= 1 for value in (*coupled.null, *coupled.empty, *coupled.other, *coupled.start))
