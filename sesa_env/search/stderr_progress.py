"""Progress for people at a terminal. Apart from `progress`, since the rules of the game know no clock."""

import sys
import time


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
