"""Puts index directories together without tokenising or encoding anything again: how an index grows by new passages.

BM25: scores depend on the whole corpus, so every posting is read, weighed anew and written; the result is what building from
all passages gives, to the byte. Dense: vectors are copied; FAISS adds the later ones to the first directory's index, whose
training (the lists and codes of "ivfpq", the ranges of "sq8") stays, and the recall that this leaves is measured.
"""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from sesa_env.errors import ConfigError, StoreError
from sesa_env.search.bm25 import BM25Retriever
from sesa_env.search.bm25_files import merge_to_disk
from sesa_env.search.dense import DenseRetriever, write_dense
from sesa_env.search.faiss_index import FaissBase
from sesa_env.search.opening import BACKENDS, held_backends, open_backend, open_corpus
from sesa_env.search.progress import Progress, silent
from sesa_env.search.store import StoredCorpus, write_corpus
from sesa_env.search.vectors import create_vectors


def merge_indices(target: str | Path, sources: Sequence[str | Path], progress: Progress = silent) -> tuple[str, ...]:
    """Puts index directories together in a new one.

    Args:
        target: the new directory; must not exist.
        sources: at least two, in the order that their passages shall have. No id may be in two of them.
        progress: told how far it is.

    Returns:
        The search tools that all sources held, and the new one holds.

    Raises:
        ConfigError: fewer than two sources, an id in two of them, or their settings differ.
        StoreError: a source is damaged, or the target exists or cannot be written.
    """
    where = Path(target)
    if len(sources) < 2:
        raise ConfigError(f"merging takes at least two index directories; came {len(sources)}")
    if where.exists():
        raise StoreError(f"{where} exists; it is left as it is; give a directory that does not")
    corpora = [open_corpus(source) for source in sources]
    shared = tuple(name for name in BACKENDS if all(name in held_backends(source) for source in sources))
    opened = {name: _open(name, sources, corpora) for name in shared}  # before anything is written
    corpus = write_corpus(where / "corpus", chain(*corpora), progress, sum(map(len, corpora)))
    for name, retrievers in opened.items():
        _MERGE[name](where / name, corpus, retrievers, progress)
    return shared


def _open(name: str, sources: Sequence[str | Path], corpora: Sequence[StoredCorpus]) -> list[Any]:
    opened: list[Any] = [open_backend(name, source, corpus) for source, corpus in zip(sources, corpora, strict=True)]
    for source, retriever in zip(sources, opened, strict=True):
        if retriever.settings != opened[0].settings:
            raise ConfigError(
                f"the {name} indices must have the same settings; {sources[0]} has {opened[0].settings.as_json()}, "
                f"{source} has {retriever.settings.as_json()}; build one of them again"
            )
    return opened


def _merge_bm25(target: Path, corpus: StoredCorpus, parts: Sequence[BM25Retriever], progress: Progress) -> None:
    settings = parts[0].settings
    facts = {"corpus": corpus.fingerprint, "passages": len(corpus), "settings": settings.as_json()}
    merge_to_disk(target, [part.postings.as_counts() for part in parts], settings.weights, facts, progress)


def _merge_dense(target: Path, corpus: StoredCorpus, parts: Sequence[DenseRetriever], progress: Progress) -> None:
    path = target.with_name(f".{target.name}-vectors.faiss")
    first = parts[0]
    try:
        rows, done = create_vectors(path, len(corpus), first.rows.shape[1]), 0
        for part in parts:
            rows[done : done + len(part.rows)] = part.rows
            done += len(part.rows)
            progress("vectors", done, len(corpus))
        base = FaissBase(first.directory, len(first.rows))
        write_dense(target, path, corpus, first.settings, first.encoder, progress, base)
    except OSError as error:
        raise StoreError(f"the index cannot be written to {target}: {error}") from error
    finally:
        path.unlink(missing_ok=True)


_MERGE: dict[str, Any] = {"bm25": _merge_bm25, "dense": _merge_dense}
