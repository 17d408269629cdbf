"""What a reader is shown: numbers as computed, the paper's marked as the paper's, drawings that do not change."""

import csv
import json

import matplotlib.image
import numpy as np
import pytest

from benchmarks.figures import save_figures
from benchmarks.paper import PAPER
from benchmarks.render import Column, Table, format_cell, save_table, to_csv, to_latex, to_markdown
from benchmarks.scores import Scores
from benchmarks.suites import BENCHMARKS, SUITES
from benchmarks.tables import compare_sides, make_tables


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(0)
    records = []
    for benchmark in BENCHMARKS:
        for number, (draw, turn) in enumerate(rng.random((40, 2))):
            for arm, mode in (("naive", "off"), ("naive", "on"), ("skilled", "off"), ("skilled", "on")):
                em = bool(draw < 0.4) if (arm, mode) != ("skilled", "on") else bool(draw < 0.4 or turn < 0.3)
                place = {
                    "arm": arm,
                    "mode": mode,
                    "benchmark": benchmark,
                    "seed": 0,
                    "world": "w",
                    "id": f"{benchmark}/{number}",
                }
                records.append({**place, "em": em, "f1": float(em), "hit@1": em, "hit@3": True, "searches": 2, "tokens": 9})
    return Scores(records)


@pytest.fixture(scope="module")
def comparisons(scores):
    return compare_sides(scores)


def test_every_side_is_compared_with_its_own_and_the_other_arm(comparisons):
    assert [(each.before, each.after) for each in comparisons] == [
        (("naive", "off"), ("naive", "on")),
        (("skilled", "off"), ("skilled", "on")),
        (("naive", "off"), ("skilled", "off")),
        (("naive", "on"), ("skilled", "on")),
    ]


def test_the_main_table_begins_with_the_macro_mean_and_marks_the_paper_s_rows(scores, comparisons):
    main = make_tables(scores, comparisons, SUITES["flashrag"], seeds=1)[0]
    assert [column.key for column in main.columns] == ["arm", "mode", "macro", "micro", *BENCHMARKS]
    ours, paper = [row for group in main.groups[:-1] for row in group], main.groups[-1]
    assert [(row["arm"], row["mode"]) for row in ours] == scores.sides
    assert ours[3]["macro"] == pytest.approx(np.mean([ours[3][name] for name in BENCHMARKS]))
    assert all(row["arm"].endswith("(paper)") for row in paper)
    assert [row["macro"] for row in paper if row["mode"] == "on"] == [0.562, 0.595]
    assert any("not comparable" in note for note in main.notes)


def test_no_real_score_stands_under_a_miniwiki_heading(scores, comparisons):
    main = make_tables(scores, comparisons, SUITES["miniwiki"], seeds=1)[0]
    assert [column.title for column in main.columns[4:]] == [f"miniwiki/{name}" for name in BENCHMARKS]
    assert all(name not in row for row in main.groups[-1] for name in BENCHMARKS)


def test_the_paper_s_means_are_those_of_its_benchmarks():
    """Guards against slips of the pen in the data: where all seven are known, they average to the printed mean."""
    complete = [row for row in PAPER if row.benchmarks]
    assert len(complete) == 6
    for row in complete:
        assert np.mean(list(row.benchmarks.values())) == pytest.approx(row.macro, abs=0.06), row


def test_differences_have_intervals_and_tests(scores, comparisons):
    table = make_tables(scores, comparisons, SUITES["flashrag"], seeds=1)[2]
    macro, micro, first = table.groups[1][:3]
    assert macro["difference"] > 0 == comparisons[0].macro.value
    assert macro["interval"][0] < macro["difference"] < macro["interval"][1]
    assert "p" not in macro
    assert micro["lost"] == 0 < micro["gained"]
    assert first["scope"] == "NQ"
    assert micro["p"] == comparisons[1].test.p


