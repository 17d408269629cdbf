"""The rewards against the paper's numbers; the scores against SQuAD's rules and the data's traps."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.errors import ConfigError
from sesa_env.grading import contains_answer, exact_match, f1, normalise
from sesa_env.rewards import CHALLENGER_REWARDS, RewardConfig, challenger_reward


def test_bell_has_the_papers_values_at_five_attempts():
    config = RewardConfig()
    values = [challenger_reward(k / 5, config) for k in range(6)]
    assert values == pytest.approx([-0.1, 0.64, 0.96, 0.96, 0.64, -0.1])


@pytest.mark.parametrize("group_size", range(2, 17))
def test_the_papers_bell_is_4p_1_minus_p_to_the_bit(group_size):
    rates = [k / group_size for k in range(1, group_size)]
    assert [challenger_reward(p, RewardConfig()) for p in rates] == [4.0 * p * (1.0 - p) for p in rates]


def test_the_bells_edges_are_numbers_of_the_configuration():
    config = RewardConfig(frontier_low=0.25, frontier_high=0.75, end_penalty=0.2)
    # 4 (1/4 + p)(3/4 - p): highest at p = 1/4, the middle of -1/4 and 3/4, and below zero beyond 3/4.
    assert [challenger_reward(k / 8, config) for k in range(9)] == [-0.2, 0.9375, 1.0, 0.9375, 0.75, 0.4375, 0.0, -0.5625, -0.2]
    assert challenger_reward(0.5, RewardConfig(frontier_high=1.5)) == 2.0


@pytest.mark.parametrize("penalty", [0.0, 0.1, 1.5])
def test_bell_ends_at_minus_lambda(penalty):
    config = RewardConfig(end_penalty=penalty)
    assert challenger_reward(0.0, config) == challenger_reward(1.0, config) == -penalty


def test_ssp_reward_is_one_minus_p():
    config = RewardConfig(challenger="one_minus_p")
    assert [challenger_reward(k / 4, config) for k in range(5)] == [1.0, 0.75, 0.5, 0.25, 0.0]


def test_gaussian_peaks_at_its_mean_and_is_one_sigma_wide():
    config = RewardConfig(challenger="gaussian", gaussian_mean=0.4, gaussian_width=0.2)
    assert challenger_reward(0.4, config) == 1.0
    assert challenger_reward(0.6, config) == pytest.approx(math.exp(-0.5))


def test_format_only_pays_any_valid_question():
    assert {challenger_reward(k / 5, RewardConfig(challenger="format_only")) for k in range(6)} == {1.0}


@given(st.sampled_from(sorted(CHALLENGER_REWARDS)), st.floats(0, 1))
def test_rewards_are_bounded(name, solve_rate):
    assert -0.1 <= challenger_reward(solve_rate, RewardConfig(challenger=name)) <= 1.0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"challenger": "bel"}, "'bel': expected one of bell, format_only, gaussian, one_minus_p or module:factory; type"),
        ({"gaussian_width": 0.0}, "above 0"),
        ({"end_penalty": float("nan")}, "finite"),
        ({"frontier_low": float("nan")}, "frontier_low: expected a finite number"),
        ({"frontier_high": float("inf")}, "frontier_high: expected a finite number"),
    ],
)
def test_bad_reward_numbers_are_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        RewardConfig(**fields)


@pytest.mark.parametrize(
    ("prediction", "answers", "right"),
    [
        ("The  Beatles!", ["beatles"], True),
        ("Sweet Emma, Dear Bo\u0308be", ["Sweet Emma, Dear B\u00f6be"], True),  # NFC joins the two spellings
        ("1943-1992", ["19431992"], True),
        ("1943\u20131992", ["1943-1992"], False),  # SQuAD strips ASCII punctuation only
        ("yes", ["no"], False),
        ("", ["a"], False),
        ("the", ["a"], False),
        ("a", ["A"], False),
        ("!", ["!"], True),
        ("", ["!"], False),
        ("George VI", ["George VI\n"], True),
        ("x", [], False),
    ],
)
def test_exact_match(prediction, answers, right):
    assert exact_match(prediction, answers) is right


@pytest.mark.parametrize(
    ("prediction", "answers", "score"),
    [
        ("Corin Vale", ["Corin Vale"], 1.0),
        ("Corin Vale of Harrow", ["Corin Vale"], 2 * (2 / 4) * 1 / (2 / 4 + 1)),
        ("yes indeed", ["yes"], 0.0),
        ("no", ["no"], 1.0),
        ("", ["Corin"], 0.0),
        ("Corin", ["Jory", "Corin Vale"], 2 / 3),
        ("Corin", [], 0.0),
    ],
)
def test_f1(prediction, answers, score):
    assert f1(prediction, answers) == pytest.approx(score)


@given(st.text(), st.lists(st.text(), max_size=3))
def test_exact_match_implies_full_f1_where_there_are_tokens(prediction, answers):
    assert 0.0 <= f1(prediction, answers) <= 1.0
    if exact_match(prediction, answers) and normalise(prediction):
        assert f1(prediction, answers) == 1.0


@given(st.text())
def test_normalising_twice_changes_nothing(text):
    assert normalise(normalise(text)) == normalise(text)


def test_contains_answer_respects_word_boundaries():
    assert contains_answer("He was the King of Spain.", ["the king"])
    assert not contains_answer("He was kingly.", ["king"])
    assert not contains_answer("anything", ["the", ""])
