"""Steps a CPU second of each face, as ratios to the core in the same run, beside GEM, PettingZoo and TextArena; and searches.

All of ours play one script, nine searches and an answer, on a stub that answers every search with the same three passages: what
is measured is rules and face. The others play small text games of their own, where they are installed: a turn of another game
is another thing, so those ratios show an order of magnitude. Rounds alternate, and each ratio is the median of the rounds'.
"""

import statistics
import time
from dataclasses import replace
from itertools import cycle, islice

import gymnasium
import pytest

import sesa_env
from benchmarks.speed.test_game import QUESTION, SCRIPT, play_env, play_game, stub_world
from sesa_env.game import GameConfig, SearchGame
from sesa_env.search.bm25 import BM25Retriever
from sesa_env.types import Target

ROWS = 64
EPISODES = 4 * ROWS  # a round of each face
ROUNDS = 7
STEPS = EPISODES * len(SCRIPT)
PASSAGES = 20_000
SEARCHES = 9  # an episode, before it answers


def core():
    game = SearchGame(stub_world(), GameConfig(group_size=1))
    return lambda: play_game(game, EPISODES, SCRIPT)


def single(**options):
    env = gymnasium.make("SESA-Search-v0", role="solver", **options)
    return lambda: play_env(env, EPISODES, SCRIPT)


def plain():
    env = sesa_env.SearchEnv(role="solver")
    return lambda: play_env(env, EPISODES, SCRIPT)


def vector(mode, **options):
    """All rows together; the last step of an episode begins the next one."""
    envs = gymnasium.make_vec("SESA-Search-v0", ROWS, role="solver", vectorization_mode=mode, **options)
    envs.reset(seed=0)
    batches = [(text,) * ROWS for text in SCRIPT] * (EPISODES // ROWS)

    def play():
        for texts in batches:
            envs.step(texts)

    return play


def ours():
    return vector(None, autoreset_mode="SameStep")


def gymnasiums():
    return vector("sync", vector_kwargs={"autoreset_mode": "SameStep"})


def aec(name):
    pytest.importorskip("pettingzoo")
    from sesa_env import multiagent

    game = getattr(multiagent, name)(rules={"group_size": 1})

    def play():
        for _ in range(EPISODES):
            game.reset(options={"question": QUESTION})
            for text in SCRIPT:
                game.last()
                game.step(text)

    return play


def parallel():
    pytest.importorskip("pettingzoo")
    from sesa_env.multiagent import parallel_env

    game = parallel_env(rules={"group_size": 1})

    def play():
        for _ in range(EPISODES):
            game.reset(options={"question": QUESTION})
            for text in SCRIPT:
                game.step({"solver_0": text})

    return play


OURS = {
    "core": core,
    "SearchEnv": plain,
    "gymnasium.make": single,
    "make_vec, 64 rows": ours,
    "SyncVectorEnv, 64 rows": gymnasiums,
    "PettingZoo raw_env": lambda: aec("raw_env"),
    "PettingZoo env": lambda: aec("env"),
    "PettingZoo parallel_env": parallel,
}


def alternate(faces, timer=time.process_time):
    """Seconds of each face in each round."""
    seconds = {name: [] for name in faces}
    for play in faces.values():
        play()  # warm
    for _ in range(ROUNDS):
        for name, play in faces.items():
            start = timer()
            play()
            seconds[name].append(timer() - start)
    return seconds


def ratio(seconds, name, base):
    return statistics.median(one / other for one, other in zip(seconds[base], seconds[name], strict=True))


def tell(capsys, lines):
    with capsys.disabled():
        print("\n" + "\n".join(lines))  # noqa: T201 - a measurement is for reading


def test_faces_as_ratios_to_the_core(monkeypatch, capsys):
    stub = replace(stub_world(), targets=(Target("t", "Corin Vale", 1),))  # which PettingZoo's face wants, and none plays
    monkeypatch.setattr("sesa_env.records.make_world", lambda name, **_: stub)
    faces = {name: make() for name, make in OURS.items()}
    others = {name: play for name, make in OTHERS.items() if (play := make()) is not None}
    seconds = alternate(faces | others)
    tell(
        capsys,
        (
            f"{name:28} {STEPS / statistics.median(taken):9,.0f} steps a CPU second (best {STEPS / min(taken):9,.0f}), "
            f"{ratio(seconds, name, 'core'):.2f} of the core"
            for name, taken in seconds.items()
        ),
    )


def guessing(begin, guess):
    """Plays as many turns as the others: numbers upwards, until `guess` says that the episode is over."""

    def play():
        taken = 0
        while taken < STEPS:
            begin(taken)
            for number in range(1, 21):
                taken += 1
                if guess(number) or taken == STEPS:
                    break

    return play


def gem():
    """GEM's GuessTheNumber: a text game of one player."""
    try:
        from gem.envs.game_env.guess_the_number import GuessTheNumberEnv
    except ImportError:
        return None
    env = GuessTheNumberEnv()
    return guessing(env.reset, lambda number: any(env.step(f"\\boxed{{{number}}}")[2:4]))


def textarena():
    """TextArena's GuessTheNumber, with the default wrappers of its registry, made anew for each game.

    One that is reset instead keeps what it wrote in all the games before, and slows down from game to game.
    """
    try:
        import textarena
    except ImportError:
        return None
    game = []

    def begin(seed):
        game[:] = [textarena.make("GuessTheNumber-v0")]
        game[0].reset(num_players=1, seed=seed)

    def guess(number):
        game[0].get_observation()
        return game[0].step(f"[{number}]")[0]

    return guessing(begin, guess)


def pettingzoo():
    """PettingZoo's rock, paper, scissors, turn by turn: numbers, no text."""
    try:
        from pettingzoo.classic.rps import rps
    except ImportError:
        return None
    env = rps.env(max_cycles=STEPS)

    def play():
        env.reset(seed=0)
        for action in islice(cycle((0, 1, 2)), STEPS):
            env.last()
            env.step(action)

    return play


OTHERS = {"GEM GuessTheNumber": gem, "TextArena GuessTheNumber": textarena, "PettingZoo rps": pettingzoo}


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_searches_beside_the_raw_retriever(backend, monkeypatch, capsys):
    """Searches a second through the vector environment, its answers and resets included, and of the retriever alone."""
    if backend == "numba":
        pytest.importorskip("numba")
    world = sesa_env.make_world("miniwiki", size=PASSAGES)
    world = replace(world, retriever=BM25Retriever(world.corpus, backend=backend))
    monkeypatch.setattr("sesa_env.records.make_world", lambda name, **_: world)
    queries = [question.text for question in world.graph.questions(ROWS * SEARCHES, split="test")]
    batches = [queries[start : start + ROWS] for start in range(0, len(queries), ROWS)]
    envs = gymnasium.make_vec("SESA-Search-v0", ROWS, role="solver", autoreset_mode="SameStep")
    envs.reset(seed=0)
    steps = [*(tuple(f"<search>{query}</search>" for query in batch) for batch in batches), ("<answer>x</answer>",) * ROWS]

    def play():
        for texts in steps:
            envs.step(texts)

    seconds = alternate({"raw": lambda: [world.retriever.search(batch, 3) for batch in batches], "vector": play})
    rates = {name: len(queries) / statistics.median(taken) for name, taken in seconds.items()}
    tell(
        capsys,
        [
            f"{PASSAGES} passages, {backend}: {rates['vector']:,.0f} searches a CPU second through make_vec, "
            f"{ratio(seconds, 'vector', 'raw'):.2f} of the retriever's {rates['raw']:,.0f} (aim 0.90)"
        ],
    )
