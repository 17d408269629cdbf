"""The skill bank: frozen snapshots to read from, one transaction at the step boundary to write with (paper, section 4)."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from sesa_env.errors import ConfigError, StoreError
from sesa_env.memory.admission import Candidate, admit
from sesa_env.memory.base import CardDraft, CommitReport, ConsolidationReport, Distiller, Failure, Provenance, SkillCard
from sesa_env.memory.card import card_text, make_card, question_key
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.door import misshapen
from sesa_env.memory.embed import Embedder, Vectors, make_embedder
from sesa_env.memory.pending import enqueue, failures_of, most_informative
from sesa_env.memory.retrieve import BankSnapshot
from sesa_env.memory.store import BankStore, Change, Tombstone
from sesa_env.memory.teacher import ask
from sesa_env.memory.utility import Counters, credit, evictions
from sesa_env.memory.vectors import Rows
from sesa_env.types import Group


class SkillBank:
    """A `SkillMemory` in one SQLite file.

    Cards, embeddings and tombstones belong to the bank. Counters, the queue and the record of steps belong to a *run*: opened
    under another run's name, the bank keeps its cards and starts that run's counters at zero, since a record that another policy
    earned says nothing about this one. Opened again under the same name it goes on where it was; a step that was written before
    is not written again. To go back to an older checkpoint use the `backup` of that time.

    One process writes. Snapshots may be read anywhere.
    """

    def __init__(self, store: BankStore, config: MemoryConfig, embedder: Embedder, run: str) -> None:
        """Use `SkillBank.open`."""
        self.config = config
        self.run = run
        self.embedder = embedder
        self._store = store
        self._load()

    @classmethod
    def open(
        cls,
        path: str | Path = ":memory:",
        config: MemoryConfig | None = None,
        embedder: str | Embedder = "hash",
        run: str = "default",
        *,
        create: bool = True,
        reembed: bool = False,
    ) -> "SkillBank":
        """Opens a bank, or makes an empty one.

        Args:
            path: the file; ":memory:" for a bank that lives as long as this object.
            config: the settings; None takes the paper's.
            embedder: a name for `make_embedder`, or an embedder.
            run: the name of the run that reads and writes counters and queue.
            create: False refuses a file that is not there.
            reembed: True embeds all cards anew where the bank was written with another embedder.

        Returns:
            The bank.

        Raises:
            ConfigError: the embedder cannot be had. The memory is never switched off in silence.
            StoreError: the file is corrupt, another program's, or written with another embedder.
        """
        made = make_embedder(embedder) if isinstance(embedder, str) else embedder
        store = BankStore(path, create=create)
        try:
            _settle_embedder(store, made, reembed=reembed)
            return cls(store, config or MemoryConfig(), made, run)
        except BaseException:
            store.close()
            raise

    def __enter__(self) -> "SkillBank":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file. Snapshots stay usable."""
        self._store.close()

    # --- reading ---------------------------------------------------------------------------------------------------

    def snapshot(self) -> BankSnapshot:
        """Returns the bank as it is now, frozen; the same object until the next write."""
        if self._snapshot is None:
            floor = self.embedder.floor if self.config.similarity_floor is None else self.config.similarity_floor
            cards = tuple(self._cards.values())
            self._snapshot = BankSnapshot(
                cards, self._rows.view(), self.embedder, self.config.top_k, floor, self.config.utility_weight
            )
        return self._snapshot

    def cards(self) -> list[SkillCard]:
        """Returns all cards with this run's counters, oldest first."""
        return list(self._cards.values())

    def pending(self) -> list[Failure]:
        """Returns this run's failures that wait for a teacher, oldest first."""
        return list(self._pending)

    def tombstones(self) -> list[Tombstone]:
        """Returns what stays of the evicted cards, oldest first."""
        return list(self._stones)

    @property
    def last_step(self) -> int:
        """The last step that this run committed; -1 before the first."""
        last = self._store.last_step(self.run, "commit")
        return -1 if last is None else last

    @property
    def last_consolidation(self) -> int:
        """The step of this run's last consolidation; 0 before the first."""
        return self._store.last_step(self.run, "consolidation") or 0

    def digest(self) -> str:
        """Returns a digest of all content, of every run: equal for two banks that the same history led to."""
        return self._store.digest()

    def stats(self) -> dict[str, Any]:
        """Counts what is in the bank, for a person or a log: JSON values."""
        cards = self.cards()
        return {
            "cards": len(cards),
            "permanent": sum(card.permanent for card in cards),
            "origins": dict(sorted(Counter(card.provenance.origin for card in cards).items())),
            "never_retrieved": sum(card.retrieved == 0 for card in cards),
            "retrieved": sum(card.retrieved for card in cards),
            "helpful": sum(card.helpful for card in cards),
            "hurt": sum(card.hurt for card in cards),
            "tombstones": len(self._stones),
            "pending": len(self._pending),
            "last_step": self.last_step,
            "last_consolidation": self.last_consolidation,
            "embedder": self.embedder.name,
            "run": self.run,
        }

    def backup(self, path: str | Path) -> None:
        """Copies the bank to a new file, for example beside a checkpoint of the policy."""
        self._store.backup(path)

    # --- the step boundary -----------------------------------------------------------------------------------------

    def commit(self, step: int, groups: Sequence[Group]) -> CommitReport:
        """Takes in one step's results, in one transaction: counters, failure queue, eviction.

        Args:
            step: the training step; a step that was committed before changes nothing and returns its first report.
            groups: the step's questions with their episodes.

        Returns:
            What changed.
        """
        done = self._store.report(self.run, "commit", step)
        if done is not None:
            return CommitReport(done["queued"], done["credited"], tuple(done["evicted"]))
        change = Change(counters=self._credited(groups))
        new = failures_of(step, groups, self.config)
        before = self._store.failed(self.run, [question_key(failure.question.text) for failure in new])
        change.queue = enqueue(self._pending, new, before, self.config)
        change.failed = {key: before.get(key, 0) + 1 for key in (question_key(failure.question.text) for failure in new)}
        change.evicted = self._evicted(change, step)
        report = CommitReport(
            queued=len({failure.id for failure in new} & {failure.id for failure in change.queue}),
            credited=len(change.counters),
            evicted=tuple(stone.card for stone in change.evicted),
        )
        change.done = ("commit", step, json.dumps(asdict(report), sort_keys=True))
        self._write(change)
        return report

    def due(self, step: int) -> bool:
        """Says whether it is time to consolidate: every `consolidate_every` steps, once `consolidate_min` failures are pending."""
        rested = step - self.last_consolidation >= self.config.consolidate_every
        return rested and len(self._pending) >= self.config.consolidate_min

    def consolidate(self, step: int, distiller: Distiller) -> ConsolidationReport:
        """Lets the distiller turn pending failures into cards, if it is time.

        The distiller works outside any transaction, and nothing leaves the queue before it has answered: an outage or a crash
        loses nothing.

        Args:
            step: the training step; a consolidation that was written before changes nothing and returns its first report.
            distiller: writes the cards.

        Returns:
            What was done.

        Raises:
            TeacherError: the distiller could not answer, or its answer does not fit the failures. The queue is as it was.
        """
        done = self._store.report(self.run, "consolidation", step)
        if done is not None:
            return _report(done)
        if not self.due(step):
            return ConsolidationReport()
        batch = self.batch()
        drafts = ask(distiller, batch, self._cards)
        return self.take_in(step, batch, drafts, distiller.name)

    def batch(self) -> list[Failure]:
        """Returns the failures for the next consolidation, the most informative first. They stay in the queue."""
        return most_informative(self._pending, self.config)

    def take_in(
        self, step: int, failures: Sequence[Failure], drafts: Sequence[Sequence[CardDraft]], teacher: str
    ) -> ConsolidationReport:
        """Writes what a teacher answered, in one transaction: new cards in, exactly these failures out of the queue.

        `consolidate` does this for a teacher that is waited for. A teacher that works beside the training gets `batch()` at one
        step boundary and is taken in at a later one.

        Args:
            step: the training step.
            failures: what the teacher was given.
            drafts: its answer, a list for each failure.
            teacher: its name.

        Returns:
            What was done.
        """
        offered = [
            Candidate(make_card(draft, self._provenance(failure, step, teacher)), failure.question)
            for failure, answer in zip(failures, drafts, strict=True)
            for draft in answer
        ]
        added, rejected = self._admit(offered, step)
        consumed = {failure.id for failure in failures}
        change = Change(added=added, queue=[failure for failure in self._pending if failure.id not in consumed])
        change.evicted = self._evicted(change, step)
        report = ConsolidationReport(
            due=True,
            failures=len(failures),
            added=tuple(card.id for card, _ in added),
            rejected=rejected,
            evicted=tuple(stone.card for stone in change.evicted),
        )
        change.done = ("consolidation", step, json.dumps(asdict(report), sort_keys=True))
        self._write(change)
        return report

    # --- cards from elsewhere --------------------------------------------------------------------------------------

    def prime(self, cards: Iterable[SkillCard]) -> ConsolidationReport:
        """Adds permanent cards, in one transaction: the hand-written seeds (`prime.SEEDS`), or mined ones.

        Cards whose id is in the bank already are passed over, so priming again after a crash does no harm.

        Args:
            cards: the cards; their counters start at zero and they become permanent.

        Returns:
            What was added and, by reason, refused.

        Raises:
            ConfigError: a card is misshapen, or there would be more permanent cards than the cap.
        """
        blank = [replace(card, permanent=True, retrieved=0, helpful=0.0, hurt=0.0) for card in cards]
        for card in blank:
            if fault := misshapen(card, self.config):
                raise ConfigError(f"the seed {card.id!r} cannot enter the bank: {fault}")
        return self.admit([Candidate(card) for card in blank if card.id not in self._cards])

    def admit(self, candidates: Sequence[Candidate], limit: int | None = None) -> ConsolidationReport:
        """Adds cards through the door, without a step: in one transaction, de-duplicated, the cap kept.

        Args:
            candidates: the cards, with the questions that they must not give away.
            limit: of those that may enter, only so many do; None for all.

        Returns:
            What was added and, by reason, refused.

        Raises:
            ConfigError: there would be more permanent cards than the cap.
        """
        admitted, rejected = self._admit(candidates, self.last_step)
        added = admitted[:limit]
        permanent = sum(card.permanent for card in (*self._cards.values(), *(card for card, _ in added)))
        if permanent > self.config.cap:
            raise ConfigError(
                f"{permanent} permanent cards do not fit under the cap of {self.config.cap}; raise MemoryConfig.cap"
            )
        change = Change(added=added)
        change.evicted = self._evicted(change, self.last_step)
        if added:
            self._write(change)
        return ConsolidationReport(
            added=tuple(card.id for card, _ in added), rejected=rejected, evicted=tuple(stone.card for stone in change.evicted)
        )

    def replace_cards(self, cards: Sequence[SkillCard], added: Sequence[SkillCard] = (), *, counters: bool = False) -> None:
        """Puts cards in the place of those with the same ids, and further ones behind, in one transaction.

        It is the write half of an import, which has looked at every card before: see `exchange.import_cards`.

        Args:
            cards: cards whose id is in the bank.
            added: cards whose id is not.
            counters: True takes their counters over; False leaves those in the bank, and new cards at zero.
        """
        texts = {card.id: card_text(card) for card in (*cards, *added)}
        changed = [
            card_id for card_id, text in texts.items() if card_id not in self._cards or text != card_text(self._cards[card_id])
        ]
        fresh = dict(zip(changed, self.embedder.embed_cards([texts[card_id] for card_id in changed]), strict=True))
        places = {card_id: place for place, card_id in enumerate(self._cards)}
        edited = [(card, fresh[card.id] if card.id in fresh else self._rows.view()[places[card.id]]) for card in cards]
        change = Change(added=[(card, fresh[card.id]) for card in added], edited=edited)
        if counters:
            change.counters = {card.id: Counters(card.retrieved, card.helpful, card.hurt) for card in (*cards, *added)}
        change.evicted = self._evicted(change, self.last_step)
        self._write(change)

    # --- inside ----------------------------------------------------------------------------------------------------

    _snapshot: BankSnapshot | None = None

    def _load(self) -> None:
        stored = self._store.cards(self.run)
        self._cards: dict[str, SkillCard] = {card.id: card for card, _ in stored}
        self._rows = _rows([vector for _, vector in stored], self.embedder.dimension)
        self._stones = self._store.tombstones()
        self._stone_rows = _rows([stone.vector for stone in self._stones], self.embedder.dimension)
        self._pending = self._store.pending(self.run)

    def _write(self, change: Change) -> None:
        """Writes a change to the file and, once it is there, to memory."""
        self._store.write(change, self.run)
        self._snapshot = None
        if change.edited:
            vectors = dict(zip(self._cards, self._rows.view(), strict=True)) | {
                card.id: vector for card, vector in change.edited
            }
            self._rows = _rows(list(vectors.values()), self.embedder.dimension)
        for _, vector in change.added:
            self._rows.append(vector[None])
        self._cards = self._after(change)
        self._bury(change.evicted)
        if change.queue is not None:
            self._pending = change.queue

    def _bury(self, evicted: Sequence[Tombstone]) -> None:
        if not evicted:
            return
        gone = {stone.card for stone in evicted}
        self._rows = self._rows.without([place for place, card_id in enumerate(self._cards) if card_id in gone])
        self._cards = {card_id: card for card_id, card in self._cards.items() if card_id not in gone}
        for stone in evicted:
            self._stones.append(stone)
            self._stone_rows.append(stone.vector[None])

    def _credited(self, groups: Sequence[Group]) -> dict[str, Counters]:
        earned = credit(groups, self._cards, self.config.credit)
        return {card_id: _sum(self._cards[card_id], counters) for card_id, counters in earned.items()}

    def _admit(self, candidates: Sequence[Candidate], step: int) -> tuple[list[tuple[SkillCard, Vectors]], dict[str, int]]:
        lasting = self.config.tombstone_steps
        expired = [place for place, stone in enumerate(self._stones) if lasting is not None and step - stone.step >= lasting]
        stones = self._stone_rows.without(expired) if expired else self._stone_rows
        return admit(candidates, self._rows, stones, self.embedder, self.config)

    def _after(self, change: Change) -> dict[str, SkillCard]:
        """Returns the cards as they will be once `change` is made, before anyone is evicted."""
        cards = dict(self._cards)
        for card, _ in change.edited:
            old = cards[card.id]
            cards[card.id] = replace(card, retrieved=old.retrieved, helpful=old.helpful, hurt=old.hurt)
        for card, _ in change.added:
            cards[card.id] = replace(card, retrieved=0, helpful=0.0, hurt=0.0)
        for card_id, value in change.counters.items():
            cards[card_id] = replace(cards[card_id], retrieved=value.retrieved, helpful=value.helpful, hurt=value.hurt)
        return cards

    def _evicted(self, change: Change, step: int) -> list[Tombstone]:
        """Chooses who goes once `change` is made, and writes the tombstones."""
        after = self._after(change)
        gone = evictions(after.values(), self.config, fresh={card.id for card, _ in change.added})
        if not gone:
            return []
        vectors = dict(zip(self._cards, self._rows.view(), strict=True))
        vectors.update({card.id: vector for card, vector in (*change.edited, *change.added)})
        return [Tombstone(card_id, card_text(after[card_id]), step, vectors[card_id].copy(), self.run) for card_id in gone]

    def _provenance(self, failure: Failure, step: int, teacher: str) -> Provenance:
        return Provenance("distilled", (question_key(failure.question.text),), failure.id, step, self.run, teacher)


