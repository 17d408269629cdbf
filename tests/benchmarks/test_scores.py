"""Means and pairings out of records."""

import pytest

from benchmarks.scores import Scores
from sesa_env.errors import ConfigError


def record(arm="a", mode="off", benchmark="x", seed=0, world="w", question="q0", em=False, **more):
    scores = {"em": em, "f1": float(em), "hit@1": em, "hit@3": True, "searches": 2, "tokens": 10, **more}
    return {"arm": arm, "mode": mode, "benchmark": benchmark, "seed": seed, "world": world, "id": question, **scores}


def side(right, total, start=0, **more):
    return [record(question=f"q{number}", em=start <= number < start + right, **more) for number in range(total)]


def test_macro_weights_benchmarks_and_micro_weights_questions():
    scores = Scores([*side(9, 90, benchmark="long"), *side(10, 10, benchmark="short")])
    assert scores.mean(("a", "off"), "long", "em") == pytest.approx(0.1)
    assert scores.macro(("a", "off"), "em") == pytest.approx(0.55)
    assert scores.micro(("a", "off"), "em") == pytest.approx(0.19)


def test_means_run_over_seeds():
    scores = Scores([*side(1, 4, seed=0, world="w0"), *side(3, 4, seed=1, world="w1")])
    assert scores.mean(("a", "off"), "x", "em") == pytest.approx(0.5)
    assert scores.size("x") == 4


def test_pairs_go_by_question_whatever_the_order():
    scores = Scores([*side(3, 10), *reversed(side(5, 10, mode="on"))])
    comparison = scores.compare(("a", "off"), ("a", "on"))
    assert comparison.macro.value == pytest.approx(0.2)
    assert (comparison.test.gained, comparison.test.lost) == (2, 0)
    assert comparison.tests["x"] == comparison.test


def test_identical_sides_differ_by_exactly_nothing():
    comparison = Scores([*side(4, 10), *side(4, 10, mode="on")]).compare(("a", "off"), ("a", "on"))
    for estimate in (comparison.macro, comparison.micro, comparison.benchmarks["x"]):
        assert (estimate.value, estimate.low, estimate.high) == (0, 0, 0)
    assert comparison.test.p == 1.0


@pytest.mark.parametrize(
    "other",
    [side(5, 9, mode="on"), side(5, 10, mode="on", world="another"), [*side(5, 9, mode="on"), record(mode="on", question="z")]],
)
def test_other_questions_are_never_compared(other):
    with pytest.raises(ConfigError, match="did not answer the same questions of x"):
        Scores([*side(5, 10), *other]).compare(("a", "off"), ("a", "on"))


def test_a_side_without_records_is_named():
    with pytest.raises(ConfigError, match="no record of a on on x"):
        Scores(side(5, 10)).compare(("a", "off"), ("a", "on"))


def test_the_same_question_under_five_seeds_is_one_pair_of_mcnemar_s_test():
    """Repeating a deterministic player must not make p smaller, nor the interval narrower."""
    one = [*side(3, 30), *side(9, 30, mode="on")]
    five = [{**each, "seed": seed} for each in one for seed in range(5)]
    single, repeated = (Scores(records).compare(("a", "off"), ("a", "on")) for records in (one, five))
    assert repeated.test == single.test
    width = single.macro.high - single.macro.low
    assert repeated.macro.high - repeated.macro.low == pytest.approx(width, abs=1.5 / 30)  # means come in steps of 1 / 30


def test_new_worlds_are_new_pairs():
    records = [
        {**each, "seed": seed, "world": f"w{seed}"} for each in [*side(3, 30), *side(9, 30, mode="on")] for seed in range(5)
    ]
    assert Scores(records).compare(("a", "off"), ("a", "on")).test.gained == 30


def test_f1_is_compared_without_mcnemar():
    comparison = Scores([*side(3, 10), *side(5, 10, mode="on")]).compare(("a", "off"), ("a", "on"), "f1")
    assert (comparison.test, comparison.tests) == (None, {})
    assert comparison.macro.value == pytest.approx(0.2)
