"""What an experiment has left, as analyses read it: scores by study and stage, and each training's metrics."""

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from agents.selfplay.config import RunConfig as TrainingConfig
from agents.selfplay.metrics import BOOTSTRAP
from benchmarks.experiment.cells import FINISHED, PACKED_METRICS, evaluation_directory, read_evaluation
from benchmarks.experiment.costs import spent
from benchmarks.experiment.coupling import Coupled, branches_of, measure
from benchmarks.experiment.design import TOOLED, Cell, Experiment, Study, same_training, training_config
from benchmarks.experiment.matched import match_directory, match_file, matches
from benchmarks.experiment.training import FOLDER, stage_directory
from benchmarks.records import Record, read_json, read_records
from benchmarks.scores import Scores
from benchmarks.stats import Differences, Estimate, interval
from benchmarks.suites import SUITES, Suite
from benchmarks.trained import BASE, METRICS_FILE


class Results:
    """The results of an experiment.

    Args:
        experiment: the experiment.
        root: its directory, everything in it done.
        part_of: the experiment that is under way there, where `experiment` is the finished part of it.
    """

    def __init__(self, experiment: Experiment, root: Path, part_of: Experiment | None = None) -> None:
        self.experiment, self.root, self._whole = experiment, root, part_of or experiment
        self._scores: dict[tuple[str, int, str | None], Scores] = {}
        self._metrics: dict[str, list[dict[str, Any]]] = {}

    @cached_property
    def _source(self) -> dict[str, str]:
        return same_training(self._whole.cells())

    @cached_property
    def _last(self) -> dict[str, int]:
        """How many updates each training makes."""
        return {cell.id: cell.stages[-1] for cell in self._whole.cells()}

    @cached_property
    def _cells(self) -> dict[tuple[str, str, int], Cell]:
        return {(cell.study, cell.arm, cell.seed): cell for cell in self.experiment.cells()}

    @property
    def suite(self) -> Suite:
        """The benchmarks that are evaluated on."""
        return SUITES[next(iter(self._cells.values())).config["world"]]

    def config(self, study: Study, arm: str) -> TrainingConfig:
        """Returns how an arm of a study is trained, in its first world."""
        return training_config(self._cells[study.name, arm, study.seeds[0]])

    def records(self, study: Study, stage: int, tool: str = "") -> list[Record]:
        """Reads all answers of a study after so many updates, arm by arm, after the last those of its matched arms too.

        Args:
            study: the study.
            stage: the updates.
            tool: another search tool than its own; "" for its own.
        """
        return [record for arm, folder in self.evaluations(study, stage, tool) for record in self._answers(study, arm, folder)]

    def evaluations(self, study: Study, stage: int, tool: str = "") -> Iterator[tuple[str, Path]]:
        """Yields the arms of a study, each once a world, with the directory of its evaluation; arguments as `records`."""
        last = stage == study.stages[-1]
        for arm, seed in product(study.arms, study.seeds):
            cell = self._cells[study.name, arm, seed]
            if arm != BASE or last:
                yield arm, evaluation_directory(self.root, self._source[cell.id], 0 if arm == BASE else stage, tool)
        if last and not tool:
            for one in matches(study, self.experiment.training, self._source):
                yield one.arm, match_directory(self.root, one)

    def _answers(self, study: Study, arm: str, folder: Path) -> Iterator[Record]:
        """Reads one evaluation, under the name that the arm has here, in the modes that the study asks for."""
        modes = {"off", "on", *study.controls.get(arm, ())}
        for record in read_evaluation(folder):
            if record["mode"] in modes:
                yield {**record, "arm": arm}

    def scores(self, study: Study, stage: int | None = None, tool: str = "") -> Scores:
        """Returns a study's scores after so many updates; None for the last stage."""
        key = study.name, study.stages[-1] if stage is None else stage, tool
        if key not in self._scores:
            self._scores[key] = Scores(self.records(study, key[1], tool))
        return self._scores[key]

    def tooled(self, study: Study) -> Scores:
        """Returns the scores of the study's arms with each search tool, paired by question whatever the tool.

        An arm is named by `tooled_arm`.
        """
        key = study.name, study.stages[-1], None
        if key not in self._scores:
            records = (
                # A world with another tool is another world to the records; the questions are the same.
                {**record, "arm": tooled_arm(record["arm"], tool), "world": str(record["seed"])}
                for tool in ("", *study.tools)
                for record in self.records(study, study.stages[-1], tool)
                if record["arm"] in TOOLED
            )
            self._scores[key] = Scores(records)
        return self._scores[key]

    def metrics(self, study: Study, arm: str, seed: int) -> list[dict[str, Any]]:
        """Returns a training's rows of metrics, as many as the study's updates: a training that it shares may be longer."""
        cell = self._cells[study.name, arm, seed]
        source = self._source[cell.id]
        if source not in self._metrics:
            folder = stage_directory(self.root, source, self._last[source])
            packed = (folder / PACKED_METRICS).is_file()
            self._metrics[source] = read_records(folder / (PACKED_METRICS if packed else METRICS_FILE))
        return self._metrics[source][: cell.stages[-1]]

    def bootstrap(self, study: Study, arm: str, seed: int) -> dict[str, Any] | None:
        """Returns what a training's bootstrap phase played, in the terms of a row of metrics; None where it had none.

        Raises:
            FileNotFoundError: it had one, of which nothing has been kept.
        """
        cell = self._cells[study.name, arm, seed]
        config, source = training_config(cell), self._source[cell.id]
        if not (config.skills.enabled and config.skills.bootstrap):
            return None
        found: dict[str, Any] = read_json(stage_directory(self.root, source, self._last[source]) / BOOTSTRAP)
        return found

    def spent(self, study: Study, arm: str) -> dict[str, float]:
        """Returns what the trainings of an arm cost, as means over the seeds (`benchmarks.experiment.costs.spent`).

        Args:
            study: the study.
            arm: one of its arms, or one at another's tokens, which has spent more updates.
        """
        if arm in study.matched:
            found = [match for match in matches(study, self.experiment.training, self._source) if match.arm == arm]
            costs = [read_json(match_file(self.root, match)) for match in found]
        else:
            costs = [spent(self.metrics(study, arm, seed), self.bootstrap(study, arm, seed)) for seed in study.seeds]
        return {name: float(np.mean([cost[name] for cost in costs])) for name in costs[0]}

    @cached_property
    def coupled(self) -> Coupled | None:
        """What exchanging the bank did to the Challenger's questions; None where it was not measured."""
        if self.experiment.coupling is None:
            return None
        return measure(self.experiment.coupling, self.root, branches_of(self.experiment, self._source))

    def per_seed(self, study: Study, arm: str, field: str) -> list[float]:
        """Returns the mean of a field of the metrics for each seed of an arm."""
        return [float(np.mean([row[field] for row in self.metrics(study, arm, seed)])) for seed in study.seeds]

    def revisions(self) -> dict[str, int]:
        """Counts the trainings by the revision of the code that they were finished with, in the order of their cells.

        Returns:
            Numbers of trainings by the first digits of the commit, " with changes" behind them where tracked files differed
            from it; "unknown" where no revision was noted.
        """
        trainings = dict.fromkeys(self._source[cell.id] for cell in self.experiment.cells())
        return Counter(_revision(read_json(self.root / FOLDER / cell / FINISHED)) for cell in trainings)

    def process(self, study: Study, before: str, after: str, field: str) -> Estimate:
        """Compares a field of the metrics between two arms, paired by seed."""
        pairs = zip(self.per_seed(study, before, field), self.per_seed(study, after, field), strict=True)
        return interval(Differences(tuple(np.array([now - was]) for was, now in pairs), crossed=False))


def _revision(environment: dict[str, Any]) -> str:
    git = environment.get("git", {})
    return str(git.get("revision", "unknown"))[:12] + (" with changes" if git.get("dirty") else "")


def tooled_arm(arm: str, tool: str) -> str:
    """Names an arm that is evaluated with a search tool; "" for the one that it was trained with."""
    return f"{arm} {tool}".strip()
