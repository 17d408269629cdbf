"""What Challengers wrote, as far as trainings kept it, with the passages that they read."""

from collections.abc import Iterator
from typing import Any

from agents.selfplay.posed import read_posed
from benchmarks.experiment.design import Cell, Study, same_training, training_config
from benchmarks.experiment.page.answers import Place
from benchmarks.experiment.page.replay import Line, Replayer
from benchmarks.experiment.results import Results
from benchmarks.experiment.training import stage_directory
from sesa_env.plain import build
from sesa_env.types import Target
from sesa_env.worlds import make_world

MOST = 3_000
"""Proposals on a page, at most, evenly of all trainings and all their updates."""


def posed(results: Results, study: Study, most: int = MOST) -> dict[str, Any]:
    """Collects proposals of a study's trainings.

    Args:
        results: the experiment's.
        study: the study.
        most: how many, at most.

    Returns:
        JSON: `proposals`, each with arm, seed, step, target, hops, question, reason ("" if valid) and turns; `passages` and
        `texts`, which the turns name by number.
    """
    place = Place()
    cells = [cell for cell in results.experiment.cells() if cell.study == study.name]
    source = same_training(results.experiment.cells())
    proposals = [row for cell in cells for row in _of_training(results, cell, source[cell.id], most // len(cells), place)]
    return {"proposals": proposals, "passages": place.passages.items, "texts": place.texts.items}


def _of_training(results: Results, cell: Cell, source: str, most: int, place: Place) -> Iterator[dict[str, Any]]:
    found = read_posed(stage_directory(results.root, source, cell.stages[-1]))
    rows = found[:: max(1, -(-len(found) // max(most, 1)))]
    if not rows:
        return
    config = training_config(cell)
    replayer = Replayer(make_world(config.world, **config.world_options), config.rules)
    targets = [build(Target, row["target"], "target") for row in rows]
    # The last turn is not played: what became of it is known, and verification would be the dearest part.
    lines = replayer.play(targets, [row["texts"][:-1] for row in rows])
    for row, target, turns in zip(rows, targets, lines, strict=True):
        outcome = f"rejected:{row['reason']}" if row["reason"] else "question"
        yield {
            "arm": cell.arm, "seed": cell.seed, "step": row["step"], "target": target.answer, "hops": target.hops,
            "question": row["question"], "reason": row["reason"],
            "turns": place.turns([*turns, *(Line(text, outcome) for text in row["texts"][-1:])]),
        }  # fmt: skip
