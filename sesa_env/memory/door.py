"""The door of the bank: no card enters that is misshapen, or that holds the answer or a name of its question."""

import math
import re
import unicodedata
from collections.abc import Sequence

from sesa_env.memory.base import CardDraft, SkillCard
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.leaks import secrets_of
from sesa_env.types import Passage, Question

_SLOT = re.compile(r"\{(\w*)\}")
_TAG = re.compile(r"</?\s*(?:think|search|information|question|answer|skills)\b", re.IGNORECASE)
_ID_CHARS = 100
_MAX_COUNT = 2**53


def refuse(
    draft: CardDraft | SkillCard, question: Question | None, config: MemoryConfig, passages: Sequence[Passage] = ()
) -> str | None:
    """Looks at a candidate for the bank.

    Args:
        draft: the candidate.
        question: the question that it was distilled from; None for a card that comes from no question.
        config: the limits.
        passages: what was read about the question, which tells names from words where the question does not (`leaks`).

    Returns:
        None when it may enter; otherwise the reason: "format", "answer" or "entity".
    """
    if misshapen(draft, config):
        return "format"
    if question is None:
        return None
    secrets = secrets_of(question, passages)
    told = {secrets.told_by(text) for text in _texts(draft)}
    return next((reason for reason in ("answer", "entity") if reason in told), None)


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
