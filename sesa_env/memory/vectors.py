"""The growing matrix of embeddings: a row is written once, and a view handed out never changes."""

from collections.abc import Sequence

import numpy as np

from sesa_env.memory.embed import Vectors


class Rows:
    """Float32 rows that grow by doubling, so that n appends cost O(n) copies and no row is ever embedded or built twice.

    Views stay valid and unchanged: appending writes beyond their end, and `without` leaves the old buffer alone.
    """

    def __init__(self, dimension: int, capacity: int = 64) -> None:
        self._buffer: Vectors = np.zeros((capacity, dimension), np.float32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, rows: Vectors) -> None:
        """Appends rows of shape (n, d)."""
        needed = self._count + len(rows)
        if needed > len(self._buffer):
            grown = np.zeros((max(needed, 2 * len(self._buffer)), self._buffer.shape[1]), np.float32)
            grown[: self._count] = self._buffer[: self._count]
            self._buffer = grown
        self._buffer[self._count : needed] = rows
        self._count = needed

    def view(self) -> Vectors:
        """Returns all rows, shape (n, d), read-only, without a copy."""
        view = self._buffer[: self._count]
        view.flags.writeable = False
        return view

    def without(self, gone: Sequence[int]) -> "Rows":
        """Returns a copy that lacks the rows at these places."""
        kept = np.delete(self._buffer[: self._count], list(gone), axis=0)
        rest = Rows(self._buffer.shape[1], capacity=max(64, 2 * len(kept)))
        rest.append(kept)
        return rest

    def nearest(self, vector: Vectors) -> float:
        """Returns the highest cosine between `vector` and any row; -1.0 when there is none."""
        return float(np.max(self.view() @ vector)) if self._count else -1.0
