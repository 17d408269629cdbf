"""`gymnasium.make_vec("SESA-Search-v0", n)`: n environments in one process whose searches share one call of the retriever."""

import copy
from collections.abc import Iterable, Mapping, Sequence
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
from sesa_env.types import Question, Role, Target

_Infos = dict[int, dict[str, Any]]  # by row
_Step = tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]


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
        self._over = [False] * num_envs

    def reset(  # type: ignore[override]  # as in SyncVectorEnv: a list seeds each row
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
        infos = self._begin(rows, given)
        return tuple(self._observations), _columns(infos, self.num_envs)

    def step(self, actions: tuple[str, ...]) -> _Step:
        """Plays one turn in every row.

        Args:
            actions: n texts; any strings.

        Returns:
            Observations, rewards, terminated, truncated, infos.

        Raises:
            SesaError: not n strings; with "Disabled", a row whose episode is over. What a verifier raises leaves too; the rows
                are then within a turn and must be reset.
        """
        acting = [index for index in range(self.num_envs) if not self._over[index]]
        ended = [index for index in range(self.num_envs) if self._over[index]]
        self._check(actions, acting, ended)
        rewards = np.zeros(self.num_envs)
        terminated = np.zeros(self.num_envs, bool)
        truncated = np.zeros(self.num_envs, bool)
        infos: _Infos = {}
        for index, outcome in zip(acting, self._act(acting, [actions[index] for index in acting]), strict=True):
            self._observations[index], rewards[index], terminated[index], truncated[index], infos[index] = outcome
        infos |= self._begin(ended, {})
        self._over = (terminated | truncated).tolist()
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            self._begin_at_once(infos)
        return tuple(self._observations), rewards, terminated, truncated, _columns(infos, self.num_envs)

    def render(self) -> tuple[Any, ...]:
        """Returns each row's transcript in "ansi" mode, else None for each."""
        return tuple(row.render() for row in self.envs)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _act(self, rows: Sequence[int], texts: Sequence[str]) -> list[tuple[str, float, bool, bool, dict[str, Any]]]:
        games = [self.envs[index].game for index in rows]
        step(games, texts)
        turns = [game.state.transcript[-1] for game in games]
        last = self._play_inside(rows)
        return [self.envs[index].stepped(turn, last.get(index)) for index, turn in zip(rows, turns, strict=True)]

    def _begin(self, rows: Sequence[int], options: Mapping[str, Any]) -> _Infos:
        """Begins an episode in these rows and keeps what they are shown; returns their infos."""
        if not rows:
            return {}
        self._deal(rows, options)
        infos: _Infos = {}
        for index in rows:
            self._observations[index], infos[index] = self.envs[index].begun()
            self._over[index] = False
        return infos

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

    def _begin_at_once(self, infos: _Infos) -> None:
        """Begins anew in the rows that have ended; their ends stay in the infos."""
        ends = {index: (self._observations[index], infos[index]) for index, over in enumerate(self._over) if over}
        for index, info in self._begin(list(ends), {}).items():
            observation, final = ends[index]
            infos[index] = {**info, "final_obs": observation, "final_info": final}

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

    def _check(self, actions: Sequence[str], acting: Sequence[int], ended: Sequence[int]) -> None:
        if isinstance(actions, str) or len(actions) != self.num_envs:
            raise SesaError(f"actions: expected {self.num_envs} texts, one a row; got {len(actions)}: {actions!r}")
        for index in acting:
            if not isinstance(actions[index], str):
                raise SesaError(f"actions[{index}]: expected a string; got {type(actions[index]).__name__} {actions[index]!r}")
            if self.envs[index].game.actor is None:
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

    def begun(self) -> tuple[str, dict[str, Any]]:
        """What `reset` returns, once the inner player has played."""
        state = self.game.state
        if state.transcript:
            return state.transcript[-1].observation, self._info(state.transcript[-1])
        assert state.seat is not None  # an episode whose first turn is still to come
        return state.seat.prompt, self._info(None)

    chosen = SearchEnv._chosen_task
    tries = SearchEnv._tries
    unfit = SearchEnv._unfit
    stepped = SearchEnv._stepped


def _mode(name: str | AutoresetMode) -> AutoresetMode:
    try:
        return AutoresetMode(name)
    except ValueError:
        known = ", ".join(repr(mode.value) for mode in AutoresetMode)
        raise ConfigError(f"autoreset_mode: expected one of {known}; got {name!r}") from None


def _columns(infos: Mapping[int, Mapping[str, Any]], count: int) -> dict[str, Any]:
    """Turns infos by row into arrays by key, each with its mask, as `VectorEnv` lays them out."""
    by_key: dict[str, dict[int, Any]] = {}
    for index, info in infos.items():
        for key, value in info.items():
            by_key.setdefault(key, {})[index] = value
    table: dict[str, Any] = {}
    for key, values in by_key.items():
        table[key] = _column(values, count)
        table[f"_{key}"] = mask = np.zeros(count, bool)
        mask[list(values)] = True
    return table


def _column(values: Mapping[int, Any], count: int) -> Any:
    kind = type(next(iter(values.values())))
    if kind is dict:
        return _columns(values, count)
    column = np.zeros(count, kind) if kind in (int, float, bool) else np.full(count, None, object)
    column[list(values)] = list(values.values())
    return column
