"""Reward shaping by name: one small function each, from the turn that was played to a number.

Shaping pays for steps on the way, so it changes which policy is best; the game's own rewards (`sesa_env.rewards`) do not know
of it, nor do records and evaluations.
"""

from collections.abc import Callable, Iterable, Mapping

from sesa_env.errors import ConfigError
from sesa_env.game import SearchGame, Turn
from sesa_env.grading import contains_answer, f1
from sesa_env.plugins import make_plugin
from sesa_env.types import Role, SearchCall, Target

Shaping = Callable[[SearchGame, Turn], float]
"""A shaping: of the game after the turn, and the turn itself."""

_EXAMPLE = "for example my_shaping:make, where make() returns a function of (game, turn) that returns a number"


def turn_played(game: SearchGame, turn: Turn) -> float:
    """1 for every turn; with a negative weight, a price of time."""
    return 1.0


def searched(game: SearchGame, turn: Turn) -> float:
    """1 for a search that was carried out; with a negative weight, a price of the tool."""
    return float(turn.event == "search")


def found(game: SearchGame, turn: Turn) -> float:
    """1 for the seat's first search that brings a passage with an accepted answer in it."""
    seat = game.state.seat
    if turn.event != "search" or seat is None:
        return 0.0
    answers = _answers(game, turn.actor)
    *earlier, last = seat.searches
    return float(_holds(last, answers) and not any(_holds(call, answers) for call in earlier))


def near_miss(game: SearchGame, turn: Turn) -> float:
    """The token F1 of an answer that is wrong, in [0, 1]."""
    question = game.question
    if turn.event != "answer" or question is None or game.attempts[-1].correct:
        return 0.0
    return f1(game.attempts[-1].prediction, question.answers)


def _answers(game: SearchGame, actor: Role) -> tuple[str, ...]:
    if actor is Role.CHALLENGER and isinstance(game.state.task, Target):
        return game.state.task.answers
    return game.question.answers if game.question is not None else ()


def _holds(call: SearchCall, answers: Iterable[str]) -> bool:
    return any(contains_answer(f"{passage.title} {passage.text}", answers) for passage in call.passages)


BUILT_IN: Mapping[str, Shaping] = {"turn": turn_played, "search": searched, "found": found, "near_miss": near_miss}
"""The shapings that come with the package, by name."""


def load_shaping(name: str) -> Shaping:
    """Finds a shaping by name.

    Args:
        name: a key of `BUILT_IN`, or "module:factory"; the module must be importable.

    Returns:
        The function; for "module:factory" what `factory()` returned.

    Raises:
        ConfigError: the name is not of that form, there is no such module or factory, or what it returned is no function.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    shaping = make_plugin("shaping", name, dict.fromkeys(BUILT_IN, ""), _EXAMPLE)
    if not callable(shaping):
        raise ConfigError(f"shaping {name!r}: expected the factory to return a function of (game, turn); got {shaping!r}")
    return shaping  # type: ignore[no-any-return]  # it has just been looked at
