"""BM25, the default search tool: bm25s with an exact order of ties, the same on every backend and every machine."""

import copy
import hashlib
import importlib.util
import json
import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import bm25s

from sesa_env.errors import ConfigError, missing_extra
from sesa_env.search.base import Corpus
from sesa_env.search.bm25_files import read_postings, save_postings
from sesa_env.search.counts import count_terms, indexed_text
from sesa_env.search.postings import Postings, Weights, put_together
from sesa_env.search.pruning import PASSAGES_A_HIT, add_common, by_rarity, split
from sesa_env.search.ranking import Ranked, as_passages, best_of, in_order, may_be_best, nothing
from sesa_env.search.tokenise import Tokeniser
from sesa_env.search.vocabulary import StoredTerms
from sesa_env.types import Passage

BACKENDS = ("auto", "numpy", "numba")

__all__ = ["BM25Retriever", "BM25Settings", "indexed_text"]

DTYPES = ("float64", "float32")

CHUNK = 20_000
"""How many passages are counted at once when an index is built in memory."""

NUMBA_PAYS_AFTER = 20_000
"""After how many queries of one retriever "auto" compiles: before, compiling costs more time than it saves."""


@dataclass(frozen=True)
class BM25Settings:
    """What decides the ranking, beside the corpus. Stored with the index.

    Attributes:
        k1: how slowly a repeated term saturates; above 0.
        b: how far long passages are discounted, in [0, 1].
        tokeniser: how texts and queries become terms.
        dtype: of the stored scores: "float64", or "float32", which takes a third less space and may order passages otherwise
            whose scores differ by less than about a millionth.
    """

    k1: float = 0.9
    b: float = 0.4
    tokeniser: Tokeniser = field(default_factory=Tokeniser)
    dtype: str = "float64"

    def __post_init__(self) -> None:
        if not 0 < self.k1 < math.inf or not 0 <= self.b <= 1:
            raise ConfigError(
                f"BM25 needs k1 > 0 and 0 <= b <= 1; came k1={self.k1!r}, b={self.b!r}; the defaults are 0.9 and 0.4"
            )
        if self.dtype not in DTYPES:
            raise ConfigError(f"the dtype of BM25's scores must be one of {', '.join(DTYPES)}; came {self.dtype!r}")

    @property
    def weights(self) -> Weights:
        """The formula of the scores."""
        return Weights(self.k1, self.b, self.dtype)

    def as_json(self) -> dict[str, Any]:
        """Returns the settings as JSON values, the variant's name and version included."""
        plain = {"variant": "bm25-lucene-1", "k1": self.k1, "b": self.b, "stop_words": list(self.tokeniser.stop_words)}
        # Named only where they are not the defaults: the fingerprints of older indices stay what they were.
        stemmer = {} if self.tokeniser.stemmer is None else {"stemmer": self.tokeniser.stemmer}
        return {**plain, **stemmer, **({} if self.dtype == "float64" else {"dtype": self.dtype})}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "BM25Settings":
        """Reads what `as_json` wrote."""
        tokeniser = Tokeniser(tuple(value["stop_words"]), value.get("stemmer"))
        settings = cls(float(value["k1"]), float(value["b"]), tokeniser, value.get("dtype", "float64"))
        if settings.as_json() != value:
            raise ConfigError(
                f"expected the settings of {settings.as_json()['variant']}; came {value!r}; build the index again"
            )
        return settings


DEFAULTS = BM25Settings()


def retriever_fingerprint(corpus_fingerprint: str, settings: BM25Settings) -> str:
    """Returns a digest of the corpus and of all that decides the ranking."""
    return hashlib.sha256(json.dumps([corpus_fingerprint, settings.as_json()]).encode()).hexdigest()


def check_request(queries: list[str], k: int) -> None:
    """Refuses what no retriever can answer.

    Raises:
        ConfigError: `queries` is one string, or k is below 1.
    """
    if isinstance(queries, str):
        raise ConfigError(f"search takes a list of queries; came the string {queries[:80]!r}; write [query]")
    if k < 1:
        raise ConfigError(f"search needs k >= 1; came k={k!r}")


