"""Saved data of a search tool: files beside a manifest that says what they are and of which corpus; whole or not there.

The manifest holds the size and SHA-256 of every file. Opening checks all sizes, and the contents of files of at most
`DIGEST_UP_TO` bytes: larger ones are mapped, not read, so a change in them that keeps their size goes unnoticed until
`check_files` is asked to read everything.
"""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sesa_env.errors import ConfigError, StoreError
from sesa_env.search.base import Corpus

MANIFEST = "sesa-index.json"
DIGEST_UP_TO = 16 * 2**20
"""Up to how many bytes a file's contents are checked at opening; a few hundredths of a second each."""

RANDOM_LETTERS = 8
"""How many letters `tempfile` puts behind the name of a directory that is being filled."""

_BLOCK = 2**22


def write_files(directory: Path, facts: dict[str, Any], fill: Callable[[Path], None], replace: bool = True) -> None:
    """Writes files and their manifest into a new directory beside `directory`, then renames it into place.

    Args:
        directory: where they shall stand; the directories above are made if need be.
        facts: what the manifest says beside the files: JSON values, "format" among them.
        fill: writes the files into the directory that it is given.
        replace: whether saved data that stands there by then gives way, or stays.

    Raises:
        StoreError: they cannot be written, or `directory` holds something else.
    """
    if _holds_something_else(directory):
        raise StoreError(f"{directory} holds something that is no index; it is left as it is; give another directory")
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
        try:
            fresh.chmod(0o755)  # mkdtemp makes it private
            fill(fresh)
            write_manifest(fresh, facts)
            _put(fresh, directory, replace)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise StoreError(f"the index cannot be written to {directory}: {error}") from error


def write_manifest(directory: Path, facts: dict[str, Any]) -> None:
    """Describes the files that stand in a directory, and writes the manifest beside them."""
    described = {path.name: _describe(path, True) for path in sorted(directory.iterdir()) if path.name != MANIFEST}
    text = json.dumps({**facts, "files": described}, indent=1, sort_keys=True) + "\n"
    (directory / MANIFEST).write_text(text, encoding="utf-8")


def _holds_something_else(directory: Path) -> bool:
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        return directory.exists()  # False where a directory above it is a file, which is told when writing fails
    return bool(names) and MANIFEST not in names


def _describe(path: Path, contents: bool) -> dict[str, Any]:
    """Returns a file's size in bytes and, if `contents` are to be read, their digest."""
    size = {"bytes": path.stat().st_size}
    return {**size, "sha256": file_digest(path)} if contents else size


def file_digest(path: Path) -> str:
    """Returns the SHA-256 of a file's contents, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _put(fresh: Path, directory: Path, replace: bool) -> None:
    """Puts `fresh` where `directory` is. A full directory cannot be renamed over, so an old index steps aside first.

    Several processes may do so at once: each tries again until its own index stood there.
    """
    while True:
        try:
            fresh.rename(directory)
        except OSError as error:
            if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                raise
            if not replace:
                return
        else:
            return
        aside = Path(tempfile.mkdtemp(prefix=f".{directory.name}-old-", dir=directory.parent))
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            directory.rename(aside / "index")
        shutil.rmtree(aside, ignore_errors=True)


def read_manifest(directory: Path, expected: str, make: str) -> dict[str, Any]:
    """Reads a manifest.

    Args:
        directory: where the files stand.
        expected: the format they must have.
        make: what to do where there are none, for the error message.

    Raises:
        StoreError: there is none, it cannot be read, or it is of another format.
    """
    path = directory / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise StoreError(f"expected an index in {directory}; there is no {MANIFEST}; {make}") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read ({error}); delete the directory and build the index again") from error
    if not isinstance(manifest, dict) or manifest.get("format") != expected:
        came = manifest.get("format") if isinstance(manifest, dict) else manifest
        raise StoreError(f"expected an index of format {expected!r} in {directory}; came {came!r}; build it again")
    return manifest


@contextmanager
def reading(directory: Path) -> Iterator[None]:
    """Turns what goes wrong while damaged files are read into a `StoreError` that says what to do."""
    try:
        yield
    # RuntimeError is what FAISS raises for a file that it cannot read.
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, ConfigError) as error:
        raise StoreError(
            f"the index in {directory} cannot be read ({error}); delete the directory and build it again"
        ) from error


def check_files(directory: Path, files: dict[str, dict[str, Any]], everything: bool = False) -> None:
    """Compares files with what the manifest says of them.

    Args:
        directory: where they stand.
        files: the manifest's "files".
        everything: read the contents of large files too.

    Raises:
        StoreError: a file is missing or another.
    """
    for name, expected in files.items():
        path = directory / name
        contents = everything or expected["bytes"] <= DIGEST_UP_TO
        came = _describe(path, contents) if path.is_file() else None
        if came is None or any(expected[fact] != value for fact, value in came.items()):
            raise StoreError(f"{path} {_difference(expected, came)}; delete the directory and build the index again")


def _difference(expected: dict[str, Any], came: dict[str, Any] | None) -> str:
    if came is None or came["bytes"] != expected["bytes"]:
        found = "it is missing" if came is None else f"came {came['bytes']} bytes"
        return f"should have {expected['bytes']} bytes; {found}"
    return f"should have contents of SHA-256 {expected['sha256']}; came {came['sha256']}"


def check_corpus(directory: Path, manifest: dict[str, Any], corpus: Corpus) -> None:
    """Refuses an index of another corpus.

    Raises:
        StoreError: names both.
    """
    if manifest["corpus"] != corpus.fingerprint:
        raise StoreError(
            f"the index in {directory} is of another corpus: expected {manifest['passages']} passages with fingerprint "
            f"{str(manifest['corpus'])[:12]}, came {len(corpus)} with {corpus.fingerprint[:12]}; "
            "load it with the corpus that it was built from, or build one of this corpus: sesa index build DIR --corpus FILE"
        )


def read_array(path: Path, mmap: bool = True) -> npt.NDArray[Any]:
    """Reads a `.npy` file, read-only: mapped into memory, or copied into it."""
    array: npt.NDArray[Any] = np.load(path, mmap_mode="r" if mmap else None, allow_pickle=False)
    plain = np.asarray(array)  # a plain array: numba compiles once for built and for mapped ones
    plain.flags.writeable = False
    return plain
