"""Reads a question's text back into a form: the inverse of `wording`, or None.

A recursive-descent parser over lower-cased tokens. Names and nouns are looked up in dictionaries, longest first, so its time
grows with the question's length alone.

    question := leadin* body trail* [?.!]*
    body     := opener phrase | "which" KIND ("has" conditions | "'s" NOUN "is" phrase) | comparison | same
    phrase   := "the" KIND "whose" NOUN "is" phrase | "the" NOUN "of" phrase | NAME ("'s" NOUN)*
"""

import re
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from sesa_env.corpus.miniwiki.forms import MAX_STEPS, Both, Chain, Comparison, Form, Lookup, Same, Step
from sesa_env.corpus.miniwiki.graph import Graph, Node
from sesa_env.corpus.miniwiki.names import KINDS
from sesa_env.corpus.miniwiki.schema import Relation
from sesa_env.corpus.miniwiki.values import VALUE_KINDS
from sesa_env.corpus.miniwiki.wording import EXTREMES, LEADINS, TRAILS

V = TypeVar("V")

MAX_CHARACTERS = 1500
_TOKEN = re.compile(r"'s\b|[^\W_]+(?:-[^\W_]+)*|\S")
_EXTREME = {(kind, word): place == 0 for kind, words in EXTREMES.items() for place, word in enumerate(words)}


def tokens(text: str) -> tuple[str, ...]:
    """Splits a text into lower-case words, "'s" and single punctuation marks."""
    return tuple(_TOKEN.findall(text.replace("\u2019", "'").lower()))


class Phrases(Generic[V]):
    """A dictionary of phrases, searched longest first.

    Args:
        items: phrases and what they mean. A phrase given twice means nothing: it is ambiguous.
    """

    def __init__(self, items: Iterable[tuple[str, V]]) -> None:
        self._values: dict[tuple[str, ...], V] = {}
        doubtful = set()
        for phrase, value in items:
            key = tokens(phrase)
            if key in self._values:
                doubtful.add(key)
            self._values[key] = value
        for key in doubtful:
            del self._values[key]
        self._longest = max((len(key) for key in self._values), default=0)

    def __len__(self) -> int:
        """Returns how many unambiguous phrases there are."""
        return len(self._values)

    def at(self, words: tuple[str, ...], start: int) -> tuple[V, int] | None:
        """Returns the value of the longest phrase that starts at `start`, and where it ends."""
        for end in range(min(len(words), start + self._longest), start, -1):
            value = self._values.get(words[start:end])
            if value is not None:
                return value, end
        return None

    def before(self, words: tuple[str, ...]) -> int | None:
        """Returns where the longest phrase that ends the words starts, or None."""
        for start in range(max(0, len(words) - self._longest), len(words)):
            if words[start:] in self._values:
                return start
        return None


class Reader:
    """Reads questions about one world.

    Args:
        graph: the world's facts and names.
    """

    def __init__(self, graph: Graph) -> None:
        self._names = Phrases(
            (name, node)
            for node in graph.entities()
            for name in (graph.label(node), graph.names.nickname(*node))
            if name is not None
        )
        self._nouns = Phrases((noun, relation) for relation in graph.schema.relations for noun in relation.nouns)
        self._leadins = Phrases((leadin, True) for leadin in LEADINS)
        self._trails = Phrases((trail, True) for trail in TRAILS)

    def read(self, text: str) -> Form | None:
        """Reads a question.

        Args:
            text: any string.

        Returns:
            What it asks; None when it is not wholly a question of this world's grammar.
        """
        if len(text) > MAX_CHARACTERS:
            return None
        try:
            return _Parse(self._strip(tokens(text)), self._names, self._nouns).form()
        except _Unreadable:
            return None

    def find(self, name: str) -> Node | None:
        """Returns the entity with this name or second name, in any case, or None."""
        words = tokens(name)
        found = self._names.at(words, 0)
        return found[0] if found is not None and found[1] == len(words) else None

    def _strip(self, words: tuple[str, ...]) -> tuple[str, ...]:
        while words and words[-1] in "?.!":
            words = words[:-1]
        while (match := self._leadins.at(words, 0)) is not None:
            words = words[match[1] :]
        while (start := self._trails.before(words)) is not None:
            words = words[:start]
        return words


class _Unreadable(Exception):  # noqa: N818 - control flow inside this file, never an error that a person sees
    """The words do not fit the grammar."""


