"""An arm at another's tokens: SSP's rollouts are shorter than those with cards, so that equal updates are not equal tokens.

The arm's runs are gone on with until they have read and sampled at least as many tokens as the other arm's of the same seed.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.experiment.costs import spent
from benchmarks.experiment.design import Study
from benchmarks.experiment.training import keep_run, matched_directory, run_directory, stage_directory
from benchmarks.records import read_records
from benchmarks.trained import METRICS_FILE

_STRIDE = 5
"""Updates between two looks at the tokens."""


@dataclass(frozen=True)
class Match:
    """One run to go on with, plain data."""

    id: str
    """The id of its training."""

    model: str
    """The id of the training whose tokens are matched."""

    updates: int
    """The updates after which the two were to be compared."""


def matches(study: Study, preset: str, source: dict[str, str]) -> list[Match]:
    """Lists the runs that a study goes on with.

    Args:
        study: its `matched` says which arms.
        preset: of the trainings.
        source: for each cell the one whose training it shares.
    """
    cells = {(cell.arm, cell.seed): cell for cell in study.cells(preset)}
    return [
        Match(source[cells[arm, seed].id], source[cells[model, seed].id], study.stages[-1])
        for arm, model in study.matched.values()
        for seed in study.seeds
    ]


def is_matched(root: Path, one: Match) -> bool:
    """Says whether a run has been gone on with to its end."""
    return matched_directory(root, one.id).is_dir()


def train_match(data: dict[str, Any], root: str) -> str:
    """Goes on with one run; a function for a worker process.

    Args:
        data: the `Match` as JSON.
        root: the experiment's directory.

    Returns:
        The id of its training.
    """
    import torch

    from agents.selfplay.__main__ import train
    from agents.selfplay.directory import stored_config

    torch.set_num_threads(1)
    one = Match(**data)
    run = run_directory(Path(root), one.id)
    wanted = tokens(stage_directory(Path(root), one.model, one.updates))
    stored = stored_config(run)
    assert stored is not None  # the training is done before it is gone on with
    updates = stored.updates
    while True:
        train(replace(stored, updates=updates), run, resume=True, show=False)  # also finishes what a killed process began
        if tokens(run) >= wanted:
            break
        updates += _STRIDE
    keep_run(run, matched_directory(Path(root), one.id))
    return one.id


def tokens(run: Path) -> float:
    """Counts the tokens that both seats of a run have read and sampled."""
    return spent(read_records(run / METRICS_FILE))["tokens"]
