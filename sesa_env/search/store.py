"""A corpus on disk, mapped into memory: millions of passages without one Python object for each.

```
passages.bin    the records of all passages in order (`corpus.passage_record`); its SHA-256 is the corpus's fingerprint
offsets.npy     int64, one more than passages: where each record begins, then the length of the file
id_hashes.npy   uint64, ascending: hashes of the ids
id_places.npy   int32: the place of the passage behind each hash
```
"""

import hashlib
import mmap
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from sesa_env.errors import ConfigError, StoreError
from sesa_env.search.building import only_builder
from sesa_env.search.corpus import passage_record
from sesa_env.search.index_files import check_files, read_array, read_manifest, reading, write_files
from sesa_env.search.progress import Progress, silent, told
from sesa_env.types import Passage

FORMAT = "sesa-corpus-1"
_LENGTH = 8
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


def write_corpus(
    directory: str | Path, passages: Iterable[Passage], progress: Progress = silent, total: int | None = None
) -> "StoredCorpus":
    """Writes a corpus from a stream, whole or not at all, in 32 bytes of memory a passage.

    One process at a time writes to a directory; the others wait. What one that was killed has left is removed.

    Args:
        directory: where it shall stand.
        passages: in corpus order; their ids must differ. What the stream raises leaves as it is, and nothing is written.
        progress: told how far it is.
        total: how many passages there are, if that is known.

    Returns:
        The corpus, opened.

    Raises:
        ConfigError: no passages, or two with one id.
        StoreError: it cannot be written, or `directory` holds something else.
    """
    facts: dict[str, Any] = {"format": FORMAT}
    target = Path(directory).absolute()

    def fill(fresh: Path) -> None:
        facts.update(_write_records(fresh, told(passages, "passages", total, progress)))

    try:
        with only_builder(target):
            write_files(target, facts, fill)
    except OSError as error:
        raise StoreError(f"the corpus cannot be written to {target}: {error}; mend that, or give another directory") from error
    return StoredCorpus(target)


def _write_records(fresh: Path, passages: Iterable[Passage]) -> dict[str, Any]:
    digest, end = hashlib.sha256(), 0
    offsets, ids, contents = array("q", [0]), array("Q"), array("Q")
    with (fresh / "passages.bin").open("wb") as file:
        for passage in passages:
            record = passage_record(passage)
            digest.update(record)
            file.write(record)
            end += len(record)
            offsets.append(end)
            named = _LENGTH + int.from_bytes(record[:_LENGTH], "little")
            ids.append(_hash(record[_LENGTH:named]))
            contents.append(_hash(record[named:]))
    if not ids:
        raise ConfigError("an index needs at least one passage; came none; give sources that have some")
    np.save(fresh / "offsets.npy", np.frombuffer(offsets, np.int64))
    _write_ids(fresh, np.frombuffer(ids, np.uint64))
    duplicates = len(contents) - len(np.unique(np.frombuffer(contents, np.uint64)))
    return {"fingerprint": digest.hexdigest(), "passages": len(ids), "duplicates": duplicates}


def _hash(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _write_ids(fresh: Path, hashes: npt.NDArray[np.uint64]) -> None:
    places = np.argsort(hashes, kind="stable").astype(np.int32)
    ordered = hashes[places]
    np.save(fresh / "id_hashes.npy", ordered)
    np.save(fresh / "id_places.npy", places)
    records = _Records(fresh)
    for where in (ordered[1:] == ordered[:-1]).nonzero()[0].tolist():
        first, second = int(places[where]), int(places[where + 1])
        if records[first].id == records[second].id:
            raise ConfigError(
                f"passage ids must be unique; {records[first].id!r} is the id of passage {first} ({records[first].title!r}) "
                f"and of passage {second} ({records[second].title!r}), counted from 0; rename one of them"
            )


class _Records:
    """The passages of a directory by place."""

    def __init__(self, directory: Path) -> None:
        self.offsets = read_array(directory / "offsets.npy")
        with (directory / "passages.bin").open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self.offsets[-1] != len(self._data):
            raise ValueError("offsets.npy is not of this passages.bin")

    def __getitem__(self, place: int) -> Passage:
        start, end = self.offsets[place : place + 2].tolist()
        record = self._data[start:end]
        passage_id, at = _field(record, 0)
        title, at = _field(record, at)
        return Passage(passage_id, title, _field(record, at)[0])


def _field(record: bytes, at: int) -> tuple[str, int]:
    """Returns the text that begins at a byte of a record, and where the next one begins."""
    stop = at + _LENGTH + int.from_bytes(record[at : at + _LENGTH], "little")
    return record[at + _LENGTH : stop].decode("utf-8", "surrogatepass"), stop


class StoredCorpus(Sequence[Passage]):
    """A read-only corpus that `write_corpus` wrote. Processes that open it share its memory; it pickles as its path.

    Args:
        directory: where it stands.

    Attributes:
        directory: likewise, absolute.
        fingerprint: see `sesa_env.search.corpus.fingerprint_passages`.
        duplicates: how many passages have title and text of an earlier one, under another id.

    Raises:
        StoreError: there is none, or it is damaged.
    """

    fingerprint: str

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory).absolute()
        manifest = read_manifest(self.directory, FORMAT, "write one with: sesa index build DIR --corpus FILE")
        with reading(self.directory):
            check_files(self.directory, manifest["files"])
            self.fingerprint, self.duplicates = str(manifest["fingerprint"]), int(manifest["duplicates"])
            self._records = _Records(self.directory)
            self._hashes = read_array(self.directory / "id_hashes.npy")
            self._places = read_array(self.directory / "id_places.npy")
            self._length = len(self._records.offsets) - 1
            if {len(self._hashes), len(self._places), manifest["passages"]} != {self._length}:
                raise ValueError("its files do not belong together")

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredCorpus, (str(self.directory),)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Passage: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Passage]: ...
    def __getitem__(self, index: int | slice) -> Passage | Sequence[Passage]:
        if isinstance(index, slice):
            return [self._records[place] for place in range(*index.indices(self._length))]
        place = index + self._length if index < 0 else index
        if not 0 <= place < self._length:
            raise IndexError(f"passage {index} of a corpus of {self._length}")
        return self._records[place]

    @property
    def ends(self) -> npt.NDArray[np.int64]:
        """Where the record of each passage ends, in bytes from the beginning of the first: shape (passages,)."""
        ends: npt.NDArray[np.int64] = self._records.offsets[1:]
        return ends

    def find(self, passage_id: str) -> Passage | None:
        """Returns the passage with this id, or None."""
        wanted = np.uint64(_hash(passage_id.encode("utf-8", "surrogatepass")))
        first, end = (int(np.searchsorted(self._hashes, wanted, side)) for side in _SIDES)
        found = (self._records[place] for place in self._places[first:end].tolist())
        return next((passage for passage in found if passage.id == passage_id), None)

    def verify(self) -> None:
        """Reads everything and compares it with what was written.

        Raises:
            StoreError: a file has changed since.
        """
        manifest = read_manifest(self.directory, FORMAT, "build it again")
        with reading(self.directory):
            check_files(self.directory, manifest["files"], everything=True)
            if manifest["files"]["passages.bin"]["sha256"] != self.fingerprint:
                raise StoreError(f"the manifest of {self.directory} contradicts itself; build the corpus again")
