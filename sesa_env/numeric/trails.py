"""How far a seat's searches have got: each lead's trail of names read off what was found, and what can be searched next."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from sesa_env.memory.base import CardHit
from sesa_env.numeric.leads import MAX_LEADS, Lead, leads
from sesa_env.players.base import View
from sesa_env.players.decisions import fill
from sesa_env.players.following import holder
from sesa_env.players.reader import ScriptedReader
from sesa_env.players.turns import plain
from sesa_env.types import Passage, SearchCall

QUERIES_OF_A_LEAD = 3
"""Queries that each lead offers: a card's, the question's own words', and the name alone."""
N_QUERIES = 1 + MAX_LEADS * QUERIES_OF_A_LEAD
"""Queries on offer, at most: the whole question, then each lead's."""
_FOLLOWED = 2  # of a lead's queries, the first so many take its next step
_READER = ScriptedReader()


@dataclass(frozen=True, slots=True)
class Trail:
    """A lead, followed.

    Attributes:
        lead: where it leads from.
        depth: how many of its steps brought a name.
        entity: the name that the current relation starts from.
        found: the name read last, the lead's own at depth 0.
        names: all that was read at the last step: several may meet a condition.
    """

    lead: Lead
    depth: int
    entity: str
    found: str
    names: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether no step is left."""
        return self.depth == len(self.lead.steps)


@dataclass(frozen=True, slots=True)
class Progress:
    """What a seat's searches have come to.

    Attributes:
        trails: one for each lead.
        offers: `N_QUERIES` queries that can be made next, "" where there is none: the same query is offered once, and never
            after it was made.
        last: the place of the query made last among the offers of its time; -1 if there was none or it was none of them.
        held: whether the last query brought a passage that holds all its words.
    """

    trails: tuple[Trail, ...]
    offers: tuple[str, ...]
    last: int = -1
    held: bool = False


def follow(view: View) -> Progress:
    """Follows the leads of a view's question through its searches."""
    return _followed(view.question, view.cards, view.searches)


@lru_cache(maxsize=16_384)
def _followed(question: str, cards: tuple[CardHit, ...], searches: tuple[SearchCall, ...]) -> Progress:
    """Follows all searches but the last, then that one: what a seat has seen so far is remembered from its turn before."""
    if not searches:
        trails = tuple(Trail(lead, 0, lead.name, lead.name) for lead in leads(question, cards))
        return Progress(trails, _offers(question, trails, frozenset()))
    before, call = _followed(question, cards, searches[:-1]), searches[-1]
    place = before.offers.index(call.query) if call.query in before.offers else -1
    trails = _advanced(before.trails, place, call)
    held = holder(call.query, call.passages) is not None
    return Progress(trails, _offers(question, trails, frozenset(each.query for each in searches)), place, held)


@lru_cache(maxsize=65_536)
def read(question: str, query: str, passages: tuple[Passage, ...]) -> str:
    """Reads an answer off passages, as `ScriptedReader.read` does; a seat asks for the same ones at each of its turns."""
    return _READER.read(question, query, passages)


def _offers(question: str, trails: Sequence[Trail], made: frozenset[str]) -> tuple[str, ...]:
    row = [plain(question)]
    for trail in trails:
        row += _of_trail(trail, made)
    seen = set(made)
    offers = []
    for text in row:
        offers.append("" if text in seen else text)
        seen.add(text)
    return tuple(offers + [""] * (N_QUERIES - len(offers)))


def _of_trail(trail: Trail, made: frozenset[str]) -> list[str]:
    """The next query of each kind; a step's further templates wait until the first has been tried."""
    alone = plain(trail.found)
    if trail.complete:
        return ["", "", alone]
    step = trail.lead.steps[trail.depth]
    carded = (plain(fill(template, trail.entity, trail.found)) for template in step.cards)
    own = plain(fill(step.own, trail.entity, trail.found))
    return [next((text for text in carded if text not in made), ""), own, alone]


def _advanced(trails: tuple[Trail, ...], place: int, call: SearchCall) -> tuple[Trail, ...]:
    """Takes a trail one step on, if the query at this place was for it and a name can be read off what came."""
    index, kind = divmod(place - 1, QUERIES_OF_A_LEAD)
    if place < 1 or kind >= _FOLLOWED:
        return trails
    trail = trails[index]
    names = _names(trail, call)
    if not names:
        return trails
    depth = trail.depth + 1
    fresh = depth < len(trail.lead.steps) and trail.lead.steps[depth].fresh
    gone_on = replace(trail, depth=depth, found=names[0], names=names, entity=names[0] if fresh else trail.entity)
    return (*trails[:index], gone_on, *trails[index + 1 :])


def _names(trail: Trail, call: SearchCall) -> tuple[str, ...]:
    """Reads the names that a step leads to: off the passage that holds the whole query, or off all that do."""
    asks = trail.lead.steps[trail.depth].asks.replace("{name}", trail.found)
    held = [passage for passage in call.passages if holder(call.query, [passage])]
    if not trail.lead.many:
        held = held[:1]
    found = (read(asks, call.query, (passage,)) for passage in held)
    return tuple(dict.fromkeys(name for name in found if name))
