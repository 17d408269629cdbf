"""What a card would give away of the question that it was distilled from: its answers, its names, and the rare parts of both.

A name shows itself by its capital. Real questions and answers are often written without any, so the passages that were read
about the question decide: a word that stands in them with a capital, and never without one, is a name.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from sesa_env.grading import contains_answer
from sesa_env.types import Passage, Question

Pair: TypeAlias = tuple[str, str]

_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"[\w'’.-]+|[^\w\s]")  # noqa: RUF001 - both apostrophes occur in real names
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n])[\W_]*$")
_APOSTROPHE = re.compile(r"['’]")  # noqa: RUF001 - both occur in real names
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_IN_BRACKETS = re.compile(r"\s*\([^()]*\)")
_MAX_CHARS = 20_000  # of one passage; real ones have about 600, only hostile ones are longer
_TELLING_DIGITS = 3  # a year gives its answer away, the day of a month does not


def _words(row: str) -> frozenset[str]:
    return frozenset(row.split())


# They part two names: "the Duke of Edinburgh and Prince Charles".
_PARTERS = _words("and or")
# Lower-case words that stand inside names: "Best in Show", "Ludwig van Beethoven".
_JOINERS = _words("a an at de del der di du for from in la le of on the to van von with")
# Capitalised words that begin sentences or titles and are no name by themselves.
_FUNCTION_WORDS = (
    _JOINERS
    | _PARTERS
    | _words(
        """
are as both by can could did do does did had has have her his how i if is it its name no out she he that their there they this
was were what when where which who whom whose why will would yes under you your
"""
    )
)
# Words that many names share. One alone gives nothing away; two together, as in "New York", do.
_COMMON_PARTS = _words(
    """
