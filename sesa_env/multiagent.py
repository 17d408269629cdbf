"""The game as PettingZoo environments: `env`, `raw_env` (AEC, one agent after the other) and `parallel_env`.

The agents are `challenger_0` and `solver_0`; an episode that begins from a question has `solver_0` alone. All faces stand on
`SearchEnv(role=None)`: the same seed and texts give the same episode there, here, and in either form.
"""

import copy
import sys
from collections.abc import Mapping
from typing import Any

import gymnasium

from sesa_env.env import SearchEnv, argument_names, refuse_unknown
from sesa_env.errors import ConfigError, SesaError, missing_extra
from sesa_env.spaces import Utf8
from sesa_env.transcript import tell_turn
from sesa_env.types import ROLE_NAMES, Role, Target

try:
    from pettingzoo import AECEnv, ParallelEnv
    from pettingzoo.utils.wrappers import OrderEnforcingWrapper
except ModuleNotFoundError as error:
    raise missing_extra("pettingzoo", "pettingzoo") from error

AGENTS = {role: f"{name}_0" for role, name in ROLE_NAMES.items()}
"""The agents' names by role."""

Observation = dict[str, str]
_MODES = ("human", "ansi")
_NAME = "sesa_search_v0"
_METADATA = {"name": _NAME, "render_modes": list(_MODES), "is_parallelizable": False, "render_fps": 1}
_SEATING = {"role", "opponent"}
_PROBE = "options"  # PettingZoo's checkers reset with {"options": 1}, to see that there is such an argument


class Table:
    """One game with its agents: what both faces have in common.

    Args:
        max_cycles: PettingZoo's usual name for a limit of turns, here each seat's: `max_turns` and `challenger_max_turns` of
            the rules. None leaves the rules as they are.
        render_mode: None, "ansi" or "human" (each turn is written to standard output when it has been played).
        **arguments: of `SearchEnv`, except `role` and `opponent`: every seat is an agent here.

    Raises:
        ConfigError: `role` or `opponent` is given, or what `SearchEnv` refuses.
    """

    def __init__(self, max_cycles: int | None = None, render_mode: str | None = None, **arguments: Any) -> None:
        if seated := _SEATING & arguments.keys():
            raise ConfigError(
                f"{', '.join(sorted(seated))}: every seat is an agent here; expected neither role nor opponent, "
                "give each agent its policy"
            )
        known = ["max_cycles", *(name for name in argument_names(SearchEnv) if name not in _SEATING)]
        refuse_unknown(_NAME, known, {name: value for name, value in arguments.items() if name not in known})
        if render_mode not in (None, *_MODES):
            raise ConfigError(f"render_mode: expected None, 'human' or 'ansi'; got {render_mode!r}")
        if max_cycles is not None:
            rules = {"max_turns": max_cycles, "challenger_max_turns": max_cycles}
            arguments["rules"] = {**(arguments.get("rules") or {}), **rules}
        self.env = SearchEnv(render_mode=render_mode and "ansi", **arguments)
        self.observation_spaces = {agent: gymnasium.spaces.Dict({"text": Utf8()}) for agent in AGENTS.values()}
        self.action_spaces = {agent: copy.deepcopy(self.env.action_space) for agent in AGENTS.values()}
        self.human = render_mode == "human"

    def reset(self, seed: int | None, options: Mapping[str, Any] | None) -> list[str]:
        """Begins an episode, as `SearchEnv.reset` does; returns its agents."""
        given = {name: value for name, value in (options or {}).items() if name != _PROBE}
        self._text, self._info = self.env.reset(seed=seed, options=given)
        self.terminated = self.truncated = False
        self._written = 0
        return [agent for role, agent in AGENTS.items() if role is Role.SOLVER or self._posing]

    @property
    def actor(self) -> str:
        """The agent whose turn it is; "" when the episode is over."""
        role = self.env.game.actor
        return "" if role is None else AGENTS[role]

    def play(self, text: Any) -> dict[str, float]:
        """Plays the actor's turn; returns what each agent earned by it. The game refuses what is no string."""
        rewards = dict.fromkeys(AGENTS.values(), 0.0)
        actor = self.actor
        if not actor:
            raise SesaError("no episode is running: it is over or none has begun; call reset")
        self._text, rewards[actor], self.terminated, self.truncated, self._info = self.env.step(text)
        if actor == AGENTS[Role.SOLVER] and not self.actor and self._posing:
            # The last attempt is over: only now is there a solve rate to reward the Challenger with.
            rewards[AGENTS[Role.CHALLENGER]] = self._info["rewards"]["challenger"][self.env.game.config.reward.challenger]
        if self.human:
            self.render()
        return rewards

    def observe(self, agent: str) -> Observation:
        """What an agent is shown: its prompt or the answer to its turn when it is to act, else "": nothing is hidden there."""
        return {"text": self._text if agent == self.actor else ""}

    def info(self) -> dict[str, Any]:
        """`SearchEnv`'s info, of each agent its own copy."""
        return {**self._info, "rewards": {role: dict(parts) for role, parts in self._info["rewards"].items()}}

    def render(self) -> str | None:
        """Returns the transcript in "ansi" mode; in "human" mode writes the turns not yet written."""
        if not self.human:
            return self.env.render()
        turns = self.env.game.state.transcript
        for turn in turns[self._written :]:
            sys.stdout.write(f"{tell_turn(turn)}\n")
        self._written = len(turns)
        return None

    @property
    def _posing(self) -> bool:
        return isinstance(self.env.game.state.task, Target)


