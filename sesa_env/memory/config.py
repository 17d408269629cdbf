"""The memory's settings: every number of the paper's section 4, with the paper's value as its default."""

from dataclasses import dataclass

from sesa_env.errors import ConfigError

CREDITS = ("uniform", "similarity")


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
    """"uniform": each card shown earns 1 (the paper). "similarity": in proportion to its cosine, 1 on average."""

    cap: int = 800
    """Cards in the bank, at most; above it those of the lowest utility (helpful - hurt) go. Permanent cards never go."""
    evict_after: int | None = 3
    """Retrievals before a negative utility evicts a card. None: never, as befits a player that reads no cards."""
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
            ConfigError: a value is out of its range.
        """
        for name in ("top_k", "cap", "queue_size", "consolidate_every", "consolidate_min", "consolidate_max", "max_queries"):
            _require(getattr(self, name) >= 1, name, "at least 1", getattr(self, name))
        _require(self.credit in CREDITS, "credit", f"one of {CREDITS}", self.credit)
        _require(self.duplicate_cosine > 0.0, "duplicate_cosine", "above 0", self.duplicate_cosine)
        _require(self.solve_rate_low < self.solve_rate_high, "solve_rate_low", "below solve_rate_high", self.solve_rate_low)
        for name in ("evict_after", "tombstone_steps"):
            value = getattr(self, name)
            _require(value is None or value >= 0, name, "None or at least 0", value)


def _require(holds: bool, name: str, expected: str, value: object) -> None:
    if not holds:
        raise ConfigError(f"MemoryConfig.{name} must be {expected}; got {value!r}")
