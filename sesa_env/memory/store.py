"""The bank on disk: one SQLite file in WAL mode, written by whole changes; a process killed at any instant leaves it whole."""

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from sesa_env.errors import StoreError
from sesa_env.memory.base import Failure, Provenance, SkillCard
from sesa_env.memory.change import Change, Tombstone
from sesa_env.memory.embed import Vectors
from sesa_env.memory.events import Event, packed, unpacked
from sesa_env.memory.file import EVENTS, open_file, transaction
from sesa_env.memory.record import failure_from_json, failure_to_json
from sesa_env.memory.whole import whole_file

# What the digest covers, in an order that is the content's own and not the file's. The log of events is no content: nothing
# depends on it, and a bank that was written without it has the same digest.
_CONTENT = {
    "cards": "SELECT id, description, trigger, avoid, queries, permanent, provenance, hex(vector) FROM cards ORDER BY seq",
    "counters": "SELECT run, card, retrieved, helpful, hurt FROM counters ORDER BY run, card",
    "tombstones": "SELECT card, text, hex(vector), run, step FROM tombstones ORDER BY seq",
    "pending": "SELECT run, id, record FROM pending ORDER BY run, seq",
    "failed": "SELECT run, question, times FROM failed ORDER BY run, question",
    "steps": "SELECT run, kind, step, report FROM steps ORDER BY run, kind, step",
}


