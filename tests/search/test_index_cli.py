import json

import numpy as np
import pytest

from sesa_env.cli import main
from sesa_env.errors import ConfigError, StoreError
from sesa_env.search.bm25 import BM25Retriever
from sesa_env.search.dense import DenseRetriever
from sesa_env.search.index_files import MANIFEST
from sesa_env.search.merging import merge_indices
from sesa_env.search.opening import held_backends, open_corpus, open_index

from .conftest import template_corpus, template_queries
from .toy_encoder import encoded

TOY = ["--encoder", "tests.search.toy_encoder:make"]


@pytest.fixture
def source(tmp_path):
    def write(name, passages):
        path = tmp_path / name
        lines = [{"id": passage.id, "title": passage.title, "text": passage.text} for passage in passages]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return str(path)

    return write


def build(directory, *options):
    assert main(["index", "build", str(directory), *options]) == 0


def test_build_info_verify(tmp_path, source, capsys):
    corpus = template_corpus(300)
    build(
        tmp_path / "index", "--corpus", source("c.jsonl", corpus), "--stop-words", "english", "--k1", "1.2", "--processes", "2"
    )
    facts = json.loads(capsys.readouterr().out)
    assert facts["corpus"] | {"passages": 300, "fingerprint": corpus.fingerprint} == facts["corpus"]
    assert facts["bm25"]["settings"]["k1"] == 1.2
    assert "the" in facts["bm25"]["settings"]["stop_words"]
    assert facts["bm25"]["bytes"] > 1000
    opened = open_index(tmp_path / "index")
    assert opened.corpus.fingerprint == corpus.fingerprint
    queries = template_queries(30)
    assert opened.search(queries, 5) == BM25Retriever(corpus, opened.settings).search(queries, 5)
    assert main(["index", "verify", str(tmp_path / "index")]) == 0
    assert capsys.readouterr().out == "corpus: as it was written\nbm25: as it was written\n"
    assert main(["index", "info", str(tmp_path / "index")]) == 0
    assert json.loads(capsys.readouterr().out) == facts


@pytest.mark.parametrize("kind", ["sq8", "hnsw", "ivfpq"])
def test_another_search_tool_is_added_to_the_corpus_that_is_there_and_its_recall_told(tmp_path, source, capsys, kind):
    pytest.importorskip("faiss")
    build(tmp_path / "index", "--corpus", source("c.jsonl", template_corpus(300)))
    capsys.readouterr()
    build(tmp_path / "index", "--backend", "dense", *TOY, "--faiss", json.dumps({"kind": kind, "links": 8, "code_bytes": 16}))
    told = capsys.readouterr()
    recall = json.loads(told.out)["dense"]["recall"]
    assert 0 < recall <= 1
    assert f"recall of {kind} against flat, first 10 hits: {recall:.4f}" in told.err
    assert held_backends(tmp_path / "index") == ("bm25", "dense")
    assert isinstance(open_index(tmp_path / "index", "dense"), DenseRetriever)
    assert main(["index", "verify", str(tmp_path / "index")]) == 0


def test_verify_reads_what_opening_does_not(tmp_path, source, capsys, monkeypatch):
    build(tmp_path / "index", "--corpus", source("c.jsonl", template_corpus(300)))
    monkeypatch.setattr("sesa_env.search.index_files.DIGEST_UP_TO", 0)
    path = tmp_path / "index" / "bm25" / "data.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    capsys.readouterr()
    open_index(tmp_path / "index")
    assert main(["index", "verify", str(tmp_path / "index")]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "corpus: as it was written"
    assert "data.npy should have contents of SHA-256" in said[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "type --corpus SOURCE"),
        (["--corpus", "nowhere.jsonl"], "there is nothing"),
        (["--k1", "0"], "k1 > 0"),
        (["--faiss", "annoy"], "'annoy'"),
        (["--faiss", "{"], "expected a name or a JSON object"),
        (["--faiss", '{"trees": 3}'], "'trees' is not known"),
        (["--dtype", "float64", "--words", "0", "--corpus", "."], "at least one word"),
    ],
)
def test_wrong_options_are_told_and_leave_nothing(tmp_path, capsys, options, message):
    assert main(["index", "build", str(tmp_path / "index"), *options]) == 2
    assert message in capsys.readouterr().err
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_wrong_line_leaves_nothing(tmp_path, capsys, source):
    path = source("c.jsonl", template_corpus(5))
    with open(path, "a", encoding="utf-8") as file:
        file.write("{}\n")
    assert main(["index", "build", str(tmp_path / "index"), "--corpus", path]) == 2
    assert 'c.jsonl, line 6: "id" must be' in capsys.readouterr().err
    assert list((tmp_path / "index").iterdir()) == []


