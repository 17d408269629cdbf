"""`SESA-Search-v0` on the built-in world: Gymnasium's checker and ours, every role; seeds, options, records, errors."""

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check
from hypothesis import given, settings
from hypothesis import strategies as st

import sesa_env
from sesa_env.checks import CHECKS, CheckError, check_env
from sesa_env.errors import ConfigError, SesaError, StoreError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.embed import HashEmbedder
from sesa_env.records import EpisodeRecord, read_episodes, replay, write_episodes
from sesa_env.spaces import Utf8
from sesa_env.types import Role
from tests.toy import card

IDS = sorted(name for name in gymnasium.registry if name.startswith("SESA-Search-"))  # those whose actions are texts
SMALL = {"corpus_options": {"size": 300}}
MODES = {
    "free": {},
    "solver": {"role": "solver"},
    "solver with skills": {"role": "solver", "memory": "seeds"},
    "solver against a challenger": {"role": "solver", "opponent": "challenger"},
    "challenger": {"role": "challenger", "rules": {"group_size": 2}},
    "challenger against skilled": {"role": "challenger", "opponent": "skilled", "memory": "seeds", "rules": {"group_size": 2}},
}


def make(name="SESA-Search-v0", **kwargs):
    return gymnasium.make(name, **{**SMALL, **kwargs})


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_gymnasiums_checker_passes(name, mode):
    gymnasium_check(make(name, **mode).unwrapped)


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_our_checker_passes(name, mode):
    assert check_env(partial(make, name, **mode)) == list(CHECKS)


def test_spec_survives_json():
    env = make(role="solver", rules={"group_size": 3, "reward": {"challenger": "gaussian"}})
    spec = gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json())
    again = gymnasium.make(spec)
    assert again.reset(seed=3) == env.reset(seed=3)


@pytest.mark.parametrize(
    "code",
    [
        "import gymnasium, sesa_env; env = gymnasium.make('SESA-Search-v0', role='solver', corpus_options={'size': 300})",
        "import gymnasium; env = gymnasium.make('sesa_env:SESA-Search-v0', role='solver', corpus_options={'size': 300})",
    ],
    ids=["import sesa_env", "sesa_env:"],
)
def test_both_ways_to_make_it_in_a_clean_process(code):
    done = subprocess.run(
        [sys.executable, "-c", code + "; print(env.reset(seed=0)[0])"], capture_output=True, text=True, check=True
    )
    assert "Question: " in done.stdout


def test_without_an_import_gymnasium_does_not_know_it():
    code = "import gymnasium; gymnasium.make('SESA-Search-v0')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "SESA-Search" in done.stderr
    assert done.returncode != 0


def test_a_solver_plays_a_ready_question():
    env = make(role="solver")
    text, info = env.reset(seed=1)
    question = env.unwrapped.game.question
    assert text.endswith(f"Question: {question.text}")
    assert (info["actor"], info["event"], info["turns_left"]) == ("solver", "reset", 10)
    observation, reward, terminated, truncated, info = env.step(f"<search>{question.text}</search>")
    assert observation.startswith("<information>\nDoc 1")
    assert (reward, terminated, truncated, info["searches_left"]) == (0.0, False, False, 8)
    observation, reward, terminated, truncated, info = env.step(f"<answer>{question.answers[0]}</answer>")
    assert (observation, reward, terminated, truncated) == ("", 1.0, True, False)
    assert info["rewards"] == {"solver": {"exact_match": 1.0}}


def test_every_turn_by_hand():
    """With role=None the caller plays both seats; the question is one that the world itself would pose."""
    env = make(rules={"group_size": 2})
    env.reset(seed=5)
    game = env.unwrapped.game
    target = game.state.task
    posed = game.world.graph.pose(target, seed=0)
    for hop in range(target.hops):
        _, _, _, _, info = env.step(f"<search>{target.answer} {['who', 'what', 'where'][hop]}</search>")
    assert info["actor"] == "challenger"
    text, reward, _, _, info = env.step(f"<question>{posed.text}</question>")
    assert (info["actor"], info["event"], reward) == ("solver", "question", 0.0)
    assert posed.text in text
    env.step(f"<answer>{target.answer}</answer>")
    _, reward, terminated, _, info = env.step("<answer>nobody</answer>")
    assert (reward, terminated) == (0.0, True)
    assert info["rewards"] == {"challenger": {"bell": 1.0}, "solver": {"exact_match": 1.0}}


