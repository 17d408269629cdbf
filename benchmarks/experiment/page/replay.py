"""Texts that were played once, executed again: records hold what a Solver wrote, the world holds what it was shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sesa_env.game import GameConfig, SearchGame
from sesa_env.plain import build
from sesa_env.play import step
from sesa_env.protocol import parse_turn
from sesa_env.search.base import Retriever
from sesa_env.types import Passage, Question, Target
from sesa_env.worlds import World

_BATCH = 256  # games in lock-step
_SEARCH = frozenset({"search"})
CUT_OFF = "cut_off"
"""The event of a last turn that the rules would have let go on: the token budget ended it."""


@dataclass(frozen=True, slots=True)
class Line:
    """One turn.

    Attributes:
        text: what was written.
        event: as in `sesa_env.state.Turn`, or `CUT_OFF`.
        passages: what a search brought.
    """

    text: str
    event: str
    passages: tuple[Passage, ...] = ()


class _Remembering:
    """A retriever that is asked each query once; many arms write the same ones."""

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever
        self._known: dict[tuple[str, int], list[Passage]] = {}

    @property
    def fingerprint(self) -> str:
        return self._retriever.fingerprint

    def search(self, queries: list[str], k: int) -> list[list[Passage]]:
        new = [query for query in dict.fromkeys(queries) if (query, k) not in self._known]
        if new:
            self._known |= {(query, k): hits for query, hits in zip(new, self._retriever.search(new, k), strict=True)}
        return [self._known[query, k] for query in queries]


class Replayer:
    """Plays texts again in one world.

    Args:
        world: the world they were written in.
        rules: the rules, or fields of them.

    Attributes:
        rules: the rules, of one attempt at a question.
    """

    def __init__(self, world: World, rules: GameConfig | Mapping[str, Any]) -> None:
        self._world = replace(world, retriever=_Remembering(world.retriever))
        made = rules if isinstance(rules, GameConfig) else build(GameConfig, rules, "rules")
        self.rules = replace(made, group_size=1)

    def play(self, tasks: Sequence[Question | Target], texts: Sequence[Sequence[str]]) -> list[list[Line]]:
        """Plays the texts of each task.

        Args:
            tasks: a question for the Solver's texts, a target for the Challenger's.
            texts: what was written about each, turn by turn.

        Returns:
            The turns of each task. Texts behind the end of an episode have the event "".
        """
        lines: list[list[Line]] = []
        for start in range(0, len(tasks), _BATCH):
            games = [SearchGame(self._world, self.rules) for _ in tasks[start : start + _BATCH]]
            for place, game in enumerate(games, start):
                game.reset(tasks[place], cards=())
            written = texts[start : start + _BATCH]
            _play(games, written)
            lines += [_lines(game, one) for game, one in zip(games, written, strict=True)]
        return lines


def _play(games: Sequence[SearchGame], texts: Sequence[Sequence[str]]) -> None:
    for turn in range(max(map(len, texts), default=0)):
        going = [
            (game, written[turn])
            for game, written in zip(games, texts, strict=True)
            if turn < len(written) and game.actor is not None
        ]
        step([game for game, _ in going], [text for _, text in going])


def _lines(game: SearchGame, texts: Sequence[str]) -> list[Line]:
    turns = game.state.transcript[: len(texts)]
    lines = [Line(turn.text, turn.event, _found(game, turn.text) if turn.event == "search" else ()) for turn in turns]
    lines += [Line(text, "") for text in texts[len(lines) :]]
    if game.actor is not None and game.question is game.state.task and lines:
        lines[-1] = replace(lines[-1], event=CUT_OFF)
    return lines


def _found(game: SearchGame, text: str) -> tuple[Passage, ...]:
    """Looks up what a search brought; the retriever remembers."""
    _, query = parse_turn(text, _SEARCH)
    return tuple(game.world.retriever.search([query], game.config.top_k)[0])
