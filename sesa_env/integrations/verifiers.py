"""verifiers: an environment with the game's seats as its agents.

`load_environment()` makes it from Python. The command line looks environments up by the name of a top-level module; such a
module takes three lines, see `docs/examples/sesa_search.py`. Written for verifiers 0.4 (`verifiers.v1`).
"""

import asyncio
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from sesa_env.errors import missing_extra
from sesa_env.game import SearchGame
from sesa_env.integrations.messages import cut_turn
from sesa_env.integrations.seats import SeatTasks, shared_tasks
from sesa_env.play import step
from sesa_env.types import ROLE_NAMES, Role

try:
    import verifiers.v1 as vf
    from pydantic import Field
except ImportError as error:
    raise missing_extra(error.name or "verifiers", "verifiers") from error

__all__ = ["SearchEnvironment", "SearchTaskset"]  # verifiers takes one environment and one taskset from here

PLUGIN = "sesa_search"
"""The name that configurations know the environment by."""


class SearchConfig(vf.TasksetConfig):  # type: ignore[misc]  # verifiers is a stranger to mypy where it is not installed
    """What is played: `--env.taskset.*`."""

    role: Literal["solver", "challenger"] = "solver"
    """Who begins: the Solver, with a ready question; or the Challenger, with a target, and Solvers play its question."""
    corpus: str = "miniwiki"
    """The world's name."""
    corpus_options: dict[str, Any] = Field(default_factory=dict)
    """Its options."""
    memory: str | None = None
    """The skill memory that Solvers are shown cards from: "seeds" or the path of a bank; None for none."""
    rules: dict[str, Any] = Field(default_factory=dict)
    """Fields of `sesa_env.game.GameConfig`."""

    def tasks(self) -> SeatTasks:
        """Returns the tasks, made once a process."""
        names = ("role", "corpus", "corpus_options", "memory", "rules")
        return shared_tasks(**{name: getattr(self, name) for name in names})


class SearchData(vf.TaskData):  # type: ignore[misc]
    """One task: its place in the world's pool."""

    info: dict[str, int]


class SearchTask(vf.Task[SearchData]):  # type: ignore[misc]
    """One task; what it is worth is said by the game."""


class SearchTaskset(vf.Taskset[SearchTask, SearchConfig]):  # type: ignore[misc]
    """The tasks of a world."""

    def load(self) -> Iterator[SearchTask]:
        """Yields every task of the pool, in its order."""
        for index, task in enumerate(self.config.tasks().tasks):
            yield SearchTask(SearchData(name=task.id, info={"index": index}), self.config.task)


def _seat() -> Any:
    """An agent that converses and executes nothing, so it needs no sandbox."""
    return vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})


class SearchEnvironmentConfig(vf.EnvConfig):  # type: ignore[misc]
    """Who plays: `--env.challenger.*` and `--env.solver.*`."""

    challenger: vf.AgentConfig = _seat()
    solver: vf.AgentConfig = _seat()


class SearchEnvironment(vf.Env[SearchEnvironmentConfig]):  # type: ignore[misc]
    """The game: each seat's part is one conversation and one trace, rewarded with what the seat earned by it.

    A conversation is the prompt, then by turns what the agent wrote and what the game answered. A message counts up to its
    first closing tag of an action, where a rollout would have stopped the model.
    """

    async def run(self, task: SearchTask, agents: vf.Agents) -> None:
        """Plays one episode to its end."""
        tasks = self.taskset.config.tasks()
        game = tasks.begin(task.data.info["index"])
        challenger = await self._part(game, task, agents) if game.actor is Role.CHALLENGER else None
        while game.actor is Role.SOLVER:
            before = len(game.state.transcript)
            trace = await self._part(game, task, agents)
            trace.record_reward("game", sum(turn.reward for turn in game.state.transcript[before:]))
            trace.record_metric("correct", float(game.attempts[-1].correct))
        if challenger is not None:
            challenger.record_reward("game", tasks.reward(game))
            challenger.record_metric("valid", float(not game.state.reject_reason))

    async def _part(self, game: SearchGame, task: SearchTask, agents: vf.Agents) -> vf.Trace:
        """Plays the part of the seat whose turn it is; returns its trace."""
        seat = game.state.seat
        assert seat is not None  # asked only while the episode runs
        agent = getattr(agents, ROLE_NAMES[seat.role])
        async with agent.interaction(vf.Task(vf.TaskData(idx=task.data.idx, prompt=None))) as talk:
            message = seat.prompt
            while game.state.seat is seat:
                segment = await talk.turn(message)
                if segment.terminated:  # a limit of the agent's, or an error that its trace tells
                    game.cut_off()
                    break
                await asyncio.to_thread(step, [game], [cut_turn(segment.last_reply)])
                message = game.state.transcript[-1].observation
        return talk.trace


def load_environment(
    taskset: Mapping[str, Any] | None = None,
    challenger: Mapping[str, Any] | None = None,
    solver: Mapping[str, Any] | None = None,
) -> SearchEnvironment:
    """Makes the environment.

    Args:
        taskset: fields of `SearchConfig`.
        challenger: fields of `vf.AgentConfig`: the model, client and sampling of this seat, where they are not the run's.
        solver: likewise.

    Returns:
        The environment, for `run_episode` within `serving()`.

    Raises:
        ConfigError: the taskset is not what `SeatTasks` takes.
    """
    sys.modules.setdefault(PLUGIN, sys.modules[__name__])  # verifiers imports a plug-in by a top-level name
    seats = {"challenger": dict(challenger or {}), "solver": dict(solver or {})}
    config = vf.resolve_env_config({"taskset": {"id": PLUGIN, **(taskset or {})}, **seats})
    environment: SearchEnvironment = vf.load_environment(config)
    environment.taskset.config.tasks()
    return environment
