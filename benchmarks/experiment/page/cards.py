"""The banks that a page can show: every card that any of them has or had, with its life."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.experiment.cells import PACKED_BANK
from benchmarks.experiment.design import Cell, same_training
from benchmarks.experiment.page.answers import Place
from benchmarks.experiment.page.replay import Line
from benchmarks.experiment.results import Results
from benchmarks.experiment.training import stage_directory
from benchmarks.trained import BANK_FILE
from sesa_env.memory.base import Failure
from sesa_env.memory.lineage import Life, read_lives
from sesa_env.memory.store import BankStore

_FIELDS = {
    "b": "number of its bank", "i": "id", "d": "description", "t": "trigger", "a": "avoidance cue", "z": "queries",
    "o": "origin", "p": "1 if permanent", "s": "step", "w": "teacher", "r": "retrieved", "h": "helpful", "u": "hurt",
    "v": "ids of the cards shown in vain to its failure", "e": "ids of the cards evicted as it came in, to keep the cap",
    "f": "number of that failure in its place, -1 if none",
    "n": "retrievals that are stored", "x": "[step, reason] of its eviction, null if it lives",
}  # fmt: skip


@dataclass(frozen=True)
class Bank:
    """One bank as its training left it.

    Attributes:
        study: the study.
        arm: the arm.
        seed: the seed.
        lives: its cards.
    """

    study: str
    arm: str
    seed: int
    lives: tuple[Life, ...]


def read_banks(results: Results) -> list[Bank]:
    """Reads the bank of each training after its last stage, one that two studies share once, as far as they are there."""
    return list(_banks(results))


def _banks(results: Results) -> Iterator[Bank]:
    cells = results.experiment.cells()
    source, seen = same_training(cells), set[Path]()
    for cell in cells:
        path = _file(results.root, cell, source)
        if path.is_file() and path not in seen:
            seen.add(path)
            with BankStore(path, create=False) as store:
                yield Bank(cell.study, cell.arm, cell.seed, tuple(read_lives(store)))


def _file(root: Path, cell: Cell, source: Mapping[str, str]) -> Path:
    folder = stage_directory(root, source[cell.id], cell.stages[-1])
    return folder / (PACKED_BANK if (folder / PACKED_BANK).is_file() else BANK_FILE)


def card_numbers(banks: Sequence[Bank], study: str) -> dict[tuple[str, int, str], int]:
    """Numbers all cards of all banks, and returns the numbers of one study's by arm, seed and id."""
    cards = [(bank, life) for bank in banks for life in bank.lives]
    return {(bank.arm, bank.seed, life.card.id): n for n, (bank, life) in enumerate(cards) if bank.study == study}


def cards(banks: Sequence[Bank], places: Mapping[tuple[str, int], Place]) -> dict[str, Any]:
    """Collects the cards, and puts what is told of each on demand in the place of its bank.

    Args:
        banks: the banks.
        places: by study and seed.

    Returns:
        JSON: `banks`, each [study, arm, seed]; `cards` by number, each an object of the short fields that `_FIELDS` explains.
    """
    found: list[dict[str, Any]] = []
    for number, bank in enumerate(banks):
        place = places[bank.study, bank.seed]
        known: dict[str, int] = {}
        for life in bank.lives:
            found.append(_card(number, life, _failure_number(life, place, known)))
            if life.shown:
                place.shown[len(found) - 1] = [
                    [one.step, place.texts.place(one.question), round(one.similarity, 3), one.right, one.wrong]
                    for one in life.shown
                ]
    return {"banks": [[bank.study, bank.arm, bank.seed] for bank in banks], "cards": found}


def _card(bank: int, life: Life, failure: int) -> dict[str, Any]:
    card, origin = life.card, life.card.provenance
    death = None if life.death is None else [life.death.step, life.death.reason]
    values = (
        bank, card.id, card.description, card.trigger, card.avoid, card.queries, origin.origin, int(card.permanent),
        origin.step, origin.teacher, card.retrieved, round(card.helpful, 3), round(card.hurt, 3), life.despite,
        life.ousted, failure,        len(life.shown), death,
    )  # fmt: skip
    return dict(zip(_FIELDS, values, strict=True))


def _failure_number(life: Life, place: Place, known: dict[str, int]) -> int:
    """Puts a card's failure in its place, once for all cards that came from it."""
    if life.failure is None:
        return -1
    if life.failure.id not in known:
        known[life.failure.id] = len(place.failures)
        place.failures.append(_failure(life.failure, place))
    return known[life.failure.id]


def _failure(failure: Failure, place: Place) -> dict[str, Any]:
    attempt = failure.attempt
    return {
        "id": failure.id,
        "step": failure.step,
        "repeats": failure.repeats,
        "question": failure.question.text,
        "answers": failure.question.answers,
        "prediction": attempt.prediction,
        "turns": place.turns(list(_lines(failure))),
        "evidence": [place.passage(passage) for passage in failure.evidence],
        "cards": [[card, round(likeness, 3)] for card, likeness in attempt.cards],
    }


def _lines(failure: Failure) -> Iterator[Line]:
    """The turns of a failed attempt. Which of them searched is not stored, but a search carries its query as written."""
    searches = list(failure.attempt.searches)
    for text in failure.attempt.texts:
        if searches and searches[0].query in text:
            yield Line(text, "search", searches.pop(0).passages)
        else:
            yield Line(text, "answer" if text is failure.attempt.texts[-1] else "malformed")
