"""`sesa play`: either seat at a terminal, hints, asides, quit and resume."""

import io
import json
import os
import subprocess
import sys

import pytest

from sesa_env.cli import main
from sesa_env.env import SearchEnv
from sesa_env.records import read_episodes, replay
from sesa_env.terminal.hints import _REJECTED
from sesa_env.terminal.seat import PersonAtSeat, as_turn
from sesa_env.types import Role
from sesa_env.validity import REJECT_REASONS
from tests.conftest import ROOT

WORLD = {"size": 400, "n_questions": 20, "n_targets": 20}
OPTIONS = ["--corpus-options", json.dumps(WORLD)]


def seated(*lines, role="solver", index=0, **options):
    """Plays lines at a terminal that ends after them; returns whether the episode was over, what was shown, the environment."""
    env = SearchEnv(role, corpus_options=WORLD, **options)
    env.reset(seed=0, options={"index": index})
    waiting, shown = list(lines), []

    def ask(mark):
        shown.append(mark)
        if not waiting:
            raise EOFError
        return waiting.pop(0)

    over = PersonAtSeat(env, ask, shown.append).play()
    return over, "\n".join(shown), env


def left_alone(*arguments, cwd):
    """Runs `sesa` for a reader who closes the pipe before a line is written; returns the exit code and standard error."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "sesa_env.cli", *arguments],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
    return done.returncode, done.stderr


@pytest.mark.parametrize("arguments", [["list"], ["play", *OPTIONS]], ids=["list", "play"])
def test_a_reader_who_leaves_ends_the_command_quietly(tmp_path, arguments):
    assert left_alone(*arguments, cwd=tmp_path) == (141, "")


def typed(monkeypatch, *lines):
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


@pytest.mark.parametrize(
    ("line", "role", "turn"),
    [
        ("search the mayor ", Role.SOLVER, "<search>the mayor</search>"),
        ("answer 7", Role.SOLVER, "<answer>7</answer>"),
        ("question who is it", Role.CHALLENGER, "<question>who is it</question>"),
        ("<think>a</think><answer>b</answer>", Role.SOLVER, "<think>a</think><answer>b</answer>"),
        ("question who is it", Role.SOLVER, ""),
        ("answer 7", Role.CHALLENGER, ""),
        ("search", Role.SOLVER, ""),
        ("searching high", Role.SOLVER, ""),
        ("", Role.SOLVER, ""),
    ],
)
def test_a_line_is_a_turn_or_none(line, role, turn):
    assert as_turn(line, role) == turn


def test_a_solver_plays_to_the_end_and_reads_what_was_wanted():
    over, shown, env = seated("search mayor", "answer nobody")
    assert over
    assert env.game.attempts[0].prediction == "nobody"
    assert f"Wanted: {env.game.question.answers[0]}" in shown
    assert "solver, 10 turns and 9 searches left > " in shown
    assert "solver, 9 turns and 8 searches left > " in shown


def test_what_is_wanted_is_not_told_before_the_end():
    over, shown, _ = seated("search mayor", "history", "cards", "prompt", "help")
    assert not over
    assert "Wanted" not in shown


def test_asides_and_lines_that_mean_nothing_cost_no_turn():
    _, shown, env = seated("help", "history", "cards", "prompt", "hm", "search mayor", "history")
    assert env.view().turns_left == 9
    assert "You have written nothing yet." in shown
    assert "You are shown no cards" in shown
    assert "Nothing was sent, and no turn spent. Type search WORDS or answer WORDS" in shown
    assert "1. <search>mayor</search>\n<information>" in shown
    assert shown.count("Question: ") == 2


def test_cards_are_shown_to_a_solver_and_an_abstaining_memory_says_so():
    _, shown, env = seated("cards", memory="seeds", index=4)
    assert all(f"{hit.card.id}, cosine {hit.similarity:.3f}" in shown for hit in env.view().cards)
    assert env.view().cards
    _, shown, env = seated("cards", memory="seeds", index=10)
    assert not env.view().cards
    assert "The memory abstains" in shown


@pytest.mark.parametrize(
    ("lines", "role", "hint"),
    [
        (["<answer>"], "solver", "2 more malformed turns lose the seat"),
        (["search a", "search b"], "solver", "your searches are spent; type answer WORDS"),
        (["search town", "question Who?"], "challenger", "Your question is not valid (length): a question has 10 to 1000"),
        (["search town", "question Who is it, then?"], "challenger", "(words): a question has at least 10 words"),
    ],
)
def test_hints_on_errors(lines, role, hint):
    _, shown, _ = seated(*lines, role=role, rules={"max_searches": 1})
    assert hint in shown


def test_there_is_a_hint_for_every_reason_to_reject_a_question():
    assert set(_REJECTED) == set(REJECT_REASONS)


def test_one_person_may_take_both_seats():
    lines = ["search town", "question Which of the two towns on the northern coast has the harbour that everybody knows?"]
    over, shown, env = seated(*lines, role=None)
    assert "challenger, 10 turns" in shown
    assert (over, env.game.state.reject_reason) == (True, "unverified")


def test_the_command_plays_records_and_the_record_replays(monkeypatch, capsys, tmp_path):
    typed(monkeypatch, "search mayor", "answer nobody")
    assert main(["play", *OPTIONS, "--index", "3", "--record", str(tmp_path / "mine.jsonl")]) == 0
    assert "Attempt 1: nobody (wrong, answered)" in capsys.readouterr().out
    (record,) = read_episodes(tmp_path / "mine.jsonl")
    assert replay(record) == ""
    assert [turn.text for turn in record.turns] == ["<search>mayor</search>", "<answer>nobody</answer>"]


@pytest.mark.parametrize("role", ["solver", "challenger", "both"])
def test_a_game_that_was_left_goes_on_to_the_same_end(monkeypatch, capsys, tmp_path, role):
    monkeypatch.chdir(tmp_path)
    first = ["search mayor", "search the town", "hm"]
    last = ["search ship"] + (["answer x"] if role == "solver" else ["question Who is it, then?"])
    typed(monkeypatch, *first, *last)
    options = [*OPTIONS, "--role", role, "--memory", "seeds", "--seed", "5"]
    assert main(["play", *options, "--record", "whole.jsonl"]) == 0
    typed(monkeypatch, *first, "quit")
    assert main(["play", *options]) == 0
    assert "Go on with: sesa play --resume sesa-game.json" in capsys.readouterr().out
    typed(monkeypatch, *last)
    assert main(["play", "--resume", "sesa-game.json", "--record", "parts.jsonl"]) == 0
    assert "1. <search>mayor</search>" in capsys.readouterr().out
    assert (tmp_path / "parts.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_a_saved_game_never_takes_the_place_of_another_but_of_itself(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        typed(monkeypatch, "search mayor")
        main(["play", *OPTIONS])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sesa-game-2.json", "sesa-game.json"]
    typed(monkeypatch, "search the town")
    main(["play", "--resume", "sesa-game.json"])
    assert len(json.loads((tmp_path / "sesa-game.json").read_text())["episode"]["turns"]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sesa-game-2.json", "sesa-game.json"]


def test_a_game_whose_world_or_rules_have_changed_is_not_gone_on_with(monkeypatch, capsys, tmp_path):
    saved = tmp_path / "game.json"
    typed(monkeypatch, "search mayor", "<answer>", "quit")
    main(["play", *OPTIONS, "--save", str(saved)])
    data = json.loads(saved.read_text())
    data["episode"]["setup"]["rules"]["reward"] = {"malformed": 0.5}
    saved.write_text(json.dumps(data))
    assert main(["play", "--resume", str(saved)]) == 2
    assert "the saved game cannot go on as it was: turn 2: reward: recorded -0.1, now -0.5" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--save", "--record"])
def test_a_missing_folder_is_told_before_anything_is_played(monkeypatch, capsys, tmp_path, option):
    typed(monkeypatch, "search mayor", "answer nobody")
    assert main(["play", *OPTIONS, option, str(tmp_path / "none" / "x.json")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"there is no folder {tmp_path / 'none'}; name another file with {option}" in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no saved game"),
        ("[]", "expected a game that `sesa play` saved"),
        ('{"role": "solver"}', "expected a game that `sesa play` saved"),
        ('{"role": "solver", "opponent": null, "episode": {"format": 0}}', "expected a game that `sesa play` saved"),
    ],
)
def test_what_is_no_saved_game_is_told(capsys, tmp_path, content, message):
    if content is not None:
        (tmp_path / "game.json").write_text(content)
    assert main(["play", "--resume", str(tmp_path / "game.json")]) == 2
    assert message in capsys.readouterr().err
