"""Questions that the bank turns right and wrong, the same weights Off and On: by their kind and by benchmark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.experiment.asked import Key, asked_questions, evaluated_units, key_of
from benchmarks.experiment.design import Study
from benchmarks.experiment.results import Results
from benchmarks.records import Record
from benchmarks.suites import BENCHMARKS
from sesa_env.types import Question


@dataclass(frozen=True)
class Turned:
    """What became of some questions, those of all seeds together."""

    name: str
    """Which ones: their kind or their benchmark, as readers are told it."""

    gained: int
    """Wrong Off and right On."""

    lost: int
    """Right Off and wrong On."""

    asked: int
    """All of them, most of which end alike."""


@dataclass(frozen=True)
class Flips:
    """The questions of one arm; `kinds` is empty where the worlds that were asked about cannot be made again."""

    kinds: tuple[Turned, ...]
    """By kind, those of fewer hops first, then the more frequent ones."""

    benchmarks: tuple[Turned, ...]
    """By benchmark, in the paper's order."""


def flips(results: Results, study: Study) -> dict[str, Flips]:
    """Counts for each arm with a bank what its questions turned to, after the last stage."""
    stage = study.stages[-1]
    known = asked_questions(evaluated_units(folder for _, folder in results.evaluations(study, stage)))
    arms: dict[str, dict[Key, dict[str, Record]]] = {}
    for record in results.records(study, stage):
        if record["mode"] in ("off", "on"):
            arms.setdefault(record["arm"], {}).setdefault(key_of(record), {})[record["mode"]] = record
    titles = {name: results.suite.title(name) for name in BENCHMARKS}
    return {
        arm: _flips([(known.get(key), pair) for key, pair in pairs.items()], titles)
        for arm, pairs in arms.items()
        if all(len(pair) == 2 for pair in pairs.values())
    }


def _flips(pairs: Sequence[tuple[Question | None, Mapping[str, Record]]], titles: Mapping[str, str]) -> Flips:
    kinds: dict[tuple[int, str], list[Mapping[str, Record]]] = {}
    benchmarks: dict[str, list[Mapping[str, Record]]] = {}
    for question, pair in pairs:
        benchmarks.setdefault(pair["on"]["benchmark"], []).append(pair)
        if question is not None and question.text == pair["on"]["question"]:  # not so in another release's world
            kinds.setdefault((question.hops, question.family), []).append(pair)
    ordered = sorted(kinds, key=lambda kind: (kind[0], -len(kinds[kind]), kind[1]))
    return Flips(
        tuple(_turned(kind_title(*kind), kinds[kind]) for kind in ordered),
        tuple(_turned(title, benchmarks[name]) for name, title in titles.items() if name in benchmarks),
    )


def _turned(name: str, pairs: Sequence[Mapping[str, Record]]) -> Turned:
    gained, lost = (
        sum(bool(pair[right]["em"]) and not pair[wrong]["em"] for pair in pairs)
        for right, wrong in (("on", "off"), ("off", "on"))
    )
    return Turned(name, gained, lost, len(pairs))


def kind_title(hops: int, family: str) -> str:
    """Names a kind of question for a reader, for example "bridge, 2 hops"."""
    named = "yes or no" if family == "yesno" else family.replace("_", " ")
    counted = f"{hops} hop{'s' if hops > 1 else ''}" if hops else ""
    return ", ".join(filter(None, (named, counted))) or "of unknown kind"
