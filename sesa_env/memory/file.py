"""The bank's file: how it is recognised, opened and laid out."""

import lzma
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sesa_env.errors import StoreError

SCHEMA_VERSION = 1
COMPRESSED = ".xz"
"""What the name of a compressed copy ends in."""
# "SESA" in ASCII: marks the file as a skill bank, so that another program's database is never written to.
APPLICATION_ID = 0x53455341

EVENTS = """
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL, step INTEGER NOT NULL, kind TEXT NOT NULL, record BLOB NOT NULL);
"""
"""The log of events. Files that are older than it get it with their next write, and are otherwise the same."""

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cards (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, description TEXT NOT NULL, trigger TEXT NOT NULL,
    avoid TEXT NOT NULL, queries TEXT NOT NULL, permanent INTEGER NOT NULL, provenance TEXT NOT NULL, vector BLOB NOT NULL);
CREATE TABLE counters (
    run TEXT NOT NULL, card TEXT NOT NULL, retrieved INTEGER NOT NULL, helpful REAL NOT NULL, hurt REAL NOT NULL,
    PRIMARY KEY (run, card)) WITHOUT ROWID;
CREATE TABLE tombstones (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, card TEXT NOT NULL, text TEXT NOT NULL, vector BLOB NOT NULL,
    run TEXT NOT NULL, step INTEGER NOT NULL);
CREATE TABLE pending (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL, id TEXT NOT NULL, record TEXT NOT NULL, UNIQUE (run, id));
CREATE TABLE failed (
    run TEXT NOT NULL, question TEXT NOT NULL, times INTEGER NOT NULL, PRIMARY KEY (run, question)) WITHOUT ROWID;
CREATE TABLE steps (
    run TEXT NOT NULL, kind TEXT NOT NULL, step INTEGER NOT NULL, report TEXT NOT NULL,
    PRIMARY KEY (run, kind, step)) WITHOUT ROWID;
"""
_MAGIC = b"SQLite format 3\0"
_APPLICATION_AT = 68  # where SQLite's header has the application's id, four bytes


def open_file(path: str, *, create: bool) -> sqlite3.Connection:
    """Opens a bank's file, or makes it.

    A compressed copy, whose name ends in .xz, is read into memory: it can be looked at and never written to.

    Args:
        path: the file; ":memory:" for a bank without one.
        create: False refuses a file that is missing or empty, and makes nothing.

    Returns:
        The connection, in autocommit mode, on a bank of this release's layout.

    Raises:
        StoreError: the file is missing, corrupt, another program's, or of another schema version. It was not changed.
    """
    if path.endswith(COMPRESSED):
        return _open_compressed(path)
    if path != ":memory:":
        _look_at(path, create=create)
    try:
        database = sqlite3.connect(path, isolation_level=None)
    except sqlite3.Error as error:
        raise StoreError(
            f"cannot open a skill bank at {path}: {error}; does its folder exist and may you write there?"
        ) from error
    try:
        _prepare(database, path, create=create)
    except sqlite3.Error as error:
        database.close()
        raise StoreError(f"{path} is not a readable skill bank: {error}") from error
    except StoreError:
        database.close()
        raise
    return database


def compress(source: str | Path) -> bytes:
    """Packs a bank for whoever wants to look at it: cards with counters, vectors, tombstones and the log.

    Left out is what its training alone needs to go on: the queue of failures, the failed questions, the reports of steps.

    Args:
        source: the bank's file, which stays as it is.

    Returns:
        The content of a file that `open_file` reads if its name ends in .xz.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        with closing(open_file(str(source), create=False)) as database:
            database.backup(copy)
        for table in ("pending", "failed", "steps"):
            copy.execute(f"DELETE FROM {table}")
        if copy.execute("SELECT count(*) FROM sqlite_master WHERE name = 'events'").fetchone()[0]:
            # Entries that are packed one by one hide from the packer of the whole what they share.
            rows = copy.execute("SELECT record, seq FROM events").fetchall()
            loose = [(zlib.compress(zlib.decompress(record), 0), seq) for record, seq in rows]
            copy.executemany("UPDATE events SET record = ? WHERE seq = ?", loose)
        copy.execute("VACUUM")
        return lzma.compress(copy.serialize(), preset=9)


def _open_compressed(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None)
    try:
        database.deserialize(lzma.decompress(Path(path).read_bytes()))
        _prepare(database, path, create=False)
        database.execute("PRAGMA query_only=ON")
    except (OSError, lzma.LZMAError, sqlite3.Error) as error:
        database.close()
        raise StoreError(f"{path} is not a readable, compressed skill bank: {error}") from error
    except StoreError:
        database.close()
        raise
    return database


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Writes all that its block writes, or nothing."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _look_at(path: str, *, create: bool) -> None:
    """Refuses a foreign file before SQLite touches it: opening another program's database may tidy up its journal."""
    if not Path(path).is_file():
        if not create:
            raise StoreError(f"there is no skill bank at {path}")
        return
    try:
        with Path(path).open("rb") as file:
            head = file.read(100)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error}") from error
    if head and not head.startswith(_MAGIC):
        raise StoreError(f"{path} is not a readable skill bank: it is no SQLite file; choose another path")
    application = int.from_bytes(head[_APPLICATION_AT : _APPLICATION_AT + 4], "big")
    # 0 says nothing yet: a young bank's id may still be in its journal.
    if application not in (0, APPLICATION_ID):
        raise _foreign(path)


def _prepare(database: sqlite3.Connection, path: str, *, create: bool) -> None:
    application = database.execute("PRAGMA application_id").fetchone()[0]
    tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application != APPLICATION_ID and tables:
        raise _foreign(path)
    if not tables and not create:
        raise StoreError(f"{path} is empty, not a skill bank")
    # FULL: a step that was reported as committed is on the disk, also after a power cut.
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=10000"):
        database.execute(f"PRAGMA {pragma}")
    if not tables:
        _create(database)
    _check(database, path)


def _foreign(path: str) -> StoreError:
    return StoreError(f"{path} is a database of another program, not a skill bank; choose another path")


def _create(database: sqlite3.Connection) -> None:
    with transaction(database):
        if database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return  # another process was faster
        for statement in (*_SCHEMA.split(";"), EVENTS):
            database.execute(statement)
        database.execute(f"PRAGMA application_id={APPLICATION_ID}")
        database.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        database.execute("INSERT INTO meta VALUES ('revision', '0')")


def _check(database: sqlite3.Connection, path: str) -> None:
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"{path} has schema version {version}; this release reads version {SCHEMA_VERSION}: export the cards with the "
            "release that wrote it and import them here"
        )
    fault = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    if fault != "ok":
        raise StoreError(f"{path} is damaged: {fault}; restore a copy (see SkillBank.backup)")
