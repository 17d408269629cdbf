"""`sesa serve` in a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sesa_env.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
_COMMAND = (sys.executable, "-m", "sesa_env.cli", "serve")


def start(
    *arguments: str, environment: Mapping[str, str] | None = None, command: Sequence[str] = _COMMAND
) -> tuple[subprocess.Popen[str], str]:
    """Starts a server and waits until it listens.

    Args:
        arguments: of `sesa serve`.
        environment: environment variables to set.
        command: what is started, up to the arguments; it must say "... on URL" in its first line.

    Returns:
        The process and the server's URL.

    Raises:
        ConfigError: it ended before it listened.
    """
    process = subprocess.Popen(
        [*command, *arguments],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        _, errors = process.communicate()
        raise ConfigError(f"the server ended with {process.returncode} before it listened: {errors}")
    return process, line.split(" on ")[1].strip().removesuffix("/retrieve")


def stop(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> int:
    """Signals a server to end; returns its exit code."""
    process.send_signal(number)
    try:
        process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """Serves while the block runs; gives the server's URL."""
    process, url = start(*arguments)
    try:
        yield url
    finally:
        stop(process)
