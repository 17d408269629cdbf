"""What a scripted reader can see in a text without a model: words, sentences, names, quoted titles, dates and numbers.

Every function reads a bounded prefix of its text with expressions that hardly backtrack, so that hostile input costs no more
than long input.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

MAX_CHARS = 20_000
"""How much of one text is read. Real passages have about 100 words; only hostile ones are longer."""

Kind = Literal["name", "quote", "date", "year", "number", "noun"]


def word_set(row: str) -> frozenset[str]:
    """Makes a set of the words that are written in a row."""
    return frozenset(row.split())


_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
_SENTENCE_END = re.compile(r"[.!?][\"”')\]]{0,3}\s{1,4}(?=[\"“(\[]?[A-Z0-9])|\n")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
"""The names of the months, in order."""
_MONTHS = "|".join(MONTHS)
_DATE = re.compile(rf"\b(?:\d{{1,2}} (?:{_MONTHS}),? \d{{3,4}}|(?:{_MONTHS}) \d{{1,2}}, ?\d{{3,4}}|(?:{_MONTHS}) \d{{4}})\b")
_YEAR = re.compile(r"\b(?:1\d{3}|20\d{2})\b")
_NUMBER = re.compile(r"\b\d{1,3}(?:,\d{3}){1,4}\b|\b\d{1,12}(?:\.\d{1,6})?\b")
_NUMBER_WORD = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|twenty|thirty)\b"
)
_QUOTE = re.compile(r"[\"“] ?([^\"“”\n]{2,80}?) ?[\"”]")
_CLASS = re.compile(r"\b(?:is|was|are|were|as) (?:an?|the) ")
_ABBREVIATIONS = word_set("mr mrs ms dr st jr sr prof no vol vs lt col gen capt rev hon ft mt")
_PARTICLES = word_set("of the de la le von van der den di da do dos du del des el al bin ibn y zu ter ten")
STOP_WORDS = word_set(
    "a an the and or but if of in on at to for from by with as is are was were be been being am do does did has have "
    "had which who whom whose what when where why how that this these those it its he she they his her hers their "
    "them him i you we us our your my me not no there here than then so such also into out over under about between "
    "both same after before during while until will would can could may might must shall should s t name named called "
    "many much"
)
_ADVERBS = word_set(
    "upon though although among amongst despite via per within without against toward towards since because unless whereas "
    "whether however therefore thus hence yet still even ever never also often again once just quite rather very more most "
    "less least some any all each every other another own several various along across around behind beside besides beyond "
    "near off onto out past throughout unlike up down away back ago together perhaps otherwise meanwhile instead"
)
_NOUNS_IN_LY = word_set("family assembly monopoly supply reply ally bully jelly lily")
_CLASS_END = word_set("of in on at to for from by with as who which that and or best known whose where born")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text: as written, its start and end offsets."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a text that could be an answer: as written, its kind, its start and end offsets."""

    text: str
    kind: Kind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence: its text, its words' stems with their offsets in order, and the spans that could be answers."""

    text: str
    words: tuple[Word, ...]
    stems: tuple[str, ...]
    spans: tuple[Span, ...]


def words(text: str) -> list[Word]:
    """Returns the words of the text's first `MAX_CHARS` characters, in order."""
    return [Word(found.group(), found.start(), found.end()) for found in _WORD.finditer(text[:MAX_CHARS])]


