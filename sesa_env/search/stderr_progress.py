"""Progress for people at a terminal. Apart from `progress`, since the rules of the game know no clock."""

import sys
import time


class StderrProgress:
    """Writes a line to standard error when a stage goes on from before, when it ends, and at most every two seconds between.

    It is for people: rates come from the clock, and nothing else depends on it.
    """

    def __init__(self) -> None:
        self._stage, self._began, self._last = "", 0.0, 0.0
        self._done_before = 0

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Tells how far the work is; see `Progress`."""
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._began, self._last, self._done_before = stage, now, 0.0, done
        if not done or (now - self._last < 2 and done != total):
            return
        self._last = now
        fresh, took = done - self._done_before, now - self._began
        rate = f", {fresh / took:,.0f} a second" if fresh and took else ""  # what an earlier build has done cost no time now
        of_all = f" of {total:,}" if total is not None else ""
        sys.stderr.write(f"{stage}: {done:,}{of_all}{rate}\n")
