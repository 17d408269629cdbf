import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sesa_env.errors import StoreError
from sesa_env.search.bm25 import BM25Retriever, BM25Settings
from sesa_env.search.index_files import MANIFEST
from sesa_env.search.shared import shared_bm25
from sesa_env.search.tokenise import Tokeniser

from .conftest import template_corpus

SETTINGS = BM25Settings(1.2, 0.5, Tokeniser(("the", "é")))


@pytest.fixture
def saved(tmp_path, corpus):
    BM25Retriever(corpus, SETTINGS, backend="numpy").save(tmp_path / "index")
    return tmp_path / "index"


def ranked(results):
    return [[(passage.id, passage.score) for passage in found] for found in results]


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_a_loaded_index_answers_as_the_built_one(saved, corpus, queries, mmap, backend):
    if backend == "numba":
        pytest.importorskip("numba")
    built, loaded = BM25Retriever(corpus, SETTINGS, backend="numpy"), BM25Retriever.load(saved, corpus, mmap, backend)
    assert ranked(loaded.search(queries, 10)) == ranked(built.search(queries, 10))
    assert loaded.settings == SETTINGS
    assert loaded.fingerprint == built.fingerprint


def test_a_loaded_index_is_mapped_not_read(saved, corpus):
    data = BM25Retriever.load(saved, corpus)._index.scores["data"]
    assert isinstance(data.base, np.memmap)


def test_another_corpus_is_refused_with_both_named(saved, corpus):
    other = template_corpus(601)
    with pytest.raises(StoreError) as told:
        BM25Retriever.load(saved, other)
    for part in ("600 passages", corpus.fingerprint[:12], "came 601", other.fingerprint[:12], "sesa index build"):
        assert part in str(told.value)


def test_a_corpus_of_the_same_size_with_one_letter_changed_is_refused(saved, corpus):
    with pytest.raises(StoreError, match="another corpus"):
        BM25Retriever.load(saved, template_corpus(600, seed=7))


def test_no_index_is_told(tmp_path, corpus):
    with pytest.raises(StoreError, match="expected an index"):
        BM25Retriever.load(tmp_path / "nowhere", corpus)


def names(saved):
    return sorted(path.name for path in saved.iterdir())


def test_every_truncated_or_missing_file_is_told(saved, corpus):
    for name in names(saved):
        whole = (saved / name).read_bytes()
        (saved / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(StoreError, match="cannot be read" if name == MANIFEST else f"should have {len(whole)} bytes; came"):
            BM25Retriever.load(saved, corpus)
        (saved / name).unlink()
        with pytest.raises(StoreError, match="there is no" if name == MANIFEST else "it is missing"):
            BM25Retriever.load(saved, corpus)
        (saved / name).write_bytes(whole)
    assert BM25Retriever.load(saved, corpus).search(["wern"], 1)[0]


def flip_each_tenth(whole):
    """Versions of a file with one bit changed, at eleven places from its first byte to its last."""
    for place in range(0, len(whole), max(1, (len(whole) - 1) // 10)):
        yield whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]


def test_one_changed_bit_in_any_file_is_told(saved, corpus):
    for path in (saved / name for name in names(saved) if name != MANIFEST):
        whole = path.read_bytes()
        for changed in flip_each_tenth(whole):
            path.write_bytes(changed)
            with pytest.raises(StoreError, match=f"{path.name} should have contents of SHA-256"):
                BM25Retriever.load(saved, corpus)
        path.write_bytes(whole)
    assert BM25Retriever.load(saved, corpus).search(["wern"], 1)[0]


def test_large_files_are_not_read_until_everything_is(saved, corpus, monkeypatch):
    monkeypatch.setattr("sesa_env.search.index_files.DIGEST_UP_TO", 1000)
    path = saved / "data.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert BM25Retriever.load(saved, corpus).search(["wern"], 1)[0]
    with pytest.raises(StoreError, match=r"data.npy should have contents of SHA-256"):
        BM25Retriever.verify(saved, corpus)
    path.write_bytes(whole)
    BM25Retriever.verify(saved, corpus)


def test_a_large_array_of_zeros_is_told(saved, corpus, monkeypatch):
    monkeypatch.setattr("sesa_env.search.index_files.DIGEST_UP_TO", 0)
    for path in (saved / name for name in names(saved) if name.endswith((".npy", ".json"))):
        whole = path.read_bytes()
        path.write_bytes(b"\x00" * len(whole))
        with pytest.raises(StoreError, match="index"):
            BM25Retriever.load(saved, corpus)
        path.write_bytes(whole)


def edit(saved, **changes):
    path = saved / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "other-1"},
        {"format": "sesa-bm25-index-2"},
        {"settings": {"k1": 1.2}},
        {"settings": {"variant": "bm25-lucene-99", "k1": 1.2, "b": 0.5, "stop_words": []}},
        {"settings": {"variant": "bm25-lucene-1", "k1": 1.2, "b": 5, "stop_words": []}},
        {"files": None},
        {"files": {MANIFEST: 3}},
        {"files": {MANIFEST: {}}},
    ],
)
def test_a_manifest_of_another_version_is_told(saved, corpus, changes):
    edit(saved, **changes)
    with pytest.raises(StoreError, match="index"):
        BM25Retriever.load(saved, corpus)


