"""A server of ours on loopback, in a thread, and requests to it as they come over the wire."""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, str]:
        return self.json["error"]


def ask(url: str, method: str, path: str, body: object = None, headers: dict[str, str] | None = None) -> Answer:
    """Makes one request on a connection of its own; a body that is no bytes goes as JSON."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"content-type": "application/json"} if data is not None else {}
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    try:
        connection.request(method, path, data, {**sent, **(headers or {})})
        came = connection.getresponse()
        return Answer(came.status, {name.lower(): value for name, value in came.getheaders()}, came.read())
    finally:
        connection.close()


def retrieve(url: str, body: object, **headers: str) -> Answer:
    return ask(url, "POST", "/retrieve", body, headers)


def until_waiting(url: str, count: int) -> None:
    """Returns when so many queries wait at a server."""
    _until(lambda: ask(url, "GET", "/status").json["waiting"] == count, f"{count} queries never waited")


@contextmanager
def serving(app) -> Iterator[str]:
    """Serves an app in a thread; yields its URL."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", access_log=False))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        _until(lambda: server.started, "the server did not start")
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive(), "the server did not stop"


def _until(condition, message: str) -> None:
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError(message)
