"""Micro-batching: the queries of concurrent requests are searched together, in a thread beside the event loop."""

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")

_SMOOTHING = 0.2  # weight of the newest batch in the pace
_SHORT_S = 0.001  # a search below this is over before another thread would have begun


class BusyError(Exception):
    """No room for more queries.

    Attributes:
        retry_after_s: seconds after which there should be, a whole number of at least 1.
    """

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"no room for more queries; there should be in {retry_after_s} s")
        self.retry_after_s = retry_after_s


@dataclass(slots=True, eq=False)
class _Job(Generic[Key, Answer]):
    """One request: its queries, how many of them were taken up, and their answers so far."""

    queries: list[str]
    key: Key
    future: asyncio.Future[list[Answer]]
    taken: int = 0
    answers: list[Answer] = field(default_factory=list)


@dataclass(slots=True)
class _Part(Generic[Key, Answer]):
    """The queries of one job that go into one batch, and what became of them."""

    job: _Job[Key, Answer]
    queries: list[str]
    outcome: list[Answer] | Exception = field(default_factory=list)


class Batcher(Generic[Key, Answer]):
    """Gathers queries and answers them in batches, first come, first served. Use it within one event loop.

    A batch holds queries of equal key only, so that each query is answered as if it had come alone. If a batch fails, each
    request in it is tried by itself, so that one that cannot be answered harms no other.

    Where searches have shown to be so short that handing them to the thread would take longer, and the thread is idle, they are
    done at once in the event loop: BM25 over a small corpus, say.

    Args:
        work: answers a list of queries under a key, in order; called in either thread, never twice at once.
        batch_size: queries in a batch, at most; a larger request is answered in several.
        wait_s: seconds that a batch waits to be filled.
        max_waiting: queries that may wait.
        observe: called after each batch with its size and seconds, in either thread.
        clock: tells seconds.
    """

    def __init__(
        self,
        work: Callable[[list[str], Key], list[Answer]],
        *,
        batch_size: int,
        wait_s: float,
        max_waiting: int,
        observe: Callable[[int, float], None] = lambda size, seconds: None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._clock = clock
        self._work, self._size, self._wait_s = work, batch_size, wait_s
        self._max_waiting, self._observe = max_waiting, observe
        self._jobs: deque[_Job[Key, Answer]] = deque()
        self._changed = threading.Condition()
        self._waiting = 0
        self._pace = 0.0  # seconds a query, of late
        self._shortest = math.inf  # seconds of the quickest search so far
        self._working = False
        self._closed = False
        self._thread: threading.Thread | None = None

    @property
    def waiting(self) -> int:
        """How many queries wait, those under way not counted."""
        return self._waiting

    def start(self) -> None:
        """Begins to work; call it in the event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="search", daemon=True)
        self._thread.start()

    async def close(self) -> None:
        """Answers what waits, then ends the thread. Nothing may be asked any more."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    async def ask(self, queries: list[str], key: Key) -> list[Answer]:
        """Has queries answered.

        Args:
            queries: any number.
            key: under which; only queries of equal key share a batch.

        Returns:
            Their answers, in order.

        Raises:
            BusyError: too many queries wait already.
            Exception: whatever the work raised.
        """
        if not queries:
            return []
        if self._is_short(len(queries)):
            return self._at_once(queries, key)
        job = _Job[Key, Answer](queries, key, asyncio.get_running_loop().create_future())
        with self._changed:
            if self._waiting + len(queries) > self._max_waiting:
                raise BusyError(max(1, math.ceil(self._waiting * self._pace)))
            self._jobs.append(job)
            self._waiting += len(queries)
            self._changed.notify()
        return await job.future

    def _is_short(self, queries: int) -> bool:
        """Whether the thread is idle and handing it so many queries would take longer than to search."""
        idle = not self._jobs and not self._working and not self._wait_s
        return idle and self._shortest < _SHORT_S and queries * self._pace < _SHORT_S

    def _at_once(self, queries: list[str], key: Key) -> list[Answer]:
        started = self._clock()
        outcome = self._try(queries, key)
        self._note(len(queries), self._clock() - started)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _note(self, size: int, seconds: float) -> None:
        self._shortest = min(self._shortest, seconds)
        self._pace += _SMOOTHING * (seconds / size - self._pace)
        self._observe(size, seconds)

    # ---- in the thread --------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while parts := self._take():
            started = self._clock()
            self._answer(parts)
            self._note(sum(len(part.queries) for part in parts), self._clock() - started)
            self._working = False
            self._loop.call_soon_threadsafe(self._deliver, parts)

    def _take(self) -> list[_Part[Key, Answer]]:
        """Waits for queries and takes the next batch; [] when closed and nothing waits."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._jobs or self._closed)
                if self._wait_s and not self._closed:
                    self._changed.wait_for(lambda: self._waiting >= self._size or self._closed, self._wait_s)
                self._forget_the_abandoned()
                if self._jobs or self._closed:
                    return self._next_parts()

    def _next_parts(self) -> list[_Part[Key, Answer]]:
        parts, room = [], self._size
        for job in [job for job in self._jobs if job.key == self._jobs[0].key]:
            part = _Part(job, job.queries[job.taken : job.taken + room])
            parts.append(part)
            job.taken += len(part.queries)
            room -= len(part.queries)
            if job.taken == len(job.queries):
                self._jobs.remove(job)
            if not room:
                break
        self._waiting -= self._size - room
        self._working = bool(parts)
        return parts

    def _forget_the_abandoned(self) -> None:
        """Leaves out requests that have failed in part already, or that nobody waits for any more."""
        for job in [job for job in self._jobs if job.future.done()]:
            self._jobs.remove(job)
            self._waiting -= len(job.queries) - job.taken

    def _answer(self, parts: list[_Part[Key, Answer]]) -> None:
        together = self._try([query for part in parts for query in part.queries], parts[0].job.key)
        start = 0
        for part in parts:
            if isinstance(together, Exception):
                part.outcome = together if len(parts) == 1 else self._try(part.queries, part.job.key)
            else:
                part.outcome = together[start : start + len(part.queries)]
            start += len(part.queries)

    def _try(self, queries: list[str], key: Key) -> list[Answer] | Exception:
        try:
            answers = self._work(queries, key)
        except Exception as error:  # whatever it is: it is raised where the answer is awaited, and the thread lives on
            return error
        if len(answers) != len(queries):  # whoever waits for the missing ones would wait for ever
            return RuntimeError(f"expected {len(queries)} answers of the search; came {len(answers)}")
        return answers

    # ---- in the event loop ----------------------------------------------------------------------------------------

    def _deliver(self, parts: list[_Part[Any, Any]]) -> None:
        for part in parts:
            future = part.job.future
            if future.done():  # the caller has given up, or an earlier part failed
                continue
            if isinstance(part.outcome, Exception):
                future.set_exception(part.outcome)
                continue
            part.job.answers += part.outcome
            if len(part.job.answers) == len(part.job.queries):
                future.set_result(part.job.answers)
