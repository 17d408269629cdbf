"""`SESA-SearchDiscrete-v0`: the Solver's seat of the game with discrete actions and numbers to look at."""

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from sesa_env.env import SearchEnv, argument_names, refuse_unknown
from sesa_env.errors import ConfigError, SesaError
from sesa_env.numeric.choices import N_ACTIONS, Choices, choices
from sesa_env.numeric.features import Observation, blank, observation_space, observe

_NOTHING = Choices.nothing()


class SearchDiscreteEnv(gymnasium.Env[Observation, np.int64]):
    """The Solver's seat for agents that read no text: which query to make, which answer to give.

    ## Description
    `SESA-Search-v0` with `role="solver"`, the same episodes by the same rules. What there is to choose from is worked out from
    the Solver's view by the parts of the scripted Solvers: the names and relations of the question, the query templates of the
    Skill Cards shown, and answers that a reader finds in what the searches brought. Paper, section 4: in On mode a card's
    templates become actions, queries in words that the question does not have.

    ## Action space
    `Discrete(15)`, the rows of `sesa_env.numeric.ACTIONS`: seven queries, seven answers, and giving up. Which of them are
    available changes from turn to turn: `action_masks()` says it, as sb3-contrib's `MaskablePPO` asks for it, and
    `info["action_mask"]`, as `action_space.sample(mask)` takes it. An action that is not available writes an empty turn:
    by the rules it is malformed, costs `reward.malformed`, and forfeits the third time. Giving up always is available.

    ## Observation space
    A flat `Dict` of `Box`es, float32 in [-1, 1]; `sesa_env.numeric.observe` says what they hold. All zeros at the end.

    ## Rewards, starting state, episode end
    As `SESA-Search-v0` with `role="solver"`, `reset(options=...)` too.

    ## Version history
    * v0: the first version.

    Args:
        opponent: a Challenger to pose the questions; None: ready questions of the world are asked.
        corpus: as `SESA-Search-v0`.
        corpus_options: likewise.
        memory: likewise: None (Off mode), "seeds" or the path of a bank.
        rules: likewise.
        render_mode: likewise.
        **unknown: refused, as `SearchEnv` does it.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - Gymnasium's own declaration of this attribute

    def __init__(
        self,
        opponent: str | None = None,
        corpus: str = "miniwiki",
        corpus_options: Mapping[str, Any] | None = None,
        memory: str | None = None,
        rules: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        **unknown: Any,
    ) -> None:
        if "role" in unknown:
            raise ConfigError(f"role: this is the Solver's seat; expected no role, got {unknown['role']!r}; leave it out")
        refuse_unknown("SESA-SearchDiscrete-v0", argument_names(SearchDiscreteEnv), unknown)
        self.text = SearchEnv("solver", opponent, corpus, corpus_options, memory, rules, render_mode)
        """The environment underneath, with its view, records and snapshots. Read it; stepping it leaves this one behind."""
        self.render_mode = render_mode
        self.action_space = gymnasium.spaces.Discrete(N_ACTIONS)
        self.observation_space: gymnasium.Space[Observation] = observation_space()
        self._choices = _NOTHING

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Begins an episode; arguments and errors as `SearchEnv.reset`.

        Returns:
            The observation, and the info of `SearchEnv` with `action_mask`: int8, shape (15,), 1 where available.
        """
        super().reset(seed=seed)
        _, info = self.text.reset(seed=seed, options=options)
        return self._shown(info)

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Writes the turn that an action stands for.

        Args:
            action: 0 to 14, available or not.

        Returns:
            The observation, the reward, terminated, truncated, and the info as `reset`'s.

        Raises:
            SesaError: the episode is over, none has begun, or there is no such action.
        """
        if action not in self.action_space:
            raise SesaError(f"action: expected a whole number from 0 to {N_ACTIONS - 1}; got {action!r}")
        _, reward, terminated, truncated, info = self.text.step(self._choices.turns[int(action)])
        shown, info = self._shown(info)
        return shown, reward, terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Says which actions are available: bool, shape (15,). None is when no episode is running."""
        return np.array([bool(turn) for turn in self._choices.turns])

    def choices(self) -> Choices:
        """Returns what the actions would write now: `turns`, as text."""
        return self._choices

    def render(self) -> str | None:
        """Returns the transcript as text in "ansi" mode, else None."""
        return self.text.render()

    def _shown(self, info: dict[str, Any]) -> tuple[Observation, dict[str, Any]]:
        over = self.text.game.actor is None
        view = None if over else self.text.view()
        self._choices = _NOTHING if view is None else choices(view)
        shown = blank() if view is None else observe(view, self._choices)
        return shown, {**info, "action_mask": self.action_masks().astype(np.int8)}
