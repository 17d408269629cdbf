import math
import os
import random
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.corpus.flashrag import load_benchmarks
from sesa_env.corpus.miniwiki import MiniWiki
from sesa_env.errors import ConfigError
from sesa_env.search import bm25
from sesa_env.search.base import Retriever
from sesa_env.search.bm25 import BM25Retriever, BM25Settings, indexed_text
from sesa_env.search.corpus import ListCorpus
from sesa_env.search.rank import RankBM25Retriever
from sesa_env.search.ranking import DECIMALS
from sesa_env.search.tokenise import Tokeniser, words
from sesa_env.types import Passage

from .conftest import template_corpus

SETTINGS = [BM25Settings(), BM25Settings(1.5, 0.75), BM25Settings(tokeniser=Tokeniser(("the", "of", "in")))]


def ranked(results):
    return [[(passage.id, passage.score) for passage in found] for found in results]


def by_the_formula(corpus, query, k, k1=0.9, b=0.4):
    """BM25 as in the textbook (Lucene's idf), over every passage, ties by corpus order."""
    texts = [words(indexed_text(passage)) for passage in corpus]
    mean = sum(map(len, texts)) / len(texts)
    counts = [Counter(text) for text in texts]
    scores = [0.0] * len(texts)
    for term in dict.fromkeys(words(query)):
        holding = sum(term in count for count in counts)
        idf = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
        for place, count in enumerate(counts):
            norm = k1 * (1 - b + b * len(texts[place]) / mean)
            scores[place] += idf * count[term] / (count[term] + norm)
    scores = [round(score, DECIMALS) for score in scores]
    order = sorted((place for place in range(len(texts)) if scores[place] > 0), key=lambda place: (-scores[place], place))
    return [corpus[place].id for place in order[:k]]


@pytest.mark.parametrize("k", [1, 3, 10, 600, 5000])
def test_it_ranks_by_the_formula_with_ties_in_corpus_order(corpus, queries, k):
    found = BM25Retriever(corpus, backend="numpy").search(queries[:25], k)
    assert [[passage.id for passage in hits] for hits in found] == [by_the_formula(corpus, query, k) for query in queries[:25]]


@pytest.mark.parametrize("settings", SETTINGS)
def test_rank_bm25_ranks_alike(corpus, queries, settings):
    pytest.importorskip("rank_bm25")
    ours, theirs = BM25Retriever(corpus, settings, backend="numpy"), RankBM25Retriever(corpus, settings)
    assert ranked(ours.search(queries, 10)) == ranked(theirs.search(queries, 10))
    assert ours.fingerprint == theirs.fingerprint


def test_rank_bm25_ranks_alike_on_miniwiki():
    pytest.importorskip("rank_bm25")
    wiki = MiniWiki(size=1500)
    corpus, queries = ListCorpus(wiki.passages()), [question.text for question in wiki.questions(300)]
    assert ranked(BM25Retriever(corpus, backend="numpy").search(queries, 10)) == ranked(
        RankBM25Retriever(corpus).search(queries, 10)
    )


def test_rank_bm25_ranks_alike_on_real_questions(shared_data):
    pytest.importorskip("rank_bm25")
    loaded = load_benchmarks(shared_data)
    picked = random.Random(0)
    corpus = ListCorpus(picked.sample(loaded.passages, min(2000, len(loaded.passages))))
    asked = [question.text for questions in loaded.questions.values() for question in questions]
    queries = picked.sample(asked, min(300, len(asked)))
    ours, theirs = BM25Retriever(corpus, backend="numpy").search(queries, 10), RankBM25Retriever(corpus).search(queries, 10)
    assert ranked(ours) == ranked(theirs)


def test_numba_answers_exactly_as_numpy(corpus, queries):
    pytest.importorskip("numba")
    slow, fast = BM25Retriever(corpus, backend="numpy"), BM25Retriever(corpus, backend="numba")
    for k in (1, 3, 10, 600):
        assert ranked(fast.search(queries, k)) == ranked(slow.search(queries, k))


