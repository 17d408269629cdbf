"""The tables of a run: scores, differences, search behaviour, and the paper's numbers beside."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import isnan
from typing import Any

from benchmarks.paper import MAIN_BACKBONES, MAIN_METHODS, PAPER, SOURCE, PaperRow
from benchmarks.render import Column, Row, Table
from benchmarks.scores import JUDGED, Comparison, Scores, Side
from benchmarks.stats import RESAMPLES, Estimate, McNemar
from benchmarks.suites import BENCHMARKS, Suite

_COMPARED_ALL = 4  # arms; more have so many pairs that nobody would read them
_MEANS = (Column("macro", "Macro mean", "percent"), Column("micro", "Micro mean", "percent"))
PAPER_NOTE = (
    f"Rows marked (paper) are the numbers of {SOURCE}: language models on 500 questions of each real benchmark (Bamboogle 125) "
    "over all of Wikipedia, with a model judge on a miss. They are shown for orientation and are not comparable with our rows."
)


def compare_sides(scores: Scores, metric: str = "em") -> list[Comparison]:
    """Makes a run's comparisons: On against Off within each arm, then arm against arm in each mode.

    An arm that has no On mode is compared with another's too, as the paper compares SSP with SESA-On. Of many arms not every
    pair is compared, but each with the first two.
    """
    arms = list(dict.fromkeys(arm for arm, _ in scores.sides))
    pairs = [((arm, "off"), (arm, "on")) for arm in arms]
    for first, second in combinations(arms, 2):
        if len(arms) <= _COMPARED_ALL or first in arms[:2]:
            on = (first, "on") if (first, "on") in scores.sides else (first, "off")
            pairs += [((first, "off"), (second, "off")), (on, (second, "on"))]
    return [scores.compare(before, after, metric) for before, after in pairs if scores.has_pairs(before, after, metric)]


def make_tables(scores: Scores, comparisons: Sequence[Comparison], suite: Suite, seeds: int) -> list[Table]:
    """Makes all tables, the main one first."""
    about = f"Mean over {seeds} seeds." if seeds > 1 else "One seed."
    return [
        main_table(scores, suite, about),
        *judged_tables(scores, suite, about, seeds),
        _score_table(scores, suite, "f1", "main_f1", "Token F1 over all gold aliases, percent", about),
        _difference_table(comparisons, suite, seeds),
        _search_table(scores, suite, about),
        paper_table(),
    ]


def main_table(scores: Scores, suite: Suite, about: str) -> Table:
    """Makes the table of exact match by arm and mode, the paper's rows under ours.

    Args:
        scores: a run's scores.
        suite: names the benchmarks.
        about: a sentence on the seeds.
    """
    ours = _score_table(
        scores, suite, "em", "main", "Exact match over all gold aliases, percent, with the skill bank and without", about
    )
    shown = [row for row in PAPER if row.backbone in MAIN_BACKBONES and row.method in MAIN_METHODS]
    # Under MiniWiki's columns the paper's scores on the real benchmarks would pass for scores on MiniWiki: means alone there.
    paper = tuple(_paper_row(row if suite.real else replace(row, benchmarks={})) for row in shown)
    return Table(ours.name, ours.caption, ours.columns, (*ours.groups, paper), (*ours.notes, PAPER_NOTE))


def judged_tables(scores: Scores, suite: Suite, about: str, seeds: int) -> list[Table]:
    """Makes the tables of the scores with a judge's verdicts, and of what the bank changes by them; none without a judge.

    Args:
        scores: a run's scores.
        suite: names the benchmarks.
        about: a sentence on the seeds.
        seeds: how many.
    """
    if not scores.judged:
        return []
    table = _score_table(scores, suite, JUDGED, "main_judged", "Exact match, or judged right on a miss, percent", about)
    missing = {side: sum(scores.not_judged(side, name) for name in scores.benchmarks) for side in scores.sides}
    groups = tuple(tuple({**row, "not_judged": missing[row["arm"], row["mode"]]} for row in group) for group in table.groups)
    columns = (*table.columns[:4], Column("not_judged", "Not judged", "count"), *table.columns[4:])
    note = "Not judged: the judge could not be asked or gave no verdict; such answers count neither as right nor as wrong."
    score = "exact match or the judge's yes"
    differences = _difference_table(compare_sides(scores, JUDGED), suite, seeds, score)
    return [
        replace(table, columns=columns, groups=groups, notes=(*table.notes, note)),
        replace(differences, name="differences_judged", caption=f"{differences.caption}, with the judge's verdicts"),
    ]


def _score_table(scores: Scores, suite: Suite, metric: str, name: str, caption: str, about: str) -> Table:
    columns = (Column("arm", "Arm"), Column("mode", "Bank"), *_MEANS, *_benchmark_columns(suite))
    sides: dict[str, list[Row]] = {}
    for side in scores.sides:
        sides.setdefault(side[0], []).append(_score_row(scores, side, metric))
    note = f"Macro: unweighted mean of the seven benchmarks. Micro: mean over all questions. {about} {_sizes(scores, suite)}"
    return Table(name, caption, columns, tuple(tuple(rows) for rows in sides.values()), (note, suite.note))


def _benchmark_columns(suite: Suite) -> tuple[Column, ...]:
    return tuple(Column(name, suite.title(name), "percent") for name in BENCHMARKS)


def _score_row(scores: Scores, side: Side, metric: str) -> Row:
    means = {"macro": scores.macro(side, metric), "micro": scores.micro(side, metric)}
    means |= {name: scores.mean(side, name, metric) for name in scores.benchmarks}
    return {"arm": side[0], "mode": side[1], **{name: None if isnan(mean) else mean for name, mean in means.items()}}


def _sizes(scores: Scores, suite: Suite) -> str:
    sizes = {name: scores.size(name) for name in scores.benchmarks}
    if len(set(sizes.values())) == 1:
        return f"{next(iter(sizes.values()))} questions of each benchmark."
    return f"Questions: {', '.join(f'{suite.title(name)} {size}' for name, size in sizes.items())}."


def _paper_row(row: PaperRow) -> Row:
    method, _, mode = row.method.partition("-O")
    each = {name: round(score / 100, 4) for name, score in row.benchmarks.items()}
    label = {"arm": f"{row.backbone}, {method} (paper)", "mode": f"o{mode}" if mode else ""}
    return {**label, "macro": round(row.macro / 100, 4), **each}


def paper_table() -> Table:
    """Makes the table of all that is known of the paper's results."""
    columns = (
        Column("arm", "System"),
        Column("mode", "Bank"),
        _MEANS[0],
        *(Column(name, title, "percent") for name, title in BENCHMARKS.items()),
    )
    backbones: dict[str, list[Row]] = {}
    for row in PAPER:
        backbones.setdefault(row.backbone, []).append(_paper_row(row))
    return Table(
        "paper", "The paper's results, percent", columns, tuple(tuple(rows) for rows in backbones.values()), (PAPER_NOTE,)
    )