@pytest.mark.parametrize("content", ["[]", "null", "{", ""])
def test_a_manifest_that_is_none_is_told(saved, corpus, content):
    (saved / MANIFEST).write_text(content)
    with pytest.raises(StoreError, match="index"):
        BM25Retriever.load(saved, corpus)


def test_saving_again_replaces_the_index_and_leaves_nothing_behind(saved, corpus):
    other = template_corpus(30)
    BM25Retriever(other, backend="numpy").save(saved)
    assert BM25Retriever.load(saved, other).search(["wern"], 1)[0]
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_saving_without_replacing_keeps_the_index_that_is_there(saved, corpus):
    BM25Retriever(template_corpus(30), backend="numpy").save(saved, replace=False)
    assert BM25Retriever.load(saved, corpus).search(["wern"], 1)[0]
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_many_writers_at_once_leave_one_whole_index(tmp_path):
    corpus = template_corpus(30)
    retriever = BM25Retriever(corpus, backend="numpy")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: retriever.save(tmp_path / "index"), range(40)))
    assert BM25Retriever.load(tmp_path / "index", corpus).search(["wern"], 1)[0]
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_a_failed_save_leaves_the_old_index_whole(saved, corpus, monkeypatch):
    retriever = BM25Retriever(template_corpus(30), backend="numpy")

    def fails(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr("sesa_env.search.bm25_files.write_terms", fails)
    with pytest.raises(StoreError, match="disk full"):
        retriever.save(saved)
    assert BM25Retriever.load(saved, corpus).search(["wern"], 1)[0]
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_directory_of_something_else_is_never_replaced(tmp_path, corpus):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(StoreError, match="no index"):
        BM25Retriever(corpus, backend="numpy").save(tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_file_in_the_way_is_told(tmp_path, corpus):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="no index"):
        BM25Retriever(corpus, backend="numpy").save(tmp_path / "file")
    with pytest.raises(StoreError, match="cannot be written"):
        BM25Retriever(corpus, backend="numpy").save(tmp_path / "file" / "index")


def test_equal_corpora_share_one_index(tmp_path):
    first = shared_bm25(template_corpus(41), index_dir=tmp_path)
    assert shared_bm25(template_corpus(41)) is first
    assert shared_bm25(template_corpus(41), SETTINGS) is not first
    assert shared_bm25(template_corpus(42)) is not first
    (kept,) = tmp_path.iterdir()
    assert BM25Retriever.load(kept, template_corpus(41)).fingerprint == first.fingerprint


def test_an_index_kept_on_disk_is_loaded_in_place_of_building(tmp_path, monkeypatch):
    corpus = template_corpus(43)
    built = BM25Retriever(corpus, backend="numpy")
    built.save(tmp_path / built.fingerprint[:24])
    monkeypatch.setattr("sesa_env.search.bm25._build", None)
    assert shared_bm25(corpus, index_dir=tmp_path).search(["wern"], 1)[0]


def test_an_index_of_other_settings_in_its_place_is_told(tmp_path):
    corpus = template_corpus(44)
    BM25Retriever(corpus, SETTINGS, backend="numpy").save(tmp_path / BM25Retriever(corpus).fingerprint[:24])
    with pytest.raises(StoreError, match=r"expected an index with .*k1=0\.9.*; came .*k1=1\.2"):
        shared_bm25(corpus, index_dir=tmp_path)