def test_the_challengers_scalar_is_its_own_reward():
    env = make(role="challenger", rules={"group_size": 2, "reward": {"end_penalty": 0.7, "malformed": 0.25}})
    env.reset(seed=5)
    game = env.unwrapped.game
    target = game.state.task
    posed = game.world.graph.pose(target, seed=0)
    assert env.step("no tag")[1] == -0.25
    for hop in range(target.hops):
        env.step(f"<search>{target.answer} {['who', 'what', 'where'][hop]}</search>")
    _, reward, terminated, truncated, info = env.step(f"<question>{posed.text}</question>")
    assert (terminated, truncated) == (True, False)
    assert len(game.attempts) == 2
    assert reward == pytest.approx(-0.7)  # naive does the same twice, so nobody or everybody solves it
    assert info["rewards"]["challenger"] == {"malformed": -0.25, "bell": -0.7}


def test_options_choose_the_task():
    env = make(role="solver")
    by_index = [env.reset(seed=0, options={"index": i})[0] for i in (0, 1)]
    assert by_index[0] != by_index[1]
    question = env.unwrapped.game.world.questions[1]
    assert env.reset(seed=9, options={"question": question})[0] == by_index[1]
    given = {"id": "mine", "text": "What is the colour of the sea?", "answers": ["blue"]}
    assert env.reset(options={"question": given})[0].endswith(given["text"])
    assert env.step("<answer>Blue!</answer>")[1] == 1.0
    free = make()
    free.reset(options={"target": {"id": "t", "answer": "blue", "hops": 1}})
    assert free.unwrapped.view().target == "blue"


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"role": "sover"}, "role: expected None, 'solver' or 'challenger'; got 'sover'"),
        ({"opponent": "naive"}, "with role=None the caller plays every turn"),
        ({"role": "challenger", "opponent": "naif"}, "expected one of naive, skilled, challenger or module:factory"),
        ({"memory": "no/such/bank.sqlite"}, "'no/such/bank.sqlite' is no file"),
        ({"memory": "."}, r"'.' is a directory .a run of the harness keeps its banks as units/bank-\*/bank.sqlite"),
        ({"role": "challenger", "opponent": "challenger"}, "'challenger' takes the challenger's seat, not the solver's"),
        ({"role": "solver", "opponent": "naive"}, "'naive' takes the solver's seat, not the challenger's"),
        ({"rules": {"group_sise": 5}}, "'group_sise' is not known; expected some of"),
        ({"corpus": "minwiki"}, "miniwiki"),
        ({"corpus_options": {"sise": 300}}, "sise"),
        ({"render_mode": "human"}, "expected None or 'ansi'"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_wrong_arguments_say_what_to_type(kwargs, message):
    with pytest.raises(ConfigError, match=message):
        sesa_env.SearchEnv(**kwargs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"indx": 0}, "expected at most one of index, question, target; got 'indx'"),
        ({"index": 10**6}, "index: expected 0 to"),
        ({"index": "0"}, "index: expected 0 to"),
        ({"question": {"id": "q"}}, "'text' is missing"),
        ({"index": 0, "question": {}}, "at most one"),
        ({"question": {"id": "q", "text": " ", "answers": ["a"]}}, "question 'q': expected a text; got ' '"),
    ],
)
def test_wrong_options_say_what_is_expected(options, message):
    with pytest.raises(ConfigError, match=message):
        make(role="solver").reset(options=options)


def test_a_solver_without_an_opponent_cannot_start_from_a_target():
    with pytest.raises(ConfigError, match="nobody plays the challenger's seat; expected opponent=NAME"):
        make(role="solver").reset(options={"target": {"id": "t", "answer": "a", "hops": 1}})
    with pytest.raises(ConfigError, match="expected 'target', got 'question'"):
        make(role="challenger").reset(options={"question": {"id": "q", "text": "x", "answers": ["a"]}})


