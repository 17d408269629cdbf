"""The typed knowledge graph: who exists, and which facts hold.

A fact is never stored twice: each relation is one integer array, and which entity has which relations is arithmetic. Of the R
relations of its kind an entity has K = min(R, 4) in a row: entity number h of its split has columns hK .. hK + K - 1 modulo R.
So the relation in column c has its q-th subject where hK + j = c + qR.
"""

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sesa_env.corpus.miniwiki.names import KINDS, Names
from sesa_env.corpus.miniwiki.rng import derive, mixed
from sesa_env.corpus.miniwiki.schema import Relation, Schema
from sesa_env.corpus.miniwiki.values import VALUE_KINDS, read, spellings

SPLITS = ("train", "test")

FACTS_PER_ENTITY = 4
_SHARED = (
    35  # per cent of facts whose object is drawn at random; the others take every object in turn, so inverses are mostly unique
)


class Node(NamedTuple):
    """An entity (kind, number) or a value (kind, value)."""

    kind: str
    number: int


class Fact(NamedTuple):
    """One fact: `subject` has `object` as its `relation`."""

    subject: Node
    relation: Relation
    object: Node


_Ints: TypeAlias = npt.NDArray[np.int32]
_Incoming: TypeAlias = tuple[_Ints, _Ints, _Ints]  # objects, relations, ordinals of subjects


