"""An evaluation from its configuration to its records, in a directory of its own: what `run_all` does before it reports."""

from pathlib import Path

from benchmarks.config import RunConfig
from benchmarks.directory import begin, check_directory
from benchmarks.engine import run_units
from benchmarks.judged import with_verdicts
from benchmarks.plan import Plan, make_plan
from benchmarks.preflight import check
from benchmarks.progress import Begin
from benchmarks.records import write_file
from benchmarks.units import RECORDS_FILE, UNITS


def evaluate_into(root: Path, config: RunConfig, workers: int, bar: Begin) -> Plan:
    """Carries an evaluation out, or finishes it, and leaves its records under `root / "records"`.

    Args:
        root: its directory; one that holds the same evaluation is gone on with.
        config: the evaluation.
        workers: how many processes.
        bar: begins a progress bar.

    Returns:
        What it consisted of.

    Raises:
        SesaError: a mistake in the configuration or the data, found before anything runs.
    """
    check_directory(root, config, resume=True)
    found = check(config)
    plan = make_plan(config, found.available)
    begin(root, config, plan, found.world)
    run_plan(plan, root, workers, bar)
    merge_records(root, plan)
    return plan


def run_plan(plan: Plan, root: Path, workers: int, bar: Begin) -> None:
    """Runs the units of a plan, stage by stage, each stage with a bar."""
    for name, units in (("Banks", plan.banks), ("Evaluation", plan.evaluations), ("Judge", plan.judgements)):
        if units:
            run_units(units, root, workers, bar(name, len(units)))


def merge_records(root: Path, plan: Plan) -> None:
    """Joins the shards' records into one file for each arm and benchmark, in the plan's order, as the units wrote them."""
    merged: dict[Path, list[bytes]] = {}
    verdicts = {unit.records: root / UNITS / unit.id for unit in plan.judgements}
    for unit in plan.evaluations:
        path = root / "records" / unit.arm / f"{unit.benchmark}.jsonl"
        records = (root / UNITS / unit.id / RECORDS_FILE).read_bytes()
        merged.setdefault(path, []).append(with_verdicts(records, verdicts[unit.id]) if unit.id in verdicts else records)
    for path, parts in merged.items():
        write_file(path, b"".join(parts))
