"""A server on loopback that speaks just enough of the chat protocol, and fails in every way that a test asks for."""

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = str | tuple[int, object] | bytes | float | None
"""What a request gets: a reply of that text; (status, body); raw bytes; a reply so many seconds late; None drops the line."""


class FakeOpenAI:
    """Answers each request with `answer(body)`; keeps the bodies, and the keys that came with them."""

    def __init__(self, answer: Callable[[dict], Answer]) -> None:
        self.answer, self.bodies, self.keys = answer, [], []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> "FakeOpenAI":
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with fake._lock:
                    fake.bodies.append(body)
                    fake.keys.append(self.headers["Authorization"])
                    answer = fake.answer(body)
                if isinstance(answer, float):
                    time.sleep(answer)
                    answer = "late"
                if answer is not None:
                    self._send(*_wire(answer))

            def _send(self, status: int, content: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.send_header("retry-after-ms", "1")  # keeps the retries of the tests quick
                self.end_headers()
                try:
                    self.wfile.write(content)
                except BrokenPipeError:
                    return  # the client has given up

            def log_message(self, *arguments: object) -> None:
                """Keeps the tests' output clean."""

        return Handler


def _wire(answer: str | tuple[int, object] | bytes) -> tuple[int, bytes]:
    if isinstance(answer, bytes):
        return 200, answer
    status, body = answer if isinstance(answer, tuple) else (200, completion(answer))
    return status, json.dumps(body).encode()


def completion(text: str | None, finish: str = "stop") -> dict:
    """A whole answer of the protocol, with its counts of tokens."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 0,
        "model": "fake",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }
