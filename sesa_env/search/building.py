"""One builder at a time: processes that want the same index wait for the first, and then find it built."""

import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sesa_env.errors import StoreError
from sesa_env.search.index_files import MANIFEST, RANDOM_LETTERS, read_manifest

try:
    import fcntl
except ImportError:  # Windows has none: there, whoever starts several builders of one index must see to it himself
    fcntl = None  # type: ignore[assignment]


@contextmanager
def only_builder(target: Path) -> Iterator[None]:
    """Waits until no other process builds what shall stand at `target`, and keeps others waiting for its block.

    The lock is the operating system's: a builder that is killed holds nobody up. What it had written beside the target, which
    may be many gigabytes, is removed.
    """
    path = target.with_name(f".{target.name}.lock")
    target.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with path.open("a") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            if not _is(path, file.fileno()):
                continue  # the one before has removed it meanwhile
            try:
                if fcntl is not None:
                    _remove_abandoned(target)
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def _remove_abandoned(target: Path) -> None:
    """Removes directories that `write_files` filled for this target and that never took its place."""
    for path in target.parent.glob(f".{glob.escape(target.name)}-{'?' * RANDOM_LETTERS}"):
        shutil.rmtree(path, ignore_errors=True)


def _is(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def stands(target: Path, expected: str, facts: dict[str, Any]) -> bool:
    """Tells whether saved data of this format and these facts stands at `target` already."""
    if not (target / MANIFEST).is_file():
        return False
    try:
        manifest = read_manifest(target, expected, "")
    except StoreError:  # another version, or damaged: it gives way
        return False
    return all(manifest.get(name) == value for name, value in facts.items())
