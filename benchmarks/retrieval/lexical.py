"""Queries a CPU second of BM25 over the real passages: bm25s on numba and numpy, tantivy, rank-bm25, in one run.

python -m benchmarks.retrieval.lexical --data ../shared/data

Tantivy is another BM25, with its own tokeniser and settings: its figure is beside ours, not against the same answers.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sesa_env.corpus.flashrag import load_benchmarks
from sesa_env.search.bm25 import BM25Retriever
from sesa_env.search.corpus import ListCorpus
from sesa_env.search.rank import RankBM25Retriever

TOP_K = 3
SLOW_QUERIES = 20
"""How many queries rank-bm25 is asked: it needs some tenths of a second for each."""


def main(arguments: list[str] | None = None) -> int:
    """Measures and writes a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="benchmarks in FlashRAG's layout")
    parser.add_argument("--queries", type=int, default=1500)
    options = parser.parse_args(arguments)
    loaded = load_benchmarks(options.data)
    asked = [question.text for of_one in loaded.questions.values() for question in of_one]
    queries = asked[:: max(1, len(asked) // options.queries)][: options.queries]
    corpus = ListCorpus(loaded.passages)
    sys.stdout.write(f"{len(corpus):,} passages, {len(queries):,} questions, top {TOP_K}, CPU seconds of one process\n\n")
    sys.stdout.write("| | build, s | queries a second, batch | singly |\n|---|---|---|---|\n")
    for name, measure in _MEASURES.items():
        sys.stdout.write(f"| {name} | {measure(corpus, queries)} |\n")
        sys.stdout.flush()
    return 0


def _timed(action: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    made = action()
    return time.process_time() - start, made


def _ours(backend: str, corpus: ListCorpus, queries: list[str]) -> str:
    build, retriever = _timed(lambda: BM25Retriever(corpus, backend=backend))
    retriever.search(queries[:2], TOP_K)  # compiles
    batch = min(_timed(lambda: retriever.search(queries, TOP_K))[0] for _ in range(3))
    single = min(_timed(lambda: [retriever.search([query], TOP_K) for query in queries])[0] for _ in range(3))
    return f"{build:.1f} | {len(queries) / batch:,.0f} | {len(queries) / single:,.0f}"


def _rank_bm25(corpus: ListCorpus, queries: list[str]) -> str:
    build, retriever = _timed(lambda: RankBM25Retriever(corpus))
    sample = queries[:: max(1, len(queries) // SLOW_QUERIES)][:SLOW_QUERIES]
    spent, _ = _timed(lambda: retriever.search(sample, TOP_K))
    return f"{build:.1f} | {len(sample) / spent:.1f} | "


def _tantivy(corpus: ListCorpus, queries: list[str]) -> str:
    try:
        import tantivy
    except ImportError:
        return "not installed (pip install tantivy) | | "
    schema = tantivy.SchemaBuilder().add_text_field("text", stored=False).add_unsigned_field("place", stored=True).build()
    build, searcher = _timed(lambda: _tantivy_searcher(tantivy, schema, corpus))
    words = [" ".join(word for word in _plain(query).split()) for query in queries]
    index, reader = searcher
    single = min(
        _timed(lambda: [reader.search(index.parse_query(query, ["text"]), TOP_K) for query in words if query])[0]
        for _ in range(3)
    )
    return f"{build:.1f} | | {len(queries) / single:,.0f}"


def _plain(query: str) -> str:
    """Returns a query without the signs that tantivy's query language gives a meaning."""
    return "".join(letter if letter.isalnum() else " " for letter in query).lower()


def _tantivy_searcher(tantivy: Any, schema: Any, corpus: ListCorpus) -> tuple[Any, Any]:
    index = tantivy.Index(schema)
    writer = index.writer(heap_size=200_000_000, num_threads=1)
    for place, passage in enumerate(corpus):
        writer.add_document(tantivy.Document(text=f"{passage.title}\n{passage.text}", place=place))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index, index.searcher()


_MEASURES: dict[str, Callable[[ListCorpus, list[str]], str]] = {
    "bm25s, numba": lambda corpus, queries: _ours("numba", corpus, queries),
    "bm25s, numpy": lambda corpus, queries: _ours("numpy", corpus, queries),
    "tantivy": _tantivy,
    "rank-bm25": _rank_bm25,
}


if __name__ == "__main__":
    sys.exit(main())
