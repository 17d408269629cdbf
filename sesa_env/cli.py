"""The command `sesa`: list, check, replay, bank, models, index, serve."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

import gymnasium

from sesa_env.checks import check_env
from sesa_env.errors import SesaError
from sesa_env.memory.cli import add_bank_commands
from sesa_env.models import add_model_commands
from sesa_env.records import read_episodes, replayed
from sesa_env.search.index_cli import add_index_commands
from sesa_env.search.server.cli import add_serve_command
from sesa_env.transcript import tell_episode
from sesa_env.types import Role


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: the command line; None takes the process's own.

    Returns:
        The exit code: 0 if all is well, 1 if a check or a replay found a difference, 2 on an error.
    """
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except (SesaError, gymnasium.error.Error, ModuleNotFoundError) as error:
        sys.stderr.write(f"sesa: {error}\n")
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sesa", description="Search self-play with a skill memory.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('sesa-env')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    listing = commands.add_parser("list", help="list the registered environments")
    listing.set_defaults(run=_list)

    check = commands.add_parser("check", help="run the conformance suite on a registered environment")
    check.add_argument("id", nargs="?", default="SESA-Search-v0", help="environment id, MODULE:ID if it needs an import")
    check.set_defaults(run=_check)

    again = commands.add_parser("replay", help="execute recorded episodes again and report the first difference")
    again.add_argument("file", help="JSONL file of episodes")
    again.add_argument("--memory", help="path of the bank, if it is another than the recorded one")
    again.add_argument("--show", action="store_true", help="print each episode as it is executed")
    again.set_defaults(run=_replay)

    add_bank_commands(commands)
    add_model_commands(commands)
    add_index_commands(commands)
    add_serve_command(commands)
    return parser


def _list(_: argparse.Namespace) -> int:
    for name in sorted(spec for spec in gymnasium.registry if spec.startswith("SESA-")):
        sys.stdout.write(f"{name}\n")
    return 0


def _check(options: argparse.Namespace) -> int:
    ours = options.id.rpartition(":")[2].startswith("SESA-")
    roles: list[dict[str, Any]] = [{}, *({"role": role.value} for role in Role)] if ours else [{}]
    for kwargs in roles:
        passed = check_env(partial(gymnasium.make, options.id, **kwargs))
        sys.stdout.write(f"{options.id} {kwargs or ''}: {len(passed)} checks passed: {', '.join(passed)}\n")
    return 0


def _replay(options: argparse.Namespace) -> int:
    count = 0
    for count, record in enumerate(read_episodes(options.file), 1):
        game, difference = replayed(record, options.memory)
        if options.show and game is not None:
            sys.stdout.write(f"Episode {count}\n{tell_episode(game)}\n")
        if difference:
            sys.stdout.write(f"{options.file}, episode {count}: {difference}\n")
            return 1
    sys.stdout.write(f"{options.file}: {count} episodes replayed, no difference\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
