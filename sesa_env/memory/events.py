"""What happened to the cards of a bank, for whoever asks later where one came from, what it did, and why it is gone.

The bank itself never reads these events: they are a log beside its content, and banks that were written without it stay valid.
"""

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sesa_env.memory.base import Failure, SkillCard
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.record import failure_to_json
from sesa_env.memory.utility import has_failed, says_something
from sesa_env.types import Group

Kind = Literal["shown", "failure", "died"]
HARMFUL, CROWDED = "harmful", "crowded"
"""Why a card was evicted: its own record, or a bank above its cap."""


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the log.

    Attributes:
        step: the training step.
        kind: "shown" (which cards a step's questions were shown, and what came of it), "failure" (one that gave a card), or
            "died" (an evicted card).
        record: JSON values, see the functions that make events.
    """

    step: int
    kind: Kind
    record: Mapping[str, Any]


def shown(step: int, groups: Iterable[Group]) -> list[Event]:
    """Notes which cards were shown to a step's questions: the question, the cards, how many attempts were right and wrong.

    Attempts that were shown nothing, were malformed, or had a search that failed count for neither.
    """
    found = [_shown(group) for group in groups if any(attempt.cards for attempt in group.attempts)]
    return [Event(step, "shown", {"questions": found})] if found else []


def _shown(group: Group) -> dict[str, Any]:
    seen = [attempt for attempt in group.attempts if attempt.cards]
    counted = [attempt.correct for attempt in seen if says_something(attempt)]
    cards = dict(pair for attempt in seen for pair in attempt.cards)
    return {"text": group.question.text, "cards": cards, "right": sum(counted), "wrong": len(counted) - sum(counted)}


def failures(step: int, origins: Iterable[Failure | None]) -> list[Event]:
    """Notes the failures that new cards came from, each once: they leave the queue, and a card knows only their ids."""
    distinct = {failure.id: failure for failure in origins if failure is not None}
    return [Event(step, "failure", json.loads(failure_to_json(failure))) for failure in distinct.values()]


def died(step: int, cards: Sequence[SkillCard], config: MemoryConfig) -> list[Event]:
    """Notes evicted cards as they last were, with their counters, and why each had to go."""
    return [
        Event(step, "died", {"card": asdict(card), "reason": HARMFUL if has_failed(card, config) else CROWDED})
        for card in cards
    ]


def packed(event: Event) -> bytes:
    """Writes an event's record for the file, compressed: most of a log is the same few words."""
    return zlib.compress(json.dumps(event.record, sort_keys=True).encode(), 6)


def unpacked(step: int, kind: Kind, record: bytes) -> Event:
    """Reads what `packed` wrote."""
    return Event(step, kind, json.loads(zlib.decompress(record)))
