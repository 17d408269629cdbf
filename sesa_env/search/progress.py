"""What long work says of itself while it runs."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with what is being done, how many are done, and how many there are (None: unknown)."""

T = TypeVar("T")


def silent(stage: str, done: int, total: int | None) -> None:
    """Says nothing."""


def told(items: Iterable[T], stage: str, total: int | None, progress: Progress, every: int = 10_000) -> Iterator[T]:
    """Hands items on and tells how many there have been: at the beginning, once in `every`, and at the end."""
    count = 0
    progress(stage, count, total)
    for item in items:
        yield item
        count += 1
        if count % every == 0:
            progress(stage, count, total)
    progress(stage, count, total)
