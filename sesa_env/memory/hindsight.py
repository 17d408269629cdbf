"""The distiller without a model: with the evidence in hand, it finds the query that would have brought it (paper, section 4).

A failure's question names where the search starts; its evidence says what was to be found on the way. For each hop the
distiller tries queries of the name and few words of the statement, and keeps the shortest that brings the evidence first and
from which the scripted reader takes the right thing. One card teaches one search decision, so that several cards serve a chain.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from sesa_env.grading import contains_answer, exact_match, normalise
from sesa_env.memory.base import CardDraft, Failure, SkillCard
from sesa_env.players.asking import Asked, asked
from sesa_env.players.compare import attribute
from sesa_env.players.decisions import Asking, distance, fill, phrases, relations, take_apart
from sesa_env.players.following import holder
from sesa_env.players.reader import ScriptedReader
from sesa_env.players.spans import MAX_CHARS, STOP_WORDS, Sentence, sentences, words
from sesa_env.search.base import Retriever
from sesa_env.types import Passage, Question
from sesa_env.worlds import World

_MOST_WORDS = 8
_MOST_BRIDGES = 4
_MOST_ROUTES = 16
_ASKS_WHEN_WHERE = ("when", "where")


@dataclass(frozen=True, slots=True)
class Start:
    """A name that a search can start from: as the evidence writes it, and which words of the question it is."""

    name: str
    places: range


@dataclass(frozen=True, slots=True)
class Hop:
    """One search decision to be found.

    Attributes:
        name: the name that the search starts from.
        evidence: the passage that it must bring.
        goals: what must be read off it; () for anything.
        phrase: the question words that ask for it.
        reading: what the reader is asked.
    """

    name: str
    evidence: Passage
    goals: tuple[str, ...]
    phrase: str
    reading: str


class Hindsight:
    """Writes cards from failures by trying queries on the search tool (`Distiller`).

    Args:
        retriever: the search tool that the player used.
        k: how many passages the player was shown for a query.
        most_words: the longest query tried, in words beside the name.
    """

    name = "hindsight"

    def __init__(self, retriever: Retriever, k: int = 3, most_words: int = 3) -> None:
        self._retriever, self._k, self._most_words = retriever, k, most_words
        self._reader = ScriptedReader()

    def distil(self, failures: Sequence[Failure], cards: Mapping[str, SkillCard]) -> list[list[CardDraft]]:
        """Writes cards for a batch of failures; see `Distiller`. It never raises TeacherError.

        Returns:
            For each failure at most one draft for each hop; [] where no query brings the evidence, or where the cards shown say
            already what is to be done.
        """
        return [self._one(failure, cards) for failure in failures]

    def _one(self, failure: Failure, cards: Mapping[str, SkillCard]) -> list[CardDraft]:
        shown = [cards[key] for key, _ in failure.attempt.cards if key in cards]
        for route in islice(_routes(failure), _MOST_ROUTES):
            drafts = self._drafts(route, failure, shown)
            if drafts is not None:
                return [draft for draft in drafts if not _leaks(draft, failure.question)]
        return []

    def _drafts(self, route: Sequence[Hop], failure: Failure, shown: Sequence[SkillCard]) -> list[CardDraft] | None:
        """Finds a query for each hop; None when a hop has none: then this is not how the evidence hangs together."""
        drafts: dict[str, CardDraft] = {}
        for hop in route:
            template = self._template(hop)
            if template is None:
                return None
            vain = _said(shown, hop.phrase)
            if hop.phrase and template not in vain:
                drafts.setdefault(hop.phrase, _draft(hop, template, vain, failure))
        return list(drafts.values())

    def _template(self, hop: Hop) -> str | None:
        """Returns the shortest template that brings the evidence first and lets the right thing be read off it."""
        for templates in _templates(hop, self._most_words):
            queries = [fill(template, hop.name, hop.name) for template in templates]
            for template, query, hits in zip(templates, queries, self._retriever.search(queries, self._k), strict=True):
                if hits and hits[0].id == hop.evidence.id and self._reads(hop, query, hits):
                    return template
        return None

    def _reads(self, hop: Hop, query: str, hits: Sequence[Passage]) -> bool:
        held = holder(query, hits)
        if held is None or held.id != hop.evidence.id:
            return False
        found = self._reader.read(hop.reading, query, [held])
        return exact_match(found, hop.goals) if hop.goals else bool(found)


def _templates(hop: Hop, most_words: int) -> Iterator[list[str]]:
    """Yields templates by length: the name with one content word of the statement, with two, and so on."""
    row = _statement_words(hop)
    for size in range(1, min(most_words, len(row)) + 1):
        yield ["{entity} " + " ".join(picked) for picked in combinations(row, size)]


def _statement_words(hop: Hop) -> list[str]:
    """Returns the plain words of the evidence's statement: no names, no figures, no function words, no part of a goal."""
    sentence = _statement(hop)
    names = [span for span in sentence.spans if span.kind in ("name", "date", "year", "number")]
    hidden = {word.text.lower() for text in (hop.name, *hop.goals) for word in words(text)}
    plain = [
        word.text
        for word in sentence.words
        if word.text.isalpha()
        and word.text.lower() not in STOP_WORDS
        and word.text.lower() not in hidden
        and (word.text.islower() or word.start == 0)
        and not any(span.start <= word.start < span.end and " " in span.text for span in names)
    ]
    return list(dict.fromkeys(word.lower() for word in plain))[:_MOST_WORDS]