def _difference_table(comparisons: Sequence[Comparison], suite: Suite, seeds: int, score: str = "exact match") -> Table:
    columns = (
        Column("comparison", "Comparison"),
        Column("scope", "Over"),
        Column("difference", "Difference", "points"),
        Column("interval", "95 % interval", "interval"),
        Column("gained", "Gained", "count"),
        Column("lost", "Lost", "count"),
        Column("p", "p", "p"),
    )
    if seeds > 1:
        intervals = f"Student's t over {seeds} seeds (benchmarks.stats)"
    else:
        intervals = f"paired bootstrap, {RESAMPLES:,} resamples of questions within each benchmark"
    notes = (
        f"Differences in points of {score}, paired by question. Intervals: {intervals}. Gained and lost: questions that turned "
        "right and wrong. p: exact McNemar test over them, not corrected for the number of tests. The macro mean weights "
        "benchmarks, not questions, so it has an interval but no McNemar test.",
        suite.note,
    )
    groups = tuple(tuple(_difference_rows(comparison, suite)) for comparison in comparisons)
    return Table("differences", "What the bank and the player change, question by question", columns, groups, notes)


def _difference_rows(comparison: Comparison, suite: Suite) -> list[Row]:
    label = comparison_label(comparison)
    rows = [
        _difference_row(label, "macro mean", comparison.macro, None),
        _difference_row(label, "micro mean", comparison.micro, comparison.test),
    ]
    for name, estimate in comparison.benchmarks.items():
        rows.append(_difference_row(label, suite.title(name), estimate, comparison.tests.get(name)))
    return rows


def _difference_row(label: str, scope: str, estimate: Estimate, test: McNemar | None) -> Row:
    row: dict[str, Any] = {
        "comparison": label,
        "scope": scope,
        "difference": estimate.value,
        "interval": [estimate.low, estimate.high],
    }
    return {**row, "gained": test.gained, "lost": test.lost, "p": test.p} if test else row


def comparison_label(comparison: Comparison) -> str:
    """Names a comparison, "before → after"."""
    (first, before), (second, after) = comparison.before, comparison.after
    return f"{first} {before} → {second} {after}"


def _search_table(scores: Scores, suite: Suite, about: str) -> Table:
    columns = (
        Column("arm", "Arm"),
        Column("mode", "Bank"),
        Column("scope", "Over"),
        Column("hit@1", "Hit@1", "percent"),
        Column("hit@3", "Hit@3", "percent"),
        Column("searches", "Searches", "number"),
        Column("tokens", "Words", "number"),
    )
    notes = (
        "Hit@k, percent: questions for which some search had evidence among its first k passages, that is, a passage which the "
        "question names as its evidence, or, where it names none, one that holds a gold answer other than yes or no. Searches "
        "and tokens are a question's; tokens are the whitespace-separated words of all that the player wrote, whatever its own "
        f"tokeniser. {about}",
        suite.note,
    )
    groups = tuple(tuple(_search_rows(scores, side, suite)) for side in scores.sides)
    return Table("search", "Search behaviour", columns, groups, notes)


def _search_rows(scores: Scores, side: Side, suite: Suite) -> list[Row]:
    metrics = ("hit@1", "hit@3", "searches", "tokens")
    named: Mapping[str, Any] = {"arm": side[0], "mode": side[1]}
    rows: list[Row] = [
        {**named, "scope": "macro mean", **{metric: scores.macro(side, metric) for metric in metrics}},
        {**named, "scope": "micro mean", **{metric: scores.micro(side, metric) for metric in metrics}},
    ]
    for name in scores.benchmarks:
        rows += [{**named, "scope": suite.title(name), **{metric: scores.mean(side, name, metric) for metric in metrics}}]
    return rows
