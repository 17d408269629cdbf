"""Nothing from outside changes an episode: a stray draw, a global seed, another environment beside; and we change nothing."""

# ruff: noqa: NPY002 - the global generator is what is looked at

import random

import gymnasium
import numpy as np
import pytest

from tests.faces.scripts import MOVES, WORLD

pytestmark = pytest.mark.usefixtures("toy")
RULES = {"group_size": 2}
TURNS = 12


def texts(count):
    draw = np.random.default_rng(count)
    return [MOVES[i] for i in draw.integers(len(MOVES), size=TURNS)]


def core(disturb):
    from sesa_env.game import GameConfig, SearchGame

    game = SearchGame(WORLD, GameConfig(group_size=2))
    for seed, text in enumerate(texts(1)):
        if game.actor is None:
            yield game.reset(WORLD.targets[0], seed)
        disturb()
        yield game.act(text)


def single(disturb, **seats):
    env = gymnasium.make("SESA-Search-v0", rules=RULES, **seats)
    yield env.reset(seed=1)
    for text in texts(1):
        disturb()
        step = env.step(text)
        yield step
        if step[2] or step[3]:
            yield env.reset()


def against_a_player(disturb):
    yield from single(disturb, role="solver", opponent="tests.faces.scripts:make_poser")


def vector(disturb):
    envs = gymnasium.make_vec("SESA-Search-v0", 2, rules=RULES, autoreset_mode="SameStep")
    yield envs.reset(seed=1)[0]
    for pair in zip(texts(1), texts(2), strict=True):
        disturb()
        observations, rewards, terminated, truncated, _ = envs.step(pair)
        yield observations, rewards.tolist(), terminated.tolist(), truncated.tolist()


def aec(disturb):
    from sesa_env.multiagent import env

    game = env(rules=RULES)
    game.reset(seed=1)
    for text in texts(1):
        if not game.agents:
            game.reset()
        disturb()
        yield game.last()
        game.step(None if any(game.last()[2:4]) else text)


def parallel(disturb):
    from sesa_env.multiagent import parallel_env

    game = parallel_env(rules=RULES)
    yield game.reset(seed=1)
    for text in texts(1):
        disturb()
        yield game.step(dict.fromkeys(game.agents, text))
        if not game.agents:
            yield game.reset()


def stray_draws():
    random.random()
    np.random.random(3)


def global_seeds():
    random.seed(0)
    np.random.seed(0)


def fresh_global_generators():
    random.setstate(random.Random(7).getstate())
    np.random.set_state(np.random.RandomState(7).get_state())


def another_of_ours():
    other = gymnasium.make("SESA-Search-v0", rules=RULES)
    other.reset(seed=99)
    other.step(MOVES[0])


def another_of_theirs():
    other = gymnasium.make("FrozenLake-v1")
    other.reset(seed=99)
    other.step(0)


FACES = [core, single, against_a_player, vector, aec, parallel]


@pytest.fixture(autouse=True)
def _restored():
    """The global generators are left as they were found."""
    ours, numpys = random.getstate(), np.random.get_state()
    yield
    random.setstate(ours)
    np.random.set_state(numpys)


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("disturb", [stray_draws, global_seeds, fresh_global_generators, another_of_ours, another_of_theirs])
def test_nothing_beside_changes_an_episode(face, disturb):
    if face in (aec, parallel):
        pytest.importorskip("pettingzoo")
    undisturbed = list(face(lambda: None))
    assert len(undisturbed) > TURNS - 1
    assert list(face(disturb)) == undisturbed


@pytest.mark.parametrize("face", FACES)
def test_the_global_generators_are_left_alone(face):
    if face in (aec, parallel):
        pytest.importorskip("pettingzoo")
    random.seed(5)
    np.random.seed(5)
    list(face(lambda: None))
    drawn = random.random(), float(np.random.random())
    random.seed(5)
    np.random.seed(5)
    assert drawn == (random.random(), float(np.random.random()))
