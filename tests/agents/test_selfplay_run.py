"""Whole runs with `tiny`: what they leave, that arms do what they say, that a stopped run goes on to the same bits."""

import json
import subprocess
import sys
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("torch")

import torch

from agents.learner import TrainingError
from agents.policy import Policy
from agents.prompts import load_style
from agents.rollout import Rollout, SamplingError
from agents.selfplay.__main__ import main, train
from agents.selfplay.arms import before_training, budget, spent
from agents.selfplay.checkpoint import Checkpoints
from agents.selfplay.directory import open_directory
from agents.selfplay.draws import BEFORE_TRAINING
from agents.selfplay.guard import CollapseError
from agents.selfplay.loop import SelfPlay
from agents.selfplay.metrics import read_bootstrap, read_metrics, reproducible, scalars
from agents.selfplay.pool import Posed
from agents.selfplay.posing import DUPLICATE, Proposal, propose
from agents.selfplay.presets import configure
from agents.warmstart import RECIPE_FILE
from sesa_env.errors import ConfigError, StoreError, TeacherError
from sesa_env.game import SearchGame
from sesa_env.memory.bank import SkillBank
from sesa_env.types import Role
from tests.agents import selfplay_kill_driver
from tests.agents.toy_policy import byte_tokenizer, toy_model

DRIVER = Path(__file__).with_name("selfplay_kill_driver.py")
SMALL = {
    "world_options": {"seed": 1000, "size": 600, "n_targets": 50},
    "rules": {"group_size": 3},
    "questions": {"per_update": 4},
    "skills": {"bootstrap": 4, "mined": 2, "bank": {"consolidate_every": 1, "consolidate_min": 1}},
    "checkpoint_every": 2,
    "tensorboard": False,
}


def small(arm="sesa", updates=2, **fields):
    return configure("quick", arm, updates=updates, settings=[SMALL, fields])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return train(small(updates=3, tensorboard=True), tmp_path_factory.mktemp("runs") / "sesa")


def opened(out):
    return SkillBank.open(out / "bank.sqlite", run="selfplay", create=False)


def test_the_bootstrap_phase_is_counted(finished):
    found, bootstrap = spent(read_metrics(finished), read_bootstrap(finished)), read_bootstrap(finished)
    assert found["rollouts"] == budget(small(updates=3))["rollouts"] + bootstrap["rollouts"]
    assert bootstrap["proposed"] == 4
    assert found["bootstrap_rollouts"] == bootstrap["rollouts"] <= before_training(small())["rollouts"]


def test_a_run_leaves_metrics_policies_a_bank_and_its_configuration(finished):
    rows = read_metrics(finished)
    assert [row["step"] for row in rows] == [0, 1, 2]
    assert spent(rows)["rollouts"] == budget(small(updates=3))["rollouts"]
    for row in rows:
        assert row["valid"] + sum(row["rejected"].values()) == row["proposed"]
        assert 4 <= row["proposed"] <= 8
        assert sum(row["solve_rates"]) == row["questions"] == 4
        assert row["solver_tokens_sampled"] > 0
        assert row["solve_s"] > 0
    assert json.loads((finished / "config.json").read_text())["world_options"]["n_targets"] == 50
    with opened(finished) as bank:
        assert sum(card.provenance.origin == "seed" for card in bank.cards()) == 15
    assert [path.name for path in sorted((finished / "checkpoints").iterdir())] == ["000002", "000003"]
    assert list((finished / "tensorboard").iterdir())


def test_the_final_policies_are_plain_and_trained(finished):
    from transformers import AutoModelForCausalLM

    first = Checkpoints(finished)
    solver = AutoModelForCausalLM.from_pretrained(finished / "solver").state_dict()
    challenger = AutoModelForCausalLM.from_pretrained(finished / "challenger").state_dict()
    assert first.latest() == 3
    assert any(not torch.equal(solver[name], challenger[name]) for name in solver)


def test_a_finished_run_that_is_resumed_changes_nothing(finished):
    before = [reproducible(row) for row in read_metrics(finished)]
    weights = (finished / "solver" / "model.safetensors").read_bytes()
    with opened(finished) as bank:
        digest = bank.digest()
    train(small(updates=3, tensorboard=True), finished, resume=True)
    assert [reproducible(row) for row in read_metrics(finished)] == before
    assert (finished / "solver" / "model.safetensors").read_bytes() == weights
    with opened(finished) as bank:
        assert bank.digest() == digest


