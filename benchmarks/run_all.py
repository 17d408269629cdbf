"""Runs the seven benchmarks, Off and On, and writes records, tables, figures and a report into one directory.

python benchmarks/run_all.py                              the experiment: trains arms of self-play and compares them
python benchmarks/run_all.py --arms naive skilled         players that are there already
python benchmarks/run_all.py --trained RUN [RUN ...]      finished runs of agents.selfplay
python benchmarks/run_all.py --suite flashrag --data DIR  the real benchmarks
"""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script, Python puts this file's directory on the path; the imports below start from the one above it, and this
    # directory's module names (records, config, ...) must not hide anybody else's.
    _HERE = Path(__file__).resolve().parent
    sys.path[:] = [str(_HERE.parent), *(entry for entry in sys.path if entry != str(_HERE))]

from benchmarks.threads import limit_threads

limit_threads()  # before anything imports numpy

from benchmarks.arms import ARMS, parse_arms  # noqa: E402 - comes after limit_threads
from benchmarks.config import PRESETS, RunConfig, make_config, make_trained_config  # noqa: E402 - comes after limit_threads
from benchmarks.directory import begin, check_directory  # noqa: E402 - comes after limit_threads
from benchmarks.evaluation import run_plan  # noqa: E402 - comes after limit_threads
from benchmarks.plan import make_plan  # noqa: E402 - comes after limit_threads
from benchmarks.preflight import (  # noqa: E402 - comes after limit_threads
    check,
    default_workers,
    estimate_seconds,
    require_extras,
    require_training,
    workers_here,
)
from benchmarks.progress import print_outcome, print_plan, print_tables, progress_bars  # noqa: E402 - comes after limit_threads
from benchmarks.suites import SUITES  # noqa: E402 - comes after limit_threads
from benchmarks.trained import read_runs  # noqa: E402 - comes after limit_threads
from sesa_env.errors import ConfigError, SesaError  # noqa: E402 - comes after limit_threads
from sesa_env.output import is_new, require_run  # noqa: E402 - comes after limit_threads


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="run_all", description="The seven benchmarks, without the skill bank (Off) and with it (On)."
    )
    parser.add_argument(
        "--preset",
        default="quick",
        help=f"how much to run: {', '.join(PRESETS)}, of the experiment three-worlds too (default: quick)",
    )
    parser.add_argument("--suite", default="miniwiki", help=f"which benchmarks: {', '.join(SUITES)} (default: miniwiki)")
    parser.add_argument("--data", default="", metavar="DIR", help="directory of the real benchmarks, for --suite flashrag")
    parser.add_argument(
        "--arms",
        nargs="+",
        metavar="ARM",
        help=f"players to compare, the baseline first: {', '.join(ARMS)} (all of them: the default of real benchmarks), "
        "NAME=PLAYER[@BANK]; see docs/harness.md",
    )
    parser.add_argument(
        "--trained",
        nargs="+",
        metavar="DIR",
        help="finished runs of agents.selfplay to compare instead, each in its own world, and the policy they started from",
    )
    parser.add_argument("--unequal-budgets", action="store_true", help="compare trained runs of different budgets all the same")
    parser.add_argument(
        "--judge", default="", metavar="MODEL", help="judges what exact match refuses: openai:MODEL@URL or model:NAME"
    )
    parser.add_argument(
        "--model-options", type=_options, default={}, metavar="JSON", help="how models are loaded: fields of ModelConfig"
    )
    parser.add_argument("--sampling", type=_options, default={}, metavar="JSON", help="budgets of models: fields of Sampling")
    parser.add_argument(
        "--model", metavar="MODEL", help="the experiment's start policy: tiny, smollm2, a directory or a hub id"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="FIELD=JSON", dest="settings",
        help="any field of the experiment's trainings that its design leaves open, for example skills.teacher=openai:MODEL@URL",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="print the experiment's plan, needs and cost, and do nothing")
    parser.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help="how many seeds (default: the preset's); more can be added with --resume to an experiment",
    )
    parser.add_argument("--questions", type=int, metavar="N", help="questions a benchmark (default: the preset's)")
    parser.add_argument("--out", default="", metavar="DIR", help="where to write (default: runs/SUITE-PRESET)")
    parser.add_argument("--resume", action="store_true", help="finish the run in --out")
    parser.add_argument(
        "--so-far", action="store_true", help="report on what is finished of the experiment in --out, and do nothing more"
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="processes (default: one a core; one in all for models on an accelerator)"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status: 0 done, 2 a mistake that the message explains, 130 interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parse_arguments(given)
    try:
        run(options)
    except SesaError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except KeyboardInterrupt:
        if is_new(_directory(options)):
            sys.stderr.write("\ninterrupted before anything was begun\n")
            return 130
        resume = given if "--resume" in given else [*given, "--resume"]
        sys.stderr.write(f"\ninterrupted; what is finished is kept. To go on, type:\n  {_command()} {shlex.join(resume)}\n")
        return 130
    return 0


def _command() -> str:
    return f"python {shlex.quote(sys.argv[0])}" if not __package__ else "python -m benchmarks.run_all"


def run(options: argparse.Namespace) -> None:
    """Plans, runs and reports.

    Raises:
        SesaError: a mistake in the options or the data, found before anything runs; or a failure that the message explains.
    """
    require_extras()
    if options.workers is not None and options.workers < 1:
        raise ConfigError(f"--workers must be at least 1, but is {options.workers}")
    if is_experiment(options):
        run_experiment(options)
        return
    if options.model or options.settings or options.dry_run or options.so_far:
        raise ConfigError(
            "--model, --set, --dry-run and --so-far are the experiment's; leave them out beside --arms and --trained"
        )
    config = _config(options)
    root = _directory(options)
    if options.resume:
        require_run(root)
    check_directory(root, config, options.resume)
    found = check(config)
    plan = make_plan(config, found.available)
    workers = options.workers or default_workers(config)
    environments = begin(root, config, plan, found.world)
    print_plan(root, config, plan, workers, estimate_seconds(config, plan, found, workers))
    if len(environments) > 1:
        sys.stderr.write("note: some units were made by other code or packages than these; see environment.json\n")
    with progress_bars() as bar:
        run_plan(plan, root, workers, bar)
    from benchmarks.outcome import write_outcome  # loads matplotlib: only when there is something to draw

    print_outcome(root, write_outcome(root, config, plan, environments)[0])


def _directory(options: argparse.Namespace) -> Path:
    """Where the command line's run goes."""
    kind = "experiment" if is_experiment(options) else "trained" if options.trained else options.suite
    return Path(options.out or f"runs/{kind}-{options.preset}")


def is_experiment(options: argparse.Namespace) -> bool:
    """Says whether the command line asks for the experiment: it names nobody to compare, and real data for the paper's only."""
    return not (options.arms or options.trained) and (options.suite == "miniwiki" or options.preset == "paper")


def run_experiment(options: argparse.Namespace) -> None:
    """Trains and evaluates the arms of the experiment, and reports.

    Raises:
        SesaError: as `run`.
    """
    instead = {
        "questions": "it is the preset's",
        "model_options": "say --set policy.FIELD",
        "sampling": "say --set solver.sampling.FIELD",
    }
    for name, other in instead.items():
        if getattr(options, name):
            raise ConfigError(f"--{name.replace('_', '-')}: expected with --arms or --trained; for the experiment {other}")
    if (options.suite == "flashrag") != bool(options.data):
        raise ConfigError("--suite flashrag needs --data DIR, and --data takes no other suite")
    require_training()
    from agents.selfplay.presets import parse_setting  # loads torch: only when there is something to train
    from benchmarks.experiment.design import experiment_of, takes_accelerator
    from benchmarks.experiment.dry_run import dry_run
    from benchmarks.experiment.outcome import write_outcome
    from benchmarks.experiment.run import run_experiment as carry_out

    if options.seeds is not None and options.seeds < 1:
        raise ConfigError(f"--seeds must be at least 1, but is {options.seeds}")
    data = options.data and str(Path(options.data).resolve())
    settings = [parse_setting(text) for text in options.settings]
    experiment = experiment_of(options.preset, options.model, data, options.seeds, settings, options.judge)
    if options.dry_run:
        for line in dry_run(experiment):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()  # what comes next may take minutes
        return
    root = _directory(options)
    if options.so_far:
        from benchmarks.experiment.so_far import report_so_far

        print_tables(root, report_so_far(experiment, root))
        return
    if options.resume:
        require_run(root)
    workers = options.workers or workers_here(models=takes_accelerator(experiment))
    carry_out(experiment, root, workers, resume=options.resume)
    print_tables(root, write_outcome(experiment, root))


def _config(options: argparse.Namespace) -> RunConfig:
    if not options.trained:
        data = str(Path(options.data).resolve()) if options.data else ""
        arms = parse_arms(options.arms or list(ARMS))
        made = make_config(options.suite, options.preset, arms, data, options.seeds, options.questions, options.judge)
        return replace(made, model=options.model_options, sampling=options.sampling)
    for name in ("arms", "data", "seeds", "model_options", "sampling"):
        if getattr(options, name):
            raise ConfigError(
                f"--{name.replace('_', '-')} says what the trained runs say themselves; leave it out beside --trained"
            )
    runs = read_runs(options.trained, unequal=options.unequal_budgets)
    return make_trained_config(options.preset, runs, options.questions, options.judge)


def _options(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f'expected a JSON object such as {{"turn_tokens": 64}}; got {text}')
    return value


if __name__ == "__main__":
    sys.exit(main())
