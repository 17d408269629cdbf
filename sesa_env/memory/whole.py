"""Files and directories that are whole or not there."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Lets its block write a file beside `path`, which takes that name when the block is done.

    A process killed on the way leaves what was at `path`, and a file whose name ends in `.part`, which the next try removes.

    Yields:
        The path to write to.

    Raises:
        OSError: the file cannot be written.
    """
    final = Path(path)
    part = final.with_name(final.name + ".part")
    part.unlink(missing_ok=True)
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(final)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def whole_directory(path: str | Path) -> Iterator[Path]:
    """Lets its block fill a directory beside `path`, which takes that name when the block is done, in place of what was there.

    A process killed on the way leaves what was at `path`, or, in the instant of the exchange, the same under a name that ends
    in `.old`; a directory whose name ends in `.part` is removed by the next try.

    Yields:
        The directory to fill; it exists and is empty.

    Raises:
        OSError: the directory cannot be written.
    """
    final = Path(path)
    part, old = (final.with_name(final.name + end) for end in (".part", ".old"))
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield part
        if final.exists():
            shutil.rmtree(old, ignore_errors=True)
            final.replace(old)
        part.replace(final)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(part, ignore_errors=True)
