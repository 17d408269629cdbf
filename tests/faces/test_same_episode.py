"""Random scripts through every face: the core, Gymnasium's, the vector's and PettingZoo's tell one and the same story."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils import seeding
from hypothesis import given, settings
from hypothesis import strategies as st

from sesa_env.game import GameConfig
from sesa_env.integrations.seats import SeatTasks
from sesa_env.players.load import load_player
from sesa_env.types import Role
from sesa_env.vector import SearchVectorEnv
from tests.faces.scripts import WORLD, Story, endless, inside, scripts, told_by_the_core

RULES = {"group_size": 2, "max_turns": 4, "challenger_max_turns": 5, "max_searches": 2}
SEATS = {
    "both": {},
    "solver": {"role": "solver"},
    "solver, posed to": {"role": "solver", "opponent": "tests.faces.scripts:make_poser"},
    "challenger": {"role": "challenger", "opponent": "naive"},
}
pytestmark = pytest.mark.usefixtures("toy")
seeds = st.integers(0, 2**31 - 1)
indices = st.sampled_from((None, 0))  # target 0 is the one about which a valid question can be posed


def core(seats, seed, index, script):
    role = Role(seats["role"]) if seats else None
    other = Role.SOLVER if role is Role.CHALLENGER else Role.CHALLENGER
    player = load_player(seats["opponent"], WORLD, role=other) if "opponent" in seats else None
    return told_by_the_core(GameConfig(**RULES), role, player, seed, index, script)


def options(index):
    return None if index is None else {"index": index}


def single(seats, seed, index, script):
    env = gymnasium.make("SESA-Search-v0", rules=RULES, **seats)
    begun, _ = env.reset(seed=seed, options=options(index))
    steps = []
    for text in endless(script):
        steps.append(env.step(text)[:4])
        if steps[-1][2] or steps[-1][3]:
            return Story(begun, steps, *inside(env.unwrapped.game))
    raise AssertionError


def vector(seats, seed, index, texts, mode):
    """Plays a script in each row until each has ended once; returns the rows' first episodes."""
    count = len(texts)
    envs = gymnasium.make_vec("SESA-Search-v0", count, rules=RULES, autoreset_mode=mode, **seats)
    begun, _ = envs.reset(seed=seed, options=options(index))
    stories = [Story(text, [], [], {}) for text in begun]
    lines = [endless(script) for script in texts]
    told = [False] * count
    while not all(told):
        games = [row.game for row in envs.envs]
        states = [game.state for game in games]
        shown, rewards, terminated, truncated, infos = envs.step(tuple(next(line) for line in lines))
        for i in (i for i in range(count) if not told[i]):
            told[i] = bool(terminated[i] or truncated[i])
            text = infos["final_obs"][i] if told[i] and mode == "SameStep" else shown[i]
            stories[i].steps.append((text, rewards[i], terminated[i], truncated[i]))
            if told[i]:
                turns, parts = states[i].transcript, states[i].rewards
                stories[i].transcript, stories[i].rewards = list(turns), {role: dict(part) for role, part in parts.items()}
        if mode == "Disabled" and (over := terminated | truncated).any():
            envs.reset(options={"reset_mask": over})
    return stories


def aec(seed, index, script):
    from sesa_env.multiagent import env

    game = env(rules=RULES)
    game.reset(seed=seed, options=options(index))
    begun, lines, steps = game.last()[0]["text"], endless(script), []
    sums = dict.fromkeys(game.agents, 0.0)
    for agent in game.agent_iter():
        _, reward, terminated, truncated, _ = game.last()
        sums[agent] += reward
        if terminated or truncated:
            game.step(None)
            continue
        game.step(next(lines))
        over = {*game.terminations.values()}, {*game.truncations.values()}
        assert [len(ends) for ends in over] == [1, 1]  # the agents end together
        text = game.observe(game.agent_selection)["text"]
        steps.append((text, game.rewards[agent], over[0].pop(), over[1].pop()))
    return Story(begun, steps, *inside(game.unwrapped.table.env.game)), sums


