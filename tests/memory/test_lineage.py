"""The log of a bank: where each card came from, what it did in training, why it died; and banks that have none."""

import argparse
import json
import lzma
import sqlite3
from contextlib import closing

import pytest

from sesa_env.errors import ConfigError, StoreError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.cli import add_bank_commands
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.file import compress
from sesa_env.memory.lineage import Death, Life, Showing, read_lives
from sesa_env.memory.prime import mine
from sesa_env.memory.store import BankStore
from sesa_env.memory.telling import tell_life
from sesa_env.types import Group
from tests.memory.helpers import EAGER, Teacher, card, failing, malformed, question, right, wrong


def lives(path) -> dict[str, Life]:
    with BankStore(path, create=False) as store:
        return {life.card.id: life for life in read_lives(store)}


@pytest.fixture
def path(tmp_path):
    """A bank in which a seed failed a question, a card was written to make that good, helped once, and was evicted."""
    file = tmp_path / "bank.sqlite"
    with SkillBank.open(file, MemoryConfig(consolidate_every=1, consolidate_min=1, evict_after=2)) as bank:
        bank.prime([card("author", "seed")])
        bank.commit(1, [Group(question(1), (wrong("seed"),))])
        (made,) = bank.consolidate(1, Teacher()).added
        bank.commit(2, [Group(question(2), (right(made), wrong(made), malformed(made)))])
        bank.commit(3, [Group(question(3), (wrong(made), wrong(), wrong(made)))])
    return file


def test_a_card_is_followed_from_its_failure_to_its_end(path):
    found = lives(path)
    assert next(iter(found)) == "seed"
    life = found[next(name for name in found if name != "seed")]
    assert life.failure.question == question(1)
    assert life.failure.attempt.prediction == "something else"
    assert life.despite == ("seed",)
    assert life.card.provenance.teacher == "test-teacher"
    assert life.shown == (Showing(2, question(2).text, 0.5, 1, 1), Showing(3, question(3).text, 0.5, 0, 2))
    assert life.death == Death(3, "harmful")
    assert (life.card.retrieved, life.card.helpful, life.card.hurt) == (2, 1.0, 3.0)
    assert life.card.description == "Find the spouse of something."


def test_a_card_that_lives_has_no_end(path):
    seed = lives(path)["seed"]
    assert (seed.death, seed.failure, seed.despite) == (None, None, ())
    assert [one.step for one in seed.shown] == [1]


def test_the_lowest_of_a_crowded_bank_dies_of_the_crowd(tmp_path):
    with SkillBank.open(tmp_path / "bank", MemoryConfig(consolidate_every=1, consolidate_min=1, cap=1)) as bank:
        for step, relation in enumerate(("spouse", "anthem")):
            bank.commit(step, failing(step, relation=relation))
            bank.consolidate(step, Teacher())
    there, gone = lives(tmp_path / "bank").values()
    assert (there.death, gone.death) == (None, Death(1, "crowded"))
    assert (there.ousted, gone.ousted) == ((gone.card.id,), ())
    assert f"to keep the bank's cap: {gone.card.id}" in tell_life(there)


def test_mined_cards_have_their_failures(tmp_path):
    with SkillBank.open(tmp_path / "bank", EAGER) as bank:
        mine(bank, failing(1), Teacher(), target=1)
    (life,) = lives(tmp_path / "bank").values()
    assert life.failure.question == question(1)
    assert life.card.provenance.origin == "mined"


def test_a_failure_that_gave_two_cards_is_stored_once_and_one_that_gave_none_not_at_all(tmp_path):
    with SkillBank.open(tmp_path / "bank", EAGER) as bank:
        bank.commit(1, failing(1, 2, relation="spouse"))  # the second draft is a duplicate of the first
        bank.consolidate(1, Teacher())
    with BankStore(tmp_path / "bank", create=False) as store:
        assert [event.record["question"]["id"] for _, event in store.events() if event.kind == "failure"] == ["q1"]


def test_retrievals_are_those_of_one_run_and_deaths_of_all(path):
    with SkillBank.open(path, run="another") as bank:
        bank.commit(0, [Group(question(4), (right("seed"),))])
    with BankStore(path, create=False) as store:
        now = {life.card.id: life for life in read_lives(store)}
        before = {life.card.id: life for life in read_lives(store, "default")}
    assert [one.question for one in now["seed"].shown] == [question(4).text]
    assert [one.question for one in before["seed"].shown] == [question(1).text]
    assert [name for name, life in now.items() if life.death] == [name for name, life in before.items() if life.death]


