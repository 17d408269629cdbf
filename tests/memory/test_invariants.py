"""What holds of a bank whatever happens to it: a random history of commits, consolidations, imports, outages and restarts."""

import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sesa_env.errors import TeacherError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.config import MemoryConfig
from sesa_env.types import Attempt, Group
from tests.memory.helpers import RELATIONS, Outage, Teacher, card, malformed, question, right, wrong

CONFIG = MemoryConfig(cap=7, queue_size=5, consolidate_every=2, consolidate_min=2, consolidate_max=3, evict_after=2)
SEEDS = [card(relation, f"seed-{relation}") for relation in RELATIONS[:3]]
KINDS = {"right": right, "wrong": wrong, "malformed": malformed}


class History(RuleBasedStateMachine):
    """Plays on a bank in a file and keeps books of its own."""

    @initialize()
    def begin(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "bank.sqlite"
        self.bank = SkillBank.open(self.path, CONFIG)
        self.bank.prime(SEEDS)
        self.step = 0
        self.books: dict[str, Counter[str]] = {}
        self.buried: set[str] = set()

    @rule(
        data=st.data(),
        kinds=st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4),
        relation=st.sampled_from(RELATIONS[:12]),
    )
    def commit(self, data, kinds, relation):
        self.step += 1
        ids = [made.id for made in self.bank.cards()]
        attempts, everyone = [], set()
        for kind in kinds:
            shown = data.draw(st.lists(st.sampled_from(ids), max_size=3, unique=True))
            attempts.append(KINDS[kind](*shown))
            for card_id in shown:
                self.books.setdefault(card_id, Counter()).update([kind])
                everyone.add(card_id)
        for card_id in everyone:
            self.books[card_id].update(["retrieved"])
        number = data.draw(st.integers(0, 6))
        report = self.bank.commit(self.step, [Group(question(number, relation), tuple(attempts))])
        self.buried |= set(report.evicted)

    @rule()
    def commit_again(self):
        if self.step:
            digest = self.bank.digest()
            self.bank.commit(self.step, [Group(question(1), (wrong(),))])
            assert self.bank.digest() == digest

    @rule()
    def consolidate(self):
        before = {failure.id for failure in self.bank.pending()}
        teacher = Teacher()
        report = self.bank.consolidate(self.step, teacher)
        after = {failure.id for failure in self.bank.pending()}
        assert before - after == {failure.id for failure in teacher.failures}
        self.buried |= set(report.evicted)

    @precondition(lambda self: self.bank.due(self.step))
    @rule()
    def outage(self):
        digest = self.bank.digest()
        if self.bank.last_consolidation != self.step:
            with pytest.raises(TeacherError):
                self.bank.consolidate(self.step, Outage())
        assert self.bank.digest() == digest

    @rule(relation=st.sampled_from(RELATIONS[:12]))
    def add_by_hand(self, relation):
        if f"hand-{relation}" in self.buried:
            return
        change, _ = self.bank.plan([card(relation, f"hand-{relation}")])
        self.bank.carry_out(change)
        self.buried |= {stone.card for stone in change.evicted}

    @rule()
    def restart(self):
        digest, cards = self.bank.digest(), self.bank.cards()
        self.bank.close()
        self.bank = SkillBank.open(self.path, CONFIG)
        assert (self.bank.digest(), self.bank.cards()) == (digest, cards)

    @invariant()
    def the_cap_holds_and_the_seeds_stay(self):
        ids = [made.id for made in self.bank.cards()]
        assert len(ids) == len(set(ids)) <= CONFIG.cap
        assert ids[:3] == [seed.id for seed in SEEDS]

    @invariant()
    def nothing_is_alike_and_nothing_evicted_is_back(self):
        vectors = self.bank.snapshot().vectors
        stones = np.stack([stone.vector for stone in self.bank.tombstones()]) if self.bank.tombstones() else np.zeros((0, 512))
        assert np.max(vectors @ vectors.T - 2 * np.eye(len(vectors))) < CONFIG.duplicate_cosine
        assert np.max(vectors @ stones.T, initial=-1.0) < CONFIG.duplicate_cosine
        assert {stone.card for stone in self.bank.tombstones()} == self.buried
        assert not self.buried & {made.id for made in self.bank.cards()}

    @invariant()
    def counters_are_what_was_shown(self):
        for made in self.bank.cards():
            book = self.books.get(made.id, Counter())
            assert (made.retrieved, made.helpful, made.hurt) == (book["retrieved"], book["right"], book["wrong"])

    @invariant()
    def the_queue_is_bounded_and_a_question_waits_once(self):
        texts = [failure.question.text for failure in self.bank.pending()]
        assert len(texts) == len(set(texts)) <= CONFIG.queue_size
        assert all(isinstance(failure.attempt, Attempt) and not failure.attempt.correct for failure in self.bank.pending())

    @invariant()
    def embeddings_belong_to_their_cards(self):
        snapshot = self.bank.snapshot()
        texts = ["\n".join((made.trigger, *made.queries)) for made in snapshot.cards]
        assert np.array_equal(snapshot.vectors, self.bank.embedder.embed_cards(texts))

    def teardown(self):
        if hasattr(self, "bank"):
            self.bank.close()
            self.folder.cleanup()


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=40, stateful_step_count=25)


def test_counters_survive_a_similarity_credit_of_any_shares():
    bank = SkillBank.open(config=MemoryConfig(credit="similarity"))
    bank.prime(SEEDS)
    shares = [(seed.id, similarity) for seed, similarity in zip(SEEDS, (0.9, 0.3, -0.1), strict=True)]
    bank.commit(1, [Group(question(1), (replace(right(), cards=tuple(shares)),))])
    assert sum(made.helpful for made in bank.cards()) == pytest.approx(3.0)
    assert bank.cards()[2].helpful == 0.0
