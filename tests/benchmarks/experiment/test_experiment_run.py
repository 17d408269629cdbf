"""The experiment from its command to its report, small: trained, kept at stages, evaluated, told; and gone on with."""

import json
import logging
import lzma
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the llm extra")
pytest.importorskip("matplotlib", reason="needs the bench extra")

from agents.selfplay.metrics import read_metrics
from benchmarks.experiment.cells import finish_cell, is_finished
from benchmarks.experiment.claims import judge_claims
from benchmarks.experiment.costs import spent
from benchmarks.experiment.design import EXPERIMENTS, Experiment, Study, same_training
from benchmarks.experiment.keep import keep
from benchmarks.experiment.matched import matches, tokens
from benchmarks.experiment.outcome import report_of, write_outcome
from benchmarks.experiment.results import Results
from benchmarks.experiment.run import CONFIG_FILE, run_experiment
from benchmarks.experiment.so_far import finished_part, report_so_far
from benchmarks.experiment.training import matched_directory, stage_directory
from benchmarks.trained import read_run
from sesa_env.errors import ConfigError

ROOT = Path(__file__).resolve().parents[3]
SMALL = {
    "questions": {"per_update": 2},
    "rules": {"group_size": 2},
    "skills": {"bootstrap": 2},
    "solver": {"learner": {"entropy": 0.01, "score_all": True}},  # so few rollouts may all fail: the bonus still teaches
}
TWO = Experiment(
    "two",
    "quick",
    (
        Study(
            "main", "SSP and SESA", ("base", "ssp", "sesa"), (0, 1), (1, 2), 1, SMALL,
            controls={"sesa": ("shuffled",)}, tools={"flat": {"b": 0.0}}, matched={"ssp-tokens": ("ssp", "sesa")},
        ),
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    root = tmp_path_factory.mktemp("experiment") / "two"
    run_experiment(TWO, root, workers=1)
    return root, write_outcome(TWO, root)


def test_each_stage_is_a_finished_run_of_so_many_updates(done):
    root, _ = done
    for cell in TWO.cells():
        assert is_finished(root, cell.id)
        for updates in cell.stages:
            run = read_run(stage_directory(root, cell.id, updates))
            assert (run.arm, run.seed, run.budget["updates"]) == (cell.arm, cell.seed, updates)
    digests = {read_run(stage_directory(root, "main-sesa-s0", updates)).solver_digest for updates in (1, 2)}
    assert len(digests) == 2


def test_all_arms_answer_the_same_questions_in_every_mode(done):
    root, _ = done
    scores = Results(TWO, root).scores(TWO.studies[0])
    assert scores.sides == [
        ("base", "off"), ("base", "on"), ("ssp", "off"), ("sesa", "off"), ("sesa", "on"), ("sesa", "shuffled"),
        ("ssp-tokens", "off"),
    ]  # fmt: skip
    for after in scores.sides[1:]:
        assert scores.has_pairs(("base", "off"), after, "em")
    first = Results(TWO, root).scores(TWO.studies[0], 1)
    assert ("base", "off") not in first.sides
    assert ("sesa", "on") in first.sides


def test_an_arm_is_gone_on_with_until_it_has_spent_anothers_tokens(done):
    root, _ = done
    source = same_training(TWO.cells())
    for one in matches(TWO.studies[0], TWO.training, source):
        model, ours = stage_directory(root, one.model, 2), matched_directory(root, one.id)
        made = read_run(ours).budget["updates"]
        assert (made - 2) % 5 == 0
        assert tokens(ours) >= tokens(model)
        assert made == 2 or spent(read_metrics(ours)[: made - 5])["tokens"] < tokens(model)
    tokens_of = {record["seed"] for record in Results(TWO, root).records(TWO.studies[0], 2) if record["arm"] == "ssp-tokens"}
    assert tokens_of == {0, 1}
    assert not any(record["arm"] == "ssp-tokens" for record in Results(TWO, root).records(TWO.studies[0], 1))


def test_solvers_are_evaluated_with_other_search_tools(done):
    root, tables = done
    study = TWO.studies[0]
    plain, flat = (Results(TWO, root).records(study, 2, tool) for tool in ("", "flat"))
    assert {record["mode"] for record in flat} == {"off", "on"}
    assert len({record["world"] for record in plain} | {record["world"] for record in flat}) == 4
    assert {record["id"] for record in flat} == {record["id"] for record in plain}
    rows = next(table for table in tables if table.name == "tools").rows
    assert [(row["arm"], row["tool"]) for row in rows] == [
        (arm, tool) for arm in ("ssp", "sesa") for tool in ("BM25, trained with", "flat")
    ]


def test_the_report_has_claims_tables_and_figures(done):
    root, tables = done
    names = [table.name for table in tables]
    assert names == ["claims", "main", "worlds", "stages", "dual_path", "at_evaluation", "tools", "budgets", "paper"]
    claims = json.loads((root / "claims.json").read_text())
    assert {row["verdict"] for row in claims} <= {"holds", "not established", "reversed"}
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in claims)
    assert {row["claim"] for row in claims} >= {
        "The bank helps at inference",
        "The bank beats its cards shuffled between questions",
        "SESA with its bank beats SSP at equal tokens",
    }
    for name in names:
        assert {path.suffix for path in (root / "tables").glob(f"{name}.*")} == {".md", ".tex", ".csv", ".json"}
    figures = {path.stem for path in (root / "figures").glob("*.png")}
    assert figures >= {"curves", "solve_rates", "curriculum", "bank", "flips", "costs"}
    report = (root / "report.md").read_text()
    assert report.index("The paper's claims") < report.index("Exact match over all gold aliases")
    assert all(f"figures/{name}.png" in report for name in figures)


def test_what_is_finished_is_not_done_again(done):
    root, _ = done
    before = {path: path.stat().st_mtime_ns for path in (root / "training").rglob("*") if path.is_file()}
    assert before
    with pytest.raises(ConfigError, match="add --resume"):
        run_experiment(TWO, root, workers=1)
    run_experiment(TWO, root, workers=1, resume=True)
    assert [path for path, written in before.items() if path.stat().st_mtime_ns != written] == []


def test_what_is_kept_is_enough_for_all_that_is_reported(done, tmp_path, monkeypatch):
    root, _ = done
    kept = tmp_path / "kept"
    assert keep(root, kept) == sorted(cell.id for cell in TWO.cells())
    assert not any(path.name in ("solver", "run", "checkpoints", "bank.sqlite") for path in kept.rglob("*"))
    packed = {path: lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes() for path in files(kept)}
    assert [path for path, content in packed.items() if str(root).encode() in content and path.name != "report.md"] == []
    monkeypatch.setattr("benchmarks.experiment.training.train_cell", None)
    copy = tmp_path / "copy"
    shutil.copytree(kept, copy)
    for name in ("tables", "claims.json"):
        (shutil.rmtree if (copy / name).is_dir() else os.remove)(copy / name)
    run_experiment(TWO, copy, workers=1, resume=True)
    write_outcome(TWO, copy)
    for path in (*files(root / "tables"), root / "claims.json"):
        assert path.read_bytes() == (copy / path.relative_to(root)).read_bytes(), path
    assert {path for path in files(copy) if path.is_relative_to(copy / "training")} == {
        copy / path.relative_to(kept) for path in files(kept) if path.is_relative_to(kept / "training")
    }
    (study,) = TWO.studies
    for arm in study.arms:  # seconds too, which a table of algorithms tells by the update
        assert Results(TWO, copy).spent(study, arm) == pytest.approx(Results(TWO, root).spent(study, arm), rel=1e-9)
    again = keep(copy, tmp_path / "again")
    assert len(again) == len(TWO.cells())
    assert [
        path
        for path in (*files(kept / "evaluations"), *files(kept / "training"))
        if path.read_bytes() != (tmp_path / "again" / path.relative_to(kept)).read_bytes()
    ] == []


def begun(root, place, *missing):
    """Copies what is kept of a finished experiment as if some of its trainings were still to be done."""
    keep(root, place)
    for cell in missing:
        shutil.rmtree(place / "training" / cell)
        for folder in (place / "evaluations").glob(f"{cell}-*"):
            shutil.rmtree(folder)
    return place


def test_an_experiment_under_way_is_reported_and_not_judged(done, tmp_path):
    root, _ = done
    place = begun(root, tmp_path / "begun", "main-sesa-s1")
    part = finished_part(TWO, place)
    assert [(study.arms, study.seeds, study.matched) for study in part.studies] == [(("base", "ssp"), (0, 1), {})]
    report_so_far(TWO, place)
    claims = json.loads((place / "claims.json").read_text())
    assert [row["claim"] for row in claims] == ["SSP's self-play improves the policy it starts from"]
    assert {row["verdict"] for row in claims} == {"unfinished"}
    assert "Under way: 4 of 6 trainings." in (place / "report.md").read_text()
    assert "unfinished" in (place / "report.html").read_text()
    before = json.loads((root / "claims.json").read_text())[0]
    assert claims[0]["estimate"] == before["estimate"]


def test_of_what_is_finished_the_larger_part_is_told(done, tmp_path):
    root, _ = done
    part = finished_part(TWO, begun(root, tmp_path / "one", "main-ssp-s1", "main-sesa-s1"))
    assert [(study.arms, study.seeds, study.matched) for study in part.studies] == [
        (("base", "ssp", "sesa"), (0,), {"ssp-tokens": ("ssp", "sesa")})
    ]
    with pytest.raises(ConfigError, match="at least two arms of the main study"):
        finished_part(TWO, begun(root, tmp_path / "none", "main-ssp-s0", "main-sesa-s0"))


def test_of_a_finished_experiment_all_is_told_and_judged(done, tmp_path):
    root, _ = done
    place = begun(root, tmp_path / "whole")
    (place / "claims.json").unlink()
    report_so_far(TWO, place)
    assert (place / "claims.json").read_bytes() == (root / "claims.json").read_bytes()
    with pytest.raises(ConfigError, match="holds another experiment"):
        report_so_far(EXPERIMENTS["smoke"], place)


def test_more_worlds_are_added_to_fewer(tmp_path):
    few = Experiment("grown", "quick", (Study("main", "Two arms", ("base", "ssp"), (0,), (1,), 1, SMALL),))
    run_experiment(few, tmp_path / "grown", workers=1)
    before = {path: path.stat().st_mtime_ns for path in files(tmp_path / "grown" / "training")}
    more = replace(few, studies=(replace(few.studies[0], seeds=(0, 1)),))
    run_experiment(more, tmp_path / "grown", workers=1, resume=True)
    assert Results(more, tmp_path / "grown").scores(more.studies[0]).macro_by_seed(("ssp", "off"), "em")[1:]
    assert {path for path, written in before.items() if path.stat().st_mtime_ns != written} == set()
    design = (tmp_path / "grown" / CONFIG_FILE).read_bytes()
    run_experiment(few, tmp_path / "grown", workers=1, resume=True)
    keep(tmp_path / "grown", tmp_path / "kept")
    assert (tmp_path / "grown" / CONFIG_FILE).read_bytes() == design == (tmp_path / "kept" / CONFIG_FILE).read_bytes()
    other = replace(more, studies=(replace(more.studies[0], questions=2),))
    with pytest.raises(ConfigError, match="holds another experiment"):
        run_experiment(other, tmp_path / "grown", workers=1, resume=True)


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_what_is_logged_of_a_cell_says_whose_it_is(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.experiment.cells._finish", lambda cell, root: logging.warning("strange"))
    finish_cell(asdict(TWO.cells()[0]), str(tmp_path))
    assert capsys.readouterr().err.count("main-base-s0: WARNING strange") == 1


def test_another_experiment_is_refused(done):
    root, _ = done
    with pytest.raises(ConfigError, match="holds another experiment"):
        run_experiment(EXPERIMENTS["smoke"], root, workers=1, resume=True)


def test_one_seed_draws_no_claim(done):
    root, _ = done
    one = Experiment("one", "quick", (replace(TWO.studies[0], seeds=(0,)),))
    assert judge_claims(Results(one, root)) == []
    assert "One seed: no claim is drawn." in report_of(one, [], {}, [], {})


@pytest.mark.slow
def test_a_killed_experiment_goes_on_to_the_same_records(tmp_path):
    command = [sys.executable, "benchmarks/run_all.py", "--preset", "smoke", "--workers", "2", "--out"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run([*command, str(whole)], cwd=ROOT, check=True, capture_output=True)

    def going():  # a slow machine may have written nothing yet
        return [*command, str(killed), *(["--resume"] if (killed / CONFIG_FILE).is_file() else [])]

    for wait in (12, 30):
        process = subprocess.Popen(
            going(),
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(wait)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(going(), cwd=ROOT, check=True, capture_output=True)
    records = sorted(path.relative_to(whole) for path in whole.glob("evaluations/*/records/*/*.jsonl"))
    assert records
    assert all((whole / path).read_bytes() == (killed / path).read_bytes() for path in records)