def without_log(path) -> None:
    """Makes a bank what it was before there was a log."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP TABLE events")


def test_a_bank_without_a_log_is_read_and_goes_on(path):
    with BankStore(path, create=False) as store:
        digest = store.digest()
    without_log(path)
    found = lives(path)
    gone = next(life for life in found.values() if life.death)
    assert gone.death == Death(3, "")
    assert gone.card.trigger == card("spouse").trigger
    assert gone.card.queries == card("spouse").queries
    assert (gone.failure, gone.shown) == (None, ())
    with BankStore(path, create=False) as store:
        assert store.digest() == digest
    with SkillBank.open(path) as bank:
        bank.commit(4, [Group(question(4), (right("seed"),))])
    assert [one.step for one in lives(path)["seed"].shown] == [4]


def told(capsys, *arguments: str) -> str:
    parser = argparse.ArgumentParser()
    add_bank_commands(parser.add_subparsers(required=True))
    options = parser.parse_args(["bank", "card", *arguments])
    assert options.run(options) == 0
    return capsys.readouterr().out


def test_the_command_tells_the_whole_life(path, capsys):
    name = next(name for name in lives(path) if name != "seed")
    text = told(capsys, str(path), name)
    for part in ("test-teacher at step 1", question(1).text, "answer1", "something else", "made good: seed",
                 "Shown for 2 questions", "1 right, 1 wrong", "Evicted at step 3: its utility fell below zero"):  # fmt: skip
        assert part in text


def test_the_command_says_what_is_not_stored(path, capsys):
    name = next(name for name in lives(path) if name != "seed")
    without_log(path)
    assert "no log that would say why" in told(capsys, str(path), name)
    with pytest.raises(ConfigError, match="has and had no card 'nobody'"):
        told(capsys, str(path), "nobody")


def test_a_compressed_bank_tells_the_same_and_cannot_be_written_to(path, tmp_path, capsys):
    small = tmp_path / "bank.sqlite.xz"
    with SkillBank.open(path) as bank:
        before = bank.snapshot().fingerprint
    small.write_bytes(compress(path))
    assert lives(small) == lives(path)
    name = next(name for name in lives(path) if name != "seed")
    assert told(capsys, str(small), name) == told(capsys, str(path), name)
    with SkillBank.open(small, create=False) as bank:
        assert bank.snapshot().fingerprint == before
        with pytest.raises(StoreError, match="readonly"):
            bank.commit(9, [Group(question(4), (right("seed"),))])


def test_a_file_that_is_no_compressed_bank_is_refused(tmp_path):
    for content in (b"no archive", lzma.compress(b"no bank")):
        (tmp_path / "bank.xz").write_bytes(content)
        with pytest.raises(StoreError, match="compressed skill bank"):
            BankStore(tmp_path / "bank.xz")
    with pytest.raises(StoreError, match="compressed skill bank"):
        BankStore(tmp_path / "missing.xz")


def record(mode, number, right, *cards):
    shown = [[card, 0.5] for card in cards]
    whose = {"arm": "sesa", "seed": 0, "benchmark": "nq", "id": f"q{number}", "question": f"Question {number}?"}
    return {**whose, "mode": mode, "em": right, "cards": shown}


def test_the_command_tells_what_a_card_did_at_evaluation(path, tmp_path, capsys):
    off = [record("off", number, number > 1) for number in range(4)]
    on = [record("on", number, number != 3, "seed", "another") for number in range(4)]
    rows = [*off, *on, record("shuffled", 0, False, "seed"), record("on", 5, True, "another"), record("on", 6, True, "seed")]
    files = tmp_path / "plain.jsonl", tmp_path / "packed.jsonl.xz"
    files[0].write_text("".join(json.dumps(row) + "\n" for row in rows))
    files[1].write_bytes(lzma.compress(files[0].read_bytes()))
    text, packed = (told(capsys, str(path), "seed", "--records", str(file)) for file in files)
    assert text == packed
    assert "Shown for 6 answers at evaluation; with the bank open 5: 2 turned right, 1 turned wrong" in text
    assert "on, cosine 0.500: wrong without, right with it: Question 0?" in text
    assert "shuffled, cosine 0.500: wrong without, wrong with it: Question 0?" in text
    assert "on, cosine 0.500: right with it: Question 6?" in text
    files[0].write_text("{}")
    with pytest.raises(StoreError, match="expected the records of an evaluation"):
        told(capsys, str(path), "seed", "--records", str(files[0]))
