"""What a card is worth: credit for the episodes that were shown it, its term in the ranking, who is evicted (section 4)."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sesa_env.memory.base import SkillCard
from sesa_env.memory.config import MemoryConfig
from sesa_env.types import Attempt, Group


@dataclass(slots=True)
class Counters:
    """A card's record in one run: retrieved, helpful and hurt, as in `SkillCard`."""

    retrieved: int = 0
    helpful: float = 0.0
    hurt: float = 0.0


def utility(card: SkillCard) -> float:
    """Returns helpful - hurt, by which cards are evicted."""
    return card.helpful - card.hurt


def utility_terms(cards: Sequence[SkillCard]) -> NDArray[np.float32]:
    """Returns (helpful - hurt) / (helpful + hurt + 1) of each card, in (-1, 1): 0 for a card without a record."""
    terms = [utility(card) / (card.helpful + card.hurt + 1.0) for card in cards]
    return np.array(terms, np.float32)


def credit(groups: Iterable[Group], known: Collection[str], mode: str) -> dict[str, Counters]:
    """Adds up what one step's episodes say about the cards they were shown.

    A card is retrieved once for a question, whose episodes share it: each group that was shown it counts one. A right episode
    adds to helpful, a substantive wrong one to hurt; a malformed one, or one with a search that failed, to neither. Relative
    credit is what the episode did better (helpful) or worse (hurt) than those of its group that were shown no card; where
    there are none, nothing can be said.

    Args:
        groups: the step's groups.
        known: ids of the cards in the bank; others (evicted since) are passed over.
        mode: "uniform", "similarity" or "relative", see `MemoryConfig.credit`.

    Returns:
        What to add to each card's counters, by id.
    """
    earned: dict[str, Counters] = {}
    for group in groups:
        for card_id in dict.fromkeys(card_id for attempt in group.attempts for card_id, _ in attempt.cards):
            if card_id in known:
                earned.setdefault(card_id, Counters()).retrieved += 1
        base = _base_rate(group) if mode == "relative" else None
        if mode == "relative" and base is None:
            continue
        for attempt in filter(says_something, group.attempts):
            for (card_id, _), share in zip(attempt.cards, _shares(attempt, mode), strict=True):
                if card_id in known:
                    _credit(earned[card_id], share * _worth(attempt, base))
    return earned


def says_something(attempt: Attempt) -> bool:
    """Says whether an attempt tells of the cards and of the player: well-formed, with no search that could not be made."""
    return not attempt.malformed and attempt.failed_searches == 0


def evictions(cards: Iterable[SkillCard], config: MemoryConfig, fresh: Collection[str] = ()) -> list[str]:
    """Chooses the cards to evict: those whose utility is negative after enough retrievals, then the lowest above the cap.

    Args:
        cards: the bank's cards, oldest first.
        config: `evict_after` and `cap`.
        fresh: ids of cards added in this transaction. They have had no chance yet, so for the cap they go last; otherwise a
            bank full of proven cards could never learn anything again.

    Returns:
        Ids, in the order of eviction. Among equal utilities the oldest goes. Permanent cards never go.
    """
    everyone = list(cards)
    mortal = [(place, card) for place, card in enumerate(everyone) if not card.permanent]
    failed = [card.id for _, card in mortal if has_failed(card, config)]
    excess = len(everyone) - len(failed) - config.cap
    rest = sorted((card.id in fresh, utility(card), place, card.id) for place, card in mortal if card.id not in set(failed))
    return failed + [card_id for *_, card_id in rest[: max(excess, 0)]]


def has_failed(card: SkillCard, config: MemoryConfig) -> bool:
    """Says whether a card's own record condemns it: a negative utility after enough retrievals."""
    least = math.inf if config.evict_after is None else config.evict_after
    return card.retrieved >= least and utility(card) < 0


def _shares(attempt: Attempt, mode: str) -> list[float]:
    similarities = [max(similarity, 0.0) for _, similarity in attempt.cards]
    total = sum(similarities)
    if mode != "similarity" or total <= 0.0:
        return [1.0] * len(similarities)
    return [similarity * len(similarities) / total for similarity in similarities]


def _base_rate(group: Group) -> float | None:
    """The solve rate of the episodes that were shown no card; None where there are none."""
    bare = [attempt.correct for attempt in filter(says_something, group.attempts) if not attempt.cards]
    return sum(bare) / len(bare) if bare else None


def _worth(attempt: Attempt, base: float | None) -> float:
    """What an episode says for its cards: 1 or -1, or what it did better or worse than the base rate."""
    return (1.0 if attempt.correct else -1.0) if base is None else float(attempt.correct) - base


def _credit(counters: Counters, worth: float) -> None:
    counters.helpful += max(worth, 0.0)
    counters.hurt += max(-worth, 0.0)
