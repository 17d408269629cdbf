"""Scripts: a player's whole seat written as one generator, and how it is replayed so that a turn depends on the view alone."""

from collections.abc import Callable, Generator

from sesa_env.players.base import View
from sesa_env.players.turns import search_turn
from sesa_env.types import Passage

Script = Generator[str, tuple[Passage, ...], str]
"""Yields queries, is sent what each brought, returns what was found at the end."""


def replay(script: Script, view: View, finish: Callable[[str], str], forced: Callable[[], str]) -> str:
    """Replays a script over the searches made so far and writes the next turn.

    Args:
        script: a fresh script.
        view: the seat's view.
        finish: writes the turn that ends the seat, from what the script returned.
        forced: what to finish with when the script would search on but no search or no further turn is left.

    Returns:
        The turn.
    """
    try:
        query = next(script)
        for call in view.searches:
            query = script.send(call.passages)
    except StopIteration as done:
        return finish(done.value)
    if view.searches_left > 0 and view.turns_left > 1:
        return search_turn(query)
    return finish(forced())
