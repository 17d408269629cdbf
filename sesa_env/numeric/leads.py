"""What a question leaves to be looked up: the names to start from, and from each the relations to follow, innermost first.

The same parts that the skilled Solver decides by, asked for more: beside each card's query stands the one that the question's
own words make, so that a player without cards has something to do, and one with cards has a choice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sesa_env.memory.base import CardHit, SkillCard
from sesa_env.players.asking import asked
from sesa_env.players.compare import attribute
from sesa_env.players.decisions import (
    Asking,
    Decision,
    as_written,
    conditions,
    covered,
    decide,
    locate,
    relations,
    start,
    steps_of,
    take_apart,
)

MAX_LEADS = 2
"""Names that a question is followed from, at most: a comparison has two, and so have two conditions on one thing."""


@dataclass(frozen=True, slots=True)
class Step:
    """One relation to look up.

    Attributes:
        asks: what to read off a passage: the question, or a fragment with `{name}` for the name that the step starts from.
        cards: the cards' query templates for it, in order; () when no card knows any.
        own: the template of the question's own words.
        fresh: whether it begins a relation, so that {entity} is the name found last; else it goes on with one.
    """

    asks: str
    cards: tuple[str, ...]
    own: str
    fresh: bool


@dataclass(frozen=True, slots=True)
class Lead:
    """A name of the question and the steps that start from it.

    Attributes:
        name: as the question writes it.
        steps: innermost first; () when the question names no relation.
        many: whether several answers may meet its one step, as they may a condition.
    """

    name: str
    steps: tuple[Step, ...]
    many: bool = False


@lru_cache(maxsize=4096)
def leads(question: str, cards: tuple[CardHit, ...]) -> tuple[Lead, ...]:
    """Takes a question apart.

    Args:
        question: any text.
        cards: the cards shown, best first.

    Returns:
        Two leads for a comparison and for two conditions on one thing, in the order of the question; else one, or none where
        no name to start from is found.
    """
    asking, wanted = take_apart(question), asked(question)
    if wanted.options:
        found = [(locate(question, asking, option), attribute(question, wanted, option)) for option in wanted.options]
        return tuple(_chain(question, asking, name, cards, asks, as_read=True) for name, asks in found if len(name))
    pairs = conditions(asking, (*cards, *_own_words(asking, ())))
    if len(pairs) >= MAX_LEADS:
        return tuple(_condition(question, asking, name, decision) for name, decision in pairs[:MAX_LEADS])
    name = start(asking, cards)
    return (_chain(question, asking, name, cards, question),) if len(name) else ()


def _chain(question: str, asking: Asking, name: range, cards: tuple[CardHit, ...], asks: str, *, as_read: bool = False) -> Lead:
    decisions = decide(asking, name, (*cards, *_own_words(asking, name)), as_read=as_read)
    found = [(decision, templates, not place) for decision in decisions for place, templates in enumerate(steps_of(decision))]
    last = len(found) - 1
    steps = tuple(
        _step(decision, templates, asks if index == last else f"{decision.phrase} {{name}}", fresh=fresh)
        for index, (decision, templates, fresh) in enumerate(found)
    )
    return Lead(as_written(question, asking, name), steps)


def _condition(question: str, asking: Asking, name: range, decision: Decision) -> Lead:
    return Lead(as_written(question, asking, name), (_step(decision, decision.templates, question),), many=True)


def _step(decision: Decision, templates: Sequence[str], asks: str, *, fresh: bool = True) -> Step:
    own = _own_template(decision.phrase)
    return Step(asks, tuple(template for template in templates if template != own), own, fresh)


def _own_words(asking: Asking, name: Sequence[int]) -> tuple[CardHit, ...]:
    """Writes each relation of the question as if a card knew it, with the question's own words for a query."""
    taken = [covered(asking, span) for span in asking.names]
    runs = relations(asking, [*taken, range(name[0], name[-1] + 1)] if len(name) else taken)
    return tuple(_own_card(" ".join(asking.words[place] for place in run)) for run in runs)


def _own_card(phrase: str) -> CardHit:
    return CardHit(SkillCard("", "", f'"{phrase}"', "", (_own_template(phrase),)), 0.0)


def _own_template(phrase: str) -> str:
    return f"{{entity}} {phrase}"
