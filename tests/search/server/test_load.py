"""Many clients at once: batches are shared, too much is refused, a killed server comes back, a minute leaves no trace."""

import json
import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

for package in ("fastapi", "uvicorn", "prometheus_client", "urllib3"):
    pytest.importorskip(package, reason="needs the extras serve and client")

from benchmarks.retrieval.load import measure, report
from benchmarks.retrieval.served import served, start, stop
from sesa_env.search.client import RemoteRetriever, RemoteSettings
from sesa_env.search.server.app import make_app
from sesa_env.search.server.config import ServerConfig
from sesa_env.worlds import make_world
from tests.search.conftest import template_queries
from tests.search.serving import retrieve, serving, until_waiting
from tests.toy import PASSAGES, ToyRetriever

SMALL = {"corpus": "miniwiki", "size": 300, "n_questions": 0, "n_targets": 0}


class Held(ToyRetriever):
    """Searches once it is let go."""

    def __init__(self) -> None:
        super().__init__(PASSAGES)
        self.began, self.go = threading.Semaphore(0), threading.Semaphore(0)

    def search(self, queries, k):
        self.began.release()
        assert self.go.acquire(timeout=20)
        return super().search(queries, k)


def test_concurrent_requests_share_a_search():
    held = Held()
    with serving(make_app(held)) as url, ThreadPoolExecutor(8) as threads:
        first = threads.submit(retrieve, url, {"queries": ["corin vale"], "topk": 1})
        assert held.began.acquire(timeout=20)
        rest = [threads.submit(retrieve, url, {"queries": [f"wern {number}"], "topk": 1}) for number in range(6)]
        until_waiting(url, 6)
        held.go.release(10)
        answers = [future.result().json["result"][0][0]["id"] for future in (first, *rest)]
    assert answers == ["p0"] * 7
    assert [len(call) for call in held.calls] == [1, 6]


@pytest.mark.parametrize("status", [429, 503])
def test_too_much_is_refused_with_a_pause_and_a_client_waits_it_out(status):
    held = Held()
    config = ServerConfig(max_queries=3, max_waiting=3, busy_status=status)
    with serving(make_app(held, config)) as url, ThreadPoolExecutor(4) as threads:
        first = threads.submit(retrieve, url, {"queries": ["a"]})
        assert held.began.acquire(timeout=20)
        second = threads.submit(retrieve, url, {"queries": ["b", "c"]})
        until_waiting(url, 2)
        refused = retrieve(url, {"queries": ["d", "e"]})
        assert (refused.status, refused.error["code"]) == (status, "busy")
        assert int(refused.headers["retry-after"]) >= 1
        assert "ask again in" in refused.error["message"]
        remote = RemoteRetriever(RemoteSettings(url=url))
        third = threads.submit(remote.search, ["corin vale", "weather"], 1)
        time.sleep(0.2)  # so that it is refused first, if it can be
        held.go.release(10)
        assert [first.result().status, second.result().status] == [200, 200]
        assert [hits[0].id for hits in third.result()] == ["p0", "p5"]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Asking(threading.Thread):
    """Asks one query after the other and compares each answer with what is right."""

    def __init__(self, remote, queries, right, ended) -> None:
        super().__init__(daemon=True)
        self.remote, self.queries, self.right, self.ended = remote, queries, right, ended
        self.answered, self.wrong, self.errors = 0, [], []

    def run(self) -> None:
        while not self.ended.is_set():
            query = self.queries[self.answered % len(self.queries)]
            try:
                found = self.remote.search([query], 3)
            except Exception as error:
                self.errors.append(error)
                return
            if found != [self.right[query]]:
                self.wrong.append(query)
            self.answered += 1


@pytest.mark.slow
def test_a_server_that_is_killed_and_started_again_under_load():
    world, queries, port = make_world(**SMALL), template_queries(50), free_port()
    right = dict(zip(queries, world.retriever.search(queries, 3), strict=True))
    arguments = ["--world", json.dumps(SMALL), "--port", str(port)]
    remote = RemoteRetriever(RemoteSettings(url=f"http://127.0.0.1:{port}", retries=12))
    ended = threading.Event()
    askers = [Asking(remote, queries[number:] + queries[:number], right, ended) for number in range(8)]
    process, _ = start(*arguments)
    try:
        for asker in askers:
            asker.start()
        for _ in range(3):
            before = sum(asker.answered for asker in askers)
            _until_more(askers, before + 200)
            assert stop(process, signal.SIGKILL) == -signal.SIGKILL
            process, _ = start(*arguments)
        _until_more(askers, sum(asker.answered for asker in askers) + 200)
    finally:
        ended.set()
        for asker in askers:
            asker.join(60)
        stop(process)
    assert [asker.errors for asker in askers] == [[]] * 8
    assert [asker.wrong for asker in askers] == [[]] * 8
    assert all(asker.answered for asker in askers)


def _until_more(askers, count) -> None:
    for _ in range(6000):
        if sum(asker.answered for asker in askers) >= count:
            return
        time.sleep(0.01)
    raise AssertionError(f"expected {count} answers; came {sum(asker.answered for asker in askers)}")


@pytest.mark.slow
def test_sixty_four_clients_for_a_while():
    """For a minute, as the documentation tells of: SESA_LOAD_SECONDS=60."""
    seconds = float(os.environ.get("SESA_LOAD_SECONDS", "10"))
    with served("--world", json.dumps(SMALL), "--port", "0") as url:
        load = measure(url, template_queries(100), 64, seconds)
    told = report(load, 64)
    assert not load.whole.failures, told
    assert load.whole.quantile(0.99) < 10 * load.whole.quantile(0.5), told
    assert load.growth < 0.05, told
