"""An arm at another's tokens: SSP's rollouts are shorter than those with cards, so that equal updates are not equal tokens.

The arm's runs are gone on with until they have read and sampled at least as many tokens as the other arm's of the same seed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agents.selfplay.metrics import read_bootstrap, read_metrics
from benchmarks.experiment.cells import EVALUATIONS, evaluate, is_waiting
from benchmarks.experiment.costs import spent
from benchmarks.experiment.design import Study
from benchmarks.experiment.training import FOLDER, keep_run, matched_directory, run_directory, stage_directory
from benchmarks.records import write_json
from benchmarks.trained import read_run

STRIDE = 5
"""Updates between two looks at the tokens."""


@dataclass(frozen=True)
class Match:
    """One run to go on with, plain data."""

    id: str
    """The id of its training."""

    arm: str
    """The name that it is compared under."""

    model: str
    """The id of the training whose tokens are matched."""

    updates: int
    """The updates after which the two were to be compared."""

    questions: int
    """Held-out questions of each benchmark."""

    judge: str | None = None
    """As in `Study`."""


def matches(study: Study, preset: str, source: Mapping[str, str]) -> list[Match]:
    """Lists the runs that a study goes on with.

    Args:
        study: its `matched` says which arms.
        preset: of the trainings.
        source: for each cell the one whose training it shares.
    """
    cells = {(cell.arm, cell.seed): source[cell.id] for cell in study.cells(preset)}
    return [
        Match(cells[arm, seed], name, cells[model, seed], study.stages[-1], study.questions, study.judge)
        for name, (arm, model) in study.matched.items()
        for seed in study.seeds
    ]


def match_directory(root: Path, one: Match) -> Path:
    """Where a run is evaluated that has been gone on with."""
    return root / EVALUATIONS / f"{one.id}-{one.arm}"


def match_file(root: Path, one: Match) -> Path:
    """What a run had spent (`benchmarks.experiment.costs.spent`) when it was evaluated, having been gone on with."""
    return root / FOLDER / one.id / f"{one.arm}.json"


def is_matched(root: Path, one: Match) -> bool:
    """Says whether a run has been gone on with to its end, and evaluated."""
    return match_file(root, one).is_file()


def is_settled_match(root: Path, one: Match) -> bool:
    """Likewise, and whether no answer of it waits for a judge that could not be asked."""
    return is_matched(root, one) and not is_waiting(match_directory(root, one))


def finish_match(data: dict[str, Any], root: str) -> str:
    """Goes on with one run and evaluates it; a function for a worker process.

    Args:
        data: the `Match` as JSON.
        root: the experiment's directory.

    Returns:
        The id of its training.
    """
    one, place = Match(**data), Path(root)
    kept = matched_directory(place, one.id)
    if not kept.is_dir():
        _go_on(run_directory(place, one.id), tokens(stage_directory(place, one.model, one.updates)))
        keep_run(run_directory(place, one.id), kept)
    evaluate(replace(read_run(kept), arm=one.arm), match_directory(place, one), one.questions, judge=one.judge)
    write_json(match_file(place, one), spent(read_metrics(kept), read_bootstrap(kept)))
    return one.id


def _go_on(run: Path, wanted: float) -> None:
    """Trains until so many tokens have been read and sampled."""
    import torch

    from agents.selfplay.__main__ import train
    from agents.selfplay.directory import stored_config

    torch.set_num_threads(1)
    stored = stored_config(run)
    assert stored is not None  # the training is done before it is gone on with
    updates = stored.updates
    while True:
        train(replace(stored, updates=updates), run, resume=True, show=False)  # also finishes what a killed process began
        if tokens(run) >= wanted:
            return
        updates += STRIDE


def tokens(run: Path) -> float:
    """Counts the tokens that both seats of a run have read and sampled, those of the bootstrap phase too."""
    return spent(read_metrics(run), read_bootstrap(run))["tokens"]
