"""Queries a CPU second of BM25: bm25s on numpy and on numba against rank-bm25, on the same 20,000 passages, in one run.

MiniWiki's passages and questions, and the real ones where there are any (SESA_DATA, or ../shared/data beside the checkout).
Each result's `extra_info` holds the queries a CPU second and the ratio to rank-bm25, which ranks alike.
"""

import os
import time
from pathlib import Path

import pytest

from sesa_env.corpus.flashrag import load_benchmarks
from sesa_env.corpus.miniwiki import MiniWiki
from sesa_env.search.bm25 import BM25Retriever
from sesa_env.search.corpus import ListCorpus
from sesa_env.search.rank import RankBM25Retriever

pytest.importorskip("rank_bm25")

PASSAGES = 20_000
QUERIES = 1_000
SLOW_QUERIES = 16  # rank-bm25 needs some tenths of a second for each
TOP_K = 3
AIMS = {"numpy": 250, "numba": 1000}


def miniwiki():
    wiki = MiniWiki(seed=0, size=PASSAGES)
    return ListCorpus(wiki.passages()), [question.text for question in wiki.questions(QUERIES, split="test")]


def real():
    folder = Path(os.environ.get("SESA_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is no folder; set SESA_DATA to one in FlashRAG's layout")
    loaded = load_benchmarks(folder)
    questions = [question.text for of_one in loaded.questions.values() for question in of_one]
    step = max(1, len(loaded.passages) // PASSAGES)
    return ListCorpus(loaded.passages[::step][:PASSAGES]), questions[:: max(1, len(questions) // QUERIES)][:QUERIES]


@pytest.fixture(scope="module", params=[miniwiki, real], ids=["miniwiki", "real"])
def measured(request):
    """The corpus, the queries, and the queries a CPU second of rank-bm25 on them."""
    corpus, queries = request.param()
    sample = queries[:: max(1, len(queries) // SLOW_QUERIES)][:SLOW_QUERIES]
    slow = RankBM25Retriever(corpus)
    start = time.process_time()
    slow.search(sample, TOP_K)
    return corpus, queries, len(sample) / (time.process_time() - start)


@pytest.mark.parametrize("mode", ["batch", "single"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.benchmark(timer=time.process_time, warmup=False)
def test_queries_a_second(benchmark, measured, backend, mode, capsys):
    if backend == "numba":
        pytest.importorskip("numba")
    corpus, queries, baseline = measured
    retriever = BM25Retriever(corpus, backend=backend)
    retriever.search(queries[:2], TOP_K)  # compiles
    batches = [queries] if mode == "batch" else [[query] for query in queries]
    benchmark.pedantic(lambda: [retriever.search(batch, TOP_K) for batch in batches], rounds=5)
    rate = len(queries) / benchmark.stats.stats.min
    benchmark.extra_info.update(
        passages=len(corpus),
        queries_a_second=rate,
        rank_bm25_queries_a_second=baseline,
        ratio=rate / baseline,
        aim=AIMS[backend],
    )
    with capsys.disabled():
        print(  # noqa: T201 - a measurement is for reading
            f"\n{len(corpus)} passages, {backend}, {mode}: {rate:,.0f} queries a CPU second, "
            f"{rate / baseline:,.0f} times rank-bm25's {baseline:.1f} (aim {AIMS[backend]})"
        )
