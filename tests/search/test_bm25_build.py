import random

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.errors import ConfigError, StoreError
from sesa_env.search import bm25_build
from sesa_env.search.bm25 import BM25Retriever, BM25Settings, indexed_text
from sesa_env.search.bm25_build import build_bm25
from sesa_env.search.corpus import ListCorpus
from sesa_env.search.counts import count_terms, open_counts, save_counts
from sesa_env.search.postings import put_together
from sesa_env.search.store import write_corpus
from sesa_env.search.tokenise import Tokeniser
from sesa_env.types import Passage

from .conftest import template_corpus, template_queries

ARRAYS = ("indptr", "indices", "data", "counts", "lengths")
SETTINGS = BM25Settings(1.2, 0.5, Tokeniser(("the",)))


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("build") / "corpus", template_corpus(600))


def files(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def equal(one, two):
    return list(one.terms) == list(two.terms) and all(np.array_equal(getattr(one, n), getattr(two, n)) for n in ARRAYS)


def test_the_arrays_are_those_of_bm25s():
    corpus = template_corpus(400)
    ours = BM25Retriever(corpus, SETTINGS, backend="numpy").postings
    column = {term: place for place, term in enumerate(ours.terms)}
    ids = [[column[term] for term in SETTINGS.tokeniser.terms(indexed_text(passage))] for passage in corpus]
    theirs = bm25s.BM25(k1=1.2, b=0.5, method="lucene", dtype="float64", backend="numpy", auto_compile=False)
    theirs.index((ids, column), create_empty_token=False, show_progress=False)
    assert np.array_equal(ours.indptr, theirs.scores["indptr"])
    assert np.array_equal(ours.indices, theirs.scores["indices"])
    assert np.array_equal(ours.data, theirs.scores["data"])


@pytest.mark.parametrize("chunk_bytes", [1, 2000, 2**24])
def test_a_streamed_index_is_the_one_built_in_memory(tmp_path, stored, chunk_bytes):
    BM25Retriever(stored, SETTINGS).save(tmp_path / "memory")
    build_bm25(tmp_path / "stream", stored, SETTINGS, chunk_bytes=chunk_bytes)
    assert files(tmp_path / "memory") == files(tmp_path / "stream")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["memory", "stream"]


def test_several_processes_build_the_same(tmp_path, stored):
    build_bm25(tmp_path / "one", stored, SETTINGS)
    told = []
    build_bm25(tmp_path / "two", stored, SETTINGS, processes=2, chunk_bytes=20_000, progress=lambda *news: told.append(news))
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert ("counted", 600, 600) in told
    assert told[-1][0] == "postings"
    assert told[-1][1] == told[-1][2]


def test_an_interrupted_build_goes_on_where_it_was(tmp_path, stored, monkeypatch):
    counted = []
    plain = bm25_build._count_chunk

    def count(corpus, tokeniser, chunk):
        if len(counted) == 3:
            raise KeyboardInterrupt
        counted.append(chunk[1])
        return plain(corpus, tokeniser, chunk)

    monkeypatch.setattr(bm25_build, "_count_chunk", count)
    with pytest.raises(KeyboardInterrupt):
        build_bm25(tmp_path / "index", stored, chunk_bytes=5000)
    first, counted[:] = list(counted), []
    assert not (tmp_path / "index").exists()
    monkeypatch.setattr(bm25_build, "_count_chunk", lambda *asked: counted.append(asked[2][1]) or plain(*asked))
    built = build_bm25(tmp_path / "index", stored, chunk_bytes=5000)
    assert len(first) == 3
    assert not set(first) & set(counted)
    assert equal(built.postings, BM25Retriever(stored).postings)
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_what_is_half_done_is_of_its_settings_alone(tmp_path, stored, monkeypatch):
    def fails(*arguments):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(bm25_build, "merge_to_disk", fails)
        with pytest.raises(StoreError, match="disk full"):
            build_bm25(tmp_path / "index", stored)
    built = build_bm25(tmp_path / "index", stored, SETTINGS)
    assert equal(built.postings, BM25Retriever(stored, SETTINGS).postings)


@given(st.lists(st.text("ab cé?", max_size=12), min_size=1, max_size=12), st.integers(1, 12), st.integers(1, 9))
def test_however_passages_are_divided_the_index_is_the_same(texts, cut, buffer):
    passages = [Passage(str(place), "", text) for place, text in enumerate(texts)]
    tokeniser = Tokeniser()
    whole = put_together([count_terms(passages, tokeniser)], BM25Settings().weights)
    parts = [count_terms(passages[:cut], tokeniser), count_terms(passages[cut:], tokeniser)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sesa_env.search.postings.BUFFER", buffer)
        assert equal(put_together(parts, BM25Settings().weights), whole)
        again = put_together([whole.as_counts()], BM25Settings().weights)
    assert equal(again, whole)


def test_counts_come_back_from_disk(tmp_path):
    counts = count_terms(template_corpus(50), Tokeniser())
    save_counts(tmp_path / "counts", counts)
    again = open_counts(tmp_path / "counts")
    assert list(again.terms) == counts.terms
    assert np.array_equal(again.places[3:40], counts.places[3:40])
    assert np.array_equal(again.counts[3:40], counts.counts[3:40])
    assert again.most == counts.most


def test_a_word_said_more_often_than_a_byte_can_count(tmp_path):
    texts = ["wern " * 300, "wern", "vale " * 70_000]
    stored = write_corpus(tmp_path / "corpus", [Passage(str(place), "", text) for place, text in enumerate(texts)])
    built = build_bm25(tmp_path / "index", stored)
    assert built.postings.counts.tolist() == [70_000, 300, 1]
    assert [hit.id for hit in built.search(["wern"], 3)[0]] == ["0", "1"]


def test_a_stored_corpus_without_a_word_answers_nothing(tmp_path):
    stored = write_corpus(tmp_path / "corpus", [Passage("1", "", "?"), Passage("2", "", "")])
    assert build_bm25(tmp_path / "index", stored).search(["word", ""], 2) == [[], []]


def test_a_stemmer_meets_other_endings_and_is_stored(tmp_path, stored):
    pytest.importorskip("Stemmer")
    settings = BM25Settings(tokeniser=Tokeniser((), "english"))
    corpus = ListCorpus([Passage("1", "", "She married the painter."), Passage("2", "", "He paints.")])
    plain, stemmed = BM25Retriever(corpus), BM25Retriever(corpus, settings)
    assert plain.search(["who marries"], 2) == [[]]
    assert [hit.id for hit in stemmed.search(["who marries"], 2)[0]] == ["1"]
    assert stemmed.fingerprint != plain.fingerprint
    stemmed.save(tmp_path / "index")
    assert BM25Retriever.load(tmp_path / "index", corpus).settings == settings
    with pytest.raises(ConfigError, match=r"one of arabic.*came 'klingon'"):
        Tokeniser((), "klingon")


def test_single_precision_answers_nearly_alike_in_less_space(tmp_path, stored):
    queries = template_queries(100)
    double, single = BM25Retriever(stored), BM25Retriever(stored, BM25Settings(dtype="float32"))
    assert single.postings.data.nbytes * 2 == double.postings.data.nbytes
    for one, other in zip(double.search(queries, 20), single.search(queries, 20), strict=True):
        assert [hit.score for hit in one] == pytest.approx([hit.score for hit in other], abs=1e-5)
    with pytest.raises(ConfigError, match="'float16'"):
        BM25Settings(dtype="float16")


def test_wrong_arguments_are_told(tmp_path, stored):
    with pytest.raises(ConfigError, match="processes"):
        build_bm25(tmp_path / "index", stored, processes=0)


def test_random_passages_of_many_words(tmp_path):
    """A vocabulary larger than a chunk's, so that chunks share few terms."""
    draw = random.Random(0)
    texts = [" ".join(f"w{draw.randrange(3000)}" for _ in range(20)) for _ in range(300)]
    stored = write_corpus(tmp_path / "corpus", [Passage(str(place), "", text) for place, text in enumerate(texts)])
    built = build_bm25(tmp_path / "index", stored, chunk_bytes=1500)
    assert equal(built.postings, BM25Retriever(stored).postings)
    queries = [" ".join(f"w{draw.randrange(3000)}" for _ in range(5)) for _ in range(30)]
    assert built.search(queries, 10) == BM25Retriever(stored).search(queries, 10)
