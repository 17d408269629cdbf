"""What a player is: anything with `act(view) -> str`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sesa_env.memory.base import CardHit
from sesa_env.types import Role, SearchCall


@dataclass(frozen=True, slots=True)
class View:
    """All that one seat may see when it is its turn. Text for language models, the same facts as data for scripted players.

    Attributes:
        role: whose view this is.
        prompt: the task as text: rules, Skill Cards (Solver, On mode), question or target.
        turns: the seat's own turns so far: (what it wrote, what it was shown), in order.
        question: the question's text (Solver; "" for the Challenger).
        target: the target answer (Challenger; "" for the Solver).
        hops: the hop count asked for (Challenger; 0 for the Solver).
        cards: the Skill Cards shown (Solver in On mode; () otherwise).
        searches: the searches made so far with what they brought.
        turns_left: how many turns remain, this one included; at least 1.
        searches_left: how many searches remain; at 0 the seat must answer or pose now.
    """

    role: Role
    prompt: str
    turns: tuple[tuple[str, str], ...]
    question: str
    target: str
    hops: int
    cards: tuple[CardHit, ...]
    searches: tuple[SearchCall, ...]
    turns_left: int
    searches_left: int


@runtime_checkable
class Player(Protocol):
    """A player of either seat. It is a function of the view alone, so batches and replays do not change what it does."""

    def act(self, view: View) -> str:
        """Writes the next turn: optionally <think>...</think>, then one <search>, <question> or <answer> action."""
        ...


@runtime_checkable
class BatchPlayer(Player, Protocol):
    """A player that can answer many views at once, as language models do."""

    def act_batch(self, views: Sequence[View]) -> list[str]:
        """Writes the next turn for each view."""
        ...
