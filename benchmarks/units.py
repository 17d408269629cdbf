"""Units of work: each a pure function of its JSON configuration that leaves its result as files in a directory of its own.

A unit is plain data in and files out, so it can be repeated alone (`python -m benchmarks.units OUT UNIT`), run in another
process, or run on another machine that sees the same directory. There are three kinds. A bank unit lets the self-play loop
distil a skill bank, or copies one; an evaluation unit puts one shard of a benchmark's questions to one arm, in Off and in On
mode, with the bank of a bank unit; a judge unit lets a model look again at what an evaluation unit's exact match refused.
"""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from agents.players import open_player
from benchmarks.banks import BANK_FILE, BankRequest, make_bank
from benchmarks.judged import judge_records
from benchmarks.modes import memory_of
from benchmarks.records import Record, dump, make_record, read_json, write_json, write_records
from benchmarks.suites import open_world, take_questions
from sesa_env.errors import ConfigError, RetrievalError, SesaError
from sesa_env.game import GameConfig
from sesa_env.memory.base import MemorySnapshot
from sesa_env.plain import build
from sesa_env.play import play_questions
from sesa_env.types import Question
from sesa_env.worlds import World

UNITS = "units"
RECORDS_FILE = "records.jsonl"
PACKED_RECORDS = f"{RECORDS_FILE}.xz"
"""All answers of an evaluation in one file, where it has been kept (`benchmarks.experiment.keep`)."""
TIMING_FILE = "timing.json"
UNIT_FILE = "unit.json"
_UNFINISHED = ".unfinished-"
Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class BankUnit:
    """Distils one bank."""

    id: str
    """Names the unit's directory."""

    request: BankRequest
    """What to distil, from what."""

    kind: str = "bank"
    """Tells the kinds apart in JSON."""


@dataclass(frozen=True)
class EvalUnit:
    """Puts one shard of a benchmark's questions to one arm."""

    id: str
    """Names the unit's directory."""

    arm: str
    """The arm's name."""

    player: str
    """The Solver, for `agents.players.open_player`."""

    modes: tuple[str, ...]
    """"off" (no bank), "on" (with the bank), and what else `benchmarks.modes` knows."""

    bank: str
    """Id of the bank unit that all modes but Off read; "" where there is no other."""

    seed: int
    """Seeds the player and the draw of questions."""

    world: Json
    """The world, as `suites.open_world` takes it."""

    benchmark: str
    """The benchmark's short name, for example "nq"."""

    questions: int
    """Questions asked of the benchmark in all shards."""

    start: int
    """First question of the shard."""

    stop: int
    """One past its last question."""

    rules: Json
    """Fields of `GameConfig`."""

    batch: int
    """Questions played in lock step."""

    model: Json = field(default_factory=dict)
    """Fields of `ModelConfig`, for a language model."""

    sampling: Json = field(default_factory=dict)
    """Fields of `Sampling`, likewise."""

    memory: Json = field(default_factory=dict)
    """Fields of `MemoryConfig`: how cards are retrieved from the bank."""

    kind: str = "eval"
    """Tells the kinds apart in JSON."""


@dataclass(frozen=True)
class JudgeUnit:
    """Lets a model look again at the answers of an evaluation unit that exact match refuses."""

    id: str
    """Names the unit's directory."""

    records: str
    """Id of the evaluation unit."""

    judge: str
    """The model, for `agents.judge.open_judge`."""

    kind: str = "judge"
    """Tells the kinds apart in JSON."""


Unit: TypeAlias = BankUnit | EvalUnit | JudgeUnit


def unit_from_json(data: Json) -> Unit:
    """Reads a unit from the JSON value that `dataclasses.asdict` made of it."""
    if data["kind"] == "bank":
        return BankUnit(data["id"], BankRequest(**data["request"]))
    if data["kind"] == "judge":
        return JudgeUnit(**data)
    return EvalUnit(**{**data, "modes": tuple(data["modes"])})


def is_finished(root: Path, unit_id: str) -> bool:
    """Says whether a unit has left its result: its directory appears whole or not at all."""
    return (root / UNITS / unit_id).is_dir()


