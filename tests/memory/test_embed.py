"""The hash embedder, and embedders by name."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.errors import ConfigError
from sesa_env.memory.card import card_text
from sesa_env.memory.embed import Embedder, HashEmbedder, make_embedder
from sesa_env.memory.seeds import SEEDS
from tests.memory.helpers import RELATIONS, draft


def cosine(a: str, b: str) -> float:
    left, right = HashEmbedder().embed_queries([a, b])
    return float(left @ right)


@given(st.lists(st.text(), max_size=4))
def test_every_text_has_a_unit_vector(texts):
    embedder = HashEmbedder()
    for vectors in (embedder.embed_queries(texts), embedder.embed_cards(texts)):
        assert vectors.shape == (len(texts), embedder.dimension)
        assert vectors.dtype == np.float32
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_batches_and_repetition_make_no_difference():
    embedder = HashEmbedder()
    texts = ["who wrote it", "", "when was it", "who wrote it"]
    batch = embedder.embed_queries(texts)
    assert all(np.array_equal(batch[i], embedder.embed_queries([text])[0]) for i, text in enumerate(texts))


def test_names_numbers_and_stop_words_make_no_difference():
    assert cosine("Who was the director of Best in Show?", "Who is a director of The Unholy Wife (1957)?") == pytest.approx(1.0)


def test_word_forms_are_near_and_other_words_far():
    assert cosine("who directed", "who is the director") > 0.4
    assert cosine("capital of", "composer of") < 0.2


def test_title_case_keeps_its_words():
    assert cosine("Who Directed The Film", "who directed the film") == pytest.approx(1.0)


def test_texts_without_content_words_are_told_apart():
    assert cosine("the of", "the of") == pytest.approx(1.0)
    assert cosine("the of", "of the and") < 0.5


def test_vectors_are_the_same_in_another_process():
    code = (
        "import hashlib; from sesa_env.memory.embed import HashEmbedder;"
        "print(hashlib.sha256(HashEmbedder().embed_queries(['who wrote it', '名前', '']).tobytes()).hexdigest())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1


def test_embedders_are_made_once_by_name_and_can_be_pickled():
    embedder = make_embedder("hash")
    assert make_embedder("hash") is embedder
    assert isinstance(embedder, Embedder)
    assert pickle.loads(pickle.dumps(embedder)).name == "hash"


def test_an_unknown_name_says_what_is_known(monkeypatch):
    def refuse(path):
        raise OSError(f"no model {path}")

    module = type(sys)("sentence_transformers")
    module.SentenceTransformer = refuse
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    with pytest.raises(ConfigError, match="no embedder 'nonsense': expected 'hash', 'minilm'"):
        make_embedder("nonsense")


class FakeModel:
    """A sentence-transformers model whose vectors tell the length of the text."""

    def __init__(self, path: str) -> None:
        self.seen: list[str] = []

    def get_sentence_embedding_dimension(self) -> int:
        return 2

    def encode(self, texts, **options):
        assert options["normalize_embeddings"]
        self.seen += texts
        return np.array([[1.0, 0.0]] * len(texts))


@pytest.mark.parametrize(("name", "prefixes"), [("intfloat/e5-base-v2", ("query: ", "passage: ")), ("some/other", ("", ""))])
def test_e5_gets_its_prefixes(monkeypatch, name, prefixes):
    module = type(sys)("sentence_transformers")
    module.SentenceTransformer = FakeModel
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    make_embedder.cache_clear()
    embedder = make_embedder(name)
    assert embedder.embed_queries(["a"]).dtype == np.float32
    embedder.embed_cards(["b"])
    assert embedder.embed_cards([]).shape == (0, 2)
    assert embedder._model.seen == [f"{prefixes[0]}a", f"{prefixes[1]}b"]
    assert pickle.loads(pickle.dumps(embedder)) is embedder
    make_embedder.cache_clear()


def test_cards_of_different_relations_are_no_duplicates():
    vectors = HashEmbedder().embed_cards([card_text(draft(relation)) for relation in RELATIONS])
    alike = vectors @ vectors.T - np.eye(len(vectors))
    assert alike.max() < 0.93


def test_the_seeds_are_far_from_each_other():
    vectors = HashEmbedder().embed_cards([card_text(seed) for seed in SEEDS])
    assert (vectors @ vectors.T - np.eye(len(SEEDS))).max() < 0.7
