"""Every answer that is not a result: JSON with a code and a message that says what was expected, what came, what to do."""

import json
from collections.abc import Mapping
from typing import Any

from sesa_env.errors import RetrievalError, missing_extra
from sesa_env.search.server.batching import BusyError
from sesa_env.search.server.config import ServerConfig

try:
    from fastapi import FastAPI, Request, Response
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException
except ImportError as error:
    raise missing_extra("fastapi", "serve") from error

EXPECTED = 'expected {"queries": [strings], "topk": a whole number or null, "return_scores": true or false}'
_CODES = {400: "bad_request", 401: "unauthorised", 404: "not_found", 405: "method_not_allowed", 413: "too_large"}
_SHOWN = 3
_HINTS = {
    404: "there is nothing here; ask POST /retrieve, GET /status, GET /metrics or GET /openapi.json",
    405: "this path takes another method; ask POST /retrieve, GET /status, GET /metrics or GET /openapi.json",
    400: f"the body cannot be read as JSON; {EXPECTED}",
}


class StoppingError(Exception):
    """The server was told to stop, and the time for what was asked before is over."""


def failure(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Returns a response that says why there is no result."""
    # ASCII only: what came may hold characters that UTF-8 cannot write.
    body = json.dumps({"error": {"code": code, "message": message}})
    return Response(body, status, dict(headers or {}), media_type="application/json")


def add_failures(app: FastAPI, config: ServerConfig) -> None:
    """Has an app answer its errors as JSON."""

    async def busy(_: Request, error: Exception) -> Response:
        assert isinstance(error, BusyError)
        message = f"{config.max_waiting} queries may wait and no more; ask again in {error.retry_after_s} s"
        return failure(config.busy_status, "busy", message, {"Retry-After": str(error.retry_after_s)})

    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(BusyError, busy)
    app.add_exception_handler(StoppingError, _stopping)
    app.add_exception_handler(RetrievalError, _search_failed)
    app.add_exception_handler(Exception, _internal)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    told = [_told(one) for one in found[:_SHOWN]]
    more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    code = "bad_topk" if any(one["loc"][:2] == ("body", "topk") for one in found) else "invalid_request"
    return failure(422, code, "; ".join([*told, *more, EXPECTED, "the limits stand in GET /status"]))


def _told(error: Mapping[str, Any]) -> str:
    if error["type"] == "json_invalid":
        return f"the body is no JSON: {error['ctx']['error']} at character {error['loc'][-1]}"
    place = ".".join(map(str, error["loc"][1:])) or "the body"
    if isinstance(error["input"], bytes):
        return "the body came without the header Content-Type: application/json"
    came = repr(error["input"])
    return f"{place}: {error['msg']}; came {came if len(came) <= 80 else came[:77] + '...'}"


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _CODES.get(error.status_code, "refused")
    message = _HINTS.get(error.status_code, str(error.detail))
    return failure(error.status_code, code, message, error.headers)


async def _search_failed(_: Request, error: Exception) -> Response:
    message = f"the search could not be carried out: {error}; ask once more, and go on without it if it fails again"
    return failure(500, "search_failed", message)


async def _stopping(_: Request, __: Exception) -> Response:
    message = "the server stops, and had no time left for this search; ask again when it has been started again"
    return failure(503, "stopping", message, {"Retry-After": "1"})


async def _internal(_: Request, error: Exception) -> Response:
    return failure(500, "internal", f"a fault of the server, {type(error).__name__}; its log has the rest")
