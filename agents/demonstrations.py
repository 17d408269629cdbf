"""Scripted demonstrations of both seats: what a beginner would write, played through the real game on worlds of their own.

The Solver's searches follow a fitting Skill Card, or the right words where this beginner happens to know them, or else the
question's own, which find a decoy. The Challenger searches what one may know to ask about its target, and builds its question
from what came back. So the warm start can play, knows some words, and has the rest to learn.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sesa_env.corpus.miniwiki import BENCHMARKS, MiniWiki
from sesa_env.corpus.miniwiki.forms import Chain, Need, Step
from sesa_env.corpus.miniwiki.graph import Fact, Node, read_value
from sesa_env.corpus.miniwiki.rng import Stream
from sesa_env.corpus.miniwiki.schema import Relation
from sesa_env.corpus.miniwiki.values import VALUE_KINDS
from sesa_env.game import GameConfig, SearchGame
from sesa_env.memory.base import CardDraft, CardHit, Provenance
from sesa_env.memory.card import make_card
from sesa_env.players.base import View
from sesa_env.players.turns import answer_turn, question_turn, search_turn
from sesa_env.types import Passage, Question, Target
from sesa_env.worlds import World, make_world

QUICK_WORLD: Mapping[str, Any] = {
    "size": 2000,
    "relations": 40,
    "phrasings": 1,
    "distance": 1.0,
    "aliases": 0.0,
    "filler": 0,
}
"""Options of `make_world("miniwiki", seed=..., **QUICK_WORLD)`: the world that `tiny` learns in minutes."""

QUICK_RULES = GameConfig(top_k=1, max_turns=5, challenger_max_turns=5, max_searches=4)
"""The rules that go with it: few tokens."""

FIRST_SEED = 100_000
"""Worlds of demonstrations have seeds from here on; nothing else is played on them."""

_MOST_CARDS = 3  # the paper shows three
_TRIES = 4


@dataclass(frozen=True)
class Recipe:
    """What the demonstrations are like; JSON values."""

    worlds: int = 6
    """Worlds, seeded from `FIRST_SEED` on."""
    tail_worlds: int = 2
    """How many of them have a long tail of relations, all asked about alike, so that every word of the language is met."""
    tail_relations: int = 120
    """Relations of those."""
    known: float = 0.6
    """How often the words of the most popular relation are known."""
    known_ranks: int = 28
    """How many relations are known at all: the chance falls in a straight line to none."""
    carded: float = 0.6
    """The share of Solver episodes that are shown cards."""
    fitting: float = 0.6
    """The share of a carded question's searches that a fitting card is shown for; other cards are of other relations."""
    obeyed: float = 0.95
    """How often a fitting card is followed."""
    guessed: float = 0.2
    """How often, with no words known, those of any relation are tried."""
    bare: float = 0.1
    """How often, with no words known, the name alone is searched."""
    challenger: float = 0.4
    """The share of demonstrations that are the Challenger's."""
    chains: float = 0.75
    """The share of the Solver's questions that are posed chains of one to three hops; others come from the seven mixtures."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One seat's part of an episode, as a demonstrator played it.

    Attributes:
        view: what the seat saw at its first turn: the prompt comes from here.
        turns: what the demonstrator wrote.
        observations: what the game answered to all turns but the last.
        good: the answer was right, or the question valid.
    """

    view: View
    turns: tuple[str, ...]
    observations: tuple[str, ...]
    good: bool


def recipe_worlds(recipe: Recipe) -> list[World]:
    """Makes the worlds that demonstrations are played on."""
    common = {**QUICK_WORLD, "n_targets": 400, "n_questions": 0}
    tail = {**common, "relations": recipe.tail_relations, "zipf": 0.0, "phrasings": 2, "size": 4000}
    return [
        make_world("miniwiki", seed=FIRST_SEED + number, **(tail if number < recipe.tail_worlds else common))
        for number in range(recipe.worlds)
    ]


def demonstrate(recipe: Recipe, count: int, seed: int, rules: GameConfig = QUICK_RULES) -> Iterator[Demonstration]:
    """Plays demonstrations of both seats.

    Args:
        recipe: what they are like.
        count: how many.
        seed: other seeds play other ones.
        rules: the game's numbers.

    Yields:
        The demonstrations, the same ones for the same arguments.
    """
    tables = [Table(world, rules) for world in recipe_worlds(recipe)]
    for number in range(count):
        stream = Stream("demonstrations", seed, number)
        table = stream.pick(tables)
        if stream.unit() < recipe.challenger:
            yield pose_one(table, stream)
        else:
            yield solve_one(table, recipe, stream)


