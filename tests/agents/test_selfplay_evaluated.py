"""What training leaves is what evaluation plays: the same ids before the first turn, a Solver that needs no code of ours."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="needs the llm extra")

from agents import llm
from agents.demonstrations import QUICK_RULES
from agents.players import open_player
from agents.selfplay import loop
from agents.selfplay.__main__ import train
from agents.selfplay.presets import configure
from benchmarks.suites import open_world
from benchmarks.trained import read_run
from sesa_env.game import GameConfig, SearchGame
from sesa_env.plain import build
from sesa_env.play import play_questions
from tests.agents.taught import PLAIN_LOOP
from tests.benchmarks.runs import write_start

SETTINGS = {
    "world_options": {"seed": 1000, "size": 600, "n_targets": 50},
    "rules": {"group_size": 4},
    "questions": {"per_update": 3, "source": "stream"},
    "challenger": {"train": False},
    "skills": {"bootstrap": 0, "card_dropout": 0.5},
    "tensorboard": False,
}
BYTES = {"solver": {"sampling": {"turn_tokens": 8, "tokens": 3000}}}


class Recorded:
    """A memory that retrieves what training retrieved."""

    fingerprint = "recorded"

    def __init__(self, cards):
        self._cards = cards

    def retrieve(self, questions):
        return [self._cards[question] for question in questions]


def played(monkeypatch, module, name):
    """What a function gives from here on, in a list."""
    found, real = [], getattr(module, name)

    def recording(*arguments, **options):
        found.append((arguments, real(*arguments, **options)))
        return found[-1][1]

    monkeypatch.setattr(module, name, recording)
    return found


@pytest.mark.parametrize("start", ["tiny", "of bytes"])
def test_training_and_evaluation_begin_with_the_same_ids(start, tmp_path, monkeypatch):
    model = start if start == "tiny" else str(write_start(tmp_path / "start"))
    trained = played(monkeypatch, loop, "solve")
    settings = [SETTINGS, {} if start == "tiny" else BYTES]
    out = train(configure("quick", "sesa", model=model, updates=1, settings=settings), tmp_path / "run")
    ((_, _, _, slots, cards, _), solved) = trained[0]
    prompts = {True: {}, False: {}}
    for item in solved:
        for rollout, attempt in zip(item.rollouts, item.attempts, strict=True):
            prompts[bool(attempt.cards)][item.slot.posed.question.text] = rollout.ids[: rollout.turns[0][0]]
    assert prompts[True]
    assert prompts[False]

    run, evaluated = read_run(out), played(monkeypatch, llm, "roll_out")
    world, questions = open_world(run.world), [slot.posed.question for slot in slots]
    player = open_player(f"model:{run.solver}", world, model=run.model, sampling=run.sampling)
    memory = Recorded({slot.posed.question.text: shown for slot, shown in zip(slots, cards, strict=True)})
    for mode in (True, False):
        evaluated.clear()
        play_questions(world, questions, player, build(GameConfig, run.rules), memory=memory if mode else None)
        (_, rollouts) = evaluated[0]
        for question, rollout in zip(questions, rollouts, strict=True):
            if question.text in prompts[mode]:
                assert rollout.ids[: rollout.turns[0][0]] == prompts[mode][question.text]


def test_the_solver_of_a_run_answers_through_the_protocol_without_our_code(tmp_path):
    """A stranger has the directory, transformers, a prompt, and what a search shows; he is given no path to this project."""
    out = train(configure("quick", "sesa", updates=1, settings=[SETTINGS]), tmp_path / "run")
    run = read_run(out)
    world = open_world(run.test_world())
    player = open_player(f"model:{run.solver}", world, model=run.model, sampling=run.sampling)
    questions = list(world.graph.benchmark("nq", 40, split="test", seed=0))
    attempts = play_questions(world, questions, player, QUICK_RULES)
    question, attempt = next(
        pair for pair in zip(questions, attempts, strict=True) if len(pair[1].texts) == 2 and pair[1].end == "answered"
    )
    game = SearchGame(world, QUICK_RULES)
    game.reset(question)
    prompt, policy = player.policy.style.user(game.view()), player.policy
    shown = policy.decode(policy.observation_ids(game.act(attempt.texts[0]).observation))
    done = subprocess.run(
        [sys.executable, "-I", "-W", "ignore", str(PLAIN_LOOP), run.solver],
        input=json.dumps({"prompt": prompt, "shown": shown}), capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert tuple(done.stdout.splitlines()) == attempt.texts
