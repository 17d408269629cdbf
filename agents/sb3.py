"""stable-baselines3 agents as players: a model that learned on `SESA-SearchDiscrete-v0` takes the Solver's seat of any game."""

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sesa_env.errors import ConfigError, missing_extra
from sesa_env.numeric import ACTIONS, choices, observation_space, observe
from sesa_env.players.base import View

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

ALGORITHMS = ("ppo", "maskable-ppo", "dqn")
"""The algorithms whose agents can be trained and loaded here."""


class Sb3Player:
    """Plays the Solver's seat greedily by a trained agent (`BatchPlayer`). A function of the view alone.

    An agent that knows no masks may choose what is not available: that writes an empty turn, as on the environment.

    Args:
        model: an agent that was trained on `SESA-SearchDiscrete-v0`.
        masked: whether it is given action masks, as MaskablePPO is.
    """

    def __init__(self, model: "BaseAlgorithm", *, masked: bool) -> None:
        self.model = model
        self._masked = masked

    def act(self, view: View) -> str:
        """Writes the next turn."""
        return self.act_batch([view])[0]

    def act_batch(self, views: Sequence[View]) -> list[str]:
        """Writes the next turn for each view, all with one pass of the agent's network."""
        if not views:
            return []
        rows = [choices(view) for view in views]
        seen = [observe(view, row) for view, row in zip(views, rows, strict=True)]
        batch = {name: np.stack([each[name] for each in seen]) for name in seen[0]}
        masks: dict[str, Any] = {}
        if self._masked:
            masks = {"action_masks": np.array([[bool(turn) for turn in row.turns] for row in rows])}
        chosen, _ = self.model.predict(batch, deterministic=True, **masks)
        return [row.turns[int(action)] for row, action in zip(rows, chosen, strict=True)]


def algorithm_class(name: str) -> "type[BaseAlgorithm]":
    """Returns the class of an algorithm.

    Args:
        name: one of `ALGORITHMS`.

    Raises:
        ConfigError: there is no such algorithm, or the extra is not installed.
    """
    if name not in ALGORITHMS:
        raise ConfigError(f"algorithm: expected one of {', '.join(ALGORITHMS)}; got {name!r}")
    try:
        import sb3_contrib
        import stable_baselines3
    except ImportError as error:
        raise missing_extra(error.name or "stable_baselines3", "sb3") from error
    found: dict[str, type[BaseAlgorithm]] = {
        "ppo": stable_baselines3.PPO,
        "maskable-ppo": sb3_contrib.MaskablePPO,
        "dqn": stable_baselines3.DQN,
    }
    return found[name]


def load_sb3_player(path: str | Path) -> Sb3Player:
    """Loads an agent as stable-baselines3 saves it. Such a file can run code when it is loaded: load only what you trust.

    Args:
        path: the file, with or without its ending ".zip".

    Raises:
        ConfigError: there is no such file, it is no agent of `ALGORITHMS`, its spaces are not those of
            `SESA-SearchDiscrete-v0`, or the extra is not installed.
    """
    file = Path(path)
    file = file if file.suffix == ".zip" else file.with_name(f"{file.name}.zip")
    name = _algorithm_of(file)
    model = algorithm_class(name).load(file, device="cpu")
    if model.observation_space != observation_space() or getattr(model.action_space, "n", 0) != len(ACTIONS):
        raise ConfigError(f"{file}: expected an agent trained on SESA-SearchDiscrete-v0; its spaces are another environment's")
    return Sb3Player(model, masked=name == "maskable-ppo")


def _algorithm_of(file: Path) -> str:
    """Reads off a saved agent which algorithm it is of: its policy's module tells masks and values apart from PPO."""
    if not file.is_file():
        raise ConfigError(f"{file}: expected an agent saved by stable-baselines3; there is no such file")
    try:
        with zipfile.ZipFile(file) as archive:
            data: dict[str, Any] = json.loads(archive.read("data"))
        module = str(data["policy_class"]["__module__"])
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{file}: expected an agent saved by stable-baselines3; it is none: {error}") from error
    if "maskable" in module:
        return "maskable-ppo"
    if "dqn" in module:
        return "dqn"
    if "clip_range" in data:
        return "ppo"
    raise ConfigError(f"{file}: expected an agent of {', '.join(ALGORITHMS)}; its policy is of {module}")
