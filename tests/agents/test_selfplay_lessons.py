"""What a step teaches: rewards of both seats, groups, void rollouts, duplicates, the judge."""

import pytest

pytest.importorskip("torch")

from agents.judge import Judgement
from agents.rollout import Rollout
from agents.selfplay.config import QuestionConfig, RunConfig
from agents.selfplay.judging import judged
from agents.selfplay.lessons import challenger_rewards, challenger_samples, solver_samples
from agents.selfplay.pool import Posed, ReplayPool
from agents.selfplay.posing import DUPLICATE, Proposal, Recent, Slot, mark_duplicates, slots_of
from agents.selfplay.solving import Solved
from sesa_env.types import Attempt, Question, Target


def rollout(turns=1):
    spans = tuple((number + 1, number + 2) for number in range(turns))
    return Rollout(tuple(range(turns + 1)), (False, *(True,) * turns), (0.0, *(-1.0,) * turns), spans, ("x",) * turns)


def posed(text, **fields):
    return Posed(Question(text, text, ("Corin",), **fields))


def proposal(text="", hops=1, earned=0.0, reason="", failed=0):
    return Proposal(Target("t", "Corin", hops), rollout(), posed(text) if text else None, reason, earned, 1, failed)


def attempt(correct=False, failed=0, malformed=False):
    return Attempt("Jory", correct=correct, malformed=malformed, failed_searches=failed)


def solved(slot, *attempts):
    return Solved(slot, tuple(rollout() for _ in attempts), attempts, tuple(float(one.correct) for one in attempts))


def config(**questions):
    return RunConfig(questions=QuestionConfig(**questions))


def played(proposals, *attempts):
    return [
        solved(Slot(item.posed, place), *attempts)
        for place, item in enumerate(proposals)
        if item.posed is not None and not item.reason
    ]


def test_valid_invalid_duplicate_and_untold_questions_each_have_their_reward():
    proposals = [
        proposal("a"),
        proposal(earned=-0.3, reason="words"),
        proposal("b", reason=DUPLICATE, earned=-0.1),
        proposal("c", failed=1),
        proposal("d"),
    ]
    answers = played(proposals, attempt(True), attempt())
    void = solved(Slot(proposals[4].posed, 4), attempt(failed=1), attempt(failed=1))
    rewards = challenger_rewards(proposals, [*answers[:-1], void], config(duplicate_reward=-0.2))
    assert rewards == [1.0, -0.3, pytest.approx(-0.3), None, None]
    samples = challenger_samples(proposals, rewards, config())
    assert [sample.reward for sample in samples] == rewards[:3]


def test_void_attempts_take_no_part_in_the_solve_rate_or_the_loss():
    proposals = [proposal("a")]
    answers = [solved(Slot(proposals[0].posed, 0), attempt(True), attempt(failed=1), attempt(True), attempt())]
    assert answers[0].solve_rate == pytest.approx(2 / 3)
    assert len(answers[0].group.attempts) == 3
    assert [sample.reward for sample in solver_samples(answers)] == [1.0, 1.0, 0.0]
    assert challenger_rewards(proposals, answers, config()) == [pytest.approx(4 * 2 / 9)]


def test_repetition_costs_in_proportion():
    proposals = [proposal("a"), proposal("b"), proposal(reason="words")]
    rewards = challenger_rewards(proposals, played(proposals, attempt(True), attempt()), config(repetition_penalty=0.5))
    # Both valid ones are of the family "1 hops": each repeats the whole of the others.
    assert rewards == [0.5, 0.5, 0.0]


@pytest.mark.parametrize(("baseline", "groups"), [("batch", [0, 0, 0, 0]), ("hops", [1, 3, 1, 2]), ("target", [0, 0, 1, 1])])
def test_what_a_challengers_reward_is_compared_with(baseline, groups):
    proposals = [proposal("a", hops) for hops in (1, 3, 1, 2)]
    found = challenger_samples(proposals, [1.0] * 4, config(baseline=baseline, per_target=2))
    assert [sample.group for sample in found] == groups


def test_duplicates_are_known_within_the_batch_and_for_some_steps():
    recent = Recent(2)
    first = mark_duplicates([proposal("a"), proposal("a"), proposal(reason="words")], recent.known())
    assert [item.reason for item in first] == ["", DUPLICATE, "words"]
    recent.add(first)
    assert mark_duplicates([proposal("a")], recent.known())[0].reason == DUPLICATE
    recent.add([])
    assert recent.known()
    recent.add([])
    assert not recent.known()
    assert not Recent(0).known()


def test_a_batch_is_filled_with_each_new_question_once_and_with_replayed_ones():
    pool = ReplayPool()
    pool.add([posed("old")])
    proposals = [
        proposal("a"),
        proposal("a", reason=DUPLICATE),
        proposal(reason="words"),
        proposal("b"),
        proposal(reason="words"),
    ]
    slots = slots_of(proposals, pool, config(), 0)
    assert [slot.posed.question.text for slot in slots[:3]] == ["a", "b", "old"]
    assert [slot.proposal for slot in slots] == [0, 3, None, None, None]
    assert {slot.posed.question.text for slot in slots} <= {"a", "b", "old"}
    assert [item.question.text for item in pool.items] == ["old", "a", "b"]


def test_without_refill_or_without_anything_valid_the_batch_is_short():
    proposals = [proposal("a"), proposal(reason="words")]
    assert len(slots_of(proposals, ReplayPool(), config(refill=False), 0)) == 1
    assert slots_of([proposal(reason="words")], ReplayPool(), config(), 0) == []


class OneJudge:
    def __init__(self, *verdicts):
        self.verdicts = list(verdicts)
        self.cases = []

    def judge(self, cases):
        self.cases = list(cases)
        return self.verdicts


def test_a_judge_turns_misses_into_hits_and_what_is_not_judged_is_void():
    item = solved(Slot(posed("a"), 0), attempt(True), attempt(), attempt(), attempt(), attempt(malformed=True))
    judge = OneJudge(Judgement.RIGHT, Judgement.WRONG, Judgement.NOT_JUDGED)
    found = judged([item], judge)[0]
    assert judge.cases == [("a", ("Corin",), "Jory")] * 3
    assert [one.correct for one in found.attempts] == [True, True, False, False, False]
    assert found.rewards == (1.0, 1.0, 0.0, 0.0, 0.0)
    assert found.counted == [0, 1, 2, 4]
    assert found.solve_rate == 0.5
    assert judged([item], None) == [item]
