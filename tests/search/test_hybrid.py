import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.errors import ConfigError
from sesa_env.search.bm25 import BM25Retriever
from sesa_env.search.hybrid import HybridRetriever, HybridSettings
from sesa_env.search.ranking import Ranker
from sesa_env.search.rerank import RerankRetriever, RerankSettings, make_cross_encoder

from .conftest import template_corpus, template_queries

CORPUS = template_corpus(40)


class Fixed:
    """Answers every query with the same hits."""

    def __init__(self, hits, corpus=CORPUS):
        self.corpus, self.fingerprint = corpus, str(hits)
        self._hits = hits

    def search(self, queries, k):
        raise NotImplementedError

    def rank(self, queries, k):
        scores = np.array([score for _, score in self._hits[:k]], np.float64)
        return [(scores, np.array([place for place, _ in self._hits[:k]], np.int64)) for _ in queries]


def fused(parts, settings, k=10):
    scores, places = HybridRetriever([Fixed(part) for part in parts], settings).rank(["any"], k)[0]
    return list(zip(places.tolist(), scores.tolist(), strict=True))


def test_reciprocal_ranks_add_up():
    found = fused([[(7, 9.0), (3, 1.0)], [(3, 0.5), (8, 0.4)]], HybridSettings(weights=(1.0, 2.0)))
    expected = [(3, 1 / 62 + 2 / 61), (8, 2 / 62), (7, 1 / 61)]
    assert [place for place, _ in found] == [place for place, _ in expected]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=1e-9)


def test_weighted_scores_are_brought_to_one_scale():
    parts = [[(7, 30.0), (3, 20.0), (1, 10.0)], [(3, 0.9), (8, 0.4)]]
    found = fused(parts, HybridSettings("weighted", (1.0, 0.5)))
    assert found == [(3, 1.0), (7, 1.0), (1, 0.0), (8, 0.0)]


def test_hits_that_score_alike_are_all_worth_one():
    assert fused([[(7, 2.0), (3, 2.0)], []], HybridSettings("weighted")) == [(3, 1.0), (7, 1.0)]


HITS = st.dictionaries(st.integers(0, 39), st.floats(0.1, 50), max_size=12).map(
    lambda hits: sorted(hits.items(), key=lambda hit: (-hit[1], hit[0]))
)


@given(HITS, HITS, st.sampled_from(["rrf", "weighted"]), st.integers(1, 15), st.tuples(st.floats(0, 3), st.floats(0.1, 3)))
def test_fusion_of_anything_is_ordered_whole_and_symmetric(one, two, method, k, weights):
    found = fused([one, two], HybridSettings(method, weights), k)
    other = fused([two, one], HybridSettings(method, weights[::-1]), k)
    assert len(found) == min(k, len({place for place, _ in one + two}))
    assert found == sorted(found, key=lambda hit: (-hit[1], hit[0]))
    assert found == other


def test_a_deep_rank_is_still_a_rank():
    hits = [(place, 40.0 - place) for place in range(40)]
    settings = HybridSettings(weights=(1.0,), constant=5000.0)
    assert [place for place, _ in fused([hits], settings, 40)] == list(range(40))


