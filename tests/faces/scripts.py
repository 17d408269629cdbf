"""What the tests of the faces share: scripts of texts, an episode as the core alone plays it, and a Challenger that poses."""

from dataclasses import dataclass, replace
from itertools import chain, repeat

from gymnasium.utils import seeding
from hypothesis import strategies as st

from sesa_env.game import SearchGame, Turn
from sesa_env.types import Role
from tests.toy import LONG_QUESTION, toy_world

WORLD = toy_world()
"""What every environment is made on where the fixture `toy` is used."""

MOVES = (
    "<search>alda wern</search>",
    "<think>hm</think><search>corin</search>",
    "<search>outage</search>",  # the toy retriever fails at it
    f"<question>{LONG_QUESTION}</question>",
    "<question>Why?</question>",
    "<answer>Corin Vale</answer>",
    "<answer>C. Vale</answer>",
    "<search>",
    "no action \ud800",
    "<answer>\x00\u202e</answer>",
)
POSING = ["<search>alda wern</search>", f"<question>{LONG_QUESTION}</question>"]
scripts = st.tuples(st.sampled_from(([], POSING)), st.lists(st.sampled_from(MOVES) | st.text(max_size=12), max_size=12)).map(
    lambda parts: parts[0] + parts[1]
)


def endless(script):
    """A script that goes on with nothing, which every seat forfeits by in the end."""
    return chain(script, repeat(""))


@dataclass
class Story:
    """One episode from outside: each of the caller's turns as a step shows it; and from inside: the transcript and rewards."""

    begun: str
    steps: list[tuple[str, float, bool, bool]]
    transcript: list[Turn]
    rewards: dict[str, dict[str, float]]


def inside(game):
    """The inner half of a story, of a game that may be reset later."""
    state = game.state
    return list(state.transcript), {role: dict(parts) for role, parts in state.rewards.items()}


class Poser:
    """A Challenger that always poses the one question that the toy verifier knows."""

    def act(self, view):
        return POSING[min(len(view.turns), 1)]


def make_poser(world, seed=0):
    return Poser()


def told_by_the_core(config, role, player, seed, index, script):
    """An episode played on `SearchGame` alone, by the rules that `SearchEnv` documents."""
    generator = seeding.np_random(seed)[0]
    game = SearchGame(WORLD, config if role is not Role.SOLVER else replace(config, group_size=1))
    pool = WORLD.questions if role is Role.SOLVER and player is None else WORLD.targets
    while True:
        task = pool[int(generator.integers(len(pool)))] if index is None else pool[index]
        prompt = game.reset(task, seed=int(generator.integers(2**31)))
        inner = let_play(game, role, player)
        if game.actor is not None:
            break
    steps = []
    for text in endless(script):
        turn = game.act(text)
        if let_play(game, role, player):
            earned = turn.reward + game.state.rewards["challenger"][config.reward.challenger]
            turn = game.state.transcript[-1]._replace(reward=earned, terminated=True, truncated=False)
        steps.append((turn.observation, turn.reward, turn.terminated, turn.truncated))
        if game.actor is None:
            return Story(inner[-1].observation if inner else prompt, steps, *inside(game))
    raise AssertionError("an endless script has an end")


def let_play(game, role, player):
    """Lets the inner player act while it is its turn; returns its turns."""
    turns = []
    while role is not None and game.actor not in (None, role):
        turns.append(game.act(player.act(game.view())))
    return turns