class _Parse:
    """One reading: a position in the words, and methods that consume what they name or give up."""

    def __init__(self, words: tuple[str, ...], names: Phrases[Node], nouns: Phrases[Relation]) -> None:
        self._words, self._place, self._names, self._nouns = words, 0, names, nouns

    def form(self) -> Form:
        """Reads one whole question."""
        starts: dict[str, Callable[[], Form]] = {
            "who": self._who, "what": self._what, "can": self._can,
            "which": self._which, "of": self._of_two, "do": self._do, "is": self._is,
        }  # fmt: skip
        start = starts.get(self._next())
        if start is None:
            raise _Unreadable
        form = start()
        if self._place != len(self._words):
            raise _Unreadable
        return form

    def _who(self) -> Form:
        self._expect("is")
        return self._lookup(lambda kind: kind == "person")

    def _what(self) -> Form:
        self._expect("is")
        return self._lookup(lambda kind: kind != "person")

    def _can(self) -> Form:
        self._expect("you", "name")
        return self._lookup(lambda kind: True)

    def _which(self) -> Form:
        kind = self._kind()
        match self._next():
            case "is":
                return self._lookup(lambda found: found == kind)
            case "'s":
                relation = self._noun(kind)
                self._expect("is")
                return self._inverse(relation, self._phrase())
            case "has":
                return self._has(kind)
            case _:
                raise _Unreadable

    def _has(self, kind: str) -> Form:
        if self._peek() == "the":
            relation, smallest, via = self._extreme(kind)
            self._expect(",")
            one = self._name()
            self._expect("or")
            return Comparison(kind, relation, smallest, (one, self._name()), via)
        first = self._condition(kind)
        if self._peek() != "and":
            return self._inverse(first[0], Chain(first[1]))
        self._expect("and")
        return Both(kind, (first, self._condition(kind)))

    def _condition(self, kind: str) -> tuple[Relation, Node]:
        node = self._name()
        self._expect("as", "their" if kind == "person" else "its")
        return self._noun(kind), node

    def _extreme(self, kind: str) -> tuple[Relation, bool, Relation | None]:
        self._expect("the")
        via = None
        found = self._nouns.at(self._words, self._place)
        if found is not None:
            via = self._noun(kind)
            self._expect("with", "the")
            kind = via.object
        word = self._next()
        relation = self._noun(kind)
        if (relation.object, word) not in _EXTREME:
            raise _Unreadable
        return relation, _EXTREME[relation.object, word], via

    def _of_two(self) -> Form:
        one = self._name()
        self._expect("and")
        other = self._name()
        self._expect(",", "which")
        kind = self._kind()
        self._expect("has")
        relation, smallest, via = self._extreme(kind)
        return Comparison(kind, relation, smallest, (one, other), via)

    def _do(self) -> Form:
        one = self._name()
        self._expect("and")
        other = self._name()
        self._expect("have", "the", "same")
        return Same(self._noun(one.kind), (one, other))

    def _is(self) -> Form:
        relation, one = self._noun_of_name()
        self._expect("also")
        second, other = self._noun_of_name()
        if second is not relation:
            raise _Unreadable
        return Same(relation, (one, other))

    def _noun_of_name(self) -> tuple[Relation, Node]:
        self._expect("the")
        relation = self._noun(None)
        self._expect("of")
        return relation, self._name()

    def _lookup(self, fits: Callable[[str], bool]) -> Form:
        chain = self._phrase()
        if not chain.steps:
            raise _Unreadable
        last = chain.steps[-1]
        if not fits(last.relation.subject if last.inverse else last.relation.object):
            raise _Unreadable
        return Lookup(chain)

    def _inverse(self, relation: Relation, chain: Chain) -> Form:
        return Lookup(Chain(chain.start, (*chain.steps, self._backwards(relation))))

    def _backwards(self, relation: Relation) -> Step:
        if relation.object in VALUE_KINDS:
            raise _Unreadable
        return Step(relation, inverse=True)

    def _phrase(self, depth: int = 0) -> Chain:
        if depth > MAX_STEPS:
            raise _Unreadable
        if self._peek() != "the":
            return self._possessive()
        self._expect("the")
        if self._peek() in KINDS and self._peek(1) == "whose":
            kind = self._kind()
            self._expect("whose")
            step = self._backwards(self._noun(kind))
            self._expect("is")
        else:
            step = Step(self._noun(None))
            self._expect("of")
        rest = self._phrase(depth + 1)
        return Chain(rest.start, (*rest.steps, step))

    def _possessive(self) -> Chain:
        start, steps = self._name(), []
        while self._peek() == "'s":
            self._expect("'s")
            steps.append(Step(self._noun(None)))
        return Chain(start, tuple(steps))

    def _noun(self, kind: str | None) -> Relation:
        """Reads a noun; `kind` is what the relation's subject must be, None for anything."""
        found = self._nouns.at(self._words, self._place)
        if found is None or (kind is not None and found[0].subject != kind):
            raise _Unreadable
        self._place = found[1]
        return found[0]

    def _name(self) -> Node:
        found = self._names.at(self._words, self._place)
        if found is None:
            raise _Unreadable
        self._place = found[1]
        return found[0]

    def _kind(self) -> str:
        kind = self._next()
        if kind not in KINDS:
            raise _Unreadable
        return kind

    def _peek(self, ahead: int = 0) -> str:
        place = self._place + ahead
        return self._words[place] if place < len(self._words) else ""

    def _next(self) -> str:
        word = self._peek()
        self._place += 1
        return word

    def _expect(self, *words: str) -> None:
        for word in words:
            if self._next() != word:
                raise _Unreadable
