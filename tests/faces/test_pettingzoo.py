"""PettingZoo's own checkers over the AEC and the parallel face, with warnings as errors, and what they do not look at."""

import importlib
import sys
from functools import partial
from types import SimpleNamespace

import pytest

pytest.importorskip("pettingzoo")

from pettingzoo.test import api_test, max_cycles_test, parallel_api_test, parallel_seed_test, render_test, seed_test
from pettingzoo.utils import parallel_to_aec

from sesa_env import multiagent
from sesa_env.errors import ConfigError, SesaError
from sesa_env.multiagent import env, parallel_env, raw_env

SMALL = {"corpus_options": {"size": 300}, "rules": {"group_size": 2}}
# PettingZoo's api_test advises numeric spaces; a text is none. These three sentences are all that is let pass.
TEXT_IS_NO_NUMBER = [
    pytest.mark.filterwarnings("ignore:Observation is not a NumPy array:UserWarning"),
    pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be:UserWarning"),
    pytest.mark.filterwarnings("ignore:Action space for each agent probably should be:UserWarning"),
]
pytestmark = TEXT_IS_NO_NUMBER


def sampled(make):
    """A face whose sampled texts are the same on every run."""
    made = make(**SMALL)
    for seed, agent in enumerate(made.possible_agents):
        made.action_space(agent).seed(seed)
    return made


@pytest.mark.parametrize("make", [env, raw_env])
def test_api(make):
    api_test(sampled(make), num_cycles=100)


def test_parallel_api():
    parallel_api_test(sampled(parallel_env), num_cycles=100)


def test_seeds():
    seed_test(partial(env, **SMALL), num_cycles=50)
    seed_test(partial(raw_env, **SMALL), num_cycles=50)
    parallel_seed_test(partial(parallel_env, **SMALL), num_cycles=50)


def test_render(capsys):
    render_test(partial(env, **SMALL))
    assert "[challenger] " in capsys.readouterr().out  # in "human" mode


@pytest.mark.parametrize("mode", ["human", "ansi"])
def test_a_rejected_question_is_shown_with_the_reason(capsys, mode):
    game = raw_env(render_mode=mode, **SMALL)
    game.reset(seed=0)
    game.step("<search>who</search>")
    game.step("<question>Who is it, then?</question>")
    shown = game.render() if mode == "ansi" else capsys.readouterr().out
    assert "[challenger] <question>Who is it, then?</question>\nrejected: words\n" in shown
    assert "[challenger] <search>who</search>\n<information>" in shown


def seeded(make, **arguments):
    """A face whose sampled texts never pose a question in four turns and never forfeit, so that only the limit ends it."""
    made = make(corpus_options={"size": 300}, rules={"max_strikes": 100}, **arguments)
    made.action_space("challenger_0").seed(1)
    return made


def test_max_cycles():
    """PettingZoo wants a step of each agent in each cycle, so the AEC form is the one that it makes of the parallel one."""
    parallel = partial(seeded, parallel_env)
    max_cycles_test(SimpleNamespace(parallel_env=parallel, env=lambda **options: parallel_to_aec(parallel(**options))))


def test_max_cycles_turn_by_turn():
    game = seeded(env, max_cycles=4)
    game.reset(seed=0)
    turns = 0
    for agent in game.agent_iter():
        *_, terminated, truncated, info = game.last()
        turns += agent == "challenger_0" and not truncated
        game.step(None if terminated or truncated else "<search>who</search>")
    assert (turns, truncated, info["event"]) == (4, True, "rejected:no_question")


def pose(target, graph):
    searches = [f"<search>{target.answer} {word}</search>" for word in ("who", "what", "where")[: target.hops]]
    return [*searches, f"<question>{graph.pose(target, seed=0).text}</question>"]


def test_the_challenger_is_rewarded_when_the_group_is_through():
    game = raw_env(**SMALL)
    game.reset(seed=5)
    core = game.table.env.game
    for text in pose(core.state.task, core.world.graph):
        assert game.agent_selection == "challenger_0"
        game.step(text)
    assert game.agent_selection == "solver_0"
    assert "Question: " in game.last()[0]["text"]
    assert game.observe("challenger_0") == {"text": ""}
    game.step(f"<answer>{core.state.task.answer}</answer>")
    assert game.rewards == {"challenger_0": 0.0, "solver_0": 1.0}
    game.step("<answer>nobody</answer>")
    assert game.rewards == {"challenger_0": 1.0, "solver_0": 0.0}
    ends = {}
    for agent in game.agent_iter():
        _, ends[agent], terminated, truncated, _ = game.last()
        assert (terminated, truncated) == (True, False)
        game.step(None)
    assert ends == {"challenger_0": 1.0, "solver_0": 0.0}
    assert game.agents == []


def test_parallel_only_the_actors_text_counts():
    one, other = parallel_env(**SMALL), parallel_env(**SMALL)
    assert one.reset(seed=3) == other.reset(seed=3)
    text = "<search>who</search>"
    assert one.step({"challenger_0": text}) == other.step({"challenger_0": text, "solver_0": "<answer>x</answer>"})
    with pytest.raises(SesaError, match="it is challenger_0's turn; expected its text, got those of solver_0"):
        one.step({"solver_0": text})


def test_an_episode_from_a_question_has_the_solver_alone():
    game = env(**SMALL)
    game.reset(options={"question": {"id": "q", "text": "What is the colour of the sea?", "answers": ["blue"]}})
    assert game.agents == ["solver_0"]
    for _ in range(2):
        game.step("<answer>blue</answer>")
    assert game.last()[1:4] == (1.0, True, False)
    game.step(None)
    assert game.agents == []


def test_infos_are_not_shared():
    game = raw_env(**SMALL)
    game.reset(seed=0)
    game.infos["challenger_0"]["rewards"]["challenger"]["forged"] = 1.0
    assert "forged" not in game.infos["solver_0"]["rewards"]["challenger"]
    assert "forged" not in game.table.env.game.state.rewards["challenger"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"role": "solver"}, "role: every seat is an agent here; expected neither role nor opponent"),
        ({"opponent": "naive"}, "opponent: every seat is an agent here"),
        (
            {"memry": "seeds"},
            "sesa_search_v0 has no argument 'memry'; expected some of max_cycles, corpus, corpus_options, memory",
        ),
        ({"render_mode": "rgb_array"}, "expected None, 'human' or 'ansi'; got 'rgb_array'"),
        ({"max_cycles": 0}, "max_turns: expected a whole number of at least 1; got 0"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ConfigError, match=message):
        parallel_env(**arguments)


def test_options_are_looked_at():
    with pytest.raises(ConfigError, match="got 'indx'"):
        parallel_env(**SMALL).reset(options={"indx": 0})


def test_an_episode_that_is_over():
    game = parallel_env(**SMALL)
    with pytest.raises(SesaError, match="call reset"):
        game.step({})


def test_the_module_has_the_names_that_pettingzoo_asks_for():
    assert str(raw_env(**SMALL)) == str(env(**SMALL)) == "sesa_search_v0"
    assert multiagent.env(**SMALL).possible_agents == ["challenger_0", "solver_0"]


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    monkeypatch.delitem(sys.modules, "sesa_env.multiagent")
    with pytest.raises(ConfigError, match=r"pip install 'sesa-env\[pettingzoo\]'"):
        importlib.import_module("sesa_env.multiagent")
