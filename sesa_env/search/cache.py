"""A cache of answers: in memory, then in one SQLite file that processes share. Exact: the key is index, query and k.

A search that failed leaves nothing behind. A file that can no longer be written or read, on a full disk say, costs the cache
and not the search: it is told once as a warning, and answers come from the search tool.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sesa_env.errors import ConfigError
from sesa_env.search.base import Retriever
from sesa_env.search.bm25 import check_request
from sesa_env.types import Passage


@dataclass(frozen=True)
class CacheSettings:
    """How much is kept.

    Attributes:
        path: the SQLite file; None keeps answers in memory alone.
        answers: how many answers each process keeps in memory, at least 0; those used last stay.
        megabytes: how large the file's contents may grow, at least 1; the oldest answers give way.
    """

    path: str | None = None
    answers: int = 100_000
    megabytes: int = 1024

    def __post_init__(self) -> None:
        if self.answers < 0 or self.megabytes < 1:
            raise ConfigError(f"a cache needs answers >= 0 and megabytes >= 1; came {self.answers!r} and {self.megabytes!r}")


class CachedRetriever:
    """A search tool whose answers are remembered. Threads may share it, and forked processes.

    Args:
        retriever: the search tool.
        settings: how much is kept.

    Attributes:
        retriever: the search tool.
        fingerprint: the search tool's: the answers are the same.
        hits: how many queries were answered from memory or file, in this process.
        misses: how many the search tool was asked.

    Raises:
        StoreError: the file is no cache, or cannot be made.
    """

    def __init__(self, retriever: Retriever, settings: CacheSettings | None = None) -> None:
        self.retriever, self.settings = retriever, settings or CacheSettings()
        self.fingerprint = retriever.fingerprint
        self.hits = self.misses = 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, list[Passage]] = OrderedDict()
        self._file = None if self.settings.path is None else _open(self.settings.path, self.settings.megabytes)

    def __reduce__(self) -> tuple[Any, ...]:
        return CachedRetriever, (self.retriever, self.settings)

    def close(self) -> None:
        """Closes the file; the next search opens it again."""
        if self._file is not None:
            self._file.close()

    def search(self, queries: list[str], k: int) -> list[list[Passage]]:
        """Answers a batch of queries; see `Retriever.search`. What is not remembered is asked in one call."""
        check_request(queries, k)
        keys = [_key(self.fingerprint, query, k) for query in queries]
        found = self._remembered(keys)
        missing = {key: query for key, query in zip(keys, queries, strict=True) if key not in found}
        with self._lock:
            self.misses += len(missing)
            self.hits += len(queries) - len(missing)
        if missing:
            fresh = dict(zip(missing, self.retriever.search(list(missing.values()), k), strict=True))
            self._keep(fresh)
            if self._file is not None:
                self._file.write(fresh)
            found |= fresh
        return [list(found[key]) for key in keys]

    def _remembered(self, keys: Sequence[bytes]) -> dict[bytes, list[Passage]]:
        found: dict[bytes, list[Passage]] = {}
        with self._lock:
            for key in keys:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    found[key] = self._kept[key]
        rest = [key for key in dict.fromkeys(keys) if key not in found]
        if self._file is not None and rest:
            read = self._file.read(rest)
            self._keep(read)
            found |= read
        return found

    def _keep(self, answers: dict[bytes, list[Passage]]) -> None:
        with self._lock:
            self._kept.update(answers)
            while len(self._kept) > self.settings.answers:
                self._kept.popitem(last=False)


def _open(path: str, megabytes: int) -> Any:
    # Here: the rules of the game reach this module through the options of worlds, and know no database.
    from sesa_env.search.answers_file import AnswersFile

    return AnswersFile(Path(path), megabytes)


def _key(fingerprint: str, query: str, k: int) -> bytes:
    named = json.dumps([fingerprint, k, query])
    return blake2b(named.encode(), digest_size=20).digest()
