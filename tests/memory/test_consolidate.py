"""Consolidation: when it is due, what the teacher is given, what may enter, and that nothing is lost."""

import json

import pytest

from sesa_env.errors import TeacherError
from sesa_env.memory.admission import Candidate
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.base import CardDraft, Provenance
from sesa_env.memory.card import make_card, question_key
from sesa_env.memory.config import MemoryConfig
from sesa_env.types import Group, Question
from tests.memory.helpers import (
    EAGER,
    RELATIONS,
    Fixed,
    Outage,
    TableEmbedder,
    Teacher,
    card,
    draft,
    failing,
    question,
    right,
    wrong,
)


def test_it_is_due_every_ten_steps_once_twenty_are_pending():
    bank = SkillBank.open()
    teacher = Teacher()
    bank.commit(10, failing(*range(19)))
    assert not bank.consolidate(10, teacher).due
    bank.commit(11, failing(19))
    assert not bank.consolidate(9, teacher).due
    assert bank.consolidate(11, teacher).due
    bank.commit(12, failing(*range(20, 60)))
    assert not bank.consolidate(20, teacher).due
    assert bank.consolidate(21, teacher).due
    assert bank.last_consolidation == 21


def test_nothing_happens_when_it_is_not_due():
    bank = SkillBank.open()
    digest = bank.digest()
    assert bank.consolidate(10, Outage()).failures == 0
    assert bank.digest() == digest


def test_the_teacher_is_given_thirty_at_most_the_most_informative_first():
    bank = SkillBank.open()
    bank.prime([card("spouse")])
    bank.commit(1, failing(40))
    groups = [*failing(*range(30)), Group(question(31), (wrong(passages=6),)), Group(question(32), (wrong("card-spouse"),))]
    bank.commit(2, [*groups, *failing(40)])
    teacher = Teacher()
    assert bank.consolidate(10, teacher).failures == 30
    assert [failure.question.id for failure in teacher.failures[:4]] == ["q32", "q40", "q31", "q0"]
    assert [failure.question.id for failure in bank.pending()] == ["q27", "q28", "q29"]


def test_the_teacher_sees_the_cards_that_were_shown_in_vain():
    bank = SkillBank.open(config=EAGER)
    bank.prime([card("spouse"), card("author")])
    bank.commit(1, [Group(question(1), (wrong("card-spouse", "card-gone"),))])
    teacher = Teacher()
    bank.consolidate(1, teacher)
    assert list(teacher.cards) == ["card-spouse"]
    assert teacher.cards["card-spouse"].hurt == 1.0


def test_a_card_says_where_it_came_from():
    bank = SkillBank.open(config=EAGER, run="run-a")
    bank.commit(3, failing(1))
    (failure,) = bank.pending()
    bank.consolidate(4, Teacher())
    (made,) = bank.cards()
    assert made.provenance == Provenance("distilled", (question_key(question(1).text),), failure.id, 4, "run-a", "test-teacher")
    assert not made.permanent


def test_duplicates_in_the_bank_and_in_the_same_pass_are_refused():
    bank = SkillBank.open(config=EAGER)
    bank.prime([card("author")])
    bank.commit(1, [*failing(1, 2), *failing(3, relation="author"), *failing(4, relation="capital")])
    report = bank.consolidate(1, Teacher())
    assert report.rejected == {"duplicate": 2}
    assert len(report.added) == 2
    assert bank.pending() == []


def test_likeness_begins_at_the_configured_cosine():
    embedder = TableEmbedder({"spouse": [1, 0], "author": [0.93, 0.3676], "capital": [0.92, -0.3919]})
    bank = SkillBank.open(config=EAGER, embedder=embedder)
    bank.prime([card("spouse")])
    bank.commit(1, [*failing(1, relation="author"), *failing(2, relation="capital")])
    assert bank.consolidate(1, Teacher()).rejected == {"duplicate": 1}


def test_above_one_only_identical_cards_are_duplicates():
    bank = SkillBank.open(config=MemoryConfig(consolidate_every=1, consolidate_min=1, duplicate_cosine=1.5))
    bank.commit(1, failing(1))
    report = bank.consolidate(1, Fixed(draft("spouse"), draft("spouse"), draft("spouse", "{entity} wed")))
    assert report.rejected == {"duplicate": 1}
    assert len(report.added) == 2


