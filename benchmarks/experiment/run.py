"""Carries an experiment out: trains its cells, evaluates every stage of every study, and writes what follows."""

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.config import RunConfig, differing_fields, make_trained_config
from benchmarks.engine import run_tasks
from benchmarks.evaluation import evaluate_into
from benchmarks.experiment.coupling import Branch, branches, is_branched, train_branch
from benchmarks.experiment.design import Cell, Experiment, Study, same_training
from benchmarks.experiment.matched import is_matched, matches, train_match
from benchmarks.experiment.training import is_trained, matched_directory, stage_directory, train_cell, updates_made
from benchmarks.progress import Begin, progress_bars
from benchmarks.records import dump, read_json, write_json
from benchmarks.trained import BASE, TrainedRun, check_runs, read_run
from sesa_env.errors import ConfigError

CONFIG_FILE, EVALUATIONS, INDICES = "experiment.json", "evaluations", "indices"
MATCHED = "matched"
"""In the place of a search tool: the evaluation of arms at another's tokens."""
_POLL = 1.0  # seconds between two looks at how far trainings are


def run_experiment(experiment: Experiment, root: Path, workers: int, *, resume: bool = False) -> None:
    """Trains and evaluates an experiment in a directory; what is finished there already is kept.

    Args:
        experiment: what to do.
        root: its directory: new, empty, or with `resume` that of the same experiment.
        workers: how many processes.
        resume: go on in a directory that is not empty.

    Raises:
        ConfigError: the directory holds something else, or another experiment.
        SesaError: a training or an evaluation failed; what is finished is kept.
    """
    _check_directory(experiment, root, resume)
    write_json(root / CONFIG_FILE, experiment.to_json())
    cells = experiment.cells()
    source = same_training(cells)
    trained = [cell for cell in cells if source[cell.id] == cell.id]
    _print_plan(experiment, root, trained, workers)
    with progress_bars() as bar:
        _train(trained, root, workers, bar)
        _branch(experiment, root, workers, bar, source)
        _match(experiment, root, workers, bar, source)
        for study in experiment.studies:
            for stage in study.stages:
                config = evaluation(experiment, study, stage, root, source)
                evaluate_into(evaluation_directory(root, study, stage), config, workers, _named(bar, study, str(stage)))
            if study.matched:
                config = matched_evaluation(experiment, study, root, source)
                place = evaluation_directory(root, study, study.stages[-1], MATCHED)
                evaluate_into(place, config, workers, _named(bar, study, "at equal tokens"))
            for tool, options in study.tools.items():
                config = with_tool(evaluation(experiment, study, study.stages[-1], root, source), options, root)
                place = evaluation_directory(root, study, study.stages[-1], tool)
                evaluate_into(place, config, workers, _named(bar, study, tool))


def evaluation_directory(root: Path, study: Study, stage: int, tool: str = "") -> Path:
    """Where a study's arms are evaluated as they were after so many updates, with their own search tool or another."""
    return root / EVALUATIONS / (f"{study.name}-{stage:06d}" + (f"-{tool}" if tool else ""))


def with_tool(config: RunConfig, options: Mapping[str, Any], root: Path) -> RunConfig:
    """Returns an evaluation of the same Solvers with another search tool, Off and On, its indices kept beside."""
    options = {"index_dir": str(root / INDICES), **options}
    runs = tuple(replace(run, world={**run.world, "options": {**run.world["options"], **options}}) for run in config.trained)
    return replace(config, trained=runs, controls={})


def evaluation(experiment: Experiment, study: Study, stage: int, root: Path, source: dict[str, str]) -> RunConfig:
    """Says how a study is evaluated after so many updates.

    Args:
        experiment: whose study it is.
        study: the study.
        stage: the updates.
        root: the experiment's directory, its trainings done.
        source: for each cell whose training it shares (`same_training`).

    Returns:
        The evaluation: all arms in all seeds' worlds, with controls after the last stage, and the start policy with the first.
    """
    last = stage == study.stages[-1]
    cells = [cell for cell in study.cells(experiment.training) if cell.arm != BASE or last]
    runs = check_runs([_run(cell, stage if cell.arm != BASE else 0, root, source) for cell in cells])
    controls = {arm: modes for arm, modes in study.controls.items() if last}
    made = make_trained_config("quick", runs, study.questions, base=False, controls=controls)
    return replace(made, preset=experiment.name)


