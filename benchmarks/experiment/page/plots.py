"""The numbers behind a page's plots: learning curves, training metrics, flips, the regime map."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.selfplay.metrics import scalars
from benchmarks.experiment.design import MAIN, Study
from benchmarks.experiment.figures import COLOURS, smooth
from benchmarks.experiment.flips import Turned, flips
from benchmarks.experiment.regime import AFTER, BEFORE, Cell, Model, predict, regime_map
from benchmarks.experiment.results import Results
from benchmarks.experiment.stages import by_stage
from benchmarks.stats import Estimate
from sesa_env.validity import REJECT_REASONS

Floats = NDArray[np.float64]
_POINTS = 100  # of a curve of training, at most
_SPARE = ("#CC6677", "#44AA99", "#999933", "#AA4499", "#88CCEE", "#DDCC77", "#6A7FDB", "#3E7D4F")
"""Colours that no arm has everywhere, for those that only side studies have."""
METRICS: Mapping[str, str] = {
    "valid_rate": "Challenger: valid share of what it proposed",
    "hops_posed": "Challenger: hops of valid questions",
    "effective_kinds": "Challenger: effective number of kinds of question",
    "challenger_reward": "Challenger: mean reward",
    "challenger_entropy": "Challenger: entropy",
    "challenger_grad_norm": "Challenger: gradient norm",
    "solve_rate": "Solver: solve rate",
    "solve_rate_with_cards": "Solver: solve rate of rollouts shown a card",
    "solve_rate_without_cards": "Solver: solve rate of rollouts shown none",
    "informative_groups": "Solver: groups that are neither all right nor all wrong",
    "solver_reward": "Solver: mean reward",
    "solver_searches": "Solver: searches an update",
    "solver_entropy": "Solver: entropy",
    "solver_kl": "Solver: distance from the start policy (KL)",
    "solver_grad_norm": "Solver: gradient norm",
    "malformed": "Solver: attempts without an answer",
    "cards": "Bank: cards",
    "origins/seed": "Bank: cards written by hand",
    "births": "Bank: cards born an update",
    "deaths": "Bank: cards evicted an update",
    "hit_rate": "Bank: share of questions shown a card",
    "similarity": "Bank: likeness of the cards shown",
    "utility": "Bank: helpful less hurt, all cards",
    "pending": "Bank: failures waiting for the teacher",
    **{f"rejected/{reason}": f"Rejected questions: {reason.replace('_', ' ')}" for reason in REJECT_REASONS},
}
"""The fields of training's metrics that can be drawn, and what they are."""


def plots(results: Results) -> dict[str, Any]:
    """Collects the numbers of all plots.

    Returns:
        JSON: `titles`, [name, title] of each study in the design's order; `colours` by study and arm; `curves` by study,
        `training` by study and metric, each a list of series {name, x, mean, low, high}; `metrics`, their labels; `flips` by
        arm, each row [name, turned right, turned wrong, asked]; `regime`, null where there is no map.
    """
    studies = results.experiment.studies
    return {
        "colours": {study.name: colours(study.arms) for study in studies},
        "titles": [[study.name, study.title] for study in studies],
        "curves": {study.name: list(_curves(results, study)) for study in studies},
        "training": {study.name: _training(results, study) for study in studies},
        "metrics": METRICS,
        "flips": _flips(results, results.experiment.study(MAIN)),
        "regime": _regime(results),
    }


def colours(arms: Sequence[str]) -> dict[str, str]:
    """Gives each arm of a study a colour of its own: the one that it has everywhere, if it has one.

    Raises:
        ValueError: there are more arms without such a colour than there are spare ones.
    """
    others = [arm for arm in arms if arm not in COLOURS]
    spare = dict(zip(others, _SPARE[: len(others)], strict=True))
    return {arm: COLOURS.get(arm) or spare[arm] for arm in arms}


def _curves(results: Results, study: Study) -> Iterator[dict[str, Any]]:
    for arm in study.arms:
        for mode in ("off", "on"):
            points = by_stage(results, study, arm, mode) if arm != "base" else None
            if points is not None:
                yield {"mode": mode, **_series(arm, points[0], 100 * points[1], 2)}


def _series(name: str, x: Floats, values: Floats, digits: int) -> dict[str, Any]:
    """A line with the lowest and the highest seed; `values` of shape (seeds, points)."""
    rows = {"mean": values.mean(axis=0), "low": values.min(axis=0), "high": values.max(axis=0)}
    return {
        "name": name,
        "x": [int(at) for at in x],
        **{which: [_rounded(value, digits) for value in row] for which, row in rows.items()},
    }


def _rounded(value: float, digits: int) -> float | None:
    return None if not np.isfinite(value) else round(float(value), digits)


def _training(results: Results, study: Study) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in METRICS}
    for arm in study.arms:
        rows = [[scalars(row) for row in results.metrics(study, arm, seed)] for seed in study.seeds] if arm != "base" else []
        for name in METRICS:
            if rows and all(name in row for seed in rows for row in seed):
                found[name].append(_drawn(arm, [[row[name] for row in seed] for seed in rows]))
    return {name: series for name, series in found.items() if series}


def _drawn(arm: str, seeds: Sequence[Sequence[float]]) -> dict[str, Any]:
    values = np.array([smooth(np.array(seed, dtype=float)) for seed in seeds])
    count = values.shape[1]
    kept = np.unique(np.linspace(0, count - 1, min(count, _POINTS)).round().astype(int))
    return _series(arm, kept.astype(float) + 1, values[:, kept], 4)


def _flips(results: Results, study: Study) -> list[dict[str, Any]]:
    """Of each arm with a bank the questions that turned right and wrong from Off to On, by kind and by benchmark."""
    return [
        {"arm": arm, "by": {"kind": _turned(found.kinds), "benchmark": _turned(found.benchmarks)}}
        for arm, found in flips(results, study).items()
    ]


def _turned(found: Sequence[Turned]) -> list[list[Any]]:
    return [[one.name, one.gained, one.lost, one.asked] for one in found]


def _regime(results: Results) -> dict[str, Any] | None:
    found = regime_map(results)
    if found is None:
        return None
    model = found.model
    return {
        "errors": "" if found.errors is None else found.errors.sentence(),
        "before": [arm for arm, _ in BEFORE],
        "cells": [
            {
                "tail": cell.tail,
                "updates": cell.updates,
                "predicted": None if model is None else _predicted(cell, model),
                "gains": {f"{before[0]}/{after[1]}": _points(gain) for (before, after), gain in cell.gains.items()},
            }
            for cell in found.cells
        ],
    }


def _predicted(cell: Cell, model: Model) -> dict[str, float]:
    """What the fitted model says of SESA over shaping alone or SSP, Off and On, in points."""
    predicted = predict(cell.tail, cell.updates, cell.start, model)
    return {mode: round(100 * predicted.gain((arm, mode)), 6) for arm, mode in AFTER}


def _points(estimate: Estimate) -> list[float]:
    # More digits than are shown: rounded twice, a number can end beside the one in the table.
    return [round(100 * value, 6) for value in (estimate.value, estimate.low, estimate.high)]
