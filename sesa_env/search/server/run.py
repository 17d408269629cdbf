"""Runs the application on uvicorn until it is told to stop."""

import gc
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sesa_env.errors import ConfigError, missing_extra

_KEEP_ALIVE_S = 75  # longer than clients keep idle connections, so that they are not cut while being used again


def serve(app: Any, host: str, port: int, grace_s: int = 30, ready: Callable[[str], None] = lambda url: None) -> None:
    """Serves an application until SIGTERM or SIGINT; what was asked until then is answered.

    Args:
        app: an ASGI application, for example of `make_app`.
        host: the address to listen on.
        port: the port; 0 takes a free one.
        grace_s: seconds that requests under way have after the signal.
        ready: called with the server's URL when it listens.

    Raises:
        ConfigError: the address cannot be listened on, or the `serve` extra is not installed.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise missing_extra("uvicorn", "serve") from error
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=grace_s,
    )
    server = uvicorn.Server(config)
    with _listen(host, port) as listening, _stopping(server):
        # The index stays until the end: without this the collector walks through all of it again and again.
        gc.collect()
        gc.freeze()
        shown = f"[{host}]" if ":" in host else host
        ready(f"http://{shown}:{listening.getsockname()[1]}")
        server.run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"cannot listen on {host}, port {port}: {error}; give another --host or --port") from error


@contextmanager
def _stopping(server: Any) -> Iterator[None]:
    """Has signals stop the server: also before it has begun, and where it raises them again once it has stopped."""

    def stop(*_: object) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
