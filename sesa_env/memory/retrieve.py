"""The frozen snapshot that a batch reads from: at most k cards for a question, by cosine (paper, section 4)."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sesa_env.errors import ConfigError
from sesa_env.memory.base import CardHit, SkillCard
from sesa_env.memory.card import question_key
from sesa_env.memory.embed import Embedder, Vectors
from sesa_env.memory.utility import utility_terms

# Cosines are rounded so far: what differs only in the last bits of float32 (another BLAS, another thread count) ranks alike.
_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class BankSnapshot:
    """An immutable view of a bank: later commits never change it, and it can be pickled and sent to another process.

    Attributes:
        cards: the cards, in the bank's order, which also breaks ties.
        vectors: their embeddings, float32, shape (len(cards), d), read-only.
        embedder: embeds the questions.
        top_k: cards for a question, at most.
        floor: the least cosine at which a card is shown.
        utility_weight: weight of (helpful - hurt) / (helpful + hurt + 1) in the ranking; 0 ranks by cosine alone. The floor
            looks at the cosine alone.
        fingerprint: a digest of all of these.
    """

    cards: tuple[SkillCard, ...]
    vectors: Vectors
    embedder: Embedder
    top_k: int
    floor: float
    utility_weight: float
    fingerprint: str = field(init=False, default="")
    _own: dict[str, list[int]] = field(init=False, repr=False, default_factory=dict)
    _bonus: NDArray[np.float32] | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        """Freezes the vectors and prepares what every retrieval needs."""
        frozen = self.vectors.view()
        frozen.flags.writeable = False
        own: defaultdict[str, list[int]] = defaultdict(list)
        for place, card in enumerate(self.cards):
            for key in card.provenance.question_keys:
                own[key].append(place)
        bonus = utility_terms(self.cards) * np.float32(self.utility_weight) if self.utility_weight else None
        prepared = {"vectors": frozen, "_own": dict(own), "_bonus": bonus, "fingerprint": self._digest()}
        for name, value in prepared.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the inputs; the rest is worked out again on the other side."""
        return BankSnapshot, (self.cards, np.array(self.vectors), self.embedder, self.top_k, self.floor, self.utility_weight)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BankSnapshot) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return int(self.fingerprint[:15], 16)

    def retrieve(self, questions: Sequence[str]) -> list[list[CardHit]]:
        """Finds the cards to show for each question.

        Args:
            questions: question texts; they are embedded in one batch, repeated ones once.

        Returns:
            For each question at most `top_k` cards, best first, ties in the bank's order; never one that was distilled from
            this question, none below the floor: [] where the memory abstains.
        """
        if isinstance(questions, str):
            raise ConfigError(f"retrieve: expected a list of questions; got the string {questions!r}")
        distinct = list(dict.fromkeys(questions))
        if not self.cards or not distinct:
            return [[] for _ in questions]
        vectors = self.embedder.embed_queries(distinct)
        hits = {text: self.nearest(vector, question_key(text)) for text, vector in zip(distinct, vectors, strict=True)}
        return [list(hits[text]) for text in questions]

    def nearest(self, vector: Vectors, key: str = "") -> list[CardHit]:
        """Finds the cards for one question that is already embedded.

        One product for each question, also in a batch: a matrix product would round differently with the batch's size.

        Args:
            vector: the question's embedding, shape (d,).
            key: the question's `question_key`; cards distilled from it are left out.

        Returns:
            As `retrieve`.
        """
        cosines = np.round(self.vectors @ vector, _DECIMALS)
        if own := self._own.get(key):
            cosines[own] = -np.inf
        scores = cosines if self._bonus is None else cosines + self._bonus
        shown = np.flatnonzero(cosines >= self.floor)
        if len(shown) > self.top_k:
            worst = np.partition(scores[shown], -self.top_k)[-self.top_k]
            shown = shown[scores[shown] >= worst]
        best = shown[np.argsort(-scores[shown], kind="stable")][: self.top_k]
        return [CardHit(self.cards[place], round(float(cosines[place]), _DECIMALS)) for place in best]

    def _digest(self) -> str:
        # The repr of frozen plain data is exact and the same everywhere; it is ten times faster than JSON of `asdict`.
        content = repr((self.embedder.name, self.top_k, self.floor, self.utility_weight, self.cards))
        return hashlib.blake2b(content.encode("utf-8", "surrogatepass") + self.vectors.tobytes(), digest_size=16).hexdigest()