def parallel(seed, index, script):
    from sesa_env.multiagent import parallel_env

    game = parallel_env(rules=RULES)
    shown, _ = game.reset(seed=seed, options=options(index))
    begun, lines, steps = shown[game.table.actor]["text"], endless(script), []
    sums = dict.fromkeys(game.agents, 0.0)
    while game.agents:
        actor = game.table.actor
        shown, rewards, terminated, truncated, _ = game.step(dict.fromkeys(game.agents, next(lines)))
        for agent, reward in rewards.items():
            sums[agent] += reward
        (text,) = {"", *(part["text"] for part in shown.values())} - {""} or {""}
        steps.append((text, rewards[actor], terminated[actor], truncated[actor]))
    return Story(begun, steps, *inside(game.table.env.game)), sums


def trained(seats, seed, index, script):
    """As the adapters for TRL, verl and verifiers play: by the number of a task."""
    tasks = SeatTasks(**seats, rules=RULES)
    draw = seeding.np_random(seed)[0]
    number = int(draw.integers(len(tasks))) if index is None else index
    game, lines = tasks.begin(number, int(draw.integers(2**31))), endless(script)
    while tasks.plays(game):
        tasks.step([game], [next(lines)])
    return *inside(game), tasks.reward(game)


@pytest.mark.parametrize("seats", SEATS.values(), ids=SEATS)
@given(seed=seeds, index=indices, script=scripts)
@settings(max_examples=40)
def test_gymnasium_tells_what_the_core_tells(seats, seed, index, script):
    assert single(seats, seed, index, script) == core(seats, seed, index, script)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("seats", SEATS.values(), ids=SEATS)
@given(seed=seeds, index=indices, texts=st.lists(scripts, min_size=1, max_size=4))
@settings(max_examples=15)
def test_each_row_of_the_vector_tells_what_the_core_tells(seats, mode, seed, index, texts):
    alone = [core(seats, seed + row, index, script) for row, script in enumerate(texts)]
    assert vector(seats, seed, index, texts, mode) == alone


@pytest.mark.parametrize("face", [aec, parallel])
@given(seed=seeds, index=indices, script=scripts)
@settings(max_examples=40)
def test_pettingzoo_tells_what_the_core_tells(face, seed, index, script):
    pytest.importorskip("pettingzoo")
    told = core({}, seed, index, script)
    story, sums = face(seed, index, script)
    assert story == told
    assert sums == pytest.approx({f"{role}_0": sum(told.rewards.get(role, {}).values()) for role in ("challenger", "solver")})


@pytest.mark.parametrize("role", ["solver", "challenger"])
@given(seed=seeds, index=indices, script=scripts)
@settings(max_examples=40)
def test_a_trainers_seat_tells_what_the_core_tells(role, seed, index, script):
    seats = SEATS[role]
    told = core(seats, seed, index, script)
    assert trained(seats, seed, index, script) == (told.transcript, told.rewards, sum(told.rewards.get(role, {}).values()))


def test_the_scripts_reach_every_kind_of_turn():
    """Else the tests above would show less than they say."""
    seen = set()

    @given(seed=seeds, index=indices, script=scripts)
    @settings(max_examples=200)
    def look(seed, index, script):
        seen.update(turn.event for turn in core({}, seed, index, script).transcript)

    look()
    assert seen >= {"search", "search_failed", "question", "answer", "malformed", "forfeit", "over_budget", "out_of_turns"}
    assert "rejected:no_question" in seen


def test_the_rows_of_a_vector_are_numpys():
    envs = SearchVectorEnv(2, rules=RULES)
    envs.reset(seed=0)
    _, rewards, terminated, truncated, _ = envs.step(("", ""))
    assert [array.dtype for array in (rewards, terminated, truncated)] == [np.float64, np.bool_, np.bool_]
