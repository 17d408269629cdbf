"""A card's life in words, for a terminal."""

from collections.abc import Iterator

from sesa_env.memory.base import Failure, SkillCard
from sesa_env.memory.events import CROWDED, HARMFUL
from sesa_env.memory.lineage import Death, Life, Showing
from sesa_env.protocol import clean

_WHY = {
    HARMFUL: "its utility fell below zero after enough retrievals",
    CROWDED: "the bank was above its cap, and it was among the least useful",
    "": "the bank has no log that would say why",
}


def tell_card(card: SkillCard) -> str:
    """Writes a card with its record, as `sesa bank show` prints it."""
    record = f"retrieved {card.retrieved}, helpful {card.helpful:g}, hurt {card.hurt:g}"
    origin = f"{card.provenance.origin or 'origin unknown'}{', permanent' if card.permanent else ''}"
    lines = [
        f"{card.id}  ({origin}; {record})",
        f"  Skill: {card.description}",
        f"  When: {card.trigger}",
        f"  Avoid: {card.avoid}",
    ]
    return "\n".join([*lines, *(f"  Search: {query}" for query in card.queries)]) + "\n"


def tell_life(life: Life) -> str:
    """Writes all that a bank knows of a card: the failure it came from, its retrievals in training, its end."""
    parts = [tell_card(life.card), *_birth(life), *_retrievals(life.shown), *_end(life.death)]
    return "\n".join(part.rstrip("\n") for part in parts) + "\n"


def _birth(life: Life) -> Iterator[str]:
    origin = life.card.provenance
    if origin.teacher:
        yield f"\nWritten by {origin.teacher} at step {origin.step} of run {origin.run}, from failure {origin.failure}:"
    if life.failure is not None:
        yield from _failure(life.failure)
        if life.despite:
            yield f"  shown in vain, to be made good: {', '.join(life.despite)}"
    elif origin.failure:
        yield "  (the failure is not stored: the bank was written without a log)"
    if life.ousted:
        yield f"Evicted as it came in, to keep the bank's cap: {', '.join(life.ousted)}"


def _failure(failure: Failure) -> Iterator[str]:
    yield f"  question: {clean(failure.question.text)}"
    yield f"  wanted: {' | '.join(map(clean, failure.question.answers))}"
    for call in failure.attempt.searches:
        yield f"  searched: {clean(call.query)}"
        yield from (f'    found: "{clean(found.title)}" {clean(found.text)}' for found in call.passages)
    yield f"  answered: {clean(failure.attempt.prediction)}"
    yield from (f'  evidence: "{clean(found.title)}" {clean(found.text)}' for found in failure.evidence)


def _retrievals(shown: tuple[Showing, ...]) -> Iterator[str]:
    if shown:
        yield f"\nShown for {len(shown)} questions in training:"
    for one in shown:
        yield f"  step {one.step}, cosine {one.similarity:.3f}: {one.right} right, {one.wrong} wrong: {clean(one.question)}"


def _end(death: Death | None) -> Iterator[str]:
    if death is not None:
        yield f"\nEvicted at step {death.step}: {_WHY.get(death.reason, death.reason)}."
