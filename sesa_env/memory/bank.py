"""The skill bank: frozen snapshots to read from, one transaction at the step boundary to write with (paper, section 4)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from sesa_env.errors import ConfigError
from sesa_env.memory.admission import Candidate
from sesa_env.memory.base import CardDraft, CommitReport, ConsolidationReport, Distiller, Failure, Provenance, SkillCard
from sesa_env.memory.card import card_text, make_card, question_key
from sesa_env.memory.change import Change, Tombstone
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.door import misshapen, unfit
from sesa_env.memory.embed import Embedder, Vectors, make_embedder
from sesa_env.memory.events import Event, failures, shown
from sesa_env.memory.pending import enqueue, failures_of, most_informative
from sesa_env.memory.recorded import settle_embedder
from sesa_env.memory.retrieve import BankSnapshot
from sesa_env.memory.shelf import Shelf, added_up
from sesa_env.memory.store import BankStore
from sesa_env.memory.teacher import ask
from sesa_env.memory.utility import Counters, credit
from sesa_env.types import Group


class SkillBank:
    """A `SkillMemory` in one SQLite file.

    Cards, embeddings and tombstones belong to the bank. Counters, the queue and the record of steps belong to a *run*: opened
    under another run's name, the bank keeps its cards and starts counting at zero, since a record that another policy earned
    says nothing about this one. Opened again under the same name it goes on where it was; a step that was written before is not
    written again. To go back to an older checkpoint use the `backup` of that time.

    One process writes. Snapshots may be read anywhere.
    """

    def __init__(self, store: BankStore, config: MemoryConfig, embedder: Embedder, run: str) -> None:
        """Use `SkillBank.open`."""
        self.config = config
        self.run = run
        self.embedder = embedder
        self._store = store
        self._shelf = Shelf(store, run, embedder, config)
        self._snapshot: BankSnapshot | None = None

    @classmethod
    def open(
        cls,
        path: str | Path = ":memory:",
        config: MemoryConfig | None = None,
        embedder: str | Embedder | None = None,
        run: str = "default",
        *,
        create: bool = True,
        reembed: bool = False,
    ) -> "SkillBank":
        """Opens a bank, or makes an empty one.

        Args:
            path: the file; ":memory:" for a bank that lives as long as this object.
            config: the settings; None takes the paper's.
            embedder: a name for `make_embedder`, or an embedder; None takes the one that wrote the bank, "hash" in a new one.
            run: the name of the run that reads and writes counters and queue.
            create: False refuses a file that is not there or is empty, and makes nothing.
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
            return cls(store, config or MemoryConfig(), settle_embedder(store, made, reembed=reembed), run)
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
            cards = tuple(self._shelf.cards.values())
            self._snapshot = BankSnapshot(
                cards, self._shelf.rows.view(), self.embedder, self.config.top_k, floor, self.config.utility_weight
            )
        return self._snapshot

    def cards(self) -> list[SkillCard]:
        """Returns all cards with this run's counters, oldest first."""
        return list(self._shelf.cards.values())

    def pending(self) -> list[Failure]:
        """Returns this run's failures that wait for a teacher, oldest first."""
        return list(self._shelf.pending)

    def tombstones(self) -> list[Tombstone]:
        """Returns what stays of the evicted cards, oldest first."""
        return list(self._shelf.tombstones)

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
        return self._store.stats(self.run)

    def backup(self, path: str | Path) -> None:
        """Copies the bank to a new file, whole or not at all, for example beside a checkpoint of the policy."""
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
        earned = credit(groups, self._shelf.cards, self.config.credit)
        change = Change(counters=added_up(self._shelf.cards, earned), events=shown(step, groups))
        new = failures_of(step, groups, self.config)
        before = self._store.failed(self.run, [question_key(failure.question.text) for failure in new])
        change.queue = enqueue(self._shelf.pending, new, before, self.config)
        change.failed = {key: before.get(key, 0) + 1 for key in (question_key(failure.question.text) for failure in new)}
        self._shelf.evict(change, step)
        report = CommitReport(
            queued=len({failure.id for failure in new} & {failure.id for failure in change.queue}),
            credited=len(change.counters),
            evicted=tuple(stone.card for stone in change.evicted),
        )
        change.done = ("commit", step, json.dumps(asdict(report), sort_keys=True))
        self._write(change)
        return report

    def due(self, step: int) -> bool:
        """Says whether it is time: every `consolidate_every` steps, once `consolidate_min` failures are pending."""
        rested = step - self.last_consolidation >= self.config.consolidate_every
        return rested and len(self._shelf.pending) >= self.config.consolidate_min

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
        drafts = ask(distiller, batch, self._shelf.cards)
        return self.take_in(step, batch, drafts, distiller.name)

    def batch(self) -> list[Failure]:
        """Returns the failures for the next consolidation, the most informative first. They stay in the queue."""
        return most_informative(self._shelf.pending, self.config)

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
            Candidate.of(make_card(draft, self._provenance(failure, step, teacher)), failure)
            for failure, answer in zip(failures, drafts, strict=True)
            for draft in answer
        ]
        added, rejected = self._shelf.admit(offered, step)
        consumed = {failure.id for failure in failures}
        change = Change(added=added, queue=[failure for failure in self._shelf.pending if failure.id not in consumed])
        change.events = _origins(step, offered, added)
        self._shelf.evict(change, step)
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
            if fault := misshapen(card, self.config) or unfit(card):
                raise ConfigError(f"the seed {card.id!r} cannot enter the bank: {fault}")
        return self.admit([Candidate(card) for card in blank if card.id not in self._shelf.cards])

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
        admitted, rejected = self._shelf.admit(candidates, self.last_step)
        added = admitted[:limit]
        change = Change(added=added, events=_origins(self.last_step, candidates, added))
        self._shelf.evict(change, self.last_step)
        if added:
            self._write(change)
        return ConsolidationReport(
            added=tuple(card.id for card, _ in added), rejected=rejected, evicted=tuple(stone.card for stone in change.evicted)
        )

    def plan(self, cards: Sequence[SkillCard], *, counters: bool = False) -> tuple[Change, tuple[str, ...]]:
        """Works out an import without writing it: cards whose id is in the bank take that card's place, the others come behind.

        Args:
            cards: well-formed cards with distinct ids.
            counters: True takes their counters over; False leaves the bank's, and new cards at zero.

        Returns:
            The change for `carry_out`, and the ids of the cards left out of it because they are too much like another card or a
            tombstone.

        Raises:
            ConfigError: there would be more permanent cards than the cap.
        """
        old, vectors = self._shelf.cards, self._shelf.vectors()
        rewritten = {card.id for card in cards if card.id in old and card_text(card) != card_text(old[card.id])}
        offered = [Candidate(card) for card in cards if card.id in rewritten or card.id not in old]
        admitted, _ = self._shelf.admit(offered, self.last_step, leaving=rewritten)
        relabelled = [(card, vectors[card.id]) for card in cards if card.id in old and card.id not in rewritten]
        change = Change(
            added=[pair for pair in admitted if pair[0].id not in old],
            edited=[*relabelled, *(pair for pair in admitted if pair[0].id in old)],
        )
        entering = [card for card, _ in (*change.added, *change.edited)]
        if counters:
            change.counters = {card.id: Counters(card.retrieved, card.helpful, card.hurt) for card in entering}
        self._shelf.evict(change, self.last_step)
        return change, tuple(card.id for card in cards if card.id not in {card.id for card in entering})

    def carry_out(self, change: Change) -> None:
        """Writes a planned change, in one transaction."""
        self._write(change)

    # --- inside ----------------------------------------------------------------------------------------------------

    def _write(self, change: Change) -> None:
        """Writes a change to the file and, once it is there, to memory."""
        self._store.write(change, self.run)
        self._shelf.apply(change)
        self._snapshot = None

    def _provenance(self, failure: Failure, step: int, teacher: str) -> Provenance:
        return Provenance("distilled", (question_key(failure.question.text),), failure.id, step, self.run, teacher)


def _origins(step: int, offered: Sequence[Candidate], added: Sequence[tuple[SkillCard, Vectors]]) -> list[Event]:
    entered = {card.id for card, _ in added}
    return failures(step, (candidate.failure for candidate in offered if candidate.card.id in entered))


def _report(data: Mapping[str, Any]) -> ConsolidationReport:
    return ConsolidationReport(data["due"], data["failures"], tuple(data["added"]), data["rejected"], tuple(data["evicted"]))
