"""What one transaction writes: worked out before, so that the file and the bank in memory do the same."""

from dataclasses import dataclass, field

from sesa_env.memory.base import Failure, SkillCard
from sesa_env.memory.embed import Vectors
from sesa_env.memory.events import Event
from sesa_env.memory.utility import Counters


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What stays of an evicted card: enough to refuse its like.

    Attributes:
        card: the card's id.
        text: its `card_text`.
        step: the step of its eviction.
        vector: its embedding, shape (d,).
        run: the run that evicted it.
    """

    card: str
    text: str
    step: int
    vector: Vectors = field(compare=False)
    run: str = ""


@dataclass(slots=True)
class Change:
    """All that one transaction writes: plain data, worked out before, so that the store and the bank in memory do the same.

    Attributes:
        done: (kind, step, report as JSON) of the step boundary; None for a change that belongs to no step.
        added: new cards with their embeddings.
        edited: cards that keep their id and place but not their content, with their embeddings.
        counters: new values by card id, for the present run.
        evicted: tombstones of the cards that go.
        queue: the pending failures afterwards, oldest first; None leaves them alone.
        failed: how often a question has failed, new values by question key.
        events: what is noted beside the content.
    """

    done: tuple[str, int, str] | None = None
    added: list[tuple[SkillCard, Vectors]] = field(default_factory=list)
    edited: list[tuple[SkillCard, Vectors]] = field(default_factory=list)
    counters: dict[str, Counters] = field(default_factory=dict)
    evicted: list[Tombstone] = field(default_factory=list)
    queue: list[Failure] | None = None
    failed: dict[str, int] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
