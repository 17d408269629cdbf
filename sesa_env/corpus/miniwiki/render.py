"""Pages as text: what each states, and what merely sounds like it.

A page that states a fact does so in one plain sentence of the relation's own words. A decoy page repeats the question's words
beside the entity's name with a wrong object. Both are filled up with sentences that mean nothing and hold no relation's words.
"""

from collections.abc import Iterator

from sesa_env.corpus.miniwiki.graph import Fact, Graph, Node
from sesa_env.corpus.miniwiki.layout import Layout, page_id
from sesa_env.corpus.miniwiki.names import KINDS, SECOND_WORDS
from sesa_env.corpus.miniwiki.rng import derive, mix
from sesa_env.corpus.miniwiki.values import VALUE_KINDS
from sesa_env.types import Passage

DECOYS = (
    "Rumour long held that the {nouns} of {s} was {o}.",
    "Outdated guides still give {o} as the {nouns} of {s}.",
    "Until a correction appeared, {o} was listed as {nouns} of {s}.",
    "Gossip once made {o} the {nouns} of {s}, and that was wrong.",
)
DENIALS = ("Nothing links {o} to it.", "No trace of {o} was ever found there.", "Mentions of {o} were struck out.")
"""What follows a decoy about an entity: a question that starts from the wrong object is led astray too."""

ABOUT_SUBJECT = (
    "Much nonsense has been repeated about {s} over time.",
    "Visitors still ask questions about {s}.",
    "A footnote on {s} was removed later.",
    "Enthusiasts like to talk of {s}.",
)
ABOUT_OBJECT = (
    "It is often mentioned together with {o}.",
    "The connection to {o} surprised nobody.",
    "That is why {o} keeps coming up here.",
    "Nothing else needs saying about {o}.",
    "Later remarks on {o} agree with this.",
)
NEUTRAL = (
    "Little more is known for certain.",
    "The matter was confirmed again some time afterwards.",
    "Several visitors remarked on how quiet everything seemed.",
    "Opinions about it differ even today.",
    "A longer account was promised but never finished.",
    "None of this caused any stir back then.",
    "The details are spread over many footnotes.",
    "The curious continue to ask for more.",
    "It rained heavily during that whole season.",
    "Nobody now remembers how the discussion ended.",
    "There is ample room for further research here.",
    "Neighbours spoke of it for quite a while.",
    "The anecdote has been retold countless times.",
    "An appendix lists a handful of minor details.",
    "What happened next is a story of its own.",
    "Few would have expected anything different.",
)
MAX_FILLER = 2
"""The most empty sentences, beside a remark, that a page which states a fact is filled up with."""

NAMESAKE = "It should not be confused with {o}."


