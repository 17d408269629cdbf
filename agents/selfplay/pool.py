"""The replay pool: earlier valid questions, which stand in where the Challenger posed none (paper, section 3)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sesa_env.plain import build
from sesa_env.types import Passage, Question


@dataclass(frozen=True, slots=True)
class Posed:
    """A valid question with the passages behind it, as the game found them."""

    question: Question
    evidence: tuple[Passage, ...] = ()


class ReplayPool:
    """Earlier valid questions, emptied every so many steps. Plain data: a checkpoint holds it as JSON.

    It is emptied when the first new question comes after that time, not before: until then the older ones stand in, so that a
    step without a valid question is as large as any other. What is added before the first step (the bootstrap phase's
    questions) is let go in the same way.

    Without the emptying, a Challenger that poses nothing valid would have the Solver train on its oldest questions for ever
    (paper, section 3: periodic reset 48.7, full reuse 44.4).

    Args:
        reset_every: steps from one emptying to the next; 0 never empties.
    """

    def __init__(self, reset_every: int = 10) -> None:
        self.reset_every = reset_every
        self.items: list[Posed] = []
        self.due = True

    def __len__(self) -> int:
        return len(self.items)

    def begin(self, step: int) -> None:
        """Notes at the beginning of a step whether it is time to empty the pool."""
        self.due = self.due or (self.reset_every > 0 and step % self.reset_every == 0)

    def make_room(self, fresh: int) -> None:
        """Empties the pool if it is time and the step has `fresh` new questions to begin it anew with."""
        if self.due and fresh:
            self.items, self.due = [], False

    def add(self, posed: Sequence[Posed]) -> None:
        """Adds a step's valid questions."""
        self.items = [*self.items, *posed]  # a new list: a copy of the pool stays what it was

    def fill(self, count: int, generator: np.random.Generator) -> list[Posed]:
        """Draws questions for `count` empty slots: different ones as far as they go, then any of them again.

        Returns:
            `count` questions; none where the pool is empty.
        """
        if not self.items:
            return []
        size = len(self.items)
        places = list(generator.permutation(size)[:count])
        places += list(generator.integers(size, size=count - len(places)))
        return [self.items[int(place)] for place in places]

    def state_dict(self) -> dict[str, Any]:
        """Returns the pool as JSON."""
        return {"items": [asdict(item) for item in self.items], "due": self.due}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes over what `state_dict` returned."""
        self.items = [build(Posed, item, "replay pool") for item in state["items"]]
        self.due = state["due"]