def test_the_door_refuses_and_says_why():
    bank = SkillBank.open(config=EAGER)
    asked = Question("q", "Who is the spouse of Juno Vale?", ("Corin Pell",), entities=("Juno Vale",))
    bank.commit(1, [Group(asked, (wrong(),))])
    leaks = CardDraft("Find Corin Pell.", "Spouses.", "Guessing.", ("{entity} wed",))
    names = CardDraft("Find the spouse.", "Spouses of Vale.", "Guessing.", ("{entity} wed",))
    empty = CardDraft("Find the spouse.", " ", "Guessing.", ("{entity} wed",))
    slot = CardDraft("Find the spouse.", "Spouses.", "Guessing.", ("{relation} wed",))
    report = bank.consolidate(1, Fixed(leaks, names, empty, slot, draft("spouse")))
    assert report.rejected == {"answer": 1, "entity": 1, "format": 2}
    assert len(report.added) == 1


@pytest.mark.parametrize("answer", [[], [[], []], "nothing", None, [["no draft"]], [None]])
def test_an_answer_of_the_wrong_shape_is_an_error_of_the_teacher(answer):
    class Confused:
        name = "confused"

        def distil(self, failures, cards):
            return answer

    bank = SkillBank.open(config=EAGER)
    bank.commit(1, failing(1))
    digest = bank.digest()
    with pytest.raises(TeacherError, match="'confused' must answer 1 failures"):
        bank.consolidate(1, Confused())
    assert bank.digest() == digest


def test_a_crash_of_the_teacher_passes_through_and_leaves_the_queue():
    class Crash:
        name = "crash"

        def distil(self, failures, cards):
            raise ZeroDivisionError

    bank = SkillBank.open(config=EAGER)
    bank.commit(1, failing(1))
    with pytest.raises(ZeroDivisionError):
        bank.consolidate(1, Crash())
    assert len(bank.pending()) == 1


def test_a_consolidation_repeated_changes_nothing_and_reports_the_same():
    bank = SkillBank.open(config=EAGER)
    bank.commit(1, failing(1, 2))
    report, digest = bank.consolidate(1, Teacher()), bank.digest()
    assert bank.consolidate(1, Outage()) == report
    assert bank.digest() == digest


def test_a_teacher_beside_the_training_consumes_exactly_what_it_was_given():
    bank = SkillBank.open(config=EAGER)
    bank.commit(1, failing(1, 2))
    batch = bank.batch()
    drafts = Teacher().distil(batch, {})
    # Meanwhile question 2 fails again, and a new one fails.
    bank.commit(2, failing(2, 3))
    bank.take_in(3, batch, drafts, "slow-teacher")
    assert [(failure.question.id, failure.step) for failure in bank.pending()] == [("q2", 2), ("q3", 2)]


def test_a_bank_full_of_proven_cards_still_learns():
    bank = SkillBank.open(config=MemoryConfig(consolidate_every=1, consolidate_min=1, cap=3))
    proven = [card(relation) for relation in RELATIONS[1:4]]
    bank.carry_out(bank.plan(proven)[0])
    bank.commit(1, [Group(question(9), tuple(right(made.id) for made in proven)), *failing(1)])
    report = bank.consolidate(1, Teacher())
    assert report.evicted == (proven[0].id,)
    assert report.added[0] in {made.id for made in bank.cards()}


def test_the_tombstone_of_a_card_may_expire():
    config = MemoryConfig(consolidate_every=1, consolidate_min=1, tombstone_steps=5)
    bank = SkillBank.open(config=config)
    bank.carry_out(bank.plan([card("spouse")])[0])
    bank.commit(1, [Group(question(i), (wrong("card-spouse"),)) for i in range(3)])
    same = Fixed(CardDraft(*(getattr(card("spouse"), name) for name in ("description", "trigger", "avoid", "queries"))))
    assert bank.consolidate(2, same).rejected == {"tombstone": 3}
    bank.commit(6, failing(2))
    assert len(bank.consolidate(6, same).added) == 1


def test_ids_and_reports_are_equal_in_equal_runs():
    def play() -> str:
        bank = SkillBank.open(config=EAGER)
        bank.commit(1, [*failing(1), *failing(2, relation="author")])
        report = bank.consolidate(1, Teacher())
        return json.dumps([report.added, bank.digest(), bank.snapshot().fingerprint])

    assert play() == play()


def test_admitted_cards_stop_at_the_limit():
    bank = SkillBank.open()
    offered = [Candidate(make_card(draft(relation), Provenance())) for relation in RELATIONS[:5]]
    assert len(bank.admit(offered, limit=2).added) == 2
    assert len(bank.cards()) == 2