def run_unit(data: Json, root: str) -> str:
    """Runs one unit and leaves its result under `root`.

    Args:
        data: the unit as JSON.
        root: the run's directory.

    Returns:
        The unit's id.
    """
    unit = unit_from_json(data)
    with _own_directory(Path(root), unit.id) as directory:
        started = time.perf_counter()
        if isinstance(unit, BankUnit):
            make_bank(unit.request, directory)
            questions = 0
        elif isinstance(unit, JudgeUnit):
            questions = judge_records(unit.judge, Path(root) / UNITS / unit.records / RECORDS_FILE, directory)
        else:
            records = evaluate(unit, Path(root) / UNITS / unit.bank / BANK_FILE)
            write_records(directory / RECORDS_FILE, records)
            questions = len(records)
        write_json(directory / UNIT_FILE, asdict(unit))
        write_json(directory / TIMING_FILE, {"seconds": time.perf_counter() - started, "records": questions})
    return unit.id


def evaluate(unit: EvalUnit, bank_path: Path) -> list[Record]:
    """Plays a shard in each of the unit's modes and scores it.

    Returns:
        One record for each mode and question: modes in the unit's order, questions in the benchmark's.
    """
    world = open_world(unit.world)
    questions = take_questions(unit.world, unit.benchmark, unit.questions, unit.seed)[unit.start : unit.stop]
    return [
        record for mode in unit.modes for record in _play(unit, world, questions, memory_of(mode, bank_path, unit.memory), mode)
    ]


def _play(
    unit: EvalUnit, world: World, questions: list[Question], memory: MemorySnapshot | None, mode: str
) -> Iterator[Record]:
    player = open_player(unit.player, world, unit.seed, model=unit.model, sampling=unit.sampling)
    config = build(GameConfig, unit.rules, "rules")
    attempts = play_questions(world, questions, player, config, memory=memory, batch=unit.batch)
    if failed := sum(attempt.failed_searches for attempt in attempts):
        raise RetrievalError(
            f"{unit.id}: {failed} searches failed, so its scores would mean nothing; mend the search and --resume"
        )
    context = {
        "benchmark": unit.benchmark,
        "arm": unit.arm,
        "seed": unit.seed,
        "world": world.fingerprint,
        "bank": memory.fingerprint if memory else "",
        "mode": mode,
    }
    return (make_record(context, question, attempt) for question, attempt in zip(questions, attempts, strict=True))


@contextmanager
def _own_directory(root: Path, unit_id: str) -> Iterator[Path]:
    """Gives a directory to write in, and moves it to the unit's place when all is written: a killed unit leaves no result."""
    parent = root / UNITS
    directory = parent / f"{_UNFINISHED}{unit_id}-{os.getpid()}"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    try:
        yield directory
        _move_into_place(directory, parent / unit_id)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _move_into_place(directory: Path, place: Path) -> None:
    """Renames, unless another process finished the unit meanwhile: the result is a function of the unit, so either will do."""
    try:
        directory.rename(place)
    except OSError:
        if not place.is_dir():
            raise


def discard_unfinished(root: Path) -> None:
    """Removes what killed units have left."""
    for directory in sorted((root / UNITS).glob(f"{_UNFINISHED}*")):
        shutil.rmtree(directory)


def main(arguments: list[str]) -> int:
    """Runs one unit of a planned run: `python -m benchmarks.units OUT UNIT`, or prints why it cannot."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m benchmarks.units OUT UNIT\n")
        return 2
    try:
        sys.stdout.buffer.write(dump(_run_by_name(*arguments)))
    except SesaError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


def _run_by_name(root: str, wanted: str) -> Json:
    units: dict[str, Json] = {unit["id"]: unit for unit in read_json(Path(root) / "plan.json")["units"]}
    if wanted not in units:
        raise ConfigError(f"{root} has no unit {wanted!r}; its plan.json lists {len(units)} of them")
    run_unit(units[wanted], root)
    return units[wanted]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
