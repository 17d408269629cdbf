"""What the whole of `small` leaves for readers, without its trainings: every table, figure and claim, from what is kept too."""

import json
import re

import pytest

pytest.importorskip("torch", reason="needs the llm extra")
pytest.importorskip("matplotlib", reason="needs the bench extra")

import numpy as np

from benchmarks.experiment.claims import CLAIMS
from benchmarks.experiment.design import ABLATIONS, ARMS, MAIN, PLACEBOS, TOOLED
from benchmarks.experiment.flips import flips
from benchmarks.experiment.keep import keep
from benchmarks.experiment.outcome import write_outcome
from benchmarks.experiment.page.cards import read_banks
from benchmarks.experiment.page.plots import plots
from benchmarks.experiment.results import Results
from benchmarks.paper import PAPER
from tests.benchmarks.experiment import synthetic

MADE = synthetic.whole()


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    root = synthetic.write(MADE, tmp_path_factory.mktemp("whole") / "experiment")
    return root, {table.name: table for table in write_outcome(MADE, root)}


def arms_of(table):
    return [row["arm"] for row in table.rows]


def test_every_table_is_there(done):
    root, tables = done
    assert list(tables) == [
        "claims", "main", "worlds", "stages", "dual_path", "ablations", "at_evaluation", "compositions", "skillrl", "roles",
        "tools", "coupling", "regime", "budgets", "paper",
    ]  # fmt: skip
    for name in tables:
        assert {path.suffix for path in (root / "tables").glob(f"{name}.*")} == {".md", ".tex", ".csv", ".json"}


def test_every_table_is_whole_as_latex(done):
    root, tables = done
    for name, table in tables.items():
        text = (root / "tables" / f"{name}.tex").read_text(encoding="utf-8")
        stack = []
        for what, place in re.findall(r"\\(begin|end)\{(\w+)\}", text):
            assert what == "begin" or stack.pop() == place
            stack += [place] if what == "begin" else []
        assert not stack
        assert text.count("{") - text.count("\\{") == text.count("}") - text.count("\\}")
        assert not set(text) & set("`*|#")
        assert text.isascii()
        align = re.search(r"\\begin\{tabular\}\{(\w+)\}", text)[1]
        lines = [line for line in text.partition("\\toprule")[2].splitlines() if line.endswith(" \\\\")]
        assert len(lines) == 1 + len(table.rows)
        assert {len(re.findall(r"(?<!\\)&", line)) + 1 for line in lines} == {len(align)}


def test_every_claim_is_judged(done):
    root, _ = done
    claims = json.loads((root / "claims.json").read_text())
    assert [row["claim"] for row in claims] == [claim.claim for claim in CLAIMS]
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in claims)


def test_the_report_tells_the_revisions_of_the_code(done):
    root, _ = done
    report = (root / "report.md").read_text()
    counts = Results(MADE, root).revisions()
    assert list(counts) == ["1" * 12, f"{'2' * 12} with changes"]
    assert all(f"- `{revision}`: {count} trainings" in report for revision, count in counts.items())
    assert "by one command or by several" in report


def test_every_figure_is_drawn(done):
    root, _ = done
    drawn = {path.stem for path in (root / "figures").glob("*.png")}
    assert drawn == {path.stem for path in (root / "figures").glob("*.svg")}
    assert drawn == {"curves", "solve_rates", "curriculum", "bank", "flips", "similarity", "regime", "costs"}


