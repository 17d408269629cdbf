"""The questions that an experiment asked, with what its records do not say of them: their hops and their kind."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from benchmarks.records import Record, read_json
from benchmarks.suites import take_questions
from benchmarks.units import EvalUnit, unit_from_json
from sesa_env.types import Question

Key: TypeAlias = tuple[int, str, str]
"""Seed, benchmark, question id."""


def key_of(record: Record) -> Key:
    """Returns what names the question that a record answers."""
    return record["seed"], record["benchmark"], record["id"]


def evaluated_units(directories: Iterable[Path]) -> dict[tuple[int, str], EvalUnit]:
    """Finds for each seed and benchmark a unit that says in which world and by which rules it was played.

    Args:
        directories: of evaluations.
    """
    plans = [path for directory in directories if (path := directory / "plan.json").is_file()]
    units = [unit_from_json(unit) for path in plans for unit in read_json(path)["units"] if unit["kind"] == "eval"]
    return {(unit.seed, unit.benchmark): unit for unit in units if isinstance(unit, EvalUnit)}


def asked_questions(units: Mapping[tuple[int, str], EvalUnit]) -> dict[Key, Question]:
    """Draws the questions of units again; `units` as `evaluated_units` finds them."""
    found: dict[Key, Question] = {}
    for (seed, benchmark), unit in units.items():
        for question in take_questions(unit.world, benchmark, unit.questions, seed):
            found[seed, benchmark, question.id] = question
    return found
