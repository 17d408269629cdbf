import pickle
import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.errors import ConfigError, StoreError
from sesa_env.search.base import Corpus
from sesa_env.search.corpus import ListCorpus
from sesa_env.search.store import StoredCorpus, write_corpus
from sesa_env.types import Passage

from .conftest import template_corpus

TEXTS = st.text(st.characters(), max_size=20)  # lone surrogates too


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("store") / "corpus", template_corpus(300))


def test_it_is_the_corpus_that_was_written(stored):
    plain = template_corpus(300)
    assert isinstance(stored, Corpus)
    assert len(stored) == 300
    assert stored.fingerprint == plain.fingerprint
    assert list(stored) == list(plain)
    assert [stored.find(f"p{place}") for place in range(300)] == list(plain)
    assert stored.find("p300") is None
    assert stored[-1] == plain[-1]
    assert list(stored[10:20:3]) == list(plain[10:20:3])
    for wrong in (300, -301):
        with pytest.raises(IndexError):
            stored[wrong]


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=8, unique_by=lambda fields: fields[0]))
def test_any_text_comes_back(tmp_path_factory, fields):
    passages = [Passage(*each) for each in fields]
    stored = write_corpus(tmp_path_factory.getbasetemp() / "any", passages)
    assert list(stored) == passages
    assert stored.fingerprint == ListCorpus(passages).fingerprint
    assert [stored.find(passage.id) for passage in passages] == passages


def test_it_pickles_as_its_path(stored):
    again = pickle.loads(pickle.dumps(stored))
    assert again[7] == stored[7]
    assert len(pickle.dumps(stored)) < 500


def test_duplicates_are_counted_and_kept(tmp_path):
    texts = ["a", "b", "a", "a", "c"]
    stored = write_corpus(tmp_path / "corpus", [Passage(str(place), "t", text) for place, text in enumerate(texts)])
    assert stored.duplicates == 2
    assert [passage.id for passage in stored] == ["0", "1", "2", "3", "4"]


def test_two_passages_with_one_id_are_both_named(tmp_path):
    passages = [Passage("1", "Alda", ""), Passage("2", "Oro", ""), Passage("1", "Corin", "")]
    with pytest.raises(ConfigError, match=r"'1' is the id of passage 0 \('Alda'\) and of passage 2 \('Corin'\)"):
        write_corpus(tmp_path / "corpus", passages)
    assert list(tmp_path.iterdir()) == []


def test_ids_whose_hashes_meet_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setattr("sesa_env.search.store._hash", lambda data: len(data))
    passages = [Passage(str(place), "", "") for place in range(10)]
    stored = write_corpus(tmp_path / "corpus", passages)
    assert [stored.find(passage.id) for passage in passages] == passages
    assert stored.find("x") is None


def test_no_passage_and_a_failing_stream_write_nothing(tmp_path):
    def failing():
        yield Passage("1", "", "")
        raise ConfigError("line 2 is wrong")

    with pytest.raises(ConfigError, match="at least one passage"):
        write_corpus(tmp_path / "corpus", [])
    with pytest.raises(ConfigError, match="line 2"):
        write_corpus(tmp_path / "corpus", failing())
    assert list(tmp_path.iterdir()) == []


WRITER = """
import os, signal, sys
from sesa_env.search.store import write_corpus
from sesa_env.types import Passage

def passages():
    yield Passage("1", "", "x" * 100_000)
    os.kill(os.getpid(), signal.SIGKILL)

write_corpus(sys.argv[1], passages())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there, nothing tells the living from the killed")
def test_what_a_killed_writer_has_left_is_removed_by_the_next(tmp_path):
    killed = subprocess.run([sys.executable, "-c", WRITER, str(tmp_path / "corpus")], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [path.name for path in tmp_path.rglob("passages.bin")] == ["passages.bin"]
    (tmp_path / ".corpus-of-mine").mkdir()
    write_corpus(tmp_path / "corpus", template_corpus(20))
    assert sorted(path.name for path in tmp_path.iterdir()) == [".corpus-of-mine", "corpus"]


def test_one_changed_bit_in_any_file_is_told(tmp_path):
    directory = tmp_path / "corpus"
    write_corpus(directory, template_corpus(20))
    for path in sorted(directory.iterdir()):
        whole = path.read_bytes()
        path.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
        with pytest.raises(StoreError, match="index"):
            StoredCorpus(directory)
        path.write_bytes(whole[:-2])
        with pytest.raises(StoreError, match="index"):
            StoredCorpus(directory)
        path.write_bytes(whole)
    StoredCorpus(directory).verify()


def test_a_large_file_is_read_by_verify_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("sesa_env.search.index_files.DIGEST_UP_TO", 10)
    stored = write_corpus(tmp_path / "corpus", template_corpus(20))
    stored.verify()
    path = tmp_path / "corpus" / "passages.bin"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"#")
    with pytest.raises(StoreError, match=r"passages.bin should have contents of SHA-256"):
        StoredCorpus(tmp_path / "corpus").verify()


def test_progress_is_told(tmp_path):
    told = []
    write_corpus(tmp_path / "corpus", template_corpus(20), lambda *news: told.append(news), 20)
    assert told[-1] == ("passages", 20, 20)