def test_the_ablations_and_placebos_are_beside_sesa_of_their_own_study(done):
    _, tables = done
    first, second, third = tables["ablations"].groups
    assert len(first) == 7
    assert (second[0]["arm"], third[0]["arm"]) == ("SESA", "SESA")
    assert (len(second), len(third)) == (1 + len(ABLATIONS), 2 + len(PLACEBOS))
    assert all(
        row["interval"][0] <= row["difference"] <= row["interval"][1] for group in (first, second, third) for row in group[1:]
    )
    assert first[0]["on"] != second[0]["on"]  # after the last stage, and after an earlier one
    told = [{(row["study"], row["worlds"], row["updates"]) for row in group} for group in (first, second, third)]
    assert told == [{("main", 2, 4)}, {("ablations", 2, 3)}, {("placebos", 2, 3)}]
    assert any("at evaluation only" in note and "BM25" in note for note in tables["ablations"].notes)
    assert {row["paper"] for row in first} >= {"53.5", "54.0", "54.7"}


def test_skillrl_the_roles_and_the_tools(done):
    _, tables = done
    assert arms_of(tables["skillrl"]) == ["skillrl", "sesa", "oracle"]
    roles = tables["roles"].rows
    assert len(roles) == 6
    assert all(row["tokens"] > 0 and row["paper"] for row in roles)
    reference, *others = roles
    assert reference["arm"] == "reinforce-grpo"
    assert "difference" not in reference
    for row in others:
        assert row["difference"] == pytest.approx(row["on"] - reference["on"])
        assert row["interval"][0] <= row["difference"] <= row["interval"][1]
    tools = tables["tools"].rows
    assert [(row["arm"], row["tool"]) for row in tools] == [
        (arm, tool) for arm in TOOLED for tool in ("BM25, trained with", "dense", "hybrid")
    ]
    assert [("difference" in row) for row in tools] == [False, True, True] * 3


def test_a_training_that_a_shorter_study_shares_is_counted_to_its_own_stage(done):
    root, tables = done
    results = Results(MADE, root)
    roles = next(study for study in MADE.studies if study.name == "roles")
    shared, main = "roles-reinforce-grpo", results.experiment.study(MAIN)
    for first, then in ((roles, main), (main, roles)):
        fresh = Results(MADE, root)
        for study in (first, then):
            arm = shared if study is roles else "sesa"
            assert {len(fresh.metrics(study, arm, seed)) for seed in study.seeds} == {study.stages[-1]}
    budgets = {row["arm"]: row for row in tables["budgets"].rows}
    assert {row["updates"] for arm, row in budgets.items() if arm != "ssp-tokens"} == {main.stages[-1]}


def test_budgets_count_bootstrap_phases_and_arms_at_another_ones_tokens(done):
    _, tables = done
    budgets = {row["arm"]: row for row in tables["budgets"].rows}
    assert set(budgets) == {*ARMS, "ssp-tokens"} - {"base"}
    assert (budgets["sesa"]["bootstrap_rollouts"], budgets["ssp"]["bootstrap_rollouts"]) == (6, 0)
    assert budgets["sesa"]["tokens"] == budgets["ssp"]["tokens"] + 100
    assert budgets["ssp-tokens"]["updates"] == 5
    main = {(row["arm"], row["mode"]): row["macro"] for row in tables["main"].rows}
    gain = 100 * (main["ssp", "off"] - main["base", "off"])
    if gain > 0:
        assert budgets["ssp"]["off"] == pytest.approx(budgets["ssp"]["tokens"] / gain, abs=0.6)
    else:
        assert "off" not in budgets["ssp"]


def test_each_worlds_scores_are_told(done):
    _, tables = done
    main = {(row["arm"], row["mode"]): row["macro"] for row in tables["main"].rows if (row["arm"], row["mode"])}
    for row in tables["worlds"].rows:
        assert np.mean([row["0"], row["1"]]) == pytest.approx(main[row["arm"], row["mode"]])


