"""`SESA-Search-v0`: the game as a Gymnasium environment."""

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import gymnasium

from sesa_env.errors import ConfigError, SesaError
from sesa_env.game import GameConfig, GameState, SearchGame, Turn
from sesa_env.memory.base import MemorySnapshot
from sesa_env.plain import build
from sesa_env.players.base import Player, View
from sesa_env.records import EpisodeRecord, Setup, open_setup
from sesa_env.spaces import Utf8
from sesa_env.transcript import tell_turn
from sesa_env.types import ROLE_NAMES, Question, Role, Target
from sesa_env.worlds import World

_EXAMPLES = {"corpus_options": "corpus_options={'size': 1000}", "rules": "rules={'group_size': 2}"}
_POSING_TRIES = 50  # targets an inner Challenger may fail at before the opponent is called unfit


class SearchEnv(gymnasium.Env[str, str]):
    """Search self-play: a Challenger poses questions, a Solver answers them with a search tool and Skill Cards.

    ## Description
    The Challenger is given a target answer and a hop count, searches, and poses a question whose answer is the target. If the
    question passes the validity filters, a group of G Solver attempts plays it. Their solve rate rewards the Challenger.
    Made after SESA (arXiv 2607.29468), sections 1 to 3.

    ## Action space
    Text. A turn is optional `<think>...</think>` blocks and exactly one action: `<search>query</search>`; for the Solver
    `<answer>...</answer>`; for the Challenger `<question>...</question>`. Any other text is answered with an error message,
    costs `reward.malformed`, and forfeits the seat the third time. Nothing raises.

    ## Observation space
    Text: what the next actor has not seen yet. At the start of a seat its whole prompt (task, Skill Cards, question or
    target), then the answer to each turn: search results between `<information>` tags, or an error message. At the end "".
    `env.unwrapped.view()` gives the same as data, with the whole history.

    ## Rewards
    Solver: 1 for an exact match, else 0. Challenger: frontier shaping 4 p (1 - p), -lambda at p = 0 and 1, with p the group's
    solve rate; other rewards by name. With `role=None` the scalar is what this step's actor earned; with a role, what that
    role earned in this step. `info["rewards"]` has both roles' components, summed over the episode so far.

    ## Starting state
    A target (or, for `role="solver"` without an opponent, a question) drawn from the world's pool. `reset(options=...)` takes
    one of `{"index": i}` (of that pool), `{"question": Question or dict}`, `{"target": Target or dict}`.

    ## Episode end
    Terminated: the last attempt has answered or forfeited, or the question was rejected (`info["event"]` says why). Truncated:
    the last seat ran out of turns; the limit is a rule of the game, so no time-limit wrapper is needed.

    ## Arguments
    All are JSON values, so they survive `env.spec`.

    ## Version history
    * v0: the first version.

    Args:
        role: None: the caller plays every turn. "solver" or "challenger": the caller plays this seat alone, an ordinary
            single-agent task; the other seat is played inside.
        opponent: who plays the other seat: a built-in player's name or `module:factory`. Default for `role="challenger"`:
            "naive". For `role="solver"` the default is nobody: ready questions of the world are asked.
        corpus: the world's name, see `sesa_env.worlds.make_world`.
        corpus_options: the world's options.
        memory: the skill memory that the Solver is shown cards from: None (Off mode), "seeds" (the hand-written cards), the
            path of a bank, read once, when the environment is made, or anyone's own as `module:factory`.
        rules: fields of `sesa_env.game.GameConfig`, nested ones as mappings, for example `{"reward": {"end_penalty": 0.2}}`.
        render_mode: None or "ansi" (the transcript as text).
        **unknown: refused; it is here so that the error can say what would be known.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - Gymnasium's own declaration of this attribute

    def __init__(
        self,
        role: str | None = None,
        opponent: str | None = None,
        corpus: str = "miniwiki",
        corpus_options: Mapping[str, Any] | None = None,
        memory: str | None = None,
        rules: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        **unknown: Any,
    ) -> None:
        refuse_unknown("SESA-Search-v0", argument_names(SearchEnv), unknown)
        if render_mode not in (None, "ansi"):
            raise ConfigError(f"render_mode: expected None or 'ansi'; got {render_mode!r}")
        self.render_mode = render_mode
        self.role = _role(role)
        self.setup = Setup(corpus, _options("corpus_options", corpus_options), memory, _options("rules", rules))
        world, config, snapshot = open_setup(self.setup)
        self._connect(world, config, snapshot, opponent)

    def _connect(self, world: World, config: GameConfig, memory: MemorySnapshot | None, opponent: str | None) -> None:
        """Seats the players: a Solver's single-agent episode is one attempt, so its group has one member."""
        if self.role is Role.SOLVER:
            config = replace(config, group_size=1)
        self.game = SearchGame(world, config, memory)
        self.opponent = _opponent(self.role, opponent, world)
        """Who plays the other seat; None where the caller plays both, or is asked ready questions."""
        self._ready_questions = self.role is Role.SOLVER and self.opponent is None
        longest = max(config.max_action_chars, 1_000_000)
        self.action_space: gymnasium.Space[str] = Utf8(longest)
        self.observation_space: gymnasium.Space[str] = Utf8()
        pool = "questions" if self._ready_questions else "targets"
        if not getattr(world, pool):
            raise ConfigError(
                f"world {world.name!r} has no {pool}; expected at least one for role={self.role and self.role.value!r}"
            )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begins an episode.

        Args:
            seed: seeds this instance's generator; the same seed and actions give the same episode.
            options: at most one of "index", "question" and "target", see the class.

        Returns:
            The first actor's prompt, and the info.

        Raises:
            ConfigError: options that are not known.
            SesaError: the inner Challenger posed no valid question for many targets.
        """
        super().reset(seed=seed)
        chosen = self._chosen_task(options or {})
        tries = self._tries(chosen)
        for _ in range(tries):
            begun = self._begin(chosen or self._drawn_task())
            if self.game.actor is not None:
                return begun
        raise self._unfit(chosen, tries)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Plays one turn, then lets the inner player play until it is the caller's turn again or the episode is over.

        Args:
            action: what the actor writes; any string.

        Returns:
            What the next actor is shown, the reward, terminated, truncated, and the info.

        Raises:
            SesaError: the episode is over, or none has begun.
        """
        turn = self.game.act(action)
        if self.opponent is not None and (last := self._play_inside()) is not None:
            turn = self._both(turn, last)
        return turn.observation, turn.reward, turn.terminated, turn.truncated, self._info(turn)

    def view(self) -> View:
        """Returns all that the actor may see, as data."""
        return self.game.view()

    def render(self) -> str | None:
        """Returns the transcript as text in "ansi" mode, else None."""
        if self.render_mode is None:
            return None
        state = self.game.state
        lines = [tell_turn(turn) for turn in state.transcript]
        return "\n".join([*lines, f"rewards: {state.rewards}"])

    def record(self, state: GameState | None = None) -> EpisodeRecord:
        """Returns an episode so far, to be written as JSONL and replayed.

        Args:
            state: an earlier episode's `game.state`, kept by the caller; None is the running one.
        """
        setup = replace(self.setup, rules=self.setup.rules | {"group_size": self.game.config.group_size})
        return EpisodeRecord.of(setup, self.game, state)

    def snapshot(self) -> tuple[GameState, Any]:
        """Returns a copy of the running episode and of the generator: picklable."""
        return self.game.snapshot(), self.np_random.bit_generator.state

    def restore(self, snapshot: tuple[GameState, Any]) -> None:
        """Goes back to a snapshot of this environment or of one made with the same arguments."""
        state, generator = snapshot
        self.game.restore(state)
        self.np_random.bit_generator.state = generator

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _chosen_task(self, options: Mapping[str, Any]) -> Question | Target | None:
        known: dict[str, Callable[[Any], Question | Target]] = {
            "index": self._indexed,
            "question": lambda value: value if isinstance(value, Question) else build(Question, value, "options['question']"),
            "target": lambda value: value if isinstance(value, Target) else build(Target, value, "options['target']"),
        }
        if len(options) > 1 or not set(options) <= set(known):
            raise ConfigError(f"reset options: expected at most one of {', '.join(known)}; got {', '.join(map(repr, options))}")
        for name, value in options.items():
            task = known[name](value)
            if isinstance(task, Question) and self.role is Role.CHALLENGER:
                raise ConfigError("reset options: the Challenger starts from a target; expected 'target', got 'question'")
            return task
        return None

    def _indexed(self, value: Any) -> Question | Target:
        pool = self.game.world.questions if self._ready_questions else self.game.world.targets
        if not isinstance(value, int) or not 0 <= value < len(pool):
            raise ConfigError(f"reset options: index: expected 0 to {len(pool) - 1}; got {value!r}")
        return pool[value]

    def _drawn_task(self) -> Question | Target:
        pool = self.game.world.questions if self._ready_questions else self.game.world.targets
        return pool[int(self.np_random.integers(len(pool)))]

    def _tries(self, chosen: Question | Target | None) -> int:
        """How often an episode may begin anew because the inner Challenger has posed nothing valid."""
        poses_inside = self.opponent is not None and self.role is Role.SOLVER
        return _POSING_TRIES if poses_inside and chosen is None else 1

    def _unfit(self, chosen: Question | Target | None, tries: int) -> SesaError:
        reason = self.game.state.reject_reason
        if chosen is not None:
            return SesaError(f"the inner Challenger posed no valid question for {chosen}: {reason}")
        return SesaError(f"the inner Challenger posed no valid question for {tries} targets; last: {reason}")

    def _begin(self, task: Question | Target) -> tuple[str, dict[str, Any]]:
        prompt = self.game.reset(task, seed=self._episode_seed())
        last = self._play_inside() if self.role is not None else None
        return (prompt if last is None else last.observation), self._info(last)

    def _episode_seed(self) -> int:
        return int(self.np_random.integers(2**31))

    def _both(self, turn: Turn, last: Turn) -> Turn:
        """The caller's turn and what the inner player did after it, up to its last turn, as one."""
        # Only a valid question hands the turn to the inner player, a Solver, which then plays its group to the end.
        earned = self.game.state.rewards[Role.CHALLENGER.value][self.game.config.reward.challenger]
        return last._replace(reward=turn.reward + earned, terminated=True, truncated=False)

    def _play_inside(self) -> Turn | None:
        """Lets the inner player act while it is its turn; returns its last turn, None if it had none."""
        last = None
        while (actor := self.game.actor) is not None and actor is not self.role:
            if self.opponent is None:
                raise empty_seat(actor)
            last = self.game.act(self.opponent.act(self.game.view()))
        return last

    def _info(self, turn: Turn | None) -> dict[str, Any]:
        state = self.game.state
        seat = state.seat
        return {
            "actor": "" if seat is None else ROLE_NAMES[seat.role],
            "event": "reset" if turn is None else turn.event,
            "turns_left": 0 if seat is None else seat.turns_left,
            "searches_left": 0 if seat is None else seat.searches_left,
            "rewards": {role: components.copy() for role, components in state.rewards.items()},
        }


