"""A search tool by name, put together from its parts: what worlds, `open_index` and the server choose from."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sesa_env.errors import ConfigError
from sesa_env.search.base import Retriever
from sesa_env.search.cache import CachedRetriever, CacheSettings
from sesa_env.search.hybrid import HybridRetriever, HybridSettings
from sesa_env.search.ranking import Ranker
from sesa_env.search.rerank import RerankRetriever, RerankSettings

BACKENDS = ("bm25", "dense", "hybrid")


@dataclass(frozen=True, kw_only=True)
class Composition:
    """Which search tool, and what comes after it.

    Attributes:
        backend: "bm25", "dense", or "hybrid": both, fused.
        hybrid: how they are fused.
        rerank: what puts the hits in order anew; None leaves them.
        cache: what remembers answers; None remembers none.
    """

    backend: str = "bm25"
    hybrid: HybridSettings = field(default_factory=HybridSettings)
    rerank: RerankSettings | None = None
    cache: CacheSettings | None = None

    def compose(self, tool: Callable[[str], Ranker]) -> Retriever:
        """Puts the search tool together.

        Args:
            tool: opens "bm25" or "dense".

        Raises:
            ConfigError: the backend is unknown, a model is missing, or the settings do not fit; and what `tool` raises.
        """
        if self.backend not in BACKENDS:
            raise ConfigError(f"the backend must be one of {', '.join(BACKENDS)}; came {self.backend!r}")
        parts = [tool(name) for name in (("bm25", "dense") if self.backend == "hybrid" else (self.backend,))]
        ranker: Ranker = HybridRetriever(parts, self.hybrid) if self.backend == "hybrid" else parts[0]
        if self.rerank is not None:
            ranker = RerankRetriever(ranker, self.rerank)
        return ranker if self.cache is None else CachedRetriever(ranker, self.cache)
