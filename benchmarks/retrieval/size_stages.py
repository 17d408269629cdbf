"""The stages of `benchmarks.retrieval.size`, each a process: python -m benchmarks.retrieval.size_stages STAGE DIR ...

Each writes one JSON object to standard output: seconds, peak resident memory of this process and its children in MB, and more.
"""

import importlib.util
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sesa_env.corpus.miniwiki import MiniWiki
from sesa_env.search.base import Retriever
from sesa_env.search.bm25 import BM25Retriever
from sesa_env.search.bm25_build import build_bm25
from sesa_env.search.dense import DenseSettings, build_dense
from sesa_env.search.faiss_index import FaissSettings
from sesa_env.search.opening import open_corpus, open_index
from sesa_env.search.store import write_corpus

ENCODER = "benchmarks.retrieval.hashed:make"
QUERIES = 500
TOP_K = 3


def corpus(directory: Path, size: str) -> dict[str, Any]:
    """Writes a MiniWiki of so many passages."""
    start = time.perf_counter()
    write_corpus(directory / "corpus", MiniWiki(size=int(size)).passages())
    return {"seconds": time.perf_counter() - start, "disk_mb": _disk(directory / "corpus")}


def bm25(directory: Path, processes: str) -> dict[str, Any]:
    """Builds BM25."""
    stored = open_corpus(directory)
    start = time.perf_counter()
    build_bm25(directory / "bm25", stored, processes=int(processes))
    return {"seconds": time.perf_counter() - start, "disk_mb": _disk(directory / "bm25")}


def dense(directory: Path, kind: str) -> dict[str, Any]:
    """Builds a dense index of a kind; the vectors are made at the first."""
    stored = open_corpus(directory)
    if not (directory / "dense").exists():
        build_dense(directory / "dense", stored, DenseSettings(ENCODER))
    start = time.perf_counter()
    built = build_dense(directory / "dense", stored, DenseSettings(ENCODER, faiss=FaissSettings(kind)))
    return {"seconds": time.perf_counter() - start, "disk_mb": _disk(directory / "dense"), "recall": built.recall}


def ask(directory: Path, backend: str, size: str) -> dict[str, Any]:
    """Opens an index and asks it MiniWiki's questions, singly and in a batch; the second pass counts."""
    queries = [question.text for question in MiniWiki(size=int(size)).questions(QUERIES, split="test")]
    start = time.perf_counter()
    retriever = _open(directory, backend)
    load = time.perf_counter() - start
    retriever.search(queries, TOP_K)
    start = time.perf_counter()
    for query in queries:
        retriever.search([query], TOP_K)
    single = time.perf_counter() - start
    start = time.perf_counter()
    retriever.search(queries, TOP_K)
    batch = time.perf_counter() - start
    count = len(queries)
    return {"load_ms": 1e3 * load, "query_us": 1e6 * single / count, "batch_qps": count / batch}


def _open(directory: Path, backend: str) -> Retriever:
    if backend == "dense" or importlib.util.find_spec("numba") is None:
        return open_index(directory, backend)
    # Compiled from the beginning, as it is by itself when it has been asked often.
    return BM25Retriever.load(directory / "bm25", open_corpus(directory), backend="numba")


def _disk(directory: Path) -> float:
    return sum(path.stat().st_size for path in directory.iterdir()) / 1e6


def main() -> int:
    """Runs the stage that the command line names."""
    stage, directory, *rest = sys.argv[1:]
    stages: dict[str, Callable[..., dict[str, Any]]] = {"corpus": corpus, "bm25": bm25, "dense": dense, "ask": ask}
    figures = stages[stage](Path(directory), *rest)
    of_all = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = sum(resource.getrusage(who).ru_maxrss for who in of_all) / 1e3  # Linux counts in kilobytes
    sys.stdout.write(json.dumps({**figures, "peak_mb": peak}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
