"""The directory of a run: its mark of being finished, going on by its own configuration, the weights that it began from."""

import copy
import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the llm extra")

from transformers import PreTrainedTokenizerFast

from agents.learner import Sample, TrainingError
from agents.policy import Policy
from agents.rollout import Rollout
from agents.selfplay import finished, loop
from agents.selfplay.__main__ import main, train
from agents.selfplay.directory import open_directory, stored_config
from agents.selfplay.finished import finished_updates, mark_finished, why_unfinished
from agents.selfplay.loop import SelfPlay
from agents.selfplay.metrics import read_metrics, reproducible
from agents.selfplay.presets import configure
from benchmarks.trained import read_run
from sesa_env.errors import ConfigError, StoreError
from sesa_env.memory.bank import SkillBank

ROOT = Path(__file__).resolve().parents[2]
SMALL = {
    "world_options": {"seed": 1000, "size": 600, "n_targets": 50},
    "rules": {"group_size": 2},
    "questions": {"per_update": 2, "source": "stream"},
    "challenger": {"train": False},
    "skills": {"bootstrap": 0},
    "checkpoint_every": 2,
    "tensorboard": False,
}
OPTIONS = [
    *("--arm", "ssp", "--updates", "1", "--seed", "1000", "--set", "world_options.size=600", "--set", "questions.per_update=2"),
    *("--set", "world_options.n_targets=50", "--set", "rules.group_size=2", "--set", "tensorboard=false"),
]


def small(updates=2, **fields):
    """A run without a Challenger: ready questions are always learnt from."""
    return configure("quick", "sesa", updates=updates, settings=[SMALL, fields])


