"""A retrieval server that does not search: every query gets the same three passages. What is left is the cost of serving.

python -m benchmarks.retrieval.stub
"""

import sys

from sesa_env.search.server.app import make_app
from sesa_env.search.server.run import serve
from sesa_env.types import Passage

PASSAGES = [Passage(f"p{number}", f"Title {number}", "some sixty words of text " * 12, 1.0) for number in range(3)]


class StubRetriever:
    """Answers without looking."""

    fingerprint = "stub"

    def search(self, queries: list[str], k: int) -> list[list[Passage]]:
        """Returns the same passages for each query."""
        return [PASSAGES[:k] for _ in queries]


def _ready(url: str) -> None:
    sys.stdout.write(f"a stub on {url}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    serve(make_app(StubRetriever()), "127.0.0.1", 0, ready=_ready)
