"""Answers of a run as episodes, for the terminal: `python -m benchmarks.episodes DIR --out F`, then `sesa replay --show F`.

Records hold what a Solver wrote; played again in their world they become episodes, with what it was shown. DIR is the directory
of a run, or of one evaluation of an experiment.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.banks import BANK_FILE
from benchmarks.records import Record, read_json, read_records
from benchmarks.suites import BENCHMARKS, take_questions
from benchmarks.units import RECORDS_FILE, UNITS, EvalUnit, unit_from_json
from sesa_env.errors import ConfigError, SesaError, StoreError
from sesa_env.game import SearchGame
from sesa_env.records import EpisodeRecord, Setup, open_setup, write_episodes
from sesa_env.types import Question

_MODES = ("off", "on")


def episodes(root: Path, wanted: Mapping[str, Any]) -> Iterator[EpisodeRecord]:
    """Plays a run's answers again.

    Args:
        root: the directory of a run.
        wanted: values of `arm`, `benchmark`, `seed`, `mode`, `em`, `id` that a record must have; None for any.

    Yields:
        An episode for each answer in Off or On mode, in the order of the run's plan.

    Raises:
        StoreError: there is no run, or it was made in another world, or with other cards than the bank would give now.
    """
    for unit in _units(root):
        path = root / UNITS / unit.id / RECORDS_FILE
        if not path.is_file():
            raise StoreError(f"{path}: expected the records of a finished unit; there is no such file")
        records = [one for one in read_records(path) if one["mode"] in _MODES and _fits(one, wanted)]
        if records:
            asked = {one.id: one for one in take_questions(unit.world, unit.benchmark, unit.questions, unit.seed)}
            yield from (_episode(root, unit, asked[record["id"]], record) for record in records)


def _units(root: Path) -> list[EvalUnit]:
    if not (root / "plan.json").is_file():
        raise StoreError(f"{root}: expected the directory of a run or of one evaluation, with a plan.json")
    units = [unit_from_json(unit) for unit in read_json(root / "plan.json")["units"]]
    return [unit for unit in units if isinstance(unit, EvalUnit)]


def _fits(record: Record, wanted: Mapping[str, Any]) -> bool:
    return all(value is None or record[name] == value for name, value in wanted.items())


def _episode(root: Path, unit: EvalUnit, question: Question, record: Record) -> EpisodeRecord:
    bank = str(root / UNITS / unit.bank / BANK_FILE) if record["mode"] == "on" else None
    setup = Setup(unit.world["name"], unit.world["options"], bank, {**unit.rules, "group_size": 1})
    world, rules, memory = open_setup(setup)
    if world.fingerprint != record["world"]:
        raise StoreError(f"{unit.id}: its answers were written in the world {record['world']}; this release makes another")
    game = SearchGame(world, rules, memory)
    game.reset(question)
    if [hit.card.id for hit in game.state.cards] != [card for card, _ in record["cards"]]:
        raise StoreError(f"{unit.id}, {question.id}: the bank gives other cards now: it, or how it is retrieved from, differs")
    for text in record["texts"]:
        if game.actor is not None:
            game.act(text)
    return EpisodeRecord.of(setup, game)


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes episodes; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.episodes", description=str(__doc__).partition("\n")[0])
    parser.add_argument("directory", type=Path, help="directory of a run, or of one evaluation of an experiment")
    parser.add_argument("--out", required=True, help="JSONL file to write")
    parser.add_argument("--arm")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--benchmark", choices=tuple(BENCHMARKS))
    parser.add_argument("--mode", choices=_MODES)
    parser.add_argument("--question", dest="id", help="id of one question")
    parser.add_argument("--right", dest="em", action=argparse.BooleanOptionalAction, help="right answers only, or wrong ones")
    options = vars(parser.parse_args(arguments))
    root, out = options.pop("directory"), options.pop("out")
    try:
        found = list(episodes(root, options))
        if not found:
            raise ConfigError(f"{root} has no such answer in Off or On mode; leave out some of the options")
        write_episodes(out, found)
    except SesaError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stdout.write(f"{out}: {len(found)} episodes; read them with: sesa replay --show {out}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
