"""What a step teaches: the rewards of both seats, as samples for their learners (paper, sections 1 and 2)."""

from collections.abc import Sequence

from agents.learner import Sample
from agents.policy import Policy
from agents.selfplay.config import RunConfig
from agents.selfplay.families import kind_of, repetition, wording_of
from agents.selfplay.posing import DUPLICATE, Proposal
from agents.selfplay.solving import Solved, without_cards
from sesa_env.rewards import challenger_reward
from sesa_env.worlds import World


def challenger_rewards(
    world: World, proposals: Sequence[Proposal], solved: Sequence[Solved], config: RunConfig
) -> list[float | None]:
    """Rewards each Challenger rollout.

    Args:
        world: where the questions were posed.
        proposals: the rollouts.
        solved: the questions that were solved, the valid proposals among them.
        config: the run's.

    Returns:
        For each proposal what the game gave it, and for a valid question the shaped reward of its solve rate, less the
        penalty for repeating others of the batch, which never takes it below an invalid question's reward, or the
        duplicate's reward. None where nothing can be said: a search failed, or all attempts at the question are void.
    """
    rates = {item.slot.proposal: item.solve_rate for item in solved if item.slot.proposal is not None}
    repeated = _repetition(world, proposals, config.questions.repetition)
    return [_reward(item, rates.get(place), repeated.get(place, 0.0), config) for place, item in enumerate(proposals)]


def _reward(item: Proposal, rate: float | None, repeated: float, config: RunConfig) -> float | None:
    if item.failed_searches:
        return None
    if item.reason == DUPLICATE:
        return item.earned + config.questions.duplicate_reward
    if item.posed is None:
        return item.earned
    if rate is None:
        return None
    shaped = challenger_reward(rate, config.rules.reward)
    penalised = shaped - config.questions.repetition_penalty * repeated
    return item.earned + max(penalised, min(shaped, config.rules.reward.invalid))


def _repetition(world: World, proposals: Sequence[Proposal], alike: str) -> dict[int, float]:
    valid = {place: item.posed.question for place, item in enumerate(proposals) if item.posed is not None}
    kinds = [kind_of(world, one) if alike == "kind" else wording_of(one) for one in valid.values()]
    return dict(zip(valid, repetition(kinds, len(proposals)), strict=True))


def challenger_samples(proposals: Sequence[Proposal], rewards: Sequence[float | None], config: RunConfig) -> list[Sample]:
    """Returns the Challenger's samples, grouped by what a reward is compared with: the batch, equal hops, or one target."""
    return [
        Sample(item.rollout, reward, _compared(place, item, config))
        for place, (item, reward) in enumerate(zip(proposals, rewards, strict=True))
        if reward is not None and item.rollout.turns
    ]


def _compared(place: int, item: Proposal, config: RunConfig) -> int:
    """The number of the group that a Challenger rollout is compared with."""
    if config.questions.baseline == "target":
        return place // config.questions.per_target
    return item.target.hops if config.questions.baseline == "hops" else 0


def solver_samples(solved: Sequence[Solved]) -> list[Sample]:
    """Returns the Solver's samples, a group for each question; void rollouts take no part."""
    return [
        Sample(item.rollouts[place], item.rewards[place], group)
        for group, item in enumerate(solved)
        for place in item.counted
        if item.rollouts[place].turns
    ]


def carry_over_samples(world: World, config: RunConfig, policy: Policy, solved: Sequence[Solved]) -> list[Sample]:
    """Returns the carry-over term: right rollouts that were shown a card, scored again without it.

    Each is compared with the group that it came from and takes no part in that group's mean, which it is in already.
    """
    if not config.skills.carry_over:
        return []
    return [
        Sample(without_cards(world, config, policy, item, place), item.rewards[place], group, config.skills.carry_over)
        for group, item in enumerate(solved)
        for place in item.counted
        if item.attempts[place].correct and item.attempts[place].cards
    ]
