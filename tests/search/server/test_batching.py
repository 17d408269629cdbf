"""Micro-batching: what is searched together, what is refused, what a failure harms, and how it ends."""

import asyncio
import threading
import time

import pytest

from sesa_env.search.server.batching import Batcher, BusyError


class Held:
    """Answers (query, key) once it is let go; keeps the batches that it was given."""

    def __init__(self) -> None:
        self.batches: list[tuple[list[str], object]] = []
        self.began, self.go = threading.Semaphore(0), threading.Semaphore(0)

    def __call__(self, queries, key):
        self.batches.append((queries, key))
        self.began.release()
        assert self.go.acquire(timeout=10)
        if bad := [query for query in queries if query.startswith("bad")]:
            raise LookupError(bad[0])
        return [(query, key) for query in queries]


def run(scenario, **options):
    """Runs a scenario with a batcher over a held work, and closes it."""

    async def whole():
        held = Held()
        batcher = Batcher(held, **{"batch_size": 4, "wait_s": 0.0, "max_waiting": 100, **options})
        batcher.start()
        try:
            return await asyncio.wait_for(scenario(batcher, held), 20)
        finally:
            held.go.release(1000)
            await batcher.close()

    return asyncio.run(whole())


async def begun(held):
    assert await asyncio.to_thread(held.began.acquire, timeout=10)


async def asked(batcher, *requests):
    """Asks one after the other without waiting for answers; each request is (queries, key)."""
    tasks = []
    for queries, key in requests:
        tasks.append(asyncio.create_task(batcher.ask(queries, key)))
        await asyncio.sleep(0)
    return tasks


def test_what_comes_during_a_search_is_searched_together():
    async def scenario(batcher, held):
        first = await asked(batcher, (["a"], 1))
        await begun(held)
        rest = await asked(batcher, (["b"], 1), (["c", "d"], 1), ([], 1))
        held.go.release(10)
        return await asyncio.gather(*first, *rest), held.batches

    answers, batches = run(scenario)
    assert answers == [[("a", 1)], [("b", 1)], [("c", 1), ("d", 1)], []]
    assert batches == [(["a"], 1), (["b", "c", "d"], 1)]


def test_only_equal_keys_share_a_batch_and_the_first_come_is_the_first_served():
    async def scenario(batcher, held):
        first = await asked(batcher, (["a"], 1))
        await begun(held)
        rest = await asked(batcher, (["b"], 2), (["c"], 1), (["d"], 2))
        held.go.release(10)
        return await asyncio.gather(*first, *rest), held.batches

    answers, batches = run(scenario)
    assert answers == [[("a", 1)], [("b", 2)], [("c", 1)], [("d", 2)]]
    assert batches == [(["a"], 1), (["b", "d"], 2), (["c"], 1)]


def test_a_large_request_is_answered_in_several_batches_and_whole():
    queries = [f"q{number}" for number in range(10)]

    async def scenario(batcher, held):
        held.go.release(10)
        (answers,) = await asyncio.gather(*await asked(batcher, (queries, 1)))
        return answers, held.batches

    answers, batches = run(scenario)
    assert answers == [(query, 1) for query in queries]
    assert [len(batch) for batch, _ in batches] == [4, 4, 2]


def test_a_batch_waits_for_company_when_told_to():
    async def scenario(batcher, held):
        held.go.release(10)
        tasks = await asked(batcher, (["a"], 1), (["b"], 1), (["c", "d"], 1))
        await asyncio.gather(*tasks)
        return held.batches

    assert run(scenario, wait_s=10.0) == [(["a", "b", "c", "d"], 1)]  # full, so it does not wait on


def test_what_fails_harms_no_other_request():
    async def scenario(batcher, held):
        first = await asked(batcher, (["a"], 1))
        await begun(held)
        rest = await asked(batcher, (["b"], 1), (["bad"], 1), (["c"], 1))
        held.go.release(100)
        return await asyncio.gather(*first, *rest, return_exceptions=True)

    a, b, bad, c = run(scenario)
    assert (a, b, c) == ([("a", 1)], [("b", 1)], [("c", 1)])
    assert isinstance(bad, LookupError)


def test_of_a_request_that_failed_in_part_the_rest_is_left():
    async def scenario(batcher, held):
        (task,) = await asked(batcher, (["bad", *"abcdefghijk"], 1))
        held.go.release()
        with pytest.raises(LookupError):
            await task
        held.go.release(10)
        (after,) = await asked(batcher, (["z"], 1))
        return await after, held.batches, batcher.waiting

    after, batches, waiting = run(scenario)
    assert after == [("z", 1)]
    assert len(batches) <= 3  # the one that failed, one that was under way already, and the last
    assert waiting == 0


def test_more_than_may_wait_is_refused_and_room_comes_back():
    async def scenario(batcher, held):
        tasks = await asked(batcher, (["a"], 1))
        await begun(held)
        tasks += await asked(batcher, (list("bcde"), 1), (list("fg"), 1))
        with pytest.raises(BusyError) as busy:
            await batcher.ask(["h"], 1)
        assert batcher.waiting == 6
        held.go.release(10)
        answers = await asyncio.gather(*tasks)
        again = await batcher.ask(["h"], 1)
        return busy.value.retry_after_s, answers, again

    seconds, answers, again = run(scenario, max_waiting=6)
    assert seconds >= 1
    assert [len(answer) for answer in answers] == [1, 4, 2]
    assert again == [("h", 1)]


