"""Paired statistics: intervals of a mean difference and the exact McNemar test (paper, section 7).

A macro mean over 3,125 questions has a standard error near one point, so gains of one to three points can only be told from
noise by asking how the *same* questions changed. Everything here takes differences of paired scores; there is no unpaired
comparison.

With one seed the interval is the percentile interval over resampled questions: it speaks of other questions alone. With several
it speaks of other seeds, that is, of other worlds and other trainings, too:

- Nested seeds ask questions of their own. A seed's mean holds the noise of its questions already, so resampling questions
  within resampled seeds would count that twice (Davison & Hinkley 1997, section 3.8): the spread of the seeds' means is all
  there is.
- Crossed seeds ask the same questions, whose choice moves all of them together: to the variance of the seeds' spread that of
  the questions is added, from a bootstrap over them.

A bootstrap over few seeds understates their spread, by (S - 1) / S in variance and in its tails; so the spread is the unbiased
one, and the interval Student's with S - 1 degrees of freedom (Satterthwaite's for crossed seeds): for 6 seeds 2.57 standard
errors instead of 1.96, for 2 seeds 12.7. Tests hold that both kinds cover at 95 %, with little spread between seeds and with
much.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sesa_env.errors import ConfigError, missing_extra

Floats: TypeAlias = NDArray[np.float64]
RESAMPLES = 10_000
LEVEL = 0.95
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Estimate:
    """A mean difference with its 95 % interval, all in the unit of the score (0 to 1).

    Attributes:
        value: the mean difference.
        low: lower end of the interval.
        high: its upper end.
        error: the standard error.
        freedom: of Student's t, by which the interval of several seeds is made; infinite for one seed, whose interval is a
            bootstrap's percentiles.
    """

    value: float
    low: float
    high: float
    error: float = 0.0
    freedom: float = math.inf

    @property
    def p(self) -> float:
        """The two-sided p value of no difference, by Student's t; 0 for a difference that never varies."""
        if not self.error:
            return 0.0 if self.value else 1.0
        return float(2 * _student().sf(abs(self.value) / self.error, self.freedom))

    def at(self, level: float) -> tuple[float, float]:
        """The interval at another level, by Student's t.

        Args:
            level: in (0, 1), for example 0.99.
        """
        width = float(_student().ppf((1 + level) / 2, self.freedom)) * self.error if self.error else 0.0
        return self.value - width, self.value + width


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
    """Estimates the unweighted mean over benchmarks of the mean difference.

    Args:
        benchmarks: the differences of each benchmark; all with the same number of seeds.
        seed: seeds the resampling of questions, where there is any: of one seed, or of crossed ones.
        resamples: how many bootstrap samples to draw.

    Returns:
        The mean of the benchmarks' means with its interval (see above). The spread of several seeds is that of their means
        over all benchmarks; questions are resampled within each benchmark.
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
    seeds, total = counts.pop(), sum(weights.values())
    shares = {name: weights[name] / total for name in benchmarks}
    value = sum(shares[name] * each.mean for name, each in benchmarks.items())
    means = sum(shares[name] * np.array([one.mean() for one in each.by_seed]) for name, each in benchmarks.items())
    # The rounding errors of means of equal numbers are no spread.
    between = float(np.var(means, ddof=1)) / seeds if seeds > 1 and np.ptp(means) > _ROUNDING else 0.0
    crossed = all(each.crossed for each in benchmarks.values())
    if between and not crossed:
        return _student_interval(value, math.sqrt(between), seeds - 1)
    asked = _asked(benchmarks, shares, seed, resamples)
    if seeds == 1:
        ends = np.quantile(asked, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        # A sum of shares that is zero may come out as -2e-18, which must not make a verdict.
        low, high = (0.0 if abs(end) < _ROUNDING else float(end) for end in ends)
        return Estimate(value, low, high, float(asked.std()))
    within = float(asked.var())
    if between:
        return _student_interval(value, math.sqrt(between + within), (seeds - 1) * ((between + within) / between) ** 2)
    # Seeds that agree to the last digit say nothing of their spread: all that is left is that of their questions.
    return _student_interval(value, math.sqrt(within), math.inf if crossed else seeds - 1)


def _student_interval(value: float, error: float, freedom: float) -> Estimate:
    return Estimate(value, *Estimate(value, value, value, error, freedom).at(LEVEL), error, freedom)


def _asked(benchmarks: Mapping[str, Differences], shares: Mapping[str, float], seed: int, resamples: int) -> Floats:
    """Draws resampled means of the benchmarks together, their questions drawn anew; shape (resamples,)."""
    rng, asked = np.random.default_rng(seed), np.zeros(resamples)
    for name, each in benchmarks.items():
        asked += shares[name] * (_crossed_means if each.crossed else _nested_means)(each.by_seed, resamples, rng)
    return asked


def _nested_means(by_seed: Sequence[Floats], resamples: int, rng: np.random.Generator) -> Floats:
    """Draws resampled means where each seed draws its own questions; shape (resamples,).

    n draws with replacement from differences that take only a few distinct values are one multinomial draw over those values:
    the same distribution as drawing n indices, without ever holding resamples x n of them.
    """
    means = np.zeros(resamples)
    for one in by_seed:
        values, counts = np.unique(one, return_counts=True)
        means += rng.multinomial(len(one), counts / len(one), size=resamples) @ values / len(one)
    return np.asarray(means / len(by_seed))


def _crossed_means(by_seed: Sequence[Floats], resamples: int, rng: np.random.Generator) -> Floats:
    """Draws resampled means where all seeds share the drawn questions, each with its row of values; shape (resamples,)."""
    rows, counts = np.unique(np.stack(by_seed, axis=1), axis=0, return_counts=True)
    drawn = rng.multinomial(counts.sum(), counts / counts.sum(), size=resamples)
    return np.asarray((drawn @ rows / counts.sum()).mean(axis=1))


def _student() -> Any:
    try:
        from scipy.stats import t
    except ImportError as error:
        raise missing_extra("scipy", "bench") from error
    return t


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