def test_a_directory_that_holds_something_else_is_refused(finished, tmp_path):
    with pytest.raises(ConfigError, match="type --resume"):
        train(small(updates=3), finished)
    with pytest.raises(ConfigError, match=r"rules\.group_size: 3 -> 2"):
        train(small(rules={"group_size": 2}), finished, resume=True)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="holds no run"):
        train(small(), tmp_path)


@pytest.mark.parametrize("arm", ["base", "ssp", "skillrl", "oracle", "leak"])
def test_arms_play_what_they_say(arm, tmp_path):
    out = train(small(arm, updates=2) if arm != "base" else small(arm), tmp_path / arm)
    rows = read_metrics(out)
    assert len(rows) == (0 if arm == "base" else 2)
    assert (out / "bank.sqlite").exists() == (arm not in ("ssp", "oracle"))
    assert (out / "challenger").exists() == (arm not in ("skillrl", "oracle"))
    assert ("challenger_loss" in (rows or [{}])[0]) == (arm in ("ssp", "leak"))
    if arm in ("skillrl", "oracle"):
        assert spent(rows)["rollouts"] == budget(small(arm))["rollouts"]
        assert all("valid" not in row for row in rows)


def test_a_finite_set_comes_again_and_a_stream_does_not(tmp_path):
    asked = {}
    for source in ("fixed", "stream"):
        config = small("oracle", questions={"source": source, "fixed": 6})
        open_directory(config, tmp_path / source, resume=False)
        run = SelfPlay(config, tmp_path / source)
        asked[source] = [slot.posed.question.text for step in range(6) for slot in run._questions(step)[1]]
    assert len(set(asked["fixed"])) == 6
    assert len(set(asked["stream"])) > 20


def test_only_the_leak_shows_the_challenger_cards(tmp_path):
    prompts = {}
    for arm in ("sesa", "leak"):
        config = small(arm)
        open_directory(config, tmp_path / arm, resume=False)
        run = SelfPlay(config, tmp_path / arm)
        policy = run._challenger(0)

        game = SearchGame(run.world, config.rules)
        game.reset(run.world.targets[0])
        assert game.view().role is Role.CHALLENGER
        assert game.view().cards == ()
        prompts[arm] = policy.decode(policy.prompt_ids(game.view()))
        run.close()
    assert "skills" not in prompts["sesa"]
    assert prompts["leak"].startswith("<skills>")
    assert prompts["leak"].endswith(prompts["sesa"])


def test_shared_parameters_are_one_policy(tmp_path):
    out = train(small(shared=True), tmp_path / "shared")
    assert (out / "solver" / "model.safetensors").read_bytes() == (out / "challenger" / "model.safetensors").read_bytes()
    assert not (out / "checkpoints" / "000002" / "challenger.safetensors").exists()


def test_the_solver_never_sees_a_bank_that_changes_within_a_step(tmp_path):
    """What the Challenger poses at the first step is the same whatever the bank holds (DESIGN: the memory is frozen)."""
    rows = {}
    for primed in (True, False):
        out = train(small(updates=1, skills={"primed": primed, "bootstrap": 0}), tmp_path / str(primed))
        rows[primed] = read_metrics(out)[0]
    names = ("valid", "rejected", "duplicates", "challenger_tokens_sampled", "hops_posed")
    assert [rows[True][name] for name in names] == [rows[False][name] for name in names]


def test_a_run_goes_on_further_than_it_was_meant_to(tmp_path):
    long = train(small(updates=4), tmp_path / "long")
    short = train(small(updates=2), tmp_path / "short")
    train(small(updates=4), short, resume=True)
    assert [reproducible(row) for row in read_metrics(long)] == [reproducible(row) for row in read_metrics(short)]
    assert (long / "solver" / "model.safetensors").read_bytes() == (short / "solver" / "model.safetensors").read_bytes()


def test_a_damaged_checkpoint_is_told(tmp_path):
    out = train(small(), tmp_path / "run")
    (out / "checkpoints" / "000002" / "state.json").write_text("{")
    with pytest.raises(StoreError, match=r"state\.json"):
        train(small(updates=3), out, resume=True)


