"""A BM25 index on disk: the arrays of `Postings`, the terms, and the manifest (`sesa_env.search.index_files`)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sesa_env.errors import StoreError
from sesa_env.search.base import Corpus
from sesa_env.search.counts import Counts
from sesa_env.search.index_files import check_corpus, check_files, read_array, read_manifest, reading, write_files
from sesa_env.search.postings import Allocate, Postings, Weights, put_together
from sesa_env.search.progress import Progress
from sesa_env.search.vocabulary import StoredTerms, write_terms

FORMAT = "sesa-bm25-index-3"
MAKE = "build one with BM25Retriever(...).save, or with: sesa index build DIR --corpus FILE"

_ARRAYS = ("indptr", "indices", "data", "counts", "lengths")


def save_postings(directory: Path, postings: Postings, facts: dict[str, Any], replace: bool = True) -> None:
    """Writes an index that is in memory.

    Args:
        directory: where it shall stand.
        postings: the index.
        facts: "corpus" (fingerprint), "passages" (how many) and "settings".
        replace: as in `write_files`.

    Raises:
        StoreError: as `write_files`.
    """

    def fill(fresh: Path) -> None:
        for name in _ARRAYS:
            np.save(fresh / f"{name}.npy", getattr(postings, name))
        write_terms(fresh, postings.terms)

    write_files(directory, {"format": FORMAT, **facts}, fill, replace)


def merge_to_disk(directory: Path, parts: Sequence[Counts], weigh: Weights, facts: dict[str, Any], progress: Progress) -> None:
    """Puts counts together to an index whose long arrays never are in memory.

    Args:
        directory: where it shall stand.
        parts: the counts of consecutive runs of passages.
        weigh: the settings of the scores.
        facts: as in `save_postings`.
        progress: told of the postings done.

    Raises:
        StoreError: as `write_files`.
    """

    def fill(fresh: Path) -> None:
        postings = put_together(parts, weigh, _on_disk(fresh), progress)
        np.save(fresh / "indptr.npy", postings.indptr)
        np.save(fresh / "lengths.npy", postings.lengths)
        write_terms(fresh, postings.terms)

    write_files(directory, {"format": FORMAT, **facts}, fill)


def _on_disk(directory: Path) -> Allocate:
    def allocate(name: str, dtype: Any, length: int) -> Any:
        return np.lib.format.open_memmap(directory / f"{name}.npy", "w+", dtype, (length,))

    return allocate


def read_postings(
    directory: Path, corpus: Corpus, mmap: bool, read_settings: Callable[[dict[str, Any]], Any], everything: bool = False
) -> tuple[Postings, Any]:
    """Opens a saved index.

    Args:
        directory: where it stands.
        corpus: the corpus it must be of.
        mmap: map the arrays into memory.
        read_settings: builds the settings from their JSON value.
        everything: read the contents of all files and compare them with the manifest.

    Returns:
        The index and its settings.

    Raises:
        StoreError: missing, damaged, of another version or of another corpus.
    """
    manifest = read_manifest(directory, FORMAT, MAKE)
    with reading(directory):
        settings = read_settings(manifest["settings"])
        check_files(directory, manifest["files"], everything)
        check_corpus(directory, manifest, corpus)
        arrays = {name: read_array(directory / f"{name}.npy", mmap) for name in _ARRAYS}
        postings = Postings(StoredTerms(directory, mmap), **arrays)
        if not _belong_together(postings, len(corpus)):
            raise StoreError(f"the files of the index in {directory} do not belong together; build it again")
    return postings, settings


def _belong_together(postings: Postings, passages: int) -> bool:
    postings_end = int(postings.indptr[-1])
    return (
        len(postings.indptr) == len(postings.terms) + 1
        and len(postings.lengths) == passages
        and {len(postings.indices), len(postings.data), len(postings.counts)} == {postings_end}
    )
