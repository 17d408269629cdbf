"""The command `sesa`: list, play, check, bench, replay, bank, models, index, serve."""

import argparse
import os
import shutil
import sys
from collections import defaultdict
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import gymnasium

from sesa_env.bench import add_bench_command
from sesa_env.beside import side_by_side
from sesa_env.check_cli import add_check_command
from sesa_env.errors import SesaError
from sesa_env.memory.cli import add_bank_commands
from sesa_env.models import add_model_commands
from sesa_env.records import read_episodes, replayed
from sesa_env.search.index_cli import add_index_commands
from sesa_env.search.server.cli import add_serve_command
from sesa_env.terminal.cli import add_play_command
from sesa_env.transcript import tell_episode


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: the command line; None takes the process's own.

    Returns:
        The exit code: 0 if all is well, 1 if a check or a replay found a difference, 2 on an error, 141 (as the
        shell says of a program that SIGPIPE ended) if who read the output has closed it, as `head` does.
    """
    options = _parser().parse_args(arguments)
    _import_from_here()
    try:
        code = int(options.run(options))
        sys.stdout.flush()  # else a closed pipe would show only as Python ends, where nothing catches it
    except BrokenPipeError:
        # What is still buffered is written as Python ends: to a place that takes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except (SesaError, gymnasium.error.Error, ModuleNotFoundError) as error:
        sys.stderr.write(f"sesa: {error}\n")
        code = 2
    return code


def _import_from_here() -> None:
    """Lets `module:name` find a module in the working directory, as `python -m` would; what is installed comes first."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sesa", description="Search self-play with a skill memory.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('sesa-env')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    listing = commands.add_parser("list", help="list the registered environments")
    listing.set_defaults(run=_list)

    add_play_command(commands)
    add_check_command(commands)
    add_bench_command(commands)

    again = commands.add_parser("replay", help="execute recorded episodes again and report the first difference")
    again.add_argument("file", help="JSONL file of episodes")
    again.add_argument("--memory", help="path of the bank, if it is another than the recorded one")
    again.add_argument("--show", action="store_true", help="print each episode as it is executed")
    again.add_argument(
        "--beside", action="store_true", help="with --show: episodes about one task side by side, differences marked"
    )
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


def _replay(options: argparse.Namespace) -> int:
    count, told = 0, defaultdict[str, list[str]](list)
    for count, record in enumerate(read_episodes(options.file), 1):
        game, difference = replayed(record, options.memory)
        if options.show and game is not None:
            text = f"Episode {count}{f', {record.name}' if record.name else ''}\n{tell_episode(game)}"
            if options.beside:
                told[f"{record.world} {record.task}"].append(text)
            else:
                sys.stdout.write(f"{text}\n")
        if difference:
            sys.stdout.write(f"{options.file}, episode {count}: {difference}\n")
            return 1
    for first, *others in told.values():
        _tell_beside(first, others)
    sys.stdout.write(f"{options.file}: {count} episodes replayed, no difference\n")
    return 0


def _tell_beside(first: str, others: Sequence[str]) -> None:
    """Prints each of the others beside the first; that alone where there is no other."""
    width = shutil.get_terminal_size((160, 24)).columns
    for text in [side_by_side(first, other, width) for other in others] or [first]:
        sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
