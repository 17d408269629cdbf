"""What a question asks for, judged by its words alone: a person, a place, a date, a number, a choice, a yes or no."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from sesa_env.players.spans import STOP_WORDS, content_words, names, quotes, stem, word_set, words

Answer = Literal["person", "place", "date", "year", "number", "noun", "thing", "name"]

_PLACES = word_set(
    "place city town country state county province region village nation capital continent location island district area river"
)
_PEOPLE = word_set(
    "person actor actress singer author writer director player president king queen composer artist man woman husband "
    "wife spouse father mother son daughter brother sister founder performer character"
)
_NOUNS = word_set(
    "occupation profession job genre sport religion nationality instrument position type kind species color colour"
)
_NOUN_KINDS: tuple[tuple[Answer, frozenset[str]], ...] = (
    ("year", frozenset({"year", "decade"})),
    ("date", frozenset({"date", "day", "month"})),
    ("number", frozenset({"number", "percentage", "population", "age"})),
    ("place", _PLACES),
    ("person", _PEOPLE),
    ("noun", _NOUNS),
)
_AUXILIARIES = word_set("is are was were do does did has have had can could will would should")
_POLAR = re.compile(r"(?:^\W*|^[^?]{1,120}[,:]\s+)(?:is|are|was|were|do|does|did|has|have|had)\s", re.IGNORECASE)
_CHOICE = re.compile(r",\s*([^,?]{1,80}(?:,[^,?]{1,40})?)\s*,?\s+or\s+([^?]{1,80}?)\s*\??\s*$")
_OF_BOTH = re.compile(r"\b[Oo]f ([^,?]{1,80}?) and ([^,?]{1,80}?), which\b")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for.

    Attributes:
        kind: the kind of answer that its question word prefers.
        noun: the stem of the noun that the question word stands with ("which city": "city"), "" if none.
        options: the two things to choose from or to compare, () for other questions.
        polar: True when the answer is yes or no.
    """

    kind: Answer
    noun: str = ""
    options: tuple[str, ...] = ()
    polar: bool = False


@lru_cache(maxsize=16_384)
def asked(question: str) -> Asked:
    """Says what a question asks for.

    Args:
        question: any text, a fragment such as "spouse of Ada" too: then any name is preferred.

    Returns:
        The judgement; kind "name" where no question word is found.
    """
    question = question[:2000]
    lower = [word.text.lower() for word in words(question)]
    if _POLAR.search(question):
        return Asked("thing", "", _both(question), polar=True)
    kind, noun = _kind(lower)
    return Asked(kind, noun, _choice(question))


def _kind(lower: list[str]) -> tuple[Answer, str]:
    for index, word in enumerate(lower):
        rest = lower[index + 1 : index + 4]
        if word == "how":
            return ("number", stem(rest[1]) if len(rest) > 1 else "") if rest[:1] in (["many"], ["much"]) else ("number", "")
        if word == "when":
            return "date", ""
        if word == "where":
            return "place", ""
        if word in ("who", "whom", "whose", "who's"):
            return "person", ""
        if word in ("what", "which", "what's"):
            return _by_noun(lower[index + 1 :])
    return "name", ""


def _by_noun(rest: list[str]) -> tuple[Answer, str]:
    """Judges "what year", "which city", "what is Ada's occupation": the first noun that says something decides."""
    loose = bool(rest) and (rest[0] in _AUXILIARIES or rest[0] == "the")
    for word in rest[: 20 if loose else 6]:
        plain = word.removesuffix("'s").removesuffix("s") if word != "species" else word
        kind = next((kind for kind, nouns in _NOUN_KINDS if plain in nouns or word in nouns), None)
        if kind:
            return kind, plain
        if not loose and word not in STOP_WORDS and word.isalpha():
            return "thing", plain
    return "thing", ""


def _choice(question: str) -> tuple[str, ...]:
    """Finds the two options of "Who was born first, X or Y?" and of "Of X and Y, which was first?"."""
    found = _CHOICE.search(question[-300:]) or _OF_BOTH.search(question[:400])
    return (found.group(1).strip(' "\u201c\u201d'), found.group(2).strip(' "\u201c\u201d?')) if found else ()


def _both(question: str) -> tuple[str, ...]:
    """Finds the two things of "Were X and Y born in the same city?": the last two names."""
    quoted = quotes(question)
    runs = [run for run in names(question) if not any(title.start <= run.start < title.end for title in quoted)]
    found = sorted((span for span in [*quoted, *runs] if span.start > 0), key=lambda span: span.start)
    return (found[-2].text, found[-1].text) if len(found) >= 2 else ()


def sought(question: str, query: str) -> list[str]:
    """Returns the stems of the content words of question and query, each once, in order: what an answer should stand near."""
    return list(dict.fromkeys(stem(word) for word in [*content_words(query), *content_words(question)]))
