"""The live view of a run: on a terminal a table that is drawn anew at each update, elsewhere a plain line."""

import sys
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import Any, TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table

_BARS = "▁▂▃▄▅▆▇█"
_HISTORY = 40

SHOWN = (
    ("solve rate", "solve_rate", 1.0),
    ("valid rate", "valid_rate", 1.0),
    ("informative groups", "informative_groups", None),
    ("hops", "hops", 3.0),
    ("kinds of question", "effective_kinds", None),
    ("bank", "cards", None),
    ("Challenger's reward", "challenger_reward", None),
    ("Solver's reward", "solver_reward", None),
)
"""What is shown: its label, its field, and the value at which a bar is full; None for the greatest seen."""


class LiveView:
    """Shows rows of metrics as they come.

    Args:
        title: names the run.
        updates: how many updates there will be.
        stream: where to; standard error by default, so that standard output stays for results.
    """

    def __init__(self, title: str, updates: int, stream: TextIO | None = None) -> None:
        self._title, self._updates = title, updates
        self._console = Console(file=stream or sys.stderr)
        self._rows: deque[Mapping[str, Any]] = deque(maxlen=_HISTORY)
        self._live = Live(console=self._console, auto_refresh=False) if self._console.is_terminal else None

    def __enter__(self) -> "LiveView":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, row: Mapping[str, Any]) -> None:
        """Shows one more update."""
        self._rows.append(row)
        if self._live is None:
            self._console.print(plain_line(self._title, self._updates, row), highlight=False, soft_wrap=True)
        else:
            self._live.update(self._table(), refresh=True)

    def _table(self) -> Table:
        row = self._rows[-1]
        table = Table(title=f"{self._title}: update {row['step'] + 1} of {self._updates}", title_justify="left")
        for name in ("", "now", f"last {len(self._rows)} updates"):
            table.add_column(name)
        for label, name, full in SHOWN:
            table.add_row(label, _number(row.get(name)), sparkline([float(old.get(name, 0.0)) for old in self._rows], full))
        table.add_row("rejected", rejected(row), "")
        return table


def plain_line(title: str, updates: int, row: Mapping[str, Any]) -> str:
    """Returns an update as one line of text."""
    figures = "  ".join(f"{label} {_number(row.get(name))}" for label, name, _ in SHOWN)
    return f"{title} {row['step'] + 1}/{updates}  {figures}  rejected: {rejected(row)}  {row.get('step_s', 0.0):.2f} s"


def rejected(row: Mapping[str, Any]) -> str:
    """Returns the reject reasons of a row with their counts, the most frequent first."""
    reasons = sorted(row.get("rejected", {}).items(), key=lambda item: (-item[1], item[0]))
    found = [f"{reason} {count}" for reason, count in (*reasons, ("duplicate", row.get("duplicates", 0))) if count]
    return ", ".join(found) or "none"


def sparkline(values: list[float], full: float | None = None) -> str:
    """Draws values as bars of one character; those of 0 and below are the lowest."""
    top = full or max(values, default=0.0)
    if top <= 0:
        return _BARS[0] * len(values)
    return "".join(_BARS[min(max(int(value / top * len(_BARS)), 0), len(_BARS) - 1)] for value in values)


def _number(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value if value is not None else "-")
