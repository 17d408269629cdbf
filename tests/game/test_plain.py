"""JSON to dataclasses: round trips, and errors that name what is wrong."""

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.errors import ConfigError
from sesa_env.game import GameConfig
from sesa_env.plain import build
from sesa_env.types import Question

questions = st.builds(
    Question,
    id=st.text(),
    text=st.text(),
    answers=st.lists(st.text()).map(tuple),
    hops=st.integers(),
    family=st.text(),
    evidence=st.lists(st.text()).map(tuple),
    entities=st.lists(st.text()).map(tuple),
    source=st.text(),
)


@given(questions)
def test_questions_survive_json(question):
    assert build(Question, json.loads(json.dumps(asdict(question)))) == question


def test_nested_rules_survive_json():
    config = build(GameConfig, {"group_size": 2, "reward": {"end_penalty": 1}, "validity": {"noise": 0}})
    assert (config.group_size, config.reward.end_penalty, config.validity.noise) == (2, 1.0, 0)
    assert build(GameConfig, json.loads(json.dumps(asdict(config)))) == config


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"group_sise": 2}, "rules: 'group_sise' is not known; expected some of challenger_max_turns, group_size"),
        ({"group_size": "2"}, "rules.group_size: expected int; got str '2'"),
        ({"group_size": True}, "rules.group_size: expected int; got bool"),
        ({"reward": {"lambda": 1}}, "rules.reward: 'lambda' is not known; expected some of challenger, end_penalty"),
        ({"reward": 3}, "rules.reward: expected a mapping of names to values; got int 3"),
        ({"reward": {"end_penalty": "much"}}, "rules.reward.end_penalty: expected float; got str 'much'"),
    ],
)
def test_wrong_rules_are_named(data, message):
    with pytest.raises(ConfigError, match=message):
        build(GameConfig, data, "rules")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"id": "q", "text": "Who?"}, "'answers' is missing"),
        ({"id": "q", "text": "Who?", "answers": "yes"}, r"Question.answers: expected a list; got str 'yes'"),
        ({"id": "q", "text": "Who?", "answers": [1]}, r"Question.answers\[0\]: expected str; got int 1"),
    ],
)
def test_wrong_questions_are_named(data, message):
    with pytest.raises(ConfigError, match=message):
        build(Question, data)
