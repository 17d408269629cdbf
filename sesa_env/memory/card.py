"""What a Skill Card looks like as text, as plain data, and by which key it knows the questions that it came from."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from sesa_env.errors import ConfigError
from sesa_env.grading import normalise
from sesa_env.memory.base import CardDraft, Provenance, SkillCard


@lru_cache(maxsize=65536)
def question_key(text: str) -> str:
    """Returns a question's key, a digest of its normalised text: case, punctuation and articles make no difference."""
    return _digest(normalise(text) or text.strip())


def card_text(card: SkillCard | CardDraft) -> str:
    """Returns the text of a card that is embedded: when to use it, what it is, and its query templates.

    The templates take part so that two cards with one trigger and different advice are not duplicates of each other: a card
    that corrects another must be able to enter the bank. The counters take no part, so they never move a card.
    """
    return "\n".join((card.trigger, card.description, *card.queries))


def make_card(draft: CardDraft, provenance: Provenance, *, permanent: bool = False) -> SkillCard:
    """Makes a card of a draft. Its id is a digest of content and provenance: no clock, no random number, equal in equal runs."""
    identity = json.dumps([asdict(draft), asdict(provenance)], sort_keys=True)
    return SkillCard(
        id=f"card-{_digest(identity)[:12]}",
        description=draft.description,
        trigger=draft.trigger,
        avoid=draft.avoid,
        queries=tuple(draft.queries),
        permanent=permanent,
        provenance=provenance,
    )


def draft_of(card: SkillCard) -> CardDraft:
    """Returns a card's content alone."""
    return CardDraft(card.description, card.trigger, card.avoid, card.queries)


def card_from_dict(data: Mapping[str, Any]) -> SkillCard:
    """Rebuilds a card from the plain data of `dataclasses.asdict`.

    Args:
        data: the card's fields; those with a default may be missing.

    Returns:
        The card.

    Raises:
        ConfigError: a field is missing, unknown or of the wrong type; the message names it.
    """
    fields = dict(data)
    origin = fields.pop("provenance", {})
    if not isinstance(origin, Mapping):
        raise ConfigError(f"a card's 'provenance' must be an object; got {origin!r}")
    origin = dict(origin)
    _check(fields, _CARD_TYPES, required=("id", "description", "trigger", "avoid", "queries"))
    _check(origin, _PROVENANCE_TYPES, required=())
    fields["queries"] = _strings(fields["queries"], "queries")
    origin["question_keys"] = _strings(origin.get("question_keys", ()), "question_keys")
    return SkillCard(**fields, provenance=Provenance(**origin))


_CARD_TYPES: dict[str, tuple[type, ...]] = {
    "id": (str,),
    "description": (str,),
    "trigger": (str,),
    "avoid": (str,),
    "queries": (list, tuple),
    "permanent": (bool,),
    "retrieved": (int,),
    "helpful": (int, float),
    "hurt": (int, float),
}
_PROVENANCE_TYPES: dict[str, tuple[type, ...]] = {
    "origin": (str,),
    "question_keys": (list, tuple),
    "failure": (str,),
    "step": (int,),
    "run": (str,),
    "teacher": (str,),
}


def _check(fields: Mapping[str, Any], types: Mapping[str, tuple[type, ...]], required: tuple[str, ...]) -> None:
    missing = [name for name in required if name not in fields]
    unknown = sorted(set(fields) - set(types))
    if missing or unknown:
        raise ConfigError(f"a card needs the fields {', '.join(required)}; missing: {missing}, unknown: {unknown}")
    for name, value in fields.items():
        wrong_bool = isinstance(value, bool) and bool not in types[name]
        if wrong_bool or not isinstance(value, types[name]):
            raise ConfigError(f"a card's {name!r} must be {' or '.join(t.__name__ for t in types[name])}; got {value!r}")


def _strings(values: Any, name: str) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values):
        raise ConfigError(f"a card's {name!r} must hold strings; got {values!r}")
    return tuple(values)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
