"""Whole runs with `tiny`: what they leave, that arms do what they say, that a stopped run goes on to the same bits."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from agents.learner import TrainingError
from agents.selfplay.__main__ import main, train
from agents.selfplay.arms import budget, spent
from agents.selfplay.checkpoint import Checkpoints
from agents.selfplay.directory import open_directory
from agents.selfplay.guard import CollapseError
from agents.selfplay.loop import SelfPlay
from agents.selfplay.metrics import read_metrics, reproducible
from agents.selfplay.presets import configure
from sesa_env.errors import ConfigError, StoreError
from sesa_env.game import SearchGame
from sesa_env.memory.bank import SkillBank
from sesa_env.types import Role

DRIVER = Path(__file__).with_name("selfplay_kill_driver.py")
SMALL = {
    "world_options": {"seed": 1000, "size": 600, "n_targets": 50},
    "rules": {"group_size": 3},
    "questions": {"per_update": 4},
    "skills": {"bootstrap": 4, "mined": 2, "bank": {"consolidate_every": 1, "consolidate_min": 1}},
    "checkpoint_every": 2,
    "tensorboard": False,
}


def small(arm="sesa", updates=2, **fields):
    return configure("quick", arm, updates=updates, settings=[SMALL, fields])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return train(small(updates=3, tensorboard=True), tmp_path_factory.mktemp("runs") / "sesa")


def opened(out):
    return SkillBank.open(out / "bank.sqlite", run="selfplay", create=False)


def test_a_run_leaves_metrics_policies_a_bank_and_its_configuration(finished):
    rows = read_metrics(finished)
    assert [row["step"] for row in rows] == [0, 1, 2]
    assert spent(rows)["rollouts"] == budget(small(updates=3))["rollouts"]
    for row in rows:
        assert row["valid"] + sum(row["rejected"].values()) == row["proposed"] == 4
        assert sum(row["solve_rates"]) == row["questions"] == 4
        assert row["solver_tokens_sampled"] > 0
        assert row["solve_s"] > 0
    assert json.loads((finished / "config.json").read_text())["world_options"]["n_targets"] == 50
    with opened(finished) as bank:
        assert sum(card.provenance.origin == "seed" for card in bank.cards()) == 15
    assert [path.name for path in sorted((finished / "checkpoints").iterdir())] == ["000002", "000003"]
    assert list((finished / "tensorboard").iterdir())


def test_the_final_policies_are_plain_and_trained(finished):
    from transformers import AutoModelForCausalLM

    first = Checkpoints(finished)
    solver = AutoModelForCausalLM.from_pretrained(finished / "solver").state_dict()
    challenger = AutoModelForCausalLM.from_pretrained(finished / "challenger").state_dict()
    assert first.latest() == 3
    assert any(not torch.equal(solver[name], challenger[name]) for name in solver)


def test_a_finished_run_that_is_resumed_changes_nothing(finished):
    before = [reproducible(row) for row in read_metrics(finished)]
    weights = (finished / "solver" / "model.safetensors").read_bytes()
    with opened(finished) as bank:
        digest = bank.digest()
    train(small(updates=3, tensorboard=True), finished, resume=True)
    assert [reproducible(row) for row in read_metrics(finished)] == before
    assert (finished / "solver" / "model.safetensors").read_bytes() == weights
    with opened(finished) as bank:
        assert bank.digest() == digest


def test_a_directory_that_holds_something_else_is_refused(finished, tmp_path):
    with pytest.raises(ConfigError, match="type --resume"):
        train(small(updates=3), finished)
    with pytest.raises(ConfigError, match=r"rules\.group_size: 3 -> 2"):
        train(small(rules={"group_size": 2}), finished, resume=True)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="holds no run"):
        train(small(), tmp_path)


@pytest.mark.parametrize("arm", ["base", "ssp", "skillrl", "oracle", "leak"])
def test_arms_play_what_they_say(arm, tmp_path):
    out = train(small(arm, updates=2) if arm != "base" else small(arm), tmp_path / arm)
    rows = read_metrics(out)
    assert len(rows) == (0 if arm == "base" else 2)
    assert (out / "bank.sqlite").exists() == (arm not in ("ssp", "oracle"))
    assert (out / "challenger").exists() == (arm not in ("skillrl", "oracle"))
    assert ("challenger_loss" in (rows or [{}])[0]) == (arm in ("ssp", "leak"))
    if arm in ("skillrl", "oracle"):
        assert spent(rows)["rollouts"] == budget(small(arm))["rollouts"]
        assert all("valid" not in row for row in rows)


def test_a_finite_set_comes_again_and_a_stream_does_not(tmp_path):
    asked = {}
    for source in ("fixed", "stream"):
        config = small("oracle", questions={"source": source, "fixed": 6})
        open_directory(config, tmp_path / source, resume=False)
        run = SelfPlay(config, tmp_path / source)
        asked[source] = [slot.posed.question.text for step in range(6) for slot in run._questions(step)[1]]
    assert len(set(asked["fixed"])) == 6
    assert len(set(asked["stream"])) > 20


def test_only_the_leak_shows_the_challenger_cards(tmp_path):
    prompts = {}
    for arm in ("sesa", "leak"):
        config = small(arm)
        open_directory(config, tmp_path / arm, resume=False)
        run = SelfPlay(config, tmp_path / arm)
        policy = run._challenger(0)

        game = SearchGame(run.world, config.rules)
        game.reset(run.world.targets[0])
        assert game.view().role is Role.CHALLENGER
        assert game.view().cards == ()
        prompts[arm] = policy.decode(policy.prompt_ids(game.view()))
        run.close()
    assert "skills" not in prompts["sesa"]
    assert prompts["leak"].startswith("<skills>")
    assert prompts["leak"].endswith(prompts["sesa"])


def test_shared_parameters_are_one_policy(tmp_path):
    out = train(small(shared=True), tmp_path / "shared")
    assert (out / "solver" / "model.safetensors").read_bytes() == (out / "challenger" / "model.safetensors").read_bytes()
    assert not (out / "checkpoints" / "000002" / "challenger.safetensors").exists()


def test_the_solver_never_sees_a_bank_that_changes_within_a_step(tmp_path):
    """What the Challenger poses at the first step is the same whatever the bank holds (DESIGN: the memory is frozen)."""
    rows = {}
    for primed in (True, False):
        out = train(small(updates=1, skills={"primed": primed, "bootstrap": 0}), tmp_path / str(primed))
        rows[primed] = read_metrics(out)[0]
    names = ("valid", "rejected", "duplicates", "challenger_tokens_sampled", "hops_posed")
    assert [rows[True][name] for name in names] == [rows[False][name] for name in names]


def test_a_run_goes_on_further_than_it_was_meant_to(tmp_path):
    long = train(small(updates=4), tmp_path / "long")
    short = train(small(updates=2), tmp_path / "short")
    train(small(updates=4), short, resume=True)
    assert [reproducible(row) for row in read_metrics(long)] == [reproducible(row) for row in read_metrics(short)]
    assert (long / "solver" / "model.safetensors").read_bytes() == (short / "solver" / "model.safetensors").read_bytes()


def test_a_damaged_checkpoint_is_told(tmp_path):
    out = train(small(), tmp_path / "run")
    (out / "checkpoints" / "000002" / "state.json").write_text("{")
    with pytest.raises(StoreError, match=r"state\.json"):
        train(small(updates=3), out, resume=True)


class Broken:
    """A learner whose first update fails."""

    def __init__(self, learner):
        self.learner, self.broken = learner, True

    def update(self, samples):
        if self.broken:
            self.broken = False
            raise TrainingError("the loss is not finite")
        return self.learner.update(samples)

    def __getattr__(self, name):
        return getattr(self.learner, name)


@pytest.mark.parametrize("reaction", ["stop", "recover"])
def test_a_loss_that_is_not_finite_stops_or_goes_back_to_the_checkpoint(reaction, tmp_path, caplog):
    config = small(guard={"on_nan": reaction})
    open_directory(config, tmp_path / "run", resume=False)
    run = SelfPlay(config, tmp_path / "run")
    seat = run.seats["solver"]
    before = seat.policy.state_dict()
    run.seats["solver"] = replace(seat, learner=Broken(seat.learner))
    if reaction == "stop":
        with pytest.raises(TrainingError):
            run.update()
    else:
        assert run.update()["solver_recovered"] == 1
        assert "goes back to its checkpoint of 0 updates" in caplog.text
        assert all(torch.equal(weight, before[name]) for name, weight in seat.policy.state_dict().items())
        assert run.update()["solver_recovered"] == 0
    run.close()


def test_a_collapsed_challenger_stops_or_goes_back_to_a_healthy_checkpoint(tmp_path):
    never = {"validity": {"min_words": 900}}
    with pytest.raises(CollapseError, match="collapsed"):
        train(small(rules=never, guard={"patience": 2}), tmp_path / "stopped")
    config = small(updates=4, rules=never, guard={"patience": 2, "on_collapse": "recover"})
    open_directory(config, tmp_path / "run", resume=False)
    run = SelfPlay(config, tmp_path / "run")
    start = run.seats["challenger"].policy.state_dict()
    rows = [run.update() for _ in range(2)]
    assert [row["valid"] for row in rows] == [0, 0]
    assert [(row["questions"], row["ready"], row["replayed"]) for row in rows] == [(4, 4, 0)] * 2
    assert all(torch.equal(weight, start[name]) for name, weight in run.seats["challenger"].policy.state_dict().items())
    run.close()


def test_the_command_line_trains(tmp_path, capsys):
    arguments = ["--arm", "ssp", "--updates", "1", "--seed", "1000", "--out", str(tmp_path / "run")]
    for name, value in (
        ("world_options.size", 600),
        ("questions.per_update", 2),
        ("rules.group_size", 2),
        ("tensorboard", "false"),
    ):
        arguments += ["--set", f"{name}={value}"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["spent"]["proposed"] == 2
    assert "ssp 1/1" in captured.err


def kill(out, kills, seed, arm):
    done = subprocess.run(
        [sys.executable, str(DRIVER), str(out), str(kills), str(seed), arm],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["killed"] == kills
    # Where questions are posed, how often one is valid is the start policy's affair; ready ones are always learnt from.
    assert summary["learnt"]["challenger" if arm == "sesa" else "solver"] > 0
    return summary


@pytest.mark.parametrize("arm", ["sesa", "skillrl"])
def test_a_killed_run_ends_with_the_same_bits(arm, tmp_path):
    kill(tmp_path, 2, 1, arm)


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["sesa", "skillrl"])
def test_runs_killed_again_and_again_end_with_the_same_bits(arm, tmp_path):
    summary = kill(tmp_path, 30, 2, arm)
    assert summary["finished"] > 1
    assert len(summary["steps_seen"]) > 4
    assert arm == "sesa" or summary["births"] > 0
