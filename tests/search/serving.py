"""A server of ours on loopback, in a thread or in a process of its own, and requests to it as they come over the wire."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


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


def start(*arguments: str, environment: dict[str, str] | None = None, prefix: list[str] | None = None) -> tuple:
    """Starts `sesa serve` in a process; returns the process and its URL."""
    command = prefix or [sys.executable, "-m", "sesa_env.cli", "serve"]
    process = subprocess.Popen(
        [*command, *arguments],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    line = process.stdout.readline()
    if not line:
        _, errors = process.communicate()
        raise AssertionError(f"sesa serve ended with {process.returncode}: {errors}")
    return process, line.split(" on ")[1].strip().removesuffix("/retrieve")


def stop(process, number: int = signal.SIGKILL) -> int:
    """Ends a process that `start` started; returns its exit code."""
    process.send_signal(number)
    try:
        process.communicate(timeout=30)
    finally:
        process.kill()
    return process.returncode


def _until(condition, message: str) -> None:
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError(message)
