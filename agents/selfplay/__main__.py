"""The command line: `python -m agents.selfplay --preset quick --out runs/sesa`."""

import argparse
import json
import logging
import os
import re
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from sesa_env.errors import missing_extra

try:
    try:  # before all that needs them: who lacks one reads what to type, not where it was missed
        import rich  # noqa: F401 - only looked for, as the others
        import safetensors  # noqa: F401
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        extra = "train" if str(error.name).startswith("rich") else "llm"
        raise SystemExit(f"agents.selfplay: {missing_extra(str(error.name), extra)}") from error
    from agents.pretrained import start_name
    from agents.selfplay.arms import ARMS, Overrides, arm_overrides, merged, spent
    from agents.selfplay.boards import Board, check_boards, open_boards
    from agents.selfplay.config import RunConfig
    from agents.selfplay.directory import open_directory, stored_config
    from agents.selfplay.finished import mark_finished
    from agents.selfplay.live import LiveView
    from agents.selfplay.loop import SelfPlay
    from agents.selfplay.metrics import read_bootstrap, read_metrics
    from agents.selfplay.presets import PRESETS, PROFILES, configure, parse_setting
    from sesa_env.errors import ConfigError, SesaError
    from sesa_env.output import require_run
    from sesa_env.plain import build
except KeyboardInterrupt:  # these imports take seconds
    if __name__ != "__main__":
        raise
    sys.stderr.write("\nselfplay: interrupted before anything was begun\n")
    raise SystemExit(130) from None


def train(config: RunConfig, out: str | Path, *, resume: bool = False, show: bool = True) -> Path:
    """Runs self-play in a directory.

    Args:
        config: the run.
        out: the directory: new, empty, or with `resume` that of the same run.
        resume: go on from the last checkpoint, by the configuration that the run has: only what `directory.FREE` names may
            differ. A finished run with nothing left to do changes no file.
        show: whether updates are shown on the error stream as they come.

    Returns:
        The directory: configuration, metrics, checkpoints, `bank.sqlite`, and the final policies in `solver` and `challenger`.

    Raises:
        ConfigError: a value of the configuration, a directory that holds something else, start weights that have changed, or
            several processes.
        SesaError: a step went wrong and the configuration says to stop.
    """
    _one_process()
    check_boards(config)
    folder = Path(out)
    if not open_directory(config, folder, resume=resume):
        return folder
    run = SelfPlay(config, folder)
    boards = open_boards(config, folder, run.step)
    try:
        with LiveView(config.arm, config.updates) if show else nullcontext() as view:
            watchers: list[Board | LiveView] = [*boards] if view is None else [view, *boards]
            while run.step < config.updates:
                row = run.update()
                for watcher in watchers:
                    watcher.show(row)
        last = run.finish()
    finally:
        for board in boards:
            board.close()
        run.close()
    mark_finished(folder, run.step, {"last_harvest": last})
    return folder


def _one_process() -> None:
    """Refuses several processes, which would write one directory.

    Raises:
        ConfigError: this process is one of several under `torchrun`.
    """
    if (count := os.environ.get("WORLD_SIZE", "1")) != "1":
        raise ConfigError(
            f"WORLD_SIZE is {count}: the loop runs in one process; start it without torchrun. The learner itself can be "
            "data-parallel: see agents.learner.Learner(accelerator=...) and docs/training.md, The learner"
        )


def default_directory(config: RunConfig) -> Path:
    """Returns where a run goes that no `--out` places."""
    model = re.sub(r"[^A-Za-z0-9.-]+", "-", Path(config.model).name)
    return Path("runs", "selfplay", f"{config.preset}-{model}-{config.arm}-s{config.seed}")


def _configuration(options: argparse.Namespace) -> tuple[RunConfig, Path]:
    """The configuration and the directory that the options mean."""
    settings = [parse_setting(text) for text in options.settings]
    given = {name: getattr(options, name) for name in ("model", "profile", "updates")}
    preset, arm, seed = options.preset or "quick", options.arm or "sesa", options.seed or 0
    out = Path(options.out or default_directory(configure(preset, arm, seed=seed, settings=settings, **given)))
    if options.resume:
        require_run(out)
        if (stored := stored_config(out)) is not None:
            return _overridden(stored, options, settings), out
    return configure(preset, arm, seed=seed, settings=settings, **given), out


def _overridden(stored: RunConfig, options: argparse.Namespace, settings: Sequence[Overrides]) -> RunConfig:
    """The configuration of a run that goes on: its own, and over it what the command line says.

    What may differ is for `open_directory` to say; what is left out is as it was.
    """
    profile = PROFILES[options.profile].get(stored.preset, {}) if options.profile else {}
    names = ("preset", "arm", "model", "updates", "seed")
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    if options.model is not None:
        given["model"] = start_name(options.model)
    layers = (stored.to_json(), profile, arm_overrides(options.arm or stored.arm) if profile else {}, given, *settings)
    return build(RunConfig, merged(*layers), "configuration")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m agents.selfplay", description="Trains Challenger and Solver in self-play with a skill memory."
    )
    parser.add_argument("--preset", choices=sorted(PRESETS), help="how large a run (default: quick)")
    parser.add_argument("--arm", choices=sorted(ARMS), help="what is trained (default: sesa)")
    parser.add_argument("--model", help="tiny, smollm2 (its warm start), a directory or a hub id; default: the preset's")
    parser.add_argument("--profile", choices=sorted(PROFILES), help="settings for a size of model; default: by the model")
    parser.add_argument("--updates", type=int, help="updates to make; default: the preset's")
    parser.add_argument("--seed", type=int, help="of all randomness (default: 0)")
    parser.add_argument("--out", help="the run's directory; default: runs/selfplay/PRESET-MODEL-ARM-sSEED")
    parser.add_argument(
        "--resume", action="store_true", help="go on in --out by the configuration there; options say again, or change"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="FIELD=JSON", dest="settings",
        help="any field of the configuration, for example skills.card_dropout=0.3",
    )  # fmt: skip
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line.

    Returns:
        0 when the run is complete; 2 when it could not be begun, or a step went wrong; 130 when it was interrupted.
    """
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(levelname)s %(message)s", stream=sys.stderr)
    try:
        config, out = _configuration(options)
        train(config, out, resume=options.resume)
    except SesaError as error:
        sys.stderr.write(f"selfplay: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("\nselfplay: interrupted; to go on from the last checkpoint, type the same with --resume\n")
        return 130
    sys.stdout.write(
        json.dumps({"out": str(out), "spent": spent(read_metrics(out), read_bootstrap(out))}, sort_keys=True) + "\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
