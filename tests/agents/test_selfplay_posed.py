"""The sample of proposals: the first of each update, rolled back with the run, played again as it was written."""

import pytest

pytest.importorskip("torch")

from agents.rollout import Rollout
from agents.selfplay.__main__ import train
from agents.selfplay.pool import Posed
from agents.selfplay.posed import POSED, SAMPLE, PosedFile, read_posed
from agents.selfplay.posing import Proposal
from agents.selfplay.presets import configure
from benchmarks.experiment.page.replay import Replayer
from sesa_env.types import Question, Target
from sesa_env.worlds import make_world


def proposal(text, question="", reason=""):
    posed = Posed(Question("q", question, ("Corin",))) if question else None
    return Proposal(Target("t", "Corin", 2, ("C.",)), Rollout((), (), None, (), (text,), False), posed, reason, 0.0)


def test_the_first_proposals_of_each_update_are_kept(tmp_path):
    assert SAMPLE == 2
    file = PosedFile(tmp_path / POSED, 0)
    file.add(0, [proposal("a", "Who?"), proposal("b", reason="words"), proposal("c")])
    file.add(1, [proposal("d", "Why?", "duplicate")])
    rows = read_posed(tmp_path)
    assert [(row["step"], row["texts"], row["question"], row["reason"]) for row in rows] == [
        (0, ["a"], "Who?", ""), (0, ["b"], "", "words"), (1, ["d"], "Why?", "duplicate"),
    ]  # fmt: skip
    assert rows[0]["target"] == {"id": "t", "answer": "Corin", "hops": 2, "aliases": ["C."]}


def test_what_was_written_after_a_checkpoint_goes_with_it(tmp_path):
    path = tmp_path / POSED
    file = PosedFile(path, 0)
    for step in range(4):
        file.add(step, [proposal(f"at {step}")])
    before = path.read_bytes()
    path.write_bytes(before + b'{"step": 4, "half')
    again = PosedFile(path, 2)
    assert [row["step"] for row in read_posed(tmp_path)] == [0, 1]
    for step in (2, 3):
        again.add(step, [proposal(f"at {step}")])
    assert path.read_bytes() == before


def test_a_run_that_was_begun_without_a_sample_goes_on_with_one(tmp_path):
    assert read_posed(tmp_path) == []
    PosedFile(tmp_path / POSED, 7).add(7, [proposal("a")])
    assert [row["step"] for row in read_posed(tmp_path)] == [7]


def test_a_run_keeps_what_its_challenger_wrote_and_it_can_be_played_again(tmp_path):
    settings = {"world_options": {"seed": 1000, "size": 600, "n_targets": 50}, "rules": {"group_size": 2},
                "questions": {"per_update": 2}, "skills": {"bootstrap": 0}, "tensorboard": False}  # fmt: skip
    config = configure("quick", "ssp", updates=2, settings=[settings])
    out = train(config, tmp_path / "run")
    rows = read_posed(out)
    assert [row["step"] for row in rows] == [0, 0, 1, 1]
    world = make_world(config.world, **config.world_options)
    assert {row["target"]["id"] for row in rows} <= {target.id for target in world.targets}
    targets = [next(target for target in world.targets if target.id == row["target"]["id"]) for row in rows]
    for lines, row in zip(Replayer(world, config.rules).play(targets, [row["texts"] for row in rows]), rows, strict=True):
        assert [line.text for line in lines] == row["texts"]
        valid = not row["reason"] or row["reason"] == "duplicate"
        assert valid == bool(row["question"])
