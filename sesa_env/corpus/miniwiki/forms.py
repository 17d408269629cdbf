"""What a question asks, without its words: the forms, and their exact answer on the graph.

The question generator makes a form and words it; the verifier reads words back into a form. Both resolve it here.
"""

from dataclasses import dataclass
from typing import TypeAlias

from sesa_env.corpus.miniwiki.graph import Fact, Graph, Node
from sesa_env.corpus.miniwiki.layout import Layout
from sesa_env.corpus.miniwiki.schema import Relation
from sesa_env.corpus.miniwiki.values import VALUE_KINDS
from sesa_env.types import Verdict

MAX_STEPS = 6


@dataclass(frozen=True, slots=True)
class Step:
    """One hop: from an entity to what it has as `relation`, or (inverse) to the only one that has it as `relation`."""

    relation: Relation
    inverse: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """A noun phrase: a name, and the steps from it, innermost first."""

    start: Node
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Lookup:
    """What lies at the end of a chain: "Who is the mentor of the director of X?"."""

    chain: Chain


@dataclass(frozen=True, slots=True)
class Comparison:
    """The smaller or larger of two values: "Which film has the earlier release date, X or Y?".

    With `via`, the values are those of the two's directors, say: "Which film has the director with the earlier birthday, X or
    Y?".
    """

    kind: str
    relation: Relation
    smallest: bool
    nodes: tuple[Node, Node]
    via: Relation | None = None


@dataclass(frozen=True, slots=True)
class Same:
    """Yes or no: "Do X and Y have the same birthplace?"."""

    relation: Relation
    nodes: tuple[Node, Node]


@dataclass(frozen=True, slots=True)
class Both:
    """The one that meets two conditions: "Which film has X as its director and Y as its composer?"."""

    kind: str
    conditions: tuple[tuple[Relation, Node], tuple[Relation, Node]]


@dataclass(frozen=True, slots=True)
class Need:
    """One fact that a question needs, as a search decision.

    Attributes:
        name: the name that a search for it starts from: in the question, or found by an earlier search.
        phrase: what the question calls the relation.
        rank: the relation's rank of popularity, from 0.
        keywords: the content words with which the evidence states the fact.
        evidence: id of the passage that states it.
        found: what it is to bring, as the passage writes it.
    """

    name: str
    phrase: str
    rank: int
    keywords: tuple[str, ...]
    evidence: str
    found: str


Form: TypeAlias = Lookup | Comparison | Same | Both


def follow(graph: Graph, chain: Chain) -> tuple[Node, list[Fact]] | None:
    """Walks a chain.

    Returns:
        The node at its end and the facts used, in order; None where a fact is missing or an inverse is not unique.
    """
    node, facts = chain.start, []
    for step in chain.steps:
        fact = _take(graph, node, step)
        if fact is None:
            return None
        facts.append(fact)
        node = fact.subject if step.inverse else fact.object
    return node, facts


def _take(graph: Graph, node: Node, step: Step) -> Fact | None:
    if step.inverse:
        subjects = graph.subjects(step.relation, node)
        return Fact(subjects[0], step.relation, node) if len(subjects) == 1 else None
    target = graph.object(node, step.relation)
    return None if target is None else Fact(node, step.relation, target)


def resolve(graph: Graph, layout: Layout, form: Form) -> Verdict | None:
    """Answers a form, or says that it has no single answer.

    Returns:
        The verdict; None when the question is about nothing that the world states, or is ambiguous.
    """
    match form:
        case Lookup(chain):
            return _lookup(graph, layout, chain)
        case Comparison():
            return _comparison(graph, layout, form)
        case Same(relation, nodes):
            return _same(graph, layout, relation, nodes)
        case Both():
            return _both(graph, layout, form)


