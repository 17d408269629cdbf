"""Players by one name: scripted ones, models loaded here, models behind a server; and saved ones in strangers' hands."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="needs the llm extra")
pytest.importorskip("openai", reason="needs the openai extra")

from agents.llm import LlmPlayer
from agents.players import ServedPlayer, open_player
from sesa_env.errors import ConfigError, SesaError
from sesa_env.game import SearchGame
from sesa_env.integrations.messages import cut_turn
from sesa_env.play import play_questions
from tests.agents.fake_openai import FakeOpenAI
from tests.agents.taught import ANSWER, PLAIN_LOOP, RULES, SEARCH, task, taught_policy
from tests.toy import QUESTION, toy_world


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """A policy that knows one episode, and the directory that it was saved in."""
    policy, directory = taught_policy(), tmp_path_factory.mktemp("taught") / "solver"
    policy.save(directory)
    return policy, directory


def test_a_saved_model_is_a_player(taught):
    player = open_player(f"model:{taught[1]}", toy_world(), sampling={"turn_tokens": 48, "tokens": 2048})
    assert isinstance(player, LlmPlayer)
    (attempt,) = play_questions(toy_world(), [QUESTION], player, RULES)
    assert attempt.texts == (SEARCH, ANSWER)
    assert attempt.correct


def test_a_saved_solver_answers_through_the_protocol_without_our_code(taught, tmp_path):
    """A stranger has the directory, transformers, the prompt and a search tool; he is given no path to this project."""
    policy, directory = taught
    done = subprocess.run(
        [sys.executable, "-I", "-W", "ignore", str(PLAIN_LOOP), str(directory)],
        input=task(policy), capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path,
        env={**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == [SEARCH, ANSWER]


def test_what_a_stranger_runs_imports_nothing_of_ours():
    text = PLAIN_LOOP.read_text()
    assert not any(
        f"{floor}" in line for line in text.splitlines() if "import" in line for floor in ("sesa", "agents", "tests")
    )
    assert len(text.splitlines()) <= 30


def test_models_play_greedily_whatever_the_sampling_says(taught):
    player = open_player(f"model:{taught[1]}", toy_world(), sampling={"temperature": 9.0, "tokens": 2048})
    assert player.sampling.greedy


def test_scripted_players_keep_their_names():
    (attempt,) = play_questions(toy_world(), [QUESTION], open_player("naive", toy_world()))
    assert attempt.searches
    with pytest.raises(ConfigError, match="player 'nobody'"):
        open_player("nobody", toy_world())


@pytest.mark.parametrize("options", [{"model": {"dtyp": "x"}}, {"sampling": {"temprature": 1.0}}])
def test_an_option_that_is_not_known_is_told(taught, options):
    with pytest.raises(ConfigError, match="is not known"):
        open_player(f"model:{taught[1]}", toy_world(), **options)


# ---- behind a server ------------------------------------------------------------------------------------------------


def test_an_episode_is_one_conversation():
    turns = iter([f"{SEARCH} and I shall read it.", f"<think>Corin.</think>{ANSWER}"])
    with FakeOpenAI(lambda body: next(turns)) as server:
        player = open_player(f"openai:m@{server.url}", toy_world(), sampling={"turn_tokens": 48})
        assert isinstance(player, ServedPlayer)
        (attempt,) = play_questions(toy_world(), [QUESTION], player, RULES)
    assert attempt.texts == (SEARCH, f"<think>Corin.</think>{ANSWER}")
    assert attempt.correct
    first, second = server.bodies
    game = SearchGame(toy_world(), RULES)
    assert first["messages"] == [{"role": "user", "content": game.reset(QUESTION)}]
    assert (first["temperature"], first["max_tokens"]) == (0.0, 48)
    assert second["messages"][:2] == [*first["messages"], {"role": "assistant", "content": SEARCH}]
    assert second["messages"][2] == {"role": "user", "content": game.act(SEARCH).observation}


def test_an_outage_is_never_played_as_a_turn():
    with FakeOpenAI(lambda body: (500, {"error": {"message": "down"}})) as server:
        player = open_player(f"openai:m@{server.url}", toy_world())
        with pytest.raises(SesaError, match=r"1 of 1 turns could not be had.*down"):
            play_questions(toy_world(), [QUESTION], player, RULES)


TOO_LONG = (400, {"error": {"message": "maximum context length"}})


@pytest.mark.parametrize("status", [400, 413])
def test_a_conversation_that_the_server_finds_too_long_is_out_of_budget(status, caplog):
    """The unit goes on: another attempt, whose conversation is short, is played to its end."""
    turns = iter([SEARCH, ANSWER, (status, TOO_LONG[1])])
    with FakeOpenAI(lambda body: next(turns)) as server:
        player = open_player(f"openai:m@{server.url}", toy_world())
        player.chat.config = replace(player.chat.config, concurrency=1)
        attempts = play_questions(toy_world(), [QUESTION, QUESTION], player, RULES)
    assert [(attempt.texts, attempt.end, attempt.correct) for attempt in attempts] == [
        ((SEARCH, ""), "out_of_turns", False),
        ((ANSWER,), "answered", True),
    ]
    assert "out of budget after 1 turns" in caplog.text


def test_asked_turn_by_turn_it_has_no_more_to_say():
    game = SearchGame(toy_world(), RULES)
    game.reset(QUESTION)
    game.act(SEARCH)
    with FakeOpenAI(lambda body: TOO_LONG) as server:
        assert open_player(f"openai:m@{server.url}", toy_world()).act(game.view()) == ""


def test_a_server_that_refuses_the_first_request_is_not_played_with():
    """No conversation has made it too long: the server is at fault, or its settings, and a score of 0 would be a lie."""
    with FakeOpenAI(lambda body: TOO_LONG) as server:
        player = open_player(f"openai:m@{server.url}", toy_world())
        with pytest.raises(SesaError, match=r"1 of 1 turns could not be had.*maximum context length"):
            play_questions(toy_world(), [QUESTION], player, RULES)


@pytest.mark.parametrize(
    ("text", "turn"),
    [
        (SEARCH, SEARCH),
        (f"{SEARCH}\n<information>made up</information>{ANSWER}", SEARCH),
        (f"<think>so</think>{ANSWER}.", f"<think>so</think>{ANSWER}"),
        ("<search> open", "<search> open"),
        ("", ""),
    ],
)
def test_a_message_ends_where_a_rollout_would(text, turn):
    assert cut_turn(text) == turn
