"""What a trainer plays: one seat of many games, the other seat played inside."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sesa_env.env import SearchEnv
from sesa_env.errors import ConfigError
from sesa_env.game import SearchGame
from sesa_env.play import play, step
from sesa_env.players.base import Player
from sesa_env.types import ROLE_NAMES, Question, Role, Target


class SeatTasks:
    """The tasks of one seat: ready questions of a world for the Solver, its targets for the Challenger.

    A game is a function of (task, seed) and the seat's texts, whatever else is played beside it.

    Args:
        role: "solver" or "challenger".
        opponent: who answers the Challenger's questions: a built-in player's name or `module:factory`. A Solver has no
            opponent: it is asked ready questions.
        corpus: the world's name, see `sesa_env.worlds.make_world`.
        corpus_options: the world's options.
        memory: the skill memory that the Solver is shown cards from: None, "seeds" or the path of a bank, read once.
        rules: fields of `sesa_env.game.GameConfig`, nested ones as mappings.

    Raises:
        ConfigError: an argument is not what it must be, or the world has no tasks for this seat.

    Attributes:
        role: the seat.
        tasks: the tasks.
    """

    def __init__(
        self,
        role: str = "solver",
        opponent: str | None = None,
        corpus: str = "miniwiki",
        corpus_options: Mapping[str, Any] | None = None,
        memory: str | None = None,
        rules: Mapping[str, Any] | None = None,
    ) -> None:
        if role == Role.SOLVER.value and opponent is not None:
            raise ConfigError(f"opponent: a Solver is asked the world's ready questions; expected None, got {opponent!r}")
        env = SearchEnv(role, opponent, corpus, corpus_options, memory, rules)
        if env.role is None:
            raise ConfigError("role: a trainer plays one seat; expected 'solver' or 'challenger', got None")
        self.role = env.role
        self._template = env.game
        self._opponents = {Role.SOLVER: _answerer(opponent, env.game)} if self.role is Role.CHALLENGER else {}
        world = env.game.world
        self.tasks: Sequence[Question | Target] = world.questions if self.role is Role.SOLVER else world.targets

    def __len__(self) -> int:
        """How many tasks there are."""
        return len(self.tasks)

    def begin(self, index: int, seed: int = 0) -> SearchGame:
        """Begins a game.

        Args:
            index: of the task.
            seed: of the episode's own randomness, the noise documents of RAG verification; at least 0.

        Returns:
            The game, at this seat's first turn.

        Raises:
            ConfigError: there is no such task.
        """
        if not 0 <= index < len(self.tasks):
            raise ConfigError(f"task: expected an index from 0 to {len(self.tasks) - 1}; got {index!r}")
        game = SearchGame(self._template.world, self._template.config, self._template.memory)
        game.reset(self.tasks[index], seed=seed)
        return game

    def plays(self, game: SearchGame) -> bool:
        """Says whether it is this seat's turn; if not, the episode is over."""
        return game.actor is self.role

    def step(self, games: Sequence[SearchGame], texts: Sequence[str]) -> None:
        """Plays one turn of each game, all searches together, and a valid question's Solver group to its end.

        Args:
            games: games in which it is this seat's turn.
            texts: what the seat wrote in each.
        """
        step(games, texts)
        play([game for game in games if not self.plays(game)], self._opponents)

    def reward(self, game: SearchGame) -> float:
        """Returns what the seat has earned so far, all components summed."""
        return sum(game.state.rewards.get(ROLE_NAMES[self.role], {}).values())

    def close(self, game: SearchGame) -> float:
        """Ends a game that is still running, as running out of turns does, and returns what the seat has earned."""
        if self.plays(game):
            game.cut_off()
        return self.reward(game)


def _answerer(name: str | None, game: SearchGame) -> Player:
    from sesa_env.players.load import load_player

    return load_player(name or "naive", game.world, role=Role.SOLVER)


def shared_tasks(**arguments: Any) -> SeatTasks:
    """Returns the tasks for these arguments of `SeatTasks`, made once a process: trainers ask for them at each rollout.

    Raises:
        ConfigError: as `SeatTasks`, or an argument is no JSON value.
    """
    try:
        return _made(json.dumps(arguments, sort_keys=True))
    except TypeError as error:
        raise ConfigError(f"the arguments of a seat must be JSON values of known names; {error}") from error


@lru_cache(maxsize=16)
def _made(arguments: str) -> SeatTasks:
    return SeatTasks(**json.loads(arguments))
