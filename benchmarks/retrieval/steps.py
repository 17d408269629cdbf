"""A Solver's search steps a second in the whole environment: in this process, on `sesa serve`, on one that does not search.

python -m benchmarks.retrieval.steps
python -m benchmarks.retrieval.steps --size 20000 --seconds 5

Each place is measured with one Gymnasium environment stepped by itself, and with 64 games in lock-step, which share a request.
Scoring is compiled before, where numba is installed, as it is by itself after some seconds of searching.
"a connection a query" is what most clients of the field do: it shows what keeping connections is worth.
"""

import argparse
import json
import statistics
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count

import gymnasium

from benchmarks.retrieval.served import served, start, stop
from sesa_env.env import SearchEnv
from sesa_env.game import GameConfig, SearchGame
from sesa_env.play import step
from sesa_env.search.base import Retriever
from sesa_env.search.bm25 import NUMBA_PAYS_AFTER
from sesa_env.search.client import RemoteRetriever, RemoteSettings
from sesa_env.search.wire import read_result, write_request
from sesa_env.types import Passage
from sesa_env.worlds import World, make_world

GAMES = 64
SEARCHES = 9
REFERENCE = 563
"""Steps a second of GEM's environment with search over HTTP on loopback, on the machine that docs/server.md tells of."""


class ConnectionAQuery:
    """Asks each query on a connection of its own."""

    fingerprint = "a connection a query"

    def __init__(self, url: str) -> None:
        self._url = f"{url}/retrieve"

    def search(self, queries: list[str], k: int) -> list[list[Passage]]:
        """Returns what the server finds."""
        return [self._one(query, k) for query in queries]

    def _one(self, query: str, k: int) -> list[Passage]:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._url, write_request([query], k), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return read_result(answer.read(), 1, k)[0]


def turns(world: World) -> Iterator[list[str]]:
    """Yields episodes for ever: nine searches, each with another question's text, and an answer."""
    texts = [question.text for question in world.questions]
    for episode in count():
        asked = [texts[(episode * SEARCHES + turn) % len(texts)] for turn in range(SEARCHES)]
        yield [*(f"<think>Next.</think><search>{text}</search>" for text in asked), "<answer>nobody</answer>"]


def one_environment(env: gymnasium.Env[str, str], episodes: Iterator[list[str]], seconds: float) -> float:
    """Returns steps a second of one environment."""
    steps, began = 0, time.perf_counter()
    while (took := time.perf_counter() - began) < seconds:
        env.reset()
        for text in next(episodes):
            env.step(text)
            steps += 1
    return steps / took


def lock_step(world: World, episodes: Iterator[list[str]], seconds: float) -> float:
    """Returns steps a second of 64 games that search together."""
    games = [SearchGame(world, GameConfig(group_size=1)) for _ in range(GAMES)]
    steps, began = 0, time.perf_counter()
    while (took := time.perf_counter() - began) < seconds:
        scripts = [next(episodes) for _ in games]
        for game in games:
            game.reset(world.questions[0])
        for texts in zip(*scripts, strict=True):
            step(games, texts)
            steps += GAMES
    return steps / took


Measurement = Callable[[float], float]
"""From seconds to measure for to steps a second."""


def measurements(world: World, remotes: Mapping[str, Retriever]) -> dict[tuple[str, str], Measurement]:
    """Returns what is measured, by place and way."""
    places = {"in this process": world} | {name: replace(world, retriever=found) for name, found in remotes.items()}
    ways: dict[tuple[str, str], Measurement] = {}
    for name, place in places.items():
        ways[name, "one environment"] = partial(one_environment, _environment(place), turns(place))
        ways[name, f"{GAMES} games"] = partial(lock_step, place, turns(place))
    return ways


def search_until_compiled(world: World, retriever: Retriever) -> None:
    """Asks until BM25 has been asked often enough to be compiled."""
    texts = [question.text for question in world.questions]
    for _ in range(0, NUMBA_PAYS_AFTER + len(texts), len(texts)):
        retriever.search(texts, GameConfig().top_k)


def _environment(world: World) -> gymnasium.Env[str, str]:
    """Makes the registered environment and puts it on a world that has no name to be made by."""
    env = gymnasium.make(
        "sesa_env:SESA-Search-v0", role="solver", corpus_options={"size": 300, "n_questions": 1, "n_targets": 0}
    )
    unwrapped = env.unwrapped
    assert isinstance(unwrapped, SearchEnv)
    unwrapped.game.world = world
    return env


def report(rates: Mapping[tuple[str, str], Sequence[float]]) -> str:
    """Returns the table of medians, as lines for a person."""
    lines = [f"{'place':24}{'way':18}{'steps a second':>15}{'times GEM':>11}   lowest to highest"]
    for (place, way), found in rates.items():
        middle = statistics.median(found)
        lines.append(f"{place:24}{way:18}{middle:15,.0f}{middle / REFERENCE:11.1f}   {min(found):,.0f} to {max(found):,.0f}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the script."""
    parser = argparse.ArgumentParser(description="A Solver's search steps a second, in process and on servers.")
    parser.add_argument("--size", type=int, default=2_000, help="passages of the MiniWiki (default: 2000)")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement (default: 1)")
    parser.add_argument("--rounds", type=int, default=3, help="times that all are measured, in turn (default: 3)")
    options = parser.parse_args(arguments)
    chosen = {"corpus": "miniwiki", "size": options.size, "n_questions": 500, "n_targets": 0}
    world = make_world(**chosen)
    with served("--world", json.dumps(chosen), "--port", "0") as ours, stub_served() as stub:
        remotes: dict[str, Retriever] = {
            "sesa serve": RemoteRetriever(RemoteSettings(url=ours)),
            "a connection a query": ConnectionAQuery(ours),
            "a stub server": RemoteRetriever(RemoteSettings(url=stub)),
        }
        for retriever in (world.retriever, remotes["sesa serve"]):
            search_until_compiled(world, retriever)
        ways = measurements(world, remotes)
        rates: dict[tuple[str, str], list[float]] = {way: [] for way in ways}
        for _ in range(options.rounds):
            for way, measure in ways.items():
                rates[way].append(measure(options.seconds))
    sys.stdout.write(report(rates) + "\n")
    return 0


@contextmanager
def stub_served() -> Iterator[str]:
    """Serves without searching while the block runs; gives the server's URL."""
    process, url = start(command=[sys.executable, "-m", "benchmarks.retrieval.stub"])
    try:
        yield url
    finally:
        stop(process)


if __name__ == "__main__":
    sys.exit(main())
