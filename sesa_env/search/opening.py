"""Index directories: one corpus and any number of search tools over it, opened by path.

```
DIR/corpus   the passages (`sesa_env.search.store`)
DIR/bm25     a BM25 index of them (`sesa_env.search.bm25_files`)
DIR/dense    vectors of them, with an index of FAISS (`sesa_env.search.dense`)
```
"""

from pathlib import Path

from sesa_env.errors import ConfigError
from sesa_env.search.base import Retriever
from sesa_env.search.bm25 import BM25Retriever
from sesa_env.search.cache import CacheSettings
from sesa_env.search.composing import Composition
from sesa_env.search.dense import DenseRetriever
from sesa_env.search.hybrid import HybridSettings
from sesa_env.search.index_files import MANIFEST
from sesa_env.search.rerank import RerankSettings
from sesa_env.search.store import StoredCorpus

BACKENDS = ("bm25", "dense")
"""What an index directory can hold beside its corpus."""


def open_corpus(directory: str | Path) -> StoredCorpus:
    """Opens the corpus of an index directory.

    Raises:
        StoreError: there is none, or it is damaged.
    """
    return StoredCorpus(Path(directory) / "corpus")


def held_backends(directory: str | Path) -> tuple[str, ...]:
    """Names the search tools that an index directory holds."""
    return tuple(name for name in BACKENDS if (Path(directory) / name / MANIFEST).is_file())


def open_backend(name: str, directory: str | Path, corpus: StoredCorpus) -> BM25Retriever | DenseRetriever:
    """Opens one search tool of an index directory, one of `BACKENDS`; see `open_index`."""
    where = Path(directory) / name
    return BM25Retriever.load(where, corpus) if name == "bm25" else DenseRetriever(where, corpus)


def verify_backend(name: str, directory: str | Path, corpus: StoredCorpus) -> None:
    """Reads one search tool of an index directory whole and compares it with what was written.

    Raises:
        StoreError: it is missing, a byte of it has changed, or it is of another corpus.
    """
    kind: type[BM25Retriever] | type[DenseRetriever] = BM25Retriever if name == "bm25" else DenseRetriever
    kind.verify(Path(directory) / name, corpus)


def open_index(
    directory: str | Path,
    backend: str | None = None,
    *,
    hybrid: HybridSettings | None = None,
    rerank: RerankSettings | None = None,
    cache: CacheSettings | None = None,
) -> Retriever:
    """Opens an index directory, mapped into memory: in a fraction of a second, whatever its size.

    Args:
        directory: where it stands.
        backend: "bm25", "dense", or "hybrid", which needs both; None takes BM25 where it is, else dense.
        hybrid: how the two are fused.
        rerank: what puts the hits in order anew; None leaves them.
        cache: what remembers answers; None remembers none.

    Returns:
        The search tool; `open_corpus` gives its passages.

    Raises:
        ConfigError: the directory holds no such search tool, or a model is missing.
        StoreError: there is no index directory, or it is damaged.
    """
    corpus = open_corpus(directory)
    held = held_backends(directory)
    chosen = backend or next(iter(held), "bm25")

    def tool(name: str) -> BM25Retriever | DenseRetriever:
        if name not in held:
            raise ConfigError(
                f"expected {name} in {directory}; it holds {', '.join(held) or 'the corpus alone'}; "
                f"build it with: sesa index build {directory} --backend {name}"
            )
        return open_backend(name, directory, corpus)

    composition = Composition(backend=chosen, hybrid=hybrid or HybridSettings(), rerank=rerank, cache=cache)
    return composition.compose(tool)
