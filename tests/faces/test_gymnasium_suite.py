"""What Gymnasium's own suite asks of every registered environment, over all of our ids; its checkers are the installed ones."""

import pickle

import gymnasium
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.utils.env_match import check_environments_match
from gymnasium.wrappers import PassiveEnvChecker

import sesa_env

IDS = sorted(name for name in gymnasium.registry if name.startswith("SESA-"))
SMALL = {"corpus_options": {"size": 300}}
SEEDS = (0, 1, 123)
STEPS = 30


def make(name, **arguments):
    return gymnasium.make(name, **SMALL, **arguments)


def rollout(env, seed):
    """Sampled actions and all that came back, over several episodes."""
    env.action_space.seed(seed)
    yield env.reset(seed=seed)
    for _ in range(STEPS):
        action = env.action_space.sample()
        step = env.step(action)
        assert step[0] in env.observation_space
        yield action, step
        if step[2] or step[3]:
            yield env.reset()


def test_there_is_something_to_look_at():
    assert "SESA-Search-v0" in IDS
    assert sesa_env.SearchEnv is gymnasium.make("SESA-Search-v0", **SMALL).unwrapped.__class__


@pytest.mark.parametrize("name", IDS)
def test_the_checker_passes_without_a_warning(name):
    check_env(make(name).unwrapped)


@pytest.mark.parametrize("name", IDS)
def test_made_environments_are_checked_and_ordered(name):
    env = make(name)
    kinds = []
    while env is not env.unwrapped:
        kinds.append(type(env).__name__)
        env = env.env
    assert kinds == ["OrderEnforcing", "PassiveEnvChecker"]


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_two_of_them_roll_out_alike(name, seed):
    one, other = make(name), make(name)
    for first, second in zip(rollout(one, seed), rollout(other, seed), strict=True):
        assert data_equivalence(first, second, exact=True)


@pytest.mark.parametrize("name", IDS)
def test_wrapped_and_plain_match(name):
    check_environments_match(make(name), make(name, disable_env_checker=True), num_steps=STEPS, seed=3)
    check_environments_match(PassiveEnvChecker(make(name)), make(name).unwrapped, num_steps=STEPS, seed=4)


@pytest.mark.parametrize("name", IDS)
def test_specs_survive_pickle_and_json(name):
    spec = make(name).spec
    for again in (pickle.loads(pickle.dumps(spec)), EnvSpec.from_json(spec.to_json())):
        assert again == spec
        check_environments_match(gymnasium.make(again), make(name), num_steps=5, seed=1)


@pytest.mark.parametrize("name", IDS)
def test_every_render_mode_renders(name):
    modes = make(name).metadata["render_modes"]
    assert "ansi" in modes
    for mode in modes:
        env = make(name, render_mode=mode)
        env.reset(seed=0)
        assert isinstance(env.render(), str)
        env.step(env.action_space.sample())
        assert isinstance(env.render(), str)
        env.close()
    assert make(name).unwrapped.render_mode is None


@pytest.mark.parametrize("name", IDS)
def test_the_entry_point_and_the_module_prefix_make_the_same(name):
    env = gymnasium.make(f"sesa_env:{name}", **SMALL)
    check_environments_match(env, make(name), num_steps=5)
    assert env.spec.reward_threshold is None
    assert not env.spec.nondeterministic
    assert env.spec.max_episode_steps is None  # the turn limit is a rule
    assert env.unwrapped.__class__.__doc__


@pytest.mark.parametrize("name", IDS)
def test_spaces_are_of_the_instance(name):
    one, other = make(name), make(name)
    assert one.action_space == other.action_space
    assert one.action_space is not other.action_space
    assert one.observation_space == other.observation_space


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("mode", ["sync", None])
def test_vectors_roll_out_alike(name, mode):
    one, other = (gymnasium.make_vec(name, 2, vectorization_mode=mode, **SMALL) for _ in range(2))
    for first, second in zip(vector_rollout(one), vector_rollout(other), strict=True):
        assert data_equivalence(first, second, exact=True)


def vector_rollout(envs):
    envs.action_space.seed(0)
    yield envs.reset(seed=0)
    for _ in range(STEPS // 3):
        yield envs.step(envs.action_space.sample())
