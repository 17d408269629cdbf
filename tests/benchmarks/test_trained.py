"""Finished training runs as arms: each in its own world's other half, by its own rules, with its own bank."""

import json
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the llm extra")
pytest.importorskip("tensorboard", reason="needs the train extra")

from safetensors.torch import load_file, save_file

from benchmarks.banks import BankRequest
from benchmarks.config import make_trained_config
from benchmarks.contenders import contenders
from benchmarks.plan import make_plan
from benchmarks.records import read_records
from benchmarks.suites import BENCHMARKS
from benchmarks.trained import read_run, read_runs
from benchmarks.units import run_unit
from sesa_env.errors import ConfigError
from sesa_env.memory.bank import SkillBank
from sesa_env.worlds import make_world
from tests.benchmarks.runs import SAMPLING, write_run, write_start

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    return write_start(tmp_path_factory.mktemp("start") / "model")


@pytest.fixture(scope="module")
def runs(start, tmp_path_factory):
    """SSP and SESA with two seeds each."""
    root = tmp_path_factory.mktemp("training")
    return [write_run(root / f"{arm}-{seed}", arm, 1000 + seed, start) for arm in ("ssp", "sesa") for seed in (0, 1)]


def test_a_run_says_how_it_is_to_be_evaluated(runs, start):
    run = read_run(runs[2])
    assert (run.arm, run.seed, run.start) == ("sesa", 1000, str(start))
    assert (run.solver, run.bank) == (str(runs[2] / "solver"), str(runs[2] / "bank.sqlite"))
    assert run.rules["max_turns"] == 3
    assert run.rules["top_k"] == 2
    assert "reward" not in run.rules
    assert run.sampling["greedy"]
    assert {name: run.sampling[name] for name in SAMPLING} == SAMPLING
    assert run.budget == {"updates": 2, "questions": 32, "rollouts": 192}
    assert read_run(runs[0]).bank == ""


def test_questions_are_about_what_training_held_out(runs):
    run = read_run(runs[2])
    trained, tested = (make_world(**{"corpus": spec["name"], **spec["options"]}) for spec in (run.world, run.test_world()))
    assert trained.corpus.fingerprint == tested.corpus.fingerprint
    assert run.test_world()["options"]["split"] == "test"
    asked = {answer for question in tested.graph.benchmark("nq", 30, split="test", seed=0) for answer in question.answers}
    assert asked.isdisjoint(target.answer for target in trained.targets)


def test_seeds_of_one_arm_are_grouped_and_the_start_comes_first(runs):
    made = make_trained_config("smoke", read_runs([str(run) for run in runs]))
    assert [(arm.name, arm.modes) for arm in made.arms] == [("base", ("off",)), ("ssp", ("off",)), ("sesa", ("off", "on"))]
    assert made.seeds == (1000, 1001)
    assert [(each.arm, each.seed, each.modes) for each in contenders(made)] == [
        ("base", 1000, ("off",)),
        ("base", 1001, ("off",)),
        ("ssp", 1000, ("off",)),
        ("ssp", 1001, ("off",)),
        ("sesa", 1000, ("off", "on")),
        ("sesa", 1001, ("off", "on")),
    ]
    plan = make_plan(made, dict.fromkeys(BENCHMARKS, 20))
    assert [unit.request for unit in plan.banks] == [
        BankRequest("", seed, {}, 0, 0, {}, file=read_run(run).bank) for seed, run in zip((1000, 1001), runs[2:], strict=True)
    ]
    for unit in plan.evaluations:
        assert unit.world["options"]["seed"] == unit.seed
        assert len({other.world["options"]["seed"] for other in plan.evaluations if other.seed == unit.seed}) == 1


def test_a_trained_base_run_takes_the_place_of_the_start(runs, start, tmp_path):
    base = write_run(tmp_path / "base", "base", 1000, start)
    made = make_trained_config("smoke", read_runs([str(base), str(runs[2])]))
    assert [(arm.name, arm.player, arm.modes) for arm in made.arms] == [
        ("base", "trained", ("off", "on")),
        ("sesa", "trained", ("off", "on")),
    ]


