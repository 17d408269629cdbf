"""Paired statistics: bootstrap intervals of a mean difference and the exact McNemar test (paper, section 7).

A macro mean over 3,125 questions has a standard error near one point, so gains of one to three points can only be told from
noise by asking how the *same* questions changed. Everything here takes differences of paired scores; there is no unpaired
comparison.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sesa_env.errors import ConfigError, missing_extra

Floats: TypeAlias = NDArray[np.float64]
RESAMPLES = 10_000
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean difference with its 95 % bootstrap interval, all in the unit of the score (0 to 1)."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class McNemar:
    """The exact McNemar test.

    Attributes:
        gained: pairs wrong before and right after.
        lost: pairs right before and wrong after.
        p: two-sided exact p value; 1.0 where no pair changed.
    """

    gained: int
    lost: int
    p: float


@dataclass(frozen=True)
class Differences:
    """Paired differences (after minus before) of one benchmark.

    Attributes:
        by_seed: one array for each seed, of one difference for each question.
        crossed: every seed asked the very same questions of the same world; then a question is drawn once for all seeds.
            Otherwise the questions are nested in the seeds, and each drawn seed draws its own.
    """

    by_seed: tuple[Floats, ...]
    crossed: bool

    def __post_init__(self) -> None:
        if not self.by_seed or any(len(seed) == 0 for seed in self.by_seed):
            raise ConfigError(
                "a paired comparison needs at least one seed and one question in each; check that all units are finished"
            )
        if self.crossed and len({len(seed) for seed in self.by_seed}) > 1:
            raise ConfigError("crossed seeds must have the same questions, but their numbers differ")

    @property
    def size(self) -> int:
        """How many pairs there are."""
        return sum(len(seed) for seed in self.by_seed)

    @property
    def mean(self) -> float:
        """The mean over seeds of the mean over questions."""
        return float(np.mean([seed.mean() for seed in self.by_seed]))


def macro_interval(benchmarks: Mapping[str, Differences], *, seed: int = 0, resamples: int = RESAMPLES) -> Estimate:
    """Estimates the unweighted mean over benchmarks of the mean difference, questions resampled within each benchmark.

    Args:
        benchmarks: the differences of each benchmark; all with the same number of seeds.
        seed: seeds the resampling.
        resamples: how many bootstrap samples to draw.

    Returns:
        The mean of the benchmarks' means, with its percentile interval. With several seeds the seeds are resampled too, the
        same ones for all benchmarks, so the interval speaks about new worlds and not only about new questions. With S seeds
        the bootstrap understates the variance *between* seeds by a factor (S - 1) / S.
    """
    return _interval(benchmarks, dict.fromkeys(benchmarks, 1.0), seed, resamples)


def micro_interval(benchmarks: Mapping[str, Differences], *, seed: int = 0, resamples: int = RESAMPLES) -> Estimate:
    """Estimates the mean over all questions: as `macro_interval`, each benchmark weighted by its number of questions."""
    return _interval(benchmarks, {name: float(each.size) for name, each in benchmarks.items()}, seed, resamples)


def interval(differences: Differences, *, seed: int = 0, resamples: int = RESAMPLES) -> Estimate:
    """Estimates the mean difference of one benchmark, as `macro_interval` of that benchmark alone."""
    return macro_interval({"": differences}, seed=seed, resamples=resamples)


def _interval(benchmarks: Mapping[str, Differences], weights: Mapping[str, float], seed: int, resamples: int) -> Estimate:
    counts = {len(each.by_seed) for each in benchmarks.values()}
    if len(counts) != 1:
        raise ConfigError(f"benchmarks to be averaged must have the same seeds, but the numbers of seeds are {sorted(counts)}")
    rng = np.random.default_rng(seed)
    seeds = counts.pop()
    slots = rng.integers(seeds, size=(resamples, seeds))
    total = sum(weights.values())
    means = np.zeros(resamples)
    for name, each in benchmarks.items():
        draw = _crossed_means if each.crossed else _nested_means
        means += weights[name] / total * draw(each.by_seed, slots, rng)
    value = sum(weights[name] / total * each.mean for name, each in benchmarks.items())
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, float(low), float(high))


def _nested_means(by_seed: Sequence[Floats], slots: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Draws resampled means where each drawn seed draws its own questions; shape (resamples,).

    n draws with replacement from differences that take only a few distinct values are one multinomial draw over those values:
    the same distribution as drawing n indices, without ever holding resamples x n of them.
    """
    values = np.unique(np.concatenate(by_seed))
    sizes = np.array([len(seed) for seed in by_seed])
    shares = np.stack([(seed[:, None] == values).mean(axis=0) for seed in by_seed])
    means = np.zeros(len(slots))
    for slot in slots.T:
        means += rng.multinomial(sizes[slot], shares[slot]) @ values / sizes[slot]
    return np.asarray(means / slots.shape[1])


def _crossed_means(by_seed: Sequence[Floats], slots: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Draws resampled means where all seeds share the drawn questions, each with its row of values; shape (resamples,)."""
    rows, counts = np.unique(np.stack(by_seed, axis=1), axis=0, return_counts=True)
    drawn = rng.multinomial(counts.sum(), counts / counts.sum(), size=len(slots))
    means: Floats = np.take_along_axis(drawn @ rows / counts.sum(), slots, axis=1)
    return np.asarray(means.mean(axis=1))


def mcnemar(before: NDArray[np.bool_], after: NDArray[np.bool_]) -> McNemar:
    """Tests whether as many questions were gained as lost, exactly (binomial, two-sided).

    Args:
        before: right or wrong, shape (questions,).
        after: the same questions, in the same order.

    Raises:
        ConfigError: the shapes differ, or scipy is not installed.
    """
    try:
        from scipy.stats import binomtest
    except ImportError as error:
        raise missing_extra("scipy", "bench") from error
    if before.shape != after.shape:
        raise ConfigError(f"McNemar's test needs the same questions twice, but got {before.shape} and {after.shape}")
    gained, lost = int(np.sum(~before & after)), int(np.sum(before & ~after))
    p = float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
    return McNemar(gained, lost, p)
