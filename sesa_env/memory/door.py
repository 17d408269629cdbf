"""The door of the bank: no card enters that is misshapen, or that holds the answer or a name of its question."""

import math
import re
import unicodedata
from collections.abc import Iterable

from sesa_env.grading import contains_answer
from sesa_env.memory.base import CardDraft, SkillCard
from sesa_env.memory.config import MemoryConfig
from sesa_env.types import Question

_SLOT = re.compile(r"\{(\w*)\}")
_TAG = re.compile(r"</?\s*(?:think|search|information|question|answer|skills)\b", re.IGNORECASE)
_ID_CHARS = 100
_MAX_COUNT = 2**53
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"[\w'’.-]+|[^\w\s]")  # noqa: RUF001 - both apostrophes occur in real names

# Lower-case words that stand inside names: "Best in Show", "Ludwig van Beethoven".
_JOINER_LIST = "a an and at de del der di du for from in la le of on the to van von with"
_JOINERS = frozenset(_JOINER_LIST.split())
# Capitalised words that begin sentences or titles and are no name by themselves.
_FUNCTION_LIST = """
are as both by can could did do does had has have her his how i if is it its name no or out she he that their there they this
was were what when where which who whom whose why will would yes under you your
"""
_FUNCTION_WORDS = _JOINERS | frozenset(_FUNCTION_LIST.split())


def refuse(draft: CardDraft | SkillCard, question: Question | None, config: MemoryConfig) -> str | None:
    """Looks at a candidate for the bank.

    Args:
        draft: the candidate.
        question: the question that it was distilled from; None for a card that comes from no question.
        config: the limits.

    Returns:
        None when it may enter; otherwise the reason: "format", "answer" or "entity".
    """
    if misshapen(draft, config):
        return "format"
    if question is None:
        return None
    texts = _texts(draft)
    if any(_holds_name(text, question.answers) or contains_answer(text, question.answers) for text in texts):
        return "answer"
    names = (*question.entities, *names_in(question.text))
    if any(_holds_name(text, names) or _holds_part(text, names) for text in texts):
        return "entity"
    return None


def misshapen(draft: CardDraft | SkillCard, config: MemoryConfig) -> str:
    """Says what is wrong with a candidate's form, for a person to read; "" when nothing is."""
    for name in ("description", "trigger", "avoid"):
        if fault := _field_fault(getattr(draft, name), config.max_chars):
            return f"{name} {fault}"
    if not isinstance(draft.queries, tuple | list) or not 1 <= len(draft.queries) <= config.max_queries:
        return f"queries must be 1 to {config.max_queries} templates"
    for query in draft.queries:
        if fault := _field_fault(query, config.max_query_chars) or _slot_fault(query, config.slots):
            return f"query {fault}"
    return ""


def unfit(card: SkillCard) -> str:
    """Says what is wrong with the id or the counters of a card that a person or a file brings; "" when nothing is."""
    if fault := _field_fault(card.id, _ID_CHARS):
        return f"its id {fault}"
    numbers = (card.retrieved, card.helpful, card.hurt)
    if not all(math.isfinite(number) and 0 <= number <= _MAX_COUNT for number in numbers):
        return f"retrieved, helpful and hurt must be from 0 to {_MAX_COUNT}; got {numbers}"
    return ""


def names_in(text: str) -> list[str]:
    """Finds the capitalised names in a question, in order: "Who directed Best in Show?" gives ["Best in Show"].

    A lower-case question shows no names: there only `Question.entities` and the answers protect.
    """
    names: list[str] = []
    run: list[str] = []
    for token in _TOKEN.findall(text):
        begins = token[0].isupper() and token.lower() not in _FUNCTION_WORDS
        if begins or (run and (token[0].isupper() or token.lower() in _JOINERS)):
            run.append(token)
        else:
            names.append(_trim(run))
            run = []
    names.append(_trim(run))
    return [name for name in names if name]


def _trim(run: list[str]) -> str:
    while run and run[-1].lower() in _JOINERS:
        run = run[:-1]
    return re.sub(r"(?:['’]s?|\.)$", "", " ".join(run))  # noqa: RUF001 - both apostrophes occur in real names


def _field_fault(text: object, limit: int) -> str:
    if not isinstance(text, str) or not text.strip():
        return "must be a string that is not blank"
    if len(text) > limit:
        return f"must have at most {limit} characters; it has {len(text)}"
    if any(unicodedata.category(char) in {"Cc", "Cs"} and char not in "\n\t" for char in text):
        return "must not hold control characters or lone surrogates"
    return "must not hold a tag of the game" if _TAG.search(text) else ""


def _slot_fault(query: str, slots: tuple[str, ...]) -> str:
    unknown = sorted(set(_SLOT.findall(query)) - set(slots))
    rest = _SLOT.sub("", query)
    if unknown or "{" in rest or "}" in rest:
        return f"may hold only the slots {', '.join('{' + slot + '}' for slot in slots)}; got {query!r}"
    return ""


def _texts(draft: CardDraft | SkillCard) -> list[str]:
    return [_SLOT.sub(" ", text) for text in (draft.description, draft.trigger, draft.avoid, *draft.queries)]


def _holds_name(text: str, names: Iterable[str]) -> bool:
    words = f" {' '.join(_fold(text))} "
    return any(f" {' '.join(folded)} " in words for name in names if (folded := _fold(name)))


def _holds_part(text: str, names: Iterable[str]) -> bool:
    """Says whether a word of a name stands in it with its capital: "Darr" of "Adam Darr", but not "show" of "Best in Show"."""
    parts = {word for name in names for word in _WORD.findall(name) if len(word) > 1 and word.lower() not in _FUNCTION_WORDS}
    capitalised = {part for part in parts if part[:1].isupper()}
    return any(_WORD.findall(text).count(part) > 0 for part in sorted(capitalised))


def _fold(text: str) -> list[str]:
    """Splits a text into words without case and accents, so that "Vermeer's" holds "Vermeer" and "Gabor" is "Gábor"."""
    decomposed = unicodedata.normalize("NFKD", text)
    return _WORD.findall("".join(char for char in decomposed if not unicodedata.combining(char)).casefold())