def _statement(hop: Hop) -> Sentence:
    """Returns the sentence of the evidence that states the fact: it holds the goal, and the name rather than a pronoun."""
    found = sentences(hop.evidence.text) or (Sentence("", (), (), ()),)
    held = [2 * contains_answer(sentence.text, hop.goals) + contains_answer(sentence.text, [hop.name]) for sentence in found]
    return found[held.index(max(held))]


def _routes(failure: Failure) -> Iterator[list[Hop]]:
    """Yields ways in which question and evidence may hang together, the likeliest first."""
    question, evidence = failure.question, failure.evidence
    asking, wanted = take_apart(question.text), asked(question.text)
    starts = _starts(asking, evidence)
    if not starts or not evidence:
        return
    if wanted.options:
        yield from _compared(question, wanted, asking, starts, evidence)
        return
    joined = _joined(question, asking, starts, evidence) if len(starts) == len(evidence) else []
    if len(joined) > 1:
        yield joined
        yield from ([hop] for hop in joined)  # one condition alone may be met by many things, and its evidence not come first
        return
    for start in reversed(starts):
        yield from _chained(question, asking, starts, start, evidence)
        yield from _chained(question, asking, starts, start, evidence[-1:])
        for first in evidence[:-1]:
            yield from _chained(question, asking, starts, start, (first, evidence[-1]))


def _starts(asking: Asking, evidence: Sequence[Passage]) -> list[Start]:
    """Finds the names in the evidence that stand in the question, in its order; a name within a longer one is none."""
    known = {passage.title for passage in evidence} | {
        span.text
        for passage in evidence
        for sentence in sentences(passage.text)
        for span in sentence.spans
        if span.kind in ("name", "quote")
    }
    found: list[Start] = []
    for name in sorted(known, key=lambda text: (-len(text), text)):
        row = take_apart(name).words
        for first in range(len(asking.words) - len(row) + 1) if row else ():
            places = range(first, first + len(row))
            if asking.words[first : places.stop] == row and all(set(places).isdisjoint(start.places) for start in found):
                found.append(Start(name, places))
    return sorted((start for start in found if _is_name(asking, start)), key=lambda start: start.places.start)


def _is_name(asking: Asking, start: Start) -> bool:
    """Keeps single common words out: "Visitors" begins a sentence and is no name, though a question may hold the word."""
    return any(asking.words[place] not in STOP_WORDS for place in start.places)