def test_one_tool_alone_keeps_its_order():
    bm25, queries = BM25Retriever(CORPUS, backend="numpy"), template_queries(40)
    for method in ("rrf", "weighted"):
        hybrid = HybridRetriever([bm25], HybridSettings(method, (1.0,)))
        assert isinstance(hybrid, Ranker)
        for own, found in zip(bm25.search(queries, 3), hybrid.search(queries, 3), strict=True):
            assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
            if method == "rrf":
                assert [hit.id for hit in found] == [hit.id for hit in own]
    assert hybrid.search([], 3) == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: HybridSettings("sum"), "'sum'"),
        (lambda: HybridSettings(weights=()), "weights"),
        (lambda: HybridSettings(weights=(0.0, 0.0)), "weights"),
        (lambda: HybridSettings(weights=(-1.0, 2.0)), "weights"),
        (lambda: HybridSettings(depth=0), "depth"),
        (lambda: HybridRetriever([Fixed([])]), "one weight for each of 1"),
        (lambda: HybridRetriever([Fixed([]), Fixed([], template_corpus(9))]), "one corpus"),
        (lambda: RerankSettings("model", 0), "depth"),
        (lambda: make_cross_encoder("collections:Counter"), r"score\(pairs\)"),
        (lambda: HybridRetriever([Fixed([]), Fixed([])]).rank("x", 1), r"write \[query\]"),
    ],
)
def test_wrong_arguments_are_told(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_fingerprints_tell_settings_apart():
    parts = [Fixed([(1, 1.0)]), Fixed([(2, 1.0)])]
    made = [HybridRetriever(parts), HybridRetriever(parts[::-1]), HybridRetriever(parts, HybridSettings("weighted"))]
    made += [RerankRetriever(parts[0], RerankSettings(NAME)), RerankRetriever(parts[0], RerankSettings(NAME, 7))]
    assert len({each.fingerprint for each in made}) == 5


class LongestFirst:
    """A cross-encoder to whom the longer passage is the better, whatever is asked."""

    def score(self, pairs):
        return np.array([float(len(passage)) for _, passage in pairs], np.float32)


NAME = "tests.search.test_hybrid:LongestFirst"


def test_the_first_hits_are_put_in_the_cross_encoders_order():
    bm25 = BM25Retriever(CORPUS, backend="numpy")
    rerank = RerankRetriever(bm25, RerankSettings(NAME, depth=8))
    queries = ["wern city", "", "fenn", "nobody"]
    found = rerank.search(queries, 3)
    for query, hits in zip(queries, found, strict=True):
        first = bm25.search([query], 8)[0]
        texts = sorted((f"{hit.title}\n{hit.text}" for hit in first), key=len, reverse=True)
        assert [hit.score for hit in hits] == [len(text) for text in texts[:3]]
        assert {hit.id for hit in hits} <= {hit.id for hit in first}
    assert [len(hits) for hits in found] == [3, 0, 3, 0]
    assert rerank.search([], 3) == []
    assert rerank.search(["", "nobody"], 3) == [[], []]
    assert isinstance(rerank, Ranker)


def test_more_hits_than_the_depth_are_all_read():
    bm25 = BM25Retriever(CORPUS, backend="numpy")
    hits = RerankRetriever(bm25, RerankSettings(NAME, depth=2)).search(["wern"], 10)[0]
    assert {hit.id for hit in hits} == {hit.id for hit in bm25.search(["wern"], 10)[0]}


@pytest.fixture(scope="module")
def tiny_cross_encoder(tmp_path_factory):
    """A BERT of a few thousand random weights with one score, as a folder: what a cross-encoder looks like on disk."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("sentence_transformers")
    folder = tmp_path_factory.mktemp("cross-encoder")
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    torch.manual_seed(0)
    for labels in (1, 2):
        sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
        config = transformers.BertConfig(
            vocab_size=len(vocabulary), max_position_embeddings=64, num_labels=labels, initializer_range=1.0, **sizes
        )
        transformers.BertForSequenceClassification(config).save_pretrained(folder / str(labels))
        transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder / str(labels))
    return folder


def test_a_cross_encoder_of_sentence_transformers(tiny_cross_encoder):
    scorer = make_cross_encoder(str(tiny_cross_encoder / "1"))
    pairs = [("who wed alda", "alda wed corin"), ("\ud800", "x " * 40_000), ("who wed alda", "a town")]
    scores = scorer.score(pairs)
    assert scores.shape == (3,)
    assert len(set(scores.tolist())) == 3
    assert scorer.score(pairs[::-1]).tolist() == pytest.approx(scores.tolist()[::-1], abs=1e-5)
    rerank = RerankRetriever(BM25Retriever(CORPUS, backend="numpy"), RerankSettings(str(tiny_cross_encoder / "1"), 8))
    hits = rerank.search(["wern city"], 8)[0]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    with pytest.raises(ConfigError, match="gives 2 scores a pair"):
        make_cross_encoder(str(tiny_cross_encoder / "2"))


def test_without_sentence_transformers_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ConfigError, match=r"sesa-env\[dense\]"):
        make_cross_encoder("some/model")