@pytest.mark.parametrize(
    ("value", "style", "text"),
    [
        (0.4567, "percent", "45.7"),
        (0.031, "points", "+3.1"),
        (-0.031, "points", "\N{MINUS SIGN}3.1"),
        (-0.0001, "points", "0.0"),
        ([-0.01, 0.02], "interval", "[\N{MINUS SIGN}1.0, +2.0]"),
        (0.0004, "p", "<0.001"),
        (1.0, "p", "1.000"),
        (7, "count", "7"),
        (None, "percent", "\N{EN DASH}"),
    ],
)
def test_numbers_are_written_for_readers(value, style, text):
    assert format_cell(value, style) == text


TABLE = Table(
    "t",
    "Two & three",
    (Column("name", "Na_me"), Column("score", "Score", "percent"), Column("range", "Range", "interval")),
    (({"name": "a|b", "score": 0.5, "range": [-0.1, 0.25]},), ({"name": "c%"},)),
    ("A `n_ote`.",),
)


def test_markdown():
    lines = to_markdown(TABLE).splitlines()
    assert lines[0] == "**Two & three**"
    assert lines[2:6] == [
        "| Na_me | Score | Range |",
        "| :-- | --: | --: |",
        "| a\\|b | 50.0 | [\N{MINUS SIGN}10.0, +25.0] |",
        "| c% | \N{EN DASH} | \N{EN DASH} |",
    ]
    assert lines[-1] == "A `n_ote`."


def test_latex():
    text = to_latex(TABLE)
    body = text.partition("\\toprule\n")[2].partition("\\bottomrule")[0]
    assert body.splitlines() == [
        "Na\\_me & Score & Range \\\\",
        "\\midrule",
        "a|b & 50.0 & [$-$10.0, +25.0] \\\\",
        "\\midrule",
        "c\\% & -- & -- \\\\",
    ]
    assert "\\begin{tabular}{lrr}" in text
    assert "\\caption[Two \\& three]{Two \\& three. A \\texttt{n\\_ote}.}" in text
    assert "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n\\begin{tabular}" in text
    assert "\\usepackage{booktabs,graphicx}" in text


@pytest.mark.parametrize(
    ("title", "style", "head"),
    [
        ("miniwiki/2wikimultihopqa", "percent", "\\shortstack[r]{miniwiki/\\\\2wikimultihopqa}"),
        ("Tokens a point, Off", "text", "\\shortstack[l]{Tokens a\\\\point, Off}"),
        ("Macro mean", "percent", "Macro mean"),
        ("one / two", "text", "one / two"),
    ],
)
def test_long_headings_are_broken_in_latex(title, style, head):
    table = Table("t", "A table", (Column("one", title, style),), ((),))
    assert f"\\toprule\n{head} \\\\" in to_latex(table)


def test_csv_and_json_keep_unrounded_values(tmp_path):
    rows = list(csv.reader(to_csv(TABLE).splitlines()))
    assert rows == [["name", "score", "range_low", "range_high"], ["a|b", "0.5", "-0.1", "0.25"], ["c%", "", "", ""]]
    save_table(TABLE, tmp_path)
    assert json.loads((tmp_path / "t.json").read_text())["groups"][0][0]["range"] == [-0.1, 0.25]


def test_figures_are_drawn_the_same_each_time(scores, comparisons, tmp_path):
    for folder in ("one", "two"):
        assert save_figures(scores, comparisons, SUITES["miniwiki"], tmp_path / folder) == ["off_on", "differences"]
    for path in sorted((tmp_path / "one").iterdir()):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
    assert b"dc:date" not in (tmp_path / "one" / "off_on.svg").read_bytes()
    assert matplotlib.image.imread(tmp_path / "one" / "off_on.png").shape[1] > 1000


def test_one_arm_alone_can_be_drawn(scores, comparisons, tmp_path):
    save_figures(scores, comparisons[:1], SUITES["flashrag"], tmp_path)
    assert (tmp_path / "differences.svg").stat().st_size > 0
