"""The lives of a bank's cards: which failure each came from, what it was shown for, what became of it."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sesa_env.memory.base import Failure, Provenance, SkillCard
from sesa_env.memory.change import Tombstone
from sesa_env.memory.events import CROWDED, Event
from sesa_env.memory.record import failure_from_json
from sesa_env.memory.store import BankStore
from sesa_env.plain import build


@dataclass(frozen=True, slots=True)
class Showing:
    """One retrieval in training.

    Attributes:
        step: the training step.
        question: the question's text.
        similarity: the cosine of card and question.
        right: attempts that were shown it and were right.
        wrong: attempts that were shown it and gave a wrong answer.
    """

    step: int
    question: str
    similarity: float
    right: int
    wrong: int


@dataclass(frozen=True, slots=True)
class Death:
    """An eviction.

    Attributes:
        step: the training step.
        reason: "harmful" (helpful - hurt below zero after enough retrievals), "crowded" (the lowest of a bank above its cap),
            or "" in a bank that was written without a log.
    """

    step: int
    reason: str


@dataclass(frozen=True, slots=True)
class Life:
    """One card's life.

    Attributes:
        card: the card; of an evicted one what it last was. Where no log tells, it has its id, trigger and queries alone.
        failure: the failure it was distilled from; None for a seed, or where it is not stored.
        despite: ids of the cards that were shown in vain to that failure: what the card was written to make good.
        ousted: ids of the cards that were evicted to keep the bank's cap as it came in, with those that came with it. Nothing
            else ever takes a card's place.
        shown: its retrievals in training, in order; () where they are not stored.
        death: its eviction; None for a card that is in the bank.
    """

    card: SkillCard
    failure: Failure | None = None
    despite: tuple[str, ...] = ()
    ousted: tuple[str, ...] = ()
    shown: tuple[Showing, ...] = ()
    death: Death | None = None


def read_lives(store: BankStore, run: str = "") -> list[Life]:
    """Reads the lives of all cards that a bank has or had, oldest first, evicted ones behind the others.

    Args:
        store: the bank's file.
        run: whose counters and retrievals; "" for the run that wrote last.
    """
    run = run or store.last_run()
    log = store.events()
    failures = {event.record["id"]: failure_from_json(json.dumps(event.record)) for _, event in log if event.kind == "failure"}
    showings = _showings(event for whose, event in log if whose == run and event.kind == "shown")
    dead = {event.record["card"]["id"]: event for _, event in log if event.kind == "died"}
    crowded = [event for event in dead.values() if event.record["reason"] == CROWDED]
    living = [Life(card) for card, _ in store.cards(run)]
    gone = [_evicted(stone, dead.get(stone.card)) for stone in store.tombstones()]
    return [_whole(life, failures, showings, crowded) for life in (*living, *gone)]


def _whole(life: Life, failures: dict[str, Failure], showings: dict[str, list[Showing]], crowded: Sequence[Event]) -> Life:
    origin = life.card.provenance
    failure = failures.get(origin.failure)
    gone = [str(event.record["card"]["id"]) for event in crowded if origin.failure and event.step == origin.step]
    despite = () if failure is None else tuple(card for card, _ in failure.attempt.cards)
    ousted = tuple(card for card in gone if card != life.card.id)
    return replace(life, failure=failure, despite=despite, ousted=ousted, shown=tuple(showings.get(life.card.id, ())))


def _showings(events: Iterable[Event]) -> dict[str, list[Showing]]:
    found: dict[str, list[Showing]] = defaultdict(list)
    for event in events:
        for item in event.record["questions"]:
            for card, similarity in item["cards"].items():
                found[card].append(Showing(event.step, item["text"], similarity, item["right"], item["wrong"]))
    return found


def _evicted(stone: Tombstone, event: Event | None) -> Life:
    if event is None:
        trigger, *queries = stone.text.split("\n")
        return Life(
            SkillCard(stone.card, "", trigger, "", tuple(queries), provenance=Provenance("")), death=Death(stone.step, "")
        )
    return Life(_card(event.record["card"]), death=Death(event.step, str(event.record["reason"])))


def _card(data: dict[str, Any]) -> SkillCard:
    return build(SkillCard, data, "card")
