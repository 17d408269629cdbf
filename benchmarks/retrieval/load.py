"""How the retrieval server bears many clients at once: errors, latencies, memory.

python -m benchmarks.retrieval.load
python -m benchmarks.retrieval.load --clients 64 --seconds 60 --size 100000
"""

import argparse
import json
import re
import sys
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, pairwise

from benchmarks.retrieval.crowd import Crowd, ask_at_once
from benchmarks.retrieval.served import served
from sesa_env.corpus.miniwiki import MiniWiki
from sesa_env.search.bm25 import NUMBA_PAYS_AFTER

PARTS = 5
"""Memory is looked at after each of so many parts of the time. The first is left out: in it buffers and caches fill."""


@dataclass(frozen=True)
class Load:
    """How the server bore it.

    Attributes:
        crowds: the requests of each part of the time.
        memory: bytes of the server's memory after each part.
    """

    crowds: tuple[Crowd, ...]
    memory: tuple[float, ...]

    @property
    def whole(self) -> Crowd:
        """The requests of all parts."""
        return Crowd(
            [second for crowd in self.crowds for second in crowd.seconds],
            [failure for crowd in self.crowds for failure in crowd.failures],
            sum(crowd.took_s for crowd in self.crowds),
        )

    @property
    def growth(self) -> float:
        """How far memory went up from the end of the first part to the end, as a share of it."""
        return self.memory[-1] / self.memory[0] - 1


def measure(url: str, queries: Sequence[str], clients: int, seconds: float) -> Load:
    """Loads a server."""
    ask_until_compiled(url, queries)
    ask_at_once(url, queries, clients, min(seconds / PARTS, 2.0))  # connections
    crowds, memory = [], []
    for _ in range(PARTS):
        crowds.append(ask_at_once(url, queries, clients, seconds / PARTS))
        memory.append(resident_bytes(url))
    return Load(tuple(crowds), tuple(memory))


def ask_until_compiled(url: str, queries: Sequence[str]) -> None:
    """Asks so often that BM25 compiles its scoring, which takes memory once, however long the server then runs."""
    for start in range(0, 2 * NUMBA_PAYS_AFTER, 1000):  # twice as many: those of unknown words alone do not count
        asked = [f"{query} {number}" for number, query in zip(range(start, start + 1000), cycle(queries), strict=False)]
        body = json.dumps({"queries": asked}).encode()  # no two alike: they would be searched once
        request = urllib.request.Request(f"{url}/retrieve", body, {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=60).close()


def resident_bytes(url: str) -> float:
    """Returns how much memory the server holds, as it says itself."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    found = re.search(r"^process_resident_memory_bytes (\S+)$", text, re.MULTILINE)
    assert found is not None, "GET /metrics does not say how much memory the process holds"
    return float(found[1])


def report(load: Load, clients: int) -> str:
    """Returns what was measured, as lines for a person."""
    whole = load.whole
    p50, p99 = whole.quantile(0.5), whole.quantile(0.99)
    rate = len(whole.seconds) / whole.took_s
    steps = ", ".join(f"{(after - before) / 2**20:+.1f}" for before, after in pairwise(load.memory))
    return "\n".join(
        [
            f"{clients} clients, {whole.took_s:.0f} s: {len(whole.seconds)} answers, {rate:.0f} a second",
            f"failures: {len(whole.failures)} {sorted(set(whole.failures))}",
            f"latency: p50 {1000 * p50:.1f} ms, p99 {1000 * p99:.1f} ms, {p99 / p50:.1f} times p50 (aim: under 10)",
            f"memory: {load.memory[-1] / 2**20:.0f} MiB, changes {steps} MiB, {100 * load.growth:+.1f} % since the first fifth",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the script; returns 1 if any request failed."""
    parser = argparse.ArgumentParser(description="Loads the retrieval server with many clients at once.")
    parser.add_argument("--clients", type=int, default=64, help="connections (default: 64)")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long (default: 10)")
    parser.add_argument("--size", type=int, default=10_000, help="passages of the MiniWiki that is served (default: 10000)")
    options = parser.parse_args(arguments)
    world = {"corpus": "miniwiki", "size": options.size, "n_questions": 0, "n_targets": 0}
    queries = [question.text for question in MiniWiki(size=options.size).questions(500)]
    with served("--world", json.dumps(world), "--port", "0") as url:
        load = measure(url, queries, options.clients, options.seconds)
    sys.stdout.write(report(load, options.clients) + "\n")
    return 1 if load.whole.failures else 0


if __name__ == "__main__":
    sys.exit(main())
