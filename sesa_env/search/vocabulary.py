"""The terms of an index on disk, sorted, found by bisection: nothing is loaded, however many there are."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from sesa_env.search.index_files import read_array

KEPT = 2**17
"""How many terms a process remembers once they have been looked up."""


def write_terms(directory: Path, terms: Iterable[str]) -> int:
    """Writes terms, which must be sorted and without line ends; returns how many there were."""
    ends = [0]
    with (directory / "terms.bin").open("wb") as file:
        for term in terms:
            ends.append(ends[-1] + file.write(term.encode("utf-8")))
    np.save(directory / "terms.npy", np.array(ends, np.int64))
    return len(ends) - 1


class StoredTerms(Sequence[str]):
    """The terms that `write_terms` wrote, by number.

    Args:
        directory: where they stand.
        mmap: map the files instead of reading them.
    """

    def __init__(self, directory: Path, mmap: bool = True) -> None:
        self._ends = read_array(directory / "terms.npy", mmap)
        path = directory / "terms.bin"
        empty = path.stat().st_size == 0  # the one term of a corpus without words is ""
        self._data = np.zeros(0, np.uint8) if empty else np.memmap(path, np.uint8, "r") if mmap else np.fromfile(path, np.uint8)
        if self._ends[-1] != len(self._data):
            raise ValueError("terms.npy is not of this terms.bin")
        self.find = lru_cache(maxsize=KEPT)(self._find)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, number: int) -> str:  # type: ignore[override]  # slices are not needed
        if not 0 <= number < len(self):
            raise IndexError(number)
        start, end = self._ends[number : number + 2].tolist()
        return self._data[start:end].tobytes().decode("utf-8")

    def _find(self, term: str) -> int | None:
        """Returns a term's number, or None."""
        number = bisect_left(self, term)
        return number if number < len(self) and self[number] == term else None
