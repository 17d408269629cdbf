"""Compositions of relations that training holds out: evaluation asks for parts that it met in other company only."""

import hashlib
from collections.abc import Callable

from sesa_env.types import Question
from sesa_env.worlds import World


def is_composed_apart(world: World, question: str, share: float) -> bool:
    """Says whether a question is of a composition that training holds out: two facts or more, by their relations in order.

    Which ones is a function of the world alone: all runs in it hold out the same.

    Args:
        world: MiniWiki.
        question: its text.
        share: the share of compositions that are held out, in [0, 1].
    """
    needs = world.graph.needs(question) if share else None
    if needs is None or len(needs) < 2:
        return False
    composition = ",".join(str(need.rank) for need in needs)
    digest = hashlib.sha256(f"{world.graph.fingerprint}:{composition}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


def allowed(world: World, count: int, compositions: float, draw: Callable[[int], list[Question]]) -> list[Question]:
    """Draws ready questions until so many are of compositions that may be trained on.

    Args:
        world: MiniWiki.
        count: how many.
        compositions: the share of compositions that are held out.
        draw: gives the first n of an endless sequence of different questions.
    """
    asked = count
    while True:
        kept = [question for question in draw(asked) if not is_composed_apart(world, question.text, compositions)]
        if len(kept) >= count:
            return kept[:count]
        asked *= 2
