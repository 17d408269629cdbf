"""The memory's side of a step: one commit at the boundary, and the teacher at work beside the training (paper, section 4).

A consolidation that is due at the boundary of one step is handed to a thread and taken in at the boundary of the next, waited
for if need be. So what the bank holds depends on the steps alone, never on how long a teacher took. What a teacher works on
stays in the queue until its answer is in: a run that is killed asks it again, an outage loses nothing.
"""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from agents.selfplay.config import NO_PLACEBO, SkillConfig
from agents.selfplay.skillrl import WeakCategories
from sesa_env.errors import TeacherError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.base import CardDraft, CommitReport, ConsolidationReport, Distiller, Failure, MemorySnapshot, SkillCard
from sesa_env.memory.placebo import placebo
from sesa_env.memory.teacher import ask
from sesa_env.types import Group

Drafts = list[list[CardDraft]]


@dataclass(frozen=True, slots=True)
class Boundary:
    """What one step boundary did to the bank.

    Attributes:
        commit: counters, queue and evictions.
        consolidation: the cards that a teacher's answer brought; None if none was due.
        outage: what a teacher said that could not answer; "" if none.
        wait_s: seconds spent waiting for a teacher.
        teacher_s: CPU seconds that the teacher's thread worked in this process.
    """

    commit: CommitReport = field(default_factory=CommitReport)
    consolidation: ConsolidationReport | None = None
    outage: str = ""
    wait_s: float = 0.0
    teacher_s: float = 0.0


@dataclass(frozen=True, slots=True)
class _Job:
    step: int
    failures: list[Failure]
    answer: Future[tuple[Drafts, float]]


class Keeper:
    """Writes a bank at step boundaries.

    Args:
        bank: the bank.
        config: when cards are written, and how many.
        teacher: who writes them.
    """

    def __init__(self, bank: SkillBank, config: SkillConfig, teacher: Distiller) -> None:
        self.bank, self._config, self._teacher = bank, config, teacher
        self.weak = WeakCategories(config)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="teacher")
        self._job: _Job | None = None

    def close(self) -> None:
        """Lets go of the teacher's thread; an answer that is under way is dropped, its failures wait on in the queue."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def snapshot(self) -> MemorySnapshot:
        """Returns the bank as it is now, frozen, or the placebo of it that the configuration names."""
        frozen, kind = self.bank.snapshot(), self._config.placebo
        return frozen if kind == NO_PLACEBO else placebo(kind, frozen)

    def boundary(self, step: int, groups: Sequence[Group]) -> Boundary:
        """Takes in a teacher's answer and the step's results, and hands the teacher its next work if it is time."""
        harvest = self._harvest()
        commit = self.bank.commit(step, groups)
        self.weak.count(groups)
        self._start(step)
        return replace(harvest, commit=commit)

    def finish(self) -> Boundary:
        """Takes in the answer that is still under way when a run ends."""
        return self._harvest()

    def state_dict(self) -> dict[str, Any]:
        """Returns what the bank does not hold, as JSON."""
        job = self._job and {"step": self._job.step, "failures": [failure.id for failure in self._job.failures]}
        return {"job": job, "weak": self.weak.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where `state_dict` left off, on the bank of then: the teacher is asked again what it was asked."""
        if state["job"] is not None:
            pending = {failure.id: failure for failure in self.bank.pending()}
            self._ask(state["job"]["step"], [pending[name] for name in state["job"]["failures"]])
        self.weak.load_state_dict(state["weak"])

    def _start(self, step: int) -> None:
        if self._due(step) and (batch := self._batch()):
            self._ask(step, batch)
            self.weak.restart()

    def _due(self, step: int) -> bool:
        if self._config.distillation == "skillrl":
            return step > 0 and step % self._config.weak_every == 0
        return self._config.distillation == "paper" and self.bank.due(step)

    def _batch(self) -> list[Failure]:
        if self._config.distillation == "skillrl":
            return self.weak.choose(self.bank.pending())[: self.bank.config.consolidate_max]
        return self.bank.batch()

    def _ask(self, step: int, batch: list[Failure]) -> None:
        cards = {card.id: card for card in self.bank.cards()}
        self._job = _Job(step, batch, self._thread.submit(_answer, self._teacher, batch, cards))

    def _harvest(self) -> Boundary:
        if self._job is None:
            return Boundary()
        job, self._job = self._job, None
        start = time.perf_counter()
        try:
            drafts, worked = job.answer.result()
        except TeacherError as error:
            return Boundary(outage=str(error), wait_s=time.perf_counter() - start)
        waited = time.perf_counter() - start
        report = self.bank.take_in(job.step, job.failures, self._limited(drafts), self._teacher.name)
        return Boundary(consolidation=report, wait_s=waited, teacher_s=worked)

    def _limited(self, drafts: Drafts) -> Drafts:
        """Keeps SkillRL's few: the first drafts, up to `weak_cards`.

        So many are written, at most, not kept: one that the bank refuses, as too like another, is not made up for.
        """
        if self._config.distillation != "skillrl":
            return drafts
        kept, left = Drafts(), self._config.weak_cards
        for answer in drafts:
            kept.append(answer[:left])
            left -= len(kept[-1])
        return kept


def _answer(teacher: Distiller, failures: list[Failure], cards: Mapping[str, SkillCard]) -> tuple[Drafts, float]:
    """Asks the teacher, in its thread."""
    start = time.thread_time()
    drafts = ask(teacher, failures, cards)
    return drafts, time.thread_time() - start
