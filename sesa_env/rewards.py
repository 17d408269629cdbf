"""The rewards, one small function each, by name."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from sesa_env.errors import ConfigError
from sesa_env.plugins import find_plugin

ChallengerReward = Callable[[float, "RewardConfig"], float]
"""A reward for a valid question: a function of its solve rate p, in [0, 1], and of the numbers in the configuration."""


_NUMBERS = ("end_penalty", "frontier_low", "frontier_high", "invalid", "malformed", "gaussian_mean", "gaussian_width")


@dataclass(frozen=True, slots=True)
class RewardConfig:
    """The numbers in the rewards, with the paper's values or, where the paper gives none, this project's."""

    challenger: str = "bell"
    """The Challenger's reward for a valid question: a key of `CHALLENGER_REWARDS`, or anyone's own as `module:function`."""
    end_penalty: float = 0.1
    """lambda: the bell's penalty when nobody or everybody solves the question (section 2); not given in the paper."""
    frontier_low: float = 0.0
    """l in the bell's 4 (l + p)(h - p) (section 2)."""
    frontier_high: float = 1.0
    """h in the same."""
    invalid: float = 0.0
    """The Challenger's reward for an invalid question; not given in the paper. SSP saw -0.1 end in a death spiral."""
    malformed: float = 0.1
    """Taken from a player's reward for each turn that is not a well-formed action; 0 gives the paper's pure 0/1 reward."""
    gaussian_mean: float = 0.5
    """The solve rate that the Gaussian reward prefers."""
    gaussian_width: float = 0.2
    """The Gaussian reward's standard deviation, in units of the solve rate."""

    def __post_init__(self) -> None:
        """Refuses values that no reward can be made of."""
        find_reward(self.challenger)
        if self.gaussian_width <= 0:
            raise ConfigError(f"gaussian_width: expected a number above 0; got {self.gaussian_width}")
        for name in _NUMBERS:
            if not math.isfinite(getattr(self, name)):
                raise ConfigError(f"{name}: expected a finite number; got {getattr(self, name)}")


def bell(solve_rate: float, config: RewardConfig) -> float:
    """Frontier shaping (section 2): 4 (l + p)(h - p) inside (0, 1), -lambda at the ends. At G = 5: .64 .96 .96 .64."""
    if solve_rate <= 0.0 or solve_rate >= 1.0:
        return -config.end_penalty
    return 4.0 * (config.frontier_low + solve_rate) * (config.frontier_high - solve_rate)


def one_minus_p(solve_rate: float, config: RewardConfig) -> float:
    """SSP's reward (section 2): the harder the better."""
    return 1.0 - solve_rate


def gaussian(solve_rate: float, config: RewardConfig) -> float:
    """A Gaussian around a preferred solve rate: smooth, and positive at the ends."""
    deviation = (solve_rate - config.gaussian_mean) / config.gaussian_width
    return math.exp(-0.5 * deviation * deviation)


def format_only(solve_rate: float, config: RewardConfig) -> float:
    """1 for any valid question, however hard."""
    return 1.0


CHALLENGER_REWARDS: Mapping[str, ChallengerReward] = {
    "bell": bell,
    "one_minus_p": one_minus_p,
    "gaussian": gaussian,
    "format_only": format_only,
}


@lru_cache(maxsize=64)
def find_reward(name: str) -> ChallengerReward:
    """Finds a Challenger's reward by name.

    Args:
        name: a key of `CHALLENGER_REWARDS`, or "module:function"; the module must be importable.

    Returns:
        The function `(solve_rate, config) -> float`.

    Raises:
        ConfigError: there is no such reward.
    """
    if (own := CHALLENGER_REWARDS.get(name)) is not None:
        return own
    names = {known: f"{__name__}:{known}" for known in sorted(CHALLENGER_REWARDS)}
    return find_plugin(
        "challenger reward", name, names, "for example my_rewards:steep, a function (solve_rate, config) -> float"
    )


def challenger_reward(solve_rate: float, config: RewardConfig) -> float:
    """The Challenger's reward for a valid question that a share `solve_rate` of its Solver group solved.

    Args:
        solve_rate: p, in [0, 1].
        config: which reward, and its numbers.

    Returns:
        The reward; at most 1 for every built-in function with the default numbers.

    Raises:
        ConfigError: a reward of one's own gave something else than a finite number.
    """
    reward = find_reward(config.challenger)(solve_rate, config)
    if not isinstance(reward, int | float) or not math.isfinite(reward):
        raise ConfigError(
            f"challenger reward {config.challenger!r}: expected a finite number for p = {solve_rate}; got {reward!r}"
        )
    return float(reward)