def _compared(
    question: Question, wanted: Asked, asking: Asking, starts: Sequence[Start], evidence: Sequence[Passage]
) -> Iterator[list[Hop]]:
    """The chain of the first thing of a comparison, which is the first half of the evidence; the second teaches the same."""
    start = next((start for start in starts if normalise(start.name) == normalise(wanted.options[0])), None)
    if start is None:
        return
    half = evidence[: max(1, len(evidence) // 2)]
    runs = [_phrase(asking, run) for run in relations(asking, [start.places for start in starts])]
    runs = list(dict.fromkeys(runs))
    for bridges in _bridges(start.name, half):
        names = [start.name, *bridges]
        reading = attribute(question.text, wanted, names[-1])
        yield _hops(names, half, (), runs, reading)


def _joined(question: Question, asking: Asking, starts: Sequence[Start], evidence: Sequence[Passage]) -> list[Hop]:
    """Two conditions on one thing: each name with the passage that mentions it, read for the answer."""
    runs = relations(asking, [start.places for start in starts])
    hops: list[Hop] = []
    for start, following in zip(starts, [*starts[1:], None], strict=True):
        end = following.places.start if following else len(asking.words)
        run = next((run for run in runs if start.places.stop <= run[0] < end), None)
        passage = next((passage for passage in evidence if contains_answer(_all(passage), [start.name])), None)
        if run and passage:
            hops.append(Hop(start.name, passage, question.answers, _phrase(asking, run), question.text))
    return hops


def _chained(
    question: Question, asking: Asking, starts: Sequence[Start], start: Start, evidence: Sequence[Passage]
) -> Iterator[list[Hop]]:
    """A chain: each passage mentions a name that the next one is about."""
    runs = sorted(relations(asking, [other.places for other in starts]), key=lambda run: distance(asking, start.places, run))
    phrasings = [_phrase(asking, run) for run in runs]
    if phrasings and len(evidence) == 1:
        phrasings[0] = _with_question_word(asking, start, runs[0])
    for bridges in _bridges(start.name, evidence):
        yield _hops([start.name, *bridges], evidence, question.answers, phrasings, question.text)


def _bridges(name: str, evidence: Sequence[Passage]) -> Iterator[list[str]]:
    """Yields the names that may link the passages, first to last; nothing where a passage does not mention its name."""
    if not contains_answer(_all(evidence[0]), [name]):
        return
    if len(evidence) == 1:
        yield []
        return
    following = _all(evidence[1])
    shared = [
        text for text in _names_of(evidence[0]) if normalise(text) != normalise(name) and contains_answer(following, [text])
    ]
    shared.sort(key=lambda text: normalise(text) != normalise(evidence[1].title))
    for bridge in shared[:_MOST_BRIDGES]:
        for rest in _bridges(bridge, evidence[1:]):
            yield [bridge, *rest]


def _all(passage: Passage) -> str:
    return f"{passage.title[:MAX_CHARS]}. {passage.text[:MAX_CHARS]}"


def _names_of(passage: Passage) -> list[str]:
    spans = [span for sentence in sentences(passage.text) for span in sentence.spans if span.kind in ("name", "quote")]
    return list(dict.fromkeys([*(span.text for span in spans), passage.title]))


def _hops(
    names: Sequence[str], evidence: Sequence[Passage], answers: tuple[str, ...], phrasings: Sequence[str], reading: str
) -> list[Hop]:
    """Puts names, passages and phrases together, innermost first; a hop without a phrase gets no card but must be found too."""
    hops: list[Hop] = []
    for index, (name, passage) in enumerate(zip(names, evidence, strict=True)):
        phrase = phrasings[index] if index < len(phrasings) else ""
        last = index == len(names) - 1
        goals = answers if last else (names[index + 1],)
        hops.append(Hop(name, passage, goals, phrase, reading if last else f"{phrase} {name}"))
    return hops


def _phrase(asking: Asking, run: Sequence[int]) -> str:
    return " ".join(asking.words[place] for place in run)


def _with_question_word(asking: Asking, start: Start, run: Sequence[int]) -> str:
    """Puts "when" or "where" before a verb that follows its name: "when ... die" and "where ... die" are two decisions."""
    phrase = _phrase(asking, run)
    word = next((word for word in asking.words[: start.places.start] if word in _ASKS_WHEN_WHERE), "")
    return f"{word} ... {phrase}" if word and run[0] >= start.places.stop else phrase


def _said(shown: Sequence[SkillCard], phrase: str) -> list[str]:
    """Returns the templates of the cards shown in vain that are for this phrase."""
    key = tuple(phrase.replace("...", " ").split())
    return [
        query
        for card in shown
        if any(tuple(word for piece in pieces for word in piece) == key for pieces in phrases(card.trigger))
        for query in card.queries
    ]


def _draft(hop: Hop, template: str, vain: Sequence[str], failure: Failure) -> CardDraft:
    return CardDraft(
        description=f"Search for the {hop.phrase.replace(' ... ', ' ')}.",
        trigger=f'The question asks for "{hop.phrase}".',
        avoid=_fault(hop, vain, failure),
        queries=(template,),
    )


def _fault(hop: Hop, vain: Sequence[str], failure: Failure) -> str:
    """Says what the failing queries did wrong."""
    if vain:
        tried = " and ".join(f'"{template}"' for template in vain[:2])
        return f"Trusting {tried} alone: it did not bring the statement."
    searches = failure.attempt.searches
    if any(normalise(call.query) == normalise(failure.question.text) for call in searches):
        return f'Searching the whole question: pages that repeat "{hop.phrase}" come first and need not state it.'
    if any(passage.id == hop.evidence.id for call in searches for passage in call.passages):
        return "Answering from another passage of the results: take the one that holds all words of the search."
    return f'Searching in the words of the question, such as "{hop.phrase}": the statement is written in others.'


def _leaks(draft: CardDraft, question: Question) -> bool:
    """Says whether a draft holds an answer, a name or a figure of its question."""
    texts = [draft.description, draft.trigger, draft.avoid, *draft.queries]
    secrets = (*question.answers, *question.entities)
    return any(contains_answer(text, secrets) or re.search(r"\d", text) for text in texts)


def hindsight(world: World) -> Hindsight:
    """Makes the distiller on a world's search tool (`load_teacher`)."""
    return Hindsight(world.retriever)
