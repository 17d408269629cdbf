"""Files that are whole or not there."""

import os
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
