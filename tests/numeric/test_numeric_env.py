"""`SESA-SearchDiscrete-v0`: the checkers of Gymnasium and stable-baselines3; the rules, seeds and records of the game."""

from dataclasses import asdict

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check
from gymnasium.utils.env_checker import data_equivalence
from hypothesis import given, settings
from hypothesis import strategies as st

import sesa_env
from sesa_env.errors import ConfigError, SesaError
from sesa_env.memory.bank import SkillBank
from sesa_env.numeric import ACTIONS, choices, observe
from sesa_env.numeric.leads import leads
from sesa_env.records import replay
from sesa_env.worlds import make_world
from tests.toy import card

SMALL = {"corpus_options": {"size": 300, "n_questions": 30, "n_targets": 30}}
MODES = {"off": {}, "on": {"memory": "seeds"}, "asked by a challenger": {"opponent": "challenger"}}
BY_CARD = ACTIONS.index("search the first name by a card")
BY_WORDS = ACTIONS.index("search the first name by the question's words")
LED, GIVE_UP = ACTIONS.index("answer with what the first name led to"), ACTIONS.index("give up")


def make(**kwargs):
    return gymnasium.make("SESA-SearchDiscrete-v0", **{**SMALL, **kwargs})


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_gymnasiums_checker_passes(mode):
    gymnasium_check(make(**mode).unwrapped)


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_the_checker_of_stable_baselines3_passes(mode):
    checker = pytest.importorskip("stable_baselines3.common.env_checker", reason="needs the sb3 extra")
    checker.check_env(make(**mode).unwrapped)


def test_spec_survives_json():
    env = make(memory="seeds")
    spec = gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json())
    assert data_equivalence(gymnasium.make(spec).reset(seed=3), env.reset(seed=3))


def played(env, seed, actions):
    """One episode of these actions, then of giving up: all that the environment returned."""
    steps = [env.reset(seed=seed)]
    for action in [*actions, GIVE_UP]:
        steps.append(env.step(action))
        if steps[-1][2] or steps[-1][3]:
            return steps
    raise AssertionError("giving up should have ended the episode")


@settings(max_examples=25)
@given(st.sampled_from(list(MODES)), st.integers(0, 50), st.lists(st.integers(0, len(ACTIONS) - 1), max_size=12))
def test_any_actions_play_an_episode_of_the_game(mode, seed, actions):
    env = make(**MODES[mode])
    steps = played(env, seed, actions)
    assert data_equivalence(steps, played(make(**MODES[mode]), seed, actions))
    assert all(step[0] in env.observation_space for step in steps)
    assert replay(env.unwrapped.text.record()) == ""  # the same texts are the same episode in the game without this face


@settings(max_examples=25)
@given(st.integers(0, 50), st.lists(st.integers(0, len(ACTIONS) - 1), max_size=6))
def test_the_mask_tells_which_actions_are_turns(seed, actions):
    env = make(memory="seeds").unwrapped
    _, info = env.reset(seed=seed)
    for action in actions:
        mask = env.action_masks()
        assert mask.tolist() == info["action_mask"].astype(bool).tolist() == [bool(turn) for turn in env.choices().turns]
        _, reward, terminated, _, info = env.step(action)
        assert (info["event"] in ("malformed", "forfeit")) == (not mask[action])
        assert mask[action] or reward == pytest.approx(-0.1)
        if terminated:
            return


def test_what_is_shown_is_a_function_of_the_view():
    env = make(memory="seeds").unwrapped
    shown, _ = env.reset(seed=5)
    for action in (BY_WORDS, 0):
        view = env.text.view()
        assert choices(view) == env.choices()
        assert data_equivalence(observe(view, choices(view)), shown)
        shown, *_ = env.step(action)


def test_at_the_end_there_is_nothing_to_see_or_do():
    env = make().unwrapped
    env.reset(seed=1)
    shown, reward, terminated, truncated, info = env.step(GIVE_UP)
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert not any(vector.any() for vector in shown.values())
    assert not env.action_masks().any()
    assert not info["action_mask"].any()
    with pytest.raises(SesaError, match="call reset"):
        env.step(GIVE_UP)


def test_rendering_shows_the_texts():
    env = make(render_mode="ansi").unwrapped
    env.reset(seed=1)
    env.step(0)
    assert f"[solver] {env.text.game.state.transcript[0].text}" in env.render()


@pytest.mark.parametrize("action", [-1, len(ACTIONS), 0.5, "0"])
def test_what_is_no_action_is_refused(action):
    env = make().unwrapped
    env.reset(seed=1)
    with pytest.raises(SesaError, match="expected a whole number from 0 to 14"):
        env.step(action)


def test_pictures_are_refused():
    with pytest.raises(ConfigError, match="expected None or 'ansi'"):
        sesa_env.numeric.SearchDiscreteEnv(render_mode="rgb_array")


def lookups(world):
    """Questions of one relation that says other words than its passages, each with the name and the words of both."""
    for question in world.questions:
        queries, found = world.graph.ideal_queries(question.text), leads(question.text, ())
        if len(queries) == len(found) == len(found[0].steps) == 1 and queries[0].startswith(found[0].name):
            yield question, found[0].steps[0].own.removeprefix("{entity} "), queries[0].replace(found[0].name, "{entity}")


def test_on_miniwiki_cards_open_actions_that_find_what_the_questions_words_do_not(tmp_path):
    options = {"seed": 1000, "size": 1000, "n_questions": 60, "n_targets": 0, "families": {"single": 1.0}}
    asked = list(lookups(make_world("miniwiki", **options)))
    assert len(asked) >= 40
    written = {words: card(f"c{place}", trigger=f'"{words}"', queries=(best,)) for place, (_, words, best) in enumerate(asked)}
    with SkillBank.open(tmp_path / "bank.sqlite") as bank:
        bank.prime(written.values())
    off = make(corpus_options=options).unwrapped
    on = make(corpus_options=options, memory=str(tmp_path / "bank.sqlite")).unwrapped
    right = {"off": 0, "on": 0}
    for question, _, _ in asked:
        for name, env, search in (("off", off, BY_WORDS), ("on", on, BY_CARD)):
            env.reset(options={"question": asdict(question)})
            assert env.action_masks()[BY_CARD] == (name == "on")
            env.step(search)
            _, reward, *_ = env.step(LED if env.action_masks()[LED] else GIVE_UP)
            right[name] += int(reward)
    assert right["on"] / len(asked) > 0.8
    assert right["off"] / len(asked) < 0.4
