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

    Without the emptying, a Challenger that poses nothing valid would have the Solver train on its oldest questions for ever
    (paper, section 3: periodic reset 48.7, full reuse 44.4).

    Args:
        reset_every: steps from one emptying to the next; 0 never empties.
    """

    def __init__(self, reset_every: int = 10) -> None:
        self.reset_every = reset_every
        self.items: list[Posed] = []

    def __len__(self) -> int:
        return len(self.items)

    def begin(self, step: int) -> None:
        """Empties the pool if it is time, at the beginning of a step."""
        if self.reset_every and step % self.reset_every == 0:
            self.items = []

    def add(self, posed: Sequence[Posed]) -> None:
        """Adds a step's valid questions."""
        self.items += posed

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

    def state_dict(self) -> list[dict[str, Any]]:
        """Returns the pool's content as JSON."""
        return [asdict(item) for item in self.items]

    def load_state_dict(self, state: Sequence[dict[str, Any]]) -> None:
        """Takes over what `state_dict` returned."""
        self.items = [build(Posed, item, "replay pool") for item in state]
