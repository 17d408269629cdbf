"""The web application: `POST /retrieve`, `GET /status`, `GET /metrics` and OpenAPI over one retriever."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from sesa_env.errors import missing_extra
from sesa_env.search.base import Retriever
from sesa_env.search.server.batching import Batcher
from sesa_env.search.server.config import ServerConfig
from sesa_env.search.server.failures import StoppingError, add_failures
from sesa_env.search.server.guard import Counting, Guard
from sesa_env.search.server.metrics import Metrics
from sesa_env.search.server.schema import Failure, Limits, RetrieveRequest, RetrieveResponse, Status, request_model
from sesa_env.search.wire import FINGERPRINT_HEADER, write_hits, write_result

try:
    from fastapi import Depends, FastAPI, Response
    from fastapi.security import HTTPBearer
    from starlette.exceptions import HTTPException
except ImportError as error:
    raise missing_extra("fastapi", "serve") from error

_JSON = "application/json"


def make_app(
    retriever: Retriever, config: ServerConfig | None = None, token: str | None = None, passages: int | None = None
) -> FastAPI:
    """Makes the ASGI application, for uvicorn or any other server of that kind.

    Args:
        retriever: what is served. Its `search` is called in more than one thread, but never twice at once.
        config: the limits.
        token: what clients must send as `Authorization: Bearer ...`; None asks for none.
        passages: how many are searched, for `GET /status`; None if nobody knows.

    Returns:
        The application.

    Raises:
        ConfigError: the `serve` extra is not installed.
    """
    config = config or ServerConfig()
    served = _Served(retriever, config, passages)
    app = FastAPI(title="SESA retrieval", version=version("sesa-env"), lifespan=served.lifespan, docs_url=None, redoc_url=None)
    # The guard looks at the token; this has OpenAPI tell of it.
    asked = [Depends(HTTPBearer(auto_error=False, description="the server's token"))] if token is not None else []
    _add_retrieve(app, served, config, asked)
    _add_status(app, served, asked)
    add_failures(app, config)
    app.add_middleware(Guard, token=token, max_body_bytes=config.max_body_bytes)
    app.add_middleware(Counting, metrics=served.metrics)  # added last, so outermost: it counts what the guard refuses too
    return app


class _Served:
    """A retriever with all that serves it."""

    def __init__(self, retriever: Retriever, config: ServerConfig, passages: int | None) -> None:
        self.retriever, self.config, self.passages = retriever, config, passages
        self.headers = {FINGERPRINT_HEADER: retriever.fingerprint}
        self.metrics = Metrics(lambda: self.batcher.waiting)
        self.batcher = Batcher(
            self._answer,
            batch_size=config.batch_size,
            wait_s=config.batch_wait_s,
            max_waiting=config.max_waiting,
            observe=self.metrics.searched,
        )

    def _answer(self, queries: list[str], key: tuple[int, bool]) -> list[str]:
        """Searches and writes the answers as JSON: together, so that a large one holds up no other connection."""
        k, return_scores = key
        return [write_hits(hits, return_scores) for hits in self.retriever.search(queries, k)]

    @asynccontextmanager
    async def lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        """Works from start to end; at the end what waits is answered first."""
        self.batcher.start()
        yield
        await self.batcher.close()

    async def retrieve(self, request: RetrieveRequest) -> Response:
        """Answers one request."""
        queries, k = request.asked(), request.topk or self.config.default_k
        if len(queries) * k > self.config.max_passages:
            raise HTTPException(
                413,
                f"expected queries times topk of at most {self.config.max_passages}; came {len(queries)} times {k}; "
                "send the queries in several requests, or ask for fewer passages",
            )
        try:
            answers = await self.batcher.ask(queries, (k, request.return_scores))
        except asyncio.CancelledError as error:  # what uvicorn does to requests that outlast the grace
            raise StoppingError from error
        return Response(write_result(answers), media_type=_JSON, headers=self.headers)

    def status(self) -> Status:
        """Says what is served."""
        limits = Limits(
            default_topk=self.config.default_k,
            max_topk=self.config.max_k,
            max_queries=self.config.max_queries,
            max_passages=self.config.max_passages,
            max_body_bytes=self.config.max_body_bytes,
        )
        return Status(
            fingerprint=self.retriever.fingerprint,
            passages=self.passages,
            waiting=self.batcher.waiting,
            limits=limits,
            version=version("sesa-env"),
        )


def _add_retrieve(app: FastAPI, served: _Served, config: ServerConfig, asked: list[Any]) -> None:
    model = request_model(config)
    failures = _failures(400, 401, 413, 422, config.busy_status, 500, 503)

    @app.post("/retrieve", response_model=RetrieveResponse, responses=failures, dependencies=asked)
    async def retrieve(request: model) -> Response:  # type: ignore[valid-type]  # made from the configuration
        """Answers queries with passages, best first."""
        return await served.retrieve(request)


def _add_status(app: FastAPI, served: _Served, asked: list[Any]) -> None:
    @app.get("/status", response_model=Status)
    async def status() -> Status:
        """Says what is served and what a request may ask for. Needs no token."""
        return served.status()

    written: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {}}}, **_failures(401)}

    @app.get("/metrics", response_class=Response, responses=written, dependencies=asked)
    async def metrics() -> Response:
        """Tells counters and timings to Prometheus."""
        return Response(served.metrics.text(), media_type="text/plain; version=0.0.4")


def _failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": Failure} for status in statuses}
