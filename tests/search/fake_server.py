"""A server on loopback that fails in every way that a test asks for, and keeps what it was asked."""

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Said = tuple[int, object] | tuple[int, object, dict[str, str]] | bytes | float | str | None
"""What a request gets: (status, body) with or without headers; raw bytes; an empty answer so many seconds late; "cut", an
answer that breaks off; None drops the line."""


def hits(*documents: dict) -> dict:
    """The result of one query, as a server gives it with scores."""
    return {"result": [[{"document": document, "score": 1.0} for document in documents]]}


class FakeServer:
    """Answers each request with `say(body)`, a body of None being a GET."""

    def __init__(self, say: Callable[[dict | None], Said]) -> None:
        self.say, self.bodies, self.headers, self.lines = say, [], [], set()
        self.lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"fake": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "FakeServer":
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: FakeServer

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, body: dict | None) -> None:
        fake = self.fake
        with fake.lock:
            fake.lines.add(self.client_address)
            fake.headers.append(dict(self.headers))
            fake.bodies.append(body)
            said = fake.say(body)
        if isinstance(said, float):
            time.sleep(said)
            said = (200, {"result": [[]]})
        self.close_connection = said is None or said == "cut"
        if said == "cut":
            self._send(200, b'{"result": [[', {}, longer=50)
        elif said is not None:
            self._send(*_wire(said))

    def _send(self, status: int, content: bytes, headers: dict[str, str], longer: int = 0) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content) + longer))
        for name, value in headers.items():
            self.send_header(name, value)
        try:
            self.end_headers()
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):
            return  # the client has given up

    def log_message(self, *arguments: object) -> None:
        """Keeps the tests' output clean."""


def _wire(said: tuple | bytes) -> tuple[int, bytes, dict[str, str]]:
    if isinstance(said, bytes):
        return 200, said, {}
    status, body, *headers = said
    return status, body if isinstance(body, bytes) else json.dumps(body).encode(), headers[0] if headers else {}
