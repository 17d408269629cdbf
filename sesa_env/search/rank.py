"""The second BM25 backend: the rank-bm25 library, to check the first against. Hundreds of times slower."""

import math
from typing import Any

import numpy as np

from sesa_env.errors import missing_extra
from sesa_env.search.base import Corpus
from sesa_env.search.bm25 import DEFAULTS, BM25Settings, check_request, indexed_text, retriever_fingerprint
from sesa_env.search.ranking import as_passages, best_of
from sesa_env.types import Passage


def _lucene_model(terms: list[list[str]], settings: BM25Settings) -> Any:
    """Builds rank-bm25's Okapi model with the idf of Lucene's variant, which is what `BM25Retriever` ranks by."""
    try:
        from rank_bm25 import BM25Okapi
    except ImportError as error:
        raise missing_extra("rank_bm25", "rank-bm25") from error

    class LuceneBM25(BM25Okapi):  # type: ignore[misc]  # the library is untyped
        def _calc_idf(self, nd: dict[str, int]) -> None:
            size = self.corpus_size
            self.idf = {word: math.log(1 + (size - count + 0.5) / (count + 0.5)) for word, count in nd.items()}

    return LuceneBM25(terms, k1=settings.k1, b=settings.b)


class RankBM25Retriever:
    """Ranks exactly as `BM25Retriever` does, by the rank-bm25 library.

    Args:
        corpus: the passages.
        settings: the ranking's settings.

    Attributes:
        corpus: the passages.
        settings: the ranking's settings.
        fingerprint: equal to that of a `BM25Retriever` of the same corpus and settings, since both answer alike.

    Raises:
        ConfigError: the corpus is empty, or rank-bm25 is not installed.
    """

    fingerprint: str

    def __init__(self, corpus: Corpus, settings: BM25Settings = DEFAULTS) -> None:
        terms = [settings.tokeniser.terms(indexed_text(corpus[place])) for place in range(len(corpus))]
        self.corpus, self.settings = corpus, settings
        self.fingerprint = retriever_fingerprint(corpus.fingerprint, settings)
        self._model = _lucene_model(terms, settings) if any(terms) else None

    def search(self, queries: list[str], k: int) -> list[list[Passage]]:
        """Answers a batch of queries; see `Retriever.search`."""
        check_request(queries, k)
        return [self._search_one(query, k) for query in queries]

    def _search_one(self, query: str, k: int) -> list[Passage]:
        terms = self.settings.tokeniser.query_terms(query)
        known = [term for term in terms if self._model is not None and term in self._model.idf]
        if self._model is None or not known:
            return []
        # The library multiplies by k1 + 1; Lucene's variant does not.
        scores = np.asarray(self._model.get_scores(known), dtype=np.float64) / (self.settings.k1 + 1)
        return as_passages(self.corpus, *best_of(scores, k))
