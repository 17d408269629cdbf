"""Reads JSONL files, plain or compressed, line by line, and names the lines that are malformed."""

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sesa_env.corpus.compressed import open_bytes
from sesa_env.corpus.problems import Problems, shorten


def read_objects(path: Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the JSON objects of a file. Blank lines are skipped.

    Args:
        path: a file whose name ends in `.gz` or `.zst` if it is compressed.
        problems: where malformed lines and unreadable files are noted; reading goes on where it can.

    Yields:
        The line's number, from 1, and its object.
    """
    number = 0
    try:
        with open_bytes(path) as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield from _parse(line, path, number, problems)
    except (OSError, EOFError, zlib.error) as error:
        problems.add(path, f"after line {number}", f"cannot be read further ({error}); is the file complete?")


def _parse(line: bytes, path: Path, number: int, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        value = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError as error:
        problems.add(path, f"line {number}", f"expected UTF-8; byte {error.start} of the line is not ({error.reason})")
    except (ValueError, RecursionError) as error:
        problems.add(path, f"line {number}", f"expected one JSON object; {error}")
    else:
        if isinstance(value, dict):
            yield number, value
        else:
            problems.add(path, f"line {number}", f"expected a JSON object; came {shorten(value)}")
