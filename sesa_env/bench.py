"""The command `sesa bench`: how fast the environment is here, as ratios to the bare rules.

Machines differ and share their cores, so each figure is the median of rounds in which everything takes its turn, and beside it
stands the ratio to the bare core of the same rounds. Nothing is compared with other machines.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import gymnasium
import numpy as np

from sesa_env.env import SearchEnv
from sesa_env.errors import ConfigError
from sesa_env.game import GameConfig, SearchGame
from sesa_env.json_option import json_mapping
from sesa_env.types import Passage
from sesa_env.worlds import World, make_world

if TYPE_CHECKING:
    # argparse's sub-parsers have no public name; this alias is for the checker alone.
    SubParsers = argparse._SubParsersAction[argparse.ArgumentParser]

_ROUNDS = 5
_EPISODES = 20  # a round's smallest piece of work
_SEARCHES = 9


@dataclass(frozen=True)
class _SameThree:
    """A search tool that costs nothing: every query brings the same passages."""

    passages: tuple[Passage, ...]
    fingerprint: str = "the same three"

    def search(self, queries: list[str], k: int) -> list[list[Passage]]:
        return [list(self.passages[:k])] * len(queries)


@dataclass(frozen=True)
class Measured:
    """One line of the table: what was measured, of what, how many a second."""

    name: str
    unit: str
    rate: float


def measure(world: World, seconds: float = 1.0, seed: int = 0) -> list[Measured]:
    """Measures a world's environment.

    Args:
        world: what is played on; it must have questions.
        seconds: how long each line is measured, over all rounds; above 0.
        seed: of the scripts.

    Returns:
        The lines, the bare core first: its rate is what the others are compared with.

    Raises:
        ConfigError: the world has no questions, or `seconds` is not above 0.
    """
    if seconds <= 0 or not world.questions:
        raise ConfigError(
            f"expected a time above 0 and a world with questions; got {seconds} and {len(world.questions)} questions"
        )
    scripts = _scripts(world, seed)
    free = replace(world, retriever=_SameThree(tuple(world.corpus[i] for i in range(min(3, len(world.corpus))))))
    queries = [text.removeprefix("<search>").removesuffix("</search>") for script in scripts for text in script[:-1]]
    work: Mapping[tuple[str, str], Callable[[], int]] = {
        ("core, searches that cost nothing", "turns"): _core(free, scripts),
        ("core", "turns"): _core(world, scripts),
        ("gymnasium.make, searches that cost nothing", "turns"): _made(free, scripts),
        ("gymnasium.make", "turns"): _made(world, scripts),
        ("search tool, one query at a time", "searches"): _searches(world, queries, 1),
        ("search tool, 64 queries together", "searches"): _searches(world, queries, 64),
    }
    rates: dict[tuple[str, str], list[float]] = {name: [] for name in work}
    for _ in range(_ROUNDS):
        for name, piece in work.items():
            rates[name].append(_rate(piece, seconds / _ROUNDS))
    return [Measured(name, unit, statistics.median(of)) for (name, unit), of in rates.items()]


def _scripts(world: World, seed: int) -> list[list[str]]:
    """Random scripts: nine searches for words of the world's questions, then an answer."""
    generator = np.random.default_rng(seed)
    words = [question.text.split() for question in world.questions]

    def query() -> str:
        chosen = words[int(generator.integers(len(words)))]
        return " ".join(str(word) for word in generator.choice(np.array(chosen), size=min(4, len(chosen)), replace=False))

    return [[*(f"<search>{query()}</search>" for _ in range(_SEARCHES)), "<answer>nobody</answer>"] for _ in range(_EPISODES)]


def _rate(piece: Callable[[], int], seconds: float) -> float:
    """How many units a second a piece of work does, repeated for so many seconds, at least once."""
    done, start = 0, time.perf_counter()
    while True:
        done += piece()
        if (passed := time.perf_counter() - start) >= seconds:
            return done / passed


def _core(world: World, scripts: Sequence[Sequence[str]]) -> Callable[[], int]:
    """A piece of work: each script played on the bare rules."""
    game = SearchGame(world, GameConfig(group_size=1))

    def play() -> int:
        for index, script in enumerate(scripts):
            game.reset(world.questions[index % len(world.questions)], seed=index)
            for text in script:
                game.act(text)
        return sum(map(len, scripts))

    return play


def _made(world: World, scripts: Sequence[Sequence[str]]) -> Callable[[], int]:
    """A piece of work: each script played through what `gymnasium.make` gives."""
    env = gymnasium.make("SESA-Search-v0", role="solver", corpus_options={"size": 300, "n_questions": 1, "n_targets": 1})
    inner = env.unwrapped
    assert isinstance(inner, SearchEnv)
    inner.game.world = world  # a world that was made by hand has no name to be made by

    def play() -> int:
        for script in scripts:
            env.reset()
            for text in script:
                env.step(text)
        return sum(map(len, scripts))

    return play


def _searches(world: World, queries: Sequence[str], together: int) -> Callable[[], int]:
    """A piece of work: each query answered by the search tool, so many in one call."""

    def search() -> int:
        for start in range(0, len(queries), together):
            world.retriever.search(list(queries[start : start + together]), 3)
        return len(queries)

    return search


def add_bench_command(subparsers: "SubParsers") -> None:
    """Adds `bench` to a parser's sub-parsers; it sets `run`, from the parsed arguments to an exit code."""
    bench = subparsers.add_parser("bench", help="measure the environment's speed on this machine")
    bench.add_argument("--corpus", default="miniwiki", help="the world (default: miniwiki)")
    bench.add_argument("--corpus-options", type=json_mapping, default={}, metavar="JSON", help="the world's options")
    bench.add_argument("--seconds", type=float, default=1.0, help="how long each line is measured (default: 1)")
    bench.set_defaults(run=_bench)


def _bench(options: argparse.Namespace) -> int:
    lines = measure(make_world(options.corpus, **options.corpus_options), options.seconds)
    core = lines[0].rate
    sys.stdout.write(f"{'':44}{'a second':>12}  {'':9}to the first line\n")
    for line in lines:
        sys.stdout.write(f"{line.name:44}{line.rate:12,.0f}  {line.unit:9}{line.rate / core:.3f}\n")
    return 0
