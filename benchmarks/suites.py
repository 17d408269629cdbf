"""The seven benchmarks of either suite, as questions and the world to answer them in.

A world travels between processes as plain data (`{"name": ..., "options": {...}}`) and is opened where it is needed; each process
keeps the one that it used last.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from sesa_env.types import Question
from sesa_env import worlds
from sesa_env.worlds import World

WorldSpec: TypeAlias = dict[str, Any]

BENCHMARKS: Mapping[str, str] = {
    "nq": "NQ",
    "triviaqa": "TriviaQA",
    "popqa": "PopQA",
    "hotpotqa": "HotpotQA",
    "2wikimultihopqa": "2Wiki",
    "musique": "MuSiQue",
    "bamboogle": "Bamboogle",
}
"""Short names, in the paper's order, and how the paper writes them."""


class Suite(Protocol):
    """Seven benchmarks.

    Attributes:
        needs_data: whether a directory of data must be given.
        real: whether its benchmarks are the ones that the paper reports on.
        note: what must be said about its scores, in the report and under every table that holds other people's numbers.
    """

    needs_data: bool
    real: bool
    note: str

    def world(self, data: str, size: int, seed: int) -> WorldSpec:
        """Says which world a seed plays in."""
        ...

    def title(self, benchmark: str) -> str:
        """Names a benchmark in tables and figures."""
        ...

    def questions(self, world: World, benchmark: str, count: int, seed: int) -> list[Question]:
        """Returns at most `count` held-out questions of a benchmark, always the same ones for the same arguments."""
        ...


class MiniWikiSuite:
    """The built-in world: each seed has a world of its own, and questions about its held-out entities."""

    needs_data = False
    real = False
    note = (
        "The seven MiniWiki benchmarks are mixtures of invented questions shaped like the real seven, over an invented encyclopaedia: "
        "their scores are not comparable with any published score."
    )

    def world(self, data: str, size: int, seed: int) -> WorldSpec:
        """Makes a new world for each seed; `data` is not used."""
        return {"name": "miniwiki", "options": {"seed": seed, "size": size}}

    def title(self, benchmark: str) -> str:
        """Marks the name as MiniWiki's, so that no table passes it off as the real one."""
        return f"miniwiki/{benchmark}"

    def questions(self, world: World, benchmark: str, count: int, seed: int) -> list[Question]:
        """Draws questions about held-out entities."""
        return list(world.graph.benchmark(benchmark, count, "test", seed))


class FlashragSuite:
    """The real benchmarks from files: one world for all seeds, and the first questions of each file."""

    needs_data = True
    real = True
    note = (
        "These are questions and passages of the real benchmarks, but a chosen subset with a small corpus: the scores are not "
        "comparable with published ones, which search all of Wikipedia."
    )

    def world(self, data: str, size: int, seed: int) -> WorldSpec:
        """Reads the same world for each seed; `size` is what the files hold."""
        return {"name": "flashrag", "options": {"data": data}}

    def title(self, benchmark: str) -> str:
        """Names the real benchmark."""
        return BENCHMARKS[benchmark]

    def questions(self, world: World, benchmark: str, count: int, seed: int) -> list[Question]:
        """Takes the first questions of the file, whatever the seed."""
        return [question for question in world.questions if question.source.rpartition("/")[2] == benchmark][:count]


SUITES: Mapping[str, Suite] = {"miniwiki": MiniWikiSuite(), "flashrag": FlashragSuite()}


def open_world(spec: WorldSpec) -> World:
    """Opens a world, or returns the one this process opened last if it is the same."""
    return _open_world(json.dumps(spec, sort_keys=True))


@lru_cache(maxsize=1)
def _open_world(spec: str) -> World:
    world = json.loads(spec)
    return worlds.make_world(world["name"], **world["options"])


def take_questions(spec: WorldSpec, benchmark: str, count: int, seed: int) -> list[Question]:
    """Returns a benchmark's questions in a world."""
    return SUITES[spec["name"]].questions(open_world(spec), benchmark, count, seed)
