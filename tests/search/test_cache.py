import multiprocessing
import os
import pickle
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.errors import ConfigError, RetrievalError, StoreError
from sesa_env.search.base import Retriever
from sesa_env.search.bm25 import BM25Retriever
from sesa_env.search.cache import CachedRetriever, CacheSettings
from sesa_env.types import Passage

from .conftest import template_corpus, template_queries


class Counting:
    """Answers each query with passages that name it; fails for "outage"; keeps what it was asked."""

    def __init__(self, fingerprint="counting", size=10):
        self.fingerprint, self.size = fingerprint, size
        self.asked = []

    def search(self, queries, k):
        self.asked.append(list(queries))
        if "outage" in queries:
            raise RetrievalError("out")
        return [[Passage(f"{rank}", query, "x" * self.size, 1 / (rank + 3)) for rank in range(k)] for query in queries]


@pytest.fixture
def opened(request):
    """Makes cached retrievers and closes them."""

    def make(retriever, *arguments, **settings):
        cached = CachedRetriever(retriever, CacheSettings(*arguments, **settings))
        request.addfinalizer(cached.close)
        return cached

    return make


def scored(answers):
    return [[(hit.id, hit.title, hit.text, hit.score) for hit in hits] for hits in answers]


@pytest.mark.parametrize("kept", [100, 0])
def test_answers_are_those_of_the_search_tool_and_asked_once(tmp_path, opened, kept):
    bm25, queries = BM25Retriever(template_corpus(200), backend="numpy"), template_queries(60)
    counting = Counting(bm25.fingerprint)
    counting.search = lambda queries, k: counting.asked.append(list(queries)) or bm25.search(queries, k)
    cached = opened(counting, str(tmp_path / "cache.db"), answers=kept)
    assert isinstance(cached, Retriever)
    asked = [*queries, *queries[:5], "", "\ud800"]
    for _ in range(2):
        assert scored(cached.search(asked, 5)) == scored(bm25.search(asked, 5))
    assert counting.asked == [list(dict.fromkeys(asked))]
    assert (cached.misses, cached.hits) == (len(counting.asked[0]), 2 * len(asked) - len(counting.asked[0]))


def test_k_and_index_are_part_of_the_key(tmp_path, opened):
    path = str(tmp_path / "cache.db")
    one, other = opened(Counting("one"), path), opened(Counting("other"), path)
    assert [len(one.search(["a"], k)[0]) for k in (3, 1, 3)] == [3, 1, 3]
    assert len(one.retriever.asked) == 2
    other.search(["a"], 3)
    assert other.retriever.asked == [["a"]]


def test_another_process_finds_the_answers(tmp_path, opened):
    path = str(tmp_path / "cache.db")
    opened(Counting(), path).search(["a", "b"], 2)
    again = opened(Counting(), path)
    assert scored(again.search(["a", "b"], 2)) == scored(Counting().search(["a", "b"], 2))
    assert again.retriever.asked == []


def test_a_failed_search_is_not_remembered(tmp_path, opened):
    cached = opened(Counting(), str(tmp_path / "cache.db"))
    for _ in range(2):
        with pytest.raises(RetrievalError):
            cached.search(["a", "outage"], 2)
    assert cached.retriever.asked == [["a", "outage"]] * 2
    assert cached.search(["a"], 2)[0]


def test_memory_keeps_what_was_used_last(opened):
    cached = opened(Counting(), answers=2)
    for query in ("a", "b", "a", "c", "a", "b"):
        cached.search([query], 1)
    assert cached.retriever.asked == [["a"], ["b"], ["c"], ["b"]]


def test_the_file_is_bounded_and_the_oldest_give_way(tmp_path, opened):
    path = tmp_path / "cache.db"
    cached = opened(Counting(size=20_000), str(path), answers=0, megabytes=1)
    for number in range(200):
        cached.search([f"q{number}"], 1)
    cached.close()
    assert path.stat().st_size < 1.2 * 2**20
    cached.retriever.asked.clear()
    cached.search(["q199", "q0"], 1)
    assert cached.retriever.asked == [["q0"]]


def test_an_answer_larger_than_the_file_may_be_is_still_given(tmp_path, opened):
    cached = opened(Counting(size=3 * 2**20), str(tmp_path / "cache.db"), answers=0, megabytes=1)
    assert len(cached.search(["a"], 1)[0][0].text) == 3 * 2**20


def test_what_is_handed_out_can_be_changed_without_harm(opened):
    cached = opened(Counting())
    cached.search(["a"], 2)[0].clear()
    assert len(cached.search(["a", "a"], 2)[1]) == 2


