"""The in-process vector environment: beside Gymnasium's own, its one call of the retriever, its autoreset modes and errors."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

from sesa_env.errors import ConfigError, SesaError
from sesa_env.records import read_episodes, replay
from sesa_env.vector import SearchVectorEnv
from sesa_env.wrappers import EpisodeLogger, VectorEpisodeLogger
from tests.faces.scripts import MOVES, WORLD
from tests.toy import ToySnapshot, card

RULES = {"group_size": 2, "max_turns": 4, "challenger_max_turns": 4}
SEATS = {
    "both": {},
    "solver": {"role": "solver"},
    "solver, posed to": {"role": "solver", "opponent": "tests.faces.scripts:make_poser"},
    "challenger": {"role": "challenger"},
}
MODES = ["NextStep", "SameStep", "Disabled"]
pytestmark = pytest.mark.usefixtures("toy")


def make_vec(count=3, **arguments):
    return gymnasium.make_vec("SESA-Search-v0", count, **{"rules": RULES, **arguments})


def test_make_vec_picks_it():
    envs = make_vec(2, role="solver")
    assert isinstance(envs, SearchVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    again = gymnasium.make_vec(envs.spec)
    assert again.num_envs == 2
    assert again.reset(seed=1)[0] == envs.reset(seed=1)[0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seats", SEATS.values(), ids=SEATS)
def test_it_returns_what_gymnasiums_own_returns(mode, seats):
    ours = make_vec(4, autoreset_mode=mode, **seats)
    theirs = make_vec(4, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **seats)
    assert (ours.action_space, ours.observation_space) == (theirs.action_space, theirs.observation_space)
    assert data_equivalence(ours.reset(seed=7), theirs.reset(seed=7), exact=True)
    draw = np.random.default_rng(0)
    for _ in range(40):
        actions = tuple(MOVES[i] for i in draw.integers(len(MOVES), size=4))
        step = ours.step(actions)
        assert data_equivalence(step, theirs.step(actions), exact=True)
        assert step[0] in ours.observation_space
        if mode == "Disabled" and (over := step[2] | step[3]).any():
            again = [envs.reset(seed=[1, None, 3, 4], options={"reset_mask": over.copy()}) for envs in (ours, theirs)]
            assert data_equivalence(*again, exact=True)


def test_the_searches_of_a_step_share_one_call():
    envs = make_vec(3, role="solver")
    envs.reset(seed=0)
    WORLD.retriever.calls.clear()
    envs.step(("<search>alda</search>", "<answer>x</answer>", "<search>vale</search>"))
    assert WORLD.retriever.calls == [["alda", "vale"]]


def test_a_search_that_fails_harms_no_other_row():
    envs = make_vec(2, role="solver")
    envs.reset(seed=0)
    shown, *_, infos = envs.step(("<search>outage</search>", "<search>vale</search>"))
    assert infos["event"].tolist() == ["search_failed", "search"]
    assert "Corin Vale" in shown[1]


def test_cards_are_looked_up_together(monkeypatch):
    asked = []

    class Memory(ToySnapshot):
        def retrieve(self, questions):
            asked.append(len(questions))
            return super().retrieve(questions)

    monkeypatch.setattr("sesa_env.records.open_memory", lambda name: Memory((card("c7"),)))
    envs = make_vec(5, role="solver", memory="anything")
    shown, _ = envs.reset(seed=0)
    assert asked == [5]
    assert all("Find a spouse." in text for text in shown)
    assert [row.view().cards[0].card.id for row in envs.envs] == ["c7"] * 5


def test_an_inner_player_is_asked_for_all_rows_at_once(tmp_path, monkeypatch):
    (tmp_path / "crowd.py").write_text(
        "sizes = []\nclass P:\n    def act(self, view):\n        return '<answer>Corin Vale</answer>'\n"
        "    def act_batch(self, views):\n        sizes.append(len(views))\n        return [self.act(view) for view in views]\n"
        "def make(world, seed=0):\n    return P()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    envs = make_vec(3, role="challenger", opponent="crowd:make")
    envs.reset(seed=0, options={"index": 0})
    envs.step((MOVES[0],) * 3)
    _, rewards, terminated, _, infos = envs.step((MOVES[3],) * 3)
    import crowd

    assert crowd.sizes == [3, 3]  # the group of two attempts
    assert rewards.tolist() == [-0.1] * 3  # everybody solves it
    assert terminated.all()
    assert infos["rewards"]["solver"]["exact_match"].tolist() == [2.0] * 3


def test_rows_are_independent():
    two, three = make_vec(2, role="solver"), make_vec(3, role="solver")
    assert two.reset(seed=[5, 9])[0] == three.reset(seed=[5, 9, 1])[0][:2]
    assert two.step((MOVES[0], MOVES[6]))[0] == three.step((MOVES[0], MOVES[6], MOVES[8]))[0][:2]


def test_records_of_rows_replay():
    envs = make_vec(2, role="solver", autoreset_mode="Disabled")
    envs.reset(seed=0)
    envs.step((MOVES[0], MOVES[5]))
    assert [replay(row.record()) for row in envs.envs] == ["", ""]


def test_rendering():
    assert make_vec(2).render() == (None, None)
    envs = make_vec(2, render_mode="ansi")
    envs.reset(seed=0)
    envs.step((MOVES[0], MOVES[7]))
    assert [text.partition("\n")[0] for text in envs.render()] == [f"[challenger] {MOVES[0]}", f"[challenger] {MOVES[7]}"]


@pytest.mark.parametrize("mode", MODES[:2])
def test_gymnasiums_vector_wrappers(mode):
    envs = DictInfoToList(RecordEpisodeStatistics(make_vec(2, role="solver", autoreset_mode=mode)))
    envs.reset(seed=0)
    envs.step(("<search>alda</search>", "<search>"))
    *_, infos = envs.step(("<answer>Corin Vale</answer>", "<answer>x</answer>"))
    ends = [(info["episode"]["r"], info["episode"]["l"]) for info in infos]
    assert ends == [(1.0, 2), (pytest.approx(-0.1), 2)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seats", SEATS.values(), ids=SEATS)
def test_the_log_is_what_a_logger_around_each_row_writes(mode, seats, tmp_path):
    def single():
        return EpisodeLogger(gymnasium.make("SESA-Search-v0", rules=RULES, **seats), str(tmp_path / "singles.jsonl"))

    loggers = SyncVectorEnv([single] * 4, autoreset_mode=mode)
    ours = VectorEpisodeLogger(make_vec(4, autoreset_mode=mode, **seats), str(tmp_path / "ours.jsonl"))
    draw = np.random.default_rng(0)
    for envs in (loggers, ours):
        envs.reset(seed=7)
    ended = 0
    for _ in range(40):
        actions = tuple(MOVES[i] for i in draw.integers(len(MOVES), size=4))
        _, _, terminated, truncated, _ = [envs.step(actions) for envs in (loggers, ours)][1]
        over = terminated | truncated
        ended += over.sum()
        if mode == "Disabled" and over.any():
            for envs in (loggers, ours):
                envs.reset(options={"reset_mask": over.copy()})
    assert (tmp_path / "ours.jsonl").read_bytes() == (tmp_path / "singles.jsonl").read_bytes()
    records = list(read_episodes(tmp_path / "ours.jsonl"))
    assert len(records) == ended > 4
    assert [replay(record) for record in records[-3:]] == [""] * 3


def test_a_vector_logger_wants_our_vector_environment(tmp_path):
    theirs = make_vec(2, vectorization_mode="sync", role="solver")
    for other in (theirs, gymnasium.make("SESA-Search-v0", role="solver")):
        with pytest.raises(ConfigError, match=r"around a single environment, .* put EpisodeLogger"):
            VectorEpisodeLogger(other, str(tmp_path / "log.jsonl"))


def test_async_refuses_shared_memory_and_says_what_to_type():
    with pytest.raises(ValueError, match="you can disable this feature with `shared_memory=False`"):
        AsyncVectorEnv([lambda: gymnasium.make("SESA-Search-v0", role="solver")] * 2)


@pytest.mark.slow
def test_async_plays_the_same_episodes():
    small = {"corpus_options": {"size": 300}, "role": "solver"}
    ours = gymnasium.make_vec("SESA-Search-v0", 2, **small)
    other = gymnasium.make_vec("SESA-Search-v0", 2, vectorization_mode="async", vector_kwargs={"shared_memory": False}, **small)
    assert data_equivalence(ours.reset(seed=3), other.reset(seed=3), exact=True)
    for text in (MOVES[1], MOVES[7], MOVES[5], MOVES[0]):
        assert data_equivalence(ours.step((text, text)), other.step((text, text)), exact=True)
    other.close()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_vec(0), "num_envs: expected at least 1; got 0"),
        (lambda: make_vec(autoreset_mode="never"), "expected one of 'NextStep', 'SameStep', 'Disabled'; got 'never'"),
        (lambda: make_vec(role="sover"), "role: expected None"),
        (lambda: make_vec().reset(seed=[1]), "seed: expected a number or 3 of them; got 1"),
        (lambda: make_vec().reset(options={"reset_mask": np.zeros(3, bool)}), "a bool array of shape .3,. with a True in it"),
        (lambda: make_vec().reset(options={"indx": 1}), "got 'indx'"),
        (lambda: make_vec(role="solver").reset(options={"target": {"id": "t", "answer": "a", "hops": 1}}), "nobody plays"),
        (lambda: make_vec().step(("a", "b", "c")), "call reset"),
    ],
)
def test_wrong_calls(call, message):
    with pytest.raises(SesaError, match=message):
        call()


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (("a", "b"), "expected 3 texts, one a row; got 2"),
        ("abc", "expected 3 texts, one a row"),
        (("a", 1, "c"), r"actions\[1\]: expected a string; got int 1"),
    ],
)
def test_wrong_actions_change_nothing(actions, message):
    envs = make_vec(3, role="solver")
    envs.reset(seed=0)
    with pytest.raises(SesaError, match=message):
        envs.step(actions)
    assert [row.view().turns_left for row in envs.envs] == [4, 4, 4]


def test_a_row_that_is_over_must_be_reset_where_nothing_resets_it():
    envs = make_vec(2, role="solver", autoreset_mode="Disabled")
    envs.reset(seed=0)
    _, _, terminated, truncated, _ = envs.step(("<answer>x</answer>", "<search>vale</search>"))
    with pytest.raises(SesaError, match=r"rows \[0\] are over; expected reset\(options={'reset_mask'"):
        envs.step(("", ""))
    envs.reset(options={"reset_mask": terminated | truncated})
    envs.step(("", ""))


def test_a_challenger_that_never_poses_is_named(tmp_path, monkeypatch):
    (tmp_path / "still.py").write_text(
        "class P:\n    def act(self, view):\n        return 'hm'\ndef make(world, seed=0):\n    return P()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SesaError, match="no valid question for 50 targets; last: no_question"):
        make_vec(2, role="solver", opponent="still:make").reset(seed=0)


def test_a_wrong_config_is_a_value_error_too():
    with pytest.raises(ValueError, match="num_envs"):
        SearchVectorEnv(0)
    assert issubclass(ConfigError, SesaError)
