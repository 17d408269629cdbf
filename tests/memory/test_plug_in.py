"""`SkillMemory` is a protocol: another memory, in thirty lines, takes the bank's place."""

import random

from sesa_env.memory.bank import SkillBank
from sesa_env.memory.base import CardHit, CommitReport, ConsolidationReport, MemorySnapshot, SkillCard, SkillMemory
from tests.memory.helpers import EAGER, Teacher, card, failing


class LastCards:
    """A snapshot that shows everyone the newest card."""

    def __init__(self, cards: tuple[SkillCard, ...]) -> None:
        self.cards = cards
        self.fingerprint = repr(cards)

    def retrieve(self, questions):
        return [[CardHit(made, 1.0) for made in self.cards[-1:]] for _ in questions]


class ListMemory:
    """A memory that keeps every card in a list and forgets nothing."""

    def __init__(self) -> None:
        self.cards: list[SkillCard] = []
        self.waiting = []

    def snapshot(self):
        return LastCards(tuple(self.cards))

    def commit(self, step, groups):
        failed = [group for group in groups if group.solve_rate < 1]
        self.waiting += failed
        return CommitReport(queued=len(failed))

    def consolidate(self, step, distiller):
        if not self.waiting:
            return ConsolidationReport()
        new = [card("spouse", f"{step}-{i}") for i in range(len(self.waiting))]
        self.waiting.clear()
        self.cards += new
        return ConsolidationReport(due=True, failures=len(new), added=tuple(made.id for made in new))


def drive(memory: SkillMemory) -> tuple[list[int], MemorySnapshot]:
    """A loop that knows the protocol alone."""
    shown = []
    for step in range(1, 4):
        snapshot = memory.snapshot()
        shown.append(len(snapshot.retrieve(["who is the spouse of someone"])[0]))
        memory.commit(step, failing(step))
        memory.consolidate(step, Teacher())
        assert snapshot.fingerprint != memory.snapshot().fingerprint or step > 1
    return shown, memory.snapshot()


def test_both_memories_are_driven_alike():
    for memory in (ListMemory(), SkillBank.open(config=EAGER)):
        assert isinstance(memory, SkillMemory)
        shown, snapshot = drive(memory)
        assert shown == [0, 1, 1]
        assert isinstance(snapshot, MemorySnapshot)


def test_the_order_of_questions_does_not_matter():
    bank = SkillBank.open(config=EAGER)
    drive(bank)
    questions = [f"who is the spouse of number {i} and the author of {i % 3}" for i in range(9)]
    shuffled = random.Random(1).sample(questions, k=9)
    found = dict(zip(questions, bank.snapshot().retrieve(questions), strict=True))
    assert dict(zip(shuffled, bank.snapshot().retrieve(shuffled), strict=True)) == found
