"""Who enters the bank: form and secrets first (`door`), then likeness: to cards, to tombstones, within one pass (section 4)."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sesa_env.memory.base import Failure, SkillCard
from sesa_env.memory.card import card_text
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.door import refuse
from sesa_env.memory.embed import Embedder, Vectors
from sesa_env.memory.vectors import Rows
from sesa_env.types import Passage, Question


@dataclass(frozen=True, slots=True)
class Candidate:
    """A card at the door.

    Attributes:
        card: the card.
        question: the question that it was distilled from; None for a card that comes from no question.
        passages: what was read about the question: its evidence, and what the attempt found.
        failure: the failure that it was distilled from; None if none.
    """

    card: SkillCard
    question: Question | None = None
    passages: tuple[Passage, ...] = ()
    failure: Failure | None = None

    @classmethod
    def of(cls, card: SkillCard, failure: Failure) -> "Candidate":
        """Makes a candidate of a card that was distilled from a failure."""
        found = (passage for call in failure.attempt.searches for passage in call.passages)
        return cls(card, failure.question, (*failure.evidence, *found), failure)


def admit(
    candidates: Sequence[Candidate],
    known: Collection[str],
    cards: Rows,
    tombstones: Rows,
    embedder: Embedder,
    config: MemoryConfig,
) -> tuple[list[tuple[SkillCard, Vectors]], dict[str, int]]:
    """Chooses the candidates that enter. Those that pass the door are embedded once each, in one batch; nothing else is.

    Args:
        candidates: in order of preference: of two that are alike the first enters.
        known: ids of the bank's cards.
        cards: their embeddings.
        tombstones: embeddings of the evicted cards that still refuse their like.
        embedder: embeds the candidates.
        config: limits and `duplicate_cosine`.

    Returns:
        The cards that enter with their embeddings, and the number of refusals by reason.
    """
    reasons = [refuse(candidate.card, candidate.question, config, candidate.passages) for candidate in candidates]
    clean = [candidate.card for candidate, reason in zip(candidates, reasons, strict=True) if reason is None]
    rejected = Counter(reason for reason in reasons if reason is not None)
    vectors = embedder.embed_cards([card_text(card) for card in clean])
    accepted: list[tuple[SkillCard, Vectors]] = []
    entered, ids = Rows(embedder.dimension), set(known)
    for card, vector in zip(clean, vectors, strict=True):
        if card.id in ids or max(cards.nearest(vector), entered.nearest(vector)) >= config.duplicate_cosine:
            rejected["duplicate"] += 1
        elif tombstones.nearest(vector) >= config.duplicate_cosine:
            rejected["tombstone"] += 1
        else:
            accepted.append((card, vector))
            entered.append(vector[None])
            ids.add(card.id)
    return accepted, dict(sorted(rejected.items()))