def empty_seat(actor: Role) -> ConfigError:
    """Builds the error for a turn that nobody plays."""
    return ConfigError(f"nobody plays the {actor.value}'s seat; expected opponent=NAME")


def argument_names(env: type[gymnasium.Env[Any, Any]]) -> list[str]:
    """Returns the names of an environment's arguments, but for `**unknown`."""
    return [name for name in inspect.signature(env).parameters if name != "unknown"]


def refuse_unknown(env_id: str, known: Sequence[str], unknown: Mapping[str, Any]) -> None:
    """Refuses arguments that an environment has none of, by their names.

    Args:
        env_id: the environment's registered name.
        known: its arguments' names.
        unknown: what came beside them.

    Raises:
        ConfigError: there is something in `unknown`.
    """
    if not unknown:
        return
    near = [guess for name in unknown for guess in difflib.get_close_matches(name, known, n=1)]
    told = f"; did you mean {' and '.join(near)}?" if near else "."
    raise ConfigError(
        f"{env_id} has no argument {', '.join(map(repr, unknown))}; expected some of {', '.join(known)}{told} "
        "What the rules have goes into rules={...}, what the world has into corpus_options={...}"
    )


def _options(name: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise ConfigError(f"{name}: expected a mapping of names to values, for example {_EXAMPLES[name]}; got {given!r}")
    return dict(given or {})


def _role(role: str | None) -> Role | None:
    if role is None:
        return None
    try:
        return Role(role)
    except ValueError:
        raise ConfigError(f"role: expected None, 'solver' or 'challenger'; got {role!r}") from None


def _opponent(role: Role | None, opponent: str | None, world: World) -> Player | None:
    if role is None and opponent is not None:
        raise ConfigError(
            f"opponent: with role=None the caller plays every turn; expected None, got {opponent!r}; "
            "give role='solver' or 'challenger' too"
        )
    name = "naive" if opponent is None and role is Role.CHALLENGER else opponent
    if name is None:
        return None
    from sesa_env.players.load import load_player

    return load_player(name, world, role=Role.SOLVER if role is Role.CHALLENGER else Role.CHALLENGER)
