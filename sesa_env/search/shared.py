"""Built indices, one a process for each corpus and setting: environments are made by the hundred, indices are not."""

import hashlib
import json
import threading
from pathlib import Path

from sesa_env.errors import ConfigError, StoreError
from sesa_env.search.base import Corpus
from sesa_env.search.bm25 import DEFAULTS, BM25Retriever, BM25Settings, retriever_fingerprint
from sesa_env.search.dense import DenseRetriever, DenseSettings, build_dense

_lock = threading.Lock()
_built: dict[str, BM25Retriever] = {}
_dense: dict[str, DenseRetriever] = {}


def shared_bm25(corpus: Corpus, settings: BM25Settings = DEFAULTS, index_dir: str | Path | None = None) -> BM25Retriever:
    """Returns the process's index of a corpus, built at the first call. Treat it as read-only.

    Args:
        corpus: the passages.
        settings: the ranking's settings.
        index_dir: a directory that keeps indices between processes; None keeps nothing. Each corpus and setting has a
            directory of its own in it, named by the fingerprint.

    Returns:
        The retriever: equal corpora and settings give the same object.

    Raises:
        ConfigError: the corpus is empty.
        StoreError: the index in `index_dir` is damaged, or cannot be written.
    """
    key = retriever_fingerprint(corpus.fingerprint, settings)
    with _lock:
        if key not in _built:
            _built[key] = _load_or_build(corpus, settings, None if index_dir is None else Path(index_dir) / key[:24])
        return _built[key]


def shared_dense(corpus: Corpus, settings: DenseSettings, index_dir: str | Path | None) -> DenseRetriever:
    """Returns the process's dense index of a corpus, encoded at the first call of all processes. Treat it as read-only.

    Args:
        corpus: the passages.
        settings: the ranking's settings.
        index_dir: as in `shared_bm25`, but must be given: encoding is too dear to be thrown away.

    Raises:
        ConfigError: no `index_dir`, or the encoder is missing.
        StoreError: the index in `index_dir` is damaged, or cannot be written.
    """
    if index_dir is None:
        raise ConfigError("dense search needs index_dir=DIR, a directory that keeps the vectors between runs")
    named = json.dumps([corpus.fingerprint, settings.as_json()], sort_keys=True)
    key = hashlib.sha256(named.encode()).hexdigest()
    with _lock:
        if key not in _dense:
            _dense[key] = build_dense(Path(index_dir) / f"dense-{key[:24]}", corpus, settings)
        return _dense[key]


def _load_or_build(corpus: Corpus, settings: BM25Settings, directory: Path | None) -> BM25Retriever:
    if directory is not None and directory.exists():
        loaded = BM25Retriever.load(directory, corpus)
        if loaded.settings != settings:
            raise StoreError(
                f"expected an index with {settings} in {directory}; came {loaded.settings}; delete it and build it again"
            )
        return loaded
    retriever = BM25Retriever(corpus, settings)
    if directory is not None:
        retriever.save(directory, replace=False)  # another process's is as good, and may be in the middle of being read
    return retriever
