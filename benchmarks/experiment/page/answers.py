"""The answers that a page can show: questions, attempts by arm and mode, and what each attempt read, played again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from benchmarks.experiment.asked import Key, asked_questions, evaluated_units, key_of
from benchmarks.experiment.design import Study
from benchmarks.experiment.page.packing import Pool
from benchmarks.experiment.page.replay import Line, Replayer
from benchmarks.experiment.results import Results
from benchmarks.records import Record
from benchmarks.suites import BENCHMARKS, open_world
from benchmarks.units import EvalUnit
from sesa_env.types import Passage, Question

CardNumbers: TypeAlias = Mapping[tuple[str, int, str], int]
"""The number of a card on the page, by arm, seed and id."""


@dataclass
class Place:
    """What a page holds of one world, for all that was read in it.

    Attributes:
        passages: each passage once: id, title, text.
        texts: each text once.
        attempts: by the attempt's number its turns: [text, event, passages].
        evidence: by the question's number the passages that state its facts.
        failures: the failures that cards came from.
        shown: by the card's number its retrievals in training.
    """

    passages: Pool[tuple[str, str, str]] = field(default_factory=Pool)
    texts: Pool[str] = field(default_factory=Pool)
    attempts: dict[int, list[Any]] = field(default_factory=dict)
    evidence: dict[int, list[int]] = field(default_factory=dict)
    failures: list[Any] = field(default_factory=list)
    shown: dict[int, list[Any]] = field(default_factory=dict)

    def passage(self, passage: Passage) -> int:
        """Returns the number of a passage."""
        return self.passages.place((passage.id, passage.title, passage.text))

    def turns(self, lines: Sequence[Line]) -> list[Any]:
        """Returns turns as JSON: [text, event, passages] each, texts and passages by number."""
        return [[self.texts.place(line.text), line.event, [self.passage(one) for one in line.passages]] for line in lines]

    def to_json(self) -> dict[str, Any]:
        """Returns all of it as a JSON value."""
        return {
            "passages": self.passages.items,
            "texts": self.texts.items,
            "attempts": self.attempts,
            "evidence": self.evidence,
            "failures": self.failures,
            "shown": self.shown,
        }


@dataclass(frozen=True, slots=True)
class _Numbered:
    """An attempt: its number, its question's number, its record."""

    number: int
    question: int
    record: Record


def answers(results: Results, study: Study, most: int, cards: CardNumbers, places: Mapping[int, Place]) -> dict[str, Any]:
    """Collects a study's answers after its last stage, and plays those again that the page has room for.

    Args:
        results: the experiment's.
        study: the study.
        most: attempts with a transcript, at most. Which ones does not depend on how they ended: of each benchmark and seed the
            same number of questions, the first ones, with all that was written about them.
        cards: the cards on the page.
        places: by seed, what the page holds of its world; transcripts are added.

    Returns:
        JSON: `questions`, each [seed, benchmark, id, text, answers, hops, family]; `sides`, each [arm, mode]; `attempts`, each
        [question, side, right, prediction, end, [[card, likeness], ...]], ordered by question; `shown`, of them how many have a
        transcript; `transcripts`, the questions whose attempts have one.
    """
    records = results.records(study, study.stages[-1])
    worlds = evaluated_units(folder for _, folder in results.evaluations(study, study.stages[-1]))
    grouped = _by_question(records)
    known = asked_questions(worlds)
    sides = list(dict.fromkeys((record["arm"], record["mode"]) for record in records))
    chosen = _first_of_each(list(grouped), records, most)
    numbers = {key: number for number, key in enumerate(grouped)}
    ordered = [
        (numbers[key], record)
        for key in grouped
        for record in sorted(grouped[key], key=lambda one: sides.index((one["arm"], one["mode"])))
    ]
    attempts = [_Numbered(number, question, record) for number, (question, record) in enumerate(ordered)]
    # What is kept of an experiment has no texts (`benchmarks.experiment.keep`).
    told = [attempt for attempt in attempts if key_of(attempt.record) in chosen and "texts" in attempt.record]
    _replay(told, worlds, known, places)
    return {
        "questions": [_question(key, grouped[key][0], known.get(key)) for key in grouped],
        "sides": sides,
        "benchmarks": {name: results.suite.title(name) for name in BENCHMARKS},
        "attempts": [_attempt(attempt, sides, cards) for attempt in attempts],
        "shown": sum(len(place.attempts) for place in places.values()),
        "transcripts": sorted({attempt.question for attempt in told}),
    }


def _by_question(records: Sequence[Record]) -> dict[Key, list[Record]]:
    grouped: dict[Key, list[Record]] = {}
    for record in sorted(records, key=lambda one: (one["seed"], list(BENCHMARKS).index(one["benchmark"]))):
        grouped.setdefault(key_of(record), []).append(record)
    return grouped


def _first_of_each(keys: Sequence[Key], records: Sequence[Record], most: int) -> set[Key]:
    """Chooses as many questions of each seed and benchmark as there is room for."""
    each = len(records) / max(len(keys), 1)  # attempts at a question
    groups: dict[tuple[int, str], list[Key]] = {}
    for key in keys:
        groups.setdefault(key[:2], []).append(key)
    room = int(most / max(each, 1) / max(len(groups), 1))
    return {key for group in groups.values() for key in group[:room]}


def _replay(
    attempts: Sequence[_Numbered],
    worlds: Mapping[tuple[int, str], EvalUnit],
    known: Mapping[Key, Question],
    places: Mapping[int, Place],
) -> None:
    """Plays attempts again, seed by seed, and puts what was read into the places."""
    seeds: dict[int, list[_Numbered]] = {}
    for attempt in attempts:
        seeds.setdefault(attempt.record["seed"], []).append(attempt)
    for seed, played in seeds.items():
        place, unit = places[seed], next((unit for (one, _), unit in worlds.items() if one == seed), None)
        if unit is None or open_world(unit.world).fingerprint != played[0].record["world"]:
            # Another release's world: what was written can be shown, what was read cannot be known.
            lines = [[Line(text, "") for text in one.record["texts"]] for one in played]
        else:
            world, questions = open_world(unit.world), [known[key_of(one.record)] for one in played]
            lines = Replayer(world, unit.rules).play(questions, [one.record["texts"] for one in played])
            for number, question in {one.question: known[key_of(one.record)] for one in played}.items():
                found = (world.corpus.find(name) for name in question.evidence)
                place.evidence[number] = [place.passage(passage) for passage in found if passage is not None]
        place.attempts |= {one.number: place.turns(turns) for one, turns in zip(played, lines, strict=True)}


def _question(key: Key, record: Record, question: Question | None) -> list[Any]:
    hops, family = (question.hops, question.family) if question is not None else (0, "")
    return [*key, record["question"], record["answers"], hops, family]


def _attempt(attempt: _Numbered, sides: Sequence[tuple[str, str]], cards: CardNumbers) -> list[Any]:
    record = attempt.record
    arm, seed = record["arm"], record["seed"]
    shown = [[cards.get((arm, seed, card), card), round(likeness, 3)] for card, likeness in record["cards"]]
    side = sides.index((arm, record["mode"]))
    return [attempt.question, side, int(record["em"]), record["prediction"], record["end"], shown]