def test_a_request_whose_caller_has_gone_is_not_searched():
    async def scenario(batcher, held):
        first = await asked(batcher, (["a"], 1))
        await begun(held)
        gone, stays = await asked(batcher, (["b"], 1), (["c"], 1))
        gone.cancel()
        await asyncio.sleep(0)
        held.go.release(10)
        await asyncio.gather(*first, stays)
        return held.batches

    assert run(scenario) == [(["a"], 1), (["c"], 1)]


def test_when_all_callers_have_gone_the_next_is_still_answered():
    async def scenario(batcher, held):
        first = await asked(batcher, (["a"], 1))
        await begun(held)
        (gone,) = await asked(batcher, (["b"], 1))
        gone.cancel()
        await asyncio.sleep(0)
        held.go.release(10)
        await asyncio.gather(*first)
        await asyncio.sleep(0.05)
        return await batcher.ask(["c"], 1), batcher.waiting

    assert run(scenario) == ([("c", 1)], 0)


def test_closing_answers_what_waits():
    async def whole():
        held = Held()
        batcher = Batcher(held, batch_size=2, wait_s=0.0, max_waiting=10)
        batcher.start()
        tasks = await asked(batcher, (["a"], 1), (list("bcd"), 1))
        held.go.release(10)
        await batcher.close()
        return await asyncio.gather(*tasks)

    assert asyncio.run(whole()) == [[("a", 1)], [("b", 1), ("c", 1), ("d", 1)]]


def test_too_few_answers_are_a_fault_and_nobody_waits_for_ever():
    async def whole():
        batcher = Batcher(lambda queries, key: queries[1:], batch_size=4, wait_s=0.0, max_waiting=10)
        batcher.start()
        try:
            with pytest.raises(RuntimeError, match="expected 2 answers of the search; came 1"):
                await asyncio.wait_for(batcher.ask(["a", "b"], 1), 10)
        finally:
            await batcher.close()

    asyncio.run(whole())


def test_batches_are_told():
    told = []

    async def scenario(batcher, held):
        held.go.release(10)
        await batcher.ask(list("abcdef"), 1)

    run(scenario, observe=lambda size, seconds: told.append((size, seconds >= 0)))
    assert told == [(4, True), (2, True)]


class Timed:
    """Takes so long by its own clock; keeps in which thread each batch was searched; two at once are an error."""

    def __init__(self, *seconds: float) -> None:
        self.seconds, self.threads, self.sizes, self.now = list(seconds), [], [], 0.0
        self.alone = threading.Lock()

    def __call__(self, queries, key):
        assert self.alone.acquire(blocking=False)
        self.now += self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0]
        time.sleep(0.0005)  # long enough to overlap, if anything did
        self.threads.append(threading.current_thread().name)
        self.sizes.append(len(queries))
        self.alone.release()
        return queries


def searched_by(work, *requests, **options):
    """Asks request after request and returns in which threads they were searched."""

    async def whole():
        batcher = Batcher(work, **{"batch_size": 100, "wait_s": 0.0, "max_waiting": 1000, "clock": lambda: work.now, **options})
        batcher.start()
        try:
            for queries in requests:
                assert await batcher.ask(queries, 1) == queries
                while batcher._working:
                    await asyncio.sleep(0.001)
        finally:
            await batcher.close()
        return [name == "search" for name in work.threads]

    return asyncio.run(whole())


def test_short_searches_are_done_at_once_when_they_have_shown_to_be_short():
    work = Timed(0.0)
    few, many = ["a"], [f"q{number}" for number in range(100)]
    assert searched_by(work, few, few, few) == [True, False, False]
    assert searched_by(Timed(0.0), few, few, wait_s=0.001) == [True, True]
    # So many at a pace of 0.1 ms are not short.
    assert searched_by(Timed(0.0001, 0.0), many[:1], many) == [True, True]


def test_long_searches_are_never_done_in_the_event_loop():
    assert searched_by(Timed(0.004), *[["a"]] * 5) == [True] * 5


def test_a_search_that_fails_at_once_is_raised_and_harms_nothing():
    async def whole():
        def work(queries, key):
            return [1 / int(query) for query in queries]

        batcher = Batcher(work, batch_size=4, wait_s=0.0, max_waiting=10, clock=lambda: 0.0)
        batcher.start()
        try:
            assert await batcher.ask(["1"], 1) == [1.0]
            while batcher._working:
                await asyncio.sleep(0.001)
            with pytest.raises(ZeroDivisionError):
                await batcher.ask(["0"], 1)
            return await batcher.ask(["2"], 1)
        finally:
            await batcher.close()

    assert asyncio.run(whole()) == [0.5]


def test_at_once_or_in_the_thread_no_two_searches_overlap():
    work = Timed(0.0, *[0.0, 0.002] * 60, 0.0)

    async def whole():
        batcher = Batcher(work, batch_size=3, wait_s=0.0, max_waiting=1000, clock=lambda: work.now)
        batcher.start()
        try:

            async def one(number):
                await asyncio.sleep(number % 7 * 0.002)
                return await batcher.ask([f"{number}-{part}" for part in range(number % 5 + 1)], number % 2)

            return await asyncio.gather(*(one(number) for number in range(80)))
        finally:
            await batcher.close()

    answers = asyncio.run(whole())
    assert answers == [[f"{number}-{part}" for part in range(number % 5 + 1)] for number in range(80)]
    assert sum(work.sizes) == sum(map(len, answers))
