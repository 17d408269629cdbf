"""The pure functions of the objective against their equations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from agents.objective import (
    advantages,
    clipped,
    informative,
    low_variance_kl,
    penalised_returns,
    surrogate,
    token_weight,
    whiten,
)

REWARDS = [1.0, 0.0, 0.0, 0.0, 1.0, 0.6, 0.2]
GROUPS = [7, 7, 7, 7, -3, -3, -3]
EVERY = [True] * 7


def test_grpo_is_the_deviation_from_the_groups_mean_in_units_of_its_standard_deviation():
    found = advantages(REWARDS, GROUPS, EVERY, baseline="group", scale="group")
    first, second = np.array(REWARDS[:4]), np.array(REWARDS[4:])
    expected = [(g - g.mean()) / (g.std(ddof=1) + 1e-4) for g in (first, second)]
    assert found == pytest.approx(np.concatenate(expected))


def test_dr_grpo_leaves_the_deviation_as_it_is():
    found = advantages(REWARDS, GROUPS, EVERY, baseline="group", scale="none")
    assert found == pytest.approx([0.75, -0.25, -0.25, -0.25, 0.4, 0.0, -0.4])


def test_reinforce_takes_the_batchs_mean_or_an_earlier_one():
    assert advantages(REWARDS, GROUPS, EVERY, baseline="batch", scale="none") == pytest.approx(np.array(REWARDS) - 0.4)
    moving = advantages(REWARDS, GROUPS, EVERY, baseline="moving", scale="none", moving=0.25)
    assert moving == pytest.approx(np.array(REWARDS) - 0.25)
    assert advantages(REWARDS, GROUPS, EVERY, baseline="none", scale="none").tolist() == REWARDS


def test_the_order_of_samples_is_no_matter():
    order = np.random.default_rng(0).permutation(7)
    found = advantages(REWARDS, GROUPS, EVERY, baseline="group", scale="group")
    mixed = advantages([REWARDS[i] for i in order], [GROUPS[i] for i in order], EVERY, baseline="group", scale="group")
    assert mixed == pytest.approx(found[order])


@given(
    reward=st.floats(-1e3, 1e3),
    size=st.integers(1, 9),
    baseline=st.sampled_from(["group", "batch"]),
    scale=st.sampled_from(["group", "batch", "none", "tokens"]),
)
def test_equal_rewards_teach_exactly_nothing(reward, size, baseline, scale):
    assert not advantages([reward] * size, [0] * size, [True] * size, baseline=baseline, scale=scale).any()


def test_a_group_without_spread_teaches_nothing_beside_one_with():
    rewards, groups = [0.1, 0.1, 0.1, 0.0, 1.0], [0, 0, 0, 1, 1]
    found = advantages(rewards, groups, [True] * 5, baseline="group", scale="group")
    assert not found[:3].any()
    assert found[3] < 0 < found[4]
    assert informative(rewards, groups, [True] * 5) == (1, 2)


def test_a_rollout_scored_again_has_its_groups_advantage_and_changes_no_others():
    rewards, groups = [1.0, 1.0, 0.0, 0.0, 0.0], [4] * 5
    alone = advantages(rewards, groups, [True] * 5, baseline="group", scale="group")
    both = advantages([*rewards, 1.0, 1.0], [4] * 7, [*[True] * 5, False, False], baseline="group", scale="group")
    assert both[:5].tolist() == alone.tolist()
    assert both[5:].tolist() == [alone[0]] * 2
    assert informative([1.0, 0.0], [4, 4], [True, False]) == (0, 1)


def test_no_sample_at_all():
    assert advantages([], [], [], baseline="group", scale="group").tolist() == []
    assert informative([], [], []) == (0, 0)
    assert whiten(np.zeros(0), np.zeros(0)).tolist() == []


def test_reinforce_plus_plus_charges_each_token_with_the_kl_to_come():
    k1 = np.array([0.5, -0.25, 1.0])
    assert penalised_returns(np.full(3, 2.0), k1, 0.1) == pytest.approx([2 - 0.125, 2 - 0.075, 2 - 0.1])


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=20, unique=True))
def test_whitened_advantages_have_mean_zero_and_deviation_one(values):
    array = np.array(values)
    if array.std() > 1e-3:
        found = whiten(array, array)
        assert found.mean() == pytest.approx(0, abs=1e-6)
        assert found.std() == pytest.approx(1, abs=1e-4)


def test_whitening_goes_by_the_whole_batch_and_shrinks_from_equal_values():
    assert whiten(np.array([3.0]), np.array([1.0, 3.0])).tolist() == pytest.approx([1.0])
    assert whiten(np.array([0.1, 0.1]), np.array([0.1, 0.1, 0.1])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "moves"),
    [
        (1.0, 2.0, -2.0, True),
        (1.2, 1.0, -1.2, True),
        (1.4, 1.0, -1.285, False),  # risen enough
        (1.4, -1.0, 1.4, True),  # must come down
        (0.5, -1.0, 0.8, False),  # fallen enough
        (0.5, 1.0, -0.5, True),  # must come up
    ],
)
def test_the_clipped_surrogate(ratio, advantage, loss, moves):
    logprob = torch.tensor([-1.0], requires_grad=True)
    old = torch.tensor([-1.0]) - float(np.log(ratio))
    found, measured = surrogate(logprob, old, torch.tensor([advantage]), 0.2, 0.285)
    found.sum().backward()
    assert found.item() == pytest.approx(loss, abs=1e-5)
    assert measured.item() == pytest.approx(ratio, abs=1e-5)
    assert (logprob.grad.item() != 0) == moves
    assert clipped(measured, torch.tensor([advantage]), 0.2, 0.285).item() != moves


def test_on_policy_the_surrogates_gradient_is_reinforces():
    logprob = torch.tensor([-1.5, -0.2], requires_grad=True)
    advantage = torch.tensor([0.7, -1.3])
    surrogate(logprob, logprob.detach(), advantage, 0.2, 0.285)[0].sum().backward()
    assert logprob.grad.tolist() == (-advantage).tolist()


def test_the_low_variance_kl_is_never_negative_and_right_on_average():
    ours, theirs = torch.log_softmax(torch.tensor([0.3, 1.0, -0.5]), 0), torch.log_softmax(torch.tensor([1.0, 0.1, 0.2]), 0)
    each = low_variance_kl(ours, theirs)
    assert (each >= 0).all()
    assert (ours.exp() * each).sum().item() == pytest.approx((ours.exp() * (ours - theirs)).sum().item(), abs=1e-6)
    assert low_variance_kl(ours, ours).tolist() == [0, 0, 0]


@given(st.lists(st.tuples(st.integers(1, 50), st.sampled_from([0.5, 1.0, 2.0])), min_size=1, max_size=6))
def test_aggregations_by_their_definitions(batch):
    rng = np.random.default_rng(len(batch))
    losses = [rng.normal(size=tokens) for tokens, _ in batch]
    weights = np.array([weight for _, weight in batch])
    totals = {
        "all_tokens": float(sum(tokens * weight for tokens, weight in batch)),
        "all_weights": float(weights.sum()),
        "constant_length": 64,
    }

    def total(aggregation):
        return sum(
            token_weight(aggregation, tokens, weight, **totals) * loss.sum()
            for (tokens, weight), loss in zip(batch, losses, strict=True)
        )

    sums, means = np.array([loss.sum() for loss in losses]), np.array([loss.mean() for loss in losses])
    assert total("token") == pytest.approx((weights * sums).sum() / totals["all_tokens"])
    assert total("sequence") == pytest.approx((weights * means).sum() / weights.sum())
    assert total("constant") == pytest.approx((weights * sums).sum() / weights.sum() / 64)
