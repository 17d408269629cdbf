"""The bank at the step boundary: the teacher at work beside the training, harvested one boundary later whatever it took."""

import json
import threading

import pytest

pytest.importorskip("torch")

from agents.selfplay.config import SkillConfig
from agents.selfplay.keeper import Keeper
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.config import MemoryConfig
from sesa_env.types import Group, Question
from tests.memory.helpers import RELATIONS, Outage, Teacher, card, question, wrong

OFTEN = MemoryConfig(consolidate_every=2, consolidate_min=1)


def groups(*numbers, family=""):
    return [Group(question(number, RELATIONS[number]), (wrong(),)) for number in numbers]


class Slow(Teacher):
    """Answers only when it is let."""

    def __init__(self):
        super().__init__()
        self.may = threading.Event()

    def distil(self, failures, cards):
        assert self.may.wait(60)
        return super().distil(failures, cards)


@pytest.fixture
def open_keeper():
    opened = []

    def make(teacher, bank=None, **skills):
        keeper = Keeper(bank or SkillBank.open(config=OFTEN), SkillConfig(bank=OFTEN, **skills), teacher)
        opened.append(keeper)
        return keeper

    yield make
    for keeper in opened:
        keeper.close()


def play(keeper, steps):
    return [keeper.boundary(step, groups(step)) for step in range(steps)]


def test_what_a_teacher_is_handed_at_one_boundary_is_in_the_bank_at_the_next(open_keeper):
    keeper = open_keeper(Teacher())
    reports = play(keeper, 6)
    assert [report.consolidation is not None for report in reports] == [False, False, False, True, False, True]
    assert [len(report.consolidation.added) for report in reports if report.consolidation] == [3, 2]
    assert [card.provenance.step for card in keeper.bank.cards()] == [2, 2, 2, 4, 4]


def test_a_slow_teacher_changes_nothing(open_keeper):
    slow = Slow()
    keeper, fast = open_keeper(slow), open_keeper(Teacher())
    for step in range(6):
        timer = threading.Timer(0.02, slow.may.set)
        timer.start()
        keeper.boundary(step, groups(step))
        fast.boundary(step, groups(step))
        timer.join()
        slow.may.clear()
    slow.may.set()
    assert keeper.bank.digest() == fast.bank.digest()


def test_an_outage_loses_nothing_and_is_tried_again(open_keeper):
    keeper = open_keeper(Outage())
    reports = play(keeper, 5)
    assert [bool(report.outage) for report in reports] == [False, False, False, True, True]
    assert len(keeper.bank.pending()) == 5
    assert not keeper.bank.cards()


def test_a_job_that_was_under_way_is_asked_for_again(open_keeper, tmp_path):
    undisturbed = open_keeper(Teacher())
    play(undisturbed, 6)
    first = open_keeper(Teacher())
    play(first, 3)
    state = json.loads(json.dumps(first.state_dict()))
    assert len(state["job"]["failures"]) == 3
    first.bank.backup(tmp_path / "copy.sqlite")
    second = open_keeper(Teacher(), SkillBank.open(tmp_path / "copy.sqlite", OFTEN))
    second.load_state_dict(state)
    for step in range(3, 6):
        second.boundary(step, groups(step))
    assert second.bank.digest() == undisturbed.bank.digest()


def test_without_distillation_no_teacher_is_asked(open_keeper):
    keeper = open_keeper(Outage(), distillation="none")
    assert not any(report.outage or report.consolidation for report in play(keeper, 6))
    assert len(keeper.bank.pending()) == 6


def test_skillrl_writes_a_few_skills_for_weak_categories_at_fixed_intervals(open_keeper):
    teacher = Teacher()
    keeper = open_keeper(teacher, distillation="skillrl", weak_every=3, weak_cards=2)
    reports = play(keeper, 8)
    assert [len(report.consolidation.added) for report in reports if report.consolidation] == [2, 2]
    assert len(teacher.failures) == 3
    finished = keeper.finish()
    assert finished.consolidation is None


def test_the_last_answer_is_taken_in_when_a_run_ends(open_keeper):
    keeper = open_keeper(Teacher())
    play(keeper, 3)
    assert not keeper.bank.cards()
    assert len(keeper.finish().consolidation.added) == 3


def test_category_is_of_the_question(open_keeper):
    keeper = open_keeper(Teacher(), distillation="skillrl", weak_every=1)
    asked = Question("q", "who is the spouse of person 1", ("a",), family="single")
    keeper.boundary(0, [Group(asked, (wrong(), wrong()))])
    assert keeper.weak.rates() == {"single-1": 0.0}


def test_a_placebo_takes_the_place_of_the_bank(open_keeper):
    bank = SkillBank.open(config=OFTEN)
    bank.prime([card(relation) for relation in RELATIONS])
    asked = [f"what is the {relation} of the thing" for relation in RELATIONS[:2]]
    true, shuffled = (open_keeper(Teacher(), bank, placebo=kind).snapshot().retrieve(asked) for kind in ("none", "shuffled"))
    assert [hits[0].card.id for hits in true] == [f"card-{relation}" for relation in RELATIONS[:2]]
    assert shuffled == true[::-1]
