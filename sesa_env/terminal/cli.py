"""The command `sesa play`."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sesa_env.env import SearchEnv
from sesa_env.errors import ConfigError
from sesa_env.json_option import json_mapping
from sesa_env.records import write_episodes
from sesa_env.terminal.saved import SavedGame, free_name, load_game, resume_game, save_game
from sesa_env.terminal.seat import PersonAtSeat

if TYPE_CHECKING:
    # argparse's sub-parsers have no public name; this alias is for the checker alone.
    SubParsers = argparse._SubParsersAction[argparse.ArgumentParser]

_SEATS = {"solver": "solver", "challenger": "challenger", "both": None}


def add_play_command(subparsers: "SubParsers") -> None:
    """Adds `play` to a parser's sub-parsers; it sets `run`, from the parsed arguments to an exit code."""
    play = subparsers.add_parser("play", help="take a seat of the game in this terminal")
    play.add_argument("--role", choices=sorted(_SEATS), default="solver", help="your seat (default: solver)")
    play.add_argument("--opponent", help="who plays the other seat: a built-in player or module:factory")
    play.add_argument("--corpus", default="miniwiki", help="the world (default: miniwiki)")
    play.add_argument("--corpus-options", type=json_mapping, default={}, metavar="JSON", help="the world's options")
    play.add_argument("--rules", type=json_mapping, default={}, metavar="JSON", help="numbers of the rules to change")
    play.add_argument("--memory", help="whose cards a Solver is shown: seeds, the path of a bank or module:factory")
    play.add_argument("--seed", type=int, default=0, help="which episode is drawn (default: 0)")
    play.add_argument("--index", type=int, help="play this question or target of the world instead")
    play.add_argument("--resume", metavar="FILE", help="go on with a saved game; takes the place of all options above")
    play.add_argument(
        "--save", metavar="FILE", help="where `quit` saves the game (default: sesa-game.json, numbered if it is there)"
    )
    play.add_argument("--record", metavar="FILE", help="append the finished episode to this file, for `sesa replay`")
    play.set_defaults(run=_play)


def _play(options: argparse.Namespace) -> int:
    # A game is written when it is left or over: too late to hear that its folder is missing.
    _require_folder("--save", options.save)
    _require_folder("--record", options.record)
    env, role, opponent = _resumed(options.resume) if options.resume else _begun(options)
    sys.stdout.write("Type help to see what you can type.\n\n")
    if PersonAtSeat(env, input, _tell).play(resumed=bool(options.resume)):
        if options.record:
            write_episodes(options.record, [env.record()])
        return 0
    path = _where(options)
    save_game(path, SavedGame(role, opponent, env.record()))
    sys.stdout.write(f"\nSaved. Go on with: sesa play --resume {path}\n")
    return 0


def _require_folder(option: str, file: str | None) -> None:
    if file and not (folder := Path(file).parent).is_dir():
        raise ConfigError(f"{option} {file}: there is no folder {folder}; name another file with {option}, or make the folder")


def _begun(options: argparse.Namespace) -> tuple[SearchEnv, str | None, str | None]:
    role = _SEATS[options.role]
    env = SearchEnv(role, options.opponent, options.corpus, options.corpus_options, options.memory, options.rules)
    if options.seed < 0:
        raise ConfigError(f"--seed: expected at least 0; got {options.seed}")
    chosen: dict[str, Any] = {} if options.index is None else {"index": options.index}
    env.reset(seed=options.seed, options=chosen)
    return env, role, options.opponent


def _resumed(path: str) -> tuple[SearchEnv, str | None, str | None]:
    saved = load_game(path)
    return resume_game(saved), saved.role, saved.opponent


def _where(options: argparse.Namespace) -> Path:
    """Where a game is saved: where the person says, else where it came from, else under a new name."""
    named = options.save or options.resume
    return Path(named) if named else free_name(Path("sesa-game.json"))


def _tell(text: str) -> None:
    sys.stdout.write(text.rstrip("\n") + "\n\n")
