"""The directory of a run: begun empty, or taken up again with the very same configuration."""

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.banks import BANK_FILE, read_bank
from benchmarks.config import RunConfig, differing_fields
from benchmarks.environment import describe_environment
from benchmarks.judged import is_unsettled
from benchmarks.plan import Plan
from benchmarks.records import dump, read_json, read_records, write_json
from benchmarks.units import RECORDS_FILE, UNITS, discard_unfinished, is_finished
from sesa_env.errors import ConfigError, StoreError
from sesa_env.output import is_new, writing_in

CONFIG_FILE, PLAN_FILE, ENVIRONMENT_FILE = "config.json", "plan.json", "environment.json"


def check_directory(root: Path, config: RunConfig, resume: bool) -> None:
    """Checks that a run may be begun or resumed in a directory, and changes nothing. Resuming an empty one begins it.

    Raises:
        ConfigError: the directory is not empty and `resume` is False, it holds a run of another configuration, or it cannot be
            looked into.
    """
    if is_new(root):
        return
    if root.is_file():
        raise ConfigError(f"{root} is a file; choose a directory with --out")
    if not resume:
        raise ConfigError(f"{root} is not empty; add --resume to finish the run in it, or choose another directory with --out")
    if not (root / CONFIG_FILE).is_file():
        raise ConfigError(f"{root} holds no run ({CONFIG_FILE} is missing); choose another directory with --out")
    _refuse_changes(root / CONFIG_FILE, config.to_json(), "configuration")


def begin(root: Path, config: RunConfig, plan: Plan, world: str) -> list[dict[str, Any]]:
    """Writes configuration, plan and environment, or checks that they are the directory's; clears away half-written units.

    Args:
        root: the run's directory, after `check_directory`.
        config: the run's configuration.
        plan: its units.
        world: fingerprint of the first seed's world: it changes with the data and with the code that makes worlds.

    Returns:
        The surroundings in which the run was worked on, this process's last; more than one where it was resumed in others.

    Raises:
        ConfigError: the plan or the world differs from the directory's, or the directory cannot be written.
        StoreError: a bank was changed since records were made with it.
    """
    with writing_in(root):
        write_json(root / CONFIG_FILE, config.to_json())
    planned = {"world": world, "units": plan.to_json()}
    if (root / PLAN_FILE).is_file():
        _refuse_changes(root / PLAN_FILE, planned, "plan (the data or the code has changed)")
    write_json(root / PLAN_FILE, planned)
    discard_unfinished(root)
    check_banks(root, plan)
    discard_unsettled(root, plan)
    return _note_environment(root)


def check_banks(root: Path, plan: Plan) -> None:
    """Checks that each bank is still the one that the finished On records were made with.

    Raises:
        StoreError: a bank was changed since, so the records and the report would name one that is no longer there.
    """
    fingerprint = cache(lambda path, memory: read_bank(path, json.loads(memory)).fingerprint)
    for unit in plan.evaluations:
        if not is_finished(root, unit.id) or not unit.bank:
            continue
        path = root / UNITS / unit.bank / BANK_FILE
        used = {record["bank"] for record in read_records(root / UNITS / unit.id / RECORDS_FILE) if record["mode"] == "on"}
        if used - {fingerprint(path, json.dumps(unit.memory, sort_keys=True))}:
            raise StoreError(f"{path} is no longer the bank that {unit.id} was played with; edit a copy, not a run's own")


def discard_unsettled(root: Path, plan: Plan) -> None:
    """Removes the judge units that left answers unjudged, so that a resumed run puts them to the judge again."""
    for unit in plan.judgements:
        if is_unsettled(root / UNITS / unit.id):
            shutil.rmtree(root / UNITS / unit.id)


def _refuse_changes(path: Path, value: Any, what: str) -> None:
    differences = differing_fields(read_json(path), json.loads(dump(value)))
    if differences:
        shown = "; ".join(differences[:5])
        raise ConfigError(
            f"cannot resume {path.parent}: its {what} differs: {shown}; repeat the first command, or choose another --out"
        )


def _note_environment(root: Path) -> list[dict[str, Any]]:
    """Appends this process's surroundings to the directory's list, unless they are the last entry already; returns the list.

    A run resumed elsewhere or after an update has records of both; whoever reads it should be able to tell.
    """
    path = root / ENVIRONMENT_FILE
    noted: list[dict[str, Any]] = read_json(path) if path.is_file() else []
    current = describe_environment()
    if not noted or noted[-1] != current:
        noted = [*noted, current]
        write_json(path, noted)
    return noted
