"""The seven benchmarks of either suite, as questions and the world to answer them in.

A world travels between processes as plain data (`{"name": ..., "options": {...}}`) and is opened where it is needed.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

from sesa_env.types import Question
from sesa_env.worlds import World, make_world

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
        bank: where a bank must come from, "" if the arm may choose.
        note: what must be said about its scores, in the report and under every table.
    """

    needs_data: bool
    real: bool
    bank: str
    note: str

    def training_world(self, data: str, size: int, seed: int) -> WorldSpec:
        """Says in which world the loop plays with this seed."""
        ...

    def world(self, data: str, size: int, seed: int) -> WorldSpec:
        """Says in which world questions are answered with this seed."""
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
    bank = ""
    note = (
        "The seven MiniWiki benchmarks are mixtures of invented questions shaped like the real seven, over an invented "
        "encyclopaedia: their scores are not comparable with any published score."
    )

    def training_world(self, data: str, size: int, seed: int) -> WorldSpec:
        """The same passages as `world`, with targets among the train entities; `data` is not used."""
        return {"name": "miniwiki", "options": {"seed": seed, "size": size, "split": "train", "n_questions": 0}}

    def world(self, data: str, size: int, seed: int) -> WorldSpec:
        """Makes a new world for each seed; its questions are drawn by `questions`; `data` is not used."""
        options = {"seed": seed, "size": size, "split": "test", "n_questions": 0, "n_targets": 0}
        return {"name": "miniwiki", "options": options}

    def title(self, benchmark: str) -> str:
        """Marks the name as MiniWiki's, so that no table passes it off as the real one."""
        return f"miniwiki/{benchmark}"

    def questions(self, world: World, benchmark: str, count: int, seed: int) -> list[Question]:
        """Draws questions about held-out entities."""
        return list(world.graph.benchmark(benchmark, count, split="test", seed=seed))


class FlashragSuite:
    """The real benchmarks from files: one world for all seeds, and the first questions of each file.

    There are no train entities here, so every arm is given the hand-written cards alone.
    """

    needs_data = True
    real = True
    bank = "seeds"
    note = (
        "The questions and passages are the real benchmarks' own, but what is searched is the corpus that came with them and "
        "not all of Wikipedia, and the questions may be a chosen subset: the scores are not comparable with published ones. "
        "The scripted players and the floor of the memory's `hash` embedder were developed with such questions in sight."
    )

    def training_world(self, data: str, size: int, seed: int) -> WorldSpec:
        """The same as `world`."""
        return self.world(data, size, seed)

    def world(self, data: str, size: int, seed: int) -> WorldSpec:
        """Reads the same world for each seed; its size is what the files hold."""
        return {"name": "flashrag", "options": {"data": data, "benchmarks": list(BENCHMARKS), "n_targets": 0}}

    def title(self, benchmark: str) -> str:
        """Names the real benchmark."""
        return BENCHMARKS[benchmark]

    def questions(self, world: World, benchmark: str, count: int, seed: int) -> list[Question]:
        """Takes the first questions of the file, whatever the seed.

        The passages that such files name for a question are its context, for the most part merely retrieved: they are not taken
        for evidence, so a hit is a passage with a gold answer.
        """
        found = [question for question in world.questions if question.source == benchmark][:count]
        return [replace(question, evidence=()) for question in found]


SUITES: Mapping[str, Suite] = {"miniwiki": MiniWikiSuite(), "flashrag": FlashragSuite()}


def open_world(spec: WorldSpec) -> World:
    """Opens a world; the same one is opened once in a process."""
    return make_world(spec["name"], **spec["options"])


def take_questions(spec: WorldSpec, benchmark: str, count: int, seed: int) -> list[Question]:
    """Returns a benchmark's questions in a world."""
    return SUITES[spec["name"]].questions(open_world(spec), benchmark, count, seed)
