"""Scores out of records: means by arm, mode and benchmark, and the pairing of two of them question by question."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.records import Record
from benchmarks.stats import Differences, Estimate, McNemar, interval, macro_interval, mcnemar, micro_interval
from sesa_env.errors import ConfigError

METRICS = ("em", "f1", "hit@1", "hit@3", "searches", "tokens")
JUDGED = "judged"
"""The score of a run with a judge: exact match, or right in a model's eyes. Answers that were not judged have none (NaN)."""
_TESTED = ("em", JUDGED)
Side: TypeAlias = tuple[str, str]
"""An arm's name and its mode, "off" or "on"."""
Item: TypeAlias = tuple[str, str]
"""World fingerprint and question id: what makes two answers answers to the same question."""


@dataclass(frozen=True)
class SeedScores:
    """One seed's scores on one benchmark: the items in sorted order, and one array of scores for each metric."""

    items: tuple[Item, ...]
    values: Mapping[str, NDArray[np.float64]]

    def mean(self, metric: str) -> float:
        """The mean over the questions that have this score; NaN if none has."""
        known = self.values[metric][~np.isnan(self.values[metric])]
        return float(known.mean()) if len(known) else float("nan")


@dataclass(frozen=True)
class Comparison:
    """Two sides on the same questions.

    Attributes:
        before: the side compared with.
        after: the side compared.
        metric: the score compared.
        benchmarks: the mean difference of each benchmark.
        macro: the unweighted mean of the benchmarks' differences.
        micro: the difference over all questions.
        tests: McNemar's test for each benchmark (empty unless the metric is "em" or "judged").
        test: McNemar's test over all questions; None likewise.
    """

    before: Side
    after: Side
    metric: str
    benchmarks: Mapping[str, Estimate]
    macro: Estimate
    micro: Estimate
    tests: Mapping[str, McNemar] = field(default_factory=dict)
    test: McNemar | None = None


