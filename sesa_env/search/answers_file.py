"""Answers of searches in one SQLite file of bounded size, which processes share."""

import json
import os
import sqlite3
import threading
import warnings
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

from sesa_env.errors import StoreError
from sesa_env.types import Passage

_VERSION = 1
_DIGEST = 8
_WAIT_S = 30
_AT_ONCE = 500  # keys in one statement; SQLite takes 999 and more
_PRAGMAS = ("page_count", "freelist_count", "page_size")
_PART_GIVEN_UP = 10  # a full file gives up a tenth of its answers at once, the oldest


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST).digest()


def _pack(answer: list[Passage]) -> bytes:
    # JSON's escapes keep lone surrogates, and its floats come back to the bit.
    data = json.dumps([[hit.id, hit.title, hit.text, hit.score] for hit in answer]).encode()
    return _digest(data) + data


def _unpack(packed: bytes) -> list[Passage] | None:
    """Returns an answer; None where a byte of it has changed."""
    data = packed[_DIGEST:]
    return [Passage(*fields) for fields in json.loads(data)] if packed[:_DIGEST] == _digest(data) else None


class AnswersFile:
    """The file. Each process has a connection of its own, which its threads take turns at.

    Args:
        path: where it is, or shall be.
        megabytes: how large its contents may grow.

    Raises:
        StoreError: it is no such file, or cannot be made.
    """

    def __init__(self, path: Path, megabytes: int) -> None:
        self._path, self._bytes = path, megabytes * 2**20
        self._lock = threading.Lock()
        self._held: list[tuple[int, sqlite3.Connection]] = []
        self._failed = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            version = self._connection().execute("PRAGMA user_version").fetchone()[0]
        except (OSError, sqlite3.Error) as error:
            self.close()
            raise StoreError(f"the cache {path} cannot be used: {error}; give another file, or delete it") from error
        if version != _VERSION:
            self.close()
            raise StoreError(
                f"expected a cache of version {_VERSION} in {path}; came {version}; give another file, or delete it"
            )

    def close(self) -> None:
        """Closes this process's connection; the next use opens another."""
        while self._held:
            process, connection = self._held.pop()
            if process == os.getpid():
                connection.close()

    def _connection(self) -> sqlite3.Connection:
        # A connection must not be used beyond a fork, nor closed: the parent's stays in the list, unused.
        if not self._held or self._held[-1][0] != os.getpid():
            connection = sqlite3.connect(self._path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
            self._held.append((os.getpid(), connection))
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=OFF")  # the last answers may go with the power: they can be asked again
            self._prepare(connection)
        return self._held[-1][1]

    def _prepare(self, connection: sqlite3.Connection) -> None:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                connection.execute("CREATE TABLE answers (key BLOB PRIMARY KEY, answer BLOB NOT NULL)")
                connection.execute(f"PRAGMA user_version={_VERSION}")

    def read(self, keys: Sequence[bytes]) -> dict[bytes, list[Passage]]:
        """Returns the answers that the file holds."""
        found: dict[bytes, list[Passage]] = {}
        try:
            with self._lock:
                for start in range(0, len(keys), _AT_ONCE):
                    part = keys[start : start + _AT_ONCE]
                    asked = f"SELECT key, answer FROM answers WHERE key IN ({','.join('?' * len(part))})"
                    read = ((key, _unpack(packed)) for key, packed in self._connection().execute(asked, part))
                    found |= {key: answer for key, answer in read if answer is not None}
        except sqlite3.Error as error:
            self._tell(error)
        return found

    def write(self, answers: dict[bytes, list[Passage]]) -> None:
        """Adds answers, and gives up the oldest where the file has grown too large."""
        rows = [(key, _pack(answer)) for key, answer in answers.items()]
        try:
            with self._lock, self._connection() as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", rows)
                while self._size(connection) > self._bytes and self._give_up_oldest(connection):
                    pass
        except sqlite3.Error as error:
            self._tell(error)

    def _size(self, connection: sqlite3.Connection) -> int:
        pages, free, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _PRAGMAS)
        return int((pages - free) * size)

    def _give_up_oldest(self, connection: sqlite3.Connection) -> int:
        low, high = connection.execute("SELECT min(rowid), max(rowid) FROM answers").fetchone()
        if low is None:
            return 0
        last = low + (high - low) // _PART_GIVEN_UP
        return connection.execute("DELETE FROM answers WHERE rowid <= ?", (last,)).rowcount

    def _tell(self, error: sqlite3.Error) -> None:
        if not self._failed:
            self._failed = True
            warnings.warn(f"the cache {self._path} fails, searches go on without it: {error}", RuntimeWarning, stacklevel=4)
