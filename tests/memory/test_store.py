"""The file: whole, its own, one writer, one embedder."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.errors import ConfigError, StoreError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.base import Failure
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.embed import HashEmbedder
from sesa_env.memory.file import SCHEMA_VERSION
from sesa_env.memory.record import failure_from_json, failure_to_json
from sesa_env.memory.shelf import Shelf
from sesa_env.memory.store import BankStore
from sesa_env.memory.vectors import Rows
from sesa_env.types import Attempt, Group, Passage, Question, SearchCall
from tests.memory.helpers import EAGER, RELATIONS, CountingEmbedder, Teacher, card, failing, question, right, wrong


@pytest.fixture
def path(tmp_path):
    return tmp_path / "bank.sqlite"


def lived(path, run="default") -> SkillBank:
    """A bank with cards, counters, tombstones, pending failures and steps."""
    bank = SkillBank.open(path, EAGER, run=run)
    bank.prime([card("spouse")])
    bank.commit(1, [*failing(1, relation="author"), *failing(2, relation="capital")])
    first, _ = bank.consolidate(1, Teacher()).added
    shown = Group(question(4), (right("card-spouse"), wrong("card-spouse")))
    bank.commit(2, [*(Group(question(i), (wrong(first),)) for i in (3, 5, 6)), shown])
    return bank


def test_a_bank_opened_again_is_the_same(path):
    with lived(path) as bank:
        digest, snapshot = bank.digest(), bank.snapshot()
        cards, pending, stones, stats = bank.cards(), bank.pending(), bank.tombstones(), bank.stats()
    with SkillBank.open(path, EAGER, create=False) as again:
        assert (again.digest(), again.snapshot()) == (digest, snapshot)
        assert (again.cards(), again.pending(), again.tombstones(), again.stats()) == (cards, pending, stones, stats)
        assert np.array_equal(again.tombstones()[0].vector, stones[0].vector)


def test_stats_count_what_is_there(path):
    with lived(path) as bank:
        stats = bank.stats()
    assert {
        name: stats[name] for name in ("cards", "permanent", "tombstones", "pending", "last_step", "last_consolidation")
    } == {
        "cards": 2,
        "permanent": 1,
        "tombstones": 1,
        "pending": 4,
        "last_step": 2,
        "last_consolidation": 1,
    }
    assert stats["origins"] == {"distilled": 1, "imported": 1}
    assert (stats["retrieved"], stats["helpful"], stats["hurt"], stats["never_retrieved"]) == (1, 1.0, 1.0, 1)


def test_it_is_in_wal_mode_and_passes_sqlites_own_check(path):
    with lived(path), closing(sqlite3.connect(path, isolation_level=None)) as raw:
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_the_digest_is_of_the_content_not_of_the_file(path, tmp_path):
    with lived(path) as bank, lived(":memory:") as other:
        digest = bank.digest()
        assert other.digest() == digest
        bank.backup(tmp_path / "copy.sqlite")
    with closing(sqlite3.connect(tmp_path / "copy.sqlite", isolation_level=None)) as raw:
        raw.execute("UPDATE cards SET seq = seq + 100")
    with SkillBank.open(tmp_path / "copy.sqlite", EAGER) as copy:
        assert copy.digest() == digest
        copy.commit(3, [])
        assert copy.digest() != digest


def test_a_backup_overwrites_nothing(path, tmp_path):
    with lived(path) as bank:
        bank.backup(tmp_path / "copy.sqlite")
        with pytest.raises(StoreError, match="exists already"):
            bank.backup(tmp_path / "copy.sqlite")


def test_a_backup_cut_short_leaves_nothing_under_the_final_name(path, tmp_path, monkeypatch):
    copy = tmp_path / "copy.sqlite"
    seen = []

    def kill(part, final):
        seen.append((part.stat().st_size > 0, copy.exists()))
        raise KeyboardInterrupt

    with lived(path) as bank:
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", kill)
            with pytest.raises(KeyboardInterrupt):
                bank.backup(copy)
        assert seen == [(True, False)]
        assert [file.name for file in tmp_path.iterdir() if file.name.startswith("copy")] == []
        (tmp_path / "copy.sqlite.part").write_bytes(b"left by a killed process")
        bank.backup(copy)
        digest = bank.digest()
    with SkillBank.open(copy, EAGER, create=False) as again:
        assert again.digest() == digest
    assert not (tmp_path / "copy.sqlite.part").exists()


def test_a_backup_that_cannot_be_written_is_named(path, tmp_path):
    with lived(path) as bank, pytest.raises(StoreError, match="cannot write a backup to"):
        bank.backup(tmp_path / "absent" / "copy.sqlite")


def test_a_bank_is_opened_with_the_embedder_that_wrote_it(path, monkeypatch):
    made = []

    def make(name):
        made.append(name)
        return CountingEmbedder() if name == "counting" else HashEmbedder()

    monkeypatch.setattr("sesa_env.memory.recorded.make_embedder", make)
    with SkillBank.open(path, embedder=CountingEmbedder()) as bank:
        bank.prime([card("spouse")])
    with SkillBank.open(path, create=False) as bank:
        assert bank.embedder.name == "counting"
    with SkillBank.open() as bank:
        assert bank.embedder.name == "hash"
    assert made == ["counting", "hash"]


def test_a_recorded_embedder_that_cannot_be_had_is_an_error(path):
    with SkillBank.open(path, embedder=CountingEmbedder()) as bank:
        bank.prime([card("spouse")])
    with pytest.raises(ConfigError):
        SkillBank.open(path)


def test_looking_makes_no_bank_of_another_file(path):
    path.write_bytes(b"")
    with pytest.raises(StoreError, match="is empty, not a skill bank"):
        SkillBank.open(path, create=False)
    assert path.read_bytes() == b""
    path.unlink()
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA user_version = 7")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is empty, not a skill bank"):
        SkillBank.open(path, create=False)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("create", [True, False])
def test_the_journal_of_another_programs_database_is_not_tidied_up(path, create):
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA application_id = 7")
        raw.execute("CREATE TABLE photos (name TEXT)")
    raw.close()
    journal = path.with_name(path.name + "-wal")
    journal.write_bytes(b"another program's")
    with pytest.raises(StoreError, match="another program"):
        SkillBank.open(path, create=create)
    assert journal.read_bytes() == b"another program's"


def test_an_empty_file_may_become_a_bank(path):
    path.write_bytes(b"")
    with SkillBank.open(path) as bank:
        assert bank.cards() == []


def test_tombstones_age_by_the_steps_of_their_own_run(path):
    config = MemoryConfig(consolidate_every=1, consolidate_min=1, tombstone_steps=10)
    with SkillBank.open(path, config, run="one") as bank:
        bank.carry_out(bank.plan([card("spouse")])[0])
        bank.commit(1, [Group(question(i), (wrong("card-spouse"),)) for i in range(3)])
        assert len(bank.tombstones()) == 1
    with SkillBank.open(path, config, run="two") as bank:
        bank.commit(500, failing(9))
        assert bank.consolidate(500, Teacher()).rejected == {"tombstone": 1}
    with SkillBank.open(path, config, run="one") as bank:
        bank.commit(11, failing(10))
        assert len(bank.consolidate(11, Teacher()).added) == 1


def test_a_file_that_is_no_database_is_refused_and_left_alone(path):
    path.write_bytes(b"This is a text file of a person, and nothing else." * 40)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is not a readable skill bank"):
        SkillBank.open(path)
    assert path.read_bytes() == before


def test_another_programs_database_is_refused_and_left_alone(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("CREATE TABLE photos (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        SkillBank.open(path)
    assert path.read_bytes() == before


def test_a_damaged_bank_is_refused(path):
    with SkillBank.open(path) as bank:
        bank.prime([card(relation) for relation in RELATIONS])
    data = bytearray(path.read_bytes())
    data[4096 : len(data) - 4096] = bytes(len(data) - 8192)
    path.write_bytes(bytes(data))
    with pytest.raises(StoreError, match=r"damaged|not a readable skill bank"):
        SkillBank.open(path)


def test_a_bank_of_another_schema_is_refused(path):
    SkillBank.open(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(StoreError, match=f"schema version {SCHEMA_VERSION + 1}"):
        SkillBank.open(path)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StoreError, match="does its folder exist"):
        SkillBank.open(tmp_path / "absent" / "bank.sqlite")


def test_a_second_writer_is_noticed(path):
    with SkillBank.open(path) as one, SkillBank.open(path) as two:
        one.commit(1, failing(1))
        for step in (1, 2):
            with pytest.raises(StoreError, match="another process has written"):
                two.commit(step, failing(2))
        with pytest.raises(StoreError, match="another process has written"):
            two.prime([card("spouse")])
        assert (two.pending(), two.cards()) == ([], [])
        assert [failure.question.id for failure in one.pending()] == ["q1"]


def test_another_embedder_is_refused_until_the_cards_are_embedded_anew(path):
    with lived(path) as bank:
        cards = bank.cards()
    with pytest.raises(StoreError, match=r"written with the embedder 'hash' .* reembed=True"):
        SkillBank.open(path, EAGER, embedder=CountingEmbedder())
    embedder = CountingEmbedder()
    with SkillBank.open(path, EAGER, embedder=embedder, reembed=True) as bank:
        assert len(embedder.cards) == len(cards) + len(bank.tombstones())
        assert bank.cards() == cards
        bank.commit(3, failing(9))
    with SkillBank.open(path, EAGER, embedder=CountingEmbedder()) as bank:
        assert bank.last_step == 3


def test_an_embedder_that_cannot_be_had_leaves_no_file(path):
    with pytest.raises(ConfigError):
        SkillBank.open(path, embedder="no-such-model-anywhere")
    assert not path.exists()


def test_runs_keep_their_own_queue_and_steps_and_share_the_tombstones(path):
    with lived(path, run="one") as bank:
        stones = bank.tombstones()
    with SkillBank.open(path, EAGER, run="two") as bank:
        assert bank.tombstones() == stones
        bank.commit(1, failing(1, relation="author"))
        assert bank.pending()[0].repeats == 0
        assert bank.consolidate(1, Teacher()).rejected == {"tombstone": 1}
    with BankStore(path, create=False) as store:
        assert store.last_run() == "two"
        assert store.stats("one")["last_step"] == 2
        assert len(store.pending("one")) == 4


def test_an_evicted_card_let_in_again_starts_at_zero(path):
    config = MemoryConfig(tombstone_steps=0)
    with SkillBank.open(path, config) as bank:
        for step in (1, 2):
            bank.carry_out(bank.plan([card("spouse")])[0])
            failed = [Group(question(10 * step + i), (wrong("card-spouse"),)) for i in range(3)]
            assert bank.commit(step, failed).evicted == ("card-spouse",)
        bank.carry_out(bank.plan([card("spouse")])[0])
    with SkillBank.open(path, config) as bank:
        assert [(made.id, made.retrieved, made.hurt) for made in bank.cards()] == [("card-spouse", 0, 0.0)]


def test_closing_twice_does_no_harm(path):
    bank = SkillBank.open(path)
    bank.close()
    bank.close()


def test_the_shelf_and_the_file_stay_the_same_card_by_card(path):
    with lived(path) as bank, BankStore(path, create=False) as store:
        shelf = Shelf(store, "default", HashEmbedder(), MemoryConfig())
        assert list(shelf.cards.values()) == bank.cards()
        assert np.array_equal(shelf.rows.view(), bank.snapshot().vectors)


def test_rows_grow_without_touching_what_was_handed_out():
    rows = Rows(3, capacity=2)
    views = []
    for i in range(20):
        rows.append(np.full((1, 3), i, np.float32))
        views.append(rows.view())
    less = rows.without([0, 5])
    less.append(np.full((1, 3), 99, np.float32))
    for size, view in enumerate(views, 1):
        assert view[:, 0].tolist() == list(range(size))
        assert not view.flags.writeable
    assert less.view()[:, 0].tolist() == [*(i for i in range(20) if i not in {0, 5}), 99]
    assert Rows(3).nearest(np.ones(3, np.float32)) == -1.0


texts = st.text(st.characters(), max_size=20)
passages = st.builds(Passage, texts, texts, texts, st.floats(allow_nan=False))
attempts = st.builds(
    Attempt,
    texts,
    st.booleans(),
    st.booleans(),
    texts=st.lists(texts, max_size=2).map(tuple),
    searches=st.lists(st.builds(SearchCall, texts, st.lists(passages, max_size=2).map(tuple)), max_size=2).map(tuple),
    cards=st.lists(st.tuples(texts, st.floats(-1, 1)), max_size=2).map(tuple),
)
failures = st.builds(
    Failure,
    texts,
    st.builds(Question, texts, texts, st.lists(texts, min_size=1, max_size=2).map(tuple), entities=st.just(("a", "b"))),
    attempts,
    st.lists(passages, max_size=2).map(tuple),
    st.integers(0, 99),
    st.integers(0, 9),
)


@given(failures)
def test_a_failure_read_back_is_the_same(failure):
    text = failure_to_json(failure)
    again = failure_from_json(text)
    assert again == failure
    assert failure_to_json(again) == text
    assert "\n" not in text
    json.loads(text)


def test_any_text_of_a_player_can_be_stored(path):
    odd = "\x00 \ud800 </answer> \u2028 'quoted' \U0001f600"
    group = Group(
        Question("q", odd, (odd,)),
        (Attempt(odd, False, False, texts=(odd,), searches=(SearchCall(odd, (Passage("p", odd, odd),)),)),),
    )
    with SkillBank.open(path) as bank:
        bank.commit(1, [group])
        pending = bank.pending()
    with SkillBank.open(path) as bank:
        assert bank.pending() == pending
        assert bank.pending()[0].attempt.prediction == odd
