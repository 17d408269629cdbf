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
Side: TypeAlias = tuple[str, str]
"""An arm's name and its mode, "off" or "on"."""
Item: TypeAlias = tuple[str, str]
"""World fingerprint and question id: what makes two answers answers to the same question."""


@dataclass(frozen=True)
class SeedScores:
    """One seed's scores on one benchmark: the items in sorted order, and one array of scores for each metric."""

    items: tuple[Item, ...]
    values: Mapping[str, NDArray[np.float64]]


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
        tests: McNemar's test for each benchmark (empty unless the metric is "em").
        test: McNemar's test over all questions; None unless the metric is "em".
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
        self._scores = {key: [_seed_scores(seeds[seed]) for seed in sorted(seeds)] for key, seeds in grouped.items()}
        self.sides: list[Side] = list(dict.fromkeys(side for side, _ in self._scores))
        self.benchmarks: list[str] = list(dict.fromkeys(benchmark for _, benchmark in self._scores))

    def size(self, benchmark: str) -> int:
        """How many questions a seed asks of a benchmark."""
        return len(self._of(self.sides[0], benchmark)[0].items)

    def mean(self, side: Side, benchmark: str, metric: str) -> float:
        """The mean over seeds of the mean over questions."""
        return float(np.mean([seed.values[metric].mean() for seed in self._of(side, benchmark)]))

    def macro(self, side: Side, metric: str) -> float:
        """The unweighted mean of the benchmarks' means: the paper's headline."""
        return float(np.mean([self.mean(side, benchmark, metric) for benchmark in self.benchmarks]))

    def micro(self, side: Side, metric: str) -> float:
        """The mean over all questions of a seed, averaged over seeds."""
        sizes = [self.size(benchmark) for benchmark in self.benchmarks]
        return float(np.average([self.mean(side, benchmark, metric) for benchmark in self.benchmarks], weights=sizes))

    def compare(self, before: Side, after: Side, metric: str = "em") -> Comparison:
        """Compares two sides, paired by question.

        Raises:
            ConfigError: they did not answer the same questions.
        """
        pairs = {benchmark: self._differences(before, after, benchmark, metric) for benchmark in self.benchmarks}
        tests, test = self._tests(before, after) if metric == "em" else ({}, None)
        each = {benchmark: interval(differences) for benchmark, differences in pairs.items()}
        return Comparison(before, after, metric, each, macro_interval(pairs), micro_interval(pairs), tests, test)

    def _of(self, side: Side, benchmark: str) -> list[SeedScores]:
        if (side, benchmark) not in self._scores:
            raise ConfigError(f"no record of {' '.join(side)} on {benchmark}; finish the run with --resume")
        return self._scores[side, benchmark]

    def _pairs(self, before: Side, after: Side, benchmark: str) -> list[tuple[SeedScores, SeedScores]]:
        left, right = self._of(before, benchmark), self._of(after, benchmark)
        if [seed.items for seed in left] != [seed.items for seed in right]:
            raise ConfigError(
                f"{' '.join(before)} and {' '.join(after)} did not answer the same questions of {benchmark}, so they cannot be "
                f"compared; run both with one configuration"
            )
        return list(zip(left, right, strict=True))

    def _differences(self, before: Side, after: Side, benchmark: str, metric: str) -> Differences:
        pairs = self._pairs(before, after, benchmark)
        crossed = len({left.items for left, _ in pairs}) == 1
        return Differences(tuple(right.values[metric] - left.values[metric] for left, right in pairs), crossed)

    def _tests(self, before: Side, after: Side) -> tuple[dict[str, McNemar], McNemar]:
        outcomes = {benchmark: self._outcomes(before, after, benchmark) for benchmark in self.benchmarks}
        every = np.concatenate(list(outcomes.values()))
        return {benchmark: mcnemar(each[:, 0], each[:, 1]) for benchmark, each in outcomes.items()}, mcnemar(
            every[:, 0], every[:, 1]
        )

    def _outcomes(self, before: Side, after: Side, benchmark: str) -> NDArray[np.bool_]:
        """Right or wrong before and after, shape (items, 2): an item asked under several seeds counts once, by its first seed.

        The test takes its pairs for independent; the same question under another seed is not.
        """
        outcomes: dict[Item, tuple[bool, bool]] = {}
        for left, right in self._pairs(before, after, benchmark):
            for item, was, now in zip(left.items, left.values["em"], right.values["em"], strict=True):
                outcomes.setdefault(item, (bool(was), bool(now)))
        return np.array(list(outcomes.values()), dtype=bool)


def _seed_scores(records: Mapping[Item, Record]) -> SeedScores:
    items = tuple(sorted(records))
    return SeedScores(items, {metric: np.array([float(records[item][metric]) for item in items]) for metric in METRICS})
