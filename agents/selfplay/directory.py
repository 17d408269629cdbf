"""A run's directory: whose it is, and whether a run may go on in it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.selfplay.config import RunConfig
from sesa_env.errors import ConfigError
from sesa_env.memory.whole import whole_file

CONFIG = "config.json"
FREE = ("updates", "guard", "tensorboard", "wandb")
"""What may differ when a run goes on: how far, what stops it, and where its metrics are drawn."""


def open_directory(config: RunConfig, out: Path, *, resume: bool) -> None:
    """Makes a run's directory and writes its configuration, or sees to it that it holds this very run.

    Raises:
        ConfigError: the directory holds another run or something else, or this one and `resume` is False.
    """
    path, stored = out / CONFIG, config.to_json()
    if path.exists():
        if not resume:
            raise ConfigError(f"{out} holds a run already; type --resume to go on with it, or name another --out")
        found = json.loads(path.read_text(encoding="utf-8"))
        if differing := [line for line in differences(found, stored) if line.split(":")[0].split(".")[0] not in FREE]:
            raise ConfigError(f"--resume: {path} is another run's: " + "; ".join(differing))
    elif out.exists() and any(out.iterdir()):
        raise ConfigError(f"{out} is not empty and holds no run; expected a new or empty directory")
    out.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as part:
        part.write_text(json.dumps(stored, sort_keys=True, indent=1) + "\n", encoding="utf-8")


def differences(old: Any, new: Any, path: str = "") -> list[str]:
    """Lists the fields in which two JSON values differ, as "path: old -> new"."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys = sorted(old.keys() | new.keys())
        return [line for key in keys for line in differences(old.get(key), new.get(key), f"{path}.{key}".lstrip("."))]
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return [] if list(old) == list(new) else [f"{path}: {old!r} -> {new!r}"]
    return [] if old == new else [f"{path}: {old!r} -> {new!r}"]
