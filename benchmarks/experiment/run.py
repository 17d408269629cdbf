"""Carries an experiment out: world by world, trains and evaluates its cells, so that what is finished is of use by itself."""

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.config import differing_fields
from benchmarks.engine import run_tasks
from benchmarks.experiment.amount import amount_of
from benchmarks.experiment.cells import done_updates, evaluation_directory, finish_cell, is_settled, read_evaluated
from benchmarks.experiment.coupling import branches_of, is_branched, train_branch
from benchmarks.experiment.design import Cell, Experiment, Study, same_training, training_config
from benchmarks.experiment.matched import finish_match, is_settled_match, matches
from benchmarks.progress import Begin, progress_bars
from benchmarks.records import dump, read_json, write_json
from benchmarks.trained import check_runs
from sesa_env.errors import ConfigError
from sesa_env.output import is_new, writing_in

CONFIG_FILE = "experiment.json"
_POLL = 1.0  # seconds between two looks at how far trainings are


def run_experiment(experiment: Experiment, root: Path, workers: int, *, resume: bool = False) -> None:
    """Trains and evaluates an experiment in a directory; what is finished there already is kept.

    All arms of a study are finished in one world before the next is begun, so that a study stopped early has whole worlds.

    Args:
        experiment: what to do.
        root: its directory: new, empty, or with `resume` that of the same experiment.
        workers: how many processes.
        resume: go on in a directory that is not empty.

    Raises:
        ConfigError: the directory holds something else, or another experiment, or cannot be written.
        SesaError: a training or an evaluation failed; what is finished is kept.
    """
    _check_directory(experiment, root, resume)
    with writing_in(root):
        write_design(root, experiment.to_json())
    source = same_training(experiment.cells())
    cells = [cell for cell in experiment.cells() if source[cell.id] == cell.id]
    _print_plan(experiment, root, workers)
    with progress_bars() as bar:
        going = _Going(experiment, root, workers, bar, source)
        advance, finished = bar("Updates", sum(cell.stages[-1] for cell in cells)), bar("Cells", len(cells))
        with _counting(advance, lambda: sum(done_updates(root, cell) for cell in cells)):
            for study in experiment.studies:
                for seed in study.seeds:
                    here = [cell for cell in cells if (cell.study, cell.seed) == (study.name, seed)]
                    run_tasks(finish_cell, here, [is_settled(root, cell) for cell in here], root, workers, finished)
                    going.match(replace(study, seeds=(seed,)))
                check_budgets(study, experiment.training, root, source)
                going.branch(study)


@dataclass(frozen=True)
class _Going:
    """What of an experiment under way comes after its cells."""

    experiment: Experiment
    root: Path
    workers: int
    bar: Begin
    source: Mapping[str, str]

    def match(self, study: Study) -> None:
        """Goes on with the runs of a study in one world that are compared at equal tokens."""
        found = matches(study, self.experiment.training, self.source)
        if found:
            advance = self.bar(f"Equal tokens, {study.name} {study.seeds[0]}", len(found))
            run_tasks(
                finish_match, found, [is_settled_match(self.root, one) for one in found], self.root, self.workers, advance
            )

    def branch(self, study: Study) -> None:
        """Goes on with the runs whose coupling is measured, if it is the study's."""
        if self.experiment.coupling is not None and self.experiment.coupling.study == study.name:
            found = branches_of(self.experiment, self.source)
            advance = self.bar("Coupling", len(found))
            run_tasks(train_branch, found, [is_branched(self.root, one) for one in found], self.root, self.workers, advance)


def check_budgets(study: Study, training: str, root: Path, source: Mapping[str, str]) -> None:
    """Makes sure that what a study compares started from the same weights and was trained at one budget.

    Args:
        study: finished.
        training: the preset of its trainings.
        root: the experiment's directory.
        source: for each cell the one whose training it shares.

    Raises:
        ConfigError: it was not.
    """
    runs = []
    for cell in study.cells(training):
        place = evaluation_directory(root, source[cell.id], cell.stages[-1])
        runs.append(replace(read_evaluated(place), arm=cell.arm))
    check_runs(runs)


def _check_directory(experiment: Experiment, root: Path, resume: bool) -> None:
    if is_new(root):
        return
    if not resume:
        raise ConfigError(f"{root} is not empty; add --resume to finish the experiment in it, or choose another --out")
    require_experiment(root, experiment)


def require_experiment(root: Path, experiment: Experiment) -> None:
    """Refuses a directory that is not that of an experiment.

    Raises:
        ConfigError: it holds none, or another one.
    """
    if not (root / CONFIG_FILE).is_file():
        raise ConfigError(f"{root} holds no experiment ({CONFIG_FILE} is missing); choose another directory with --out")
    refuse_another(root, json.loads(dump(experiment.to_json())))


def refuse_another(root: Path, design: Mapping[str, Any]) -> None:
    """Refuses to put an experiment into a directory that holds another. Fewer or more seeds are the same experiment.

    Args:
        root: the directory of an experiment.
        design: the experiment to be put there, as JSON.

    Raises:
        ConfigError: they differ.
    """
    held = read_json(root / CONFIG_FILE)
    shared = {cell["id"] for cell in held["cells"]} & {cell["id"] for cell in design["cells"]}
    differences = differing_fields(_but_seeds(held, shared), _but_seeds(design, shared))
    if differences:
        raise ConfigError(f"{root} holds another experiment: {'; '.join(differences[:5])}; choose another directory with --out")


def write_design(root: Path, design: Mapping[str, Any]) -> None:
    """Writes an experiment's design into its directory, unless one of more seeds stands there: its trainings are kept too.

    Args:
        root: the directory of the experiment, or a new one.
        design: the experiment as JSON.
    """
    held = read_json(root / CONFIG_FILE)["cells"] if (root / CONFIG_FILE).is_file() else []
    if not {cell["id"] for cell in held} > {cell["id"] for cell in design["cells"]}:
        write_json(root / CONFIG_FILE, design)


def _but_seeds(design: Mapping[str, Any], shared: set[str]) -> dict[str, Any]:
    """Returns a design as far as two of them must agree: without seeds, and with every field of each shared training."""
    cells = [cell for cell in design["cells"] if cell["id"] in shared]
    return {
        **design,
        "studies": [{**study, "seeds": []} for study in design["studies"]],
        "coupling": design["coupling"] and {**design["coupling"], "seeds": []},
        # What was written before a field was there has that field's default.
        "cells": [{**cell, "config": training_config(Cell.from_json(cell)).to_json()} for cell in cells],
    }


def _print_plan(experiment: Experiment, root: Path, workers: int) -> None:
    amount = amount_of(experiment)
    lines = [
        f"Experiment {experiment.name}: {len(amount.cells)} trainings, {workers} at a time",
        *(
            f"  {study.name}: {study.title}; {len(study.arms)} arms, {len(study.seeds)} seeds, evaluated after "
            f"{', '.join(map(str, study.stages))} updates on {study.questions} questions a benchmark"
            for study in experiment.studies
        ),
        *amount.told(),
        f"Directory: {root}; stop it at any time, and go on with --resume",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


@contextmanager
def _counting(advance: Callable[[object], None], count: Callable[[], int]) -> Iterator[None]:
    """Moves a bar on by looking at what other processes have written."""
    seen, over = 0, threading.Event()

    def look() -> None:
        nonlocal seen
        for _ in range(seen, now := count()):
            advance(None)
        seen = max(seen, now)

    def watch() -> None:
        while not over.wait(_POLL):
            look()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        look()
