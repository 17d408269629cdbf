"""The arrays of a BM25 index, put together from term counts, a bounded number of postings at a time."""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sesa_env.search.counts import Counts
from sesa_env.search.progress import Progress, silent

BUFFER = 2**22
"""How many postings are put in order at once; a term that has more of them takes as many as it has."""

Allocate: TypeAlias = Callable[[str, Any, int], npt.NDArray[Any]]
"""Makes an array by name, dtype and length: in memory or on disk."""


@dataclass(frozen=True)
class Postings:
    """A BM25 index: for each term the passages that hold it, as a sparse matrix by columns, with scores worked out.

    Attributes:
        terms: the distinct terms, sorted; their places are the columns.
        indptr: int64, one more than terms: where each term's postings begin.
        indices: int32, for each posting the passage's place in the corpus, ascending within a term.
        data: for each posting the score that the term gives the passage.
        counts: for each posting how often the passage holds the term; with `lengths`, what merging needs.
        lengths: int32, for each passage how many terms it has.
    """

    terms: Sequence[str]
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    data: npt.NDArray[Any]
    counts: npt.NDArray[Any]
    lengths: npt.NDArray[np.int32]

    def as_counts(self) -> Counts:
        """Returns the counts that the index was made from."""
        holding = np.diff(self.indptr).astype(np.int32)
        most = max((int(self.counts[at : at + BUFFER].max()) for at in range(0, len(self.counts), BUFFER)), default=0)
        return Counts(self.terms, holding, self.indices, self.counts, self.lengths, most)


def in_memory(name: str, dtype: Any, length: int) -> npt.NDArray[Any]:
    """Makes an array in memory; see `Allocate`."""
    return np.empty(length, dtype)


def put_together(
    parts: Sequence[Counts],
    weigh: "Weights",
    allocate: Allocate = in_memory,
    progress: Progress = silent,
) -> Postings:
    """Puts the counts of consecutive runs of passages together to one index.

    Args:
        parts: the runs in corpus order.
        weigh: the settings of the scores.
        allocate: makes the long arrays "indices", "data" and "counts".
        progress: told of the postings done.

    Returns:
        The index; the same, to the bit, however the passages are divided into runs.
    """
    terms, columns = _union(parts)
    holding = np.zeros(len(terms), np.int64)
    for part, column in zip(parts, columns, strict=True):
        holding[column] += part.holding
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(holding)])
    lengths = np.concatenate([np.asarray(part.lengths) for part in parts])
    total = int(indptr[-1])
    count_type = np.min_scalar_type(max((part.most for part in parts), default=0))
    arrays = [allocate(*array) for array in (("indices", np.int32, total), ("data", weigh.dtype, total))]
    indices, data, counts = (*arrays, allocate("counts", count_type, total))
    norms, weights = weigh.norms(lengths), weigh.of_terms(holding, len(lengths))
    mixer = _Mixer(parts, columns)
    for low, high in _ranges(indptr):
        start, end = int(indptr[low]), int(indptr[high])
        indices[start:end], found = mixer.mix(indptr, low, high)
        counts[start:end] = found
        of_each = np.repeat(weights[low:high], holding[low:high])
        data[start:end] = of_each * (found / (norms[indices[start:end]] + found))
        progress("postings", end, total)
    return Postings(terms, indptr, indices, data, counts, lengths)


@dataclass(frozen=True)
class Weights:
    """BM25 as Lucene has it: a term weighs ln(1 + (N - n + 0.5) / (n + 0.5)), times f / (f + k1 (1 - b + b l / mean l)).

    Attributes:
        k1: as in `BM25Settings`.
        b: likewise.
        dtype: of the scores.
    """

    k1: float
    b: float
    dtype: str

    def norms(self, lengths: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        """Returns what each passage adds to a count in the denominator."""
        mean = float(np.mean(lengths, dtype=np.float64)) or 1.0  # no passage holds a word
        norms: npt.NDArray[np.float64] = self.k1 * ((1 - self.b) + self.b * lengths.astype(np.float64) / mean)
        return norms

    def of_terms(self, holding: npt.NDArray[np.int64], passages: int) -> npt.NDArray[np.float64]:
        """Returns the inverse document frequency of each term, by the library's logarithm rather than numpy's approximation."""
        kinds, places = np.unique(holding, return_inverse=True)
        each = [math.log(1 + (passages - count + 0.5) / (count + 0.5)) for count in kinds.tolist()]
        return np.array(each, np.float64)[places]


def _union(parts: Sequence[Counts]) -> tuple[list[str], list[npt.NDArray[np.int32]]]:
    """Returns all terms, sorted, and for each part the columns of its terms."""
    terms: list[str] = []
    columns = [np.empty(len(part.holding), np.int32) for part in parts]
    filled = [0] * len(parts)
    for term, number in heapq.merge(*(_numbered(part, number) for number, part in enumerate(parts))):
        if not terms or terms[-1] != term:
            terms.append(term)
        columns[number][filled[number]] = len(terms) - 1
        filled[number] += 1
    return terms, columns


def _numbered(part: Counts, number: int) -> Iterator[tuple[str, int]]:
    return ((term, number) for term in part.terms)


def _ranges(indptr: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Divides the terms into runs of at most `BUFFER` postings, or of one term."""
    low, terms = 0, len(indptr) - 1
    while low < terms:
        high = int(np.searchsorted(indptr, indptr[low] + BUFFER, "right")) - 1
        high = min(max(high, low + 1), terms)
        yield low, high
        low = high


class _Mixer:
    """Reads the postings of a range of terms from all parts and puts them in order."""

    def __init__(self, parts: Sequence[Counts], columns: Sequence[npt.NDArray[np.int32]]) -> None:
        self._parts, self._columns = parts, columns
        self._starts = [np.concatenate([np.zeros(1, np.int64), np.cumsum(part.holding, dtype=np.int64)]) for part in parts]
        self._firsts = np.cumsum([0, *(len(part.lengths) for part in parts)]).tolist()

    def mix(self, indptr: npt.NDArray[np.int64], low: int, high: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint32]]:
        """Returns places and counts of the postings of the terms from `low` to below `high`, by term and then by place."""
        size = int(indptr[high] - indptr[low])
        places, counts = np.empty(size, np.int32), np.empty(size, np.uint32)
        free = indptr[low:high] - indptr[low]  # where the next posting of each term goes; parts come in corpus order
        for number, part in enumerate(self._parts):
            first, last = np.searchsorted(self._columns[number], [low, high])
            held = part.holding[first:last]
            columns = self._columns[number][first:last] - low
            start, end = int(self._starts[number][first]), int(self._starts[number][last])
            begins = self._starts[number][first:last] - start
            goes = np.repeat(free[columns] - begins, held) + np.arange(end - start)
            places[goes] = part.places[start:end] + np.int32(self._firsts[number])
            counts[goes] = part.counts[start:end]
            free[columns] += held
        return places, counts
