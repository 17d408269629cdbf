"""The documentation's reranker with SmolLM2: a passage that tells of the question comes first, whatever stands beside it."""

import sys

import pytest

torch = pytest.importorskip("torch", reason="needs the llm extra")
pytest.importorskip("transformers", reason="needs the llm extra")

from sesa_env.models import cache_folder
from sesa_env.search.rerank import make_cross_encoder
from tests.conftest import ROOT

pytestmark = [
    pytest.mark.models,
    pytest.mark.skipif(not (cache_folder() / "models").is_dir(), reason="no model in the cache; type: sesa models get smollm2"),
]
PASSAGES = (
    "Bridges\nThe longest bridge of the country crosses the strait in the north.",
    "Marie Curie\nMarie Curie discovered the elements polonium and radium.",
    "Penguins\nPenguins are birds that cannot fly and live in the south.",
)
QUESTIONS = ("Which bridge is the longest?", "Who discovered radium?", "Which birds cannot fly?")


@pytest.fixture(scope="module")
def reranker():
    sys.path.insert(0, str(ROOT / "docs" / "examples"))
    try:
        yield make_cross_encoder("likelihood_reranker:smollm2")
    finally:
        sys.path.remove(str(ROOT / "docs" / "examples"))


def test_the_passage_that_answers_comes_first(reranker):
    scores = reranker.score([(question, passage) for question in QUESTIONS for passage in PASSAGES]).reshape(3, 3)
    assert scores.argmax(axis=1).tolist() == [0, 1, 2]


def test_a_score_is_the_mean_log_probability_whatever_stands_beside_it(reranker):
    pair = (QUESTIONS[1], PASSAGES[1])
    ids, asked = reranker._ids(*pair)
    with torch.no_grad():
        logprobs = reranker.model(torch.tensor([ids])).logits[0].log_softmax(-1)
    by_hand = [float(logprobs[place - 1, ids[place]]) for place in range(len(ids) - asked, len(ids))]
    alone = reranker.score([pair])[0]
    assert alone == pytest.approx(sum(by_hand) / asked, abs=1e-4)
    assert reranker.score([(QUESTIONS[0], PASSAGES[0] * 9), pair])[1] == pytest.approx(alone, abs=1e-4)
