"""Questions of several facts, by whether training might have asked for such relations one after the other, or never could."""

from collections.abc import Iterator
from typing import Any

from agents.selfplay.compositions import is_composed_apart
from benchmarks.experiment.design import Study
from benchmarks.experiment.results import Results
from benchmarks.records import Record
from benchmarks.render import Column, Row, Table
from benchmarks.scores import Scores
from sesa_env.worlds import World, make_world

OPEN, APART = "open", "held out"


def compositions_table(results: Results, study: Study) -> Table | None:
    """Makes the table of scores by composition; None where a study holds none out, or a world's questions are of one kind."""
    if not any(cell.config["questions"]["held_out_compositions"] for cell in study.cells(results.experiment.training)):
        return None
    records = list(by_composition(results, study))
    if len({(record["seed"], record["benchmark"]) for record in records}) < 2 * len(study.seeds):
        return None
    scores = Scores(records)
    rows = tuple(_row(scores, arm) for arm in study.arms)
    columns = (
        Column("arm", "Arm"),
        *(Column(f"{kind} {mode}", f"{kind.capitalize()}, {mode.capitalize()}", "percent")
          for kind in (OPEN, APART) for mode in ("off", "on")),
        Column("difference", "Held out, Off to On", "points"),
        Column("interval", "95 % interval", "interval"),
    )  # fmt: skip
    notes = (
        f"Exact match on the questions of two facts and more, of all benchmarks together: {scores.size(APART)} of the first "
        f"seed's are of compositions of relations that no arm was trained on, {scores.size(OPEN)} of others. All are about "
        "entities that training held out. Intervals are each by itself.",
    )
    return Table("compositions", "Compositions that training held out", columns, (rows,), notes)


def by_composition(results: Results, study: Study) -> Iterator[Record]:
    """Yields the answers to questions of several facts, Off and On, with `OPEN` or `APART` in the place of the benchmark."""
    worlds = {cell.seed: (_world(cell.config), cell.config) for cell in study.cells(results.experiment.training)}
    kinds: dict[tuple[int, str], str] = {}
    for record in results.records(study, study.stages[-1]):
        if record["mode"] not in ("off", "on"):
            continue
        key = record["seed"], record["question"]
        if key not in kinds:
            world, config = worlds[record["seed"]]
            kinds[key] = _kind(world, record["question"], config["questions"]["held_out_compositions"])
        if kinds[key]:
            yield {**record, "benchmark": kinds[key], "id": f"{record['benchmark']}/{record['id']}"}


def _kind(world: World, question: str, share: float) -> str:
    """Which kind a question is of; "" for one of a single fact."""
    if world.graph is None or len(world.graph.needs(question) or ()) < 2:
        return ""
    return APART if is_composed_apart(world, question, share) else OPEN


def _world(config: dict[str, Any]) -> World:
    return make_world(config["world"], **{**config["world_options"], "n_targets": 0})


def _row(scores: Scores, arm: str) -> Row:
    row: dict[str, Any] = {"arm": arm}
    for mode in ("off", "on"):
        if (arm, mode) in scores.sides:
            row |= {f"{kind} {mode}": scores.mean((arm, mode), kind, "em") for kind in (OPEN, APART)}
    if (arm, "on") in scores.sides:
        estimate = scores.compare((arm, "off"), (arm, "on")).benchmarks[APART]
        row |= {"difference": estimate.value, "interval": [estimate.low, estimate.high]}
    return row
