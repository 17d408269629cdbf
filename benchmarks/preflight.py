"""What is checked and measured before a run starts: data, players, and about how long it will take."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from agents.names import local_model, names_model
from agents.players import open_player
from benchmarks.banks import read_bank
from benchmarks.config import RunConfig
from benchmarks.contenders import Contender, contenders
from benchmarks.plan import Plan
from benchmarks.suites import BENCHMARKS, open_world, take_questions
from sesa_env.errors import ConfigError, missing_extra
from sesa_env.game import GameConfig
from sesa_env.plain import build
from sesa_env.play import play_questions
from sesa_env.types import Question

_SAMPLE = 24
_LOOP_COST = 5  # a game of the loop, with its Challenger and its teacher, takes about five times as long as one question


@dataclass(frozen=True)
class Preflight:
    """What was found.

    Attributes:
        world: fingerprint of the first seed's world.
        available: how many questions each benchmark has, no more than are asked for.
        world_seconds: to open a world.
        question_seconds: to play one question, for each arm by name.
    """

    world: str
    available: Mapping[str, int]
    world_seconds: float
    question_seconds: Mapping[str, float]


def require_extras() -> None:
    """Raises the ConfigError that names the extra, before anything has run, where a package for the report is missing."""
    for package in ("rich", "scipy", "matplotlib"):
        try:
            __import__(package)
        except ImportError as error:
            raise missing_extra(package, "bench") from error


def require_training() -> None:
    """Raises the ConfigError that names the extra, where a package for training is missing."""
    for package, extra in (
        ("torch", "llm"),
        ("transformers", "llm"),
        ("safetensors", "llm"),
        ("rich", "train"),
        ("peft", "train"),
    ):
        if find_spec(package) is None:
            raise missing_extra(package, extra)


def check(config: RunConfig) -> Preflight:
    """Opens the first seed's world, reads all questions, loads every player, and times a few questions.

    Raises:
        ConfigError: a data file is malformed (file, line and reason are named), a benchmark has no questions, or a player
            cannot be loaded.
        StoreError: an arm names a bank that is none.
    """
    for arm in config.arms:
        if arm.bank_file:
            read_bank(Path(arm.bank_file), {})
    playing = contenders(config)
    spec, seed = playing[0].world, playing[0].seed
    started = time.perf_counter()
    world = open_world(spec)
    world_seconds = time.perf_counter() - started
    questions = {name: take_questions(spec, name, config.questions[name], seed) for name in BENCHMARKS}
    empty = [name for name, found in questions.items() if not found]
    if empty:
        raise ConfigError(
            f"no question found for {', '.join(empty)}; the suite {config.suite} needs all of {', '.join(BENCHMARKS)}"
        )
    sample = [question for found in questions.values() for question in found[: _SAMPLE // len(BENCHMARKS) + 1]]
    first = {each.arm: each for each in reversed(playing)}
    seconds = {arm.name: _time_questions(config, first[arm.name], sample) for arm in config.arms}
    return Preflight(world.fingerprint, {name: len(found) for name, found in questions.items()}, world_seconds, seconds)


def _time_questions(config: RunConfig, playing: Contender, sample: list[Question]) -> float:
    """Seconds to play one question, measured on a sample after a warm-up (compilation, caches).

    A language model takes so long that one of its questions is enough, and a warm-up is nothing beside it.
    """
    world = open_world(playing.world)
    player = open_player(playing.player, world, playing.seed, model=playing.model, sampling=playing.sampling)
    rules = build(GameConfig, playing.rules, "rules")
    sample = sample[:1] if names_model(playing.player) else sample
    if not names_model(playing.player):
        play_questions(world, sample[:1], player, rules)
    started = time.perf_counter()
    play_questions(world, sample, player, rules, batch=config.batch)
    return (time.perf_counter() - started) / len(sample)


def default_workers(config: RunConfig) -> int:
    """Returns one process a core; one in all where models share an accelerator, since each process would load its own."""
    names = [config.judge, *(each.player for each in contenders(config))]
    return workers_here(models=any(local_model(name) for name in names))


def workers_here(*, models: bool) -> int:
    """Returns one process a core; one in all where there is an accelerator.

    Args:
        models: whether processes load models that would take it.
    """
    if models:
        import torch

        if torch.cuda.is_available():
            return 1
    return os.cpu_count() or 1


def estimate_seconds(config: RunConfig, plan: Plan, found: Preflight, workers: int) -> float:
    """Estimates how long the units take, from the pace of a few questions, the loop's games and the worlds: a guess."""
    play = sum((unit.stop - unit.start) * len(unit.modes) * found.question_seconds[unit.arm] for unit in plan.evaluations)
    paces = {arm.player: found.question_seconds[arm.name] for arm in config.arms}
    loops = [unit.request for unit in plan.banks if unit.request.player]
    games = sum(_LOOP_COST * each.steps * each.questions * paces.get(each.player, min(paces.values())) for each in loops)
    worlds = found.world_seconds * len(config.seeds) * (1 + workers)
    return (play + games + worlds) / workers + 5.0