january february march april may june july august september october november december
monday tuesday wednesday thursday friday saturday sunday
academy association award battle book castle church city club college company council county court day department empire film
football government hall house institute international island king kingdom lake league library lord los museum national new
north office park party people president prince princess province queen republic river road royal saint san school sea series
show sir society song south east west state states station street team theatre theater tower town union united university
village war world year
"""
)


@dataclass(frozen=True, slots=True)
class Secrets:
    """What no card may hold, all folded (`fold`) but `answers` and `capitals`.

    Attributes:
        answers: the whole answers.
        answer_words: words of answers that give them away alone: "hemingway", "1815".
        answer_pairs: neighbours in an answer that do so together: ("18", "june").
        names: whole names.
        name_words: words of names that are names by themselves, however they are written.
        capitals: words of names that count where they have their capital: "Show" of "Best in Show", but not "show".
    """

    answers: tuple[str, ...]
    answer_words: frozenset[str]
    answer_pairs: frozenset[Pair]
    names: tuple[str, ...]
    name_words: frozenset[str]
    capitals: frozenset[str]

    def told_by(self, text: str) -> str:
        """Says what a text gives away: "answer", "entity" or "" for nothing."""
        words = fold(text)
        content = [word for word in words if word not in _FUNCTION_WORDS]
        if _holds(words, self.answers) or contains_answer(text, self.answers):
            return "answer"
        if not self.answer_words.isdisjoint(content) or not self.answer_pairs.isdisjoint(pairwise(content)):
            return "answer"
        named = _holds(words, self.names) or not self.name_words.isdisjoint(content)
        return "entity" if named or not self.capitals.isdisjoint(_WORD.findall(text)) else ""


@dataclass(frozen=True, slots=True)
class _Reading:
    """How the passages write words.

    Attributes:
        lower: words that stand somewhere without a capital.
        proper: words that always have one, and not only as the first of a sentence.
        text: all words in their case, for phrases.
        titles: the passages' titles.
    """

    lower: frozenset[str]
    proper: frozenset[str]
    text: str
    titles: tuple[str, ...]


def secrets_of(question: Question, passages: Sequence[Passage] = ()) -> Secrets:
    """Finds out what a card distilled from a question must not hold.

    Args:
        question: the question, with its answers and, if known, its entities.
        passages: what was read about it: its evidence, and what the attempt found.

    Returns:
        The whole answers and names, and those parts that give them away. A part does when it is a figure of three digits, a
        word with a capital (in the answer, or always in the passages), or two neighbouring words. It does not when the question
        says it itself, in lower case, or when it is common in names: months, "university", "river".
    """
    names = (*question.entities, *names_in(question.text))
    reading = _read(question, names, passages)
    said = _lower(question.text)
    asked = frozenset(fold(" ".join((question.text, *question.entities))))
    words, pairs = _answer_parts(question.answers, said, reading)
    return Secrets(
        answers=(
            *question.answers[:1],
            *(alias for alias in question.answers[1:] if not _FUNCTION_WORDS.issuperset(fold(alias))),
        ),
        answer_words=words,
        answer_pairs=pairs,
        names=(*names, *_title_names(reading)),
        name_words=(asked & reading.proper) | _figures(asked),
        capitals=frozenset(word for word in _content(" ".join(names)) if word[:1].isupper()),
    )


def names_in(text: str) -> list[str]:
    """Finds the capitalised names in a question, in order: "Who directed Best in Show?" gives ["Best in Show"].

    A lower-case question shows no names: there the entities, the passages and the answers protect.
    """
    names: list[str] = []
    run: list[str] = []
    for token in _TOKEN.findall(text):
        begins = token[0].isupper() and token.lower() not in _FUNCTION_WORDS
        goes_on = run and token.lower() not in _PARTERS and (token[0].isupper() or token.lower() in _JOINERS)
        if begins or goes_on:
            run.append(token)
        else:
            names.append(_trim(run))
            run = []
    names.append(_trim(run))
    return [name for name in names if name]


def fold(text: str) -> list[str]:
    """Splits a text into words without case and accents, so that "Vermeer's" holds "Vermeer" and "Gabor" is "Gábor"."""
    return [word.casefold() for word in _bare(text)]


def _bare(text: str) -> list[str]:
    """Splits a text into words without accents, in their case; "1,234" is one word."""
    decomposed = unicodedata.normalize("NFKD", _THOUSANDS.sub("", text))
    return _WORD.findall("".join(char for char in decomposed if not unicodedata.combining(char)))


def _trim(run: list[str]) -> str:
    while run and run[-1].lower() in _JOINERS:
        run = run[:-1]
    return re.sub(r"(?:['’]s?|\.)$", "", " ".join(run))  # noqa: RUF001 - both apostrophes occur in real names


def _holds(words: Sequence[str], names: Iterable[str]) -> bool:
    joined = f" {' '.join(words)} "
    return any(f" {' '.join(folded)} " in joined for name in names if (folded := fold(name)))


def _content(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if len(word) > 1 and word.lower() not in _FUNCTION_WORDS]


def _lower(text: str) -> frozenset[str]:
    return frozenset(word for word in _bare(text) if word[0].islower())


def _figures(words: Iterable[str]) -> frozenset[str]:
    return frozenset(word for word in words if word.isdecimal() and len(word) >= _TELLING_DIGITS)


# --- answers -------------------------------------------------------------------------------------------------------


def _answer_parts(answers: Sequence[str], said: frozenset[str], reading: _Reading) -> tuple[frozenset[str], frozenset[Pair]]:
    """Returns the telling words and pairs.

    Aliases hold much that only goes with the thing ("Climate of Wisconsin"): of theirs also those parts are passed over that
    the passages write in lower case.
    """
    words: set[str] = set()
    pairs: set[Pair] = set()
    for place, answer in enumerate(answers):
        plain = said if place == 0 else said | reading.lower
        bare = [word for word in _bare(answer) if word.casefold() not in _FUNCTION_WORDS]
        unmarked = _bare(_APOSTROPHE.sub("", answer))  # "otoole" of "O'Toole"
        words |= _figures(bare) | set(_rare([*bare, *unmarked], plain, reading))
        pairs |= {pair for pair in pairwise(word.casefold() for word in bare) if not plain.issuperset(pair)}
    return frozenset(words), frozenset(pairs)


def _rare(bare: Sequence[str], plain: frozenset[str], reading: _Reading) -> Iterator[str]:
    for word in bare:
        folded = word.casefold()
        named = word[0].isupper() or folded in reading.proper
        if named and len(word) > 1 and folded not in plain | _COMMON_PARTS | _FUNCTION_WORDS:
            yield folded


# --- passages ------------------------------------------------------------------------------------------------------


def _read(question: Question, names: Sequence[str], passages: Sequence[Passage]) -> _Reading:
    """Reads how words are written. A question that shows names shows by its lower case what is none."""
    texts = [passage.text[:_MAX_CHARS] for passage in passages] + ([question.text] if names_in(question.text) else [])
    lower = frozenset[str]().union(*(_lower(text) for text in texts))
    titles = tuple(_IN_BRACKETS.sub("", passage.title[:_MAX_CHARS]) for passage in passages)
    capital = {word.casefold() for title in titles for word in _bare(title) if word[0].isupper()}
    for text in texts[: len(passages)]:
        capital |= set(_capitalised(text))
    proper = capital - lower - _FUNCTION_WORDS - _COMMON_PARTS
    return _Reading(lower, frozenset(proper), f" {' '.join(word for text in texts for word in _bare(text))} ", titles)


def _capitalised(text: str) -> Iterator[str]:
    """Yields the words with a capital that no sentence begins with, or with a further one, such as "WWNQ"."""
    for match in _WORD.finditer(text):
        word = match[0]
        begins = _SENTENCE_START.search(text, max(match.start() - 4, 0), match.start()) is not None
        if word[0].isupper() and (not begins or any(char.isupper() for char in word[1:])):
            yield from fold(word)


def _title_names(reading: _Reading) -> Iterator[str]:
    """Yields the titles that are names: of those that the passages also write in lower case none is, such as "Home town"."""
    for title in reading.titles:
        words = fold(title)
        rare = [word for word in words if word not in _FUNCTION_WORDS and word not in _COMMON_PARTS]
        if rare and f" {' '.join(words)} " not in reading.text and (len(words) > 1 or words[0] in reading.proper):
            yield title
