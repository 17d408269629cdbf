"""Answers of a run as episodes, for the terminal: `python -m benchmarks.episodes DIR --out F`, then `sesa replay --show F`.

Records hold what a Solver wrote; played again in their world they become episodes, with what it was shown. DIR is the directory
of a run, or of one evaluation of an experiment.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.banks import BANK_FILE, RUN
from benchmarks.modes import check_mode, memory_of
from benchmarks.records import Record, read_json, read_records
from benchmarks.suites import BENCHMARKS, take_questions
from benchmarks.units import PACKED_RECORDS, RECORDS_FILE, UNITS, EvalUnit, unit_from_json
from sesa_env.errors import ConfigError, SesaError, StoreError
from sesa_env.game import SearchGame
from sesa_env.memory.base import CardHit, SkillCard
from sesa_env.memory.file import COMPRESSED
from sesa_env.memory.store import BankStore
from sesa_env.records import EpisodeRecord, Setup, open_setup, write_episodes
from sesa_env.types import Question


def episodes(root: Path, wanted: Mapping[str, Any]) -> Iterator[EpisodeRecord]:
    """Plays a run's answers again, each with the cards that it was shown then.

    Args:
        root: the directory of a run, or of one evaluation, a kept one too (`benchmarks.experiment.keep`).
        wanted: values of `arm`, `benchmark`, `seed`, `mode`, `em`, `id` that a record must have; None for any.

    Yields:
        An episode for each answer, in the order of the run's plan. Where no bank is left, cards have nothing but their ids.

    Raises:
        StoreError: there is no run, or it was made in another world, or with another bank, or what was written is not kept.
    """
    packed = root / PACKED_RECORDS
    kept = read_records(packed) if packed.is_file() else None
    for unit in _units(root):
        records = [one for one in _records(root, unit, kept) if _fits(one, wanted)]
        if not records:
            continue
        if "texts" not in records[0]:
            raise StoreError(
                f"{packed}: what was written is kept of evaluations after the last stage alone; choose one of those"
            )
        questions = take_questions(unit.world, unit.benchmark, unit.questions, unit.seed)
        asked = {one.id: one for one in questions[unit.start : unit.stop]}
        records = [record for record in records if record["id"] in asked]
        cards = _cards(root, unit, records)
        yield from (_episode(unit, asked[record["id"]], record, cards) for record in records)


def _units(root: Path) -> list[EvalUnit]:
    units = [unit_from_json(unit) for unit in _plan(root)]
    return [unit for unit in units if isinstance(unit, EvalUnit)]


def _plan(root: Path) -> list[dict[str, Any]]:
    if not (root / "plan.json").is_file():
        raise StoreError(f"{root}: expected the directory of a run or of one evaluation, with a plan.json")
    units: list[dict[str, Any]] = read_json(root / "plan.json")["units"]
    return units


def _records(root: Path, unit: EvalUnit, kept: list[Record] | None) -> list[Record]:
    if kept is not None:
        whose = {"arm": unit.arm, "benchmark": unit.benchmark, "seed": unit.seed}
        return [record for record in kept if _fits(record, whose)]
    path = root / UNITS / unit.id / RECORDS_FILE
    if not path.is_file():
        raise StoreError(f"{path}: expected the records of a finished unit; there is no such file")
    return read_records(path)


def _fits(record: Record, wanted: Mapping[str, Any]) -> bool:
    return all(value is None or record[name] == value for name, value in wanted.items())


def _cards(root: Path, unit: EvalUnit, records: Sequence[Record]) -> Mapping[str, SkillCard]:
    """Reads the cards of a unit's bank by id, where it is left, after a look at whether it is still the one played with."""
    path = _bank(root, unit)
    if path is None:
        return {}
    for mode, fingerprint in sorted({(one["mode"], one["bank"]) for one in records}):
        memory = memory_of(mode, path, unit.memory)
        if memory is not None and memory.fingerprint != fingerprint:
            raise StoreError(f"{path} is no longer the bank that {unit.id} was played with: it would show other cards")
    with BankStore(path, create=False) as store:
        return {card.id: card for card, _ in store.cards(RUN)}


def _bank(root: Path, unit: EvalUnit) -> Path | None:
    """Finds a unit's bank: its own copy, or the training's that is kept with an experiment."""
    own = root / UNITS / unit.bank / BANK_FILE
    files = [one["request"]["file"] for one in _plan(root) if one["id"] == unit.bank and one["request"]["file"]]
    # Kept files are named from the experiment's directory on, in which this one is evaluations/NAME.
    kept = [root.resolve().parents[1] / f"{file}{COMPRESSED}" for file in files]
    return next((path for path in (own, *kept) if path.is_file()), None)


def _episode(unit: EvalUnit, question: Question, record: Record, cards: Mapping[str, SkillCard]) -> EpisodeRecord:
    setup = Setup(unit.world["name"], unit.world["options"], None, {**unit.rules, "group_size": 1})
    world, rules, _ = open_setup(setup)
    if world.fingerprint != record["world"]:
        raise StoreError(f"{unit.id}: its answers were written in the world {record['world']}; this release makes another")
    shown = tuple(CardHit(cards.get(card) or SkillCard(card, "", "", "", ()), likeness) for card, likeness in record["cards"])
    game = SearchGame(world, rules)
    game.reset(question, cards=shown)
    for text in record["texts"]:
        if game.actor is not None:
            game.act(text)
    name = f"{record['arm']}, seed {record['seed']}, {record['mode']}"
    return replace(EpisodeRecord.of(setup, game), cards=shown or None, name=name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes episodes; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.episodes", description=str(__doc__).partition("\n")[0])
    parser.add_argument("directory", type=Path, help="directory of a run, or of one evaluation of an experiment")
    parser.add_argument("--out", required=True, help="JSONL file to write")
    parser.add_argument("--arm")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--benchmark", choices=tuple(BENCHMARKS))
    parser.add_argument("--mode", help="off, on, or a control such as shuffled; all if not given")
    parser.add_argument("--question", dest="id", help="id of one question")
    parser.add_argument("--right", dest="em", action=argparse.BooleanOptionalAction, help="right answers only, or wrong ones")
    options = vars(parser.parse_args(arguments))
    root, out = options.pop("directory"), options.pop("out")
    try:
        if options["mode"] is not None:
            check_mode(options["mode"])
        found = list(episodes(root, options))
        if not found:
            raise ConfigError(f"{root} has no such answer; leave out some of the options")
        write_episodes(out, found)
    except SesaError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stdout.write(f"{out}: {len(found)} episodes; read them with: sesa replay --show {out}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