class Table:
    """A world as demonstrators know it: their tables of questions, words and cards.

    Args:
        world: a MiniWiki world.
        rules: the game's numbers.
    """

    def __init__(self, world: World, rules: GameConfig) -> None:
        self.world, self.rules = world, rules
        self.wiki: MiniWiki = world.graph
        self.game = SearchGame(world, replace(rules, group_size=1))
        self.mixed = [question for name in BENCHMARKS for question in self._mixture(name)]
        self.relations: tuple[Relation, ...] = self.wiki.schema.relations
        self._nodes = {self.wiki.graph.label(node): node for node in self.wiki.graph.entities()}

    def _mixture(self, name: str) -> list[Question]:
        return self.wiki.benchmark(name, 50, split="train")

    def question(self, recipe: Recipe, stream: Stream) -> tuple[Question, tuple[Need, ...]]:
        """Draws a question together with what it needs; one that fits into the turns."""
        while True:
            question = self._posed(stream) if stream.unit() < recipe.chains else stream.pick(self.mixed)
            needs = None if question is None else self.wiki.needs(question.text)
            if question is not None and needs is not None and len(needs) < self.rules.max_turns:
                return question, needs

    def _posed(self, stream: Stream) -> Question | None:
        return self.wiki.pose(stream.pick(self.world.targets), stream.below(1 << 20))

    def read(self, passage: Passage, name: str, phrase: str) -> tuple[str, Relation] | None:
        """Reads what a passage says about a name, true or false, a claim in the question's words first.

        Returns:
            The other name or value of the claim, and its relation; None where the passage claims nothing about the name.
        """
        claims = sorted(self.wiki.claims(passage.id), key=lambda claim: phrase not in claim.relation.nouns)
        for claim in claims:
            ends = self.wiki.graph.label(claim.subject), self.wiki.graph.label(claim.object)
            if name in ends:
                return (ends[0] if name == ends[1] else ends[1]), claim.relation
        return None

    def true_claim(self, passages: Sequence[Passage]) -> Fact | None:
        """Returns the fact that the first passage states; None for none, a decoy or a list."""
        claims = self.wiki.claims(passages[0].id) if passages else ()
        return next((claim for claim in claims if self.wiki.graph.object(claim.subject, claim.relation) == claim.object), None)

    def node(self, answer: str) -> Node:
        """Returns the entity or value that a target of this world names."""
        return read_value(answer) or self._nodes[answer]


def _words(relation: Relation, stream: Stream) -> str:
    """Returns one or two of a relation's own words, as a query or a card holds them."""
    row = relation.keywords(stream.below(len(relation.sentences))).split()
    return _some(row, stream)


def _some(row: Sequence[str], stream: Stream) -> str:
    first = stream.below(len(row))
    return " ".join(row[first : first + 1 + stream.below(2)]).lower()


# ---- the Solver -----------------------------------------------------------------------------------------------------


def solve_one(table: Table, recipe: Recipe, stream: Stream) -> Demonstration:
    """Plays one attempt at a question as a beginner would."""
    question, needs = table.question(recipe, stream)
    advice = _advice(recipe, needs, stream)
    cards = _cards(table, needs, advice, stream) if advice is not None else ()
    table.game.reset(question, cards=cards)
    view = table.game.view()
    found = [""]
    for place, need in enumerate(needs):
        follows = place > 0 and need.name == needs[place - 1].found
        found.append(_search(table, recipe, (found[-1] if follows else need.name), need, advice or {}, stream))
        if not found[-1]:
            break
    table.game.act(answer_turn(_answer(question, needs, found[1:])))
    return _taken(table.game, view, table.game.attempts[0].correct)


def _answer(question: Question, needs: Sequence[Need], found: Sequence[str]) -> str:
    """What was found last answers a chain; a comparison of what was found is the right one, where all was found."""
    if question.family in ("single", "inverse", "bridge"):
        return next((name for name in reversed(found) if name), needs[0].name)
    return question.answers[0]


def _search(table: Table, recipe: Recipe, name: str, need: Need, advice: Mapping[str, str], stream: Stream) -> str:
    """Searches for a fact, again where the result seems to be about something else; "" when the turns are spent."""
    asked: set[str] = set()
    for _ in range(_TRIES):
        seat = table.game.state.seat
        if seat is None or seat.turns_left == 1:
            break
        query = f"{name} {_words_for(table, recipe, need, advice, stream)}".strip()
        if query in asked:
            continue
        asked.add(query)
        table.game.act(search_turn(query))
        for passage in seat.searches[-1].passages:
            read = table.read(passage, name, need.phrase)
            if read is not None and (need.phrase in read[1].nouns or len(asked) > 1 or stream.unit() < 0.5):
                return read[0]
    return ""


