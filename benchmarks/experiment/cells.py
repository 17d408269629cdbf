"""One cell of an experiment from its training to its records: everything that is reported of it, in one call.

A cell is trained to each of its stages and evaluated there, Off and On, after the last one also in its controls and with other
search tools. What it leaves then is enough for every table: a finished cell is never trained or evaluated again, whether its
weights are still there or not.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.config import make_trained_config
from benchmarks.directory import CONFIG_FILE
from benchmarks.environment import describe_environment
from benchmarks.evaluation import evaluate_into
from benchmarks.experiment.design import Cell
from benchmarks.experiment.training import FOLDER, run_directory, stage_directory, train_cell, updates_made
from benchmarks.judged import is_unsettled
from benchmarks.records import Record, read_json, read_records, write_json
from benchmarks.suites import BENCHMARKS
from benchmarks.trained import BANK_FILE, METRICS_FILE, TrainedRun, read_run
from benchmarks.units import PACKED_RECORDS, UNITS
from sesa_env.memory.file import COMPRESSED

EVALUATIONS, INDICES, FINISHED = "evaluations", "indices", "finished.json"
PACKED_BANK = f"{BANK_FILE}{COMPRESSED}"
"""The bank of a training that has been kept (`benchmarks.experiment.keep`)."""
PACKED_METRICS = f"{METRICS_FILE}.xz"
"""Likewise its metrics."""
SCALE = "quick"
"""The harness's preset of the shards' sizes; how many questions are asked is the study's."""


def evaluation_directory(root: Path, cell: str, stage: int, tool: str = "") -> Path:
    """Where a cell is evaluated as it was after so many updates, with its own search tool or another."""
    return root / EVALUATIONS / (f"{cell}-{stage:06d}" + (f"-{tool}" if tool else ""))


def is_finished(root: Path, cell: str) -> bool:
    """Says whether a cell is trained and evaluated."""
    return (root / FOLDER / cell / FINISHED).is_file()


def is_settled(root: Path, cell: Cell) -> bool:
    """Says whether a cell is trained and evaluated, and no answer of it waits for a judge that could not be asked."""
    return is_finished(root, cell.id) and not any(map(is_waiting, _evaluations(root, cell)))


def is_waiting(directory: Path) -> bool:
    """Says whether an evaluation has answers that were not judged: an experiment that is gone on with asks again.

    What has been kept without its units can be asked for no more.
    """
    return any(map(is_unsettled, (directory / UNITS).glob("judge-*")))


def _evaluations(root: Path, cell: Cell) -> Iterator[Path]:
    """Yields the directories of a cell's evaluations."""
    for stage in cell.stages:
        yield evaluation_directory(root, cell.id, stage)
    for tool in cell.tools:
        yield evaluation_directory(root, cell.id, cell.stages[-1], tool)


def finish_cell(data: dict[str, Any], root: str) -> str:
    """Trains and evaluates one cell, or goes on with it; a function for a worker process.

    Args:
        data: the `Cell` as JSON.
        root: the experiment's directory.

    Returns:
        The cell's id.
    """
    cell, place = Cell.from_json(data), Path(root)
    with _warning_as(cell.id):
        _finish(cell, place)
    return cell.id


def _finish(cell: Cell, place: Path) -> None:
    train_cell(cell, place)
    for stage in cell.stages:
        last = stage == cell.stages[-1]
        run = replace(read_run(stage_directory(place, cell.id, stage)), arm=cell.arm)
        controls = cell.controls if last else ()
        evaluate(run, evaluation_directory(place, cell.id, stage), cell.questions, controls, cell.judge)
        for tool, options in cell.tools.items() if last else ():
            other = _with_tool(run, options, place)
            evaluate(other, evaluation_directory(place, cell.id, stage, tool), cell.questions, judge=cell.judge)
    write_json(place / FOLDER / cell.id / FINISHED, describe_environment())


@contextmanager
def _warning_as(cell: str) -> Iterator[None]:
    """Puts a cell's name before what is logged: several are trained side by side."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(f"{cell}: %(levelname)s %(message)s"))
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


def evaluate(
    run: TrainedRun, directory: Path, questions: int, controls: tuple[str, ...] = (), judge: str | None = None
) -> None:
    """Evaluates one Solver, or finishes it.

    Args:
        run: what training left.
        directory: where to.
        questions: how many of each benchmark.
        controls: modes besides Off and On.
        judge: who looks again at what exact match refuses; None for nobody.
    """
    modes = {run.arm: controls} if controls else {}
    config = make_trained_config(SCALE, (run,), questions, judge or "", base=False, controls=modes)
    evaluate_into(directory, config, 1, lambda name, length: lambda unit: None)


def _with_tool(run: TrainedRun, options: Mapping[str, Any], root: Path) -> TrainedRun:
    """The same Solver with another search tool, its indices kept beside."""
    options = {**run.world["options"], "index_dir": str(root / INDICES), **options}
    return replace(run, world={**run.world, "options": options})


def read_evaluated(directory: Path) -> TrainedRun:
    """Says which Solver was evaluated in a directory, and how: what `benchmarks.trained.check_runs` compares."""
    (run,) = read_json(directory / CONFIG_FILE)["trained"]
    return TrainedRun(**run)


def read_evaluation(directory: Path) -> Iterator[Record]:
    """Yields the answers of one evaluation, benchmark by benchmark; none where there is no evaluation."""
    if (directory / PACKED_RECORDS).is_file():
        yield from read_records(directory / PACKED_RECORDS)
    for name in BENCHMARKS:
        for path in sorted((directory / "records").glob(f"*/{name}.jsonl")):
            yield from read_records(path)


def done_updates(root: Path, cell: Cell) -> int:
    """Counts the updates that a cell's training has made so far."""
    last = cell.stages[-1]
    return last if is_finished(root, cell.id) else min(updates_made(run_directory(root, cell.id)), last)