class Renderer:
    """Writes the passages of a world.

    Args:
        seed: the world's seed.
        graph: its facts and names.
        layout: its pages.
        lists: the number of lists of namesakes.
        filler: the number of empty sentences on a page that states a fact, 0 to 2; at 0 all other padding is left out too.
    """

    def __init__(self, seed: int, graph: Graph, layout: Layout, lists: int, filler: int = MAX_FILLER) -> None:
        self._graph, self._layout, self._lists, self._filler = graph, layout, lists, filler
        self._key = derive(seed, "render")

    def passages(self) -> Iterator[Passage]:
        """Yields all passages: entity by entity, then the lists of namesakes."""
        for node in self._graph.entities():
            yield from self.pages(node)
        for number in range(self._lists):
            yield self._list(number)

    def pages(self, node: Node) -> Iterator[Passage]:
        """Yields the pages of an entity, by number."""
        facts, title = self._graph.facts(node), self._graph.label(node)
        decoys = self._decoy_pages(node, facts)
        texts = [self._fact_page(fact, place) for place, fact in enumerate(facts)]
        first = (
            decoys or texts
        )  # a question may name the kind of thing too, so the decoys' pages get that word where there are any
        first[0] = f"{self._introduction(node)} {first[0]}"
        pages = decoys + texts if self._layout.decoys_first(node) else texts + decoys
        for number, text in enumerate(pages):
            yield Passage(page_id(node, number), title, text)

    def claims(self, node: Node, page: int) -> tuple[Fact, ...]:
        """Returns what one page of an entity says, the wrong objects of decoys included; () where there is no such page."""
        facts, places = self._graph.facts(node), self._layout.decoy_places(node)
        for place, fact in enumerate(facts):
            if self._layout.fact_page(node, place) == page:
                return (fact,)
        at = 2 * (page if self._layout.decoys_first(node) else page - len(facts))
        told = [facts[place] for place in places[at : at + 2]]
        return tuple(Fact(fact.subject, fact.relation, self.wrong_object(fact)) for fact in told)

    def wording(self, fact: Fact) -> int:
        """Returns which of its relation's sentences states a fact."""
        ordinal = self._graph.ordinal(fact.subject, fact.relation)
        mixed = mix(self._key ^ (fact.relation.index << 40) ^ ((ordinal or 0) * 2 + fact.subject.number % 2))
        return mixed % len(fact.relation.sentences)

    def statement(self, fact: Fact) -> str:
        """Returns the sentence that states a fact."""
        sentence = fact.relation.sentences[self.wording(fact)]
        return _capital(sentence.format(s=self._graph.label(fact.subject), o=self._graph.label(fact.object)))

    def _fact_page(self, fact: Fact, place: int) -> str:
        if not self._filler:
            return self.statement(fact)
        draw = self._draw(fact.subject, place)
        about = (
            "" if fact.object.kind in VALUE_KINDS else _pick(ABOUT_OBJECT, draw >> 8).format(o=self._graph.label(fact.object))
        )
        body = [self.statement(fact), about or _pick(NEUTRAL, draw >> 16), *_two(NEUTRAL, draw >> 24)[: self._filler]]
        if draw & 1:  # the fact is stated first or third; a remark on its object always follows it
            body = [*body[2:], *body[:2]]
        return " ".join(body)

    def _introduction(self, node: Node) -> str:
        nick = self._graph.names.nickname(*node)
        return f"This entry is about a {node.kind}." + (f" Also known as {nick}." if nick else "")

    def _decoy_pages(self, node: Node, facts: list[Fact]) -> list[str]:
        places = [place for place, fact in enumerate(facts) if self._layout.has_decoy(node, place, fact.relation)]
        return [self._decoy_page(node, [facts[place] for place in places[at : at + 2]], at) for at in range(0, len(places), 2)]

    def _decoy_page(self, node: Node, facts: list[Fact], at: int) -> str:
        draw = self._draw(node, 8 + at)
        lines = [self._decoy(fact, draw >> (8 * place)) for place, fact in enumerate(facts)]
        if not self._filler:
            return " ".join(lines)
        if len(lines) == 1:
            lines += [_pick(ABOUT_SUBJECT, draw >> 16).format(s=self._graph.label(node)), _pick(NEUTRAL, draw >> 24)]
        namesake = self._graph.names.namesake(*node, self._graph.halves[node.kind])
        if namesake is not None and draw >> 60 & 1:
            lines.append(NAMESAKE.format(o=self._graph.names.name(node.kind, namesake)))
        return " ".join(lines)

    def _decoy(self, fact: Fact, draw: int) -> str:
        nouns = " or ".join(fact.relation.nouns)
        wrong = self._graph.label(self.wrong_object(fact))
        line = _pick(DECOYS, draw).format(nouns=nouns, s=self._graph.label(fact.subject), o=wrong)
        alone = not self._filler or fact.object.kind in VALUE_KINDS
        return line if alone else f"{line} {_pick(DENIALS, draw >> 4).format(o=wrong)}"

    def wrong_object(self, fact: Fact) -> Node:
        """Returns what a decoy gives in place of the object: another subject's object of the same relation, if any."""
        split, count = fact.subject.number % 2, self._graph.subject_count(fact.relation)
        ordinal = self._graph.ordinal(fact.subject, fact.relation) or 0
        for step in range(1, min(count, 6)):
            other = self._graph.object_at(fact.relation, split, (ordinal + step) % count)
            if other not in (fact.object, fact.subject):
                return other
        if fact.object.kind in VALUE_KINDS:
            return Node(fact.object.kind, fact.object.number + 1)
        return self._another(fact)

    def _another(self, fact: Fact) -> Node:
        count = 2 * self._graph.halves[fact.object.kind]
        nodes = (Node(fact.object.kind, (fact.object.number + 2 * step) % count) for step in range(1, 3))
        return next(
            (node for node in nodes if node not in (fact.object, fact.subject)), Node("person", fact.subject.number % 2)
        )

    def _list(self, number: int) -> Passage:
        """A list of entities that share a word; kinds take turns."""
        kinds = ("person", *SECOND_WORDS)
        turn, kind = number // len(kinds), kinds[number % len(kinds)]
        half, groups = self._graph.halves[kind], self._graph.names.group_count(kind)
        round_, group = divmod(turn, 2 * groups)
        members = range(group // 2, half, groups)
        names = ", ".join(self._graph.names.name(kind, 2 * member + group % 2) for member in members)
        word = self._graph.names.group_word(kind, group)
        remark = NEUTRAL[(number + round_) % len(NEUTRAL)]
        return Passage(f"list-{number}", f"{word} (namesakes)", f"Entries that share the name {word}: {names}. {remark}")

    def _draw(self, node: Node, page: int) -> int:
        return mix(self._key ^ mix((KINDS.index(node.kind) << 48) + node.number * 16 + page))


def _pick(options: tuple[str, ...], draw: int) -> str:
    return options[draw % len(options)]


def _two(options: tuple[str, ...], draw: int) -> tuple[str, str]:
    first = draw % len(options)
    return options[first], options[(first + 1 + (draw >> 8) % (len(options) - 1)) % len(options)]


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
