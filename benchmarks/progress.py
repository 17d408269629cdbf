"""What a person sees while a run goes on: the plan, progress bars, and the main table at the end."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from benchmarks.banks import BANK_FILE
from benchmarks.config import RunConfig
from benchmarks.plan import Plan
from benchmarks.render import Table, format_cell
from benchmarks.suites import BENCHMARKS
from benchmarks.units import UNITS, is_finished

Begin: TypeAlias = Callable[[str, int], Callable[[object], None]]
"""Begins a bar of a name and a length; what it returns is called after each unit, which is all the same to it."""

_FIT_A_TERMINAL = 4  # columns of scores beside the benchmarks' names in 80 characters


def print_plan(root: Path, config: RunConfig, plan: Plan, workers: int, seconds: float) -> None:
    """Says what will run, where, and about how long."""
    finished = sum(is_finished(root, unit.id) for unit in plan.units)
    arms = ", ".join(arm.name for arm in config.arms)
    about = f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"
    lines = [
        f"Suite {config.suite}, preset {config.preset}, seeds {len(config.seeds)}, arms {arms}",
        f"Plan: {len(plan.banks)} bank units, then {len(plan.evaluations)} evaluation units with {plan.questions:,} attempts "
        f"at a question (arms, modes and seeds counted each), on {workers} workers",
        f"About {about} for all of it: an estimate from a few timed questions, for a machine that does nothing else",
        f"Directory: {root}" + (f" ({finished} of {len(plan.units)} units are finished already)" if finished else ""),
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


@contextmanager
def progress_bars() -> Iterator[Begin]:
    """Shows a bar for each stage, on the error stream, so that the output can be piped."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description:<11}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:

        def begin(name: str, length: int) -> Callable[[object], None]:
            task = progress.add_task(name, total=length)
            return lambda unit: progress.advance(task)

        yield begin


def print_outcome(root: Path, table: Table) -> None:
    """Prints our rows of the main table, turned round so that it fits a terminal, and where everything is.

    Of many rows only the two means are printed, as they are: the rest is in the tables.
    """
    from rich.console import Console
    from rich.table import Column as Header
    from rich.table import Table as RichTable

    ours = [row for group in table.groups[:-1] for row in group]
    scores, turned = table.columns[2:], len(ours) <= _FIT_A_TERMINAL
    heads = [f"{row['arm']}\n{row['mode']}" for row in ours] if turned else [column.title for column in scores[:2]]
    shown = RichTable(Header(no_wrap=True), *(Header(head, justify="right") for head in heads), title=table.caption)
    if turned:
        for column in scores:
            shown.add_row(column.title, *(format_cell(row[column.key], column.style) for row in ours))
    else:
        for row in ours:
            shown.add_row(f"{row['arm']} {row['mode']}", *(format_cell(row[column.key], column.style) for column in scores[:2]))
    console = Console()
    console.print(shown)
    console.print(f"Report: {root / 'report.md'}; tables, figures and every answer beside it.", markup=False, soft_wrap=True)
    for bank in sorted((root / UNITS).glob(f"bank-*/{BANK_FILE}")):
        console.print(f"Bank: {bank}; look at it with: sesa bank show {bank}", markup=False, soft_wrap=True)


def print_tables(root: Path, tables: Sequence[Table]) -> None:
    """Prints the first two tables of an experiment, our rows alone, and where everything is."""
    from rich.console import Console
    from rich.table import Column as Header
    from rich.table import Table as RichTable

    console = Console()
    for table in tables[:2]:
        columns = [column for column in table.columns if column.key not in BENCHMARKS]
        heads = (Header(column.title, justify="left" if column.style == "text" else "right") for column in columns)
        shown = RichTable(*heads, title=table.caption)
        for row in table.rows:
            if not str(row.get("arm", "")).endswith("(paper)"):
                shown.add_row(*(format_cell(row.get(column.key), column.style) for column in columns))
        console.print(shown)
    console.print(f"Report: {root / 'report.html'}; tables, figures and every answer beside it.", markup=False, soft_wrap=True)
