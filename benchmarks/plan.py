"""Which units a run consists of, a function of its configuration and of how many questions there are."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.config import RunConfig
from benchmarks.contenders import Contender, contenders
from benchmarks.suites import BENCHMARKS
from benchmarks.units import BankUnit, EvalUnit, JudgeUnit, Unit


@dataclass(frozen=True)
class Plan:
    """The units of a run, in the order in which their results are merged.

    Attributes:
        banks: the first stage.
        evaluations: the second stage, which reads the first one's banks.
        judgements: the third stage, which reads the second one's records; () without a judge.
    """

    banks: tuple[BankUnit, ...]
    evaluations: tuple[EvalUnit, ...]
    judgements: tuple[JudgeUnit, ...] = ()

    @property
    def units(self) -> tuple[Unit, ...]:
        """All units."""
        return (*self.banks, *self.evaluations, *self.judgements)

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
    playing = contenders(config)
    banks = {each.bank: BankUnit(each.bank, each.request) for each in playing if each.request is not None}
    # All of one contender's together: a process then loads its model once.
    evaluations = tuple(
        unit for each in playing for name in BENCHMARKS for unit in _shards(config, each, name, available[name])
    )
    judged = (JudgeUnit(f"judge-{unit.id}", unit.id, config.judge) for unit in evaluations if config.judge)
    return Plan(tuple(banks.values()), evaluations, tuple(judged))


def _shards(config: RunConfig, playing: Contender, benchmark: str, available: int) -> Iterator[EvalUnit]:
    questions = min(config.questions[benchmark], available)
    for start in range(0, questions, config.shard):
        yield _evaluation(config, playing, benchmark, questions, start)


def _evaluation(config: RunConfig, playing: Contender, benchmark: str, questions: int, start: int) -> EvalUnit:
    return EvalUnit(
        id=f"eval-{playing.arm}-{benchmark}-s{playing.seed}-{start}",
        arm=playing.arm,
        player=playing.player,
        modes=playing.modes,
        bank=playing.bank,
        seed=playing.seed,
        world=playing.world,
        benchmark=benchmark,
        questions=questions,
        start=start,
        stop=min(start + config.shard, questions),
        rules=playing.rules,
        batch=config.batch,
        model=playing.model,
        sampling=playing.sampling,
        memory=playing.memory,
    )
