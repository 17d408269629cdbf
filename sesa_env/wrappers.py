"""Gymnasium wrappers for `SearchEnv`: log episodes, observe chat messages, take the time, shape the reward by name.

Each goes around `gymnasium.make("SESA-Search-v0", ...)` in any order, with Gymnasium's own between them, and is kept in
`env.spec`; `VectorEpisodeLogger` goes around `gymnasium.make_vec`. None changes an episode: texts, records and the game's own
rewards stay as they are.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper

from sesa_env.env import SearchEnv
from sesa_env.errors import ConfigError
from sesa_env.integrations.messages import tag_messages
from sesa_env.records import write_episodes
from sesa_env.shaping import load_shaping
from sesa_env.spaces import Utf8
from sesa_env.vector import SearchVectorEnv, VectorStep

if TYPE_CHECKING:
    _VectorWrapper = VectorWrapper[Any, Any, Any, Any, Any]
else:
    _VectorWrapper = VectorWrapper  # older releases of Gymnasium have no parameters for it

Env = gymnasium.Env[Any, str]
Step = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]
Messages = tuple[dict[str, str], ...]
"""A conversation: {"role": "user" or "assistant", "content": text}, in order."""


def _search_env(env: Env) -> SearchEnv:
    """Finds what a wrapper of this module goes around.

    Raises:
        ConfigError: it is not a `SearchEnv`.
    """
    inner = env.unwrapped
    if not isinstance(inner, SearchEnv):
        raise ConfigError(
            f"expected an environment around SearchEnv, as gymnasium.make('SESA-Search-v0') makes it; got {env}; "
            "around what make_vec makes put VectorEpisodeLogger"
        )
    return inner


class EpisodeLogger(gymnasium.Wrapper[Any, str, Any, str], RecordConstructorArgs):
    """Appends every finished episode to a JSONL file, to be read by `read_episodes` and executed again by `sesa replay`.

    Args:
        env: the environment.
        path: the file; made when the first episode ends, never shortened.
    """

    def __init__(self, env: Env, path: str) -> None:
        self._inner = _search_env(env)
        RecordConstructorArgs.__init__(self, path=str(path))
        super().__init__(env)
        self.path = Path(path)

    def step(self, action: str) -> Step:
        """Plays one turn; if the episode is over, writes it down."""
        outcome = self.env.step(action)
        if outcome[2] or outcome[3]:
            write_episodes(self.path, [self._inner.record()])
        return outcome


class VectorEpisodeLogger(_VectorWrapper):
    """Appends every finished episode of every row to a JSONL file: what an `EpisodeLogger` around each row would write.

    Episodes stand in the order in which they end, those of one step in the order of their rows.

    Args:
        env: the vector environment, with any autoreset mode.
        path: the file; made when the first episode ends, never shortened.

    Raises:
        ConfigError: it is not what `gymnasium.make_vec("SESA-Search-v0", n)` makes.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], path: str) -> None:
        inner = env.unwrapped
        if not isinstance(inner, SearchVectorEnv):
            raise ConfigError(
                f"expected what gymnasium.make_vec('SESA-Search-v0', n) makes; got {env}; around a single environment, "
                "and each one of Gymnasium's own vector environments, put EpisodeLogger"
            )
        super().__init__(env)
        self._rows = inner.envs
        self.path = Path(path)

    def step(self, actions: tuple[str, ...]) -> VectorStep:
        """Plays one turn in every row; writes down the episodes that are over with it."""
        states = [row.game.state for row in self._rows]  # "SameStep" puts the next episode in an ended one's place
        outcome = self.env.step(actions)
        if ended := np.flatnonzero(outcome[2] | outcome[3]).tolist():
            write_episodes(self.path, [self._rows[index].record(states[index]) for index in ended])
        return outcome


