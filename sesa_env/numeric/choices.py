"""The discrete action set: at each turn a fixed row of turns that could be written, some of them not available."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sesa_env.grading import normalise
from sesa_env.numeric.trails import N_QUERIES, Progress, follow, read
from sesa_env.players.asking import asked
from sesa_env.players.base import View
from sesa_env.players.compare import decide as compare_values
from sesa_env.players.turns import answer_turn, search_turn
from sesa_env.types import Passage, SearchCall

ACTIONS = (
    "search the question",
    "search the first name by a card",
    "search the first name by the question's words",
    "search the first name alone",
    "search the second name by a card",
    "search the second name by the question's words",
    "search the second name alone",
    "answer with what the first name led to",
    "answer with what the second name led to",
    "answer with what both lead to",
    "answer from the first passage",
    "answer from the second passage",
    "answer from the third passage",
    "answer from all passages",
    "give up",
)
"""The actions, in order. "Name" is the name of the question that a search starts from, or the one found from there last."""

N_ACTIONS = len(ACTIONS)
_PASSAGES = 3  # the last search's passages that are read one by one


@dataclass(frozen=True, slots=True)
class Choices:
    """What can be written at one turn.

    Attributes:
        progress: how far the searches have got.
        answers: the answer candidates, "" where nothing was read; the last one, "unknown", is always there.
        turns: for each of `ACTIONS` the text of the turn; "" where the action is not available.
    """

    progress: Progress
    answers: tuple[str, ...]
    turns: tuple[str, ...]

    @classmethod
    def nothing(cls) -> "Choices":
        """Returns the choices that there are when no episode is running: none."""
        return cls(Progress((), ("",) * N_QUERIES), ("",) * (N_ACTIONS - N_QUERIES), ("",) * N_ACTIONS)


def choices(view: View) -> Choices:
    """Lists the turns that can be written.

    Args:
        view: the Solver's view.

    Returns:
        The choices: a function of the view alone. On the last turn, and when no search is left, nothing can be searched.
    """
    progress = follow(view)
    answers = _answers(view.question, progress, view.searches[-1] if view.searches else None)
    may_search = view.searches_left > 0 and view.turns_left > 1
    searches = [search_turn(query) if query and may_search else "" for query in progress.offers]
    return Choices(progress, answers, (*searches, *(answer_turn(answer) if answer else "" for answer in answers)))


@lru_cache(maxsize=16_384)
def _answers(question: str, progress: Progress, last: SearchCall | None) -> tuple[str, ...]:
    ends = [trail.found if trail.depth else "" for trail in progress.trails]
    ends += [""] * (2 - len(ends))
    return (*ends, _both(question, progress), *_read_off(question, last), "unknown")


def _both(question: str, progress: Progress) -> str:
    """Puts two trails together: compares what they brought, or finds what meets both conditions."""
    trails = progress.trails
    if len(trails) < 2 or not any(trail.depth for trail in trails):
        return ""
    if trails[0].lead.many:
        return _common([trail.names for trail in trails])
    wanted = asked(question)
    return compare_values(question, wanted, [trail.found if trail.complete and trail.depth else "" for trail in trails])


def _common(names: Sequence[Sequence[str]]) -> str:
    second = {normalise(name) for name in names[1]}
    return next((name for name in names[0] if normalise(name) in second), "")


def _read_off(question: str, last: SearchCall | None) -> list[str]:
    """Reads the last search's passages with the whole question: one by one, then together."""
    if last is None:
        return [""] * (_PASSAGES + 1)
    shown: list[tuple[Passage, ...]] = [last.passages[rank : rank + 1] for rank in range(_PASSAGES)]
    return [read(question, last.query, passages) if passages else "" for passages in (*shown, last.passages)]