class BankStore:
    """A skill bank's SQLite file. It knows rows, not rules: those are the bank's.

    Args:
        path: the file, made if missing; ":memory:" for one that lives as long as this object.
        create: False refuses a file that is not there or is empty, and makes nothing.

    Raises:
        StoreError: the file is missing, corrupt, another program's, or of another schema version.
    """

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = str(path)
        self._db = open_file(self.path, create=create)
        self._revision = self._read_revision()

    def __enter__(self) -> "BankStore":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; closing twice does nothing."""
        self._db.close()

    def _read_revision(self) -> int:
        return int(self.meta("revision") or 0)

    def meta(self, key: str) -> str | None:
        """Returns a setting of the file, or None."""
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    # --- reading ---------------------------------------------------------------------------------------------------

    def cards(self, run: str) -> list[tuple[SkillCard, Vectors]]:
        """Reads all cards with their embeddings, oldest first, with the counters that they earned in `run`."""
        rows = self._db.execute(
            "SELECT id, description, trigger, avoid, queries, permanent, provenance, vector, retrieved, helpful, hurt"
            " FROM cards LEFT JOIN counters ON card = id AND run = ? ORDER BY seq",
            (run,),
        )
        return [(_card(row), _vector(row[7])) for row in rows]

    def tombstones(self) -> list[Tombstone]:
        """Reads the tombstones, oldest first, of all runs: what was evicted once stays out of the bank."""
        rows = self._db.execute("SELECT card, text, step, vector, run FROM tombstones ORDER BY seq")
        return [Tombstone(card, text, step, _vector(vector), run) for card, text, step, vector, run in rows]

    def pending(self, run: str) -> list[Failure]:
        """Reads the failures of `run` that wait for a teacher, oldest first."""
        rows = self._db.execute("SELECT record FROM pending WHERE run = ? ORDER BY seq", (run,))
        return [failure_from_json(record) for (record,) in rows]

    def failed(self, run: str, questions: Sequence[str]) -> dict[str, int]:
        """Reads how often these questions (by key) failed in `run`; those that never did are absent."""
        query = "SELECT times FROM failed WHERE run = ? AND question = ?"
        found = ((key, self._db.execute(query, (run, key)).fetchone()) for key in questions)
        return {key: int(row[0]) for key, row in found if row is not None}

    def events(self) -> list[tuple[str, Event]]:
        """Reads the log of all runs, oldest first, each event with the run that it happened in; [] in a file without one."""
        if not self._db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'events'").fetchone()[0]:
            return []
        rows = self._db.execute("SELECT run, step, kind, record FROM events ORDER BY seq")
        return [(run, unpacked(step, kind, record)) for run, step, kind, record in rows]

    def report(self, run: str, kind: str, step: int) -> dict[str, Any] | None:
        """Reads the report of a step boundary that was written before, or None.

        Raises:
            StoreError: another process has written to the bank since it was opened.
        """
        self._require_current()
        row = self._db.execute("SELECT report FROM steps WHERE run = ? AND kind = ? AND step = ?", (run, kind, step)).fetchone()
        return None if row is None else json.loads(row[0])

    def last_step(self, run: str, kind: str) -> int | None:
        """Reads the last step that was written, or None."""
        step: int | None = self._db.execute("SELECT max(step) FROM steps WHERE run = ? AND kind = ?", (run, kind)).fetchone()[0]
        return step

    def last_steps(self) -> dict[str, int]:
        """Reads the last step of each run, of either kind."""
        return dict(self._db.execute("SELECT run, max(step) FROM steps GROUP BY run ORDER BY run"))

    def last_run(self) -> str:
        """Reads the name of the run that wrote last; "default" in a new bank."""
        return self.meta("run") or "default"

    def stats(self, run: str) -> dict[str, Any]:
        """Counts what is in the bank, for a person or a log: JSON values."""
        cards = [card for card, _ in self.cards(run)]
        return {
            "run": run,
            "embedder": self.meta("embedder"),
            "last_step": self.last_step(run, "commit"),
            "last_consolidation": self.last_step(run, "consolidation"),
            "cards": len(cards),
            "permanent": sum(card.permanent for card in cards),
            "origins": dict(sorted(Counter(card.provenance.origin for card in cards).items())),
            "never_retrieved": sum(card.retrieved == 0 for card in cards),
            "retrieved": sum(card.retrieved for card in cards),
            "helpful": sum(card.helpful for card in cards),
            "hurt": sum(card.hurt for card in cards),
            "tombstones": len(self.tombstones()),
            "pending": len(self.pending(run)),
        }

    def digest(self) -> str:
        """Returns a digest of all content, of every run; equal for equal content, however the file is laid out."""
        rows = {table: self._db.execute(query).fetchall() for table, query in _CONTENT.items()}
        return hashlib.blake2b(json.dumps(rows, sort_keys=True).encode(), digest_size=16).hexdigest()

    # --- writing ---------------------------------------------------------------------------------------------------

    def set_meta(self, values: Mapping[str, str]) -> None:
        """Writes settings of the file, in one transaction."""
        with transaction(self._db):
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", sorted(values.items()))

    def write(self, change: Change, run: str) -> None:
        """Writes a change whole or not at all.

        Raises:
            StoreError: another process has written to the bank since it was opened, or the write failed.
        """
        try:
            with transaction(self._db):
                self._claim_revision()
                self._db.execute("INSERT OR REPLACE INTO meta VALUES ('run', ?)", (run,))
                self._write_cards(change, run)
                self._write_queue(change, run)
                self._write_events(change, run)
                if change.done is not None:
                    self._db.execute("INSERT INTO steps VALUES (?, ?, ?, ?)", (run, *change.done))
        except sqlite3.Error as error:
            raise StoreError(f"could not write to {self.path}: {error}; nothing of this change was written") from error
        self._revision += 1

    def _require_current(self) -> None:
        """Refuses to go on after another writer's change: what this process holds in memory is stale."""
        if self._read_revision() != self._revision:
            raise StoreError(
                f"another process has written to {self.path} since it was opened; open it again (one writer at a time)"
            )

    def _claim_revision(self) -> None:
        self._require_current()
        self._db.execute("UPDATE meta SET value = ? WHERE key = 'revision'", (str(self._revision + 1),))

    def _write_cards(self, change: Change, run: str) -> None:
        names = ("id", "description", "trigger", "avoid", "queries", "permanent", "provenance", "vector")
        insert = f"INSERT INTO cards ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
        update = f"UPDATE cards SET {', '.join(f'{name} = ?' for name in names)} WHERE id = ?"
        self._db.executemany(insert, [_row(card, vector) for card, vector in change.added])
        self._db.executemany(update, [(*_row(card, vector), card.id) for card, vector in change.edited])
        counters = [(run, card, c.retrieved, c.helpful, c.hurt) for card, c in sorted(change.counters.items())]
        self._db.executemany("INSERT OR REPLACE INTO counters VALUES (?, ?, ?, ?, ?)", counters)
        for stone in change.evicted:
            self._db.execute("DELETE FROM cards WHERE id = ?", (stone.card,))
            self._db.execute("DELETE FROM counters WHERE card = ?", (stone.card,))
            self._db.execute(
                "INSERT INTO tombstones (card, text, vector, run, step) VALUES (?, ?, ?, ?, ?)",
                (stone.card, stone.text, stone.vector.tobytes(), stone.run, stone.step),
            )

    def _write_queue(self, change: Change, run: str) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO failed VALUES (?, ?, ?)", [(run, *item) for item in sorted(change.failed.items())]
        )
        if change.queue is None:
            return
        kept = {failure.id for failure in change.queue}
        known = {row[0] for row in self._db.execute("SELECT id FROM pending WHERE run = ?", (run,))}
        self._db.executemany("DELETE FROM pending WHERE run = ? AND id = ?", [(run, gone) for gone in sorted(known - kept)])
        new = [(run, failure.id, failure_to_json(failure)) for failure in change.queue if failure.id not in known]
        self._db.executemany("INSERT INTO pending (run, id, record) VALUES (?, ?, ?)", new)

    def _write_events(self, change: Change, run: str) -> None:
        if change.events:
            self._db.execute(EVENTS)
            rows = [(run, event.step, event.kind, packed(event)) for event in change.events]
            self._db.executemany("INSERT INTO events (run, step, kind, record) VALUES (?, ?, ?, ?)", rows)

    def reembed(self, name: str, dimension: str, vectors: Mapping[str, Vectors], stones: Sequence[Vectors]) -> None:
        """Replaces all embeddings by another embedder's: of the cards by id, of the tombstones in order."""
        with transaction(self._db):
            self._claim_revision()
            self._db.executemany(
                "UPDATE cards SET vector = ? WHERE id = ?", [(v.tobytes(), card) for card, v in vectors.items()]
            )
            places = [row[0] for row in self._db.execute("SELECT seq FROM tombstones ORDER BY seq")]
            self._db.executemany(
                "UPDATE tombstones SET vector = ? WHERE seq = ?",
                [(v.tobytes(), seq) for v, seq in zip(stones, places, strict=True)],
            )
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", [("embedder", name), ("dimension", dimension)])
        self._revision += 1

    def backup(self, path: str | Path) -> None:
        """Copies the bank, as it is now, to a file that does not exist yet; a copy cut short leaves nothing at `path`."""
        if Path(path).exists():
            raise StoreError(f"{path} exists already; a backup never overwrites")
        try:
            with whole_file(path) as part, closing(sqlite3.connect(part)) as target:
                self._db.backup(target)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"cannot write a backup to {path}: {error}") from error


def _row(card: SkillCard, vector: Vectors) -> tuple[Any, ...]:
    queries, provenance = json.dumps(card.queries), json.dumps(asdict(card.provenance), sort_keys=True)
    return card.id, card.description, card.trigger, card.avoid, queries, int(card.permanent), provenance, vector.tobytes()


def _card(row: tuple[Any, ...]) -> SkillCard:
    origin = json.loads(row[6])
    provenance = replace(Provenance(**origin), question_keys=tuple(origin["question_keys"]))
    counters = (row[8] or 0, row[9] or 0.0, row[10] or 0.0)
    return SkillCard(row[0], row[1], row[2], row[3], tuple(json.loads(row[4])), bool(row[5]), *counters, provenance)


def _vector(blob: bytes) -> Vectors:
    return np.frombuffer(blob, np.float32)