def _settle_embedder(store: BankStore, embedder: Embedder, *, reembed: bool) -> None:
    """Holds a bank to the embedder that wrote it: cosines between two embedders' vectors mean nothing."""
    written, wanted = store.meta("embedder"), (embedder.name, str(embedder.dimension))
    if written is None:
        store.set_meta({"embedder": wanted[0], "dimension": wanted[1]})
    elif (written, store.meta("dimension")) != wanted:
        if not reembed:
            raise StoreError(
                f"{store.path} was written with the embedder {written!r} ({store.meta('dimension')} dimensions), not {embedder.name!r} "
                f"({embedder.dimension}); open it with embedder={written!r}, or with reembed=True to embed all its cards anew"
            )
        cards = [card for card, _ in store.cards(run="")]
        vectors = embedder.embed_cards([card_text(card) for card in cards])
        stones = embedder.embed_cards([stone.text for stone in store.tombstones()])
        store.reembed(*wanted, dict(zip((card.id for card in cards), vectors, strict=True)), list(stones))


def _rows(vectors: Sequence[Vectors], dimension: int) -> Rows:
    rows = Rows(dimension)
    for vector in vectors:
        rows.append(vector[None])
    return rows


def _sum(card: SkillCard, earned: Counters) -> Counters:
    return Counters(card.retrieved + earned.retrieved, card.helpful + earned.helpful, card.hurt + earned.hurt)


def _report(data: Mapping[str, Any]) -> ConsolidationReport:
    return ConsolidationReport(data["due"], data["failures"], tuple(data["added"]), data["rejected"], tuple(data["evicted"]))
