"""The judge's stage: both scores in the records, what was not judged in neither, and a resumed run that asks again."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from benchmarks.arms import parse_arms
from benchmarks.config import make_config
from benchmarks.directory import begin
from benchmarks.outcome import write_outcome
from benchmarks.plan import make_plan
from benchmarks.records import read_records
from benchmarks.scores import Scores
from benchmarks.suites import BENCHMARKS, SUITES
from benchmarks.tables import compare_sides, make_tables
from benchmarks.units import is_finished, run_unit
from tests.agents.fake_openai import FakeOpenAI
from tests.benchmarks.test_scores import side

YES, NO = "<verdict>yes</verdict>", "<verdict>no</verdict>"


def judged(right, total, yes=(), missing=(), **more):
    """Records of which the first so many are exact, `yes` judged right, `missing` not judged."""
    records = side(right, total, **more)
    for number, record in enumerate(records):
        record["judged"] = None if number in missing else record["em"] or number in yes
    return records


def test_what_was_not_judged_is_neither_right_nor_wrong():
    scores = Scores(judged(2, 10, yes=(4,), missing=(5, 6)))
    assert scores.judged
    assert scores.mean(("a", "off"), "x", "judged") == pytest.approx(3 / 8)
    assert scores.mean(("a", "off"), "x", "em") == pytest.approx(2 / 10)
    assert scores.not_judged(("a", "off"), "x") == 2


def test_pairs_with_one_not_judged_are_left_out():
    scores = Scores([*judged(0, 10, missing=(0,)), *judged(3, 10, yes=(4,), missing=(1,), mode="on")])
    comparison = scores.compare(("a", "off"), ("a", "on"), "judged")
    assert comparison.macro.value == pytest.approx(2 / 8)
    assert (comparison.test.gained, comparison.test.lost) == (2, 0)


def test_seeds_that_share_their_questions_leave_a_question_out_together():
    records = [{**each, "seed": seed} for seed in (0, 1) for each in (*judged(0, 10), *judged(5, 10, mode="on"))]
    records[3]["judged"] = None
    comparison = Scores(records).compare(("a", "off"), ("a", "on"), "judged")
    assert comparison.macro.value == pytest.approx(4 / 9)


def test_without_any_verdict_nothing_is_claimed():
    records = [
        record
        for name in BENCHMARKS
        for mode in ("off", "on")
        for record in judged(0, 4, missing=range(4), mode=mode, benchmark=name)
    ]
    scores = Scores(records)
    assert np.isnan(scores.macro(("a", "off"), "judged"))
    assert compare_sides(scores, "judged") == []
    tables = {table.name: table for table in make_tables(scores, compare_sides(scores), SUITES["miniwiki"], 1)}
    assert [(row["macro"], row["not_judged"]) for row in tables["main_judged"].rows] == [(None, 28), (None, 28)]
    json.loads(json.dumps(asdict(tables["main_judged"]), allow_nan=False))


def test_runs_without_a_judge_have_no_such_table():
    scores = Scores(
        [record for name in BENCHMARKS for mode in ("off", "on") for record in side(1, 4, mode=mode, benchmark=name)]
    )
    assert not scores.judged
    assert "main_judged" not in {table.name for table in make_tables(scores, compare_sides(scores), SUITES["miniwiki"], 1)}


# ---- the stage --------------------------------------------------------------------------------------------------------


class Court:
    """A server that says yes about Ravnby, no about the rest, and is out for whatever it is told."""

    def __init__(self):
        self.out = lambda case: False

    def __call__(self, body):
        case = json.loads(body["messages"][1]["content"])
        if self.out(case):
            return "I cannot tell."
        return YES if "Ravnby" in case["accepted"] else NO


def plan_for(data, server):
    arms = parse_arms(["bold=tests.benchmarks.tiny:bold"])
    config = make_config("flashrag", "smoke", arms, data=str(data), judge=f"openai:court@{server.url}")
    return config, make_plan(config, dict.fromkeys(BENCHMARKS, 4))


def work(plan, root):
    for unit in plan.units:
        if not is_finished(root, unit.id):
            run_unit(json.loads(json.dumps(asdict(unit))), str(root))


def test_records_hold_both_scores_and_a_resumed_run_asks_again(tiny_data, tmp_path):
    pytest.importorskip("openai")
    court = Court()
    court.out = lambda case: "Skovlund" in case["accepted"]
    with FakeOpenAI(court) as server:
        config, plan = plan_for(tiny_data, server)
        environments = begin(tmp_path, config, plan, "world")
        work(plan, tmp_path)
        write_outcome(tmp_path, config, plan, environments)
        before = read_records(tmp_path / "records" / "bold" / "nq.jsonl")
        report = (tmp_path / "report.md").read_text()
        assert begin(tmp_path, config, plan, "world") == environments
        court.out = lambda case: False
        asked = len(server.bodies)
        work(plan, tmp_path)
        write_outcome(tmp_path, config, plan, environments)
        assert all("Skovlund" in body["messages"][1]["content"] for body in server.bodies[asked:])
    after = read_records(tmp_path / "records" / "bold" / "nq.jsonl")
    off = [(record["em"], record["judgement"], record["judged"]) for record in before[:4]]
    assert off == [(False, "right", True), (False, "not judged", None), (False, "wrong", False), (False, "wrong", False)]
    assert {(record["judgement"], record["judged"]) for record in before[4:]} == {("exact", True)}
    assert [record["judgement"] for record in after[:4]] == ["right", "wrong", "wrong", "wrong"]
    assert "were judged by `openai:court`; 7 were not judged" in report
    assert "exact match or the judge's yes" in report
    table = json.loads((tmp_path / "tables" / "main_judged.json").read_text())
    assert [row["macro"] for row in table["groups"][0]] == [pytest.approx(0.25), pytest.approx(1.0)]


def test_the_evaluation_s_own_records_are_left_alone(tiny_data, tmp_path):
    pytest.importorskip("openai")
    with FakeOpenAI(Court()) as server:
        _, plan = plan_for(tiny_data, server)
        work(plan, tmp_path)
    for unit in plan.evaluations:
        assert all("judged" not in record for record in read_records(tmp_path / "units" / unit.id / "records.jsonl"))
