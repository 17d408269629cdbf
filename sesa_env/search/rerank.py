"""Reranking: a cross-encoder reads query and passage together and puts the first hits of another search tool in order anew."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from sesa_env.errors import ConfigError, RetrievalError, missing_extra
from sesa_env.plugins import make_plugin
from sesa_env.search.bm25 import check_request
from sesa_env.search.counts import indexed_text
from sesa_env.search.encoder import legible
from sesa_env.search.ranking import Ranked, Ranker, as_passages, in_order
from sesa_env.sentence_models import first_line
from sesa_env.types import Passage


@runtime_checkable
class CrossEncoder(Protocol):
    """Anything that says how well passages answer queries."""

    def score(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float32]:
        """Scores pairs of query and passage (title, newline, text): shape (len(pairs),), the higher the better."""
        ...


@lru_cache(maxsize=4)
def make_cross_encoder(name: str, device: str = "auto") -> CrossEncoder:
    """Makes a cross-encoder by name; one instance of each a process.

    Args:
        name: the name or folder of a sentence-transformers cross-encoder such as "cross-encoder/ms-marco-MiniLM-L6-v2", or your
            own `module:factory`, called without arguments.
        device: as torch names it; "auto" takes the best that there is.

    Raises:
        ConfigError: a package or the model is missing, or it gives more than one score a pair.
    """
    if ":" in name and not Path(name).exists():
        made = make_plugin("cross-encoder", name, {}, "a model's name or folder, or module:factory")
        if not isinstance(made, CrossEncoder):
            raise ConfigError(f"cross-encoder {name!r}: expected an object with score(pairs); came {made!r}")
        return made
    return SentenceCrossEncoder(name, device)


class SentenceCrossEncoder:
    """A cross-encoder of sentence-transformers; see `make_cross_encoder`."""

    def __init__(self, name: str, device: str = "auto") -> None:
        try:
            from sentence_transformers import CrossEncoder as Model
        except ImportError as error:
            raise missing_extra("sentence_transformers", "dense") from error
        try:
            self._model: Any = Model(name, device=None if device == "auto" else device)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"no cross-encoder {name!r}: expected a model that can be loaded here; {first_line(error)}"
            ) from error
        if self._model.num_labels != 1:
            raise ConfigError(f"cross-encoder {name!r} gives {self._model.num_labels} scores a pair; expected one")

    def score(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float32]:
        """Scores pairs; see `CrossEncoder`."""
        texts = [(legible(query), legible(passage)) for query, passage in pairs]
        return np.asarray(self._model.predict(texts, convert_to_numpy=True, show_progress_bar=False), np.float32)


@dataclass(frozen=True)
class RerankSettings:
    """What reranks, and how much.

    Attributes:
        model: a name for `make_cross_encoder`.
        depth: how many hits it reads for each query, or k where that is more; at least 1.
    """

    model: str
    depth: int = 50

    def __post_init__(self) -> None:
        if not self.model or self.depth < 1:
            raise ConfigError(f"a reranker needs a model's name and depth >= 1; came {self.model!r} and {self.depth!r}")


class RerankRetriever:
    """Another search tool's first hits in the order of a cross-encoder.

    Args:
        first: the tool that finds the hits.
        settings: what reranks them.
        device: what the cross-encoder runs on.

    Attributes:
        corpus: the passages.
        settings: likewise.
        fingerprint: a digest of the first tool's fingerprint and the settings.

    Raises:
        ConfigError: the cross-encoder is missing.
    """

    def __init__(self, first: Ranker, settings: RerankSettings, device: str = "auto") -> None:
        self.first, self.settings, self.corpus = first, settings, first.corpus
        named = ["rerank-1", first.fingerprint, settings.model, settings.depth]
        self.fingerprint = hashlib.sha256(json.dumps(named).encode()).hexdigest()
        self._encoder = make_cross_encoder(settings.model, device)

    def search(self, queries: list[str], k: int) -> list[list[Passage]]:
        """Answers a batch of queries; see `Retriever.search`. Scores are the cross-encoder's."""
        return [as_passages(self.corpus, *found) for found in self.rank(queries, k)]

    def rank(self, queries: list[str], k: int) -> list[Ranked]:
        """Answers with places in the corpus; see `sesa_env.search.ranking.Ranker`."""
        check_request(queries, k)
        found = [places for _, places in self.first.rank(queries, max(k, self.settings.depth))]
        pairs = chain.from_iterable(
            ((query, indexed_text(self.corpus[place])) for place in places.tolist())
            for query, places in zip(queries, found, strict=True)
        )
        asked = list(pairs)
        try:
            scores = self._encoder.score(asked) if asked else np.zeros(0, np.float32)
        except RuntimeError as error:  # of torch: no memory left, for one
            raise RetrievalError(f"reranking failed: {error}") from error
        own = np.split(scores, np.cumsum([len(places) for places in found])[:-1]) if found else []
        return [in_order(each, places, k) for each, places in zip(own, found, strict=True)]
