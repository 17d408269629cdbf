"""Which units a run consists of, a function of its configuration and of how many questions there are."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.arms import Arm
from benchmarks.banks import BankRequest
from benchmarks.config import RunConfig
from benchmarks.suites import BENCHMARKS, SUITES
from benchmarks.units import BankUnit, EvalUnit, Unit

MODES = ("off", "on")


@dataclass(frozen=True)
class Plan:
    """The units of a run, in the order in which their results are merged.

    Attributes:
        banks: the first stage.
        evaluations: the second stage, which reads the first one's banks.
    """

    banks: tuple[BankUnit, ...]
    evaluations: tuple[EvalUnit, ...]

    @property
    def units(self) -> tuple[Unit, ...]:
        """All units."""
        return (*self.banks, *self.evaluations)

    def to_json(self) -> list[dict[str, Any]]:
        """Returns all units as JSON values."""
        return [asdict(unit) for unit in self.units]

    @property
    def questions(self) -> int:
        """How many attempts at a question the evaluation makes, modes, arms and seeds counted each."""
        return sum((unit.stop - unit.start) * len(unit.modes) for unit in self.evaluations)


def make_plan(config: RunConfig, available: Mapping[str, int]) -> Plan:
    """Lays out a run.

    Args:
        config: the run's configuration.
        available: how many questions each benchmark really has.
    """
    banks: dict[str, BankUnit] = {}
    for seed in config.seeds:
        for arm in config.arms:
            banks.setdefault(bank_id(arm, seed), BankUnit(bank_id(arm, seed), _bank_request(config, arm, seed)))
    evaluations = [
        unit for arm in config.arms for name in BENCHMARKS for unit in _evaluations(config, arm, name, available[name])
    ]
    return Plan(tuple(banks.values()), tuple(evaluations))


def bank_id(arm: Arm, seed: int) -> str:
    """Names a bank unit: arms whose banks come from the same player share one."""
    source = "".join(letter if letter.isalnum() else "-" for letter in arm.bank_player) or "seeds"
    return f"bank-{source}{'-blind' if arm.bank.startswith('blind') else ''}-s{seed}"


def _bank_request(config: RunConfig, arm: Arm, seed: int) -> BankRequest:
    world = SUITES[config.suite].training_world(config.data, config.world_size, seed)
    steps, questions, memory = config.loop_steps, config.loop_questions, dict(config.loop_memory)
    return BankRequest(arm.bank_player, seed, world, steps, questions, memory, arm.shows_cards)


def _evaluations(config: RunConfig, arm: Arm, benchmark: str, available: int) -> Iterator[EvalUnit]:
    questions = min(config.questions[benchmark], available)
    for seed in config.seeds:
        world = SUITES[config.suite].world(config.data, config.world_size, seed)
        for start in range(0, questions, config.shard):
            yield EvalUnit(
                id=f"eval-{arm.name}-{benchmark}-s{seed}-{start}",
                arm=arm.name,
                player=arm.player,
                modes=MODES,
                bank=bank_id(arm, seed),
                seed=seed,
                world=world,
                benchmark=benchmark,
                questions=questions,
                start=start,
                stop=min(start + config.shard, questions),
                max_turns=config.max_turns,
                top_k=config.top_k,
                batch=config.batch,
            )
