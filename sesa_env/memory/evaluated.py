"""What a card was shown for at evaluation, and which answers turned: from the harness's per-question records."""

import json
import lzma
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sesa_env.errors import StoreError


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One retrieval at evaluation.

    Attributes:
        mode: "on" or the name of a control.
        question: the question's text.
        similarity: the cosine of card and question.
        off: whether the same weights answered right without any card; None where that is not in the records.
        right: whether they did with the cards of the mode.
    """

    mode: str
    question: str
    similarity: float
    off: bool | None
    right: bool


def read_evaluated(paths: Sequence[str | Path], card: str) -> list[Evaluated]:
    """Reads the retrievals of a card at evaluation.

    Args:
        paths: files of records, JSON lines, compressed if their names end in .xz; of one Solver, with its Off answers.
        card: the card's id.

    Returns:
        The retrievals, in the order of the records.

    Raises:
        StoreError: a file cannot be read, or is none of records.
    """
    records = [record for path in paths for record in _records(Path(path))]
    off = {_key(record): bool(record["em"]) for record in records if record["mode"] == "off"}
    return [
        Evaluated(record["mode"], record["question"], similarity, off.get(_key(record)), bool(record["em"]))
        for record in records
        for shown, similarity in record["cards"]
        if shown == card
    ]


def tell_evaluated(found: Iterable[Evaluated]) -> str:
    """Writes retrievals at evaluation for a terminal, and how many questions the bank turned."""
    rows = list(found)
    on = [row for row in rows if row.mode == "on"]
    turned = [sum(row.off is not None and (row.off, row.right) == change for row in on) for change in _TURNS]
    lines = [f"Shown for {len(rows)} answers at evaluation; with the bank open {len(on)}: {turned[0]} turned right, "
             f"{turned[1]} turned wrong"]  # fmt: skip
    for row in rows:
        before = "" if row.off is None else f"{_verdict(row.off)} without, "
        lines.append(f"  {row.mode}, cosine {row.similarity:.3f}: {before}{_verdict(row.right)} with it: {row.question}")
    return "\n".join(lines) + "\n"


_TURNS = (False, True), (True, False)


def _verdict(right: bool) -> str:
    return "right" if right else "wrong"


def _key(record: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(record[name] for name in ("arm", "seed", "benchmark", "id"))


def _records(path: Path) -> list[dict[str, Any]]:
    try:
        content = path.read_bytes()
        lines = (lzma.decompress(content) if path.suffix == ".xz" else content).splitlines()
        records = [json.loads(line) for line in lines]
        for record in records:
            _ = record["mode"], record["question"], record["em"], record["cards"], _key(record)
    except (OSError, lzma.LZMAError, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{path}: expected the records of an evaluation, JSON lines; {type(error).__name__}: {error}"
        ) from error
    return records
