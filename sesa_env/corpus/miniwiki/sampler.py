"""Draws forms: one function for each family, with relations asked about as unevenly as Zipf's law says."""

from collections.abc import Callable, Iterator, Sequence

from sesa_env.corpus.miniwiki.forms import Both, Chain, Comparison, Form, Lookup, Same, Step
from sesa_env.corpus.miniwiki.graph import Fact, Graph, Node
from sesa_env.corpus.miniwiki.rng import Stream
from sesa_env.corpus.miniwiki.schema import Relation
from sesa_env.corpus.miniwiki.values import VALUE_KINDS

FAMILIES = (
    "single",
    "rare",
    "inverse",
    "bridge",
    "bridge2",
    "bridge3",
    "comparison",
    "bridge_comparison",
    "yesno",
    "intersection",
)
"""What can be drawn. "rare" is "single" about entities that few facts lead to; "bridge" is two or three hops."""

_INVERSE_SHARE = 0.25


class Sampler:
    """Draws forms from one world.

    Args:
        graph: the world's facts.
        zipf: exponent of the relations' popularity: relation r (from 1) is asked about in proportion to r ** -zipf.
    """

    def __init__(self, graph: Graph, zipf: float) -> None:
        self._graph = graph
        self._weight = {r.index: (r.index + 1) ** -zipf for r in graph.schema.relations if graph.subject_count(r) > 0}
        self._all = [graph.schema.relations[index] for index in self._weight]
        self._named = [relation for relation in self._all if relation.object not in VALUE_KINDS]
        self._valued = [relation for relation in self._all if relation.object in VALUE_KINDS]
        self._families: dict[str, Callable[[Stream, int], Form | None]] = {
            "single": self._single,
            "rare": self._rare,
            "inverse": self._inverse,
            "bridge": lambda stream, split: self.bridge(stream, split, 2 + stream.below(2)),
            "bridge2": lambda stream, split: self.bridge(stream, split, 2),
            "bridge3": lambda stream, split: self.bridge(stream, split, 3),
            "comparison": self._comparison,
            "bridge_comparison": self._bridge_comparison,
            "yesno": self._same,
            "intersection": self._both,
        }

    def draw(self, family: str, stream: Stream, split: int) -> Form | None:
        """Draws a form of a family; None when this draw led nowhere (draw again).

        Args:
            family: one of `FAMILIES`.
            stream: the source of choices.
            split: 0 for train, 1 for test.
        """
        return self._families[family](stream, split)

    def bridge(self, stream: Stream, split: int, hops: int) -> Lookup | None:
        """Draws a chain of exactly `hops` facts that visits no node twice."""
        end = self._last_fact(stream, split)
        if end is None:
            return None
        fact, inverse = end
        start, steps = (fact.object, [Step(fact.relation, True)]) if inverse else (fact.subject, [Step(fact.relation)])
        seen = {fact.subject, fact.object}
        while len(steps) < hops:
            options = [(step, node) for step, node in self.edges_into(start, split) if node not in seen]
            if not options:
                return None
            step, start = stream.pick_weighted(options, [self._weight[step.relation.index] for step, _ in options])
            steps.insert(0, step)
            seen.add(start)
        return Lookup(Chain(start, tuple(steps)))

    def walks_to(self, node: Node, split: int, hops: int, stream: Stream) -> Iterator[Chain]:
        """Yields all chains of exactly `hops` facts that end at `node` and visit no node twice, in random order."""
        yield from self._walk(node, (), frozenset([node]), (split, hops), stream)

    def edges_into(self, node: Node, split: int) -> list[tuple[Step, Node]]:
        """Returns the single steps that lead to a node and to nothing else, each with the node that it starts from."""
        forward = [(Step(fact.relation), fact.subject) for fact in self._graph.facts_to(node, split)]
        return forward + [(Step(fact.relation, True), fact.object) for fact in self._graph.facts(node) if self._unique(fact)]

    def _walk(
        self, node: Node, steps: tuple[Step, ...], seen: frozenset[Node], limits: tuple[int, int], stream: Stream
    ) -> Iterator[Chain]:
        split, hops = limits
        if len(steps) == hops:
            yield Chain(node, steps)
            return
        for step, source in stream.shuffled(self.edges_into(node, split)):
            if source not in seen:
                yield from self._walk(source, (step, *steps), seen | {source}, limits, stream)

    def _last_fact(self, stream: Stream, split: int) -> tuple[Fact, bool] | None:
        inverse = stream.unit() < _INVERSE_SHARE
        fact = self._fact(stream, split, self._named if inverse else self._all)
        return None if inverse and not self._unique(fact) else (fact, inverse)

    def _unique(self, fact: Fact) -> bool:
        return fact.object.kind not in VALUE_KINDS and len(self._graph.subjects(fact.relation, fact.object)) == 1

    def _relation(self, stream: Stream, options: Sequence[Relation]) -> Relation:
        return stream.pick_weighted(options, [self._weight[relation.index] for relation in options])

    def _fact(self, stream: Stream, split: int, options: Sequence[Relation]) -> Fact:
        return self._fact_of(stream, split, self._relation(stream, options))

    def _fact_of(self, stream: Stream, split: int, relation: Relation) -> Fact:
        ordinal = stream.below(self._graph.subject_count(relation))
        return Fact(self._graph.subject(relation, split, ordinal), relation, self._graph.object_at(relation, split, ordinal))

    def _single(self, stream: Stream, split: int) -> Form | None:
        fact = self._fact(stream, split, self._all)
        return Lookup(Chain(fact.subject, (Step(fact.relation),)))

    def _rare(self, stream: Stream, split: int) -> Form | None:
        """Of four facts the one whose subject the fewest other facts lead to."""
        facts = [self._fact(stream, split, self._all) for _ in range(4)]
        fact = min(facts, key=lambda candidate: len(self._graph.facts_to(candidate.subject, split)))
        return Lookup(Chain(fact.subject, (Step(fact.relation),)))

    def _inverse(self, stream: Stream, split: int) -> Form | None:
        fact = self._fact(stream, split, self._named)
        return Lookup(Chain(fact.object, (Step(fact.relation, True),))) if self._unique(fact) else None

    def _comparison(self, stream: Stream, split: int) -> Form | None:
        one = self._fact(stream, split, self._valued)
        other = self._fact_of(stream, split, one.relation)
        if one.object == other.object:
            return None
        return Comparison(one.subject.kind, one.relation, stream.below(2) == 0, (one.subject, other.subject))

    def _bridge_comparison(self, stream: Stream, split: int) -> Form | None:
        one = self._fact(stream, split, self._named)
        other = self._fact_of(stream, split, one.relation)
        options = [
            fact.relation
            for fact in self._graph.facts(one.object)
            if fact.relation in self._valued and self._graph.object(other.object, fact.relation) not in (None, fact.object)
        ]
        if one.object == other.object or not options:
            return None
        nodes = (one.subject, other.subject)
        return Comparison(one.subject.kind, stream.pick(options), stream.below(2) == 0, nodes, one.relation)

    def _same(self, stream: Stream, split: int) -> Form | None:
        """Half the questions are to be answered with yes, so half the draws look for two subjects of one object."""
        one = self._fact(stream, split, self._named)
        if stream.below(2) == 0:
            others = [node for node in self._graph.subjects(one.relation, one.object) if node != one.subject]
            return Same(one.relation, (one.subject, stream.pick(others))) if others else self._same_again(stream, split)
        other = self._fact_of(stream, split, one.relation)
        return Same(one.relation, (one.subject, other.subject)) if other.object != one.object else None

    def _same_again(self, stream: Stream, split: int) -> Form | None:
        """Looks for a "yes" once more where most objects have one subject only."""
        for _ in range(50):
            one = self._fact(stream, split, self._named)
            others = [node for node in self._graph.subjects(one.relation, one.object) if node != one.subject]
            if others:
                return Same(one.relation, (one.subject, stream.pick(others)))
        return None

    def _both(self, stream: Stream, split: int) -> Form | None:
        fact = self._fact(stream, split, self._named)
        others = [
            other
            for other in self._graph.facts(fact.subject)
            if other.relation is not fact.relation and other.object.kind not in VALUE_KINDS
        ]
        if not others:
            return None
        pair = sorted((fact, stream.pick(others)), key=lambda each: len(self._graph.subjects(each.relation, each.object)))
        first, second = pair  # the one that fewer share comes first: it finds the answer, the other confirms it
        candidates = self._graph.subjects(first.relation, first.object)
        common = [node for node in candidates if self._graph.object(node, second.relation) == second.object]
        conditions = ((first.relation, first.object), (second.relation, second.object))
        return Both(fact.subject.kind, conditions) if len(common) == 1 else None
