"""How often each term occurs in each passage: counted chunk by chunk, so that an index can be built from any number of them."""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sesa_env.memory.whole import whole_directory
from sesa_env.search.tokenise import Tokeniser
from sesa_env.types import Passage


class Slices(Protocol):
    """A long row of numbers of which slices are read: an array, a mapped one, or a `FileArray`."""

    def __getitem__(self, part: slice, /) -> npt.NDArray[Any]: ...


@dataclass(frozen=True)
class Counts:
    """The term counts of a run of passages, one after the other in a corpus.

    A posting is a passage that holds a term. Postings are ordered by term, then by passage.

    Attributes:
        terms: the distinct terms, sorted.
        holding: int32, for each term how many passages hold it.
        places: int32, for each posting the passage's place, counted from the first of the run.
        counts: unsigned, for each posting how often the passage holds the term.
        lengths: int32, for each passage how many terms it has, repetitions included.
        most: the largest of `counts`; 0 where there is none.
    """

    terms: Iterable[str]
    holding: npt.NDArray[np.int32]
    places: Slices
    counts: Slices
    lengths: npt.NDArray[np.int32]
    most: int


def indexed_text(passage: Passage) -> str:
    """Returns what is indexed of a passage: its title and its text, as in Search-R1's `contents`."""
    return f"{passage.title}\n{passage.text}"


def count_terms(passages: Iterable[Passage], tokeniser: Tokeniser) -> Counts:
    """Counts the terms of passages, in about 40 bytes of memory a word."""
    vocabulary: dict[str, int] = {}
    lengths, numbers = array("i"), array("i")
    for passage in passages:
        found = tokeniser.terms(indexed_text(passage))
        lengths.append(len(found))
        numbers.extend([vocabulary.setdefault(term, len(vocabulary)) for term in found])
    terms = sorted(vocabulary)
    ranks = np.empty(len(terms), np.int64)
    ranks[[vocabulary[term] for term in terms]] = np.arange(len(terms))
    return _count(terms, ranks[np.frombuffer(numbers, np.int32)], np.frombuffer(lengths, np.int32))


def _count(terms: list[str], numbers: npt.NDArray[np.int64], lengths: npt.NDArray[np.int32]) -> Counts:
    """Counts term numbers, given in the order of the text."""
    pairs = numbers * len(lengths) + np.repeat(np.arange(len(lengths)), lengths)
    pairs.sort()
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    counts = np.diff(starts, append=len(pairs)).astype(np.uint32)
    found, places = np.divmod(pairs[starts], max(len(lengths), 1))
    holding = np.bincount(found, minlength=len(terms)).astype(np.int32)
    return Counts(terms, holding, places.astype(np.int32), counts, lengths, int(counts.max(initial=0)))


class FileArray:
    """Numbers in a file, read slice by slice; no file stays open, so there may be any number of them."""

    def __init__(self, path: Path, dtype: Any) -> None:
        self._path, self._dtype = path, np.dtype(dtype)

    def __getitem__(self, part: slice, /) -> npt.NDArray[Any]:
        start, stop = int(part.start), int(part.stop)
        return np.fromfile(self._path, self._dtype, stop - start, offset=start * self._dtype.itemsize)


class _Lines:
    """The lines of a file, without their ends, each time anew."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[str]:
        with self._path.open(encoding="utf-8", newline="\n") as file:
            for line in file:
                yield line[:-1]


def save_counts(directory: Path, counts: Counts) -> None:
    """Writes counts into a directory of their own, whole or not at all."""
    with whole_directory(directory) as fresh:
        with (fresh / "terms.txt").open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{term}\n" for term in counts.terms)
        np.save(fresh / "holding.npy", counts.holding)
        np.save(fresh / "lengths.npy", counts.lengths)
        end = int(counts.holding.sum())
        counts.places[0:end].tofile(fresh / "places.bin")
        counts.counts[0:end].astype(np.uint32).tofile(fresh / "counts.bin")
        (fresh / "most.txt").write_text(str(counts.most), encoding="utf-8")


def open_counts(directory: Path) -> Counts:
    """Opens what `save_counts` wrote; the postings stay on disk."""
    return Counts(
        _Lines(directory / "terms.txt"),
        np.load(directory / "holding.npy"),
        FileArray(directory / "places.bin", np.int32),
        FileArray(directory / "counts.bin", np.uint32),
        np.load(directory / "lengths.npy"),
        int((directory / "most.txt").read_text(encoding="utf-8")),
    )
