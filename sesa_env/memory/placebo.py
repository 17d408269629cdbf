"""Placebo memories: as many cards as the real one shows, in the same place of the prompt, but of no use by their content.

What a memory gains over its placebo is the content of the fitting card; what the placebo gains over no memory is the prompt.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sesa_env.errors import ConfigError
from sesa_env.memory.base import CardHit, MemorySnapshot, SkillCard
from sesa_env.memory.card import card_text, question_key
from sesa_env.memory.retrieve import BankSnapshot

PLACEBOS = ("shuffled", "irrelevant")
_RELATED = 0.25
"""The share of a bank that counts as related to a question: irrelevant cards come from the rest."""


def placebo(kind: str, memory: BankSnapshot) -> MemorySnapshot:
    """Makes a placebo of a memory.

    Args:
        kind: "shuffled": each question is shown the cards of another question of its call. "irrelevant": each card is replaced
            by one of about its length which is far from the question.
        memory: the real one.

    Raises:
        ConfigError: there is no such kind.
    """
    if kind not in PLACEBOS:
        raise ConfigError(f"placebo: expected one of {', '.join(PLACEBOS)}; got {kind!r}")
    return Shuffled(memory) if kind == "shuffled" else Irrelevant(memory)


@dataclass(frozen=True)
class Shuffled:
    """Shows each question the cards that were found for another question of the same call."""

    memory: BankSnapshot

    @property
    def fingerprint(self) -> str:
        """See `MemorySnapshot.fingerprint`."""
        return _named("shuffled", self.memory)

    def retrieve(self, questions: Sequence[str]) -> list[list[CardHit]]:
        """Finds cards as the real memory does and exchanges them.

        The distinct questions stand in a ring, in the order of their digests; each is shown the cards of the next. A question
        is never shown a card that was distilled from it, and one alone in its call is shown none.
        """
        distinct = sorted(dict.fromkeys(questions), key=question_key)
        found = self.memory.retrieve(distinct)
        shown = {text: _foreign(found[place - 1], text) for place, text in enumerate(distinct)} if len(distinct) > 1 else {}
        return [list(shown.get(text, ())) for text in questions]


@dataclass(frozen=True)
class Irrelevant:
    """Shows in the place of each card another of about its length that is far from the question."""

    memory: BankSnapshot

    @property
    def fingerprint(self) -> str:
        """See `MemorySnapshot.fingerprint`."""
        return _named("irrelevant", self.memory)

    def retrieve(self, questions: Sequence[str]) -> list[list[CardHit]]:
        """Finds cards as the real memory does and replaces each by another.

        It takes the card nearest in words, ties by the lower cosine, among those whose cosine with the question is not in the
        bank's upper quarter and that no other place took.
        """
        found = self.memory.retrieve(questions)
        if not any(found):
            return found
        vectors = self.memory.embedder.embed_queries(list(questions))
        words = np.array([_words(card) for card in self.memory.cards])
        return [
            self._replace(hits, np.round(self.memory.vectors @ vector, 6), words, question_key(text)) if hits else []
            for text, hits, vector in zip(questions, found, vectors, strict=True)
        ]

    def _replace(self, hits: Sequence[CardHit], cosines: np.ndarray, words: np.ndarray, key: str) -> list[CardHit]:
        far = [
            int(place)
            for place in np.argsort(cosines, kind="stable")[: max(1, int(len(cosines) * (1 - _RELATED)))]
            if key not in self.memory.cards[place].provenance.question_keys
        ]
        shown: list[CardHit] = []
        for hit in hits:
            if not far:
                break
            nearest = min(far, key=lambda place: (abs(int(words[place]) - _words(hit.card)), float(cosines[place]), place))
            far.remove(nearest)
            shown.append(CardHit(self.memory.cards[nearest], float(cosines[nearest])))
        return shown


def _foreign(hits: Sequence[CardHit], question: str) -> list[CardHit]:
    key = question_key(question)
    return [hit for hit in hits if key not in hit.card.provenance.question_keys]


def _words(card: SkillCard) -> int:
    """A card's length as it is shown, in words: tokens of any tokeniser are nearly in proportion."""
    return len(f"{card.description} {card.avoid} {card_text(card)}".split())


def _named(kind: str, memory: MemorySnapshot) -> str:
    return hashlib.blake2b(f"{kind} {memory.fingerprint}".encode(), digest_size=16).hexdigest()