def test_a_changed_byte_is_asked_again(tmp_path, opened):
    path = tmp_path / "cache.db"
    opened(Counting(), str(path)).search(["a"], 1)
    connection = sqlite3.connect(path)
    with connection:
        packed = connection.execute("SELECT answer FROM answers").fetchone()[0]
        connection.execute("UPDATE answers SET answer = ?", (packed[:-30] + b"y" + packed[-29:],))
    connection.close()
    again = opened(Counting(), str(path))
    for _ in range(2):
        assert scored(again.search(["a"], 1)) == scored(Counting().search(["a"], 1))
    assert again.retriever.asked == [["a"]]
    last = opened(Counting(), str(path))
    last.search(["a"], 1)
    assert last.retriever.asked == []


@pytest.mark.parametrize("content", [b"years of work", b"SQLite format 3\x00" + b"\x01" * 5000])
def test_a_file_that_is_no_cache_is_told_and_left(tmp_path, content):
    (tmp_path / "thesis.tex").write_bytes(content)
    with pytest.raises(StoreError, match="give another file"):
        CachedRetriever(Counting(), CacheSettings(str(tmp_path / "thesis.tex")))
    assert (tmp_path / "thesis.tex").read_bytes() == content


def test_another_database_is_told(tmp_path):
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE cards (id)")
    connection.close()
    with pytest.raises(StoreError, match="version 1"):
        CachedRetriever(Counting(), CacheSettings(str(tmp_path / "other.db")))


def test_a_file_that_fails_later_costs_the_cache_not_the_search(tmp_path, opened):
    cached = opened(Counting(), str(tmp_path / "cache.db"), answers=0)
    connection = sqlite3.connect(tmp_path / "cache.db")
    with connection:
        connection.execute("DROP TABLE answers")
    connection.close()
    with pytest.warns(RuntimeWarning, match="searches go on without it"):
        assert cached.search(["a"], 2)[0]
    assert scored(cached.search(["a"], 2)) == scored(Counting().search(["a"], 2))  # and is told once


def test_threads_share_it(tmp_path, opened):
    cached = opened(Counting(), str(tmp_path / "cache.db"), answers=5)
    expected = scored(Counting().search([f"q{number % 40}" for number in range(400)], 2))
    barrier = threading.Barrier(8)

    def ask(part):
        barrier.wait()
        return [cached.search([f"q{number % 40}"], 2)[0] for number in range(part * 50, part * 50 + 50)]

    with ThreadPoolExecutor(8) as pool:
        found = [hits for part in pool.map(ask, range(8)) for hits in part]
    assert scored(found) == expected


def write_some(path, start):
    cached = CachedRetriever(Counting(), CacheSettings(path, answers=0))
    for number in range(start, start + 100):
        cached.search([f"q{number}"], 1)
    cached.close()


def test_processes_write_at_once_and_nothing_is_lost(tmp_path, opened):
    path = str(tmp_path / "cache.db")
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=write_some, args=(path, start)) for start in (0, 50, 100)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    cached = opened(Counting(), path)
    cached.search([f"q{number}" for number in range(200)], 1)
    assert cached.retriever.asked == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_a_connection_of_its_own(tmp_path, opened):
    cached = opened(Counting(), str(tmp_path / "cache.db"), answers=0)
    cached.search(["a"], 1)
    child = os.fork()
    if child == 0:
        found = cached.search(["a", "b"], 1)
        os._exit(0 if len(found) == 2 and cached.retriever.asked == [["a"], ["b"]] else 1)
    assert os.waitpid(child, 0)[1] == 0
    cached.search(["a", "b"], 1)
    assert cached.retriever.asked == [["a"]]


def test_it_pickles_without_its_connection(tmp_path, opened):
    cached = opened(Counting(), str(tmp_path / "cache.db"))
    cached.search(["a"], 1)
    again = pickle.loads(pickle.dumps(cached))
    again.search(["a"], 1)
    again.close()
    assert again.retriever.asked == [["a"]]


@given(st.lists(st.text(), max_size=4), st.integers(1, 3))
def test_any_query_is_answered(tmp_path_factory, queries, k):
    cached = CachedRetriever(Counting(), CacheSettings(str(tmp_path_factory.getbasetemp() / "any.db"), answers=0))
    assert scored(cached.search(queries, k)) == scored(Counting().search(queries, k))
    cached.close()


@pytest.mark.parametrize("make", [lambda: CacheSettings(answers=-1), lambda: CacheSettings(megabytes=0)])
def test_wrong_arguments_are_told(make):
    with pytest.raises(ConfigError, match="a cache needs"):
        make()
