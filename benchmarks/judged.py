"""A model's second look at answers that exact match refuses: verdicts beside the records, which they never change."""

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.records import Record, dump, read_json, read_records, write_json

if TYPE_CHECKING:
    from agents.judge import Judge, Judgement

VERDICTS_FILE = "verdicts.json"


def judge_records(name: str, path: Path, directory: Path) -> int:
    """Judges the answers in a file of records and leaves the verdicts in a directory.

    Args:
        name: the model, for `agents.judge.open_judge`.
        path: the records.
        directory: where `VERDICTS_FILE` goes: the judgements in the records' order, and why some answers were not judged.

    Returns:
        How many answers there were.
    """
    judge, records = _judge(name), read_records(path)
    known = len(judge.reasons)
    found = judge.judge([(record["question"], tuple(record["answers"]), record["prediction"]) for record in records])
    write_json(directory / VERDICTS_FILE, {"verdicts": [each.value for each in found], "reasons": judge.reasons[known:]})
    return len(records)


@lru_cache(maxsize=1)
def _judge(name: str) -> "Judge":
    """Opens a judge once for all the units of a process."""
    from agents.judge import open_judge

    return open_judge(name)


def with_verdicts(records: bytes, directory: Path) -> bytes:
    """Puts verdicts into records: `judgement`, and as a score `judged`, null where an answer was not judged.

    Args:
        records: lines as `write_records` writes them.
        directory: a judge unit's.
    """
    from agents.judge import Judgement

    read: list[Record] = [json.loads(line) for line in records.splitlines()]
    found = [Judgement(verdict) for verdict in read_json(directory / VERDICTS_FILE)["verdicts"]]
    pairs = zip(read, found, strict=True)
    return b"".join(dump({**record, "judgement": verdict.value, "judged": _score(verdict)}) for record, verdict in pairs)


def _score(verdict: "Judgement") -> bool | None:
    return None if verdict.score is None else bool(verdict.score)


def is_unsettled(directory: Path) -> bool:
    """Says whether a finished judge unit left answers that were not judged: a resumed run asks again."""
    from agents.judge import Judgement

    return directory.is_dir() and Judgement.NOT_JUDGED.value in read_json(directory / VERDICTS_FILE)["verdicts"]