def contents(out):
    return {path: path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def ended(out):
    with SkillBank.open(out / "bank.sqlite", run="selfplay", create=False) as bank:
        digest = bank.digest()
    return [reproducible(row) for row in read_metrics(out)], (out / "solver" / "model.safetensors").read_bytes(), digest


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A finished run of two updates, to be copied."""
    return train(small(), tmp_path_factory.mktemp("runs") / "two")


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    """What the same run ends with after four."""
    return ended(train(small(4), tmp_path_factory.mktemp("runs") / "four"))


@pytest.fixture
def run(two, tmp_path):
    return Path(shutil.copytree(two, tmp_path / "run"))


# ---- finished, or not -----------------------------------------------------------------------------------------------


def test_a_finished_run_says_so_and_is_evaluated(run):
    assert finished_updates(run) == 2
    assert read_run(run).budget["updates"] == 2


def test_the_solver_of_an_earlier_end_is_never_evaluated_as_the_last_one(run, four):
    assert open_directory(small(4), run, resume=True)
    assert not (run / "finished.json").exists()
    playing = SelfPlay(small(4), run)
    while playing.step < 4:
        playing.update()
    playing.close()  # stopped between its last row and its end
    assert (run / "solver").is_dir()
    with pytest.raises(ConfigError, match=r"not finished \(4 of 4 updates; finished\.json is missing\)"):
        read_run(run)
    train(small(4), run, resume=True)
    assert ended(run) == four
    assert read_run(run).budget["updates"] == 4


class Killed(Exception):
    """Stands for the end of the process."""


@pytest.mark.parametrize(
    "where", ["before the end", "while policies are written", "while they change places", "before the mark"]
)
def test_a_run_that_is_stopped_at_its_end_is_finished_by_going_on(where, run, four, monkeypatch):
    def killed(*_, **__):
        raise Killed

    def exchanged(_, directory):
        directory.replace(directory.with_name("solver.old"))
        directory.with_name("solver.part").mkdir()
        raise Killed

    with monkeypatch.context() as patch:
        if where == "before the end":
            patch.setattr(SelfPlay, "finish", killed)
        elif where == "while policies are written":
            patch.setattr(PreTrainedTokenizerFast, "save_pretrained", killed)
        elif where == "while they change places":
            patch.setattr(Policy, "save", exchanged)
        else:
            patch.setattr("agents.selfplay.__main__.mark_finished", killed)
        with pytest.raises(Killed):
            train(small(4), run, resume=True)
    assert len(read_metrics(run)) == 4
    with pytest.raises(ConfigError, match=r"finished\.json is missing"):
        read_run(run)
    train(small(4), run, resume=True)
    assert ended(run) == four
    assert finished_updates(run) == 4
    assert not [path.name for path in run.iterdir() if path.suffix in (".old", ".part")]


def test_the_mark_is_the_last_file(tmp_path, monkeypatch):
    found = []

    def seen(out, *more):
        found.extend(sorted(path.name for path in out.iterdir()))
        mark_finished(out, *more)

    monkeypatch.setattr("agents.selfplay.__main__.mark_finished", seen)
    out = train(small(0), tmp_path / "run")
    assert found == sorted(path.name for path in out.iterdir() if path.name != "finished.json")


def test_a_finished_run_with_nothing_left_to_do_is_not_touched(run, monkeypatch):
    before = contents(run)
    monkeypatch.setattr(loop, "make_seats", None)  # nothing is loaded for it, either
    train(small(), run, resume=True)
    train(small(1, guard={"patience": 3}), run, resume=True)
    assert contents(run) == before


def test_a_finished_run_that_was_damaged_is_finished_again(run):
    whole = ended(run)
    (run / "solver" / "model.safetensors").write_bytes(b"")
    assert finished_updates(run) is None
    train(small(), run, resume=True)
    assert ended(run) == whole
    assert why_unfinished(run, 2) is None


def test_a_run_does_not_go_back(run):
    (run / "finished.json").unlink()
    with pytest.raises(ConfigError, match="updates: expected at least the 2 that this run has made; got 1"):
        train(small(1), run, resume=True)


def test_files_that_are_not_what_they_should_be_are_told(run, tmp_path):
    (run / "finished.json").write_text("[]")
    with pytest.raises(StoreError, match=r"finished\.json: expected a JSON object; got list"):
        train(small(), run, resume=True)
    with pytest.raises(StoreError, match="expected a transformers directory with weights"):
        finished.weights_digest(tmp_path)


# ---- going on by the configuration that is there --------------------------------------------------------------------


def command(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "agents.selfplay", *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_command_that_an_unfinished_run_names_finishes_it(tmp_path):
    out = tmp_path / "run"
    assert main([*OPTIONS, "--out", str(out)]) == 0
    (out / "finished.json").unlink()
    with pytest.raises(ConfigError, match="go on with: python -m agents") as told:
        read_run(out)
    program, flag, module, *rest = shlex.split(str(told.value).rpartition("go on with: ")[2])
    assert (program, flag, module) == ("python", "-m", "agents.selfplay")
    command(*rest)
    assert read_run(out).arm == "ssp"


def test_what_is_not_said_again_stays_and_what_is_free_changes(tmp_path, capsys):
    out = ["--out", str(tmp_path / "run"), "--resume"]
    assert main([*OPTIONS, *out[:2]]) == 0
    assert main([*out, "--updates", "2"]) == 0
    assert main([*out, *OPTIONS[:2], *OPTIONS[4:], "--profile", "tiny", "--preset", "quick", "--set", "guard.patience=3"]) == 0
    assert len(read_metrics(tmp_path / "run")) == 2
    assert main([*out, "--updates", "3", "--set", "guard.patience=4"]) == 0
    stored = stored_config(tmp_path / "run")
    assert (stored.arm, stored.seed, stored.updates, stored.guard.patience) == ("ssp", 1000, 3, 4)
    for more, line in (
        (["--arm", "sesa"], "arm: 'ssp' -> 'sesa'"),
        (["--seed", "0"], "seed: 1000 -> 0"),
        (["--preset", "small"], "preset: 'quick' -> 'small'"),
        (["--model", "smollm2"], "model: 'tiny' -> 'smollm2-warm'"),
        (["--set", "rules.group_size=3"], "rules.group_size: 2 -> 3"),
        (["--profile", "llm"], "rules.group_size: 2 -> 4"),
    ):
        assert main([*out, *more]) == 2
        assert line in capsys.readouterr().err


def test_a_directory_that_cannot_be_made_is_told(tmp_path, capsys):
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "out"
    assert main([*OPTIONS, "--out", str(out)]) == 2
    assert f"cannot write in {out} (Not a directory); name another directory with --out\n" in capsys.readouterr().err


def test_there_must_be_a_run_to_go_on_with(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    for name in ("nope", "empty"):
        assert main([*OPTIONS, "--out", str(tmp_path / name), "--resume"]) == 2
        said = f"{tmp_path / name} holds no run to go on with; leave --resume out to begin one\n"
        assert capsys.readouterr().err.endswith(said)
        assert stored_config(tmp_path / name) is None


def test_ctrl_c_ends_a_run_quietly(tmp_path, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("agents.selfplay.__main__.train", interrupt)
    assert main([*OPTIONS, "--out", str(tmp_path / "run")]) == 130
    assert capsys.readouterr().err.strip().splitlines() == [
        "selfplay: interrupted; to go on from the last checkpoint, type the same with --resume"
    ]


def test_ctrl_c_during_the_imports_ends_quietly(tmp_path):
    (tmp_path / "rich.py").write_text("raise KeyboardInterrupt")
    done = subprocess.run(
        [sys.executable, "-m", "agents.selfplay"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 130
    assert done.stderr.strip() == "selfplay: interrupted before anything was begun"


def test_a_run_without_out_goes_on_in_its_default_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(OPTIONS) == 0
    assert main([*OPTIONS[:2], *OPTIONS[4:6], "--updates", "2", "--resume"]) == 0
    assert len(read_metrics(Path("runs/selfplay/quick-tiny-ssp-s1000"))) == 2


def test_what_a_collapsed_run_advises_can_be_done(tmp_path, capsys):
    out = ["--out", str(tmp_path / "run")]
    never = ["--set", "rules.validity.min_words=900", "--set", "guard.patience=2", "--updates", "3"]
    assert main([*OPTIONS, *never, *out]) == 2
    said = capsys.readouterr().err
    advised = shlex.split(said[said.index("--resume") :].strip())
    assert main([*out, *advised]) == 0
    assert len(read_metrics(tmp_path / "run")) == 3


def test_fields_that_are_newer_than_a_run_have_their_defaults(run):
    stored = json.loads((run / "config.json").read_text())
    del stored["guard"], stored["questions"]["repetition_penalty"]
    (run / "config.json").write_text(json.dumps(stored))
    assert stored_config(run).questions.repetition_penalty == 0.0


# ---- the weights that it began from ---------------------------------------------------------------------------------


def test_a_run_goes_on_from_the_weights_that_it_began_with_or_not_at_all(run, tmp_path):
    start = Path(shutil.copytree(run / "solver", tmp_path / "start"))
    out = train(small(1, model=str(start)), tmp_path / "pinned")
    assert json.loads((out / "start.json").read_text())["weights"].startswith("sha256:")
    weights = start / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\1")
    with pytest.raises(ConfigError, match="has other weights than when this run began: sha256:"):
        train(small(2, model=str(start)), out, resume=True)
    assert finished_updates(out) == 1


def test_a_model_of_the_hub_is_known_by_its_revision(monkeypatch):
    from types import SimpleNamespace

    from agents import pretrained

    monkeypatch.setattr(pretrained.AutoConfig, "from_pretrained", lambda source: SimpleNamespace(_commit_hash="abc"))
    assert pretrained.start_digest("Qwen/Qwen3-4B") == "revision:abc"
    with pytest.raises(ConfigError, match="model: expected"):
        pretrained.start_digest("nothing")


# ---- one process ----------------------------------------------------------------------------------------------------


def test_several_processes_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="WORLD_SIZE is 2: the loop runs in one process"):
        train(small(), tmp_path / "run")
    assert not (tmp_path / "run").exists()


# ---- shared parameters ----------------------------------------------------------------------------------------------


class Broken:
    """A learner whose update fails after the weights have moved."""

    def __init__(self, learner):
        self.learner = learner

    def update(self, samples):
        raise TrainingError("the loss is not finite")

    def __getattr__(self, name):
        return getattr(self.learner, name)


def test_seats_that_share_parameters_go_back_together(tmp_path):
    more = {"questions": {"source": "challenger"}, "challenger": {"train": True}, "skills": {"enabled": False}}
    config = small(shared=True, guard={"on_nan": "recover"}, **more)
    open_directory(config, tmp_path / "run", resume=False)
    run = SelfPlay(config, tmp_path / "run")
    solver, challenger = run.seats["solver"], run.seats["challenger"]
    weights, optimiser = solver.policy.state_dict(), copy.deepcopy(solver.learner.state_dict())
    assert solver.learner.update(solver_batch())["steps"] > 0
    run.seats["challenger"] = replace(challenger, learner=Broken(challenger.learner))
    assert run._update_seat("challenger", []) == {"recovered": 1}
    assert all(torch.equal(weight, weights[name]) for name, weight in solver.policy.state_dict().items())
    assert solver.learner.state_dict() == optimiser
    run.close()


def solver_batch():
    """Two rollouts of one group, of which one is right."""
    ids = tuple(range(5, 13))
    rollout = Rollout(ids, (False,) * 4 + (True,) * 4, (0.0,) * 4 + (-1.0,) * 4, ((4, 8),), ("",), cut=False)
    return [Sample(rollout, reward, 0) for reward in (0.0, 1.0)]