def test_threads_may_share_a_retriever(corpus, queries):
    retriever = BM25Retriever(corpus, backend="numpy")
    expected = ranked(retriever.search(queries, 3))
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda query: retriever.search([query], 3)[0], queries)
    assert ranked(found) == expected


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("better", [0, 60, 99])
def test_a_long_tie_at_the_last_place_is_cut_in_corpus_order(backend, better):
    if backend == "numba":
        pytest.importorskip("numba")
    texts = ["wern fenn" if place == better else "wern vale" for place in range(100)]
    retriever = BM25Retriever(ListCorpus(Passage(str(place), "", text) for place, text in enumerate(texts)), backend=backend)
    rest = [place for place in range(100) if place != better]
    for k in (1, 3, 30, 100):
        hits = retriever.search(["wern fenn", "vale"], k)
        assert [int(hit.id) for hit in hits[0]] == [better, *rest][:k]
        assert [int(hit.id) for hit in hits[1]] == rest[:k]


def test_auto_changes_to_numba_in_midstream_unseen(corpus, queries, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(bm25, "NUMBA_PAYS_AFTER", 5)
    auto, slow = BM25Retriever(corpus), BM25Retriever(corpus, backend="numpy")
    for place, query in enumerate(queries[:12]):
        assert ranked(auto.search([query], 3)) == ranked(slow.search([query], 3))
        assert ("_compiled" in vars(auto)) == (place >= 5)


def test_a_batch_is_its_queries_one_by_one(corpus, queries):
    retriever = BM25Retriever(corpus, backend="numpy")
    batch = [*queries[:20], "", "zzz", queries[0]]
    assert ranked(retriever.search(batch, 5)) == [ranked(retriever.search([query], 5))[0] for query in batch]
    assert retriever.search([], 5) == []


def test_word_order_and_repetition_in_a_query_change_nothing(corpus):
    retriever = BM25Retriever(corpus, backend="numpy")
    found = ranked(retriever.search(["wern book city 日", "日 city book wern", "wern wern book city city 日"], 50))
    assert found[0] == found[1] == found[2]


def test_only_passages_that_hold_a_query_word_are_returned(corpus):
    hits = BM25Retriever(corpus, backend="numpy").search(["company"], len(corpus))[0]
    assert {hit.id for hit in hits} == {passage.id for passage in corpus if "company" in passage.text}
    assert all(hit.score > 0 for hit in hits)


def test_hits_are_the_corpus_passages(corpus):
    hit = BM25Retriever(corpus, backend="numpy").search(["Ørn"], 1)[0][0]
    assert hit == corpus.find(hit.id)


ODD_QUERIES = ["", " \n\t", "?", "nobody", "日", "Ørn", "\ud800", "\x00", "wern " * 200_000, "x" * 1_000_000]


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_odd_queries_are_answered(corpus, backend):
    if backend == "numba":
        pytest.importorskip("numba")
    found = BM25Retriever(corpus, backend=backend).search(ODD_QUERIES, 3)
    assert [len(hits) for hits in found] == [0, 0, 0, 0, 3, 3, 0, 0, 3, 0]


@given(st.lists(st.text(), max_size=5), st.integers(1, 30))
def test_any_query_is_answered(queries, k):
    found = _small().search(queries, k)
    assert len(found) == len(queries)
    assert all(len(hits) <= k for hits in found)


def test_a_query_of_a_megabyte_of_different_words_is_answered(corpus):
    gigantic = " ".join(f"w{number}" for number in range(150_000)) + " Ørn"
    assert ranked(BM25Retriever(corpus, backend="numpy").search([gigantic], 3)) == ranked(
        BM25Retriever(corpus, backend="numpy").search(["Ørn"], 3)
    )


_SMALL = []


def _small():
    if not _SMALL:
        _SMALL.append(BM25Retriever(template_corpus(20), backend="numpy"))
    return _SMALL[0]


@pytest.mark.parametrize("texts", [["?"], ["", " ", "..."]])
def test_a_corpus_without_a_word_answers_nothing(texts):
    corpus = ListCorpus([Passage(str(place), "", text) for place, text in enumerate(texts)])
    for retriever in (BM25Retriever(corpus, backend="numpy"), RankBM25Retriever(corpus)):
        assert retriever.search(["word", ""], 2) == [[], []]


def test_one_passage_is_a_corpus():
    corpus = ListCorpus([Passage("1", "Alda", "wed Corin")])
    assert [hit.id for hit in BM25Retriever(corpus, backend="numpy").search(["alda"], 5)[0]] == ["1"]


def test_the_fingerprint_tells_corpora_and_settings_apart(corpus):
    retrievers = [BM25Retriever(corpus, settings, backend="numpy") for settings in SETTINGS]
    retrievers.append(BM25Retriever(template_corpus(20), backend="numpy"))
    assert len({retriever.fingerprint for retriever in retrievers}) == len(retrievers)
    assert all(isinstance(retriever, Retriever) for retriever in retrievers)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda corpus: BM25Retriever(ListCorpus([])), "at least one passage"),
        (lambda corpus: BM25Retriever(corpus, backend="jax"), "'jax'"),
        (lambda corpus: BM25Retriever(corpus, backend="numpy").search(["x"], 0), "k >= 1"),
        (lambda corpus: BM25Retriever(corpus, backend="numpy").search("x", 1), r"write \[query\]"),
        (lambda corpus: BM25Settings(k1=0), "k1"),
        (lambda corpus: BM25Settings(k1=math.nan), "k1"),
        (lambda corpus: BM25Settings(b=2), "b=2"),
    ],
)
def test_wrong_arguments_are_told(corpus, make, message):
    with pytest.raises(ConfigError, match=message):
        make(corpus)


