"""What a Skill Card looks like as text, how it gets its id, and by which key it knows the questions that it came from."""

import hashlib
import json
from dataclasses import asdict
from functools import lru_cache

from sesa_env.grading import normalise
from sesa_env.memory.base import CardDraft, Provenance, SkillCard


@lru_cache(maxsize=65536)
def question_key(text: str) -> str:
    """Returns a question's key, a digest of its normalised text: case, punctuation and articles make no difference."""
    return _digest(normalise(text) or text.strip())


def card_text(card: SkillCard | CardDraft) -> str:
    """Returns the text of a card that is embedded: when to use it, and its query templates.

    The templates take part so that two cards with one trigger and different advice are not duplicates of each other: a card
    that corrects another must be able to enter the bank. Description and avoidance cue stay out, since what cards of one kind
    have in common there blurs which question they are for; the counters too, so a card's record never moves it.
    """
    return "\n".join((card.trigger, *card.queries))


def make_card(draft: CardDraft, provenance: Provenance, *, permanent: bool = False) -> SkillCard:
    """Makes a card of a draft. Its id is a digest of content and provenance: equal in equal runs."""
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


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
