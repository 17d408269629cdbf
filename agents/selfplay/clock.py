"""Seconds by phase."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Adds up the seconds of the phases of one step.

    Attributes:
        seconds: by phase, in the order of their first appearance.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        """Counts its block towards a phase."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - start

    def row(self) -> dict[str, float]:
        """Returns the seconds as fields of a metrics row, and their sum."""
        fields = {f"{phase}_s": round(seconds, 6) for phase, seconds in self.seconds.items()}
        return fields | {"step_s": round(sum(self.seconds.values()), 6)}
