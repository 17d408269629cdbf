"""Checkpoints: all that a run needs to go on to the bit, a directory each, whole or not there.

| file | holds |
|---|---|
| `solver.safetensors`, `challenger.safetensors` | the weights that training changes; one file where the seats share them |
| `solver.pt`, `challenger.pt` | each learner's state: optimiser, schedule, moving baseline |
| `bank.sqlite` | the bank with its failure queue |
| `state.json` | counters, replay pool, recent questions, the teacher's work |

A checkpoint is named by the number of updates made. The last two are kept, and the newest healthy one, to which a collapsed
Challenger goes back. Random numbers need none: each is a function of the seed and the step (`draws`).
"""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from agents.learner import Learner
from agents.policy import Policy
from sesa_env.errors import StoreError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.whole import whole_directory, whole_file

FOLDER, STATE, BANK = "checkpoints", "state.json", "bank.sqlite"
KEPT = 2


@dataclass(frozen=True)
class Seat:
    """A policy and the learner that trains it; None for a seat that is not trained."""

    policy: Policy
    learner: Learner | None


class Checkpoints:
    """The checkpoints of one run.

    Args:
        out: the run's directory.
    """

    def __init__(self, out: Path) -> None:
        self.folder = out / FOLDER

    def write(self, updates: int, seats: Mapping[str, Seat], bank: SkillBank | None, state: Mapping[str, Any]) -> None:
        """Writes a checkpoint and lets go of the old ones.

        Args:
            updates: updates made so far.
            seats: the seats by role. Those that share a policy are written once.
            bank: the bank; None without a memory.
            state: the rest, JSON values; `healthy` says whether a collapsed Challenger may go back here.
        """
        with whole_directory(self._path(updates)) as part:
            for role, seat in _distinct(seats).items():
                save_file(seat.policy.state_dict(), part / f"{role}.safetensors")
            for role, seat in seats.items():
                if seat.learner is not None:
                    torch.save(seat.learner.state_dict(), part / f"{role}.pt")
            if bank is not None:
                bank.backup(part / BANK)
            (part / STATE).write_text(json.dumps({**state, "updates": updates}, sort_keys=True), encoding="utf-8")
            _sync(part)
        self._prune()

    def latest(self) -> int | None:
        """Returns the number of updates of the newest checkpoint; None if there is none."""
        found = self._all()
        return found[-1] if found else None

    def state(self, updates: int) -> dict[str, Any]:
        """Reads a checkpoint's `state.json`."""
        path = self._path(updates) / STATE
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise StoreError(f"{path}: {error}; remove {path.parent} to go back to the checkpoint before") from error
        return found

    def load_seats(self, updates: int, seats: Mapping[str, Seat]) -> None:
        """Loads weights and learners into seats that were made from the run's start policy."""
        for role, seat in _distinct(seats).items():
            self.load_weights(updates, role, seat.policy)
        for role, seat in seats.items():
            self.load_learner(updates, role, seat)

    def load_weights(self, updates: int, role: str, policy: Policy) -> None:
        """Loads the weights of one role."""
        policy.load_state_dict(load_file(self._path(updates) / f"{role}.safetensors"))

    def load_learner(self, updates: int, role: str, seat: Seat) -> None:
        """Loads the learner of one role; a seat that is not trained has none."""
        if seat.learner is not None:
            seat.learner.load_state_dict(torch.load(self._path(updates) / f"{role}.pt", weights_only=True))

    def restore_bank(self, updates: int | None, path: Path) -> None:
        """Puts a checkpoint's bank in the place of the run's, whatever that has become since; without one there is none yet."""
        for end in ("-wal", "-shm", "-journal", ""):
            path.with_name(path.name + end).unlink(missing_ok=True)
        if updates is not None:
            with whole_file(path) as part:
                shutil.copyfile(self._path(updates) / BANK, part)

    def newest_healthy(self) -> int | None:
        """Returns the newest checkpoint that a collapsed Challenger may go back to."""
        return next((updates for updates in reversed(self._all()) if self.state(updates)["healthy"]), None)

    def _path(self, updates: int) -> Path:
        return self.folder / f"{updates:06d}"

    def _all(self) -> list[int]:
        shutil.rmtree(self.folder / "removed", ignore_errors=True)
        names = [path.name for path in self.folder.iterdir()] if self.folder.is_dir() else []
        return sorted(int(name) for name in names if name.isdigit())

    def _prune(self) -> None:
        found, healthy = self._all(), self.newest_healthy()
        for updates in found[:-KEPT]:
            if updates != healthy:
                # Its name goes first: one that is half removed must not be taken for a checkpoint.
                shutil.rmtree(self._path(updates).replace(self.folder / "removed"))


def _distinct(seats: Mapping[str, Seat]) -> dict[str, Seat]:
    """The seats without those whose policy an earlier one has already."""
    distinct: dict[str, Seat] = {}
    for role, seat in seats.items():
        if all(seat.policy is not other.policy for other in distinct.values()):
            distinct[role] = seat
    return distinct


def _sync(folder: Path) -> None:
    """Waits until the files are on the disk: a directory that is renamed before would be whole in name only."""
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            os.fsync(file.fileno())