def _words_for(table: Table, recipe: Recipe, need: Need, advice: Mapping[str, str], stream: Stream) -> str:
    """Chooses the words beside the name: a fitting card's, known ones, a guess, or the question's."""
    if need.phrase in advice and stream.unit() < recipe.obeyed:
        return advice[need.phrase]
    if stream.unit() < recipe.known * max(0.0, 1 - need.rank / recipe.known_ranks):
        return _some(need.keywords, stream)
    guess = stream.unit()
    if guess < recipe.guessed:
        return _words(stream.pick(table.relations), stream)
    return "" if guess > 1 - recipe.bare else need.phrase.lower()


def _advice(recipe: Recipe, needs: Sequence[Need], stream: Stream) -> dict[str, str] | None:
    """Chooses the searches that a fitting card is shown for, and its words; None for an episode without cards."""
    if stream.unit() >= recipe.carded:
        return None
    return {need.phrase: _some(need.keywords, stream) for need in needs if stream.unit() < recipe.fitting}


def _cards(table: Table, needs: Sequence[Need], advice: Mapping[str, str], stream: Stream) -> tuple[CardHit, ...]:
    """Shows the fitting cards among cards of other relations, three at most, in any order."""
    rows = list(advice.items())[:_MOST_CARDS]
    wanted = max(1, len(rows)) + stream.below(_MOST_CARDS - max(1, len(rows)) + 1)
    phrases = {need.phrase for need in needs}
    while len(rows) < wanted:
        relation = stream.pick(table.relations)
        noun = stream.pick(relation.nouns)
        if noun not in phrases:
            rows.append((noun, _words(relation, stream)))
    return tuple(_card(phrase, words) for phrase, words in stream.shuffled(rows))


def _card(phrase: str, words: str) -> CardHit:
    """Writes a card as the scripted teacher does (`sesa_env.memory.hindsight`)."""
    fault = f'Searching in the words of the question, such as "{phrase}": the statement is written in others.'
    draft = CardDraft(f"Search for the {phrase}.", f'The question asks for "{phrase}".', fault, (f"{{entity}} {words}",))
    return CardHit(make_card(draft, Provenance()), 1.0)


# ---- the Challenger -------------------------------------------------------------------------------------------------


def pose_one(table: Table, stream: Stream) -> Demonstration:
    """Poses until a question is valid, and returns that part of the episode."""
    while True:
        target = stream.pick(table.world.targets)
        table.game.reset(target, noise=())
        view = table.game.view()
        chain = _walk(table, target, stream)
        if len(chain.steps) == target.hops:
            table.game.act(question_turn(table.wiki.ask(chain, stream.below(1 << 30))))
            if table.game.question is not None:
                return _taken(table.game, view, good=True)


def _walk(table: Table, target: Target, stream: Stream) -> Chain:
    """Searches from the target outwards, and takes as a step what each result states about the name searched for."""
    node, steps, seen = table.node(target.answer), list[Step](), set[Node]()
    asked: set[str] = set()
    while (seat := table.game.state.seat) is not None and seat.turns_left > 1 and len(steps) < target.hops:
        seen.add(node)
        query = f"{table.wiki.graph.label(node)} {_words(_promising(table, node, stream), stream)}"
        if query in asked:
            break
        asked.add(query)
        table.game.act(search_turn(query))
        fact = table.true_claim(seat.searches[-1].passages)
        step = None if fact is None else _step_into(fact, node)
        if step is not None and step[1] not in seen:
            steps.insert(0, step[0])
            node = step[1]
    return Chain(node, tuple(steps))


def _promising(table: Table, node: Node, stream: Stream) -> Relation:
    """Chooses a relation that the world may state about a node: mostly one that it does, as if guessed well."""
    split = stream.below(2) if node.kind in VALUE_KINDS else node.number % 2
    facts = [*table.wiki.graph.facts_to(node, split), *table.wiki.graph.facts(node)]
    known = [fact.relation for fact in facts if _step_into(fact, node) is not None]
    if known and stream.unit() < 0.75:
        return stream.pick(known)
    return stream.pick([row for row in table.relations if row.object == node.kind or _leads_back(row, node)])


def _leads_back(relation: Relation, node: Node) -> bool:
    return relation.subject == node.kind and relation.object not in VALUE_KINDS


def _step_into(fact: Fact, node: Node) -> tuple[Step, Node] | None:
    """Returns the step that leads to a node by a fact, and where it starts; None where no question can ask for it."""
    if fact.object == node:
        return Step(fact.relation), fact.subject
    if fact.subject == node and fact.object.kind not in VALUE_KINDS:
        return Step(fact.relation, inverse=True), fact.object
    return None


def _taken(game: SearchGame, view: View, good: bool) -> Demonstration:
    """Takes the seat's part out of the episode that was just played."""
    turns = [turn for turn in game.state.transcript if turn.actor is view.role]
    return Demonstration(view, tuple(turn.text for turn in turns), tuple(turn.observation for turn in turns[:-1]), good)
