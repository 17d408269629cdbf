"""MiniWiki, the built-in procedural world: a typed knowledge graph, its encyclopaedia, its questions and their exact verifier."""

from sesa_env.corpus.miniwiki.mixtures import BENCHMARKS
from sesa_env.corpus.miniwiki.sampler import FAMILIES
from sesa_env.corpus.miniwiki.world import MiniWiki

__all__ = ["BENCHMARKS", "FAMILIES", "MiniWiki"]