def matched_evaluation(experiment: Experiment, study: Study, root: Path, source: dict[str, str]) -> RunConfig:
    """Says how a study's arms at another's tokens are evaluated: as the others, under the names that it has for them."""
    cells = {(cell.arm, cell.seed): source[cell.id] for cell in study.cells(experiment.training)}
    runs = [
        replace(read_run(matched_directory(root, cells[arm, seed])), arm=name)
        for name, (arm, _) in study.matched.items()
        for seed in study.seeds
    ]
    made = make_trained_config("quick", check_runs(runs, unequal=True), study.questions, base=False)
    return replace(made, preset=experiment.name)


def _run(cell: Cell, stage: int, root: Path, source: dict[str, str]) -> TrainedRun:
    """A training as it was at a stage, under the name of the arm that it is compared as."""
    return replace(read_run(stage_directory(root, source[cell.id], stage)), arm=cell.arm)


def _check_directory(experiment: Experiment, root: Path, resume: bool) -> None:
    if not root.exists() or not any(root.iterdir()):
        return
    if not resume:
        raise ConfigError(f"{root} is not empty; add --resume to finish the experiment in it, or choose another --out")
    if not (root / CONFIG_FILE).is_file():
        raise ConfigError(f"{root} holds no experiment ({CONFIG_FILE} is missing); choose another directory with --out")
    differences = differing_fields(read_json(root / CONFIG_FILE), json.loads(dump(experiment.to_json())))
    if differences:
        raise ConfigError(
            f"cannot resume {root}: its experiment differs: {'; '.join(differences[:5])}; choose another directory with --out"
        )


def _print_plan(experiment: Experiment, root: Path, cells: Sequence[Cell], workers: int) -> None:
    updates = sum(cell.stages[-1] for cell in cells)
    lines = [
        f"Experiment {experiment.name}: {len(cells)} trainings of {updates:,} updates in all, {workers} at a time",
        *(
            f"  {study.name}: {study.title}; {len(study.arms)} arms, {len(study.seeds)} seeds, evaluated after "
            f"{', '.join(map(str, study.stages))} updates on {study.questions} questions a benchmark"
            for study in experiment.studies
        ),
        f"Directory: {root}; stop it at any time, and go on with --resume",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _train(cells: Sequence[Cell], root: Path, workers: int, bar: Begin) -> None:
    """Trains all cells, the bar counting updates."""
    finished = [is_trained(root, cell) for cell in cells]
    advance = bar("Training", sum(cell.stages[-1] for cell in cells))
    with _counting(advance, lambda: updates_made(root, cells)):
        run_tasks(train_cell, cells, finished, root, workers, lambda cell: None)


def _branch(experiment: Experiment, root: Path, workers: int, bar: Begin, source: dict[str, str]) -> None:
    """Goes on with the runs whose coupling is measured."""
    found = branches_of(experiment, source)
    if found:
        finished = [is_branched(root, one) for one in found]
        run_tasks(train_branch, found, finished, root, workers, bar("Coupling", len(found)))


def _match(experiment: Experiment, root: Path, workers: int, bar: Begin, source: dict[str, str]) -> None:
    """Goes on with the runs that are compared at equal tokens."""
    found = [one for study in experiment.studies for one in matches(study, experiment.training, source)]
    if found:
        finished = [is_matched(root, one) for one in found]
        run_tasks(train_match, found, finished, root, workers, bar("Equal tokens", len(found)))


def branches_of(experiment: Experiment, source: dict[str, str]) -> list[Branch]:
    """Lists an experiment's branches; none where no coupling is measured."""
    if experiment.coupling is None:
        return []
    return branches(experiment.coupling, {(cell.study, cell.arm, cell.seed): source[cell.id] for cell in experiment.cells()})


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


def _named(bar: Begin, study: Study, what: str) -> Begin:
    return lambda name, length: bar(f"{name} {study.name} {what}", length)
