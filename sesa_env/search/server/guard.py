"""What stands before the app: the bearer token, the limit on a request's size, and the counting of what was answered."""

import hmac
import time
from collections.abc import MutableMapping
from typing import Any

from sesa_env.errors import missing_extra
from sesa_env.search.server.failures import failure
from sesa_env.search.server.metrics import Metrics

try:
    from starlette.datastructures import Headers
    from starlette.exceptions import HTTPException
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ImportError as error:
    raise missing_extra("fastapi", "serve") from error

OPEN_PATHS = frozenset({"/status"})
"""What is answered without a token, for whoever watches over the server."""

_PASSED_OVER = 8  # times the limit


class Guard:
    """Lets a request through to the app, or answers it.

    Args:
        app: what is guarded.
        token: what `Authorization: Bearer ...` must hold; None asks for none.
        max_body_bytes: size of a request, whether it says its length or comes in chunks.
    """

    def __init__(self, app: ASGIApp, token: str | None, max_body_bytes: int) -> None:
        self._app, self._max = app, max_body_bytes
        self._expected = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one connection's event, as ASGI has it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not self._knows(scope, headers):
            message = (
                "expected the header Authorization: Bearer TOKEN with the server's token; came none or another; "
                "ask whoever started the server for it"
            )
            refused = failure(401, "unauthorised", message, {"WWW-Authenticate": "Bearer"})
            await refused(scope, receive, send)
        elif _length(headers) > self._max:
            await self._pass_over(receive)
            await failure(413, "too_large", self._too_large(), {"Connection": "close"})(scope, receive, send)
        else:
            await self._app(scope, self._counting(receive), send)

    def _knows(self, scope: Scope, headers: Headers) -> bool:
        if self._expected is None or scope["path"] in OPEN_PATHS:
            return True
        return hmac.compare_digest(headers.get("authorization", "").encode("latin-1"), self._expected)

    async def _pass_over(self, receive: Receive) -> None:
        """Reads on for a while without keeping anything: a client that is cut off while it sends never reads the answer."""
        left = _PASSED_OVER * self._max
        while left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            if not message.get("more_body", False):
                return

    def _too_large(self) -> str:
        return f"expected at most {self._max} bytes in a request; came more; send the queries in several requests"

    def _counting(self, receive: Receive) -> Receive:
        came = 0

        async def counted() -> Message:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > self._max:
                raise HTTPException(413, self._too_large(), {"Connection": "close"})
            return message

        return counted


def _length(headers: Headers) -> int:
    value = headers.get("content-length", "0")
    return int(value) if value.isdecimal() else 0  # a malformed one the HTTP server has refused already


class Counting:
    """Counts answers by path and status, and times them."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one connection's event, as ASGI has it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()

        async def noted(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                self._metrics.answered(scope["path"], message["status"], time.perf_counter() - started)
            await send(message)

        await self._app(scope, receive, noted)
