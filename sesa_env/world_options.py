"""The options of each world, as JSON gives them: `sesa_env.plain.build` checks their names and types, each class its ranges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from sesa_env.errors import ConfigError
from sesa_env.search.base import Corpus, Retriever
from sesa_env.search.bm25 import DEFAULTS, BM25Settings
from sesa_env.search.cache import CachedRetriever
from sesa_env.search.client import RemoteRetriever, RemoteSettings
from sesa_env.search.composing import Composition
from sesa_env.search.dense import DenseSettings
from sesa_env.search.opening import open_index
from sesa_env.search.ranking import Ranker
from sesa_env.search.shared import shared_bm25, shared_dense
from sesa_env.search.tokenise import Tokeniser

_OF_AN_INDEX = ("k1", "b", "stop_words", "stemmer", "dense", "index_dir")
_OF_A_TOOL = ("backend", "hybrid", "rerank")


@dataclass(frozen=True, kw_only=True)
class SearchOptions(Composition):
    """The search tool of a world.

    Attributes:
        k1: as in `sesa_env.search.bm25.BM25Settings`.
        b: likewise.
        stop_words: words that are neither indexed nor searched.
        stemmer: the language whose endings BM25 cuts off; None cuts nothing.
        dense: of "dense" and "hybrid": {"encoder": "minilm", "faiss": {"kind": "flat"}} and the other fields of
            `sesa_env.search.dense.DenseSettings`.
        index_dir: a directory that keeps indices between processes; None keeps nothing. Dense search needs one.
        remote: a server to search on instead, {"url": "http://127.0.0.1:8000"} and the other fields of
            `sesa_env.search.client.RemoteSettings`; None searches in this process. A cache may stand before it.
    """

    k1: float = DEFAULTS.k1
    b: float = DEFAULTS.b
    stop_words: tuple[str, ...] = ()
    stemmer: str | None = None
    dense: DenseSettings = field(default_factory=DenseSettings)
    index_dir: str | None = None
    remote: RemoteSettings | None = None

    def open(self, corpus: Corpus) -> Retriever:
        """Returns the search tool with these options: the process's own over a corpus (see `shared_bm25`), or a server's.

        Raises:
            ConfigError: settings of an index are given together with a server, which has its own.
        """
        if self.remote is None:
            return self.compose(lambda name: self._tool(name, corpus))
        self._refuse("a server has its own index: give remote", (*_OF_AN_INDEX, *_OF_A_TOOL))
        server = RemoteRetriever(self.remote)
        return server if self.cache is None else CachedRetriever(server, self.cache)

    def _refuse(self, reason: str, names: Sequence[str]) -> None:
        """Refuses options that something else makes meaningless."""
        plain = SearchOptions()
        if own := [name for name in names if getattr(self, name) != getattr(plain, name)]:
            raise ConfigError(f"{reason} or {', '.join(own)}, not both")

    def _tool(self, name: str, corpus: Corpus) -> Ranker:
        if name == "dense":
            return shared_dense(corpus, self.dense, self.index_dir)
        tokeniser = Tokeniser(self.stop_words, self.stemmer)
        return shared_bm25(corpus, BM25Settings(self.k1, self.b, tokeniser), self.index_dir)


@dataclass(frozen=True, kw_only=True)
class PoolOptions:
    """How many targets a world offers, and by which seed its pools are drawn.

    Attributes:
        n_targets: how many targets, at least 0.
        pool_seed: at least 0.
    """

    n_targets: int = 1000
    pool_seed: int = 0

    def __post_init__(self) -> None:
        _at_least("n_targets", self.n_targets, 0)
        _at_least("pool_seed", self.pool_seed, 0)


@dataclass(frozen=True, kw_only=True)
class WikiOptions:
    """The arguments of `sesa_env.corpus.miniwiki.MiniWiki`, which says what they mean and checks their ranges."""

    seed: int = 0
    size: int = 1000
    relations: int = 24
    phrasings: int = 2
    zipf: float = 0.7
    distance: float = 0.8
    aliases: float = 0.3
    decoys: float = 1.0
    filler: int = 2
    sentences: int | None = None


@dataclass(frozen=True, kw_only=True)
class MiniWikiOptions(WikiOptions, SearchOptions, PoolOptions):
    """The options of "miniwiki", the built-in invented encyclopaedia.

    Attributes:
        split: the half of the entities, "train" or "test", that questions and targets are about.
        benchmark: the questions are of this mixture, for example "nq"; None mixes all families.
        families: without a benchmark, weights by family, for example {"bridge2": 1.0}.
        n_questions: how many questions, at least 0.
    """

    split: str = "train"
    benchmark: str | None = None
    families: Mapping[str, float] | None = None
    n_questions: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        _at_least("n_questions", self.n_questions, 0)
        if self.benchmark is not None and self.families is not None:
            raise ConfigError(f"give benchmark or families, not both; came {self.benchmark!r} and {self.families!r}")

    def wiki(self) -> dict[str, Any]:
        """Returns the arguments of the `MiniWiki`."""
        return {field.name: getattr(self, field.name) for field in fields(WikiOptions)}


@dataclass(frozen=True, kw_only=True)
class FlashragOptions(SearchOptions, PoolOptions):
    """The options of "flashrag", a directory of real benchmarks (see `sesa_env.corpus.flashrag`), one corpus over their union.

    Attributes:
        data: the directory; must be given.
        benchmarks: names; None takes all that are found.
        limit: the first so many questions of each benchmark, at least 1; None takes all.
        questions: a file of questions, JSONL or verl parquet, to take instead of the benchmarks' own.
        targets: a file of targets as SSP publishes them; None samples `n_targets` titles by `pool_seed`. No answer of any
            benchmark in the directory, loaded or not, becomes a target either way.
        index: an index directory (`sesa index build`) to search in place of the benchmarks' own passages, wiki-18's say. Which
            of its search tools, `backend` says. Sampling targets reads it whole: with millions of passages give `targets`.
    """

    data: str = ""
    benchmarks: tuple[str, ...] | None = None
    limit: int | None = None
    questions: str | None = None
    targets: str | None = None
    index: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.data:
            raise ConfigError(
                "corpus 'flashrag' needs data=DIR, a directory that holds NAME/test.jsonl and NAME/corpus.jsonl.gz"
            )
        if self.limit is not None:
            _at_least("limit", self.limit, 1)
        if self.index is not None:
            self._refuse("an index directory has its own settings: give index", (*_OF_AN_INDEX, "remote"))

    def open(self, corpus: Corpus) -> Retriever:
        """Returns the search tool with these options; that of `index`, where it is given."""
        if self.index is None:
            return super().open(corpus)
        return open_index(self.index, self.backend, hybrid=self.hybrid, rerank=self.rerank, cache=self.cache)


def _at_least(name: str, value: int, low: int) -> None:
    if value < low:
        raise ConfigError(f"{name} must be at least {low}; came {value!r}")