def test_a_corpus_is_never_replaced(tmp_path, capsys, source):
    path = source("c.jsonl", template_corpus(5))
    build(tmp_path / "index", "--corpus", path)
    assert main(["index", "build", str(tmp_path / "index"), "--corpus", path]) == 2
    assert "leave --corpus out" in capsys.readouterr().err


def test_an_index_that_is_not_there_is_told(tmp_path, capsys, source):
    with pytest.raises(StoreError, match="sesa index build"):
        open_index(tmp_path)
    build(tmp_path / "index", "--corpus", source("c.jsonl", template_corpus(5)))
    with pytest.raises(ConfigError, match=r"expected dense in .*holds bm25; build it with: .*--backend dense"):
        open_index(tmp_path / "index", "dense")


PARTS = (template_corpus(300)[:170], template_corpus(300)[170:], template_corpus(400)[300:])


def built_parts(tmp_path, source, *options):
    for number, part in enumerate(PARTS):
        build(tmp_path / str(number), "--corpus", source(f"{number}.jsonl", part), *options)
    return [tmp_path / str(number) for number in range(len(PARTS))]


def whole(tmp_path, source, *options):
    passages = [passage for part in PARTS for passage in part]
    build(tmp_path / "whole", "--corpus", source("whole.jsonl", passages), *options)
    return tmp_path / "whole"


def test_a_merged_bm25_index_is_the_one_built_from_all(tmp_path, source):
    parts, all_at_once = built_parts(tmp_path, source), whole(tmp_path, source)
    assert main(["index", "merge", str(tmp_path / "merged"), *map(str, parts)]) == 0
    for name in ("corpus", "bm25"):
        for path in (all_at_once / name).iterdir():
            assert path.read_bytes() == (tmp_path / "merged" / name / path.name).read_bytes(), path


@pytest.mark.parametrize("kind", ["flat", "sq8", "hnsw", "ivfpq"])
def test_a_merged_dense_index_finds_what_one_built_from_all_finds(tmp_path, source, kind):
    pytest.importorskip("faiss")
    faiss = json.dumps({"kind": kind, "lists": 4, "probes": 4, "code_bytes": 16, "rescore": 20})
    options = ["--backend", "dense", *TOY, "--faiss", faiss]
    parts = [tmp_path / "0", tmp_path / "1"]
    for part, passages in zip(parts, (template_corpus(300), template_corpus(700)[300:]), strict=True):
        build(part, "--corpus", source("part.jsonl", passages), *options)
    encoded.clear()
    assert merge_indices(tmp_path / "merged", parts) == ("dense",)
    assert encoded == []
    merged = open_index(tmp_path / "merged")
    assert merged.recall > 0.8
    expected = [open_index(part).rows for part in parts]
    assert np.array_equal(merged.rows, np.concatenate(expected))
    flat = merged.with_search(rescore=100, effort=500)
    last = merged.corpus[-1]
    hits = flat.search([f"{last.title}\n{last.text}"], 700)[0]
    assert hits[0].score > 0.999
    assert last.id in {hit.id for hit in hits}


def test_what_some_sources_lack_is_left_out_and_told(tmp_path, source, capsys):
    pytest.importorskip("faiss")
    parts = built_parts(tmp_path, source)[:2]
    build(parts[0], "--backend", "dense", *TOY)
    capsys.readouterr()
    assert main(["index", "merge", str(tmp_path / "merged"), *map(str, parts)]) == 0
    assert "dense is not in every source" in capsys.readouterr().err
    assert held_backends(tmp_path / "merged") == ("bm25",)


def test_what_cannot_be_merged_is_told_and_leaves_nothing(tmp_path, source, capsys):
    build(tmp_path / "a", "--corpus", source("a.jsonl", PARTS[0]))
    build(tmp_path / "b", "--corpus", source("b.jsonl", PARTS[1]), "--k1", "2")
    with pytest.raises(ConfigError, match="same settings"):
        merge_indices(tmp_path / "merged", [tmp_path / "a", tmp_path / "b"])
    with pytest.raises(ConfigError, match="at least two"):
        merge_indices(tmp_path / "merged", [tmp_path / "a"])
    with pytest.raises(StoreError, match="exists"):
        merge_indices(tmp_path / "a", [tmp_path / "a", tmp_path / "b"])
    assert not (tmp_path / "merged").exists()
    with pytest.raises(ConfigError, match="ids must be unique"):
        merge_indices(tmp_path / "merged", [tmp_path / "a", tmp_path / "a"])
    assert open_corpus(tmp_path / "a").fingerprint
    assert not (tmp_path / "merged" / "corpus").exists()
    assert (tmp_path / "a" / "bm25" / MANIFEST).is_file()
