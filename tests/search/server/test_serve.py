"""`sesa serve` as a process: it says where it listens, answers, and stops gracefully."""

import importlib
import json
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

for package in ("fastapi", "uvicorn", "prometheus_client", "urllib3"):
    pytest.importorskip(package, reason="needs the extras serve and client")

from benchmarks.retrieval.served import start, stop
from sesa_env.cli import main
from sesa_env.search.bm25 import BM25Retriever
from sesa_env.search.client import RemoteRetriever, RemoteSettings
from sesa_env.search.opening import open_corpus
from sesa_env.search.store import write_corpus
from sesa_env.worlds import make_world
from tests.search.conftest import template_corpus
from tests.search.serving import ask, retrieve, until_waiting

SMALL = {"corpus": "miniwiki", "size": 300, "n_questions": 0, "n_targets": 0}
SLOW = """
import sys, time
from sesa_env.search.server.app import make_app
from sesa_env.search.server.config import ServerConfig
from sesa_env.search.server.run import serve
from tests.toy import PASSAGES, ToyRetriever

class Slow(ToyRetriever):
    def search(self, queries, k):
        sys.stdout.write("searching\\n")
        sys.stdout.flush()
        time.sleep(float(sys.argv[1]))
        return super().search(queries, k)

serve(
    make_app(Slow(PASSAGES), ServerConfig(batch_size=1)), "127.0.0.1", 0, int(sys.argv[2]),
    lambda url: print("slow on", url, flush=True),
)
"""


def test_it_serves_a_world_with_a_token_and_stops_when_told():
    process, url = start(
        "--world", json.dumps(SMALL), "--port", "0", "--token-variable", "SECRET", environment={"SECRET": "open sesame"}
    )
    try:
        retriever = make_world(**SMALL).retriever
        status = ask(url, "GET", "/status").json
        assert (status["fingerprint"], status["passages"]) == (retriever.fingerprint, 300)
        assert retrieve(url, {"queries": ["city"]}).status == 401
        answer = retrieve(url, {"queries": ["city"], "return_scores": True}, authorization="Bearer open sesame")
        found = [hit["document"]["id"] for hit in answer.json["result"][0]]
        assert found == [passage.id for passage in retriever.search(["city"], 3)[0]]
    finally:
        assert stop(process, signal.SIGTERM) == 0


def test_it_serves_an_index_directory(tmp_path):
    directory, corpus = tmp_path / "index", template_corpus(50)
    write_corpus(directory / "corpus", corpus)
    retriever = BM25Retriever(open_corpus(directory))
    retriever.save(directory / "bm25")
    chosen = {"backend": "bm25", "cache": {"answers": 10}}
    process, url = start("--index", str(directory), "--search", json.dumps(chosen), "--port", "0")
    try:
        remote = RemoteRetriever(RemoteSettings(url=url))
        assert remote.fingerprint == retriever.fingerprint
        assert remote.search(["Corin Vale wed"], 5) == retriever.search(["Corin Vale wed"], 5)
        assert ask(url, "GET", "/status").json["passages"] == 50
    finally:
        assert stop(process, signal.SIGTERM) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_was_asked_before_the_end_is_answered(number):
    code, answers = _stopped_while_asked(number, seconds=0.3, grace_s=30)
    assert code == 0
    assert [answer.json["result"][0][0]["id"] for answer in answers] == ["p0"] * 3


def test_what_outlasts_the_grace_is_refused_so_that_clients_wait_it_out():
    code, answers = _stopped_while_asked(signal.SIGTERM, seconds=1.5, grace_s=0)
    assert code == 0
    assert {(answer.status, answer.error["code"], answer.headers["retry-after"]) for answer in answers} == {
        (503, "stopping", "1")
    }


def _stopped_while_asked(number, seconds, grace_s):
    """Asks three at once of a server that searches one at a time, stops it in the first search; its exit code, the answers."""
    process, url = start(command=[sys.executable, "-c", SLOW, str(seconds), str(grace_s)])
    try:
        with ThreadPoolExecutor(3) as threads:
            asked = [threads.submit(retrieve, url, {"queries": ["corin vale"], "topk": 1}) for _ in range(3)]
            assert process.stdout.readline() == "searching\n"
            until_waiting(url, 2)
            process.send_signal(number)
            answers = [future.result() for future in asked]
        # Not told to stop a second time: that may come when the server is done and its handlers are gone already.
        process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, answers


def test_a_token_that_is_not_there_a_port_that_is_taken_and_a_world_that_is_none(capsys, monkeypatch):
    monkeypatch.delenv("NO_TOKEN", raising=False)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for arguments, message in (
            (["--world", json.dumps(SMALL), "--token-variable", "NO_TOKEN"], "environment variable NO_TOKEN"),
            (["--world", json.dumps(SMALL), "--port", port], f"cannot listen on 127.0.0.1, port {port}"),
            (["--index", "nowhere"], "nowhere"),
            (["--index", "nowhere", "--search", "[]"], 'for example {"backend": "hybrid"}'),
            (["--index", "nowhere", "--search", '{"back": "bm25"}'], "'back' is not known"),
            (["--world", "{"], "expected a JSON object"),
            (["--world", "[]"], "expected a JSON object"),
            (["--world", '{"corpus": "nowiki"}'], "the corpus must be one of"),
            (["--world", json.dumps(SMALL), "--max-k", "0"], "max_k must be at least 1"),
        ):
            assert main(["serve", *arguments]) == 2
            assert message in capsys.readouterr().err


def test_it_listens_on_this_machine_alone_unless_told_otherwise_and_warns_where_anyone_may_ask(monkeypatch, capsys):
    listened = []
    running = importlib.import_module("sesa_env.search.server.run")  # by its name a test before may have hidden it
    monkeypatch.setattr(running, "serve", lambda app, host, *_: listened.append(host))
    monkeypatch.setenv("SECRET", "open sesame")
    world, token = ["--world", json.dumps(SMALL)], ["--token-variable", "SECRET"]
    for arguments, warned in ([], False), (["--host", "0.0.0.0"], True), (["--host", "0.0.0.0", *token], False):
        assert main(["serve", *world, *arguments]) == 0
        assert ("whoever reaches 0.0.0.0 may search" in capsys.readouterr().err) == warned
    assert listened == ["127.0.0.1", "0.0.0.0", "0.0.0.0"]


def test_without_the_extra_the_error_names_it(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("sesa_env.search.server.") or name == "fastapi"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    assert main(["serve", "--world", json.dumps(SMALL)]) == 2
    assert "pip install 'sesa-env[serve]'" in capsys.readouterr().err
