"""The mark of a finished run: the last file it writes, so that a policy or a bank of another state is never taken for its own.

Whoever opens a run to go on removes the mark first. Needs neither torch nor transformers: evaluations read it too.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.weights import weights_digest
from sesa_env.errors import StoreError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.whole import whole_file

FINISHED, START = "finished.json", "start.json"
_SOLVER, _BANK, _RUN = "solver", "bank.sqlite", "selfplay"


def mark_finished(out: Path, updates: int, more: Mapping[str, Any] | None = None) -> None:
    """Writes the mark, the very last file of a run.

    Args:
        out: the run's directory, its bank closed.
        updates: updates made.
        more: what else is to be known of the end, JSON values.
    """
    mark = {"updates": updates, **_digests(out), **(more or {})}
    with whole_file(out / FINISHED) as part:
        part.write_text(json.dumps(mark, sort_keys=True, indent=1) + "\n", encoding="utf-8")


def why_unfinished(out: Path, updates: int) -> str | None:
    """Says why a directory is not what a finished run of so many updates left.

    Returns:
        The reason; None: it is, and its files are as they were.

    Raises:
        StoreError: the mark or the bank cannot be read.
    """
    if not (out / FINISHED).is_file():
        return f"{FINISHED} is missing"
    mark = read_json(out / FINISHED)
    if mark.get("updates") != updates:
        return f"it ended after {mark.get('updates')} of {updates} updates"
    if not (out / _SOLVER).is_dir():
        return f"{_SOLVER} is missing"
    changed = [name for name, digest in _digests(out).items() if mark.get(name) != digest]
    return f"its {changed[0]} is not the one that it ended with" if changed else None


def finished_updates(out: Path) -> int | None:
    """Returns the updates of a finished run whose files are as it left them; None where it is none."""
    if not (out / FINISHED).is_file():
        return None
    updates = read_json(out / FINISHED).get("updates")
    return updates if isinstance(updates, int) and why_unfinished(out, updates) is None else None


def read_json(path: Path) -> dict[str, Any]:
    """Reads a JSON object.

    Raises:
        StoreError: it cannot be read, or holds something else.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: {error}") from error
    if not isinstance(found, dict):
        raise StoreError(f"{path}: expected a JSON object; got {type(found).__name__}")
    return found


def _digests(out: Path) -> dict[str, str | None]:
    """Of the Solver's weights, and of all that its bank holds; None without a bank."""
    if not (out / _BANK).is_file():
        return {"solver": weights_digest(out / _SOLVER), "bank": None}
    with SkillBank.open(out / _BANK, run=_RUN, create=False) as bank:
        return {"solver": weights_digest(out / _SOLVER), "bank": bank.digest()}