class BM25Retriever:
    """BM25 over a corpus, Lucene's variant, by bm25s.

    Each distinct term of a query counts once. Scores are rounded to six decimals and ties go by corpus order, so the answers
    are the same on every backend and after loading.

    Args:
        corpus: the passages; at least one.
        settings: the ranking's settings.
        backend: "numpy"; "numba", compiled, up to twice as fast after about a second of compiling; or "auto", which is numpy
            for the first `NUMBA_PAYS_AFTER` queries and then numba where it is installed.

    Attributes:
        corpus: the passages.
        settings: the ranking's settings.
        postings: the index itself; read-only.
        fingerprint: a digest of the corpus and the settings.

    Raises:
        ConfigError: the corpus is empty, or the backend is unknown or not installed.
    """

    fingerprint: str

    def __init__(self, corpus: Corpus, settings: BM25Settings = DEFAULTS, backend: str = "auto") -> None:
        self._set(corpus, settings, backend, _build(corpus, settings))

    def _set(self, corpus: Corpus, settings: BM25Settings, backend: str, postings: Postings) -> None:
        self.corpus, self.settings = corpus, settings
        self.fingerprint = retriever_fingerprint(corpus.fingerprint, settings)
        self._numba_after = _numba_after(backend)
        self._answered = 0
        self.postings = postings
        terms = postings.terms
        self._find = terms.find if isinstance(terms, StoredTerms) else {t: n for n, t in enumerate(terms)}.get
        self._index = _scorer(postings, len(corpus), settings)

    def save(self, directory: str | Path, replace: bool = True) -> None:
        """Writes the index, whole or not at all.

        Args:
            directory: where it shall stand; made if need be.
            replace: whether an index that stands there already is replaced, or stays.

        Raises:
            StoreError: it cannot be written, or the directory holds something else.
        """
        facts = {"corpus": self.corpus.fingerprint, "passages": len(self.corpus), "settings": self.settings.as_json()}
        save_postings(Path(directory), self.postings, facts, replace)

    @classmethod
    def load(cls, directory: str | Path, corpus: Corpus, mmap: bool = True, backend: str = "auto") -> Self:
        """Opens a saved index.

        Args:
            directory: where `save` wrote it.
            corpus: the passages that were indexed.
            mmap: map the files into memory instead of reading them; processes then share them.
            backend: as in the constructor.

        Raises:
            StoreError: there is no index, it is damaged, or it is of another corpus.
        """
        postings, settings = read_postings(Path(directory), corpus, mmap, BM25Settings.from_json)
        retriever = cls.__new__(cls)
        retriever._set(corpus, settings, backend, postings)
        return retriever

    @classmethod
    def verify(cls, directory: str | Path, corpus: Corpus) -> None:
        """Reads a saved index whole and compares it with what was written.

        Raises:
            StoreError: there is no index, a byte of it has changed, or it is of another corpus.
        """
        read_postings(Path(directory), corpus, True, BM25Settings.from_json, everything=True)

    def search(self, queries: list[str], k: int) -> list[list[Passage]]:
        """Answers a batch of queries; see `Retriever.search`."""
        return [as_passages(self.corpus, *found) for found in self.rank(queries, k)]

    def rank(self, queries: list[str], k: int) -> list[Ranked]:
        """Answers with places in the corpus; see `sesa_env.search.ranking.Ranker`."""
        check_request(queries, k)
        return [self._rank_one(query, k) for query in queries]

    def _rank_one(self, query: str, k: int) -> Ranked:
        found = map(self._find, self.settings.tokeniser.query_terms(query))
        ids = [number for number in found if number is not None]
        if not ids:
            return nothing()
        self._answered += 1
        index = self._index if self._answered <= self._numba_after else self._compiled
        pruned = self._rank_pruned(index, ids, k) if k * PASSAGES_A_HIT <= len(self.corpus) else None
        # bm25s's own selection leaves ties to chance, so only the scores are taken from it.
        return best_of(index.get_scores_from_ids(ids), k) if pruned is None else pruned

    def _rank_pruned(self, index: Any, ids: list[int], k: int) -> Ranked | None:
        """Ranks without adding up the common terms for all passages; None where that does not help."""
        columns = by_rarity(self.postings, ids)
        rare, more = split(columns, len(self.corpus))
        if rare == len(columns):
            return None
        scores = index.get_scores_from_ids([column.number for column in columns[:rare]])
        places = may_be_best(scores, k, more)
        if places is None:
            return None
        whole = scores[places]
        add_common(whole, places, self.postings, columns[rare:])
        return in_order(whole, places, k)

    @cached_property
    def _compiled(self) -> Any:
        """The same index, scored by numba."""
        index = copy.copy(self._index)
        index.activate_numba_scorer()
        return index


def _numba_after(backend: str) -> float:
    """Returns after how many queries to change from numpy to numba."""
    if backend not in BACKENDS:
        raise ConfigError(f"the backend must be one of {', '.join(BACKENDS)}; came {backend!r}")
    installed = importlib.util.find_spec("numba") is not None
    if backend == "numba" and not installed:
        raise missing_extra("numba", "fast")
    return {"numpy": math.inf, "numba": 0, "auto": NUMBA_PAYS_AFTER if installed else math.inf}[backend]


def _build(corpus: Corpus, settings: BM25Settings) -> Postings:
    """Builds an index in memory."""
    size = len(corpus)
    if size == 0:
        raise ConfigError("an index needs at least one passage; came an empty corpus")
    chunks = [map(corpus.__getitem__, range(start, min(start + CHUNK, size))) for start in range(0, size, CHUNK)]
    postings = put_together([count_terms(chunk, settings.tokeniser) for chunk in chunks], settings.weights)
    for array in (postings.data, postings.indices, postings.indptr):  # read-only, since a whole process shares it
        array.flags.writeable = False
    return postings


def _scorer(postings: Postings, passages: int, settings: BM25Settings) -> Any:
    """Returns the `bm25s.BM25` that scores by these postings."""
    index = bm25s.BM25(k1=settings.k1, b=settings.b, method="lucene", dtype=settings.dtype, backend="numpy", auto_compile=False)
    index.scores = {name: getattr(postings, name) for name in ("data", "indices", "indptr")} | {"num_docs": passages}
    index.nonoccurrence_array = None  # Lucene's variant has none
    return index
