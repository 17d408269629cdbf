"""The memory's settings: every number of the paper's section 4, with the paper's value as its default."""

import math
from dataclasses import dataclass

from sesa_env.errors import ConfigError

CREDITS = ("uniform", "similarity", "relative")


@dataclass(frozen=True)
class MemoryConfig:
    """Settings of a `SkillBank`. They are not stored in the bank: an ablation opens the same file under other settings."""

    top_k: int = 3
    """Cards retrieved for a question, at most."""
    similarity_floor: float | None = None
    """The least cosine at which a card is shown; else the memory abstains. None: the embedder's `floor`; -1: always shows."""
    utility_weight: float = 0.0
    """Weight w of a card's record: ranked by cosine + w * (helpful - hurt) / (helpful + hurt + 1). 0 ranks by cosine alone."""
    credit: str = "uniform"
    """"uniform": each card shown earns 1 (the paper). "similarity": in proportion to its cosine, 1 on average. "relative": what
    the episode did better than those of its group that were shown no card (card dropout); so a Solver that is mostly wrong does
    not condemn the cards that help it."""

    cap: int = 800
    """Cards in the bank, at most; above it those of the lowest utility (helpful - hurt) go. Permanent cards never go."""
    evict_after: int | None = 3
    """Retrievals before a negative utility evicts a card: questions, not episodes. None: never, if no player reads cards."""
    duplicate_cosine: float = 0.93
    """A candidate this near to a card, a tombstone or an accepted candidate is refused. Above 1 only identical cards are."""
    tombstone_steps: int | None = None
    """Steps for which the tombstone of an evicted card refuses its like. None: for ever; 0: not at all."""

    queue_size: int = 300
    """Failures waiting for a teacher, at most; above it the least informative go."""
    solve_rate_low: float = 0.0
    """The least solve rate of a group that counts as frontier. The paper does not say whether 0 does; here it does."""
    solve_rate_high: float = 1.0
    """Groups with p below this count as frontier; exclusive."""
    repeated_priority: int = 5
    """Priority of a failure whose question had failed before."""
    despite_cards_priority: int = 10
    """Priority of a failure that happened in spite of retrieved cards."""
    much_evidence_priority: int = 3
    """Priority of a failure with much evidence."""
    much_evidence: int = 6
    """Distinct passages found from which on evidence counts as much (two full searches of three). The paper gives no number."""

    consolidate_every: int = 10
    """Steps from one consolidation to the next, at least; the first is due at this step."""
    consolidate_min: int = 20
    """Failures that must be pending before a consolidation."""
    consolidate_max: int = 30
    """Failures handed to the teacher in one consolidation, at most."""

    max_chars: int = 400
    """Characters in a card's description, trigger and avoidance cue, at most each."""
    max_queries: int = 5
    """Query templates on a card, at most."""
    max_query_chars: int = 200
    """Characters in a query template, at most."""
    slots: tuple[str, ...] = ("entity", "bridge")
    """Slots that a query template may hold in braces."""

    def __post_init__(self) -> None:
        """Refuses values that mean nothing.

        Raises:
            ConfigError: a value is of another type, not finite, or out of its range.
        """
        for name in _FROM_ONE:
            _require(_is_count(getattr(self, name), 1), name, "a whole number of at least 1", getattr(self, name))
        for name in _FROM_ZERO:
            _require(_is_count(getattr(self, name), 0), name, "a whole number of at least 0", getattr(self, name))
        for name in _OPTIONAL:
            value = getattr(self, name)
            _require(value is None or _is_count(value, 0), name, "None or a whole number of at least 0", value)
        self._check_numbers()
        _require(self.credit in CREDITS, "credit", f"one of {CREDITS}", self.credit)
        _require(_are_slots(self.slots), "slots", 'a tuple of words, such as ("entity", "bridge")', self.slots)

    def _check_numbers(self) -> None:
        floor, weight, low, high = self.similarity_floor, self.utility_weight, self.solve_rate_low, self.solve_rate_high
        _require(floor is None or _is_number(floor, -1.0, 1.0), "similarity_floor", "None or a number from -1 to 1", floor)
        _require(_is_number(weight, 0.0), "utility_weight", "a finite number of at least 0", weight)
        cosine = self.duplicate_cosine
        _require(_is_number(cosine, 0.0) and cosine > 0.0, "duplicate_cosine", "a finite number above 0", cosine)
        _require(_is_number(low, 0.0, 1.0), "solve_rate_low", "a number from 0 to 1", low)
        _require(_is_number(high, 0.0), "solve_rate_high", "a finite number of at least 0", high)
        _require(low < high, "solve_rate_low", f"below solve_rate_high, {high}", low)


_FROM_ONE = (
    "top_k",
    "cap",
    "queue_size",
    "consolidate_every",
    "consolidate_min",
    "consolidate_max",
    "max_chars",
    "max_queries",
    "max_query_chars",
)
_FROM_ZERO = ("repeated_priority", "despite_cards_priority", "much_evidence_priority", "much_evidence")
_OPTIONAL = ("evict_after", "tombstone_steps")


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_number(value: object, least: float, most: float = math.inf) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value) and least <= value <= most


def _are_slots(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(slot, str) and slot.isidentifier() for slot in value)


def _require(holds: bool, name: str, expected: str, value: object) -> None:
    if not holds:
        raise ConfigError(f"MemoryConfig.{name} must be {expected}; got {value!r}")
