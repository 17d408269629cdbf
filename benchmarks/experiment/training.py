"""Trainings of an experiment: each a self-play run in a directory of its own that is kept at every stage.

A training is stopped at each stage as if it had been meant to end there, what it leaves is copied, and it goes on:
`agents.selfplay` resumes to the bit, so a stage is what a run of so many updates would have been, and a killed training
goes on.
"""

import shutil
from dataclasses import replace
from pathlib import Path

from benchmarks.experiment.design import Cell, training_config
from sesa_env.memory.whole import whole_directory

FOLDER, RUN = "training", "run"
_KEPT = (
    "config.json", "start.json", "metrics.jsonl", "posed.jsonl", "bootstrap.json", "bank.sqlite", "finished.json", "solver",
)  # fmt: skip


def stage_directory(root: Path, cell: str, updates: int) -> Path:
    """Where a training is kept as it was after so many updates: a finished run, for `benchmarks.trained.read_run`."""
    return root / FOLDER / cell / f"{updates:06d}"


def run_directory(root: Path, cell: str) -> Path:
    """Where a training goes on: the directory of `agents.selfplay`, with its checkpoints and both policies."""
    return root / FOLDER / cell / RUN


def matched_directory(root: Path, cell: str) -> Path:
    """Where a training is kept as it was when it had spent another's tokens (`benchmarks.experiment.matched`)."""
    return root / FOLDER / cell / "matched"


def train_cell(cell: Cell, root: Path) -> None:
    """Trains, or goes on with, one cell in this process.

    Args:
        cell: the cell.
        root: the experiment's directory.
    """
    import torch

    from agents.selfplay.__main__ import train

    torch.set_num_threads(1)  # a second thread gains a tiny model nothing, and another training needs the core
    config, run = training_config(cell), run_directory(root, cell.id)
    for updates in cell.stages:
        kept = stage_directory(root, cell.id, updates)
        if not kept.is_dir():
            train(replace(config, updates=updates), run, resume=True, show=False)
            keep_run(run, kept)


def keep_run(run: Path, kept: Path) -> None:
    """Copies what a run leaves, whole or not at all, without its checkpoints."""
    with whole_directory(kept) as part:
        for name in _KEPT:
            if (run / name).is_dir():
                shutil.copytree(run / name, part / name)
            elif (run / name).is_file():
                shutil.copyfile(run / name, part / name)


def updates_made(run: Path) -> int:
    """Counts the updates that a training has made so far, whether it is running or not."""
    path = run / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.is_file() else 0
