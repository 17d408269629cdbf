"""Branches of a run: the same policies at the same checkpoint, gone on with under other draws, or with another bank."""

import json
import shutil
from pathlib import Path
from typing import Any

from agents.selfplay.checkpoint import BANK, STATE, Checkpoints
from agents.selfplay.directory import CONFIG
from agents.selfplay.finished import START, read_json
from agents.selfplay.metrics import METRICS
from sesa_env.errors import ConfigError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.whole import whole_directory

EMPTY = "empty"
"""Stands for a bank without a card."""
_RUN = "selfplay"


def branch(parent: Path, child: Path, seed: int, bank: Path | str | None = None) -> None:
    """Makes a run that goes on from another's newest checkpoint; `agents.selfplay --out CHILD --resume --updates N` does so.

    Args:
        parent: the directory of a run; nothing in it changes.
        child: the new run's directory; must not exist.
        seed: of the draws from here on; the world is the parent's.
        bank: another bank's file, `EMPTY`, or None for the parent's own.

    Raises:
        ConfigError: the parent has no checkpoint, its world's seed is not in its configuration, or the child exists.
    """
    updates = Checkpoints(parent).latest()
    config = read_json(parent / CONFIG)
    if updates is None or "seed" not in config["world_options"] or child.exists():
        raise ConfigError(
            f"branch: expected a run with a checkpoint and a world with a seed in {parent}, and nothing in {child}; got "
            f"{updates} updates, world options {config['world_options']}, and {'a directory' if child.exists() else 'nothing'}"
        )
    with whole_directory(child) as part:
        for name in (START, METRICS):
            shutil.copyfile(parent / name, part / name)
        (part / CONFIG).write_text(json.dumps({**config, "seed": seed, "updates": updates}, sort_keys=True, indent=1) + "\n")
        state = Checkpoints(parent).folder / f"{updates:06d}"
        shutil.copytree(state, part / "checkpoints" / state.name)
        if bank is not None:
            _exchange(part / "checkpoints" / state.name, bank)


def _exchange(checkpoint: Path, bank: Path | str) -> None:
    """Puts another bank in the place of a checkpoint's, and drops the teacher's work on failures of the old one."""
    (checkpoint / BANK).unlink()
    if bank == EMPTY:
        with SkillBank.open(checkpoint / BANK, run=_RUN):
            pass
    else:
        shutil.copyfile(bank, checkpoint / BANK)
    state: dict[str, Any] = read_json(checkpoint / STATE)
    if state["keeper"] is not None:
        state["keeper"]["job"] = None
    (checkpoint / STATE).write_text(json.dumps(state, sort_keys=True), encoding="utf-8")
