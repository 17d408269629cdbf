"""What an agent that reads no text is shown: a flat dict of vectors, every number between -1 and 1."""

from functools import lru_cache

import gymnasium
import numpy as np
from numpy.typing import NDArray

from sesa_env.grading import normalise
from sesa_env.memory.base import CardHit
from sesa_env.numeric.choices import ACTIONS, Choices
from sesa_env.numeric.leads import MAX_LEADS
from sesa_env.numeric.trails import N_QUERIES, Trail
from sesa_env.players.asking import asked, sought
from sesa_env.players.base import View
from sesa_env.players.decisions import take_apart
from sesa_env.players.following import holder, stems_of
from sesa_env.types import Passage, SearchCall

Observation = dict[str, NDArray[np.float32]]

_KINDS = ("person", "place", "date", "year", "number", "noun", "thing", "name")
_PASSAGES = 3
_CARDS = 3
_QUESTION = len(_KINDS) + 6
_OF_A_TRAIL = 5
_OF_A_PASSAGE = 3
_OF_A_CARD = 4
_MANY_WORDS, _MANY_NAMES, _MANY_STEPS, _MANY_TEMPLATES, _MANY_TURNS, _USUAL_SCORE = 40, 4, 3, 5, 10, 10.0
SHAPES = {
    "question": _QUESTION,
    "trails": MAX_LEADS * _OF_A_TRAIL,
    "last": N_QUERIES + 2,
    "scores": _PASSAGES,
    "passages": _PASSAGES * _OF_A_PASSAGE,
    "skills": _CARDS * _OF_A_CARD,
    "available": len(ACTIONS),
    "agreement": len(ACTIONS) - N_QUERIES,
    "budget": 2,
}
"""The vectors by name, and their lengths; `observe` says what they hold."""


def observation_space() -> gymnasium.Space[Observation]:
    """Returns the space of `observe`'s dicts: one Box of float32 in [-1, 1] for each of `SHAPES`."""
    boxes = {name: gymnasium.spaces.Box(-1.0, 1.0, (length,), np.float32) for name, length in SHAPES.items()}
    return gymnasium.spaces.Dict(boxes)  # type: ignore[arg-type,return-value]  # Dict's own types are wider than its values


def blank() -> Observation:
    """Returns what is shown when there is nothing to do: at the end of an episode, all zeros."""
    return {name: np.zeros(length, np.float32) for name, length in SHAPES.items()}


def observe(view: View, chosen: Choices) -> Observation:
    """Turns what a Solver may see into numbers.

    Args:
        view: the Solver's view.
        chosen: its `choices`.

    Returns:
        "question": what kind of answer is asked for (one of eight), whether a yes or no, whether one of two options, whether
        two conditions are to be met, and how many words, names and leads it has. "trails": for each of two leads whether it is
        there and complete, the steps behind and ahead, and whether a card knows the next one. "last": which query was made last
        (one of `N_QUERIES`), whether a passage held all its words, and whether there was any. "scores": the retriever's, of the
        last search's passages. "passages": for each of these whether it holds the whole query, its share of the question's
        words, and whether its title stands in the question or query. "skills": for each of three cards its similarity, its
        utility, how many templates it has, and whether it was there. "available": the action mask. "agreement": for each answer
        the share of the other candidates that are the same. "budget": turns and searches left, as shares of ten.
    """
    row = {
        "question": _question(view.question, chosen.progress.trails),
        "trails": _trails(chosen.progress.trails),
        "last": _last(view, chosen),
        "scores": [passage.score / (_USUAL_SCORE + abs(passage.score)) for passage in _shown(view)],
        "passages": _passages(view.question, view.searches[-1]) if view.searches else [],
        "skills": [number for hit in view.cards[:_CARDS] for number in _card(hit)],
        "available": [float(bool(turn)) for turn in chosen.turns],
        "agreement": _agreement(chosen.answers),
        "budget": [view.turns_left / _MANY_TURNS, view.searches_left / _MANY_TURNS],
    }
    return {name: _vector(row[name], length) for name, length in SHAPES.items()}


def _vector(numbers: list[float], length: int) -> NDArray[np.float32]:
    """Puts numbers into a vector of a set length, zeros behind them, each cut to [-1, 1]."""
    cut = [min(max(number, -1.0), 1.0) for number in numbers]
    return np.array(cut + [0.0] * (length - len(cut)), np.float32)


@lru_cache(maxsize=16_384)
def _question(question: str, trails: tuple[Trail, ...]) -> list[float]:
    wanted, asking = asked(question), take_apart(question)
    return [
        *(float(wanted.kind == kind) for kind in _KINDS),
        float(wanted.polar),
        float(bool(wanted.options)),
        float(any(trail.lead.many for trail in trails)),
        len(asking.words) / _MANY_WORDS,
        len(asking.names) / _MANY_NAMES,
        len(trails) / MAX_LEADS,
    ]


def _trails(trails: tuple[Trail, ...]) -> list[float]:
    return [number for trail in trails for number in _trail(trail)]


def _trail(trail: Trail) -> list[float]:
    steps = trail.lead.steps
    carded = not trail.complete and bool(steps[trail.depth].cards)
    ahead = len(steps) - trail.depth
    return [1.0, float(trail.complete), trail.depth / _MANY_STEPS, ahead / _MANY_STEPS, float(carded)]


def _last(view: View, chosen: Choices) -> list[float]:
    made = [float(place == chosen.progress.last) for place in range(N_QUERIES)]
    return [*made, float(chosen.progress.held), float(bool(view.searches))]


def _shown(view: View) -> tuple[Passage, ...]:
    return view.searches[-1].passages[:_PASSAGES] if view.searches else ()


@lru_cache(maxsize=16_384)
def _passages(question: str, last: SearchCall) -> list[float]:
    asked_for = frozenset(sought(question, ""))
    named = f"{question}\n{last.query}"
    return [number for passage in last.passages[:_PASSAGES] for number in _passage(last.query, named, passage, asked_for)]


def _passage(query: str, named: str, passage: Passage, asked_for: frozenset[str]) -> list[float]:
    titled = bool(passage.title) and passage.title in named
    overlap = len(asked_for & stems_of(passage)) / max(len(asked_for), 1)
    return [float(holder(query, [passage]) is not None), overlap, float(titled)]


def _card(hit: CardHit) -> list[float]:
    helpful, hurt = hit.card.helpful, hit.card.hurt
    utility = (helpful - hurt) / (helpful + hurt + 1)
    return [hit.similarity, utility, len(hit.card.queries) / _MANY_TEMPLATES, 1.0]


@lru_cache(maxsize=16_384)
def _agreement(answers: tuple[str, ...]) -> list[float]:
    keys = [normalise(answer) for answer in answers[:-1] if answer]
    others = max(len(keys) - 1, 1)
    return [max(keys.count(normalise(answer)) - 1, 0) / others if answer else 0.0 for answer in answers]
