"""What an experiment has left, as analyses read it: scores by study and stage, and each training's metrics."""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.experiment.coupling import Coupled, measure
from benchmarks.experiment.design import Cell, Experiment, Study, same_training
from benchmarks.experiment.run import MATCHED, branches_of, evaluation_directory
from benchmarks.experiment.training import stage_directory
from benchmarks.records import Record, read_records
from benchmarks.scores import Scores
from benchmarks.stats import Differences, Estimate, interval
from benchmarks.suites import BENCHMARKS
from benchmarks.trained import METRICS_FILE

RECORDS = "records"


class Results:
    """The results of an experiment.

    Args:
        experiment: the experiment.
        root: its directory, everything in it done.
    """

    def __init__(self, experiment: Experiment, root: Path) -> None:
        self.experiment, self.root = experiment, root
        self._scores: dict[tuple[str, int, str], Scores] = {}
        self._metrics: dict[str, list[dict[str, Any]]] = {}

    @cached_property
    def _source(self) -> dict[str, str]:
        return same_training(self.experiment.cells())

    @cached_property
    def _cells(self) -> dict[tuple[str, str, int], Cell]:
        return {(cell.study, cell.arm, cell.seed): cell for cell in self.experiment.cells()}

    def records(self, study: Study, stage: int, tool: str = "") -> list[Record]:
        """Reads all answers of a study after so many updates, arm by arm, after the last those of its matched arms too.

        Args:
            study: the study.
            stage: the updates.
            tool: another search tool than its own; "" for its own.
        """
        folders = {arm: evaluation_directory(self.root, study, stage, tool) / RECORDS / arm for arm in study.arms}
        if not tool and stage == study.stages[-1]:
            folders |= {arm: evaluation_directory(self.root, study, stage, MATCHED) / RECORDS / arm for arm in study.matched}
        paths = [folder / f"{name}.jsonl" for folder in folders.values() for name in BENCHMARKS]
        return [record for path in paths if path.is_file() for record in read_records(path)]

    def scores(self, study: Study, stage: int | None = None, tool: str = "") -> Scores:
        """Returns a study's scores after so many updates; None for the last stage."""
        key = study.name, study.stages[-1] if stage is None else stage, tool
        if key not in self._scores:
            self._scores[key] = Scores(self.records(study, key[1], tool))
        return self._scores[key]

    def metrics(self, study: Study, arm: str, seed: int) -> list[dict[str, Any]]:
        """Returns a training's rows of metrics."""
        cell = self._cells[study.name, arm, seed]
        source = self._source[cell.id]
        if source not in self._metrics:
            folder = stage_directory(self.root, source, cell.stages[-1])
            self._metrics[source] = read_records(folder / METRICS_FILE)
        return self._metrics[source][: cell.stages[-1]]

    @cached_property
    def coupled(self) -> Coupled | None:
        """What exchanging the bank did to the Challenger's questions; None where it was not measured."""
        if self.experiment.coupling is None:
            return None
        return measure(self.experiment.coupling, self.root, branches_of(self.experiment, self._source))

    def per_seed(self, study: Study, arm: str, field: str) -> list[float]:
        """Returns the mean of a field of the metrics for each seed of an arm."""
        return [float(np.mean([row[field] for row in self.metrics(study, arm, seed)])) for seed in study.seeds]

    def process(self, study: Study, before: str, after: str, field: str) -> Estimate:
        """Compares a field of the metrics between two arms, paired by seed."""
        pairs = zip(self.per_seed(study, before, field), self.per_seed(study, after, field), strict=True)
        return interval(Differences(tuple(np.array([now - was]) for was, now in pairs), crossed=False))
