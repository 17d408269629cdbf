import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from sesa_env.errors import ConfigError, RetrievalError
from sesa_env.search import dense as dense_module
from sesa_env.search.bm25 import BM25Retriever, BM25Settings
from sesa_env.search.bm25_build import build_bm25
from sesa_env.search.building import only_builder
from sesa_env.search.cache import CachedRetriever, CacheSettings
from sesa_env.search.dense import DenseRetriever, DenseSettings, build_dense
from sesa_env.search.faiss_index import FaissSettings
from sesa_env.search.hybrid import HybridRetriever, HybridSettings
from sesa_env.search.opening import open_index
from sesa_env.search.rerank import RerankRetriever, RerankSettings
from sesa_env.search.shared import shared_dense
from sesa_env.search.store import write_corpus
from sesa_env.worlds import make_world

from . import toy_encoder
from .conftest import template_corpus, template_queries

TOY = "tests.search.toy_encoder:make"
RERANKER = "tests.search.test_hybrid:LongestFirst"
WORLD = {"size": 300, "n_questions": 5, "n_targets": 5}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    pytest.importorskip("faiss")
    directory = tmp_path_factory.mktemp("composing") / "index"
    corpus = write_corpus(directory / "corpus", template_corpus(300))
    build_bm25(directory / "bm25", corpus)
    build_dense(directory / "dense", corpus, DenseSettings(TOY))
    return directory


def test_every_search_tool_of_a_directory_is_opened_by_name(index):
    assert isinstance(open_index(index), BM25Retriever)
    assert isinstance(open_index(index, "dense"), DenseRetriever)
    hybrid = open_index(index, "hybrid", hybrid=HybridSettings("weighted"))
    assert isinstance(hybrid, HybridRetriever)
    assert hybrid.settings.method == "weighted"
    whole = open_index(index, "hybrid", rerank=RerankSettings(RERANKER, 5), cache=CacheSettings())
    assert isinstance(whole, CachedRetriever)
    assert isinstance(whole.retriever, RerankRetriever)
    queries = template_queries(20)
    assert whole.search(queries, 3) == whole.retriever.search(queries, 3)
    with pytest.raises(ConfigError, match="one of bm25, dense, hybrid; came 'tfidf'"):
        open_index(index, "tfidf")


def test_a_world_searches_by_the_backend_that_it_is_told(tmp_path):
    pytest.importorskip("faiss")
    dense = {"encoder": TOY, "faiss": {"kind": "hnsw", "links": 8}}
    options = {**WORLD, "dense": dense, "index_dir": str(tmp_path)}
    worlds = [
        make_world("miniwiki", **options, backend="dense"),
        make_world("miniwiki", **options, backend="hybrid", hybrid={"method": "weighted", "weights": [2, 1]}),
        make_world("miniwiki", **options, rerank={"model": RERANKER, "depth": 5}),
        make_world("miniwiki", **options, cache={"answers": 10}),
    ]
    kinds = [DenseRetriever, HybridRetriever, RerankRetriever, CachedRetriever]
    assert [type(world.retriever) for world in worlds] == kinds
    assert len({world.fingerprint for world in worlds}) == 4
    assert worlds[3].fingerprint == make_world("miniwiki", **WORLD).fingerprint  # a cache changes no answer
    for world in worlds:
        hits = world.retriever.search([world.questions[0].text], 3)[0]
        assert [world.corpus.find(hit.id) for hit in hits] == hits
    toy_encoder.encoded.clear()
    assert shared_dense(worlds[0].corpus, worlds[0].retriever.settings, tmp_path) is worlds[0].retriever
    assert toy_encoder.encoded == []


def test_a_world_searches_an_index_directory(index, tmp_path):
    folder = tmp_path / "data" / "nq"
    folder.mkdir(parents=True)
    (folder / "test.jsonl").write_text(json.dumps({"id": "1", "question": "who wed alda wern", "golden_answers": ["Oro Wern"]}))
    arguments = {"corpus": "flashrag", "data": str(tmp_path / "data"), "index": str(index), "n_targets": 0}
    world = make_world(**arguments)
    assert world.corpus.fingerprint == template_corpus(300).fingerprint
    assert isinstance(world.retriever, BM25Retriever)
    assert isinstance(make_world(**arguments, backend="hybrid").retriever, HybridRetriever)
    with pytest.raises(ConfigError, match="give index or k1, not both"):
        make_world(**arguments, k1=2.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "tfidf"}, "'tfidf'"),
        ({"backend": "dense"}, "index_dir=DIR"),
        ({"backend": "hybrid", "hybrid": {"method": "sum"}}, "'sum'"),
        ({"dense": {"faiss": {"kind": "annoy"}}}, "'annoy'"),
        ({"dense": {"model": "x"}}, "'model' is not known"),
        ({"rerank": {"depth": 3}}, "'model' is missing"),
        ({"stemmer": "klingon"}, "'klingon'"),
        ({"n_targets": -1}, "n_targets"),
        ({"remote": {"url": "http://127.0.0.1:1"}, "backend": "dense"}, "give remote or backend, not both"),
    ],
)
def test_wrong_options_of_a_world_are_told(options, message):
    pytest.importorskip("Stemmer")
    with pytest.raises(ConfigError, match=message):
        make_world("miniwiki", **{**WORLD, **options})


def test_what_is_built_already_is_opened(index, monkeypatch):
    corpus = open_index(index).corpus
    before = (index / "bm25" / "data.npy").stat().st_mtime_ns
    build_bm25(index / "bm25", corpus)
    assert (index / "bm25" / "data.npy").stat().st_mtime_ns == before
    monkeypatch.setattr(dense_module, "write_dense", None)
    assert build_dense(index / "dense", corpus, DenseSettings(TOY)).settings.encoder == TOY
    monkeypatch.undo()
    changed = build_bm25(index / "bm25", corpus, BM25Settings(1.5))
    assert changed.settings.k1 == 1.5
    build_bm25(index / "bm25", corpus)


def test_builders_wait_for_each_other_and_encode_once(tmp_path):
    pytest.importorskip("faiss")
    corpus = template_corpus(120)
    toy_encoder.encoded.clear()
    with ThreadPoolExecutor(4) as pool:
        built = list(pool.map(lambda _: build_dense(tmp_path / "dense", corpus, DenseSettings(TOY)), range(4)))
    assert len({each.fingerprint for each in built}) == 1
    assert len(toy_encoder.encoded) == 120
    assert [path.name for path in tmp_path.iterdir()] == ["dense"]


def test_one_builder_at_a_time(tmp_path):
    inside, most, lock = 0, 0, threading.Lock()

    def work(_):
        nonlocal inside, most
        with only_builder(tmp_path / "index"):
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0.002)
            with lock:
                inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(40)))
    assert most == 1
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_fails_is_a_failed_search(index, monkeypatch):
    def fails(*arguments):
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(toy_encoder.ToyEncoder, "encode_queries", fails)
    for backend in ("dense", "hybrid"):
        with pytest.raises(RetrievalError, match="out of memory"):
            open_index(index, backend).search(["wern"], 3)
    monkeypatch.undo()
    rerank = open_index(index, rerank=RerankSettings(RERANKER))
    monkeypatch.setattr(rerank._encoder, "score", fails, raising=False)
    with pytest.raises(RetrievalError, match="out of memory"):
        rerank.search(["wern"], 3)


def test_settings_of_faiss_are_checked_where_they_are_written():
    with pytest.raises(ConfigError, match="probes"):
        FaissSettings(probes=0)
