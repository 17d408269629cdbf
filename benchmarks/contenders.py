"""Who is put to the questions: each arm under each seed, with its world, its rules and its bank, as plain data."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agents.names import names_model
from benchmarks.arms import Arm
from benchmarks.banks import BankRequest
from benchmarks.config import RunConfig
from benchmarks.suites import SUITES, WorldSpec
from benchmarks.trained import BASE, TRAINED, TrainedRun


@dataclass(frozen=True)
class Contender:
    """One arm under one seed."""

    arm: str
    """The arm's name."""

    seed: int
    """Seeds the player and the draw of questions."""

    player: str
    """The Solver, for `agents.players.open_player`."""

    modes: tuple[str, ...]
    """The modes that it is played in."""

    world: WorldSpec
    """The world that it is asked in."""

    rules: dict[str, Any]
    """Fields of `GameConfig`."""

    model: dict[str, Any]
    """Fields of `ModelConfig`, for a language model."""

    sampling: dict[str, Any]
    """Fields of `Sampling`, likewise."""

    memory: dict[str, Any]
    """Fields of `MemoryConfig`: how cards are retrieved from its bank."""

    bank: str
    """Id of its bank unit; "" for none."""

    request: BankRequest | None
    """How its bank is had; None for none."""


def contenders(config: RunConfig) -> list[Contender]:
    """Lists who a run puts to its questions: arms in their order, each under all its seeds."""
    return list(_trained(config) if config.trained else _named(config))


def _named(config: RunConfig) -> Iterator[Contender]:
    """Arms of the command line: every one under every seed."""
    rules = {"max_turns": config.max_turns, "top_k": config.top_k}
    for arm in config.arms:
        model = names_model(arm.player)
        for seed in config.seeds:
            yield Contender(
                arm=arm.name,
                seed=seed,
                player=arm.player,
                modes=arm.modes,
                world=SUITES[config.suite].world(config.data, config.world_size, seed),
                rules=rules,
                model=dict(config.model) if model else {},
                sampling=dict(config.sampling) if model else {},
                memory={},
                bank=bank_id(arm, seed) if "on" in arm.modes else "",
                request=_request(config, arm, seed) if "on" in arm.modes else None,
            )


def _trained(config: RunConfig) -> Iterator[Contender]:
    """The start policy under every seed, if it is asked for, then the runs arm by arm."""
    ordered = [run for arm in config.arms for run in config.trained if run.arm == arm.name]
    if any(arm.name == BASE and arm.player != TRAINED for arm in config.arms):
        worlds = {run.seed: run for run in reversed(ordered)}
        for seed in config.seeds:
            yield _contender(worlds[seed], BASE, f"model:{worlds[seed].start}", ("off",))
    for run in ordered:
        modes = ("off", "on", *config.controls.get(run.arm, ())) if run.bank else ("off",)
        yield _contender(run, run.arm, f"model:{run.solver}", modes)


def _contender(run: TrainedRun, arm: str, player: str, modes: tuple[str, ...]) -> Contender:
    shown = "on" in modes
    return Contender(
        arm=arm,
        seed=run.seed,
        player=player,
        modes=modes,
        world=run.test_world(),
        rules=run.rules,
        model=run.model,
        sampling=run.sampling,
        memory=run.memory if shown else {},
        bank=f"bank-{arm}-s{run.seed}" if shown else "",
        request=BankRequest("", run.seed, {}, 0, 0, {}, file=run.bank) if shown else None,
    )


def bank_id(arm: Arm, seed: int) -> str:
    """Names a bank unit: arms whose banks come from the same player share one, and seeds share a bank that is there already."""
    if arm.bank_file:
        return f"bank-of-{arm.name}"
    source = "".join(letter if letter.isalnum() else "-" for letter in arm.bank_player) or "seeds"
    return f"bank-{source}{'-blind' if arm.bank.startswith('blind') else ''}-s{seed}"


def _request(config: RunConfig, arm: Arm, seed: int) -> BankRequest:
    if arm.bank_file:
        return BankRequest("", 0, {}, 0, 0, {}, file=arm.bank_file)
    world = SUITES[config.suite].training_world(config.data, config.world_size, seed)
    steps, questions, memory = config.loop_steps, config.loop_questions, dict(config.loop_memory)
    return BankRequest(arm.bank_player, seed, world, steps, questions, memory, arm.shows_cards)
