"""The plain Solver: searches the question as it stands and reads an answer off the top passage."""

from sesa_env.players.base import View
from sesa_env.players.reader import ScriptedReader
from sesa_env.players.turns import answer_turn, search_turn
from sesa_env.worlds import World


class Naive:
    """Searches the question and answers from the first passage: two turns, no cards. A function of the view alone."""

    def __init__(self) -> None:
        self._reader = ScriptedReader()

    def act(self, view: View) -> str:
        """Searches first, then answers; answers at once where no search or no further turn is left."""
        if not view.searches and view.searches_left > 0 and view.turns_left > 1:
            return search_turn(view.question)
        if not view.searches:
            return answer_turn("")
        last = view.searches[-1]
        return answer_turn(self._reader.read(view.question, last.query, last.passages[:1]))


def naive(world: World, seed: int = 0) -> Naive:
    """Makes the player "naive". It needs neither the world nor a seed; every factory is called with both."""
    del world, seed
    return Naive()
