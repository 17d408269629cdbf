"""Steps a second of the game: bare, with searches on a stub, through Gymnasium, and on real BM25.

`stub` answers every search with the same three passages, so it measures the rules alone; `bm25` searches 20,000 passages.
"""

import gymnasium
import pytest

import sesa_env
from sesa_env.game import GameConfig, SearchGame
from sesa_env.types import Passage, Question
from sesa_env.worlds import World

PASSAGES = [Passage(f"p{i}", f"Title {i}", "some sixty words of text " * 12, 1.0) for i in range(3)]
QUESTION = Question("q", "Who is the spouse of the director of the film that opened the festival?", ("Corin Vale",))
SCRIPT = ("<think>First the director.</think><search>festival opening film director</search>",) * 9 + (
    "<answer>nobody</answer>",
)
ANSWERS = ("<answer>nobody</answer>",)


class Stub:
    """A corpus and retriever that costs nothing."""

    fingerprint = "stub"

    def search(self, queries, k):
        return [PASSAGES[:k]] * len(queries)

    def __len__(self):
        return len(PASSAGES)

    def __getitem__(self, index):
        return PASSAGES[index]

    def find(self, passage_id):
        return None

    def verify(self, question, passages):
        return None


def stub_world():
    stub = Stub()
    return World("stub", "stub", stub, stub, stub, (QUESTION,), ())


def play_game(game, episodes, script):
    for seed in range(episodes):
        game.reset(QUESTION, seed)
        for text in script:
            game.act(text)


def play_env(env, episodes, script):
    for _ in range(episodes):
        env.reset()
        for text in script:
            env.step(text)


def report(benchmark, steps):
    benchmark.extra_info["steps_per_second"] = round(steps / benchmark.stats.stats.median)


@pytest.mark.parametrize("script", [SCRIPT, ANSWERS], ids=["nine searches and an answer", "answers only"])
def test_core(benchmark, script):
    game = SearchGame(stub_world(), GameConfig(group_size=1))
    benchmark(play_game, game, 200, script)
    report(benchmark, 200 * len(script))


def test_gymnasium_make(benchmark, monkeypatch):
    monkeypatch.setattr("sesa_env.records.make_world", lambda name, **_: stub_world())
    env = gymnasium.make("SESA-Search-v0", role="solver")
    benchmark(play_env, env, 200, SCRIPT)
    report(benchmark, 200 * len(SCRIPT))


def test_bm25(benchmark):
    world = sesa_env.make_world("miniwiki", size=20_000)
    game = SearchGame(world, GameConfig(group_size=1))
    benchmark(play_game, game, 20, SCRIPT)
    report(benchmark, 20 * len(SCRIPT))