class Scores:
    """All scores of a run.

    Args:
        records: the run's records, in any order.

    Attributes:
        benchmarks: the benchmarks, in the order in which they first come.
        sides: the (arm, mode) pairs, in the order in which they first come.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        grouped: dict[tuple[Side, str], dict[int, dict[Item, Record]]] = defaultdict(lambda: defaultdict(dict))
        for record in records:
            seeds = grouped[(record["arm"], record["mode"]), record["benchmark"]]
            seeds[record["seed"]][record["world"], record["id"]] = record
        self._scores = {key: {seed: _seed_scores(seeds[seed]) for seed in sorted(seeds)} for key, seeds in grouped.items()}
        self.sides: list[Side] = list(dict.fromkeys(side for side, _ in self._scores))
        self.benchmarks: list[str] = list(dict.fromkeys(benchmark for _, benchmark in self._scores))

    def size(self, benchmark: str) -> int:
        """How many questions a seed asks of a benchmark."""
        return len(next(iter(self._of(self.sides[0], benchmark).values())).items)

    @property
    def judged(self) -> bool:
        """Whether there was a judge."""
        return all(JUDGED in seed.values for seeds in self._scores.values() for seed in seeds.values())

    def not_judged(self, side: Side, benchmark: str) -> int:
        """How many answers were not judged, over all seeds."""
        return sum(int(np.isnan(seed.values[JUDGED]).sum()) for seed in self._of(side, benchmark).values())

    def mean(self, side: Side, benchmark: str, metric: str) -> float:
        """The mean over seeds of the mean over questions."""
        return float(np.mean([seed.mean(metric) for seed in self._of(side, benchmark).values()]))

    def macro(self, side: Side, metric: str) -> float:
        """The unweighted mean of the benchmarks' means: the paper's headline."""
        return float(np.mean([self.mean(side, benchmark, metric) for benchmark in self.benchmarks]))

    def macro_by_seed(self, side: Side, metric: str) -> list[float]:
        """The macro mean of each seed, in the order of the seeds."""
        each = [[seed.mean(metric) for seed in self._of(side, benchmark).values()] for benchmark in self.benchmarks]
        return [float(mean) for mean in np.mean(each, axis=0)]

    def micro(self, side: Side, metric: str) -> float:
        """The mean over all questions of a seed, averaged over seeds."""
        sizes = [self.size(benchmark) for benchmark in self.benchmarks]
        return float(np.average([self.mean(side, benchmark, metric) for benchmark in self.benchmarks], weights=sizes))

    def compare(self, before: Side, after: Side, metric: str = "em") -> Comparison:
        """Compares two sides, paired by question, over the seeds that both have; pairs with an answer not judged are left out.

        Raises:
            ConfigError: they did not answer the same questions, or have no seed or no scored pair in common.
        """
        pairs = {benchmark: self._differences(before, after, benchmark, metric) for benchmark in self.benchmarks}
        tests, test = self._tests(before, after, metric) if metric in _TESTED else ({}, None)
        each = {benchmark: interval(differences) for benchmark, differences in pairs.items()}
        return Comparison(before, after, metric, each, macro_interval(pairs), micro_interval(pairs), tests, test)

    def has_pairs(self, before: Side, after: Side, metric: str) -> bool:
        """Says whether two sides are there and have scored pairs under each seed of each benchmark."""
        if before not in self.sides or after not in self.sides:
            return False
        pairs = [pair for benchmark in self.benchmarks for pair in self._pairs(before, after, benchmark)]
        return all(bool(np.any(~np.isnan(left.values[metric] + right.values[metric]))) for left, right in pairs)

    def _of(self, side: Side, benchmark: str) -> dict[int, SeedScores]:
        if (side, benchmark) not in self._scores:
            raise ConfigError(f"no record of {' '.join(side)} on {benchmark}; finish the run with --resume")
        return self._scores[side, benchmark]

    def _pairs(self, before: Side, after: Side, benchmark: str) -> list[tuple[SeedScores, SeedScores]]:
        left, right = self._of(before, benchmark), self._of(after, benchmark)
        shared = [seed for seed in left if seed in right]
        if not shared or any(left[seed].items != right[seed].items for seed in shared):
            raise ConfigError(
                f"{' '.join(before)} and {' '.join(after)} did not answer the same questions of {benchmark}, so they cannot be "
                f"compared; run both with one configuration"
            )
        return [(left[seed], right[seed]) for seed in shared]

    def _differences(self, before: Side, after: Side, benchmark: str, metric: str) -> Differences:
        pairs = self._pairs(before, after, benchmark)
        crossed = len({left.items for left, _ in pairs}) == 1
        return Differences(_scored([right.values[metric] - left.values[metric] for left, right in pairs], crossed), crossed)

    def _tests(self, before: Side, after: Side, metric: str) -> tuple[dict[str, McNemar], McNemar]:
        outcomes = {benchmark: self._outcomes(before, after, benchmark, metric) for benchmark in self.benchmarks}
        every = np.concatenate(list(outcomes.values()))
        return {benchmark: mcnemar(each[:, 0], each[:, 1]) for benchmark, each in outcomes.items()}, mcnemar(
            every[:, 0], every[:, 1]
        )

    def _outcomes(self, before: Side, after: Side, benchmark: str, metric: str) -> NDArray[np.bool_]:
        """Right or wrong before and after, shape (items, 2): an item asked under several seeds counts once, by its first seed.

        The test takes its pairs for independent; the same question under another seed is not.
        """
        outcomes: dict[Item, tuple[bool, bool]] = {}
        for left, right in self._pairs(before, after, benchmark):
            for item, was, now in zip(left.items, left.values[metric], right.values[metric], strict=True):
                if not np.isnan(was + now):
                    outcomes.setdefault(item, (bool(was), bool(now)))
        return np.array(list(outcomes.values()), dtype=bool).reshape(-1, 2)


def _seed_scores(records: Mapping[Item, Record]) -> SeedScores:
    items = tuple(sorted(records))
    metrics = (*METRICS, JUDGED) if all(JUDGED in record for record in records.values()) else METRICS
    return SeedScores(items, {metric: np.array([_number(records[item][metric]) for item in items]) for metric in metrics})


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _scored(by_seed: list[NDArray[np.float64]], crossed: bool) -> tuple[NDArray[np.float64], ...]:
    """Leaves out the pairs without a score; where all seeds share their questions, a question goes for all of them."""
    known = [~np.isnan(differences) for differences in by_seed]
    if crossed:
        known = [np.logical_and.reduce(known)] * len(known)
    return tuple(differences[kept] for differences, kept in zip(by_seed, known, strict=True))
