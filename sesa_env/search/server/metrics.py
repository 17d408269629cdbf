"""What Prometheus reads from `GET /metrics`."""

from collections.abc import Callable

from sesa_env.errors import missing_extra

try:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
except ImportError as error:
    raise missing_extra("prometheus_client", "serve") from error

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """The counters of one server.

    Args:
        waiting: tells how many queries wait.
    """

    def __init__(self, waiting: Callable[[], float]) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._requests = Counter("sesa_requests", "Requests answered", ["path", "status"], registry=registry)
        self._seconds = Histogram(
            "sesa_retrieve_seconds", "Seconds from request to answer", buckets=_SECONDS, registry=registry
        )
        self._queries = Counter("sesa_queries", "Queries searched", registry=registry)
        self._sizes = Histogram("sesa_batch_queries", "Queries searched together", buckets=_SIZES, registry=registry)
        self._searching = Histogram("sesa_batch_seconds", "Seconds of a batch's search", buckets=_SECONDS, registry=registry)
        Gauge("sesa_waiting_queries", "Queries that wait", registry=registry).set_function(waiting)

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Counts an answer. Paths that are not served share one label, or anyone could fill the memory with them."""
        known = path if path in {"/retrieve", "/status", "/metrics", "/openapi.json"} else "other"
        self._requests.labels(known, status).inc()
        if known == "/retrieve" and status == 200:
            self._seconds.observe(seconds)

    def searched(self, queries: int, seconds: float) -> None:
        """Counts a batch."""
        self._queries.inc(queries)
        self._sizes.observe(queries)
        self._searching.observe(seconds)

    def text(self) -> bytes:
        """Returns all of it in Prometheus's text format."""
        return generate_latest(self._registry)
