"""How a failure's question and evidence may hang together: where the search starts, and what each passage had to give.

A failure's question names where the search starts; its evidence says what was to be found on the way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sesa_env.grading import contains_answer, normalise
from sesa_env.memory.base import Failure
from sesa_env.players.asking import Asked, asked
from sesa_env.players.blank import BLANK
from sesa_env.players.compare import attribute
from sesa_env.players.decisions import Asking, covered, distance, relations, take_apart
from sesa_env.players.spans import MAX_CHARS, STOP_WORDS, is_content, sentences
from sesa_env.types import Passage, Question

_MOST_BRIDGES = 4
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


def routes(failure: Failure) -> Iterator[list[Hop]]:
    """Yields ways in which question and evidence may hang together, the likeliest first.

    A question with a blank has none: the words around the blank are those of one statement, and ask for no relation.

    Args:
        failure: what failed.

    Returns:
        For each way its hops, innermost first; a hop whose phrase is "" must be found but can be taught to nobody.
    """
    question, evidence = failure.question, failure.evidence
    asking, wanted = take_apart(question.text), asked(question.text)
    starts = _starts(asking, evidence)
    if not starts or not evidence or BLANK in question.text:
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
    found = relations(asking, [start.places for start in starts])
    runs = list(dict.fromkeys(_phrase(asking, run) for run in found))
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
        if run and passage and _phrase(asking, run):
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
    """Returns the words of a run; "" where one is an adverb, a figure or part of a name: such words ask for no relation."""
    named = {place for name in asking.names if name.start > 0 for place in covered(asking, name)}
    row = [asking.words[place] for place in run]
    plain = all(is_content(word) or word in STOP_WORDS for word in row) and named.isdisjoint(run)
    return " ".join(row) if plain else ""


def _with_question_word(asking: Asking, start: Start, run: Sequence[int]) -> str:
    """Puts "when" or "where" before a verb that follows its name: "when ... die" and "where ... die" are two decisions."""
    phrase = _phrase(asking, run)
    word = next((word for word in asking.words[: start.places.start] if word in _ASKS_WHEN_WHERE), "")
    return f"{word} ... {phrase}" if word and phrase and run[0] >= start.places.stop else phrase
