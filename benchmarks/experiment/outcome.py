"""What an experiment leaves for readers: tables, figures, claims and a report, all made from its records and metrics."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from agents.names import public_name
from benchmarks.environment import describe_environment
from benchmarks.experiment.claims import Judged, judge_claims
from benchmarks.experiment.design import Experiment, same_training
from benchmarks.experiment.figures import draw_figures
from benchmarks.experiment.page import write_page
from benchmarks.experiment.page.markup import BY_REVISION
from benchmarks.experiment.results import Results
from benchmarks.experiment.tables import CLAIMS_TABLE, experiment_tables
from benchmarks.records import write_file, write_json
from benchmarks.render import Table, save_table, to_markdown

CLAIMS_FILE, REPORT = "claims.json", "report.md"
_ONE_SEED = (
    "**One seed: no claim is drawn.** The intervals in these tables speak of other questions in this one world, not of other "
    "worlds or trainings; `--preset small` has several."
)


def write_outcome(experiment: Experiment, root: Path, part_of: Experiment | None = None) -> list[Table]:
    """Makes tables, figures, the report and the page of a finished experiment, afresh.

    Args:
        experiment: what was done.
        root: its directory.
        part_of: the experiment under way of which that is the finished part: no claim is judged yet.

    Returns:
        The tables, the claims first where there are any.
    """
    results = Results(experiment, root, part_of)
    judged = judge_claims(results)
    if part_of is not None:
        judged = [replace(one, verdict="unfinished") for one in judged]
    if judged:
        write_json(root / CLAIMS_FILE, [one.row() for one in judged])
    tables = experiment_tables(results, judged)
    for table in tables:
        save_table(table, root / "tables")
    figures = draw_figures(results, root / "figures")
    write_json(root / "environment.json", describe_environment())
    write_file(root / REPORT, report_of(experiment, tables, figures, judged, results.revisions(), part_of).encode())
    write_page(results, judged, [table for table in tables if table.name != CLAIMS_TABLE])
    return tables


def report_of(
    experiment: Experiment,
    tables: list[Table],
    figures: dict[str, str],
    judged: list[Judged],
    revisions: Mapping[str, int],
    part_of: Experiment | None = None,
) -> str:
    """Writes the report in Markdown.

    Args:
        experiment: what was done.
        tables: in their order.
        figures: captions by name.
        judged: the claims; empty for one seed.
        revisions: numbers of trainings by the revision of the code (`Results.revisions`).
        part_of: as in `write_outcome`.
    """
    shown = [f"![{caption}](figures/{name}.png)\n\n*{caption}*" for name, caption in figures.items()]
    parts = [
        f"# SESA experiment: {experiment.name}",
        _what(experiment),
        _made_with(revisions),
        "" if part_of is None else _unfinished(experiment, part_of),
        "" if judged else _ONE_SEED,
        *map(to_markdown, tables),
        "## Figures",
        *shown,
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _unfinished(part: Experiment, whole: Experiment) -> str:
    made, wanted = (len(set(same_training(one.cells()).values())) for one in (part, whole))
    return (
        f"**Under way: {made} of {wanted} trainings.** What is told here is of those. No claim is judged before all are done: "
        "who looks again and again until an interval leaves out zero makes its level a fiction."
    )


def _what(experiment: Experiment) -> str:
    lines = [
        f"- **{study.name}**: {study.title}. Arms {', '.join(f'`{arm}`' for arm in study.arms)}; seeds "
        f"{', '.join(map(str, study.seeds))}; evaluated after {', '.join(map(str, study.stages))} updates on {study.questions} "
        "questions of each benchmark about what training held out."
        for study in experiment.studies
    ]
    judge = experiment.studies[0].judge
    judged = (
        f" Answers that exact match refused were judged by `{public_name(judge)}`; tables of judged scores say what that "
        "changes. Claims, figures and all other tables are of exact match."
        if judge
        else ""
    )
    made = f"What was trained and evaluated; `experiment.json` has the whole design.{judged}"
    return f"{made}\n\n" + "\n".join(lines)


def _made_with(revisions: Mapping[str, int]) -> str:
    lines = [f"- `{revision}`: {count} {'training' if count == 1 else 'trainings'}" for revision, count in revisions.items()]
    return f"{BY_REVISION} Each one's `finished.json` tells the machine too.\n\n" + "\n".join(lines)
