"""Vectors of passages on disk, in float16, one row a passage: written block by block, so that encoding can be resumed.

The file is a flat FAISS index (`IndexScalarQuantizer`, QT_fp16) whose rows are filled in place: FAISS maps it and searches it
as it is, and nothing is stored twice.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sesa_env.errors import StoreError, missing_extra
from sesa_env.memory.whole import whole_file
from sesa_env.search.base import Corpus
from sesa_env.search.counts import indexed_text
from sesa_env.search.encoder import Encoder
from sesa_env.search.progress import Progress

BLOCK = 1024
"""How many passages are encoded between two notes of how far it is."""

Rows = npt.NDArray[np.float16]


def import_faiss() -> Any:
    """Imports FAISS.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import faiss
    except ImportError as error:
        raise missing_extra("faiss", "dense") from error
    return faiss


def create_vectors(path: Path, rows: int, dimension: int) -> Rows:
    """Makes a file for so many vectors, all zero, and maps it for writing: shape (rows, dimension)."""
    header = _header(rows, dimension)
    with path.open("wb") as file:
        file.write(header)
        file.truncate(len(header) + 2 * rows * dimension)
    return np.memmap(path, np.float16, "r+", len(header), (rows, dimension))


def map_vectors(path: Path, rows: int, dimension: int, mode: Any = "r") -> Rows:
    """Maps the vectors of a file: shape (rows, dimension).

    Raises:
        StoreError: the file is not of so many vectors.
    """
    header = _header(rows, dimension)
    with path.open("rb") as file:
        if file.read(len(header)) != header or path.stat().st_size != len(header) + 2 * rows * dimension:
            raise StoreError(f"expected {rows} vectors of length {dimension} in {path}; came another file; build it again")
    return np.memmap(path, np.float16, mode, len(header), (rows, dimension))


def _header(rows: int, dimension: int) -> bytes:
    """Returns what FAISS writes before the rows: last of all how many bytes they are."""
    faiss = import_faiss()
    index = faiss.IndexScalarQuantizer(dimension, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    index.ntotal = rows
    empty = bytes(faiss.serialize_index(index))
    return empty[:-8] + (2 * rows * dimension).to_bytes(8, "little")


def encode_corpus(work: Path, corpus: Corpus, encoder: Encoder, progress: Progress) -> Path:
    """Encodes all passages into `work`/vectors.faiss, going on where an earlier call was interrupted.

    Args:
        work: a directory for this corpus and encoder alone.
        corpus: the passages.
        encoder: the encoder.
        progress: told of the passages encoded.

    Returns:
        The file.
    """
    path, note = work / "vectors.faiss", work / "encoded.json"
    done = json.loads(note.read_text(encoding="utf-8"))["rows"] if note.is_file() else 0
    size, dimension = len(corpus), encoder.dimension
    rows = map_vectors(path, size, dimension, "r+") if done else create_vectors(path, size, dimension)
    progress("encoded", done, size)
    for start in range(done, size, BLOCK):
        stop = min(start + BLOCK, size)
        rows[start:stop] = encoder.encode_passages([indexed_text(corpus[place]) for place in range(start, stop)])
        assert isinstance(rows, np.memmap)
        rows.flush()  # the note must never be ahead of the rows
        with whole_file(note) as part:
            part.write_text(json.dumps({"rows": stop}), encoding="utf-8")
        progress("encoded", stop, size)
    return path


def blocks(rows: Rows, size: int = 2**16) -> Iterator[npt.NDArray[np.float32]]:
    """Yields the rows in float32, `size` at a time."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size].astype(np.float32)
