"""From a question and Skill Cards to search decisions, innermost first.

A card's trigger is a sentence that quotes question words: "spouse of", or with a gap: "when ... born". Each phrase found in
the question is one decision: which query to make for this relation. In a chained question the phrase next to the name is the
innermost hop.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sesa_env.memory.base import CardHit
from sesa_env.players.spans import STOP_WORDS, Span, names, quotes, word_set, words

_QUOTED = re.compile(r"[\"“”]([^\"“”\n]{1,120})[\"“”]")
_GAP = re.compile(r"\.\.\.|…|\{[^{}]{0,20}\}")
_SLOT = re.compile(r"\{([a-z_]{1,20})\}")
_SLOTS = frozenset({"entity", "bridge"})
_BREAKS = word_set("is are was were do does did has have had who whom whose which what when where why how that as 's")
_KINDS = word_set(
    "person man woman people film movie book novel city town country company university band team ship one thing song album"
    " game show series"
)
_DEGREES = word_set(
    "earlier later smaller larger older younger bigger higher lower longer first last more less most least name"
)
_AFTER, _FAR = 100, 1000
_MAX_WORDS = 400


@dataclass(frozen=True, slots=True)
class Asking:
    """A question as a row of lower-case words, with the names in it.

    Attributes:
        words: the words, possessive endings split off as "'s".
        starts: where each word starts in the text.
        clauses: in which clause each word stands, from 0; commas, colons and semicolons part clauses.
        names: names and quoted titles, in order of appearance.
    """

    words: tuple[str, ...]
    starts: tuple[int, ...]
    clauses: tuple[int, ...]
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


@lru_cache(maxsize=16_384)
def take_apart(question: str) -> Asking:
    """Splits a question into words and finds its names: quoted titles, or else runs of capitalised words."""
    row: list[str] = []
    starts: list[int] = []
    clauses: list[int] = []
    clause, end = 0, 0
    for word in words(question)[:_MAX_WORDS]:
        clause += any(mark in question[end : word.start] for mark in ",:;")
        end = word.end
        lower = word.text.lower().replace("\u2019", "'")
        bare = lower.removesuffix("'s")
        parts = [bare] if bare == lower else [bare, "'s"]
        row.extend(parts)
        starts.extend([word.start, word.start + len(bare)][: len(parts)])
        clauses.extend([clause] * len(parts))
    quoted = quotes(question)
    runs = [run for run in names(question) if not any(title.start < run.end and run.start < title.end for title in quoted)]
    found = sorted([*quoted, *runs], key=lambda span: span.start)
    return Asking(tuple(row), tuple(starts), tuple(clauses), tuple(found))


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
    later: list[tuple[str, ...]] = [(template,) for template in decision.templates if "{bridge}" in template]
    return [first, *later] if first else later


def covered(asking: Asking, name: Span) -> range:
    """Returns the indices of the words of the question that a name covers."""
    inside = [index for index, start in enumerate(asking.starts) if name.start <= start < name.end]
    return range(inside[0], inside[-1] + 1) if inside else range(0)


def as_written(question: str, asking: Asking, name: range) -> str:
    """Returns the words of the question at these indices, as they are written."""
    end = asking.starts[name.stop - 1] + len(asking.words[name.stop - 1])
    return question[asking.starts[name.start] : end]


def locate(question: str, asking: Asking, text: str) -> range:
    """Returns the indices of the words where a text stands in the question."""
    at = question.find(text)
    inside = [index for index, begin in enumerate(asking.starts) if at <= begin < at + len(text)] if at >= 0 else []
    return range(inside[0], inside[-1] + 1) if inside else range(0)


def distance(asking: Asking, name: range, places: Sequence[int]) -> int:
    """Says how far a phrase stands from the name, in words; words after it stand behind all before it, save a possessive's.

    "Where was the spouse of Ada born": "spouse of" belongs to Ada, "born" to the spouse. Another clause is farther still.
    """
    clause = asking.clauses[name.start]
    near = [place for place in places if asking.clauses[place] == clause]
    if not near:
        return _FAR + min(abs(place - name.start) for place in places)
    after = [place - name.stop + 1 for place in near if place >= name.stop]
    if not after:
        return min(name.start - place for place in near)
    possessive = name.stop < len(asking.words) and asking.words[name.stop] == "'s"
    return min(after) + (-_AFTER if possessive else _AFTER)


def decide(asking: Asking, name: range, cards: Sequence[CardHit], *, as_read: bool = False) -> list[Decision]:
    """Finds the decisions that the cards hold for a question: the longest phrases first, and none that overlaps another.

    Args:
        asking: the question.
        name: the words of the name that the search starts from: no phrase is looked for in them.
        cards: the cards shown, best first: cards for one phrase are alternatives in this order.
        as_read: order the decisions as they are read, each phrase once: a comparison asks for "the director with the earlier
            birthday" of each of its two things.

    Returns:
        The decisions, innermost first.
    """
    taken = set(name)
    chosen: list[Decision] = []
    for decision in sorted(_matches(asking, cards), key=lambda found: _weight(found.phrase), reverse=True):
        if taken.isdisjoint(decision.places):
            taken.update(decision.places)
            chosen.append(decision)
    if as_read:
        return sorted({decision.phrase: decision for decision in chosen}.values(), key=lambda decision: decision.places)
    return sorted(chosen, key=lambda decision: distance(asking, name, decision.places))


def conditions(asking: Asking, cards: Sequence[CardHit]) -> list[tuple[range, Decision]]:
    """Finds two conditions on one thing: "which film has Ada as its director and Bo as its star".

    Returns:
        Each name with the decision that stands between it and the next name; fewer than two mean that it is no such question.
    """
    spots = [covered(asking, name) for name in asking.names]
    taken = {place for spot in spots for place in spot}
    found = sorted(_matches(asking, cards), key=lambda match: _weight(match.phrase), reverse=True)
    pairs: list[tuple[range, Decision]] = []
    for index, spot in enumerate(spots):
        end = spots[index + 1].start if index + 1 < len(spots) else len(asking.words)
        behind = (match for match in found if spot.stop <= match.places[0] < end and taken.isdisjoint(match.places))
        match = next(behind, None)
        if match is not None and asking.words[spot.stop : spot.stop + 1] == ("as",):
            pairs.append((spot, match))
    return pairs


def start(asking: Asking, cards: Sequence[CardHit]) -> range:
    """Returns the words of the name that the search starts from.

    It is the longest name of the question; where there is none, the longest stretch of words between question words, verbs and
    the phrases of the cards, without function words at its ends; the last of several as long.
    """
    if asking.names:
        return max(reversed([covered(asking, name) for name in asking.names]), key=len)
    claimed = {place for decision in _matches(asking, cards) for place in decision.places}
    best = stretch = range(0)
    for place, word in enumerate(asking.words):
        free = place not in claimed and word not in _BREAKS
        stretch = range(stretch.start if stretch else place, place + 1) if free else range(0)
        trimmed = _trimmed(asking, stretch)
        best = trimmed if len(trimmed) >= len(best) else best
    return best


def _trimmed(asking: Asking, stretch: range) -> range:
    content = [place for place in stretch if asking.words[place] not in STOP_WORDS]
    return range(content[0], content[-1] + 1) if content else range(0)


def relations(asking: Asking, names: Sequence[range]) -> list[tuple[int, ...]]:
    """Finds the runs of question words that could each ask for one relation: "date of birth", "director", in order.

    A run is one of content words, with a bare "of" inside it at most. Names, question words and mere kinds of thing ("the film
    whose director") are none.

    Args:
        asking: the question.
        names: the words of its names.

    Returns:
        For each run the indices of its words.
    """
    covered_words = {place for name in names for place in name}
    runs: list[list[int]] = [[]]
    for place, word in enumerate(asking.words):
        content = place not in covered_words and word not in STOP_WORDS and word not in _DEGREES and word != "'s"
        if content:
            runs[-1].append(place)
        elif not (word == "of" and runs[-1] and place == runs[-1][-1] + 1):
            runs.append([])
    return [_filled(run) for run in runs if any(asking.words[place] not in _KINDS for place in run)]


def _filled(run: Sequence[int]) -> tuple[int, ...]:
    """Puts the words between the first and the last of a run back in: "date of birth" for "date", "birth"."""
    return tuple(range(run[0], run[-1] + 1))


def _matches(asking: Asking, cards: Sequence[CardHit]) -> list[Decision]:
    """Finds every place of every card's phrases; the templates of cards that share a place are put together."""
    found: dict[tuple[int, ...], Decision] = {}
    for hit in cards:
        templates = tuple(template for template in hit.card.queries if usable(template))
        for pieces in phrases(hit.card.trigger) if templates else []:
            phrase = " ".join(word for piece in pieces for word in piece)
            for places in occurrences(asking.words, pieces):
                known = found[places].templates if places in found else ()
                found[places] = Decision(phrase, places, tuple(dict.fromkeys((*known, *templates))))
    return list(found.values())


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
