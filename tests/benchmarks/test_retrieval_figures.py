"""The measuring of search: small runs of what docs/retrieval.md quotes."""

import json

import numpy as np
import pytest

from benchmarks.retrieval import quality, size
from benchmarks.retrieval.hashed import make
from sesa_env.search.bm25 import BM25Retriever
from sesa_env.search.corpus import ListCorpus
from sesa_env.types import Passage, Question


@pytest.fixture
def data(tmp_path):
    for name in ("nq", "popqa"):
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        passages = [{"id": str(n), "contents": f'"Town {n}"\nTown {n} was founded by Alda {name} {n}.'} for n in range(12)]
        questions = [
            {"id": str(n), "question": f"who founded town {n}", "golden_answers": [f"Alda {name.title()} {n}"]}
            for n in range(4)
        ]
        questions.append({"id": "y", "question": "is town 3 old", "golden_answers": ["yes"]})
        (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, passages)))
        (folder / "test.jsonl").write_text("\n".join(map(json.dumps, questions)))
    return tmp_path / "data"


def test_hits_and_reciprocal_ranks_are_counted():
    texts = ["wern wern fenn", "wern fenn", "wern Oro Vale", "nothing of it"]
    retriever = BM25Retriever(ListCorpus(Passage(str(place), "", text) for place, text in enumerate(texts)), backend="numpy")
    asked = [Question("a", "wern", ("oro vale",)), Question("b", "nothing", ("of it",)), Question("c", "fenn", ("Mira",))]
    found = quality.Score.of(quality.reciprocal_ranks(retriever, asked))
    assert [hit.id for hit in retriever.search(["wern"], 3)[0]] == ["0", "1", "2"]
    assert found.hits == pytest.approx((1 / 3, 2 / 3, 2 / 3))
    assert found.mrr == pytest.approx((1 / 3 + 1) / 3)


def test_quality_of_every_tool_in_a_table(data, tmp_path, capsys):
    pytest.importorskip("faiss")
    arguments = ["--data", str(data), "--index", str(tmp_path / "index"), "--encoder", "benchmarks.retrieval.hashed:make"]
    arguments += ["--rerank", "tests.search.test_hybrid:LongestFirst", "--json", str(tmp_path / "figures.json")]
    assert quality.main(arguments) == 0
    table = capsys.readouterr().out
    assert "24 passages, 8 questions" in table
    assert len(figures := json.loads((tmp_path / "figures.json").read_text())) == 8
    assert all(f"| {name} |" in table for name in figures)
    assert figures["bm25"]["nq"]["mrr"] > 0.5
    assert table.count(" to ") == 8 * 7 // 2
    assert "- bm25 to hybrid, reciprocal ranks: " in table
    assert set(figures["hybrid, reciprocal ranks"]) == {"nq", "popqa"}
    assert quality.main([*arguments[:4], "--tools", "bm25"]) == 0


def test_an_index_of_another_measurement_is_refused(data, tmp_path):
    arguments = ["--data", str(data), "--index", str(tmp_path / "index"), "--tools", "bm25"]
    assert quality.main([*arguments, "--passages", "6"]) == 0
    with pytest.raises(quality.ConfigError, match="another measurement"):
        quality.main(arguments)


def test_hashed_vectors_are_unit_vectors():
    vectors = make().encode_queries(["alda wed corin", "", "alda wed oro"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    assert vectors[0] @ vectors[2] > 0.4
    assert make().encode_queries([]).shape == (0, 384)


@pytest.mark.slow
def test_sizes_in_a_table_and_a_plot(tmp_path, capsys):
    pytest.importorskip("faiss")
    pytest.importorskip("matplotlib")
    assert size.main(["--sizes", "300", "600", "--dense", "300", "--out", str(tmp_path)]) == 0
    assert "| 600 |" in capsys.readouterr().out
    assert (tmp_path / "size.png").stat().st_size > 1000
    figures = json.loads((tmp_path / "size.json").read_text())
    assert [row["kind"] for row in figures["dense"]] == list(size.KINDS)
