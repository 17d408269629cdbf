"""The command `sesa check`: the conformance suite on a registered environment, or on anyone's class or function."""

import argparse
import importlib
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium

from sesa_env.checks import EnvFactory, run_checks
from sesa_env.errors import ConfigError
from sesa_env.json_option import json_mapping
from sesa_env.plugins import find_plugin
from sesa_env.types import Role

if TYPE_CHECKING:
    # argparse's sub-parsers have no public name; this alias is for the checker alone.
    SubParsers = argparse._SubParsersAction[argparse.ArgumentParser]

_EXAMPLE = "sesa check my_env:MyEnv, where MyEnv() makes the environment, or sesa check my_env:MyEnv-v0 for a registered one"


def add_check_command(subparsers: "SubParsers") -> None:
    """Adds `check` to a parser's sub-parsers; it sets `run`, from the parsed arguments to an exit code."""
    check = subparsers.add_parser("check", help="run the conformance suite on an environment, ours or your own")
    check.add_argument(
        "env",
        nargs="?",
        default="SESA-Search-v0",
        metavar="ENV",
        help="an id, MODULE:ID if it needs an import, or MODULE:NAME of a class or function (default: SESA-Search-v0)",
    )
    check.add_argument("--kwargs", type=json_mapping, default={}, metavar="JSON", help="arguments of the environment")
    check.add_argument("--seed", type=int, default=0, help="of the texts that are played (default: 0)")
    check.set_defaults(run=_check)


def environment_factory(name: str, kwargs: dict[str, Any]) -> EnvFactory:
    """Finds an environment by name.

    Args:
        name: a registered id, "MODULE:ID" of one that importing MODULE registers, or "MODULE:NAME" of a class or function.
        kwargs: its arguments.

    Returns:
        What makes a fresh instance each time it is called.

    Raises:
        ConfigError: there is no such module, class or function.
        gymnasium.error.Error: there is no such id; raised by the factory.
    """
    module, _, attribute = name.rpartition(":")
    if module and attribute.isidentifier() and not _registers(module, attribute):
        return partial(find_plugin("environment", name, {}, _EXAMPLE), **kwargs)
    return partial(gymnasium.make, name, **kwargs)


def _registers(module: str, env_id: str) -> bool:
    """Says whether importing a module registers an environment: ids need no version, so one may look like a class."""
    try:
        importlib.import_module(module)
    except (ImportError, TypeError, ValueError):
        return False  # whoever looks for a class in it will say so
    return env_id in gymnasium.registry


def _check(options: argparse.Namespace) -> int:
    """Checks every role of ours, other environments as they are; 1 if a check failed."""
    ours = options.env.rpartition(":")[2].startswith("SESA-Search-") and "role" not in options.kwargs
    roles: list[dict[str, Any]] = [{}, *({"role": role.value} for role in Role)] if ours else [{}]
    failed = [_report(options, {**options.kwargs, **role}) for role in roles]
    return int(any(failed))


def _report(options: argparse.Namespace, kwargs: dict[str, Any]) -> bool:
    """Runs the suite once and prints a line a check; returns whether one failed."""
    sys.stdout.write(f"{options.env} {kwargs or ''}\n")
    try:
        found = dict(run_checks(environment_factory(options.env, kwargs), options.seed))
    except TypeError as error:
        raise ConfigError(
            f"{options.env} cannot be made with {kwargs}: {error}; give its arguments with --kwargs JSON"
        ) from error
    for name, failure in found.items():
        sys.stdout.write(f"  {'ok  ' if failure is None else 'FAIL'} {name}{'' if failure is None else f': {failure}'}\n")
    failures = sum(failure is not None for failure in found.values())
    sys.stdout.write(f"  {len(found) - failures} checks passed, {failures} failed\n")
    return failures > 0