def test_the_bootstraps_valid_questions_stand_in_before_the_first_of_training(tmp_path, monkeypatch):
    def one_valid(world, config, policy, step, count):
        found = [replace(item, posed=None, reason="words") for item in propose(world, config, policy, step, count)]
        if step == BEFORE_TRAINING:
            found[0] = replace(found[0], posed=Posed(world.graph.questions(1, split="train")[0]), reason="")
        return found

    monkeypatch.setattr("agents.selfplay.loop.propose", one_valid)
    out = train(small(), tmp_path / "run")
    assert read_bootstrap(out)["questions"] == 1
    assert [(row["questions"], row["replayed"], row["ready"]) for row in read_metrics(out)] == [(4, 4, 0)] * 2


@pytest.mark.parametrize(
    ("model", "posed", "bootstrap", "cold"),
    [
        ("tiny", [0, 0], 0, True),
        ("tiny", [0, 1], 0, False),
        ("tiny", [0, 0], 1, False),
        ("warmed", [0, 1], 0, False),
        ("warmed", [0, 0], 0, True),
        ("raw", [0, 1], 0, True),
    ],
)
def test_a_warm_start_is_advised_where_there_was_none_or_nothing_valid(model, posed, bootstrap, cold, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("warmed", "raw"):
        Path(name).mkdir()
    Path("warmed", RECIPE_FILE).write_text("{}")
    run = SelfPlay.__new__(SelfPlay)  # of a run only what the answer depends on
    run.config, run.out = replace(small(), model=model), tmp_path
    Path("metrics.jsonl").write_text("".join(json.dumps({"valid": valid}) + "\n" for valid in posed))
    Path("bootstrap.json").write_text(json.dumps({"valid": bootstrap}))
    assert run._is_cold() == cold


def test_duplicates_do_not_keep_a_challenger_healthy(tmp_path):
    config = small("ssp", guard={"patience": 2})
    open_directory(config, tmp_path / "run", resume=False)
    run = SelfPlay(config, tmp_path / "run")
    target, question = run.world.targets[0], run.world.graph.questions(1, split="train")[0]
    again = Proposal(target, Rollout((), (), None, (), (), False), Posed(question), DUPLICATE, 0.0)
    run._watch(0, [again] * 4)
    assert not run.guard.healthy
    with pytest.raises(CollapseError, match="valid and new"):
        run._watch(1, [again] * 4)
    run.close()


class Mute:
    """A teacher that cannot answer."""

    name = "mute"

    def distil(self, failures, cards):
        raise TeacherError("no route to the teacher")


@pytest.mark.parametrize("mute", [False, True])
def test_what_the_last_harvest_brought_is_told(mute, tmp_path, caplog, monkeypatch):
    if mute:
        monkeypatch.setattr("agents.selfplay.loop.load_any_teacher", lambda name, world: Mute())
    config = small("skillrl", skills={"bootstrap": 0, "distillation": "paper"})
    out = train(config, tmp_path / "run")
    last = json.loads((out / "finished.json").read_text())["last_harvest"]
    assert last["outage"] == ("no route to the teacher" if mute else "")
    assert ("the end: the teacher could not answer" in caplog.text) == mute
    with opened(out) as bank:
        assert last["births"] == 0 if mute else last["births"] > 0
        born = sum(row["births"] for row in read_metrics(out)) + last["births"]
        gone = sum(row["deaths"] for row in read_metrics(out)) + last["deaths"]
        assert len(bank.cards()) == 15 + born - gone


def test_a_teacher_that_is_out_in_the_bootstrap_phase_ends_the_run_and_the_phase_begins_anew(tmp_path, monkeypatch):
    expected, out = train(small(), tmp_path / "undisturbed", show=False), tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr("agents.selfplay.loop.load_any_teacher", lambda name, world: Mute())
        with pytest.raises(TeacherError, match="no route to the teacher"):
            train(small(), out, show=False)
    assert Checkpoints(out).latest() is None
    train(small(), out, resume=True, show=False)
    assert read_bootstrap(out) == read_bootstrap(expected)
    assert read_bootstrap(out)["failures"] > 0
    assert selfplay_kill_driver.digest(out) == selfplay_kill_driver.digest(expected)


def test_a_run_on_real_benchmarks(tmp_path):
    """From a directory of files to a trained Solver, by the settings that the documentation names."""
    model, data = tmp_path / "model", tmp_path / "data" / "nq"
    policy().save(model)
    data.mkdir(parents=True)
    passages = []
    for number in range(8):
        wife, husband = f"Alda Wern {number}", f"Corin Vale {number}"
        passages += [(wife, f"{wife} wed {husband} in the town of Brey."), (husband, f"{husband} forged the bell of Brey.")]
    passages = [{"id": str(place), "contents": f'"{title}"\n{text}'} for place, (title, text) in enumerate(passages)]
    asked = {"id": "test_0", "question": "who wed alda wern 0", "golden_answers": ["Corin Vale 0"]}
    for name, records in (("corpus", passages), ("test", [asked])):
        (data / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    arguments = ["--arm", "sesa", "--updates", "1", "--model", str(model), "--out", str(tmp_path / "run")]
    for setting in ("world=flashrag", f"world_options.data={data.parent}", "skills.bootstrap=2", "questions.per_update=2"):
        arguments += ["--set", setting]
    for setting in ("tensorboard=false", "solver.sampling.tokens=2048", "challenger.sampling.tokens=2048"):
        arguments += ["--set", setting]
    assert main(arguments) == 0
    assert json.loads((tmp_path / "run" / "config.json").read_text())["world_options"] == {"data": str(data.parent)}
    row = read_metrics(tmp_path / "run")[0]
    assert 2 <= row["proposed"] <= 4
    assert row["ready"] == 0
    assert (tmp_path / "run" / "solver" / "model.safetensors").exists()


def policy():
    tokenizer = byte_tokenizer()
    model = toy_model(tokenizer, 0)
    model.config.max_position_embeddings = 4096
    return Policy("toy", model, tokenizer, load_style("tags"))


def test_a_missing_board_is_told_before_the_run_begins(tmp_path, monkeypatch):
    monkeypatch.setattr("agents.selfplay.boards.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"sesa-env\[train\]"):
        train(small(tensorboard=True), tmp_path / "run")
    with pytest.raises(ConfigError, match="wandb is not installed"):
        train(small(wandb="project"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


class FakeWandb(ModuleType):
    """Keeps what it is asked; a run without a name gets a new one, as there."""

    def __init__(self):
        super().__init__("wandb")
        self.__spec__ = ModuleSpec("wandb", None)
        self.asked, self.runs = [], []

    def init(self, **options):
        self.asked.append(options)
        self.runs.append(FakeRun(options["id"] or f"new{len(self.runs)}"))
        return self.runs[-1]


class FakeRun:
    def __init__(self, name):
        self.id, self.rows, self.finished = name, [], False

    def log(self, values, step):
        self.rows.append((step, values))

    def finish(self):
        self.finished = True


@pytest.fixture
def wandb(monkeypatch):
    fake = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    return fake


def test_weights_and_biases_draws_each_update_and_goes_on_in_the_same_run(wandb, tmp_path):
    out = tmp_path / "run"
    train(small("ssp", updates=1, wandb="mine"), out, show=False)
    (asked,), (first,) = wandb.asked, wandb.runs
    config = json.loads((out / "config.json").read_text())
    assert asked == {"project": "mine", "dir": str(out), "config": asked["config"], "id": None, "resume": "allow"}
    assert json.loads(json.dumps(asked["config"])) == config
    assert first.finished
    train(small("ssp", updates=3, wandb="mine"), out, resume=True, show=False)
    second = wandb.runs[1]
    assert second.id == first.id == "new0"
    assert second.finished
    drawn = first.rows + second.rows
    assert drawn == [(row["step"], scalars(row)) for row in read_metrics(out)]
    assert [step for step, _ in drawn] == [0, 1, 2]
    # Another project has no run of that name.
    train(small("ssp", updates=4, wandb="other"), out, resume=True, show=False)
    assert (wandb.asked[2]["project"], wandb.runs[2].id) == ("other", "new2")


def test_weights_and_biases_is_told_the_end_of_a_run_that_fails(wandb, tmp_path):
    never = {"validity": {"min_words": 900}}
    with pytest.raises(CollapseError):
        train(small("ssp", rules=never, guard={"patience": 1}, wandb="mine"), tmp_path / "run", show=False)
    assert [run.finished for run in wandb.runs] == [True]


def test_tensorboard_is_imported_only_when_it_is_on():
    check = "import sys, agents.selfplay.__main__; assert 'torch.utils.tensorboard' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], cwd=Path(__file__).resolve().parents[2], check=True)


class Broken:
    """A learner whose first update fails."""

    def __init__(self, learner):
        self.learner, self.broken = learner, True

    def update(self, samples):
        if self.broken:
            self.broken = False
            raise TrainingError("the loss is not finite")
        return self.learner.update(samples)

    def __getattr__(self, name):
        return getattr(self.learner, name)


@pytest.mark.parametrize("reaction", ["stop", "recover"])
def test_a_loss_that_is_not_finite_stops_or_goes_back_to_the_checkpoint(reaction, tmp_path, caplog):
    config = small(guard={"on_nan": reaction})
    open_directory(config, tmp_path / "run", resume=False)
    run = SelfPlay(config, tmp_path / "run")
    seat = run.seats["solver"]
    before = seat.policy.state_dict()
    run.seats["solver"] = replace(seat, learner=Broken(seat.learner))
    if reaction == "stop":
        with pytest.raises(TrainingError):
            run.update()
    else:
        assert run.update()["solver_recovered"] == 1
        assert "goes back to its checkpoint of 0 updates" in caplog.text
        assert all(torch.equal(weight, before[name]) for name, weight in seat.policy.state_dict().items())
        assert run.update()["solver_recovered"] == 0
    run.close()


def spoil(policy):
    with torch.no_grad():
        for weight in policy.model.parameters():
            weight.fill_(float("nan"))


def begun(config, out, updates):
    """A run opened and that far."""
    open_directory(config, out, resume=False)
    run = SelfPlay(config, out)
    for _ in range(updates):
        run.update()
    return run


SELF_REMINDING = {"checkpoint_every": 1, "questions": {"duplicate_steps": 5}}
"""Settings by which a step that is played twice, without what it posed forgotten, would pose nothing but duplicates."""


@pytest.mark.parametrize(("arm", "role"), [("sesa", "solver"), ("sesa", "challenger"), ("leak", "challenger")])
def test_a_seat_whose_sampling_fails_goes_back_to_its_checkpoint_and_the_step_is_played_again(arm, role, tmp_path, caplog):
    config = small(arm, updates=3, guard={"on_nan": "recover"}, **SELF_REMINDING)
    run = begun(config, tmp_path / "run", 2)
    other = begun(config, tmp_path / "undisturbed", 2)
    assert len(run.pool)
    spoil(run.seats[role].policy)
    row, expected = run.update(), other.update()
    assert row[f"{role}_recovered"] == 1
    assert f"step 2: the {role} goes back to its checkpoint of 2 updates: tiny: expected finite logits" in caplog.text
    # The checkpoint is that of the step before, so that nothing else of the step may differ from one that went well.
    assert reproducible({**row, f"{role}_recovered": 0}) == reproducible(expected)
    assert (run.pool.state_dict(), run.recent.keys) == (other.pool.state_dict(), other.recent.keys)
    ours, theirs = (one.seats[role].policy.state_dict() for one in (run, other))
    assert all(torch.equal(weight, theirs[name]) for name, weight in ours.items())
    run.close()
    other.close()


def test_where_parameters_are_shared_both_seats_go_back(tmp_path):
    run = begun(small("sesa-shared", guard={"on_nan": "recover"}), tmp_path / "run", 0)
    spoil(run.solver)
    row = run.update()
    assert row["solver_recovered"] + row["challenger_recovered"] == 1
    assert row["rollouts"] == 12
    run.close()


def test_a_seat_whose_sampling_fails_stops_the_run_where_it_is_to(tmp_path):
    run = begun(small(updates=3), tmp_path / "run", 0)
    spoil(run.seats["challenger"].policy)
    expected = (
        r"step 0: the challenger's tiny: expected finite logits.*lower challenger\.learner\.learning_rate.*on_nan=recover"
    )
    with pytest.raises(SamplingError, match=expected):
        run.update()
    assert run.step == 0
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == ""
    run.close()


def test_a_seat_that_is_no_better_at_its_checkpoint_stops_the_run(tmp_path):
    run = begun(small(updates=3, guard={"on_nan": "recover"}), tmp_path / "run", 0)
    spoil(run.solver)
    run.save()
    with pytest.raises(SamplingError, match="step 0: the solver went back to its last checkpoint, that of 0 updates"):
        run.update()
    run.close()


def test_a_failure_of_another_model_brings_no_seat_back(tmp_path, monkeypatch, caplog):
    run = begun(small(updates=3, guard={"on_nan": "recover"}), tmp_path / "run", 0)

    def fail(*arguments):
        raise SamplingError("a verifier's logits", torch.nn.Linear(1, 1))

    monkeypatch.setattr("agents.selfplay.loop.solve", fail)
    with pytest.raises(SamplingError, match="a verifier's logits"):
        run.update()
    assert "goes back" not in caplog.text
    run.close()


def test_a_collapsed_challenger_stops_or_goes_back_to_a_healthy_checkpoint(tmp_path):
    never = {"validity": {"min_words": 900}}
    # Nothing valid at all is what a policy poses that does not know the protocol.
    with pytest.raises(CollapseError, match=r"collapsed.*give it a warm start first: python -m agents\.warmstart --model tiny"):
        train(small(rules=never, guard={"patience": 2}), tmp_path / "stopped")
    config = small(updates=4, rules=never, guard={"patience": 2, "on_collapse": "recover"})
    open_directory(config, tmp_path / "run", resume=False)
    run = SelfPlay(config, tmp_path / "run")
    start = run.seats["challenger"].policy.state_dict()
    rows = [run.update() for _ in range(2)]
    assert [row["valid"] for row in rows] == [0, 0]
    assert [(row["questions"], row["ready"], row["replayed"]) for row in rows] == [(4, 4, 0)] * 2
    assert all(torch.equal(weight, start[name]) for name, weight in run.seats["challenger"].policy.state_dict().items())
    run.close()


def test_the_command_line_trains(tmp_path, capsys):
    arguments = ["--arm", "ssp", "--updates", "1", "--seed", "1000", "--out", str(tmp_path / "run")]
    for name, value in (
        ("world_options.size", 600),
        ("questions.per_update", 2),
        ("rules.group_size", 2),
        ("tensorboard", "false"),
    ):
        arguments += ["--set", f"{name}={value}"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    spending = json.loads(captured.out)["spent"]
    assert 2 <= spending["proposed"] <= 4
    assert spending["bootstrap_questions"] == 0
    assert "ssp 1/1" in captured.err


def kill(out, kills, seed, arm):
    done = subprocess.run(
        [sys.executable, str(DRIVER), str(out), str(kills), str(seed), arm],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["killed"] == kills
    assert all(summary["epochs"].values())
    # Where questions are posed, how often one is valid is the start policy's affair; ready ones are always learnt from.
    assert summary["learnt"]["challenger" if arm == "sesa" else "solver"] > 0
    return summary


@pytest.mark.parametrize("arm", ["sesa", "skillrl"])
def test_a_run_stopped_at_the_border_of_two_epochs_ends_with_the_same_bits(arm, tmp_path, monkeypatch):
    """Stopped in the midst of a step that stands across the border, with its checkpoint just there; then in one that begins an
    epoch, whose checkpoint lies in the epoch before."""
    settings = selfplay_kill_driver.config(arm)
    steps = selfplay_kill_driver.epochs(settings)
    across, begun = steps["across"][-1], steps["begun"][0]
    assert across % settings.checkpoint_every == 0 != begun % settings.checkpoint_every
    expected = selfplay_kill_driver.digest(train(settings, tmp_path / "undisturbed", show=False))
    boundary = SelfPlay._boundary
    for stop in (across, begun):

        def stopped(self, step, solved, stop=stop):
            if step == stop:
                raise KeyboardInterrupt
            return boundary(self, step, solved)

        out = tmp_path / str(stop)
        with monkeypatch.context() as patched:
            patched.setattr(SelfPlay, "_boundary", stopped)
            with pytest.raises(KeyboardInterrupt):
                train(settings, out, show=False)
        assert Checkpoints(out).latest() == stop - stop % settings.checkpoint_every
        train(settings, out, resume=True, show=False)
        assert selfplay_kill_driver.digest(out) == expected


@pytest.mark.parametrize("arm", ["sesa", "skillrl"])
def test_a_killed_run_ends_with_the_same_bits(arm, tmp_path):
    kill(tmp_path, 2, 1, arm)


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["sesa", "skillrl"])
def test_runs_killed_again_and_again_end_with_the_same_bits(arm, tmp_path):
    summary = kill(tmp_path, 30, 2, arm)
    assert summary["finished"] > 1
    assert len(summary["steps_seen"]) > 4
    assert arm == "sesa" or summary["births"] > 0
