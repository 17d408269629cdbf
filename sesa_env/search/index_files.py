"""A saved index: the files of bm25s beside a manifest that says which corpus and settings they are of. Written atomically.

Reading checks the size of every file and the contents of those up to `DIGEST_UP_TO` bytes. Larger arrays are mapped, not read:
a change in them that keeps their size goes unnoticed.
"""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import bm25s

from sesa_env.errors import ConfigError, StoreError
from sesa_env.search.base import Corpus

MANIFEST = "sesa-index.json"
FORMAT = "sesa-bm25-index-2"
DIGEST_UP_TO = 16 * 2**20
"""Up to how many bytes a file's contents are checked; a few hundredths of a second each. Part of the format."""

Settings = TypeVar("Settings")


def write_index(directory: Path, index: Any, facts: dict[str, Any], replace: bool) -> None:
    """Writes an index into a new directory beside `directory`, then renames it into place.

    Args:
        directory: where the index shall stand.
        index: the `bm25s.BM25`.
        facts: "corpus" (fingerprint), "passages" (how many) and "settings".
        replace: whether an index that stands there by then gives way to this one, or stays.

    Raises:
        StoreError: it cannot be written, or `directory` holds something that is no index.
    """
    if _holds_something_else(directory):
        raise StoreError(f"{directory} holds something that is no index; it is left as it is; give another directory")
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
        try:
            _write_files(fresh, index, facts)
            _put(fresh, directory, replace)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise StoreError(f"the index cannot be written to {directory}: {error}") from error


def _holds_something_else(directory: Path) -> bool:
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        return directory.exists()  # False where a directory above it is a file, which is told when writing fails
    return bool(names) and MANIFEST not in names


def _write_files(fresh: Path, index: Any, facts: dict[str, Any]) -> None:
    fresh.chmod(0o755)  # mkdtemp makes it private
    index.save(str(fresh), corpus=None, show_progress=False)
    described = {path.name: _describe(path) for path in sorted(fresh.iterdir())}
    manifest = {"format": FORMAT, **facts, "files": described}
    (fresh / MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _describe(path: Path) -> dict[str, Any]:
    """Returns a file's size in bytes and the digest of its contents; None for the digest of a large file."""
    size = path.stat().st_size
    return {"bytes": size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest() if size <= DIGEST_UP_TO else None}


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


def read_index(
    directory: Path, corpus: Corpus, mmap: bool, read_settings: Callable[[dict[str, Any]], Settings]
) -> tuple[Any, Settings]:
    """Reads what `write_index` wrote.

    Args:
        directory: where the index stands.
        corpus: the corpus it must be of.
        mmap: map the arrays into memory.
        read_settings: builds the settings from their JSON value.

    Returns:
        The `bm25s.BM25` and its settings.

    Raises:
        StoreError: missing, damaged, of another version or of another corpus.
    """
    manifest = _read_manifest(directory)
    try:
        settings = read_settings(manifest["settings"])
        _check_files(directory, manifest["files"])
        _check_corpus(directory, manifest, corpus)
        index = bm25s.BM25.load(str(directory), mmap=mmap, load_corpus=False, show_progress=False)
        if len(index.scores["indptr"]) != len(index.vocab_dict) + 1 or index.scores["num_docs"] != len(corpus):
            raise StoreError(f"the files of the index in {directory} do not belong together; build it again")
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, ConfigError) as error:
        raise StoreError(
            f"the index in {directory} cannot be read ({error}); delete the directory and build it again"
        ) from error
    return index, settings


def _read_manifest(directory: Path) -> dict[str, Any]:
    path = directory / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoreError(
            f"expected an index in {directory}; there is no {MANIFEST}; build one with BM25Retriever(...).save"
        ) from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read ({error}); delete the directory and build the index again") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        came = manifest.get("format") if isinstance(manifest, dict) else manifest
        raise StoreError(f"expected an index of format {FORMAT!r} in {directory}; came {came!r}; build it again")
    return manifest


def _check_files(directory: Path, files: dict[str, dict[str, Any]]) -> None:
    for name, expected in files.items():
        path = directory / name
        came = _describe(path) if path.is_file() else None
        if came != expected:
            raise StoreError(f"{path} {_difference(expected, came)}; delete the directory and build the index again")


def _difference(expected: dict[str, Any], came: dict[str, Any] | None) -> str:
    if came is None or came["bytes"] != expected["bytes"]:
        found = "it is missing" if came is None else f"came {came['bytes']} bytes"
        return f"should have {expected['bytes']} bytes; {found}"
    return f"should have contents of SHA-256 {expected['sha256']}; came {came['sha256']}"


def _check_corpus(directory: Path, manifest: dict[str, Any], corpus: Corpus) -> None:
    if manifest["corpus"] != corpus.fingerprint:
        raise StoreError(
            f"the index in {directory} is of another corpus: expected {manifest['passages']} passages with fingerprint "
            f"{str(manifest['corpus'])[:12]}, came {len(corpus)} with {corpus.fingerprint[:12]}; "
            "load it with the corpus it was built from, or build and save a new index"
        )
