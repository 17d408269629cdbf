"""Leaving common words out of the adding up changes no answer, whatever the words weigh."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.search import bm25, pruning, ranking
from sesa_env.search.bm25 import BM25Retriever, BM25Settings
from sesa_env.search.corpus import ListCorpus
from sesa_env.types import Passage

WORDS = [f"w{number}" for number in range(60)]


def skewed_corpus(size, seed, words=12):
    """Passages in which a word is the rarer the higher its number, as in a language."""
    draw = random.Random(seed)
    texts = (" ".join(WORDS[int(60 * draw.random() ** 4)] for _ in range(words)) for _ in range(size))
    return ListCorpus([Passage(str(place), "", text) for place, text in enumerate(texts)])


def skewed_queries(count, seed):
    draw = random.Random(seed)
    return [" ".join(WORDS[int(60 * draw.random() ** 2)] for _ in range(draw.randrange(1, 9))) for _ in range(count)]


def ranked(results):
    return [[(hit.id, hit.score) for hit in found] for found in results]


def prune_always(patch, share):
    patch.setattr(bm25, "PASSAGES_A_HIT", 1)
    patch.setattr(pruning, "POSTINGS", 0)
    patch.setattr(pruning, "COMMON_SHARE", share)
    patch.setattr(ranking, "_FEW", 1)


def by_both(retriever, queries, k, share):
    """Answers without pruning and with it, and how often common words were left out of the adding up."""
    left_out = []

    def noted(*arguments):
        left_out.append(1)
        return pruning.add_common(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bm25, "PASSAGES_A_HIT", 10**9)
        whole = ranked(retriever.search(queries, k))
    with pytest.MonkeyPatch.context() as patch:
        prune_always(patch, share)
        patch.setattr(bm25, "add_common", noted)
        return whole, ranked(retriever.search(queries, k)), len(left_out)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("k", [1, 3, 20])
def test_pruned_answers_are_those_of_adding_up_everything(backend, dtype, k):
    if backend == "numba":
        pytest.importorskip("numba")
    retriever = BM25Retriever(skewed_corpus(3000, 0), BM25Settings(dtype=dtype), backend=backend)
    whole, pruned, left_out = by_both(retriever, skewed_queries(150, 1), k, 0.3)
    assert left_out > 50
    if dtype == "float64":
        assert pruned == whole
    else:  # sums in another order differ by about a millionth in single precision, and may change places
        scores = [[score for _, score in hits] for hits in pruned]
        assert scores == [pytest.approx([score for _, score in hits], abs=1e-5) for hits in whole]


@given(st.integers(64, 300), st.integers(0, 2**32), st.integers(1, 4), st.floats(0.01, 0.99), st.integers(1, 12))
def test_whatever_is_left_out_the_answers_stay(size, seed, k, share, words):
    retriever = BM25Retriever(skewed_corpus(size, seed, words), backend="numpy")
    whole, pruned, _ = by_both(retriever, skewed_queries(5, seed), k, share)
    assert pruned == whole


def test_common_words_decide_between_passages_that_are_alike_without_them():
    texts = ["the sea"] * 500
    texts[100], texts[200], texts[300] = "wern rock isle", "wern the isle", "wern isle rock"
    retriever = BM25Retriever(ListCorpus([Passage(str(n), "", text) for n, text in enumerate(texts)]), backend="numpy")
    whole, pruned, left_out = by_both(retriever, ["the wern"], 3, 0.05)
    assert left_out == 1
    assert pruned == whole
    assert [place for place, _ in pruned[0]] == ["200", "100", "300"]


def test_a_large_corpus_is_pruned_by_itself_and_a_small_one_is_not(monkeypatch):
    left_out = []
    monkeypatch.setattr(bm25, "add_common", lambda *arguments: left_out.append(1) or pruning.add_common(*arguments))
    texts = ["the sea and the land"] * 20_000
    texts[7] = "wern and the sea"
    small, large = (
        BM25Retriever(ListCorpus([Passage(str(n), "", text) for n, text in enumerate(texts[:size])]), backend="numpy")
        for size in (2000, 20_000)
    )
    assert small.search(["wern and the sea"], 1)[0][0].id == "7"
    assert not left_out
    assert large.search(["wern and the sea"], 1)[0][0].id == "7"
    assert left_out