def test_an_opponent_that_never_poses_is_named(tmp_path, monkeypatch):
    (tmp_path / "mute.py").write_text(
        "class P:\n    def act(self, view):\n        return 'hm'\ndef make(world, seed=0):\n    return P()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SesaError, match="no valid question for 50 targets; last: no_question"):
        make(role="solver", opponent="mute:make").reset(seed=0)


def test_a_chosen_target_that_the_inner_challenger_cannot_pose_about_is_named():
    env = make(role="solver", opponent="challenger")
    with pytest.raises(SesaError, match="posed no valid question for Target"):
        env.reset(options={"target": {"id": "t", "answer": "Nowhere to be found", "hops": 1}})


def test_a_solvers_factory_sees_nothing_that_knows_an_answer(tmp_path, monkeypatch):
    (tmp_path / "spy.py").write_text(
        "seen = {}\nclass P:\n    def act(self, view):\n        return '<answer>a</answer>'\n"
        "def solver(world, seed=0):\n    seen['solver'] = world\n    return P()\n"
        "def challenger(world, seed=0):\n    seen['challenger'] = world\n    return P()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    make(role="challenger", opponent="spy:solver")
    make(role="solver", opponent="spy:challenger")
    import spy

    solver, challenger = spy.seen["solver"], spy.seen["challenger"]
    assert (solver.questions, solver.targets, solver.graph) == ((), (), None)
    with pytest.raises(SesaError, match="would know the answers"):
        solver.verifier.verify("Who?", ())
    assert solver.retriever is challenger.retriever
    assert challenger.graph is not None


def test_step_before_reset_and_after_the_end():
    env = make(role="solver").unwrapped
    with pytest.raises(SesaError, match="call reset"):
        env.step("x")
    env.reset(seed=0)
    env.step("<answer>a</answer>")
    with pytest.raises(SesaError, match="call reset"):
        env.step("x")


def test_render_shows_the_transcript():
    env = make(role="solver", render_mode="ansi")
    env.reset(seed=0)
    env.step("<search>the river</search>")
    assert "[solver] <search>the river</search>\n<information>" in env.render()


def play_some(env, seed):
    env.reset(seed=seed)
    script = [
        "<search>who</search>",
        "oops \ud800",
        "<think>\u202e</think><search>the city of</search>",
        "<answer>Ünder</answer>",
    ]
    for _ in range(5):
        for text in script:
            *_, terminated, truncated, _ = env.step(text)
            if terminated or truncated:
                return env.unwrapped.record()
    raise AssertionError("the script did not end the episode")


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_records_are_written_read_and_replayed(tmp_path, mode):
    env = make(**mode)
    records = [play_some(env, seed) for seed in range(3)]
    write_episodes(tmp_path / "episodes.jsonl", records)
    assert list(read_episodes(tmp_path / "episodes.jsonl")) == records
    assert [replay(record) for record in records] == ["", "", ""]


def test_the_command_shows_what_happened(tmp_path, capsys):
    from sesa_env.cli import main

    path = tmp_path / "episodes.jsonl"
    record = play_some(make(memory="seeds"), 0)
    write_episodes(path, [record])
    assert main(["replay", str(path), "--show"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Episode 1\n")
    assert all(turn.text.strip() in text for turn in record.turns)
    assert f"Target: {record.task.answer}" in text
    assert "Reward of the challenger: " in text
    passages = [line for turn in record.turns if turn.event == "search" for line in turn.observation.splitlines()]
    assert passages
    assert all(line in text for line in passages)


def test_the_command_replays_and_reports_the_first_difference(tmp_path, capsys):
    from sesa_env.cli import main

    path = tmp_path / "episodes.jsonl"
    write_episodes(path, [play_some(make(role="solver"), 0)])
    assert main(["replay", str(path)]) == 0
    assert "1 episodes replayed, no difference" in capsys.readouterr().out
    data = json.loads(path.read_text())
    data["turns"][1]["reward"] = 0.5
    path.write_text(json.dumps(data) + "\n")
    assert main(["replay", str(path)]) == 1
    assert "episode 1: turn 2: reward: recorded 0.5, now -0.1" in capsys.readouterr().out
    path.write_text(path.read_text() + '{"half": ')
    assert main(["replay", str(path)]) == 1
    data["turns"][1]["reward"] = -0.1
    path.write_text(json.dumps(data) + '\n{"half": ')
    assert main(["replay", str(path)]) == 2
    assert "line 2: not an episode record" in capsys.readouterr().err


def test_a_file_that_is_no_bank_is_refused_and_left_alone(tmp_path):
    for content in (b"", b"dear diary"):
        (tmp_path / "bank.sqlite").write_bytes(content)
        with pytest.raises(StoreError):
            make(role="solver", memory=str(tmp_path / "bank.sqlite"))
        assert (tmp_path / "bank.sqlite").read_bytes() == content
        assert len(list(tmp_path.iterdir())) == 1


def test_a_bank_is_read_with_the_embedder_that_wrote_it(tmp_path, monkeypatch):
    class Other(HashEmbedder):
        name = "other"

    with SkillBank.open(tmp_path / "bank.sqlite", embedder=Other()) as bank:
        bank.prime([card("c1")])
    asked = []
    monkeypatch.setattr("sesa_env.memory.recorded.make_embedder", lambda name: asked.append(name) or Other())
    assert make(role="solver", memory=str(tmp_path / "bank.sqlite")).unwrapped.game.memory is not None
    assert asked == ["other"]


def test_a_changed_bank_is_reported(tmp_path):
    path = tmp_path / "bank.sqlite"
    with SkillBank.open(path) as bank:
        bank.prime([card("c1")])
    record = play_some(make(role="solver", memory=str(path)), 0)
    assert replay(record) == ""
    with SkillBank.open(path) as bank:
        bank.prime([card("c2", trigger='Questions that ask "capital of" something else.', description="Another.")])
    assert replay(record).startswith("memory: recorded")


@pytest.mark.parametrize("line", ["", "[]", "{}", '{"format": 2}', "null", '{"format": 1, "task": {"kind": "riddle"}}'])
def test_what_is_no_record_is_named(tmp_path, line):
    path = tmp_path / "episodes.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(StoreError, match=r"line 1: (not|expected) an episode record"):
        list(read_episodes(path))
    with pytest.raises(StoreError, match="expected a readable JSONL file"):
        list(read_episodes(tmp_path / "none.jsonl"))


@given(st.lists(st.text(max_size=30), max_size=8))
@settings(max_examples=30)
def test_any_episode_survives_json(texts):
    env = make(role="solver")
    env.reset(seed=0)
    for text in texts:
        *_, terminated, truncated, _ = env.step(text)
        if terminated or truncated:
            break
    record = env.unwrapped.record()
    assert EpisodeRecord.from_json(record.to_json()) == record
    assert "\n" not in record.to_json()


@given(st.text())
def test_utf8_holds_every_text(text):
    assert text in Utf8()


def test_utf8_refuses_what_is_no_text():
    space = Utf8(5, seed=1)
    assert "abcdef" not in space
    assert "\ud800" not in space
    assert b"abc" not in space
    assert 3 not in space
    assert space == Utf8(5)
    assert space != Utf8(6)
    assert all(space.sample() in space for _ in range(50))
    assert space.from_jsonable(space.to_jsonable(["a", "ü"])) == ["a", "ü"]
    with pytest.raises(ValueError, match="at least 1"):
        Utf8(0)
    with pytest.raises(ValueError, match="cannot be masked"):
        space.sample(mask=1)


def test_the_checker_names_what_is_wrong():
    class Leaky(gymnasium.Env):
        action_space = observation_space = Utf8()
        steps = 0

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return "begin", {"steps": self.steps}

        def step(self, action):
            self.steps += 1
            return "end", 0.0, True, False, {}

    with pytest.raises(CheckError, match="same seed, same episode: seed 0: expected a second reset to agree"):
        check_env(Leaky)


def test_the_checker_wants_texts_and_the_command_says_so(capsys):
    from sesa_env.cli import main

    assert main(["check", "CartPole-v1"]) == 2
    assert "expected an environment whose actions are texts" in capsys.readouterr().err
    assert main(["check", "NoSuchThing-v0"]) == 2
    assert "NoSuchThing" in capsys.readouterr().err


def test_a_recorded_noise_document_that_is_gone_is_a_difference():
    env = make(role="solver")
    record = replace(play_some(env, 0), noise=("gone",))
    assert replay(record).startswith("noise: recorded ('gone',)")


def test_roles_are_strings_everywhere():
    assert [role.value for role in Role] == ["challenger", "solver"]