def test_scores_by_stage_begin_with_the_start_policy_as_the_arm_begins(done):
    root, tables = done
    main = {(row["arm"], row["mode"]): row["macro"] for row in tables["main"].rows}
    rows = {(row["arm"], row["mode"]): row for row in tables["stages"].rows}
    assert [column.key for column in tables["stages"].columns] == ["arm", "mode", "0", "2", "3", "4"]
    assert main["base", "off"] != main["base", "on"]
    assert rows["base", "on"] == {"arm": "base", "mode": "on", "0": main["base", "on"]}
    for arm, mode in (("ssp", "off"), ("sesa", "off"), ("sesa", "on"), ("sesa-carryover", "on")):
        assert rows[arm, mode]["0"] == main["base", mode]
        assert rows[arm, mode]["4"] == pytest.approx(main[arm, mode])
    assert rows["sesa-no-priming", "on"]["0"] == main["base", "off"]  # its bank is empty
    assert "0" not in rows["skillrl", "on"]  # its bank is mined from other questions
    curves = plots(Results(MADE, root))["curves"]["main"]
    on = next(one for one in curves if (one["name"], one["mode"]) == ("sesa", "on"))
    assert on["mean"][0] == pytest.approx(100 * main["base", "on"], abs=0.006)


def test_flips_by_kind_and_by_benchmark_are_of_the_same_questions(done):
    root, _ = done
    results = Results(MADE, root)
    main = results.experiment.study(MAIN)
    found = flips(results, main)
    assert {"base", "sesa"} <= set(found)
    assert "ssp" not in found
    tests = results.scores(main).compare(("sesa", "off"), ("sesa", "on")).tests
    sesa = found["sesa"]
    assert [(row.name, row.gained, row.lost) for row in sesa.benchmarks] == [
        (f"miniwiki/{name}", test.gained, test.lost) for name, test in tests.items()
    ]
    assert {row.name for row in sesa.kinds} >= {"single, 1 hop", "bridge, 2 hops"}
    assert sesa.kinds[0].name.endswith("1 hop")
    for field in ("gained", "lost", "asked"):
        assert sum(getattr(row, field) for row in sesa.kinds) == sum(getattr(row, field) for row in sesa.benchmarks) > 0


def test_coupling_is_told_alike_in_table_and_page(done):
    root, tables = done
    null, empty, other, start = tables["coupling"].rows
    for row in (null, empty, other, start):
        assert row["mean"] == pytest.approx((row["0"] + row["1"]) / 2)
        assert 0 <= row["0"] <= 100
    assert empty["beyond"] == pytest.approx(empty["mean"] - null["mean"])
    claims = [row for row in tables["claims"].rows if row["claim"].startswith("The bank moves")]
    assert [row["estimate"] for row in claims] == pytest.approx([empty["beyond"], other["beyond"]])
    shown = f"{empty['beyond']:+.1f}".replace("-", "\N{MINUS SIGN}")
    page = (root / "report.html").read_text(encoding="utf-8")
    row = page[page.index("The bank moves the Challenger&#x27;s questions: an empty one") :].split("</tr>")[0]
    assert f">{shown}<" in row


def test_the_papers_numbers_are_all_there(done):
    _, tables = done
    assert len(tables["paper"].rows) == len(PAPER)


def test_what_is_kept_gives_the_same_tables_and_claims(done, tmp_path):
    root, tables = done
    place = tmp_path / "kept"
    keep(root, place)
    assert not list(place.rglob("bank.sqlite"))
    banks = [path.relative_to(place / "training").parts for path in place.rglob("bank.sqlite.xz")]
    assert sorted(banks) == [
        (f"main-{arm}-s{seed}", "000004", "bank.sqlite.xz") for arm in ("sesa-carryover", "sesa") for seed in (0, 1)
    ]
    ours, theirs = (
        {(bank.arm, bank.seed): bank.lives for bank in read_banks(Results(MADE, one)) if bank.study == MAIN}
        for one in (root, place)
    )
    assert set(theirs) == {(arm, seed) for arm in ("sesa", "sesa-carryover") for seed in (0, 1)}
    assert all(ours[key] == lives for key, lives in theirs.items())
    before = (place / "claims.json").read_bytes()
    again = {table.name: table for table in write_outcome(MADE, place)}
    assert again == tables
    assert (place / "claims.json").read_bytes() == before
