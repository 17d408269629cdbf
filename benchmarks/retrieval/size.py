"""What search costs at 10,000, 100,000 and a million passages: time, memory, disk, queries a second; table and log-log plot.

python -m benchmarks.retrieval.size --out size-figures                                            # 1,000 and 10,000: a trial
python -m benchmarks.retrieval.size --sizes 10000 100000 1000000 --dense 100000 --out size-figures

Passages are MiniWiki's, 30 words each. Every stage runs in a process of its own, on one thread unless OMP_NUM_THREADS says
otherwise; its peak memory (resident, mapped pages included) is read from the system. Dense indices are measured with vectors of
`benchmarks.retrieval.hashed`, whose making costs next to nothing: what an encoder costs, its own speed says.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.threads import THREAD_VARIABLES

KINDS = ("flat", "sq8", "hnsw", "ivfpq")
_PLOTTED = {
    "build_s": "BM25: seconds to build",
    "build_mb": "BM25: peak memory of building, MB",
    "load_ms": "BM25: milliseconds to open",
    "query_us": "BM25: microseconds a query",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures every size, and writes size.json, size.md and size.png."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--dense", type=int, default=1_000, help="passages of the dense measurements; 0: none")
    parser.add_argument("--processes", type=int, default=1, help="how many build BM25")
    parser.add_argument("--out", type=Path, required=True, help="a directory for indices and figures")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    lexical = [_lexical(options.out, size, options.processes) for size in options.sizes]
    dense = [_dense(options.out, options.dense, kind) for kind in KINDS] if options.dense else []
    (options.out / "size.json").write_text(json.dumps({"bm25": lexical, "dense": dense}, indent=1) + "\n", encoding="utf-8")
    table = _tables(lexical, dense)
    (options.out / "size.md").write_text(table, encoding="utf-8")
    sys.stdout.write(table)
    _plot(options.out / "size.png", lexical)
    return 0


def _stage(*arguments: object) -> dict[str, Any]:
    """Runs one stage in a process of its own and returns its figures."""
    command = [sys.executable, "-m", "benchmarks.retrieval.size_stages", *map(str, arguments)]
    threads = {**dict.fromkeys(THREAD_VARIABLES, "1"), **os.environ}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=threads)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def _lexical(out: Path, size: int, processes: int) -> dict[str, Any]:
    index = out / f"miniwiki-{size}"
    sys.stderr.write(f"BM25 over {size:,} passages\n")
    corpus = _stage("corpus", index, size)
    built = _stage("bm25", index, processes)
    asked = _stage("ask", index, "bm25", size)
    return {
        "passages": size,
        "corpus_s": corpus["seconds"],
        "corpus_mb": corpus["disk_mb"],
        "build_s": built["seconds"],
        "build_mb": built["peak_mb"],
        "disk_mb": built["disk_mb"],
        **{name: asked[name] for name in ("load_ms", "query_us", "batch_qps", "peak_mb")},
    }


def _dense(out: Path, size: int, kind: str) -> dict[str, Any]:
    index = out / f"dense-{size}"
    sys.stderr.write(f"dense, {kind}, over {size:,} passages\n")
    if not (index / "corpus").exists():
        _stage("corpus", index, size)
    built = _stage("dense", index, kind)
    asked = _stage("ask", index, "dense", size)
    return {
        "kind": kind,
        "passages": size,
        "build_s": built["seconds"],
        "build_mb": built["peak_mb"],
        "disk_mb": built["disk_mb"],
        "recall": built["recall"],
        **{name: asked[name] for name in ("load_ms", "query_us", "batch_qps", "peak_mb")},
    }


def _tables(lexical: list[dict[str, Any]], dense: list[dict[str, Any]]) -> str:
    lines = [
        "| passages | corpus, s | build, s | peak, MB | corpus + index, MB | open, ms | a query, µs | queries a s, batch |"
    ]
    lines.append("|---" * 8 + "|")
    lines += [
        f"| {row['passages']:,} | {row['corpus_s']:.1f} | {row['build_s']:.1f} | {row['build_mb']:,.0f} | "
        f"{row['corpus_mb']:,.0f} + {row['disk_mb']:,.0f} | {row['load_ms']:.0f} | "
        f"{row['query_us']:,.0f} | {row['batch_qps']:,.0f} |"
        for row in lexical
    ]
    if dense:
        lines += ["", f"Dense, {dense[0]['passages']:,} vectors of 384 numbers:", ""]
        lines += ["| index | build, s | peak, MB | disk, MB | recall@10 | open, ms | a query, µs | queries a s, batch |"]
        lines.append("|---" * 8 + "|")
    lines += [
        f"| {row['kind']} | {row['build_s']:.1f} | {row['build_mb']:,.0f} | {row['disk_mb']:,.0f} | {row['recall']:.3f} | "
        f"{row['load_ms']:.0f} | {row['query_us']:,.0f} | {row['batch_qps']:,.0f} |"
        for row in dense
    ]
    return "\n".join(lines) + "\n"


def _plot(path: Path, lexical: list[dict[str, Any]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    sizes = [row["passages"] for row in lexical]
    for name, label in _PLOTTED.items():
        axes.loglog(sizes, [row[name] for row in lexical], "o-", label=label)
    axes.set(xlabel="passages", title="MiniWiki, one machine, one run")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


if __name__ == "__main__":
    sys.exit(main())