def test_budgets_must_be_equal(runs, start, tmp_path):
    longer = write_run(tmp_path / "longer", "shaping-only", 1000, start, updates=3)
    with pytest.raises(ConfigError, match="add --unequal-budgets"):
        read_runs([str(runs[0]), str(longer)])
    assert len(read_runs([str(runs[0]), str(longer)], unequal=True)) == 2


def test_runs_that_cannot_be_compared_are_told(runs, start, tmp_path):
    other = write_run(tmp_path / "other", "shaping-only", 1000, start, world_options={"size": 700})
    with pytest.raises(ConfigError, match="have one seed but not one test_world"):
        read_runs([str(runs[0]), str(other)])
    rules = write_run(tmp_path / "rules", "shaping-only", 1000, start, rules={"top_k": 1})
    with pytest.raises(ConfigError, match="have one seed but not one rules"):
        read_runs([str(runs[0]), str(rules)])
    with pytest.raises(ConfigError, match="arm 'ssp' comes twice with seed 1000"):
        read_runs([str(runs[0]), str(runs[0])])


def test_an_unfinished_run_says_how_to_go_on(start, tmp_path):
    run = write_run(tmp_path / "run", "ssp", 1000, start)
    whole = (run / "metrics.jsonl").read_text()
    (run / "metrics.jsonl").write_text('{"step": 0, "questions": 16, "rollouts": 96}\n')
    with pytest.raises(ConfigError, match=r"not finished \(1 of 2 updates\); go on with: python -m agents\.selfplay"):
        read_run(run)
    (run / "metrics.jsonl").write_text(whole)
    for name in ("finished.json", "start.json"):
        kept = (run / name).read_text()
        (run / name).unlink()
        with pytest.raises(ConfigError, match=rf"not finished \(2 of 2 updates; {name} is missing\); go on with"):
            read_run(run)
        (run / name).write_text(kept)
    assert read_run(run).arm == "ssp"
    with pytest.raises(ConfigError, match=r"config\.json is missing"):
        read_run(tmp_path)


@pytest.mark.parametrize("what", ["solver", "bank", "updates"])
def test_what_a_run_did_not_end_with_is_not_evaluated(what, start, tmp_path):
    run = write_run(tmp_path / "run", "sesa", 1000, start)
    if what == "solver":
        write_start(run / "solver")  # of an earlier end, say
    elif what == "bank":
        (run / "bank.sqlite").unlink()
        SkillBank.open(run / "bank.sqlite", run="selfplay").close()  # an empty one
    else:
        (run / "finished.json").write_text((run / "finished.json").read_text().replace('"updates": 2', '"updates": 1'))
    said = {"updates": "it ended after 1 of 2 updates"}.get(what, f"its {what} is not the one that it ended with")
    with pytest.raises(ConfigError, match=said):
        read_run(run)


def test_runs_that_started_from_other_weights_cannot_be_compared(runs, tmp_path):
    other = write_start(tmp_path / "other")
    weights = load_file(other / "model.safetensors")
    save_file({name: weight + 1 for name, weight in weights.items()}, other / "model.safetensors", {"format": "pt"})
    run = write_run(tmp_path / "run", "shaping-only", 1000, other)
    with pytest.raises(ConfigError, match="have not one start_digest"):
        read_runs([str(runs[0]), str(run)])


@pytest.mark.parametrize(
    ("what", "settings"),
    [("model", {"policy": {"dtype": "bfloat16"}}), ("sampling", {"solver": {"sampling": {"tokens": 999}}})],
)
def test_runs_whose_solvers_would_play_differently_cannot_be_compared(what, settings, runs, start, tmp_path):
    run = write_run(tmp_path / "run", "shaping-only", 1000, start, **settings)
    with pytest.raises(ConfigError, match=f"have not one {what}"):
        read_runs([str(runs[0]), str(run)])


def test_a_run_of_before_a_bound_was_there_is_one_that_has_not_set_it(runs, start, tmp_path):
    run = write_run(tmp_path / "run", "shaping-only", 1000, start)
    config = json.loads((run / "config.json").read_text())
    for name in ("prompt_tokens", "response_tokens"):
        assert config["solver"]["sampling"].pop(name) is None
    (run / "config.json").write_text(json.dumps(config))
    assert len(read_runs([str(runs[0]), str(run)])) == 2


