"""A run's directory: whose it is, whether a run may go on in it, and whether it has anything left to do."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.pretrained import start_digest
from agents.selfplay.checkpoint import Checkpoints
from agents.selfplay.config import RunConfig
from agents.selfplay.finished import FINISHED, START, finished_updates, read_json
from sesa_env.errors import ConfigError
from sesa_env.memory.whole import whole_file
from sesa_env.output import is_new, writing_in
from sesa_env.plain import build

CONFIG = "config.json"
FREE = ("updates", "guard", "tensorboard", "wandb")
"""What may differ when a run goes on: how far, what stops it, and where its metrics are drawn."""


def stored_config(out: Path) -> RunConfig | None:
    """Reads the configuration of a run; fields that are newer than it have their defaults. None: there is no run.

    Raises:
        ConfigError: it is no run's configuration.
        StoreError: it cannot be read.
    """
    path = out / CONFIG
    return build(RunConfig, read_json(path), str(path)) if path.exists() else None


def open_directory(config: RunConfig, out: Path, *, resume: bool) -> bool:
    """Makes a run's directory and writes its configuration, or sees to it that it holds this very run.

    Returns:
        Whether there is anything to do. If not, the run is finished and no file of it was touched.

    Raises:
        ConfigError: the directory holds another run or something else, or this one and `resume` is False; the weights that
            it started from have changed since; or it cannot be written.
    """
    new = is_new(out)
    found = None if new else stored_config(out)
    if found is not None:
        if not resume:
            raise ConfigError(f"{out} holds a run already; type --resume to go on with it, or name another --out")
        _check_same(found, config, out)
        if (made := finished_updates(out)) is not None and made >= config.updates:
            return False
        _check_not_back(config, out)
    elif not new:
        raise ConfigError(f"{out} is not empty and holds no run; expected a new or empty directory")
    start = {"model": config.model, "weights": start_digest(config.model)}  # a model that is not there leaves no directory
    with writing_in(out):
        out.mkdir(parents=True, exist_ok=True)
    _pin_start(config, start, out, begun=found is not None)
    return True


def _check_same(found: RunConfig, config: RunConfig, out: Path) -> None:
    lines = differences(found.to_json(), config.to_json())
    if differing := [line for line in lines if line.split(":")[0].split(".")[0] not in FREE]:
        raise ConfigError(f"--resume: {out / CONFIG} is another run's: " + "; ".join(differing))


def _check_not_back(config: RunConfig, out: Path) -> None:
    made = Checkpoints(out).latest()
    if made is not None and made > config.updates:
        raise ConfigError(f"updates: expected at least the {made} that this run has made; got {config.updates}")


def _pin_start(config: RunConfig, start: Mapping[str, str], out: Path, *, begun: bool) -> None:
    """Writes the configuration and the digest of the start weights, or refuses weights that have changed since.

    The mark of a finished run goes first: from here on its files are in flux.
    """
    if begun and (out / START).exists() and (was := read_json(out / START)) != start:
        raise ConfigError(
            f"--resume: {config.model!r} has other weights than when this run began: {was.get('weights')} -> "
            f"{start['weights']}; put the old ones back, or begin another run"
        )
    with writing_in(out):
        (out / FINISHED).unlink(missing_ok=True)
        _write(out / CONFIG, config.to_json())
        _write(out / START, start)


def _write(path: Path, value: Mapping[str, Any]) -> None:
    with whole_file(path) as part:
        part.write_text(json.dumps(value, sort_keys=True, indent=1) + "\n", encoding="utf-8")


def differences(old: Any, new: Any, path: str = "") -> list[str]:
    """Lists the fields in which two JSON values differ, as "path: old -> new"."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys = sorted(old.keys() | new.keys())
        return [line for key in keys for line in differences(old.get(key), new.get(key), f"{path}.{key}".lstrip("."))]
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return [] if list(old) == list(new) else [f"{path}: {old!r} -> {new!r}"]
    return [] if old == new else [f"{path}: {old!r} -> {new!r}"]
