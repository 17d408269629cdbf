"""A run's metrics: one JSON row an update, the same to the bit in equal runs but for the fields that say otherwise.

Fields whose name ends in `_s` are seconds, and `machine` holds figures of the process; all else is a function of the
configuration alone.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sesa_env.errors import StoreError

METRICS, BOOTSTRAP = "metrics.jsonl", "bootstrap.json"
MACHINE = "machine"


class MetricsFile:
    """`DIR/metrics.jsonl`.

    Args:
        path: the file.
        rows: how many of its rows to keep: what a run that was stopped wrote after its checkpoint goes.

    Raises:
        StoreError: the file has fewer rows than the checkpoint knows of.
    """

    def __init__(self, path: Path, rows: int = 0) -> None:
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
        whole = [line for line in lines if line.endswith("\n")]
        if len(whole) < rows:
            raise StoreError(f"{path}: expected at least {rows} rows, as its checkpoint says; got {len(whole)}")
        part = path.with_suffix(".part")
        part.write_text("".join(whole[:rows]), encoding="utf-8")
        os.replace(part, path)

    def add(self, row: Mapping[str, Any]) -> None:
        """Appends a row."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, sort_keys=True) + "\n")

    def sync(self) -> None:
        """Makes sure that the rows are on the disk, before a checkpoint that counts on them."""
        with self.path.open("a", encoding="utf-8") as file:
            os.fsync(file.fileno())


def read_metrics(out: str | Path) -> list[dict[str, Any]]:
    """Reads the metrics of a run, a row an update.

    Raises:
        StoreError: there are none.
    """
    path = Path(out) / METRICS
    if not path.exists():
        raise StoreError(f"{path}: expected the metrics of a run; there is no such file")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_bootstrap(out: str | Path) -> dict[str, Any] | None:
    """Reads what a run's bootstrap phase played; None where it had none."""
    path = Path(out) / BOOTSTRAP
    found: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return found


def reproducible(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a row without seconds and figures of the process: what equal runs agree in, to the bit."""
    return {name: value for name, value in row.items() if not name.endswith("_s") and name != MACHINE}


def scalars(row: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Flattens a row to its numbers by dotted name, the form that TensorBoard and others draw."""
    flat: dict[str, float] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            flat |= scalars(value, f"{prefix}{name}/")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            flat[f"{prefix}{name}"] = float(value)
    return flat