def test_a_start_that_has_changed_is_not_evaluated_as_the_base(tmp_path):
    start = write_start(tmp_path / "start")
    run = write_run(tmp_path / "run", "ssp", 1000, start)
    shutil.copy(run / "solver" / "model.safetensors", start / "model.safetensors")
    with pytest.raises(ConfigError, match="not the weights that the runs started from"):
        make_trained_config("smoke", read_runs([str(run)]))
    assert make_trained_config("smoke", read_runs([str(run)]), base=False).arms[0].name == "ssp"


def test_adapters_in_float32_are_evaluated_in_float32(start, tmp_path):
    run = write_run(tmp_path / "run", "ssp", 1000, start, policy={"dtype": "mixed", "lora": {"rank": 2}})
    assert (read_run(run).model["dtype"], read_run(run).model["lora"]) == ("float32", None)


def command(runs, out, *more):
    program = [sys.executable, "-m", "benchmarks.run_all", "--preset", "smoke", "--questions", "2"]
    return [*program, "--trained", *map(str, runs), "--out", str(out), *map(str, more)]


def go(arguments):
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)


def test_a_unit_plays_a_saved_solver_with_its_bank(runs, tmp_path):
    plan = make_plan(make_trained_config("smoke", read_runs([str(runs[2])]), questions=2), dict.fromkeys(BENCHMARKS, 2))
    played = next(unit for unit in plan.evaluations if unit.arm == "sesa")
    for unit in (*plan.banks, played):
        run_unit(json.loads(json.dumps(asdict(unit))), str(tmp_path))
    records = read_records(tmp_path / "units" / played.id / "records.jsonl")
    assert [(record["mode"], bool(record["bank"])) for record in records] == [("off", False)] * 2 + [("on", True)] * 2
    assert all(record["texts"] for record in records)


@pytest.mark.slow
def test_the_command_compares_them_and_workers_change_nothing(runs, tmp_path):
    for name, workers in (("one", 1), ("two", 2)):
        done = go(command(runs, tmp_path / name, "--workers", workers))
        assert done.returncode == 0, done.stderr
    kept = {
        name: {path.name: path.read_bytes() for path in sorted((tmp_path / name / "records").rglob("*.jsonl"))}
        for name in ("one", "two")
    }
    assert kept["one"] == kept["two"]
    records = read_records(tmp_path / "one" / "records" / "sesa" / "nq.jsonl")
    assert [(record["seed"], record["mode"]) for record in records] == [
        (seed, mode) for seed in (1000, 1001) for mode in ("off", "off", "on", "on")
    ]
    assert {bool(record["bank"]) for record in records if record["mode"] == "on"} == {True}
    report = (tmp_path / "one" / "report.md").read_text()
    assert "Every trained arm had one budget a seed: 2 updates, 32 questions, 192 rollouts." in report
    assert "**sesa**: the bank (Off → On)" in report
    assert "**ssp → sesa**, Off → On" in report
    assert "at most 3 turns, and a search brings 2 passages" in report
    table = json.loads((tmp_path / "one" / "tables" / "main.json").read_text())
    ours = [(row["arm"], row["mode"]) for group in table["groups"][:3] for row in group]
    assert ours == [("base", "off"), ("ssp", "off"), ("sesa", "off"), ("sesa", "on")]


@pytest.mark.parametrize("more", [("--arms", "naive"), ("--seeds", "2"), ("--data", "x"), ("--sampling", '{"tokens": 9}')])
def test_what_the_runs_say_themselves_is_not_said_again(runs, tmp_path, more):
    done = go(command(runs, tmp_path / "out", *more))
    assert done.returncode == 2
    assert "leave it out beside --trained" in done.stderr


def test_configurations_survive_json(runs):
    made = make_trained_config("smoke", read_runs([str(run) for run in runs]))
    assert json.loads(json.dumps(made.to_json()))["trained"][0] == asdict(read_run(runs[0]))
    assert replace(made, batch=1).to_json() != made.to_json()
