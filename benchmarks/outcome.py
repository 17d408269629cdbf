"""What a finished run leaves: merged records, timings, tables, figures and the report, all made from the units' files."""

from pathlib import Path
from typing import Any

from benchmarks.banks import STATS_FILE
from benchmarks.config import RunConfig
from benchmarks.evaluation import merge_records
from benchmarks.figures import save_figures
from benchmarks.plan import Plan
from benchmarks.records import Record, read_json, read_records, write_json
from benchmarks.render import Table, save_table
from benchmarks.report import Run, write_report
from benchmarks.scores import Scores
from benchmarks.suites import SUITES
from benchmarks.tables import compare_sides, make_tables
from benchmarks.units import TIMING_FILE, UNITS


def write_outcome(root: Path, config: RunConfig, plan: Plan, environments: list[dict[str, Any]]) -> list[Table]:
    """Makes everything that is made from the units' results, afresh.

    Returns:
        The run's tables, the main one first.
    """
    merge_records(root, plan)
    write_json(root / "timings.json", {unit.id: read_json(root / UNITS / unit.id / TIMING_FILE) for unit in plan.units})
    records: list[Record] = []
    for arm in config.arms:
        for path in [root / "records" / arm.name / f"{name}.jsonl" for name in config.questions]:
            records += read_records(path)
    suite = SUITES[config.suite]
    scores = Scores(records)
    comparisons = compare_sides(scores)
    tables = make_tables(scores, comparisons, suite, len(config.seeds))
    for table in tables:
        save_table(table, root / "tables")
    figures = save_figures(scores, comparisons, suite, root / "figures")
    banks = {unit.id: read_json(root / UNITS / unit.id / STATS_FILE) for unit in plan.banks}
    write_report(root, Run(config.to_json(), environments, banks, figures), scores, comparisons, tables, suite)
    return tables
