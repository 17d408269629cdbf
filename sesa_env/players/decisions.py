"""From a question and Skill Cards to search decisions, innermost first.

A card's trigger is a sentence that quotes question words: "spouse of", or with a gap: "when ... born". Each phrase found in
the question is one decision: which query to make for this relation. In a chained question the phrase next to the name is the
innermost hop.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sesa_env.memory.base import CardHit
from sesa_env.players.spans import STOP_WORDS, Span, names, quotes, words

_QUOTED = re.compile(r"[\"“”]([^\"“”\n]{1,120})[\"“”]")
_GAP = re.compile(r"\.\.\.|…|\{[^{}]{0,20}\}")
_SLOT = re.compile(r"\{([a-z_]{1,20})\}")
_SLOTS = frozenset({"entity", "bridge"})
_AFTER = 100
_MAX_WORDS = 400


@dataclass(frozen=True, slots=True)
class Asking:
    """A question as a row of lower-case words, with the names in it.

    Attributes:
        words: the words, possessive endings split off as "'s".
        starts: where each word starts in the text.
        names: names and quoted titles, in order of appearance.
    """

    words: tuple[str, ...]
    starts: tuple[int, ...]
    names: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """One search decision.

    Attributes:
        phrase: the question words that it is for.
        places: which words of the question they are, by index, ascending.
        templates: query templates to use, in order; () when no card knows any.
    """

    phrase: str
    places: tuple[int, ...]
    templates: tuple[str, ...]


def take_apart(question: str) -> Asking:
    """Splits a question into words and finds its names: quoted titles, or else runs of capitalised words."""
    row: list[tuple[str, int]] = []
    for word in words(question)[:_MAX_WORDS]:
        lower = word.text.lower().replace("\u2019", "'")
        bare = lower.removesuffix("'s")
        row.append((bare, word.start))
        if bare != lower:
            row.append(("'s", word.start + len(bare)))
    quoted = quotes(question)
    runs = [run for run in names(question) if not any(title.start < run.end and run.start < title.end for title in quoted)]
    found = sorted([*quoted, *runs], key=lambda span: span.start)
    return Asking(tuple(word for word, _ in row), tuple(start for _, start in row), tuple(found))


def phrases(trigger: str) -> list[tuple[tuple[str, ...], ...]]:
    """Returns the quoted phrases of a trigger, each as its pieces between gaps, each piece as lower-case words."""
    return [
        pieces
        for quoted in _QUOTED.findall(trigger[:2000])
        if (pieces := tuple(row for piece in _GAP.split(quoted) if (row := take_apart(piece).words)))
    ]


def usable(template: str) -> bool:
    """Says whether a query template has a slot for a name, and no slot that a player cannot fill."""
    slots = set(_SLOT.findall(template))
    return bool(slots) and slots <= _SLOTS


def fill(template: str, entity: str, bridge: str) -> str:
    """Fills a template: {entity} is the name that the search starts from, {bridge} the name found last."""
    return _SLOT.sub(lambda slot: entity if slot.group(1) == "entity" else bridge, template)


def steps_of(decision: Decision) -> list[tuple[str, ...]]:
    """Splits a decision's templates into steps: those with {entity} alone are alternatives, each with {bridge} a step more."""
    first = tuple(template for template in decision.templates if "{bridge}" not in template)
    later = [(template,) for template in decision.templates if "{bridge}" in template]
    return [first, *later] if first else later


def covered(asking: Asking, name: Span) -> range:
    """Returns the indices of the words of the question that a name covers."""
    inside = [index for index, start in enumerate(asking.starts) if name.start <= start < name.end]
    return range(inside[0], inside[-1] + 1) if inside else range(0)


def distance(asking: Asking, name: range, places: Sequence[int]) -> int:
    """Says how far a phrase stands from the name, in words; words after it stand behind all before it, save a possessive's.

    "Where was the spouse of Ada born": "spouse of" belongs to Ada, "born" to the spouse.
    """
    after = [place - name.stop + 1 for place in places if place >= name.stop]
    if not after:
        return min((name.start - place for place in places), default=0)
    possessive = name.stop < len(asking.words) and asking.words[name.stop] == "'s"
    return min(after) + (-_AFTER if possessive else _AFTER)


def decide(asking: Asking, name: range, cards: Sequence[CardHit]) -> list[Decision]:
    """Finds the decisions that the cards hold for a question: the longest phrases first, and none that overlaps another.

    Args:
        asking: the question.
        name: the words of the name that the search starts from: no phrase is looked for in them.
        cards: the cards shown, best first: among phrases of one length the better card wins.

    Returns:
        The decisions, innermost first.
    """
    taken = set(name)
    chosen: list[Decision] = []
    for decision in sorted(_matches(asking, cards), key=lambda found: _weight(found.phrase), reverse=True):
        if taken.isdisjoint(decision.places):
            taken.update(decision.places)
            chosen.append(decision)
    return sorted(chosen, key=lambda decision: distance(asking, name, decision.places))


def start(asking: Asking, cards: Sequence[CardHit]) -> range:
    """Returns the words of the name that the search starts from.

    It is the last name of the question; where there is none, the longest run of content words that no card's phrase claims.
    """
    if asking.names:
        return covered(asking, asking.names[-1])
    claimed = {place for decision in _matches(asking, cards) for place in decision.places}
    best = run = range(0)
    for index, word in enumerate(asking.words):
        free = index not in claimed and word not in STOP_WORDS and word != "'s"
        run = range(run.start if run.stop == index and len(run) else index, index + 1) if free else range(0)
        best = run if len(run) > len(best) else best
    return best


def _matches(asking: Asking, cards: Sequence[CardHit]) -> list[Decision]:
    found: list[Decision] = []
    for hit in cards:
        templates = tuple(template for template in hit.card.queries if usable(template))
        for pieces in phrases(hit.card.trigger) if templates else []:
            phrase = " ".join(word for piece in pieces for word in piece)
            found.extend(Decision(phrase, places, templates) for places in occurrences(asking.words, pieces))
    return found


def occurrences(row: Sequence[str], pieces: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
    """Finds where the pieces stand in the row, in order and with anything between; each place of the first piece once."""
    found: list[tuple[int, ...]] = []
    for first in _places(row, pieces[0], 0):
        places = [*range(first, first + len(pieces[0]))]
        for piece in pieces[1:]:
            start = next(iter(_places(row, piece, places[-1] + 1)), None)
            if start is None:
                break
            places.extend(range(start, start + len(piece)))
        else:
            found.append(tuple(places))
    return found


def _places(row: Sequence[str], piece: Sequence[str], start: int) -> list[int]:
    size = len(piece)
    return [index for index in range(start, len(row) - size + 1) if tuple(row[index : index + size]) == tuple(piece)]


def _weight(phrase: str) -> tuple[int, int]:
    """Ranks phrases: more content words first, then more words."""
    row = phrase.split()
    return sum(word not in STOP_WORDS for word in row), len(row)
