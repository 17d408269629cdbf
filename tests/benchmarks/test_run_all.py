"""The command itself: reproducible records, kills and resumption, and mistakes told before the run."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.run_all import main
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.seeds import SEEDS
from tests.benchmarks.tiny import BENCHMARKS, write_data

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = [sys.executable, str(ROOT / "benchmarks" / "run_all.py")]
ARMS = ["naive", "bold=tests.benchmarks.tiny:bold"]


def command(data, out, *more, arms=ARMS):
    return [
        "--suite",
        "flashrag",
        "--preset",
        "smoke",
        "--data",
        str(data),
        "--out",
        str(out),
        "--arms",
        *arms,
        *map(str, more),
    ]


def run(arguments, program=SCRIPT, **keywords):
    return subprocess.run(
        [*program, *arguments], capture_output=True, text=True, timeout=300, check=False, cwd=ROOT, **keywords
    )


def contents(root, *folders):
    return {str(path.relative_to(root)): path.read_bytes() for name in folders for path in sorted((root / name).rglob("*.*"))}


@pytest.fixture(scope="module")
def finished(tiny_data, tmp_path_factory):
    """A finished run on one worker."""
    out = tmp_path_factory.mktemp("runs") / "one"
    done = run(command(tiny_data, out, "--workers", 1))
    assert done.returncode == 0, done.stderr
    return out


def test_the_directory_holds_what_it_should(finished):
    for name in ("config.json", "environment.json", "plan.json", "timings.json", "report.md"):
        assert (finished / name).stat().st_size > 0
    assert sorted(path.stem for path in (finished / "records" / "bold").iterdir()) == sorted(BENCHMARKS)
    for name in ("main", "main_f1", "differences", "search", "paper"):
        assert {path.suffix for path in (finished / "tables").glob(f"{name}.*")} == {".md", ".tex", ".csv", ".json"}
    assert {path.name for path in (finished / "figures").iterdir()} == {
        f"{name}.{kind}" for name in ("off_on", "differences") for kind in ("png", "svg")
    }


def test_records_say_what_was_asked_and_hold_no_clock(finished):
    records = [json.loads(line) for line in (finished / "records" / "bold" / "nq.jsonl").read_text().splitlines()]
    assert [(record["mode"], record["id"]) for record in records] == [
        (mode, f"nq/q{number}") for mode in ("off", "on") for number in range(4)
    ]
    off, on = records[0], records[4]
    assert (off["em"], on["em"]) == (False, True)
    assert (off["bank"], off["cards"]) == ("", [])
    assert on["bank"]
    assert on["cards"]
    assert on["prediction"] == "Ravnby"
    assert (on["searches"], on["end"]) == (1, "answered")
    assert (on["hit@1"], on["hit@3"]) == (True, True)
    assert not any("time" in name or "second" in name for name in on)
    assert list(on) == sorted(on)


def test_report_gives_the_headline_and_its_limits(finished):
    report = (finished / "report.md").read_text()
    assert "**bold**: the bank (Off → On): macro mean +100.0 points" in report
    assert (
        "**naive**: the bank (Off → On): macro mean 0.0 points of exact match, 95 % interval [0.0, 0.0]: no change at all."
        in report
    )
    assert "not comparable with published ones" in report
    assert "(paper)" in report
    assert "![" in report


@pytest.mark.parametrize(
    ("program", "workers", "hash_seed"), [(SCRIPT, 2, "1"), ([sys.executable, "-m", "benchmarks.run_all"], 1, "2")]
)
def test_workers_hash_seed_and_way_of_starting_change_nothing(finished, tiny_data, tmp_path, program, workers, hash_seed):
    done = run(
        command(tiny_data, tmp_path / "other", "--workers", workers), program, env={**os.environ, "PYTHONHASHSEED": hash_seed}
    )
    assert done.returncode == 0, done.stderr
    folders = ("records", "tables", "figures")
    assert contents(tmp_path / "other", *folders) == contents(finished, *folders)


def test_a_killed_run_resumes_to_the_same_bytes(finished, tiny_data, tmp_path):
    out = tmp_path / "killed"
    arguments = command(tiny_data, out, "--workers", 2)
    _kill_when(arguments, lambda: len(list((out / "units").glob("eval-*"))) >= 8, signal.SIGKILL)
    assert 0 < len(list((out / "units").glob("eval-*"))) < len(list((finished / "units").glob("eval-*")))
    (out / "units" / ".unfinished-eval-naive-nq-s0-0-1").mkdir()
    resumed = run([*arguments, "--resume"])
    assert resumed.returncode == 0, resumed.stderr
    assert "are finished already" in resumed.stdout
    assert contents(out, "records", "tables") == contents(finished, "records", "tables")
    assert not list((out / "units").glob(".unfinished*"))


def test_ctrl_c_says_how_to_go_on_and_what_it_says_works(finished, tiny_data, tmp_path):
    out = tmp_path / "interrupted"
    arguments = command(tiny_data, out, "--workers", 2)
    status, errors = _kill_when(arguments, lambda: len(list((out / "units").glob("eval-*"))) >= 2, signal.SIGINT)
    assert status == 130
    assert "Traceback" not in errors
    advice = errors.strip().splitlines()[-1].split()
    assert advice[-1] == "--resume"
    assert run(advice[2:]).returncode == 0
    assert contents(out, "records") == contents(finished, "records")


def test_ctrl_c_before_anything_was_begun_does_not_say_to_resume(tmp_path, monkeypatch, capsys):
    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr("benchmarks.run_all.run", interrupted)
    assert main(["--out", str(tmp_path / "nothing")]) == 130
    assert capsys.readouterr().err == "\ninterrupted before anything was begun\n"


# A shell starts what it puts in the background deaf to Ctrl-C, and so is all that this starts in turn: tests and their runs.
LISTENING = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"


def _kill_when(arguments, condition, signal_number):
    """Starts a run, sends it a signal once the condition holds, and returns its status and its error stream."""
    process = subprocess.Popen(
        [sys.executable, "-c", LISTENING, *SCRIPT, *arguments],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not condition() and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal_number)
    _, errors = process.communicate(timeout=120)
    return process.returncode, errors


def test_resuming_a_finished_run_changes_nothing(finished, tiny_data, tmp_path):
    again = tmp_path / "again"
    shutil.copytree(finished, again)
    assert run(command(tiny_data, again, "--resume")).returncode == 0
    folders = ("records", "tables", "figures", "units")
    assert contents(again, *folders) == contents(finished, *folders)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "is not empty; add --resume"),
        (["--resume", "--seeds", 2], "seeds: [0] -> [0, 1]"),
        (["--resume", "--questions", 2], "questions.nq: 20 -> 2"),
    ],
)
def test_another_run_s_directory_is_left_alone(finished, tiny_data, more, said):
    before = contents(finished, ".")
    done = run(command(tiny_data, finished, *more))
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert contents(finished, ".") == before


def test_changed_data_stops_a_resumed_run(tmp_path):
    data, out = write_data(tmp_path / "data"), tmp_path / "out"
    assert run(command(data, out, "--workers", 1, arms=["naive"])).returncode == 0
    path = data / "nq" / "corpus.jsonl"
    path.write_text(path.read_text().replace("Ravnby", "Ravnsby"))
    done = run(command(data, out, "--resume", arms=["naive"]))
    assert done.returncode == 2
    assert "world:" in done.stderr


def test_an_edited_bank_stops_a_resumed_run(finished, tiny_data, tmp_path):
    edited = tmp_path / "edited"
    shutil.copytree(finished, edited)
    with SkillBank.open(next((edited / "units").glob("bank-*")) / "bank.sqlite") as bank:
        bank.prime([replace(SEEDS[0], id="mine", trigger='Questions that ask "shade of".', description="Mine.")])
    done = run(command(tiny_data, edited, "--resume"))
    assert done.returncode == 2
    assert "is no longer the bank that eval-" in done.stderr


def test_a_malformed_line_stops_the_run_before_it_starts(tmp_path):
    data = write_data(tmp_path / "data")
    with (data / "musique" / "test.jsonl").open("a") as lines:
        lines.write('{"id": "q9", "question": "Who?"}\n')
    done = run(command(data, tmp_path / "out"))
    assert done.returncode == 2
    assert "test.jsonl" in done.stderr
    assert "line 5" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--preset", "huge", "--arms", "naive"], "unknown preset 'huge'; choose from smoke, quick, small, paper"),
        (["--suite", "squad"], "unknown suite 'squad'; choose from miniwiki, flashrag"),
        (["--suite", "flashrag"], "needs --data DIR"),
        (["--data", "somewhere", "--arms", "naive"], "takes no --data"),
        (["--data", "somewhere"], "--data takes no other suite"),
        (["--model", "tiny", "--arms", "naive"], "--model, --set, --dry-run and --so-far are the experiment's"),
        (["--so-far", "--arms", "naive"], "--model, --set, --dry-run and --so-far are the experiment's"),
        (["--set", "policy.dtype=bfloat16", "--arms", "naive"], "--set, --dry-run and --so-far are the experiment's"),
        (["--questions", "3"], "--questions: expected with --arms or --trained; for the experiment it is the preset's"),
        (["--model-options", '{"dtype": "bfloat16"}'], "for the experiment say --set policy.FIELD"),
        (["--arms", "nobody"], "unknown arm 'nobody'; choose from naive, skilled"),
        (["--arms", "me=tests.benchmarks.tiny:nobody@seeds"], "has no 'nobody'"),
        (["--arms", "me=naive@file:/no/such/bank.sqlite"], "there is no skill bank at /no/such/bank.sqlite"),
        (["--workers", "0"], "--workers must be at least 1"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments, said, tmp_path):
    done = run([*arguments, "--out", str(tmp_path / "out")])
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_directory_that_cannot_be_made_is_told_in_one_line(tmp_path):
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "out"
    done = run(["--preset", "smoke", "--arms", "naive", "--out", str(out)])
    assert done.returncode == 2
    assert done.stderr == f"error: cannot write in {out} (Not a directory); name another directory with --out\n"


@pytest.mark.parametrize("arms", [["--arms", "naive"], []])
def test_there_must_be_a_run_to_go_on_with(tmp_path, arms):
    if not arms:
        pytest.importorskip("peft", reason="the experiment needs the llm extra")
    out = tmp_path / "nope"
    done = run(["--preset", "smoke", *arms, "--out", str(out), "--resume"])
    assert done.returncode == 2
    assert done.stderr == f"error: {out} holds no run to go on with; leave --resume out to begin one\n"
    assert not out.exists()


def test_the_experiment_says_which_extra_it_needs_or_which_presets_there_are(tmp_path):
    done = run(["--preset", "huge", "--out", str(tmp_path / "out")])
    assert done.returncode == 2
    trains = importlib.util.find_spec("torch") and importlib.util.find_spec("peft")
    assert (
        "unknown preset 'huge'; choose from smoke, quick, three-worlds, paper, small" if trains else "pip install"
    ) in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_what_the_experiment_cannot_be_set_to_is_told_before_anything_is_made(tmp_path, capsys):
    pytest.importorskip("peft", reason="the experiment needs the llm extra")
    for given, said in (
        (["--set", "colour"], "--set: expected FIELD=JSON"),
        (["--set", "colour=1"], "'colour' is not known"),
        (["--judge", "somebody"], "--judge 'somebody': expected openai:MODEL@URL"),
    ):
        assert main(["--preset", "smoke", *given, "--out", str(tmp_path / "out")]) == 2
        assert said in capsys.readouterr().err
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("given", "gpu", "expected"), [
    ([], False, 7), ([], True, 1), (["--set", "policy.device=cpu"], True, 7), (["--workers", "2"], True, 2),
    (["--set", "policy.device=cpu", "--judge", "model:tiny"], True, 1),
])  # fmt: skip
def test_trainings_on_an_accelerator_go_one_at_a_time(given, gpu, expected, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    pytest.importorskip("peft", reason="the experiment needs the llm extra")
    asked = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    monkeypatch.setattr("benchmarks.experiment.run.run_experiment", lambda made, root, workers, resume: asked.append(workers))
    monkeypatch.setattr("benchmarks.experiment.outcome.write_outcome", lambda made, root: [])
    monkeypatch.setattr("benchmarks.run_all.print_tables", lambda root, tables: None)
    assert main(["--preset", "smoke", *given, "--out", str(tmp_path / "out")]) == 0
    assert asked == [expected]