def _lookup(graph: Graph, layout: Layout, chain: Chain) -> Verdict | None:
    end = follow(graph, chain)
    if end is None or not 1 <= len(chain.steps) <= MAX_STEPS or end[0] == chain.start:
        return None
    family = "bridge" if len(chain.steps) > 1 else "inverse" if chain.steps[0].inverse else "single"
    return _verdict(graph, layout, graph.spellings(end[0]), end[1], family)


def _comparison(graph: Graph, layout: Layout, form: Comparison) -> Verdict | None:
    if form.nodes[0] == form.nodes[1] or any(node.kind != form.kind for node in form.nodes):
        return None
    steps = (Step(form.relation),) if form.via is None else (Step(form.via), Step(form.relation))
    ends = [follow(graph, Chain(node, steps)) for node in form.nodes]
    if ends[0] is None or ends[1] is None or ends[0][0] == ends[1][0]:
        return None
    first_smaller = ends[0][0].number < ends[1][0].number
    winner = form.nodes[0] if first_smaller == form.smallest else form.nodes[1]
    family = "comparison" if form.via is None else "bridge_comparison"
    return _verdict(graph, layout, graph.spellings(winner), ends[0][1] + ends[1][1], family)


def _same(graph: Graph, layout: Layout, relation: Relation, nodes: tuple[Node, Node]) -> Verdict | None:
    objects = [graph.object(node, relation) for node in nodes]
    if nodes[0] == nodes[1] or objects[0] is None or objects[1] is None:
        return None
    facts = [Fact(nodes[0], relation, objects[0]), Fact(nodes[1], relation, objects[1])]
    return _verdict(graph, layout, ("yes",) if objects[0] == objects[1] else ("no",), facts, "yesno")


def _both(graph: Graph, layout: Layout, form: Both) -> Verdict | None:
    (first, one), (second, other) = form.conditions
    if first == second or first.subject != form.kind or second.subject != form.kind:
        return None
    common = [node for node in graph.subjects(first, one) if graph.object(node, second) == other]
    if len(common) != 1:
        return None
    facts = [Fact(common[0], first, one), Fact(common[0], second, other)]
    return _verdict(graph, layout, graph.spellings(common[0]), facts, "intersection")


def searches(graph: Graph, form: Form) -> list[tuple[Node, Fact]]:
    """Returns, for each fact that a resolvable form needs, the node from which a searcher would look for it, in order."""
    match form:
        case Lookup(chain):
            return _searches_along(graph, chain)
        case Comparison():
            steps = (Step(form.relation),) if form.via is None else (Step(form.via), Step(form.relation))
            return [pair for node in form.nodes for pair in _searches_along(graph, Chain(node, steps))]
        case Same(relation, nodes):
            return [pair for node in nodes for pair in _searches_along(graph, Chain(node, (Step(relation),)))]
        case Both(_, ((first, one), (second, other))):
            common = next(node for node in graph.subjects(first, one) if graph.object(node, second) == other)
            return [(one, Fact(common, first, one)), (common, Fact(common, second, other))]


def _searches_along(graph: Graph, chain: Chain) -> list[tuple[Node, Fact]]:
    end = follow(graph, chain)
    facts = [] if end is None else end[1]
    return [(fact.object if step.inverse else fact.subject, fact) for step, fact in zip(chain.steps, facts, strict=True)]


def _verdict(graph: Graph, layout: Layout, answers: tuple[str, ...], facts: list[Fact], family: str) -> Verdict:
    nodes = dict.fromkeys(node for fact in facts for node in (fact.subject, fact.object))
    names = dict.fromkeys(name for node in nodes for name in _names(graph, node))
    evidence = tuple(layout.evidence(fact.subject, fact.relation) for fact in facts)
    return Verdict(answers, evidence, tuple(names), hops=len(facts), family=family)


def _names(graph: Graph, node: Node) -> tuple[str, ...]:
    """The names that no card may hold: the canonical one and the second name; of a value its canonical spelling."""
    if node.kind in VALUE_KINDS:
        return (graph.label(node),)
    nick = graph.names.nickname(*node)
    return (graph.label(node), *((nick,) if nick else ()))