def stem(word: str) -> str:
    """Returns a crude stem: lower case, without possessive, plural and verb endings, so that "directed" meets "director"."""
    word = word.lower().replace("\u2019", "'").removesuffix("'s")
    for ending in ("ing", "ed", "es", "or", "er", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def content_words(text: str) -> list[str]:
    """Returns the text's words that are no function words, as written, in order."""
    return [word.text for word in words(text) if _bare(word.text) not in STOP_WORDS]


def is_content(word: str) -> bool:
    """Says whether a word can name a relation by itself: letters alone, no function word, no adverb ("upon", "originally")."""
    lower = word.lower()
    adverb = lower in _ADVERBS or (lower.endswith("ly") and len(lower) > 4 and lower not in _NOUNS_IN_LY)
    return lower.isalpha() and len(lower) > 1 and lower not in STOP_WORDS and not adverb


@lru_cache(maxsize=16_384)
def sentences(text: str) -> tuple[Sentence, ...]:
    """Splits a text into sentences and finds what could be an answer in each.

    Args:
        text: any text; its first `MAX_CHARS` characters are read.

    Returns:
        The sentences in order, blank ones left out.
    """
    return tuple(_sentence(piece) for piece in _split(text[:MAX_CHARS]) if piece.strip())


def names(text: str) -> list[Span]:
    """Finds runs of capitalised words, with particles inside them ("Bank of Norland"); a leading function word is left out."""
    return _runs(text, words(text))


def quotes(text: str) -> list[Span]:
    """Finds quoted pieces of at most 80 characters; a span covers the quotation marks, its text does not."""
    return [Span(found.group(1), "quote", found.start(), found.end()) for found in _QUOTE.finditer(text[:MAX_CHARS])]


def _bare(word: str) -> str:
    return word.lower().replace("\u2019", "'").removesuffix("'s")


def _split(text: str) -> list[str]:
    pieces, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        if text[end.start()] == "." and _abbreviates(text, end.start()):
            continue
        pieces.append(text[start : end.end()])
        start = end.end()
    return [*pieces, text[start:]]


def _abbreviates(text: str, dot: int) -> bool:
    word = text[max(0, dot - 6) : dot].split()[-1:]
    return bool(word) and ((len(word[0]) == 1 and word[0].isupper()) or word[0].lower() in _ABBREVIATIONS)


def _sentence(text: str) -> Sentence:
    found = words(text)
    return Sentence(text, tuple(found), tuple(stem(word.text) for word in found), tuple(_spans(text, found)))


def _spans(text: str, found: list[Word]) -> list[Span]:
    dates = [Span(hit.group(), "date", hit.start(), hit.end()) for hit in _DATE.finditer(text)]
    years = [Span(hit.group(), "year", hit.start(), hit.end()) for hit in _YEAR.finditer(text)]
    numbers = [Span(hit.group(), "number", hit.start(), hit.end()) for hit in _NUMBER.finditer(text)]
    spelt = [Span(hit.group(), "number", hit.start(), hit.end()) for hit in _NUMBER_WORD.finditer(text)]
    runs = [run for run in _runs(text, found) if run.text.split()[0] not in MONTHS]
    return [*dates, *years, *numbers, *spelt, *quotes(text), *runs, *_classes(text)]


def _runs(text: str, found: list[Word]) -> list[Span]:
    """Joins capitalised words to names, over a blank, an initial's full stop, or particles before another capital."""
    spans: list[Span] = []
    first = 0
    while first < len(found):
        last = _run_end(text, found, first)
        if last is not None:
            start, end = found[first].start, found[last].end
            name = text[start:end].removesuffix("'s").removesuffix("\u2019s")
            spans.append(Span(name, "name", start, start + len(name)))
        first = first + 1 if last is None else last + 1
    return spans


def _run_end(text: str, found: list[Word], first: int) -> int | None:
    """Returns the index of the last word of the name that begins at `first`, or None where none begins."""
    if not _capital(found[first]) or _bare(found[first].text) in STOP_WORDS:
        return None
    last, here = first, first
    while here + 1 < len(found) and _joined(text, found[here], found[here + 1]) and here - last < 3:
        here += 1
        if _capital(found[here]) or (found[here].text.isdigit() and len(found[here].text) < 4 and here == last + 1):
            last = here
        elif found[here].text not in _PARTICLES:
            break
    return last


def _capital(word: Word) -> bool:
    return word.text[0].isupper()


def _joined(text: str, left: Word, right: Word) -> bool:
    gap = text[left.end : right.start]
    possessive = left.text.endswith(("'s", "\u2019s"))
    return not possessive and (gap in (" ", " & ") or (gap in (". ", ".") and _abbreviates(text, left.end)))


def _classes(text: str) -> list[Span]:
    """Finds the class noun of a definition: "was a Norlandic jazz pianist who" gives "jazz pianist" and "pianist"."""
    spans: list[Span] = []
    for found in _CLASS.finditer(text):
        run: list[Word] = []
        for word in words(text[found.end() : found.end() + 80]):
            if _bare(word.text) in _CLASS_END or (run and text[found.end() + run[-1].end] != " "):
                break
            run = [] if _capital(word) else [*run, word]
        spans.extend(_tails(text, found.end(), run[-2:]))
    return spans


def _tails(text: str, offset: int, run: list[Word]) -> list[Span]:
    return [
        Span(text[offset + run[first].start : offset + run[-1].end], "noun", offset + run[first].start, offset + run[-1].end)
        for first in range(len(run))
    ]