class Graph:
    """The facts of a world.

    Args:
        seed: the world's seed.
        schema: its relations.
        halves: for each kind, the number of entities in one split.
        names: its names.
    """

    def __init__(self, seed: int, schema: Schema, halves: dict[str, int], names: Names) -> None:
        self.schema, self.halves, self.names = schema, halves, names
        self.width = {kind: min(len(rows), FACTS_PER_ENTITY) for kind, rows in schema.by_kind.items()}
        self._objects = [self._draw(seed, relation) for relation in schema.relations]
        self._reverse: dict[tuple[str, int], _Incoming] = {}

    def subject_count(self, relation: Relation) -> int:
        """Returns how many entities of one split have this relation."""
        slots = self.halves[relation.subject] * self.width[relation.subject]
        return max(0, -(-(slots - relation.column) // len(self.schema.by_kind[relation.subject])))

    def subject(self, relation: Relation, split: int, ordinal: int) -> Node:
        """Returns the `ordinal`-th entity of a split that has this relation."""
        slot = relation.column + ordinal * len(self.schema.by_kind[relation.subject])
        return Node(relation.subject, 2 * (slot // self.width[relation.subject]) + split)

    def ordinal(self, node: Node, relation: Relation) -> int | None:
        """Returns the place of an entity among those that have this relation, or None when it lacks it."""
        if node.kind != relation.subject:
            return None
        width, period = self.width[node.kind], len(self.schema.by_kind[node.kind])
        start = node.number // 2 * width
        offset = (relation.column - start) % period
        return (start + offset) // period if offset < width else None

    def object_at(self, relation: Relation, split: int, ordinal: int) -> Node:
        """Returns the object of the `ordinal`-th subject of a split."""
        return Node(relation.object, int(self._objects[relation.index][split, ordinal]))

    def object(self, node: Node, relation: Relation) -> Node | None:
        """Returns what this entity has as its `relation`, or None."""
        ordinal = self.ordinal(node, relation)
        return None if ordinal is None else self.object_at(relation, node.number % 2, ordinal)

    def facts(self, node: Node) -> list[Fact]:
        """Returns all facts about an entity, in the order of its pages; [] for a value."""
        if node.kind in VALUE_KINDS:
            return []
        rows, width = self.schema.by_kind[node.kind], self.width[node.kind]
        start, split = node.number // 2 * width, node.number % 2
        slots = [divmod(start + place, len(rows)) for place in range(width)]
        return [Fact(node, rows[column], self.object_at(rows[column], split, ordinal)) for ordinal, column in slots]

    def subjects(self, relation: Relation, node: Node) -> list[Node]:
        """Returns all entities that have `node` as their `relation`, in both splits."""
        splits = range(2) if node.kind in VALUE_KINDS else (node.number % 2,)
        return [fact.subject for split in splits for fact in self.facts_to(node, split) if fact.relation is relation]

    def facts_to(self, node: Node, split: int) -> list[Fact]:
        """Returns all facts of a split (0 train, 1 test) whose object is `node`."""
        objects, relations, ordinals = self._incoming(node.kind, split)
        first, last = np.searchsorted(objects, node.number, side="left"), np.searchsorted(objects, node.number, side="right")
        facts = []
        for place in range(first, last):
            relation = self.schema.relations[relations[place]]
            facts.append(Fact(self.subject(relation, split, int(ordinals[place])), relation, node))
        return facts

    def entities(self) -> Iterator[Node]:
        """Yields all entities: train and test alternate within a kind."""
        for kind in KINDS:
            for index in range(2 * self.halves[kind]):
                yield Node(kind, index)

    def spellings(self, node: Node) -> tuple[str, ...]:
        """Returns the accepted answers that mean this node, the canonical one first."""
        if node.kind in VALUE_KINDS:
            return spellings(node.kind, node.number)
        return self.names.spellings(node.kind, node.number)

    def label(self, node: Node) -> str:
        """Returns how passages write this node."""
        return self.names.name(*node) if node.kind not in VALUE_KINDS else spellings(*node)[0]

    def _incoming(self, kind: str, split: int) -> _Incoming:
        """The facts about objects of one kind, sorted by object; made when first asked for."""
        if (kind, split) not in self._reverse:
            chosen = [relation for relation in self.schema.relations if relation.object == kind]
            columns = [self._objects[relation.index][split] for relation in chosen]
            none = [np.zeros(0, dtype=np.int32)]
            objects = np.concatenate(columns + none)
            relations = np.repeat([relation.index for relation in chosen], [len(column) for column in columns])
            ordinals = np.concatenate([np.arange(len(column), dtype=np.int32) for column in columns] + none)
            order = np.argsort(objects, kind="stable")
            self._reverse[kind, split] = (objects[order], relations.astype(np.int32)[order], ordinals[order])
        return self._reverse[kind, split]

    def _draw(self, seed: int, relation: Relation) -> npt.NDArray[np.int32]:
        count = self.subject_count(relation)
        draws = [mixed(derive(seed, "objects", relation.index, split), count) for split in range(2)]
        if relation.object in VALUE_KINDS:
            low, high = _bounds(relation)
            return np.stack([low + (draw % np.uint64(high - low + 1)).astype(np.int32) for draw in draws])
        return np.stack([2 * self._draw_entities(seed, relation, split, draws[split]) + split for split in range(2)])

    def _draw_entities(self, seed: int, relation: Relation, split: int, draw: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
        """Draws the objects of one split, as numbers within the split; no entity is its own object."""
        half, count = self.halves[relation.object], len(draw)
        turns = np.argsort(mixed(derive(seed, "turns", relation.index, split), half), kind="stable")
        ordinals = np.arange(count)
        shared = mixed(derive(seed, "shared", relation.index, split), count) % np.uint64(100) < _SHARED
        chosen = np.where(shared, (draw % np.uint64(half)).astype(np.int64), turns[ordinals % half])
        if relation.object == relation.subject:
            slots = relation.column + ordinals * len(self.schema.by_kind[relation.subject])
            own = slots // self.width[relation.subject]
            chosen = np.where(chosen == own, (chosen + 1) % half, chosen)
        return chosen.astype(np.int32)


def _bounds(relation: Relation) -> tuple[int, int]:
    low, high = relation.span
    if relation.object == "date":
        return date(low, 1, 1).toordinal(), date(high, 12, 31).toordinal()
    return low, high


def read_value(text: str) -> Node | None:
    """Reads a canonical spelling of a date, a year or a number."""
    value = read(text)
    return None if value is None else Node(*value)
