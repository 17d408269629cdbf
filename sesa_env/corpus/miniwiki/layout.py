"""How many entities fill a corpus, and which page states which fact.

An entity has one page for each fact, and one page for each two decoys. Pages are numbered from 0, facts or decoys first by a
coin toss, so that a page's number gives nothing away.
"""

import numpy as np

from sesa_env.corpus.miniwiki.graph import FACTS_PER_ENTITY, Graph, Node
from sesa_env.corpus.miniwiki.names import KINDS
from sesa_env.corpus.miniwiki.rng import derive, mix
from sesa_env.corpus.miniwiki.schema import Relation, Schema

_BASE_SHARE = {
    "person": 28, "city": 14, "film": 12, "book": 10, "company": 10,
    "country": 5, "university": 6, "band": 5, "team": 5, "ship": 5,
}  # per cent of the entities, as far as relations do not decide it  # fmt: skip
_SLACK = 1e-9  # so that a share of 0.1 keeps every tenth in spite of rounding
_INDEX_SHARE = 0.02  # of the passages: lists of namesakes, which also fill the corpus up to its size


class Layout:
    """The pages of a world.

    Args:
        seed: the world's seed.
        graph: its facts.
        decoys: the share of far facts that have a decoy, in [0, 1].
    """

    def __init__(self, seed: int, graph: Graph, decoys: float) -> None:
        self._graph, self._decoys = graph, decoys
        self._coin = derive(seed, "pages")

    def has_decoy(self, node: Node, place: int, relation: Relation) -> bool:
        """Says whether the fact in this place of an entity has a decoy sentence."""
        return relation.far and _kept(node.number // 2 * self._graph.width[node.kind] + place, self._decoys)

    def decoy_places(self, node: Node) -> list[int]:
        """Returns the places of the entity's facts that have a decoy."""
        return [place for place, fact in enumerate(self._graph.facts(node)) if self.has_decoy(node, place, fact.relation)]

    def fact_page(self, node: Node, place: int) -> int:
        """Returns the number of the page that states the fact in this place."""
        return place + (-(-len(self.decoy_places(node)) // 2) if self.decoys_first(node) else 0)

    def decoys_first(self, node: Node) -> bool:
        """Says whether the decoy pages come before the fact pages."""
        return bool(mix(self._coin ^ (node.number * 16 + KINDS.index(node.kind))) & 1)

    def evidence(self, node: Node, relation: Relation) -> str:
        """Returns the id of the passage that states what `node` has as its `relation`; the fact must exist."""
        width, period = self._graph.width[node.kind], len(self._graph.schema.by_kind[node.kind])
        place = (relation.column - node.number // 2 * width) % period
        return page_id(node, self.fact_page(node, place))


def page_id(node: Node, page: int) -> str:
    """Returns the id of a page of an entity, for example "film-12-3"."""
    return f"{node.kind}-{node.number}-{page}"


def plan(schema: Schema, size: int, decoys: float) -> tuple[dict[str, int], int]:
    """Chooses how many entities of each kind there are.

    Args:
        schema: the relations.
        size: the number of passages to fill.
        decoys: the share of far facts that have a decoy.

    Returns:
        The number of entities of each kind in one split, and the number of passages left for lists of namesakes.
    """
    budget = int(size * (1 - _INDEX_SHARE))
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _passages(schema, _halves(schema, middle), decoys) <= budget else (low, middle)
    halves = _halves(schema, low)
    return halves, size - _passages(schema, halves, decoys)


def _halves(schema: Schema, entities: int) -> dict[str, int]:
    """Shares entities out: half by the fixed shares, half by how many relations a kind has."""
    total = len(schema.relations)
    shares = {kind: _BASE_SHARE[kind] / 200 + len(schema.by_kind[kind]) / (2 * total) for kind in KINDS}
    return {kind: max(2, int(entities * shares[kind] / 2)) for kind in KINDS}


def _passages(schema: Schema, halves: dict[str, int], decoys: float) -> int:
    return sum(2 * _pages_of_kind(schema, kind, half, decoys) for kind, half in halves.items())


def _pages_of_kind(schema: Schema, kind: str, half: int, decoys: float) -> int:
    """Counts the pages of one split: one for each fact, one for each two decoys of an entity."""
    rows = schema.by_kind[kind]
    width = min(len(rows), FACTS_PER_ENTITY)
    slots = np.arange(half * width).reshape(half, width)
    far = np.array([row.far for row in rows])[slots % len(rows)]
    kept = np.floor((slots + 1) * decoys + _SLACK) > np.floor(slots * decoys + _SLACK)
    return width * half + int(((np.sum(far & kept, axis=1) + 1) // 2).sum())


def _kept(slot: int, share: float) -> bool:
    """Says whether this slot is among the share that have a decoy; the same arithmetic as in `_pages_of_kind`."""
    return int((slot + 1) * share + _SLACK) > int(slot * share + _SLACK)
