"""What long work says of itself while it runs."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with what is being done, how many are done, and how many there are (None: unknown)."""

T = TypeVar("T")


def silent(stage: str, done: int, total: int | None) -> None:
    """Says nothing."""


def told(items: Iterable[T], stage: str, total: int | None, progress: Progress, every: int = 10_000) -> Iterator[T]:
    """Hands items on and tells how many there have been, once in `every` and at the end."""
    count = 0
    for item in items:
        yield item
        count += 1
        if count % every == 0:
            progress(stage, count, total)
    progress(stage, count, total)


class StderrProgress:
    """Writes a line to standard error when a stage begins or ends, and at most every two seconds between.

    It is for people: rates come from the clock, and nothing else depends on it.
    """

    def __init__(self) -> None:
        self._stage, self._began, self._last = "", 0.0, 0.0

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Tells how far the work is; see `Progress`."""
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._began, self._last = stage, now, 0.0
        if now - self._last < 2 and done != total:
            return
        self._last = now
        rate = done / (now - self._began) if now > self._began else 0.0
        of_all = f" of {total:,}" if total is not None else ""
        sys.stderr.write(f"{stage}: {done:,}{of_all}, {rate:,.0f} a second\n")
