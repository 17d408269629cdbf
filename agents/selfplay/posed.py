"""A sample of what the Challenger wrote, for people: its searches, its question, why it was rejected. No run reads it back."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agents.selfplay.posing import Proposal

POSED = "posed.jsonl"
SAMPLE = 2
"""Proposals kept of an update: the first ones, which are those of its first targets, whatever came of them."""


class PosedFile:
    """`DIR/posed.jsonl`: one proposal a line.

    Args:
        path: the file.
        before: what was written at this step and later goes: a run that was stopped plays it again.
    """

    def __init__(self, path: Path, before: int) -> None:
        self._path = path
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
        kept = [line for line in lines if line.endswith("\n") and json.loads(line)["step"] < before]
        part = path.with_suffix(".part")
        part.write_text("".join(kept), encoding="utf-8")
        os.replace(part, path)

    def add(self, step: int, proposals: Sequence[Proposal]) -> None:
        """Appends a step's sample."""
        rows = [_row(step, proposal) for proposal in proposals[:SAMPLE]]
        with self._path.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows))


def _row(step: int, proposal: Proposal) -> dict[str, Any]:
    return {
        "step": step,
        "target": asdict(proposal.target),
        "texts": proposal.rollout.texts,
        "question": "" if proposal.posed is None else proposal.posed.question.text,
        "reason": proposal.reason,
    }


def read_posed(out: str | Path) -> list[dict[str, Any]]:
    """Reads the sample of a run; [] of one that was made without."""
    path = Path(out) / POSED
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
