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
import numpy as np

from sesa_env.errors import ConfigError, missing_extra
from sesa_env.search.base import Corpus
from sesa_env.search.index_files import read_index, write_index
from sesa_env.search.ranking import as_passages, best_of
from sesa_env.search.tokenise import Tokeniser
from sesa_env.types import Passage

BACKENDS = ("auto", "numpy", "numba")

NUMBA_PAYS_AFTER = 20_000
"""After how many queries of one retriever "auto" compiles: before, compiling costs more time than it saves."""


@dataclass(frozen=True)
class BM25Settings:
    """What decides the ranking, beside the corpus. Stored with the index.

    Attributes:
        k1: how slowly a repeated term saturates; above 0.
        b: how far long passages are discounted, in [0, 1].
        tokeniser: how texts and queries become terms.
    """

    k1: float = 0.9
    b: float = 0.4
    tokeniser: Tokeniser = field(default_factory=Tokeniser)

    def __post_init__(self) -> None:
        if not 0 < self.k1 < math.inf or not 0 <= self.b <= 1:
            raise ConfigError(
                f"BM25 needs k1 > 0 and 0 <= b <= 1; came k1={self.k1!r}, b={self.b!r}; the defaults are 0.9 and 0.4"
            )

    def as_json(self) -> dict[str, Any]:
        """Returns the settings as JSON values, the variant's name and version included."""
        return {"variant": "bm25-lucene-1", "k1": self.k1, "b": self.b, "stop_words": list(self.tokeniser.stop_words)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "BM25Settings":
        """Reads what `as_json` wrote."""
        settings = cls(float(value["k1"]), float(value["b"]), Tokeniser(tuple(value["stop_words"])))
        if settings.as_json() != value:
            raise ConfigError(
                f"expected the settings of {settings.as_json()['variant']}; came {value!r}; build the index again"
            )
        return settings


DEFAULTS = BM25Settings()


def indexed_text(passage: Passage) -> str:
    """Returns what is indexed of a passage: its title and its text, as in Search-R1's `contents`."""
    return f"{passage.title}\n{passage.text}"


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
        fingerprint: a digest of the corpus and the settings.

    Raises:
        ConfigError: the corpus is empty, or the backend is unknown or not installed.
    """

    fingerprint: str

    def __init__(self, corpus: Corpus, settings: BM25Settings = DEFAULTS, backend: str = "auto") -> None:
        self._set(corpus, settings, backend)
        self._use(_build(corpus, settings))

    def _set(self, corpus: Corpus, settings: BM25Settings, backend: str) -> None:
        self.corpus, self.settings = corpus, settings
        self.fingerprint = retriever_fingerprint(corpus.fingerprint, settings)
        self._numba_after = _numba_after(backend)
        self._answered = 0

    def _use(self, index: Any) -> None:
        # Read-only, since a whole process shares it; numba then also compiles once for built and for loaded indices.
        for name in ("data", "indices", "indptr"):
            array = np.asarray(index.scores[name])
            array.flags.writeable = False
            index.scores[name] = array
        self._index = index

    def save(self, directory: str | Path, replace: bool = True) -> None:
        """Writes the index, whole or not at all.

        Args:
            directory: where it shall stand; made if need be.
            replace: whether an index that stands there already is replaced, or stays.

        Raises:
            StoreError: it cannot be written, or the directory holds something else.
        """
        facts = {"corpus": self.corpus.fingerprint, "passages": len(self.corpus), "settings": self.settings.as_json()}
        write_index(Path(directory), self._index, facts, replace)

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
        index, settings = read_index(Path(directory), corpus, mmap, BM25Settings.from_json)
        retriever = cls.__new__(cls)
        retriever._set(corpus, settings, backend)
        retriever._use(index)
        return retriever

    def search(self, queries: list[str], k: int) -> list[list[Passage]]:
        """Answers a batch of queries; see `Retriever.search`."""
        check_request(queries, k)
        return [self._search_one(query, k) for query in queries]

    def _search_one(self, query: str, k: int) -> list[Passage]:
        vocabulary = self._index.vocab_dict
        ids = [vocabulary[term] for term in self.settings.tokeniser.query_terms(query) if term in vocabulary]
        if not ids:
            return []
        self._answered += 1
        index = self._index if self._answered <= self._numba_after else self._compiled
        # bm25s's own selection leaves ties to chance, so only the scores are taken from it.
        return as_passages(self.corpus, *best_of(index.get_scores_from_ids(ids), k))

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


def _build(corpus: Corpus, settings: BM25Settings) -> Any:
    """Builds the index of bm25s. The vocabulary is numbered by first occurrence, so the files are the same on every run."""
    if len(corpus) == 0:
        raise ConfigError("an index needs at least one passage; came an empty corpus")
    vocabulary: dict[str, int] = {}
    ids = [
        [vocabulary.setdefault(term, len(vocabulary)) for term in settings.tokeniser.terms(indexed_text(corpus[place]))]
        for place in range(len(corpus))
    ]
    if not vocabulary:  # no passage holds a word: bm25s needs one term, and no query has this one
        vocabulary, ids = {"": 0}, [[0] for _ in ids]
    index = bm25s.BM25(k1=settings.k1, b=settings.b, method="lucene", dtype="float64", backend="numpy", auto_compile=False)
    index.index((ids, vocabulary), create_empty_token=False, show_progress=False)
    return index
