"""Builds a BM25 index of a stored corpus in bounded memory: chunks are counted in several processes, then put together on disk.

Memory: one chunk a process, the distinct terms, and the postings of the commonest term. Chunks that are counted stay on
disk until the index stands, so a build that was interrupted goes on where it was.
"""

import multiprocessing
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from sesa_env.errors import ConfigError, StoreError
from sesa_env.search.bm25 import DEFAULTS, BM25Retriever, BM25Settings, retriever_fingerprint
from sesa_env.search.bm25_files import FORMAT, merge_to_disk
from sesa_env.search.building import only_builder, stands
from sesa_env.search.counts import count_terms, open_counts, save_counts
from sesa_env.search.progress import Progress, silent
from sesa_env.search.store import StoredCorpus
from sesa_env.search.tokenise import Tokeniser

CHUNK_BYTES = 2**24
MOST_CHUNKS = 256
"""At merging each chunk has one file open; a corpus of more than 4 GiB gets larger chunks instead of more."""


def build_bm25(
    directory: str | Path,
    corpus: StoredCorpus,
    settings: BM25Settings = DEFAULTS,
    processes: int = 1,
    progress: Progress = silent,
    chunk_bytes: int = CHUNK_BYTES,
) -> BM25Retriever:
    """Builds and saves an index; equal to `BM25Retriever(corpus, settings).save(directory)` but for memory and time.

    One that stands there already, of this corpus and these settings, is opened.

    Args:
        directory: where it shall stand. What is half done lies beside it, under a name that begins with a dot.
        corpus: the passages.
        settings: the ranking's settings.
        processes: how many count. More than one are started afresh, so a script of yours needs `if __name__ == "__main__":`.
        progress: told how far it is.
        chunk_bytes: how much of the corpus is counted at once, in a hundredth of a second a 100 kB or so.

    Returns:
        The index, opened.

    Raises:
        ConfigError: fewer than one process.
        StoreError: it cannot be written.
    """
    if processes < 1:
        raise ConfigError(f"processes must be at least 1; came {processes!r}")
    target = Path(directory).absolute()
    key = retriever_fingerprint(corpus.fingerprint, settings)
    work = target.with_name(f".{target.name}-{key[:16]}.building")
    bounds = _bounds(corpus, chunk_bytes)
    chunks = [(work / f"{start}-{stop}", start, stop) for start, stop in pairwise(bounds)]
    facts = {"corpus": corpus.fingerprint, "passages": len(corpus), "settings": settings.as_json()}
    try:
        with only_builder(target):
            if not stands(target, FORMAT, facts):
                work.mkdir(exist_ok=True)
                _count_all(corpus, settings.tokeniser, chunks, processes, progress)
                merge_to_disk(target, [open_counts(path) for path, _, _ in chunks], settings.weights, facts, progress)
                shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise StoreError(f"the index cannot be built in {target}: {error}; mend that and build again: it goes on") from error
    return BM25Retriever.load(target, corpus)


def _bounds(corpus: StoredCorpus, chunk_bytes: int) -> list[int]:
    """Returns where chunks begin and the last one ends: places of passages."""
    ends = corpus.ends
    size = max(chunk_bytes, -(-int(ends[-1]) // MOST_CHUNKS))
    inner = np.searchsorted(ends, np.arange(size, int(ends[-1]), size), "left")
    return sorted({0, *inner.tolist(), len(corpus)})


Chunk = tuple[Path, int, int]


def _count_all(corpus: StoredCorpus, tokeniser: Tokeniser, chunks: list[Chunk], processes: int, progress: Progress) -> None:
    waiting = [chunk for chunk in chunks if not chunk[0].is_dir()]
    done = len(corpus) - sum(stop - start for _, start, stop in waiting)
    progress("counted", done, len(corpus))
    for _, start, stop in _counted(corpus, tokeniser, waiting, processes):
        done += stop - start
        progress("counted", done, len(corpus))


def _counted(corpus: StoredCorpus, tokeniser: Tokeniser, chunks: list[Chunk], processes: int) -> Iterator[Chunk]:
    """Counts chunks and yields each when it is done, in any order."""
    if processes == 1 or len(chunks) < 2:
        for chunk in chunks:
            yield _count_chunk(str(corpus.directory), tokeniser, chunk)
        return
    # Fresh processes: a forked one may inherit a lock that a thread of this one holds.
    with ProcessPoolExecutor(min(processes, len(chunks)), multiprocessing.get_context("spawn")) as pool:
        asked: list[Future[Chunk]] = [pool.submit(_count_chunk, str(corpus.directory), tokeniser, chunk) for chunk in chunks]
        try:
            for future in as_completed(asked):
                yield future.result()
        finally:
            for future in asked:  # after an error or Ctrl-C what has begun is finished, the rest waits for the next time
                future.cancel()


def _count_chunk(corpus: str, tokeniser: Tokeniser, chunk: Chunk) -> Chunk:
    path, start, stop = chunk
    save_counts(path, count_terms(map(_opened(corpus).__getitem__, range(start, stop)), tokeniser))
    return chunk


@lru_cache(maxsize=1)
def _opened(corpus: str) -> StoredCorpus:
    return StoredCorpus(corpus)
