"""`gymnasium.make_vec("SESA-Search-v0", n)`: n environments in one process whose searches share one call of the retriever."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from sesa_env.env import SearchEnv, empty_seat
from sesa_env.errors import ConfigError, SesaError
from sesa_env.game import SearchGame, Turn
from sesa_env.play import ask, step
from sesa_env.types import ROLE_NAMES, Question, Role, Target

_NUMBERS = (int, float, bool)
VectorStep = tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]
"""Observations, rewards, terminated, truncated, infos."""


class SearchVectorEnv(VectorEnv[tuple[str, ...], tuple[str, ...], NDArray[Any]]):
    """Many `SearchEnv` at once: the same episodes as that many single ones, seed by seed, but searched for together.

    In each step all rows' searches go to the retriever in one call, an inner player is asked for all rows at once where it
    can answer so (`act_batch`), and Skill Cards of all rows that begin are looked up together. World, memory and inner
    player are shared; each row has its own generator.

    Observations and actions are tuples of n texts; rewards are float64 arrays and ends bool arrays of shape (n,); infos are
    laid out as Gymnasium's `SyncVectorEnv` does it: an array for each key, and under `_key` which rows have it.

    Args:
        num_envs: n, the number of rows; at least 1.
        autoreset_mode: "NextStep" (a row that ended begins anew in the next step, whose action it ignores), "SameStep" (at
            once; `infos["final_obs"]` and `infos["final_info"]` keep the end) or "Disabled" (the caller resets with
            `options={"reset_mask": ...}`).
        **arguments: of `SearchEnv`.
    """

    def __init__(self, num_envs: int = 1, autoreset_mode: str | AutoresetMode = "NextStep", **arguments: Any) -> None:
        if num_envs < 1:
            raise ConfigError(f"num_envs: expected at least 1; got {num_envs}")
        self.autoreset_mode = _mode(autoreset_mode)
        first = Row(**arguments)
        self.envs = [first, *(first.beside() for _ in range(num_envs - 1))]
        """The rows, for `view`, `record` and `snapshot`; they are stepped and reset here alone."""
        self.num_envs = num_envs
        self.metadata = {**first.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = first.render_mode
        self.single_action_space: gymnasium.Space[Any] = first.action_space
        self.single_observation_space: gymnasium.Space[Any] = first.observation_space
        self.action_space = batch_space(first.action_space, num_envs)
        self.observation_space = batch_space(first.observation_space, num_envs)
        self._observations = [""] * num_envs
        self._events = ["reset"] * num_envs
        self._over = [False] * num_envs

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Begins an episode in every row, or in those of a mask.

        Args:
            seed: one number s seeds row i with s + i; a list seeds each row; None goes on with each row's generator.
            options: as for `SearchEnv.reset`, the same for each row; with "reset_mask", a bool array of shape (n,), only
                the rows where it is True begin anew.

        Returns:
            Each row's latest observation, and the infos of the rows that began.

        Raises:
            ConfigError: options or seeds that are not as expected.
            SesaError: as `SearchEnv.reset`.
        """
        given = dict(options or {})
        rows = self._masked(given.pop("reset_mask")) if "reset_mask" in given else range(self.num_envs)
        seeds = self._seeds(seed)
        for index in rows:
            self.envs[index].reseed(seeds[index])
        self._begin(rows, given)
        return tuple(self._observations), self._infos(rows)

    def step(self, actions: tuple[str, ...]) -> VectorStep:
        """Plays one turn in every row.

        Args:
            actions: n texts; any strings.

        Returns:
            Observations, rewards, terminated, truncated, infos.

        Raises:
            SesaError: not n strings; with "Disabled", a row whose episode is over. What a verifier raises leaves too; the rows
                are then within a turn and must be reset.
        """
        acting = [index for index, over in enumerate(self._over) if not over]
        ended = [index for index, over in enumerate(self._over) if over]
        self._check(actions, acting, ended)
        turns = self._act(acting, [actions[index] for index in acting])
        self._begin(ended, {})
        rewards = _column(acting, [turn.reward for turn in turns], self.num_envs, float)
        terminated = _column(acting, [turn.terminated for turn in turns], self.num_envs, bool)
        truncated = _column(acting, [turn.truncated for turn in turns], self.num_envs, bool)
        self._over = (terminated | truncated).tolist()
        final = self._begin_at_once() if self.autoreset_mode is AutoresetMode.SAME_STEP else {}
        return tuple(self._observations), rewards, terminated, truncated, self._infos(range(self.num_envs)) | final

    def render(self) -> tuple[Any, ...]:
        """Returns each row's transcript in "ansi" mode, else None for each."""
        return tuple(row.render() for row in self.envs)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _act(self, rows: Sequence[int], texts: Sequence[str]) -> list[Turn]:
        """Plays a turn in these rows and keeps what it was answered; returns it as the caller sees it."""
        games = [self.envs[index].game for index in rows]
        step(games, texts)
        turns = [game.state.transcript[-1] for game in games]
        if self.envs[0].opponent is not None and (last := self._play_inside(rows)):
            turns = [
                self.envs[index].both(turn, last[index]) if index in last else turn
                for index, turn in zip(rows, turns, strict=True)
            ]
        for index, turn in zip(rows, turns, strict=True):
            self._observations[index], self._events[index] = turn.observation, turn.event
        return turns

    def _begin(self, rows: Sequence[int], options: Mapping[str, Any]) -> None:
        """Begins an episode in these rows and keeps what they are shown."""
        if not rows:
            return
        self._deal(rows, options)
        for index in rows:
            self._observations[index], self._events[index] = self.envs[index].begun()
            self._over[index] = False

    def _begin_at_once(self) -> dict[str, Any]:
        """Begins anew in the rows that have ended; returns their ends for the infos."""
        if not (rows := [index for index, over in enumerate(self._over) if over]):
            return {}
        final = self._infos(rows)
        observations = [self._observations[index] for index in rows]
        self._begin(rows, {})
        return _table(rows, {"final_obs": observations}, self.num_envs) | _masked("final_info", final, rows, self.num_envs)

    def _deal(self, rows: Sequence[int], options: Mapping[str, Any]) -> None:
        """Gives each row a task; where an inner Challenger poses nothing valid, another one."""
        chosen = self.envs[0].chosen(options)
        tries = self.envs[0].tries(chosen)
        waiting = list(rows)
        for _ in range(tries):
            self._reset_games(waiting, chosen)
            self._play_inside(waiting)
            waiting = [index for index in waiting if self.envs[index].game.actor is None]
            if not waiting:
                return
        raise self.envs[waiting[0]].unfit(chosen, tries)

    def _reset_games(self, rows: Sequence[int], chosen: Question | Target | None) -> None:
        dealt = [(self.envs[index].game, *self.envs[index].draw(chosen)) for index in rows]
        memory = self.envs[0].game.memory
        texts = [task.text for _, task, _ in dealt if isinstance(task, Question)]
        cards = iter(memory.retrieve(texts) if memory is not None and texts else ())
        for game, task, seed in dealt:
            game.reset(task, seed, cards=next(cards, None) if isinstance(task, Question) else None)

    def _play_inside(self, rows: Iterable[int]) -> dict[int, Turn]:
        """Lets the inner player act in lock-step until it is the caller's turn everywhere; returns its last turns."""
        last: dict[int, Turn] = {}
        role, player = self.envs[0].role, self.envs[0].opponent
        if role is None:
            return last
        waiting = [(index, self.envs[index].game) for index in rows]
        while waiting := [(index, game) for index, game in waiting if game.actor not in (None, role)]:
            games = [game for _, game in waiting]
            if player is None:
                raise empty_seat(Role.CHALLENGER if role is Role.SOLVER else Role.SOLVER)
            step(games, ask(player, [game.view() for game in games]))
            last |= {index: game.state.transcript[-1] for index, game in waiting}
        return last

    def _infos(self, rows: Sequence[int]) -> dict[str, Any]:
        """Lays out what `SearchEnv` tells in `info` for these rows; at once, since a dict for each would cost half a turn."""
        states = [self.envs[index].game.state for index in rows]
        seats = [state.seat for state in states]
        columns: dict[str, list[Any]] = {
            "actor": ["" if seat is None else ROLE_NAMES[seat.role] for seat in seats],
            "event": [self._events[index] for index in rows],
            "turns_left": [0 if seat is None else seat.turns_left for seat in seats],
            "searches_left": [0 if seat is None else seat.searches_left for seat in seats],
        }
        rewards = _nested(rows, [state.rewards for state in states], self.num_envs)
        return _table(rows, columns, self.num_envs) | _masked("rewards", rewards, rows, self.num_envs)

    def _check(self, actions: Sequence[str], acting: Sequence[int], ended: Sequence[int]) -> None:
        if isinstance(actions, str) or len(actions) != self.num_envs:
            raise SesaError(f"actions: expected {self.num_envs} texts, one a row; got {len(actions)}: {actions!r}")
        for index in acting:
            if not isinstance(actions[index], str):
                raise SesaError(f"actions[{index}]: expected a string; got {type(actions[index]).__name__} {actions[index]!r}")
            if self.envs[index].game.state.seat is None:
                raise SesaError("no episode is running: none has begun; call reset")
        if ended and self.autoreset_mode is AutoresetMode.DISABLED:
            raise SesaError(
                f"rows {ended} are over; expected reset(options={{'reset_mask': terminated | truncated}}) before the next step"
            )

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            return [int(seed) + index for index in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ConfigError(f"seed: expected a number or {self.num_envs} of them; got {len(seed)}")
        return seed

    def _masked(self, mask: Any) -> list[int]:
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
            raise ConfigError(f"reset_mask: expected a bool array of shape ({self.num_envs},) with a True in it; got {mask!r}")
        return [int(index) for index in np.flatnonzero(mask)]


class Row(SearchEnv):
    """A single environment whose turns are played from outside, together with those of its fellows."""

    def beside(self) -> "Row":
        """Makes a fellow before the first reset: same world, rules, memory and inner player, a game of its own."""
        row = copy.copy(self)
        row.game = SearchGame(self.game.world, self.game.config, self.game.memory)
        return row

    def reseed(self, seed: int | None) -> None:
        """Seeds the row's generator; None leaves it as it is."""
        gymnasium.Env.reset(self, seed=seed)

    def draw(self, chosen: Question | Target | None) -> tuple[Question | Target, int]:
        """Draws a task, if none is chosen, and the episode's seed, in the order in which `reset` does."""
        return chosen or self._drawn_task(), self._episode_seed()

    def begun(self) -> tuple[str, str]:
        """The first observation and event, once the inner player has played."""
        state = self.game.state
        if state.transcript:
            return state.transcript[-1].observation, state.transcript[-1].event
        assert state.seat is not None  # an episode whose first turn is still to come
        return state.seat.prompt, "reset"

    chosen = SearchEnv._chosen_task
    tries = SearchEnv._tries
    unfit = SearchEnv._unfit
    both = SearchEnv._both


def _mode(name: str | AutoresetMode) -> AutoresetMode:
    try:
        return AutoresetMode(name)
    except ValueError:
        known = ", ".join(repr(mode.value) for mode in AutoresetMode)
        raise ConfigError(f"autoreset_mode: expected one of {known}; got {name!r}") from None


def _table(rows: Sequence[int], columns: Mapping[str, list[Any]], count: int) -> dict[str, Any]:
    """Lays out values by key as `VectorEnv` does: for each key an array over all rows, and which rows have it."""
    table: dict[str, Any] = {}
    for key, values in columns.items():
        table |= _masked(key, _column(rows, values, count), rows, count)
    return table


def _nested(rows: Sequence[int], infos: Sequence[Mapping[str, Any]], count: int) -> dict[str, Any]:
    """Lays out mappings that need not share their keys, and mappings in them."""
    table: dict[str, Any] = {}
    for key in dict.fromkeys(chain.from_iterable(infos)):
        having = [row for row, info in zip(rows, infos, strict=True) if key in info]
        values = [info[key] for info in infos if key in info]
        column = _nested(having, values, count) if isinstance(values[0], dict) else _column(having, values, count)
        table |= _masked(key, column, having, count)
    return table


def _masked(key: str, column: Any, rows: Sequence[int], count: int) -> dict[str, Any]:
    mask = np.full(count, len(rows) == count)
    if len(rows) < count:
        mask[rows] = True
    return {key: column, f"_{key}": mask}


def _column(rows: Sequence[int], values: list[Any], count: int, kind: type | None = None) -> NDArray[Any]:
    """Makes an array over all rows of the values that some have; the others get zeros, or None where they are no numbers."""
    kind = kind or type(values[0])
    if len(rows) == count:
        return np.array(values, kind if kind in _NUMBERS else object)
    column = np.zeros(count, kind) if kind in _NUMBERS else np.full(count, None, object)
    if values:
        column[rows] = values
    return column
