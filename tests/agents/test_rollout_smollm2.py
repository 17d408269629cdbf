"""Rollouts of SmolLM2, a real language model: the invariants hold as they do for toys."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs the llm extra")
pytest.importorskip("transformers", reason="needs the llm extra")

from agents.policy import load_policy
from agents.rollout import Sampling, roll_out
from sesa_env.models import cache_folder
from tests.agents.leaning import toy_games
from tests.agents.test_rollout import assert_alike, assert_exact, assert_scored_alike

pytestmark = [
    pytest.mark.models,
    pytest.mark.skipif(not (cache_folder() / "models").is_dir(), reason="no model in the cache; type: sesa models get smollm2"),
]
SAMPLING = Sampling(turn_tokens=12, tokens=800)


@pytest.fixture(scope="module")
def policy():
    return load_policy("smollm2")


@settings(max_examples=3)
@given(seeds=st.lists(st.integers(0, 2**63), min_size=2, max_size=3), temperature=st.sampled_from([0.7, 1.0]))
def test_rollouts_are_exact(policy, seeds, temperature):
    games = toy_games(len(seeds), max_turns=2)
    rollouts = roll_out(policy, games, replace(SAMPLING, temperature=temperature), seeds)
    for game, rollout in zip(games, rollouts, strict=True):
        assert_exact(policy, game, rollout, temperature)
        assert_scored_alike(policy, rollout, temperature)


def test_the_batch_changes_nothing(policy):
    together = roll_out(policy, toy_games(3, max_turns=2), SAMPLING, range(3))
    alone = roll_out(policy, toy_games(3, max_turns=2), replace(SAMPLING, batch=1), range(3))
    assert_alike(together, alone)


def test_greedy_turns_are_those_of_generate(policy):
    rollouts = roll_out(policy, toy_games(2, max_turns=2), replace(SAMPLING, greedy=True), range(2))
    for rollout in rollouts:
        for start, stop in rollout.turns:
            with torch.no_grad():
                ids = policy.model.generate(
                    torch.tensor([rollout.ids[:start]]),
                    attention_mask=torch.ones(1, start, dtype=torch.long),
                    max_new_tokens=stop - start,
                    do_sample=False,
                )
            assert ids[0, start:].tolist() == list(rollout.ids[start:stop])
    assert max(len(rollout.turns) for rollout in rollouts) == 2