def test_without_numba_auto_is_numpy_and_numba_names_its_extra(corpus, monkeypatch):
    monkeypatch.setattr(bm25.importlib.util, "find_spec", lambda name: None)
    assert BM25Retriever(corpus).search(["wern"], 1)[0]
    with pytest.raises(ConfigError, match=r"sesa-env\[fast\]"):
        BM25Retriever(corpus, backend="numba")


def test_without_rank_bm25_the_extra_is_named(corpus, monkeypatch):
    monkeypatch.setitem(sys.modules, "rank_bm25", None)
    with pytest.raises(ConfigError, match=r"sesa-env\[rank-bm25\]"):
        RankBM25Retriever(corpus)


def test_a_search_writes_nothing_to_the_terminal(corpus, capfd):
    BM25Retriever(corpus, backend="numpy").search(["wern"], 3)
    assert capfd.readouterr() == ("", "")


def test_the_shared_index_is_read_only(corpus):
    retriever = BM25Retriever(corpus, backend="numpy")
    with pytest.raises(ValueError, match="read-only"):
        retriever._index.scores["data"][0] = 0


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from search.conftest import template_corpus, template_queries
from sesa_env.search.bm25 import BM25Retriever
retriever = BM25Retriever(template_corpus(50), backend="numpy")
retriever.save({target!r})
print(retriever.fingerprint, [[(hit.id, hit.score) for hit in hits] for hits in retriever.search(template_queries(20), 5)])
"""


def test_ranking_and_files_do_not_depend_on_the_hash_seed(tmp_path):
    outputs, files = set(), []
    for seed in ("1", "2"):
        target = tmp_path / seed
        script = SCRIPT.format(tests=os.path.dirname(os.path.dirname(__file__)), target=str(target))
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        outputs.add(subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True).stdout)
        files.append({path.name: path.read_bytes() for path in target.iterdir()})
    assert len(outputs) == 1
    assert files[0] == files[1]
