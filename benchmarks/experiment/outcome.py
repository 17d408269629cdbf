"""What an experiment leaves for readers: tables, figures, claims and a report, all made from its records and metrics."""

from pathlib import Path

from benchmarks.environment import describe_environment
from benchmarks.experiment.claims import Judged, judge_claims
from benchmarks.experiment.design import Experiment
from benchmarks.experiment.figures import draw_figures
from benchmarks.experiment.page import write_page
from benchmarks.experiment.results import Results
from benchmarks.experiment.tables import CLAIMS_TABLE, experiment_tables
from benchmarks.records import write_file, write_json
from benchmarks.render import Table, save_table, to_markdown

CLAIMS_FILE, REPORT = "claims.json", "report.md"
_ONE_SEED = (
    "**One seed: no claim is drawn.** The intervals in these tables speak of other questions in this one world, not of other "
    "worlds or trainings; `--preset small` has several."
)


def write_outcome(experiment: Experiment, root: Path) -> list[Table]:
    """Makes tables, figures, the report and the page of a finished experiment, afresh.

    Args:
        experiment: what was done.
        root: its directory.

    Returns:
        The tables, the claims first where there are any.
    """
    results = Results(experiment, root)
    judged = judge_claims(results)
    if judged:
        write_json(root / CLAIMS_FILE, [one.row() for one in judged])
    tables = experiment_tables(results, judged)
    for table in tables:
        save_table(table, root / "tables")
    figures = draw_figures(results, root / "figures")
    write_json(root / "environment.json", describe_environment())
    write_file(root / REPORT, report_of(experiment, tables, figures, judged).encode())
    write_page(results, judged, [table for table in tables if table.name != CLAIMS_TABLE])
    return tables


def report_of(experiment: Experiment, tables: list[Table], figures: dict[str, str], judged: list[Judged]) -> str:
    """Writes the report in Markdown.

    Args:
        experiment: what was done.
        tables: in their order.
        figures: captions by name.
        judged: the claims; empty for one seed.
    """
    shown = [f"![{caption}](figures/{name}.png)\n\n*{caption}*" for name, caption in figures.items()]
    parts = [
        f"# SESA experiment: {experiment.name}",
        _what(experiment),
        "" if judged else _ONE_SEED,
        *map(to_markdown, tables),
        "## Figures",
        *shown,
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _what(experiment: Experiment) -> str:
    lines = [
        f"- **{study.name}**: {study.title}. Arms {', '.join(f'`{arm}`' for arm in study.arms)}; seeds "
        f"{', '.join(map(str, study.seeds))}; evaluated after {', '.join(map(str, study.stages))} updates on {study.questions} "
        "questions of each benchmark about what training held out."
        for study in experiment.studies
    ]
    return "Everything was trained and evaluated by one command; `experiment.json` has the whole design.\n\n" + "\n".join(lines)
