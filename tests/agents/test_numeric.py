"""Agents of stable-baselines3 in the Solver's seat: they learn, are saved, and play as any other player."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest

pytest.importorskip("sb3_contrib", reason="needs the sb3 extra")
pytest.importorskip("scipy", reason="needs the bench extra")

import gymnasium

from agents import numeric, sb3
from agents.names import public_name
from agents.numeric import RandomChoice, Training, exact_match, main, train
from agents.players import open_player
from agents.sb3 import load_sb3_player
from benchmarks.arms import parse_arm
from benchmarks.config import make_config
from sesa_env.errors import ConfigError
from sesa_env.records import open_memory
from sesa_env.types import Role
from sesa_env.worlds import make_world
from tests.benchmarks.tiny import write_data
from tests.conftest import ROOT

TINY = Training("maskable-ppo", seed=1000, steps=64, size=300, questions=20, asked=10, evaluations=2, envs=1)
QUICK = {"n_steps": 32, "batch_size": 32, "n_epochs": 1}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A directory with one tiny training of each algorithm, by algorithm."""
    out = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numeric, "SETTINGS", {"ppo": QUICK, "maskable-ppo": QUICK, "dqn": {"learning_starts": 16}})
        for algorithm in sb3.ALGORITHMS:
            train(replace(TINY, algorithm=algorithm), out)
    return {algorithm: out / f"{algorithm}-none-s1000" for algorithm in sb3.ALGORITHMS}


def test_a_short_training_beats_random_choice():
    config = replace(TINY, steps=2048, questions=60, asked=100, envs=8)
    world = make_world("miniwiki", **config.world_options("test", config.asked))
    scores = []
    numeric._learn(config, None, lambda model: scores.append(numeric._score(config, world, None, model)))
    assert max(scores[1:]) >= exact_match(world, RandomChoice(1000), None) + 0.1


@pytest.mark.slow
def test_agents_learn_and_learn_more_with_a_memory(tmp_path):
    off = train(Training("maskable-ppo", seed=1000, steps=5000, asked=200, evaluations=2), tmp_path)
    on = train(Training("maskable-ppo", memory="loop", seed=1000, steps=5000, asked=200, evaluations=2), tmp_path)
    for result in (off, on):
        assert result["curve"][-1][1] > result["random"] + 0.1
    assert on["curve"][-1][1] > off["curve"][-1][1] + 0.1


@pytest.mark.parametrize("algorithm", sb3.ALGORITHMS)
def test_a_saved_agent_plays_as_it_did_on_the_environment(trained, algorithm):
    player = load_sb3_player(trained[algorithm] / "model")
    env = gymnasium.make(
        "sesa_env:SESA-SearchDiscrete-v0", corpus_options=TINY.world_options("test", 10), memory="seeds"
    ).unwrapped
    seen, _ = env.reset(seed=3)
    views, written = [], []
    over = False
    while not over:
        masks = {"action_masks": env.action_masks()} if algorithm == "maskable-ppo" else {}
        action, _ = player.model.predict(seen, deterministic=True, **masks)
        views.append(env.text.view())
        written.append(env.choices().turns[int(action)])
        seen, _, terminated, truncated, _ = env.step(int(action))
        over = terminated or truncated
    assert player.act_batch(views) == [player.act(view) for view in views] == written
    assert player.act_batch([]) == []


@pytest.mark.parametrize("algorithm", sb3.ALGORITHMS)
def test_the_last_point_of_a_curve_is_the_agent_that_is_saved(trained, algorithm):
    folder = trained[algorithm]
    steps, right = json.loads((folder / "run.json").read_text())["curve"][-1]
    player = load_sb3_player(folder / "model")
    assert steps == player.model.num_timesteps
    assert right == exact_match(make_world("miniwiki", **TINY.world_options("test", TINY.asked)), player, None)


def test_a_training_that_is_there_is_kept(trained):
    folder = trained["ppo"]
    before = (folder / "run.json").read_bytes()
    assert train(replace(TINY, algorithm="ppo"), folder.parent)["curve"] == json.loads(before)["curve"]
    assert (folder / "run.json").read_bytes() == before
    with pytest.raises(ConfigError, match="expected another --out"):
        train(replace(TINY, algorithm="ppo", steps=65), folder.parent)


