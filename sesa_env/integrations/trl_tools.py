"""TRL's tool loop: `GRPOTrainer(environment_factory=solver_tools())`, for chat templates that know tool calls.

The public methods of an environment are the model's tools, their docstrings the schema, and the environment owns the reward.
What is tokenised, and when, is TRL's matter; `sesa_env.integrations.trl` is exact. `environment_factory` may change, says TRL.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from sesa_env.game import SearchGame
from sesa_env.integrations.messages import tool_observation, tool_prompt, turn_of_call
from sesa_env.integrations.seats import shared_tasks

_OVER = "The episode is over."


class _Tools:
    """One rollout of TRL's tool loop: the public methods of a subclass are its tools, `reset` and `get_reward` TRL's own."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._tasks = shared_tasks(**arguments)
        self._game: SearchGame = self._tasks.begin(0)

    def reset(self, task: int = 0, **_: Any) -> str:
        self._game = self._tasks.begin(task)
        return tool_prompt(self._game.view(), self._game.config.validity.min_words)

    def get_reward(self) -> float:
        return self._tasks.close(self._game)

    def _call(self, name: str, argument: str) -> str:
        if not self._tasks.plays(self._game):
            return _OVER
        self._tasks.step([self._game], [turn_of_call(name, argument)])
        return tool_observation(self._game.state.transcript[-1].observation) if self._tasks.plays(self._game) else _OVER

    def search(self, query: str) -> str:
        """Searches the collection and shows the best passages.

        Args:
            query: What to search for.
        """
        return self._call("search", query)


class SolverTools(_Tools):
    """The Solver's seat."""

    def answer(self, answer: str) -> str:
        """Hands in the final answer, once.

        Args:
            answer: The bare answer.
        """
        return self._call("answer", answer)


class ChallengerTools(_Tools):
    """The Challenger's seat."""

    def question(self, question: str) -> str:
        """Hands in the question, once.

        Args:
            question: The question.
        """
        return self._call("question", question)


def solver_tools(**arguments: Any) -> Callable[[], SolverTools]:
    """Returns an `environment_factory` for the Solver's seat; arguments of `SeatTasks`, JSON values."""
    return partial(SolverTools, {"role": "solver", **arguments})


def challenger_tools(**arguments: Any) -> Callable[[], ChallengerTools]:
    """Returns an `environment_factory` for the Challenger's seat; arguments of `SeatTasks`, JSON values."""
    return partial(ChallengerTools, {"role": "challenger", **arguments})


def tool_rows(count: int) -> list[dict[str, Any]]:
    """Returns the rows of a training set of the first `count` tasks: an empty user's message, which TRL fills at `reset`."""
    return [{"prompt": [{"role": "user", "content": ""}], "task": task} for task in range(count)]
