"""Per-question records: one JSON line for each question, arm, seed and mode.

A record holds all that scores, statistics and later questions need, and nothing that differs between two runs of one
configuration: no clock, no machine, no path.
"""

import json
import lzma
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from sesa_env.errors import StoreError
from sesa_env.grading import contains_answer, exact_match, f1, normalise
from sesa_env.types import Attempt, Passage, Question

Record: TypeAlias = dict[str, Any]


def make_record(context: Mapping[str, Any], question: Question, attempt: Attempt) -> Record:
    """Scores one attempt.

    Args:
        context: what the question was asked under: benchmark, arm, seed, world, bank, mode.
        question: the question.
        attempt: the Solver episode that answered it.

    Returns:
        The record: context, question, scores (`em`, `hit@1` and `hit@3` true or false, `f1` in [0, 1]) and counts.
    """
    return {
        **context,
        "id": question.id,
        "question": question.text,
        "answers": list(question.answers),
        "prediction": attempt.prediction,
        "em": exact_match(attempt.prediction, question.answers),
        "f1": round(f1(attempt.prediction, question.answers), 6),
        "hit@1": hit(question, attempt, 1),
        "hit@3": hit(question, attempt, 3),
        "searches": len(attempt.searches),
        "tokens": sum(len(text.split()) for text in attempt.texts),
        "end": attempt.end,
        "cards": [[card, round(similarity, 6)] for card, similarity in attempt.cards],
        "texts": list(attempt.texts),
    }


def hit(question: Question, attempt: Attempt, k: int) -> bool:
    """Says whether any search's first k passages hold evidence.

    Evidence is a passage that the question names as such. Where it names none, it is a passage whose title or text holds a gold
    answer (DPR's rule), except that yes and no, which occur in any text, are never found.
    """
    return any(_is_evidence(passage, question) for call in attempt.searches for passage in call.passages[:k])


def _is_evidence(passage: Passage, question: Question) -> bool:
    if question.evidence:
        return passage.id in question.evidence
    telling = [answer for answer in question.answers if normalise(answer) not in {"yes", "no"}]
    return contains_answer(f"{passage.title}\n{passage.text}", telling)


def dump(value: Any, indent: int | None = None) -> bytes:
    """Writes a JSON value with sorted keys. A lone surrogate, which UTF-8 cannot hold, becomes JSON's own escape for it."""
    return (json.dumps(value, sort_keys=True, ensure_ascii=False, indent=indent) + "\n").encode("utf-8", "backslashreplace")


def write_file(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all: a reader, or a run resumed after a kill, never meets half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(content)
    temporary.replace(path)


def write_json(path: Path, value: Any) -> None:
    """Writes a JSON file with sorted keys, whole or not at all."""
    write_file(path, dump(value, indent=2))


def read_json(path: Path) -> Any:
    """Reads a JSON file.

    Raises:
        StoreError: it cannot be read; the message names the file.
    """
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{path} cannot be read as JSON ({error}); if it was edited by hand, start again in a new directory"
        ) from error


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Writes records as JSON lines, whole or not at all."""
    write_file(path, b"".join(dump(record) for record in records))


def read_records(path: Path) -> list[Record]:
    """Reads the JSON lines that `write_records` wrote, compressed by xz if the file's name says so.

    Raises:
        StoreError: a line cannot be read; the message names file and line.
    """
    records: list[Record] = []
    content = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            records.append(json.loads(line))
        except ValueError as error:
            raise StoreError(
                f"{path}, line {number}: not a JSON record ({error}); delete its unit's directory and use --resume"
            ) from error
    return records
