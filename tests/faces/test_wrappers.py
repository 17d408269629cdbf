"""Our wrappers, and Gymnasium's usual ones around the environment."""

import itertools

import gymnasium
import pytest
from gymnasium import wrappers as theirs
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_reset_seed_determinism, check_returned_data_not_reused, check_step_determinism

from sesa_env.errors import ConfigError
from sesa_env.records import read_episodes, replay
from sesa_env.wrappers import ChatMessages, EpisodeLogger, ShapedReward, Timing

pytestmark = pytest.mark.usefixtures("toy")
SEARCH, GOLD, NEAR = "<search>alda wern</search>", "<answer>Corin Vale</answer>", "<answer>Corin of Harrow</answer>"
OURS = {
    "EpisodeLogger": lambda env, folder: EpisodeLogger(env, str(folder / "log.jsonl")),
    "ChatMessages": lambda env, folder: ChatMessages(env),
    "Timing": lambda env, folder: Timing(env),
    "ShapedReward": lambda env, folder: ShapedReward(env, {"found": 0.5, "turn": -0.01}),
}


def make(**arguments):
    return gymnasium.make("SESA-Search-v0", **{"role": "solver", **arguments})


@pytest.mark.parametrize("wrap", OURS.values(), ids=OURS)
@pytest.mark.parametrize("role", [None, "solver"])
def test_gymnasiums_checks_pass_through_ours(wrap, role, tmp_path):
    env = wrap(make(role=role), tmp_path)
    check_reset_seed_determinism(env)
    check_step_determinism(env)
    check_returned_data_not_reused(env)
    checked = theirs.PassiveEnvChecker(env)
    checked.reset(seed=0)
    for text in (SEARCH, "oops"):
        checked.step(text)


@pytest.mark.parametrize("wrap", OURS.values(), ids=OURS)
def test_ours_are_kept_in_the_spec(wrap, tmp_path):
    env = wrap(make(), tmp_path)
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert str(again) == str(env)
    assert again.reset(seed=0) == env.reset(seed=0)
    assert again.step(SEARCH) == env.step(SEARCH)


@pytest.mark.parametrize("wrap", [OURS[name] for name in OURS if name != "Timing"])
def test_ours_want_our_environment(wrap, tmp_path):
    with pytest.raises(ConfigError, match="expected an environment around SearchEnv"):
        wrap(gymnasium.make("FrozenLake-v1"), tmp_path)


def test_a_logger_of_one_environment_names_the_logger_of_many(tmp_path):
    with pytest.raises(ConfigError, match="around what make_vec makes put VectorEpisodeLogger"):
        EpisodeLogger(gymnasium.make_vec("SESA-Search-v0", 2, role="solver"), str(tmp_path / "log.jsonl"))


def test_all_at_once_change_no_episode(tmp_path):
    plain = make()
    env = Timing(ShapedReward(EpisodeLogger(ChatMessages(make()), str(tmp_path / "log.jsonl")), {"turn": 1.0}))
    for one in (plain, env):
        one.reset(seed=0)
        one.step(SEARCH)
        one.step(GOLD)
    assert env.unwrapped.record() == plain.unwrapped.record()


def test_the_log_has_each_finished_episode(tmp_path):
    path = tmp_path / "log.jsonl"
    env = EpisodeLogger(make(), str(path))
    for text in (GOLD, NEAR):
        env.reset(seed=1)
        env.step(SEARCH)
        env.step(text)
    env.reset(seed=2)
    env.step(SEARCH)  # not finished
    records = list(read_episodes(path))
    assert [record.turns[-1].text for record in records] == [GOLD, NEAR]
    assert [replay(record) for record in records] == ["", ""]


def test_chat_messages_are_the_seats_conversation():
    env = ChatMessages(make())
    messages, _ = env.reset(seed=0)
    (first,) = messages
    assert first["role"] == "user"
    assert "Question: " in first["content"]
    messages, *_ = env.step(SEARCH)
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[1]["content"] == SEARCH
    assert messages[2]["content"].startswith("<information>")
    messages, _, terminated, _, _ = env.step("<answer>a \ud800</answer>")
    assert terminated
    assert messages[-1] == {"role": "assistant", "content": "<answer>a ?</answer>"}
    assert messages in env.observation_space


def test_chat_messages_of_each_seat():
    env = ChatMessages(make(role=None, rules={"group_size": 2, "challenger_max_turns": 3}))
    env.reset(seed=0, options={"index": 0})
    env.step(SEARCH)
    messages, *_ = env.step("<question>According to the old parish register, who is the lawful spouse of Alda Wern?</question>")
    assert len(messages) == 1  # the Solver's, who has said nothing yet
    assert "Target answer" not in messages[0]["content"]


def test_the_time_is_the_clocks():
    env = Timing(make(), clock=itertools.count().__next__)
    env.reset(seed=0)
    env.step(SEARCH)
    env.step(GOLD)
    env.reset(seed=0)
    times = env.times
    assert (times.episodes, times.steps) == (2, 2)
    assert (times.reset_seconds, times.step_seconds, times.player_seconds) == (2, 2, 2)


