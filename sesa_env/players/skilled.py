"""The Solver that follows Skill Cards: the plain Solver's reader, but the queries are the cards' templates.

It finds the name that the search starts from and, for each phrase of a card's trigger that stands in the question, makes the
card's query with the name in its slot, reads the next name off the best passage, and goes on outwards. Without a card that fits
it does exactly what the plain Solver does, so Off mode is its own control.
"""

from collections.abc import Sequence

from sesa_env.grading import normalise
from sesa_env.players.asking import Asked, asked
from sesa_env.players.base import View
from sesa_env.players.compare import attribute
from sesa_env.players.compare import decide as compare_values
from sesa_env.players.decisions import (
    Asking,
    Decision,
    as_written,
    conditions,
    decide,
    fill,
    locate,
    start,
    steps_of,
    take_apart,
)
from sesa_env.players.following import follow_step, holder
from sesa_env.players.reader import ScriptedReader
from sesa_env.players.replay import Script, replay
from sesa_env.players.turns import answer_turn
from sesa_env.worlds import World


class Skilled:
    """Follows the query templates of the cards that it is shown. A function of the view alone."""

    def __init__(self) -> None:
        self._reader = ScriptedReader()

    def act(self, view: View) -> str:
        """Replays its script over the searches made so far and does the next thing; answers when it must."""
        return replay(self._script(view), view, answer_turn, lambda: self._last_resort(view))

    def _last_resort(self, view: View) -> str:
        if not view.searches:
            return ""
        last = view.searches[-1]
        return self._reader.read(view.question, last.query, last.passages[:1])

    def _script(self, view: View) -> Script:
        asking = take_apart(view.question)
        wanted = asked(view.question)
        answer = ""
        pairs = conditions(asking, view.cards)
        if wanted.options:
            answer = yield from self._both(view, asking, wanted)
        elif len(pairs) > 1:
            answer = yield from self._common(view.question, asking, pairs)
        else:
            name = start(asking, view.cards)
            decisions = decide(asking, name, view.cards) if len(name) else []
            if decisions:
                answer = yield from self._follow(view.question, as_written(view.question, asking, name), decisions)
        return answer or (yield from self._plainly(view.question))

    def _plainly(self, question: str) -> Script:
        """What the plain Solver does."""
        passages = yield question
        return self._reader.read(question, question, passages[:1])

    def _follow(self, question: str, name: str, decisions: Sequence[Decision]) -> Script:
        """Follows a chain of decisions from a name; "" when one brings nothing that can be read."""
        steps = [(decision, step) for decision in decisions for step in steps_of(decision)]
        entity = name
        for index, (decision, templates) in enumerate(steps):
            if index and decision is not steps[index - 1][0]:
                entity = name
            asking = question if index == len(steps) - 1 else f"{decision.phrase} {name}"
            name = yield from follow_step(self._reader, asking, [fill(template, entity, name) for template in templates])
            if not name:
                return ""
        return name

    def _both(self, view: View, asking: Asking, wanted: Asked) -> Script:
        """Follows the cards from each of the two things of a comparison, then compares what was read."""
        values: list[str] = []
        for option in wanted.options:
            name = locate(view.question, asking, option)
            decisions = decide(asking, name, view.cards, as_read=True) if len(name) else []
            if not decisions:
                return ""
            question = attribute(view.question, wanted, option)
            values.append((yield from self._follow(question, option, decisions)))
        return compare_values(view.question, wanted, values)

    def _common(self, question: str, asking: Asking, pairs: Sequence[tuple[range, Decision]]) -> Script:
        """Collects what meets each of two conditions; answers with what meets both, or else the first."""
        met: list[dict[str, str]] = []
        for name, decision in pairs:
            entity = as_written(question, asking, name)
            names: dict[str, str] = {}
            for template in decision.templates:
                query = fill(template, entity, entity)
                passages = yield query
                read = (self._reader.read(question, query, [passage]) for passage in passages if holder(query, [passage]))
                names |= {normalise(text): text for text in read if text}
            met.append(names)
        both = [text for key, text in met[0].items() if key in met[1]]
        return next(iter([*both, *met[0].values(), *met[1].values()]), "")


def skilled(world: World, seed: int = 0) -> Skilled:
    """Makes the player "skilled". It needs neither the world nor a seed; every factory is called with both."""
    del world, seed
    return Skilled()
