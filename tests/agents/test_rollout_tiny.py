"""Rollouts of the shipped `tiny`, which plays MiniWiki in earnest: the invariants hold as they do for toys."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs the llm extra")
pytest.importorskip("transformers", reason="needs the llm extra")

from agents.demonstrations import QUICK_RULES
from agents.policy import load_policy
from agents.rollout import Sampling, roll_out
from sesa_env.game import SearchGame
from sesa_env.worlds import make_world
from tests.agents.test_rollout import assert_alike, assert_exact, generated

SAMPLING = Sampling(turn_tokens=48, tokens=512)


@pytest.fixture(scope="module")
def policy():
    return load_policy("tiny")


@pytest.fixture(scope="module")
def world():
    return make_world("miniwiki", seed=1000, size=600, n_targets=20)


def games(world, count):
    """Solver games about different questions of one world."""
    made = [SearchGame(world, replace(QUICK_RULES, group_size=1)) for _ in range(count)]
    for game, question in zip(made, world.graph.benchmark("hotpotqa", count, split="test", seed=0), strict=True):
        game.reset(question)
    return made


@settings(max_examples=8)
@given(
    seeds=st.lists(st.integers(0, 2**63), min_size=1, max_size=5),
    temperature=st.sampled_from([0.5, 1.0, 1.7]),
    turn_tokens=st.integers(1, 48),
    tokens=st.integers(40, 512),
    batch=st.integers(1, 5),
)
def test_rollouts_are_exact(policy, world, seeds, temperature, turn_tokens, tokens, batch):
    playing = games(world, len(seeds))
    rollouts = roll_out(policy, playing, Sampling(temperature, False, turn_tokens, tokens, batch), seeds)
    for game, rollout in zip(playing, rollouts, strict=True):
        assert game.actor is None
        assert_exact(policy, game, rollout, temperature)
        assert len(rollout.ids) <= tokens or not rollout.turns


def test_greedy_turns_are_those_of_generate(policy, world):
    greedy = replace(SAMPLING, greedy=True)
    rollouts = roll_out(policy, games(world, 6), greedy, range(6))
    for rollout in rollouts:
        for start, stop in rollout.turns:
            assert generated(policy, list(rollout.ids[:start]), greedy.turn_tokens) == list(rollout.ids[start:stop])
    assert any(len(rollout.turns) > 1 for rollout in rollouts)


def test_the_batch_changes_nothing(policy, world):
    together = roll_out(policy, games(world, 6), SAMPLING, range(6))
    assert_alike(roll_out(policy, games(world, 6), replace(SAMPLING, batch=1), range(6)), together)
