"""Where metrics are drawn besides the file: TensorBoard, and Weights & Biases by option."""

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from agents.selfplay.config import RunConfig
from agents.selfplay.finished import read_json
from agents.selfplay.metrics import scalars
from sesa_env.errors import ConfigError, missing_extra
from sesa_env.memory.whole import whole_file

WANDB_RUN = "wandb.json"
"""Which run of which project a directory's metrics go to."""


class Board(Protocol):
    """Something that draws rows of metrics."""

    def show(self, row: Mapping[str, Any]) -> None:
        """Draws one update."""
        ...

    def close(self) -> None:
        """Writes what is left."""
        ...


class TensorBoard:
    """Draws into `DIR/tensorboard`. What a stopped run drew after its checkpoint is purged."""

    def __init__(self, out: Path, step: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(out / "tensorboard"), purge_step=step)

    def show(self, row: Mapping[str, Any]) -> None:
        """Draws one update's numbers."""
        for name, value in scalars(row).items():
            self._writer.add_scalar(name, value, row["step"])

    def close(self) -> None:
        """Writes what is left."""
        self._writer.close()


class WeightsAndBiases:
    """Draws into a project of Weights & Biases, which is imported only here.

    The run that it opens there is written down in `DIR/wandb.json`, and a training that is resumed goes on in it. What was
    drawn after its checkpoint stays: the same rows come again, and a step that is there already is not taken twice.
    """

    def __init__(self, config: RunConfig, out: Path) -> None:
        import wandb  # type: ignore[import-not-found, unused-ignore]  # optional, and often absent

        path = out / WANDB_RUN
        known = read_json(path) if path.exists() else {}
        name = known.get("id") if known.get("project") == config.wandb else None
        self._run = wandb.init(project=config.wandb, dir=str(out), config=config.to_json(), id=name, resume="allow")
        if name is None:
            with whole_file(path) as part:
                part.write_text(json.dumps({"project": config.wandb, "id": self._run.id}) + "\n", encoding="utf-8")

    def show(self, row: Mapping[str, Any]) -> None:
        """Draws one update's numbers."""
        self._run.log(scalars(row), step=row["step"])

    def close(self) -> None:
        """Ends the run there."""
        self._run.finish()


def check_boards(config: RunConfig) -> None:
    """Looks for the packages that a run's boards need, before anything of the run is done.

    Raises:
        ConfigError: one is not installed; the message says what to type.
    """
    if config.tensorboard and find_spec("tensorboard") is None:
        raise missing_extra("tensorboard", "train")
    if config.wandb and find_spec("wandb") is None:
        raise ConfigError("wandb is not installed; type: pip install wandb, or leave the option out")


def open_boards(config: RunConfig, out: Path, step: int) -> list[Board]:
    """Opens what the configuration asks for, from a step on."""
    boards: list[Board] = []
    if config.tensorboard:
        boards.append(TensorBoard(out, step))
    if config.wandb:
        boards.append(WeightsAndBiases(config, out))
    return boards