@pytest.mark.parametrize(
    ("weights", "texts", "shaping"),
    [
        ({"turn": -0.5}, [SEARCH, "x", GOLD], [-0.5, -0.5, -0.5]),
        ({"search": -0.1}, [SEARCH, "<search>outage</search>", GOLD], [-0.1, 0.0, 0.0]),
        ({"found": 2.0}, ["<search>nine</search>", SEARCH, SEARCH, GOLD], [0.0, 2.0, 0.0, 0.0]),
        ({"near_miss": 1.0}, [SEARCH, NEAR], [0.0, 0.4]),
        ({"near_miss": 1.0}, [SEARCH, GOLD], [0.0, 0.0]),
    ],
)
def test_shaping_by_name(weights, texts, shaping):
    (name,) = weights
    plain, shaped = make(), ShapedReward(make(), weights)
    plain.reset(seed=0)
    shaped.reset(seed=0)
    for text, expected in zip(texts, shaping, strict=True):
        _, reward, _, _, info = shaped.step(text)
        assert info["shaping"] == {name: pytest.approx(expected)}
        assert reward == pytest.approx(plain.step(text)[1] + expected)


def test_what_a_challenger_finds_is_its_target():
    env = ShapedReward(make(role="challenger"), {"found": 1.0})
    env.reset(seed=0, options={"index": 0})
    assert env.step("<search>nine</search>")[1] == 0.0
    assert env.step(SEARCH)[1] == 1.0


def test_shaping_of_ones_own(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "def brevity():\n    return lambda game, turn: -len(turn.text)\ndef nothing():\n    return None\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    env = ShapedReward(make(), {"mine:brevity": 0.5})
    env.reset(seed=0)
    assert env.step("<answer>x</answer>")[1] == pytest.approx(-len("<answer>x</answer>") / 2)
    with pytest.raises(ConfigError, match=r"expected the factory to return a function of .game, turn.; got None"):
        ShapedReward(make(), {"mine:nothing": 1.0})
    with pytest.raises(ConfigError, match="expected one of turn, search, found, near_miss or module:factory"):
        ShapedReward(make(), {"fund": 1.0})
    for wrong in (["found"], {"found": "much"}):
        with pytest.raises(ConfigError, match=r"expected a mapping of names to numbers, for example .'found': 0.2.; got"):
            ShapedReward(make(), wrong)


def play(env, seed=0, texts=(SEARCH, GOLD)):
    """Returns what the steps of an episode returned."""
    env.reset(seed=seed)
    return [env.step(text) for text in texts]


def test_record_episode_statistics():
    *_, last = play(theirs.RecordEpisodeStatistics(make()))
    assert (last[4]["episode"]["r"], last[4]["episode"]["l"]) == (1.0, 2)


def test_time_limit_cuts_between_turns():
    (only,) = play(theirs.TimeLimit(make(), 1), texts=(SEARCH,))
    assert only[2:4] == (False, True)


def test_autoreset_begins_the_next_episode():
    env = ShapedReward(theirs.Autoreset(make()), {"turn": 1.0})
    *_, after = play(env, texts=(SEARCH, GOLD, "not played"))
    assert "Question: " in after[0]
    assert after[4]["shaping"] == {"turn": 0.0}
    assert env.step(GOLD)[1] == 2.0


@pytest.mark.parametrize(
    ("wrap", "rewards"),
    [
        (lambda env: theirs.TransformReward(env, lambda reward: reward - 1), [-1.0, 0.0]),
        (lambda env: theirs.ClipReward(env, 0.0, 0.5), [0.0, 0.5]),
    ],
)
def test_wrappers_of_rewards(wrap, rewards):
    assert [step[1] for step in play(wrap(make()))] == rewards


def test_wrappers_of_observations_and_actions():
    upper = theirs.TransformObservation(make(), str.upper, None)
    assert play(upper)[0][0].startswith("<INFORMATION>")
    tagged = theirs.TransformAction(make(), lambda text: f"<answer>{text}</answer>", None)
    assert play(tagged, texts=("Corin Vale",))[0][1] == 1.0
    frames = theirs.RenderCollection(make(render_mode="ansi"))
    play(frames)
    assert frames.render()[-1].endswith("rewards: {'solver': {'exact_match': 1.0}}")


def test_frames_of_texts():
    stacked = theirs.FrameStackObservation(make(), 2, padding_type="reset")
    assert all("Question: " in text for text in stacked.reset(seed=0)[0])
    padded = theirs.FrameStackObservation(make(), 2, padding_type="zero")
    assert padded.reset(seed=0)[0][0] == ""
    late = theirs.DelayObservation(make(), 1)
    assert late.reset(seed=0)[0] == ""
    assert "Question: " in late.step(SEARCH)[0]


def test_order_is_enforced():
    with pytest.raises(gymnasium.error.ResetNeeded):
        make().step(SEARCH)
