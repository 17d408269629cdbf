"""Scores after each stage of a study, from the start policy on: what the learning curves draw, and the table of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.selfplay.config import RunConfig as TrainingConfig
from benchmarks.experiment.design import Study
from benchmarks.experiment.results import Results
from benchmarks.render import Column, Row, Table
from benchmarks.scores import Side
from benchmarks.trained import BASE

Floats = NDArray[np.float64]


def by_stage(results: Results, study: Study, arm: str, mode: str) -> tuple[Floats, Floats] | None:
    """Returns the macro means of an arm at each stage; None where one is missing.

    Returns:
        The stages, with the start policy as stage 0 where it was evaluated as the arm begins (`start`), and the macro means by
        seed and stage, shape (seeds, stages). The start policy itself has stage 0 alone.
    """
    columns, stages = [], []
    side, first = start(results, study, arm, mode), results.scores(study)
    if side in first.sides:
        stages.append(0)
        columns.append(first.macro_by_seed(side, "em"))
    for stage in study.stages if arm != BASE else ():
        scores = results.scores(study, stage)
        if (arm, mode) not in scores.sides:
            return None
        stages.append(stage)
        columns.append(scores.macro_by_seed((arm, mode), "em"))
    return (np.array(stages, dtype=float), np.array(columns).T) if stages else None


def start(results: Results, study: Study, arm: str, mode: str) -> Side | None:
    """Returns the side of the start policy that an arm is before its first update; None where that was not evaluated.

    On, the start policy was evaluated with the bank of hand-written and mined cards that SESA begins with. An arm without
    priming begins with an empty bank, which is Off; one that mines otherwise begins with another bank.
    """
    if not {arm, BASE} <= set(study.arms):
        return None
    ours, base = (results.config(study, one) for one in (arm, BASE))
    if mode == "off" or not (ours.skills.primed or ours.skills.bootstrap):
        return BASE, "off"
    return (BASE, "on") if _beginning(ours) == _beginning(base) else None


def _beginning(config: TrainingConfig) -> tuple[Any, ...]:
    """All that the bank before the first update is made of."""
    skills = config.skills
    return config.questions, skills.bank, skills.embedder, skills.primed, skills.bootstrap, skills.mined, skills.teacher


def stages_table(results: Results, study: Study) -> Table | None:
    """Makes the table of scores by stage; None for a study of one stage, which the main table tells."""
    if len(study.stages) < 2:
        return None
    groups = [tuple(_rows(results, study, arm)) for arm in study.arms]
    shown = sorted({int(key) for group in groups for row in group for key in row if key.isdigit()})
    columns = (Column("arm", "Arm"), Column("mode", "Bank"), *(Column(str(at), str(at), "percent") for at in shown))
    over = f"Means over {len(study.seeds)} seeds." if len(study.seeds) > 1 else "One seed: no claim is drawn."
    notes = (
        f"Columns are updates; each stage asks the same questions. {over} At 0 is the start policy, On with the bank that the "
        "arm begins with, where that was evaluated.",
    )
    return Table("stages", "Exact match by updates, macro mean, percent", columns, tuple(filter(None, groups)), notes)


def _rows(results: Results, study: Study, arm: str) -> list[Row]:
    rows: list[Row] = []
    for mode in ("off", "on"):
        points = by_stage(results, study, arm, mode)
        if points is not None:
            means: dict[str, Any] = {
                str(int(at)): float(mean) for at, mean in zip(points[0], points[1].mean(axis=0), strict=True)
            }
            rows.append({"arm": arm, "mode": mode, **means})
    return rows
