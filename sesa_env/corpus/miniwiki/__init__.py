"""MiniWiki, the built-in world: a procedural knowledge graph, its encyclopaedia, its questions and their exact verifier."""

from sesa_env.corpus.miniwiki.core import CORE_RELATIONS
from sesa_env.corpus.miniwiki.mixtures import BENCHMARKS
from sesa_env.corpus.miniwiki.sampler import FAMILIES
from sesa_env.corpus.miniwiki.world import MiniWiki

__all__ = ["BENCHMARKS", "CORE_RELATIONS", "FAMILIES", "MiniWiki"]