def test_the_command_reports_what_is_there(trained, capsys):
    out = trained["ppo"].parent
    given = ["--algorithm", "ppo", "--seeds", "1000", "--out", str(out)]
    assert main(given) == 2
    assert "expected another --out" in capsys.readouterr().err
    assert numeric.report(out).count("| none | 1000 |") == 3
    (row,) = [row for row in json.loads((out / "results.json").read_text()) if row["algorithm"] == "dqn"]
    assert row["seeds"] == [1000]
    assert row["curve"][0]["half"] is None
    assert (out / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_trainings_are_functions_of_their_configuration(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(numeric, "SETTINGS", {"maskable-ppo": QUICK})
    again = train(TINY, tmp_path)
    assert again == json.loads((trained["maskable-ppo"] / "run.json").read_text())


def test_a_bank_is_distilled_once_for_a_world(tmp_path):
    config = replace(TINY, memory="loop")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numeric, "LOOP_STEPS", 2)
        bank = numeric.memory_name(config, tmp_path)
        first = open_memory(bank)
        assert open_memory(numeric.memory_name(replace(config, algorithm="dqn"), tmp_path)).fingerprint == first.fingerprint
    assert numeric.memory_name(replace(config, memory="none"), tmp_path) is None
    assert numeric.memory_name(replace(config, memory="seeds"), tmp_path) == "seeds"


def test_random_choice_is_a_function_of_the_view_and_writes_turns_only():
    world = make_world("miniwiki", **TINY.world_options("test", 10))
    assert exact_match(world, RandomChoice(1), None) == exact_match(world, RandomChoice(1), None)


def test_an_agent_is_a_solver_by_name(trained):
    world = make_world("miniwiki", **TINY.world_options("test", 10))
    name = f"sb3:{trained['maskable-ppo'] / 'model.zip'}"
    assert isinstance(open_player(name, world), sb3.Sb3Player)
    assert public_name(name) == "sb3:maskable-ppo-none-s1000/model.zip"
    with pytest.raises(ConfigError, match="takes the solver's seat"):
        open_player(name, world, role=Role.CHALLENGER)


def test_an_arm_of_an_agent_reads_the_bank_of_the_scripted_arms():
    config = make_config("miniwiki", "smoke", (parse_arm("rl=sb3:runs/model.zip"), parse_arm("off=sb3:a.zip@none")))
    assert [arm.bank for arm in config.arms] == ["blind:naive", "none"]


def test_an_agent_takes_part_in_the_harness(trained, tmp_path):
    arms = ["--arms", "naive", f"rl=sb3:{trained['maskable-ppo'] / 'model.zip'}"]
    out, data = tmp_path / "out", write_data(tmp_path / "data")
    options = ["--suite", "flashrag", "--preset", "smoke", "--data", str(data), "--out", str(out), "--workers", "1", *arms]
    done = subprocess.run(
        [sys.executable, "benchmarks/run_all.py", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in (out / "records" / "rl" / "nq.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [record["mode"] for record in records] == ["off"] * 4 + ["on"] * 4
    assert "sb3:maskable-ppo-none-s1000/model.zip" in (out / "report.md").read_text(encoding="utf-8")


def test_what_is_no_agent_is_refused(tmp_path, trained):
    with pytest.raises(ConfigError, match="there is no such file"):
        load_sb3_player(tmp_path / "nothing")
    (tmp_path / "text.zip").write_text("no archive")
    with pytest.raises(ConfigError, match="it is none"):
        load_sb3_player(tmp_path / "text.zip")
    with pytest.raises(ConfigError, match="expected sb3:FILE"):
        open_player("sb3:", make_world("miniwiki", **TINY.world_options("test", 10)))


def test_an_agent_of_another_environment_is_refused(tmp_path):
    import stable_baselines3

    env = gymnasium.make("CartPole-v1")
    stable_baselines3.PPO("MlpPolicy", env, n_steps=32, batch_size=32).save(tmp_path / "cart.zip")
    with pytest.raises(ConfigError, match="its spaces are another environment's"):
        load_sb3_player(tmp_path / "cart.zip")
    stable_baselines3.A2C("MlpPolicy", env).save(tmp_path / "other.zip")
    with pytest.raises(ConfigError, match="expected an agent of ppo, maskable-ppo, dqn"):
        load_sb3_player(tmp_path / "other.zip")
    env.close()


@pytest.mark.parametrize("wrong", [{"algorithm": "a2c"}, {"steps": 0}, {"asked": 0}])
def test_what_no_training_can_be_made_of_is_refused(wrong):
    with pytest.raises(ConfigError, match="expected"):
        replace(TINY, **wrong)


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    with pytest.raises(ConfigError, match=r"pip install 'sesa-env\[sb3\]'"):
        sb3.algorithm_class("ppo")


def test_the_example_on_the_page_runs(tmp_path, monkeypatch):
    page = ROOT / "docs" / "faces" / "numeric.md"
    (code,) = re.findall(r"^```py\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    assert load_sb3_player(tmp_path / "model").act_batch([]) == []
