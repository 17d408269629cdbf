"""Hybrid search: the answers of several search tools over one corpus, fused."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sesa_env.errors import ConfigError
from sesa_env.search.bm25 import check_request
from sesa_env.search.ranking import Ranked, Ranker, Scores, as_passages, in_order
from sesa_env.types import Passage

METHODS = ("rrf", "weighted")
_DECIMALS = 9  # reciprocal ranks far down a list differ by less than a millionth


@dataclass(frozen=True)
class HybridSettings:
    """How answers are fused.

    Attributes:
        method: "rrf", reciprocal rank fusion: a hit at rank r is worth w / (constant + r); or "weighted": its score, brought to
            [0, 1] over the hits of its query by their least and greatest, times w.
        weights: w of each search tool, at least 0, not all 0; BM25 first, dense second.
        depth: how many hits are taken from each tool, or k where that is more; at least 1.
        constant: of reciprocal rank fusion, at least 0.
    """

    method: str = "rrf"
    weights: tuple[float, ...] = (1.0, 1.0)
    depth: int = 100
    constant: float = 60.0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ConfigError(f"the method of fusion must be one of {', '.join(METHODS)}; came {self.method!r}")
        if not self.weights or min(self.weights) < 0 or not sum(self.weights) > 0:
            raise ConfigError(f"weights must be at least 0 and not all 0; came {self.weights!r}")
        if self.depth < 1 or self.constant < 0:
            raise ConfigError(f"expected depth >= 1 and constant >= 0; came {self.depth!r} and {self.constant!r}")

    def as_json(self) -> dict[str, Any]:
        """Returns the settings as JSON values."""
        return {**asdict(self), "weights": list(self.weights)}


class HybridRetriever:
    """Several search tools over one corpus, fused.

    Args:
        parts: the tools; at least one.
        settings: how their answers are fused; one weight for each tool.

    Attributes:
        corpus: the passages.
        settings: likewise.
        fingerprint: a digest of the tools' fingerprints and the settings.

    Raises:
        ConfigError: no tool, another number of weights, or tools over different corpora.
    """

    def __init__(self, parts: Sequence[Ranker], settings: HybridSettings | None = None) -> None:
        self.parts, self.settings = tuple(parts), settings or HybridSettings()
        if len(self.parts) != len(self.settings.weights):
            raise ConfigError(f"expected one weight for each of {len(self.parts)} search tools; came {self.settings.weights!r}")
        if len({part.corpus.fingerprint for part in self.parts}) != 1:
            raise ConfigError("hybrid search needs tools over one corpus; came several corpora; build them from the same files")
        self.corpus = self.parts[0].corpus
        named = ["hybrid-1", [part.fingerprint for part in self.parts], self.settings.as_json()]
        self.fingerprint = hashlib.sha256(json.dumps(named).encode()).hexdigest()

    def search(self, queries: list[str], k: int) -> list[list[Passage]]:
        """Answers a batch of queries; see `Retriever.search`. Scores are those of the fusion."""
        return [as_passages(self.corpus, *found) for found in self.rank(queries, k)]

    def rank(self, queries: list[str], k: int) -> list[Ranked]:
        """Answers with places in the corpus; see `sesa_env.search.ranking.Ranker`."""
        check_request(queries, k)
        answers = [part.rank(queries, max(k, self.settings.depth)) for part in self.parts]
        return [self._fuse(found, k) for found in zip(*answers, strict=True)]

    def _fuse(self, found: Sequence[Ranked], k: int) -> Ranked:
        worth = [weight * self._worth(scores) for weight, (scores, _) in zip(self.settings.weights, found, strict=True)]
        places, which = np.unique(np.concatenate([places for _, places in found]), return_inverse=True)
        fused = np.bincount(which, np.concatenate(worth), minlength=len(places))
        return in_order(fused, places, k, _DECIMALS)

    def _worth(self, scores: Scores) -> Scores:
        """Returns what each hit of one tool is worth before its weight; scores come best first."""
        if self.settings.method == "rrf":
            return 1.0 / (self.settings.constant + np.arange(1, len(scores) + 1, dtype=np.float64))
        spread = scores[0] - scores[-1] if len(scores) else 0.0
        return (scores - scores[-1]) / spread if spread > 0 else np.ones(len(scores))