class raw_env(AECEnv[str, Observation, str | None]):  # type: ignore[misc]  # noqa: N801 - PettingZoo's name for it
    """The game turn by turn: `agent_selection` is whose turn it is.

    An observation is `{"text": ...}`. Both agents end together. What the Challenger earns by its group's solve rate comes when
    the last attempt is over, so it is found in `last()` of its step with None.

    Args:
        max_cycles: as `Table`.
        render_mode: as `Table`.
        **arguments: as `Table`.
    """

    metadata = _METADATA

    def __init__(self, max_cycles: int | None = None, render_mode: str | None = None, **arguments: Any) -> None:
        super().__init__()
        self.table = Table(max_cycles, render_mode, **arguments)
        self.render_mode = render_mode
        self.possible_agents = list(AGENTS.values())

    def observation_space(self, agent: str) -> gymnasium.spaces.Dict:
        """The space of an agent's observations: always the same object."""
        return self.table.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[str]:
        """The space of an agent's texts: always the same object."""
        return self.table.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins an episode.

        Args:
            seed: as `SearchEnv.reset`.
            options: as `SearchEnv.reset`.
        """
        self.agents = self.table.reset(seed, options)
        self.agent_selection = self.table.actor
        self._skip_agent_selection = None
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self._tell()

    def step(self, action: str | None) -> None:
        """Plays one turn of `agent_selection`.

        Args:
            action: what it writes; None once it has ended.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        earned = self.table.play(action)
        self._cumulative_rewards[agent] = 0.0
        self.rewards = {agent: earned[agent] for agent in self.agents}
        self._accumulate_rewards()
        self._tell()
        self.agent_selection = self.table.actor or agent
        self._deads_step_first()

    def observe(self, agent: str) -> Observation:
        """As `Table.observe`."""
        return self.table.observe(agent)

    def render(self) -> str | None:
        """As `Table.render`."""
        return self.table.render()

    def close(self) -> None:
        """Does nothing: there is nothing to release."""

    def _tell(self) -> None:
        self.terminations = dict.fromkeys(self.agents, self.table.terminated)
        self.truncations = dict.fromkeys(self.agents, self.table.truncated)
        self.infos = {agent: self.table.info() for agent in self.agents}


class parallel_env(ParallelEnv[str, Observation, str]):  # type: ignore[misc]  # noqa: N801 - PettingZoo's name for it
    """The game for interfaces in which every agent acts in each step: the text of the one whose turn it is counts.

    Whose turn it is, `info["actor"]` says by its role; what the others write is not looked at, and may be left out.

    Args:
        max_cycles: as `Table`.
        render_mode: as `Table`.
        **arguments: as `Table`.
    """

    metadata = _METADATA

    def __init__(self, max_cycles: int | None = None, render_mode: str | None = None, **arguments: Any) -> None:
        super().__init__()
        self.table = Table(max_cycles, render_mode, **arguments)
        self.render_mode = render_mode
        self.possible_agents = list(AGENTS.values())
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> gymnasium.spaces.Dict:
        """The space of an agent's observations: always the same object."""
        return self.table.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[str]:
        """The space of an agent's texts: always the same object."""
        return self.table.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Begins an episode.

        Args:
            seed: as `SearchEnv.reset`.
            options: as `SearchEnv.reset`.

        Returns:
            Observations and infos by agent.
        """
        self.agents = self.table.reset(seed, options)
        return {agent: self.table.observe(agent) for agent in self.agents}, {agent: self.table.info() for agent in self.agents}

    def step(
        self, actions: dict[str, str]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Plays the turn of the agent whose turn it is.

        Args:
            actions: texts by agent; at least that agent's.

        Returns:
            Observations, rewards, terminated, truncated and infos by agent.

        Raises:
            SesaError: no text of that agent, or no episode is running.
        """
        actor, agents = self.table.actor, self.agents
        if actor and actor not in actions:
            raise SesaError(f"actions: it is {actor}'s turn; expected its text, got those of {', '.join(actions) or 'nobody'}")
        earned = self.table.play(actions.get(actor))
        self.agents = agents if self.table.actor else []
        return (
            {agent: self.table.observe(agent) for agent in agents},
            {agent: earned[agent] for agent in agents},
            dict.fromkeys(agents, self.table.terminated),
            dict.fromkeys(agents, self.table.truncated),
            {agent: self.table.info() for agent in agents},
        )

    def render(self) -> str | None:
        """As `Table.render`."""
        return self.table.render()

    def close(self) -> None:
        """Does nothing: there is nothing to release."""


def env(**arguments: Any) -> OrderEnforcingWrapper[str, Observation, str | None]:
    """Makes a `raw_env` that says so when its methods are called in a wrong order.

    Args:
        **arguments: as `raw_env`.

    Returns:
        The wrapped environment.
    """
    return OrderEnforcingWrapper(raw_env(**arguments))
