"""Golden episodes: whoever changes a rule, a prompt, a reward or the built-in corpus is told that it needs a new version."""

import json
import re

import pytest

from sesa_env.game import SearchGame
from sesa_env.records import open_setup, read_episodes, replay, replayed
from tests.conftest import ROOT
from tests.golden.version import FOLDER, PROMPTS, newest
from tests.golden.write import EPISODES, main

FILES = sorted((FOLDER / newest()).glob("*.jsonl"))


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)  # the records name their data from there


def first_prompt(record, recorded):
    """The difference between the prompt that an episode began with and the one that it begins with now."""
    world, config, memory = open_setup(record.setup)
    now = SearchGame(world, config, memory).reset(record.task, seed=record.seed, noise=())
    return "" if now == recorded else f"prompt: recorded {recorded!r}, now {now!r}"


def check(file):
    """Executes a golden episode again; fails with the first difference and with what to do."""
    version = newest()
    coming = f"SESA-Search-v{int(version[1:]) + 1}"
    prompts = json.loads((file.parent / PROMPTS).read_text(encoding="ascii"))
    for record in read_episodes(file):
        if difference := first_prompt(record, prompts[file.stem]) or replay(record):
            pytest.fail(
                f"SESA-Search-{version} no longer plays {file.stem} as it did: {difference}\n"
                f"If a rule, a prompt, a reward or the built-in corpus was to change: register {coming} in "
                "sesa_env/__init__.py, tell it in SearchEnv's version history, and write its episodes: "
                "python -m tests.golden.write. If not, mend the change.",
                pytrace=False,
            )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_game_plays_as_it_did(file):
    check(file)


def test_the_newest_version_has_all_its_episodes():
    assert {file.stem for file in FILES} >= set(EPISODES)
    assert len(FILES) >= 12


def test_every_event_and_every_reason_to_reject_a_question_but_length_occurs():
    events = {turn.event for file in FILES for record in read_episodes(file) for turn in record.turns}
    assert events >= {"search", "answer", "question", "malformed", "forfeit", "over_budget", "out_of_turns"}
    rejected = {event.partition(":")[2] for event in events if event.startswith("rejected:")}
    assert rejected >= {"no_question", "words", "nothing_found", "repeated_query", "unverified", "answer_in_question"}


def test_cards_are_shown_and_foreign_tags_are_harmless():
    cards, flash = (
        next(replayed(record)[0] for record in read_episodes(FOLDER / newest() / f"{name}.jsonl"))
        for name in ("solver_shown_cards", "flash_solver_reads_hostile_passages")
    )
    assert cards.attempts[0].cards
    assert "&lt;/information>" in flash.state.transcript[0].observation


CHANGES = {
    "a prompt": ("sesa_env.game.load_prompt", lambda name: "other words {max_turns}"),
    "a reward": ("sesa_env.game.challenger_reward", lambda solve_rate, config: 0.5),
    "a rule": ("sesa_env.game.exact_match", lambda prediction, answers: True),
    "a filter": ("sesa_env.game.reject_reason", lambda proposal, config: ""),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_fails_and_asks_for_a_new_version(monkeypatch, change):
    monkeypatch.setattr(*CHANGES[change])
    failed = []
    for file in FILES:
        try:
            check(file)
        except pytest.fail.Exception as failure:
            failed.append(str(failure))
    assert failed
    if change == "a prompt":
        assert len(failed) == len(FILES)
    assert all(re.search(r"register SESA-Search-v\d+ in sesa_env/__init__.py", message) for message in failed)


def test_episodes_that_are_there_are_never_written_again(capsys):
    before = {file.name: file.read_bytes() for file in FILES}
    assert main() == 1
    assert "register a new version first" in capsys.readouterr().err
    assert {file.name: file.read_bytes() for file in FILES} == before


def test_the_episodes_of_a_new_version_are_written_whole(tmp_path):
    assert main(tmp_path) == 0
    assert {file.stem for file in (tmp_path / newest()).glob("*.jsonl")} == set(EPISODES)
