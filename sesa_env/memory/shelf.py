"""The bank in memory: what the file holds for one run, kept in step with it change by change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sesa_env.errors import ConfigError
from sesa_env.memory.admission import Candidate, admit
from sesa_env.memory.base import SkillCard
from sesa_env.memory.card import card_text
from sesa_env.memory.change import Change, Tombstone
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.embed import Embedder, Vectors
from sesa_env.memory.events import died
from sesa_env.memory.store import BankStore
from sesa_env.memory.utility import Counters, evictions
from sesa_env.memory.vectors import Rows


class Shelf:
    """Cards and tombstones with their embeddings, and the queue. Reading is free; only `apply` changes it.

    Attributes:
        cards: the cards by id, oldest first, with the run's counters.
        rows: their embeddings, in the same order.
        tombstones: what stays of the evicted cards, oldest first.
        pending: the run's failures that wait for a teacher, oldest first.
    """

    def __init__(self, store: BankStore, run: str, embedder: Embedder, config: MemoryConfig) -> None:
        self._embedder = embedder
        self._config = config
        self._run = run
        stored = store.cards(run)
        self.cards: dict[str, SkillCard] = {card.id: card for card, _ in stored}
        self.rows = self._matrix(vector for _, vector in stored)
        self.tombstones = store.tombstones()
        self._tombstone_rows = self._matrix(stone.vector for stone in self.tombstones)
        self._other_runs = {name: step for name, step in store.last_steps().items() if name != run}
        self.pending = store.pending(run)

    def admit(
        self, candidates: Sequence[Candidate], step: int, leaving: Iterable[str] = ()
    ) -> tuple[list[tuple[SkillCard, Vectors]], dict[str, int]]:
        """Chooses the candidates that may enter, see `admission.admit`.

        Args:
            candidates: the candidates.
            step: the present step, by which tombstones expire.
            leaving: ids of cards that the candidates replace and need not differ from.

        Returns:
            Those that may enter, embedded, and the refusals by reason.
        """
        gone = set(leaving)
        known = self.cards.keys() - gone
        rows = self.rows.without([place for place, card_id in enumerate(self.cards) if card_id in gone]) if gone else self.rows
        return admit(candidates, known, rows, self._living_tombstones(step), self._embedder, self._config)

    def vectors(self) -> dict[str, Vectors]:
        """Returns the embedding of each card."""
        return dict(zip(self.cards, self.rows.view(), strict=True))

    def evict(self, change: Change, step: int) -> None:
        """Chooses who goes once `change` is made, and adds their tombstones to it, and a note of why each had to go.

        Raises:
            ConfigError: there would be more permanent cards than the cap.
        """
        after = self._after(change)
        permanent, cap = sum(card.permanent for card in after.values()), self._config.cap
        if permanent > cap:
            raise ConfigError(f"{permanent} permanent cards do not fit under the cap of {cap}; raise MemoryConfig.cap")
        gone = evictions(after.values(), self._config, fresh={card.id for card, _ in change.added})
        vectors = self.vectors() | {card.id: vector for card, vector in (*change.edited, *change.added)} if gone else {}
        change.evicted = [
            Tombstone(card_id, card_text(after[card_id]), step, vectors[card_id].copy(), self._run) for card_id in gone
        ]
        change.events += died(step, [after[card_id] for card_id in gone], self._config)

    def apply(self, change: Change) -> None:
        """Does in memory what `BankStore.write` did on disk. Adding a card adds one row; nothing is embedded or rebuilt."""
        if change.edited:
            self.rows = self._matrix((self.vectors() | {card.id: vector for card, vector in change.edited}).values())
        for _, vector in change.added:
            self.rows.append(vector[None])
        self.cards = self._after(change)
        if change.evicted:
            self._bury(change.evicted)
        if change.queue is not None:
            self.pending = change.queue

    def _after(self, change: Change) -> dict[str, SkillCard]:
        """Returns the cards as they will be once `change` is made, before anyone is evicted."""
        cards = dict(self.cards)
        for card, _ in change.edited:
            cards[card.id] = _counted(card, _counters(cards[card.id]))
        for card, _ in change.added:
            cards[card.id] = _counted(card, Counters())
        for card_id, counters in change.counters.items():
            cards[card_id] = _counted(cards[card_id], counters)
        return cards

    def _bury(self, evicted: Sequence[Tombstone]) -> None:
        gone = {stone.card for stone in evicted}
        self.rows = self.rows.without([place for place, card_id in enumerate(self.cards) if card_id in gone])
        self.cards = {card_id: card for card_id, card in self.cards.items() if card_id not in gone}
        for stone in evicted:
            self.tombstones.append(stone)
            self._tombstone_rows.append(stone.vector[None])

    def _living_tombstones(self, step: int) -> Rows:
        """Returns the embeddings of the tombstones that still refuse their like.

        Each ages by the steps of its own run: those of a run that has come to its end age no more.
        """
        lasting = self._config.tombstone_steps
        if lasting is None:
            return self._tombstone_rows
        now = {**self._other_runs, self._run: step}
        ages = [now.get(stone.run, stone.step) - stone.step for stone in self.tombstones]
        return self._tombstone_rows.without([place for place, age in enumerate(ages) if max(age, 0) >= lasting])

    def _matrix(self, vectors: Iterable[Vectors]) -> Rows:
        rows = Rows(self._embedder.dimension)
        for vector in vectors:
            rows.append(vector[None])
        return rows


def added_up(cards: Mapping[str, SkillCard], earned: Mapping[str, Counters]) -> dict[str, Counters]:
    """Returns the new counters of the cards that earned something."""
    old = {card_id: _counters(cards[card_id]) for card_id in earned}
    return {
        card_id: Counters(
            old[card_id].retrieved + more.retrieved, old[card_id].helpful + more.helpful, old[card_id].hurt + more.hurt
        )
        for card_id, more in earned.items()
    }


def _counters(card: SkillCard) -> Counters:
    return Counters(card.retrieved, card.helpful, card.hurt)


def _counted(card: SkillCard, counters: Counters) -> SkillCard:
    return replace(card, retrieved=counters.retrieved, helpful=counters.helpful, hurt=counters.hurt)
