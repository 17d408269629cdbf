"""Encoders of sentence-transformers, by a BERT of a few thousand random weights in a folder: nothing is fetched."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("sentence_transformers")

from sesa_env.search.encoder import Encoder, make_encoder

TEXTS = ["alda wed corin", "a town by the sea", "", "\ud800", "wern " * 30_000]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The same model under the names of two families."""
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ":", *letters, *(f"##{letter}" for letter in letters)]
    folder = tmp_path_factory.mktemp("encoders")
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    model = transformers.BertModel(
        transformers.BertConfig(vocab_size=len(vocabulary), max_position_embeddings=64, initializer_range=1.0, **sizes)
    )
    found = {}
    for name in ("tiny-e5", "tiny-plain"):
        model.save_pretrained(folder / name)
        transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder / name)
        found[name] = str(folder / name)
    return found


def test_queries_and_passages_get_the_prefixes_of_their_family(folders):
    e5, plain = make_encoder(folders["tiny-e5"], device="cpu"), make_encoder(folders["tiny-plain"], device="cpu")
    assert isinstance(e5, Encoder)
    queries, passages = e5.encode_queries(TEXTS), e5.encode_passages(TEXTS)
    assert queries == pytest.approx(plain.encode_queries([f"query: {text}" for text in TEXTS]), abs=1e-5)
    assert passages == pytest.approx(plain.encode_passages([f"passage: {text}" for text in TEXTS]), abs=1e-5)
    assert np.abs(queries - passages).max() > 0.01
    assert plain.encode_queries(TEXTS) == pytest.approx(plain.encode_passages(TEXTS), abs=1e-5)


@pytest.mark.parametrize(("dtype", "off"), [("float32", 0.0), ("bfloat16", 0.1)])
def test_vectors_are_unit_vectors_in_single_precision_whatever_is_computed_in(folders, dtype, off):
    plain, encoder = (make_encoder(folders["tiny-plain"], each, "cpu") for each in ("float32", dtype))
    found = encoder.encode_passages(TEXTS)
    assert (found.shape, found.dtype) == ((len(TEXTS), encoder.dimension), np.float32)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1.0, abs=0.01)
    assert np.abs(found - plain.encode_passages(TEXTS)).max() <= off
    assert next(encoder._model.parameters()).dtype == getattr(torch, dtype)
    assert encoder.encode_queries([]).shape == (0, encoder.dimension)