class ChatMessages(gymnasium.Wrapper[Messages, str, str, str], RecordConstructorArgs):
    """Shows the actor its seat's whole conversation as chat messages, for models that are called with a history.

    The prompt is the user's, what the seat wrote the assistant's, what it was answered the user's again. When the episode is
    over the caller's last turn ends the conversation. Actions stay texts.

    Args:
        env: the environment.
    """

    def __init__(self, env: Env) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self._inner = _search_env(env)
        message = gymnasium.spaces.Dict({"role": Utf8(), "content": Utf8()})
        self.observation_space = gymnasium.spaces.Sequence(message)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Messages, dict[str, Any]]:
        """Begins an episode; returns the first actor's prompt as a conversation of one message."""
        _, info = self.env.reset(seed=seed, options=options)
        return self._conversation(), info

    def step(self, action: str) -> tuple[Messages, SupportsFloat, bool, bool, dict[str, Any]]:
        """Plays one turn; returns the next actor's conversation."""
        before = self._conversation()
        at = len(self._inner.game.state.transcript)
        _, reward, terminated, truncated, info = self.env.step(action)
        if self._inner.game.actor is not None:
            return self._conversation(), reward, terminated, truncated, info
        written = self._inner.game.state.transcript[at].text
        return (*before, {"role": "assistant", "content": written}), reward, terminated, truncated, info

    def _conversation(self) -> Messages:
        return () if self._inner.game.actor is None else tuple(tag_messages(self._inner.view()))


@dataclass
class Times:
    """Where the time went.

    Attributes:
        episodes: resets so far.
        steps: steps so far.
        reset_seconds: in `reset`.
        step_seconds: in `step`: rules, search, inner player.
        player_seconds: between a `reset` or `step` and the `step` after it: the caller's policy.
    """

    episodes: int = 0
    steps: int = 0
    reset_seconds: float = 0.0
    step_seconds: float = 0.0
    player_seconds: float = 0.0


class Timing(gymnasium.Wrapper[Any, str, Any, str], RecordConstructorArgs):
    """Takes the time of resets, steps and the caller; `times` has the sums.

    Infos are left alone: a clock in them would make two runs of one episode differ.

    Args:
        env: the environment.
        clock: seconds from any start; the default is `time.perf_counter`.
    """

    def __init__(self, env: Env, clock: Callable[[], float] = time.perf_counter) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self.times = Times()
        """The sums so far."""
        self._clock = clock
        self._returned: float | None = None  # when the caller last got an observation that it may answer

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode."""
        start = self._clock()
        begun = self.env.reset(seed=seed, options=options)
        self._returned = self._clock()
        self.times.episodes += 1
        self.times.reset_seconds += self._returned - start
        return begun

    def step(self, action: str) -> Step:
        """Plays one turn."""
        start = self._clock()
        if self._returned is not None:
            self.times.player_seconds += start - self._returned
        outcome = self.env.step(action)
        end = self._clock()
        self._returned = None if outcome[2] or outcome[3] else end
        self.times.steps += 1
        self.times.step_seconds += end - start
        return outcome


class ShapedReward(gymnasium.Wrapper[Any, str, Any, str], RecordConstructorArgs):
    """Adds weighted shapings of the caller's turn to the reward; `info["shaping"]` has each one's share.

    Args:
        env: the environment.
        weights: by name, how much of each is added: "turn", "search", "found", "near_miss" (see `sesa_env.shaping`) or
            anyone's own as "module:factory". A negative weight makes a price.
    """

    def __init__(self, env: Env, weights: Mapping[str, float]) -> None:
        RecordConstructorArgs.__init__(self, weights=_weights(weights))
        super().__init__(env)
        self._inner = _search_env(env)
        self._shapings = [(name, float(weight), load_shaping(name)) for name, weight in weights.items()]

    def step(self, action: str) -> Step:
        """Plays one turn."""
        state = self._inner.game.state
        at = len(state.transcript)
        observation, reward, terminated, truncated, info = self.env.step(action)
        shares = dict.fromkeys((name for name, _, _ in self._shapings), 0.0)
        if self._inner.game.state is state:  # else a wrapper inside has begun a new episode instead of playing
            turn = state.transcript[at]
            shares = {name: weight * shaping(self._inner.game, turn) for name, weight, shaping in self._shapings}
        return observation, float(reward) + sum(shares.values()), terminated, truncated, {**info, "shaping": shares}


def _weights(given: Any) -> dict[str, float]:
    if not isinstance(given, Mapping) or not all(isinstance(weight, int | float) for weight in given.values()):
        raise ConfigError(f"weights: expected a mapping of names to numbers, for example {{'found': 0.2}}; got {given!r}")
    return dict(given)
