"""The command line: `python -m agents.selfplay --preset quick --out runs/sesa`."""

import argparse
import json
import logging
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.selfplay.arms import ARMS, spent
from agents.selfplay.boards import open_boards
from agents.selfplay.config import RunConfig
from agents.selfplay.directory import open_directory
from agents.selfplay.live import LiveView
from agents.selfplay.loop import SelfPlay
from agents.selfplay.metrics import read_metrics
from agents.selfplay.presets import PRESETS, PROFILES, configure
from sesa_env.errors import ConfigError, SesaError


def train(config: RunConfig, out: str | Path, *, resume: bool = False) -> Path:
    """Runs self-play in a directory.

    Args:
        config: the run.
        out: the directory: new, empty, or with `resume` that of the same run.
        resume: go on from the last checkpoint; a finished run changes nothing.

    Returns:
        The directory: configuration, metrics, checkpoints, `bank.sqlite`, and the final policies in `solver` and `challenger`.

    Raises:
        ConfigError: a value of the configuration, or a directory that holds something else.
        SesaError: a step went wrong and the configuration says to stop.
    """
    folder = Path(out)
    open_directory(config, folder, resume=resume)
    run = SelfPlay(config, folder)
    boards = open_boards(config, folder, run.step)
    try:
        with LiveView(config.arm, config.updates) as view:
            while run.step < config.updates:
                row = run.update()
                view.show(row)
                for board in boards:
                    board.show(row)
        run.finish()
    finally:
        for board in boards:
            board.close()
        run.close()
    return folder


def parse_setting(text: str) -> dict[str, Any]:
    """Reads `FIELD=JSON`, dotted names for nested fields; what is no JSON is taken as a string.

    Raises:
        ConfigError: it is not of that form.
    """
    name, given, value = text.partition("=")
    if not given or not name:
        raise ConfigError(f"--set: expected FIELD=JSON, for example questions.per_update=8; got {text!r}")
    try:
        read = json.loads(value)
    except ValueError:
        read = value
    for part in reversed(name.split(".")):
        read = {part: read}
    return dict(read)


def default_directory(config: RunConfig) -> Path:
    """Returns where a run goes that no `--out` places."""
    model = re.sub(r"[^A-Za-z0-9.-]+", "-", Path(config.model).name)
    return Path("runs", "selfplay", f"{config.preset}-{model}-{config.arm}-s{config.seed}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m agents.selfplay", description="Trains Challenger and Solver in self-play with a skill memory."
    )
    parser.add_argument("--preset", choices=sorted(PRESETS), default="quick", help="how large a run (default: %(default)s)")
    parser.add_argument("--arm", choices=sorted(ARMS), default="sesa", help="what is trained (default: %(default)s)")
    parser.add_argument("--model", help="tiny, smollm2, a directory or a hub id; default: the preset's")
    parser.add_argument("--profile", choices=sorted(PROFILES), help="settings for a size of model; default: by the model")
    parser.add_argument("--updates", type=int, help="updates to make; default: the preset's")
    parser.add_argument("--seed", type=int, default=0, help="of all randomness (default: %(default)s)")
    parser.add_argument("--out", help="the run's directory; default: runs/selfplay/PRESET-MODEL-ARM-sSEED")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint in --out")
    parser.add_argument(
        "--set", action="append", default=[], metavar="FIELD=JSON", dest="settings",
        help="any field of the configuration, for example skills.card_dropout=0.3",
    )  # fmt: skip
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line.

    Returns:
        0 when the run is complete; 2 when it could not be begun, or a step went wrong.
    """
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(levelname)s %(message)s", stream=sys.stderr)
    try:
        config = configure(
            options.preset,
            options.arm,
            model=options.model,
            profile=options.profile,
            updates=options.updates,
            seed=options.seed,
            settings=[parse_setting(text) for text in options.settings],
        )
        out = train(config, options.out or default_directory(config), resume=options.resume)
    except SesaError as error:
        sys.stderr.write(f"selfplay: {error}\n")
        return 2
    sys.stdout.write(json.dumps({"out": str(out), "spent": spent(read_metrics(out))}, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
