"""Search on a server: the same answers as in process, retries, outages, refusals, and processes that fork."""

import multiprocessing
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("urllib3", reason="needs the client extra")

from sesa_env.errors import ConfigError, RetrievalError, RetrievalOutage
from sesa_env.game import GameConfig, SearchGame
from sesa_env.play import step
from sesa_env.search.base import Retriever
from sesa_env.search.client import RemoteRetriever, RemoteSettings
from sesa_env.types import Passage, Question
from sesa_env.worlds import World, make_world
from tests.search.conftest import template_corpus, template_queries
from tests.search.fake_server import FakeServer, hits
from tests.toy import ToyRetriever, ToyVerifier, toy_world

DOCUMENT = {"id": "7", "contents": '"Corin Vale"\nBorn in Harrow Mere.'}
FOUND = Passage("7", "Corin Vale", "Born in Harrow Mere.")
QUICK = {"backoff_s": 0.0, "retries": 3, "timeout_s": 5.0}
SMALL = {"corpus": "miniwiki", "size": 300, "n_questions": 3, "n_targets": 0}


def client(url: str, **settings) -> RemoteRetriever:
    return RemoteRetriever(RemoteSettings(url=url, **{**QUICK, "fingerprint": "known", **settings}))


def in_turn(*said):
    """Says one after the other, the last one for ever."""
    left = list(said)
    return lambda body: left.pop(0) if len(left) > 1 else left[0]


@pytest.fixture(scope="module")
def bm25():
    from sesa_env.search.bm25 import BM25Retriever

    return BM25Retriever(template_corpus(300))


@pytest.fixture(scope="module")
def served(bm25):
    pytest.importorskip("fastapi", reason="needs the serve extra")
    from sesa_env.search.server.app import make_app
    from tests.search.serving import serving

    with serving(make_app(bm25)) as url:
        yield url


def test_a_server_answers_as_the_retriever_behind_it(served, bm25):
    remote = client(served, fingerprint=None)
    assert isinstance(remote, Retriever)
    assert remote.fingerprint == bm25.fingerprint
    queries = [*template_queries(60), "", "\udce9", "日本"]
    for k in (1, 3, 7):
        here, there = bm25.search(queries, k), remote.search(queries, k)
        assert there == here
        assert [[hit.score for hit in found] for found in there] == [[hit.score for hit in found] for found in here]


def test_any_title_and_text_come_back_as_they_were():
    pytest.importorskip("fastapi", reason="needs the serve extra")
    from sesa_env.search.server.app import make_app
    from tests.search.serving import serving

    titles = ("plain", '"quoted"', 'say "x"', "two\nlines", "", '"', "é日\udce9", "\n")
    passages = [Passage(f"p{n}", title, text) for n, title in enumerate(titles) for text in ("word", "", "two\nlines", '"x"')]

    class All(ToyRetriever):
        def search(self, queries, k):
            return [passages[:k] for _ in queries]

    with serving(make_app(All(passages))) as url:
        assert client(url, fingerprint="toy-retriever").search(["any"], 32) == [passages[:32]]


def test_many_threads_share_a_client(served, bm25):
    remote, queries = client(served, fingerprint=None), template_queries(200)
    with ThreadPoolExecutor(16) as threads:
        there = list(threads.map(lambda query: remote.search([query], 3)[0], queries))
    assert there == bm25.search(queries, 3)


def _search_in_a_fork(remote, queries, answers):
    answers.put(remote.search(queries, 2))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # the fake server's threads
def test_a_forked_process_makes_connections_of_its_own():
    """A child on its parent's connection gets the parent's answers, and the parent the child's."""
    fork = multiprocessing.get_context("fork")
    with FakeServer(lambda body: (200, hits({**DOCUMENT, "id": body["queries"][0]}))) as server:
        remote = client(server.url)
        remote.search(["parent"], 2)
        answers = fork.SimpleQueue()
        child = fork.Process(target=_search_in_a_fork, args=(remote, ["child"], answers))
        child.start()
        assert answers.get()[0][0].id == "child"
        child.join(10)
        assert remote.search(["parent again"], 2)[0][0].id == "parent again"
        assert len(server.lines) == 2


def test_connections_are_kept():
    with FakeServer(lambda body: (200, hits(DOCUMENT))) as server:
        remote = client(server.url)
        for _ in range(5):
            remote.search(["a"], 1)
        assert len(server.lines) == 1


def test_what_is_asked():
    with FakeServer(lambda body: (200, {"result": [[]] * len(body["queries"])})) as server:
        remote = client(server.url, batch_size=2)
        assert remote.search(["a", "\ud800b", "c"], 4) == [[], [], []]
        assert remote.search([], 4) == []
    assert server.bodies == [
        {"queries": ["a", "?b"], "topk": 4, "return_scores": True},
        {"queries": ["c"], "topk": 4, "return_scores": True},
    ]


@pytest.mark.parametrize(
    ("document", "passage"),
    [
        (DOCUMENT, FOUND),
        ({**DOCUMENT, "title": "T", "text": "t"}, Passage("7", "T", "t")),
        ({"id": 7, "title": "T", "text": "t"}, Passage("7", "T", "t")),
        ({"id": "7", "contents": "no title"}, Passage("7", "", "no title")),
        ({"id": "7", "contents": "plain title\ntext"}, Passage("7", "plain title", "text")),
    ],
)
def test_documents_of_other_servers(document, passage):
    with FakeServer(lambda body: (200, hits(document, document))) as server:
        assert client(server.url).search(["a"], 1) == [[passage]]


def test_documents_without_scores_and_without_ids():
    bare = {"contents": DOCUMENT["contents"]}
    with FakeServer(lambda body: (200, {"result": [[bare, {"contents": "x\ny"}]]})) as server:
        first, second = client(server.url).search(["a"], 3)[0]
        again = client(server.url).search(["a"], 3)[0][0]
    assert (first.title, first.text, first.score) == (FOUND.title, FOUND.text, 0.0)
    assert first.id == again.id != second.id


OUTAGES = [(429, {"error": {"message": "busy"}}), (503, "no"), (502, b"<html>"), (504, {}), None, "cut"]


@pytest.mark.parametrize("outage", OUTAGES, ids=str)
def test_an_outage_is_waited_out(outage):
    with FakeServer(in_turn(outage, outage, (200, hits(DOCUMENT)))) as server:
        assert client(server.url).search(["a"], 1) == [[FOUND]]
        assert len(server.bodies) == 3


@pytest.mark.parametrize("outage", OUTAGES, ids=str)
def test_an_outage_that_lasts_is_told_as_one(outage):
    with FakeServer(in_turn(outage)) as server:
        with pytest.raises(RetrievalOutage, match="3 retries included"):
            client(server.url).search(["a"], 1)
        assert len(server.bodies) == 4


def test_a_late_answer_is_an_outage_and_never_the_next_ones_answer():
    with FakeServer(in_turn(2.0, (200, hits(DOCUMENT)))) as server:
        remote = client(server.url, timeout_s=1.0, retries=0)
        with pytest.raises(RetrievalOutage, match="timed out"):
            remote.search(["a"], 1)
        assert remote.search(["b"], 1) == [[FOUND]]


def test_the_servers_own_pause_is_kept():
    with FakeServer(in_turn((429, {}, {"Retry-After": "1"}), (200, hits(DOCUMENT)))) as server:
        asked = threading.Event()
        searching = threading.Thread(target=lambda: (client(server.url).search(["a"], 1), asked.set()))
        searching.start()
        assert not asked.wait(0.9)
        searching.join(10)
        assert asked.is_set()


def test_the_pauses_between_retries_double_up_to_a_limit(monkeypatch):
    pauses = []
    monkeypatch.setattr("urllib3.util.retry.time.sleep", pauses.append)
    with FakeServer(in_turn((503, {}))) as server, pytest.raises(RetrievalOutage):
        client(server.url, backoff_s=0.5, retries=8).search(["a"], 1)
    assert pauses == [1, 2, 4, 8, 8, 8, 8]  # the first retry is made at once


def test_no_server_is_an_outage():
    with FakeServer(lambda body: None) as server:
        url = server.url
    with pytest.raises(RetrievalOutage, match="is the server running"):
        client(url).search(["a"], 1)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ((500, {"error": {"code": "search_failed", "message": "no luck"}}), "status 500, no luck"),
        ((413, {"error": {"code": "too_large", "message": "too much"}}), "status 413, too much"),
        ((422, {"detail": "foreign"}), "status 422.*foreign"),
        (b"no json", "cannot be read"),
        (b"\xff", "cannot be read"),
        ((200, []), "a list of hits for each of 1 queries"),
        ((200, {"result": []}), "each of 1 queries; came 0 lists"),
        ((200, {"result": [[], []]}), "came 2 lists"),
        ((200, {"result": ["x"]}), "expected a list of hits"),
        ((200, {"result": [["x"]]}), "expected a hit"),
        ((200, {"result": [[{"document": DOCUMENT, "score": "high"}]]}), "expected a hit"),
        ((200, {"result": [[{"document": {"id": "7"}, "score": 1}]]}), '"contents"'),
    ],
)
def test_what_cannot_be_answered_is_an_error_at_once(said, message):
    with FakeServer(in_turn(said)) as server:
        with pytest.raises(RetrievalError, match=message) as raised:
            client(server.url).search(["a"], 1)
        assert not isinstance(raised.value, RetrievalOutage)
        assert len(server.bodies) == 1


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ((401, {"error": {"message": "a token"}}), "a token; look at url and token_variable"),
        ((404, b"<html>"), "look at url"),
        ((405, b""), "look at url"),
        ((307, b"", {"Location": "http://127.0.0.1:9/"}), "look at url"),
        ((422, {"error": {"code": "bad_topk", "message": "at most 5"}}), "at most 5; ask for fewer passages"),
        (
            (200, hits(DOCUMENT), {"x-sesa-fingerprint": "other"}),
            "serves another index than expected: fingerprint other for known",
        ),
    ],
)
def test_what_a_person_must_mend_stops_the_run(said, message):
    with FakeServer(in_turn(said)) as server, pytest.raises(ConfigError, match=message):
        client(server.url).search(["a"], 1)


def test_the_token_is_sent_and_must_be_there(monkeypatch):
    monkeypatch.setenv("SEARCH_TOKEN", "open sesame")
    with FakeServer(lambda body: (200, hits(DOCUMENT))) as server:
        client(server.url, token_variable="SEARCH_TOKEN").search(["a"], 1)
    assert server.headers[0]["authorization"] == "Bearer open sesame"
    monkeypatch.delenv("SEARCH_TOKEN")
    with pytest.raises(ConfigError, match="environment variable SEARCH_TOKEN"):
        client("http://127.0.0.1:9", token_variable="SEARCH_TOKEN")


@pytest.mark.parametrize("said", [(404, {}), (200, "ok"), (200, {"status": "ok"}), b"no json"])
def test_a_server_that_does_not_say_what_it_serves_must_be_named(said):
    with FakeServer(lambda body: said if body is None else (200, hits(DOCUMENT))) as server:
        with pytest.raises(ConfigError, match="give fingerprint=NAME"):
            client(server.url, fingerprint=None).search(["a"], 1)
        assert client(server.url, fingerprint="wiki").search(["a"], 1) == [[FOUND]]


def test_the_fingerprint_is_asked_for_once_and_goes_with_a_copy():
    said = in_turn((200, {"fingerprint": "f1"}), (200, hits(DOCUMENT), {"x-sesa-fingerprint": "f1"}))
    with FakeServer(said) as server:
        remote = client(server.url, fingerprint=None)
        copy = pickle.loads(pickle.dumps(remote))
        assert copy.search(["a"], 1) == remote.search(["b"], 1) == [[FOUND]]
        assert (copy.fingerprint, remote.fingerprint) == ("f1", "f1")
        assert [body is None for body in server.bodies] == [True, False, False]


@pytest.mark.parametrize(
    ("url", "path"),
    [("", "/retrieve"), ("/", "/retrieve"), ("/retrieve", "/retrieve"), ("/wiki/retrieve", "/wiki/retrieve"), ("/x", "/x")],
)
def test_the_path_that_is_asked(url, path):
    assert RemoteSettings(url="http://127.0.0.1:8000" + url).path == path


BAD = [
    *({"url": url} for url in ("", "127.0.0.1:8000", "ftp://a", "http://", "http://a:x", "http://a?b=c", "http://me:pw@a")),
    {"retries": -1},
    {"batch_size": 0},
    {"connections": 0},
    {"backoff_s": -1.0},
    {"timeout_s": 0.0},
    {"fingerprint": ""},
]


@pytest.mark.parametrize("values", BAD, ids=str)
def test_settings_that_make_no_sense_are_refused(values):
    with pytest.raises(ConfigError, match="expected"):
        RemoteSettings(**{"url": "http://127.0.0.1:8000", **values})


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "urllib3", None)
    with pytest.raises(ConfigError, match=r"sesa-env\[client\]"):
        client("http://127.0.0.1:9")


def remote_toy_world(retriever) -> World:
    return World("toy", "toy", toy_world().corpus, retriever, ToyVerifier(), (), ())


def play_searches(world, texts):
    games = [SearchGame(world, GameConfig(group_size=1)) for _ in texts]
    for number, game in enumerate(games):
        game.reset(Question(f"q{number}", "Who is it?", ("x",)))
    step(games, texts)
    return [game.state.transcript[0] for game in games]


def test_an_outage_is_waited_out_once_for_all_games_and_no_game_gets_a_document():
    with FakeServer(lambda body: (503, {})) as server:
        turns = play_searches(remote_toy_world(client(server.url)), [f"<search>corin {n}</search>" for n in range(20)])
        assert len(server.bodies) == 4
    assert {turn.event for turn in turns} == {"search_failed"}
    assert all("the search tool failed" in turn.observation and "<information>" not in turn.observation for turn in turns)


def test_a_query_that_cannot_be_answered_harms_no_other_game():
    def say(body):
        if "bad" in body["queries"]:
            return 500, {"error": {"code": "search_failed", "message": "no"}}
        return 200, {"result": [[{"document": DOCUMENT, "score": 1.0}] for _ in body["queries"]]}

    with FakeServer(say) as server:
        turns = play_searches(
            remote_toy_world(client(server.url)), ["<search>a</search>", "<search>bad</search>", "<search>c</search>"]
        )
    assert [turn.event for turn in turns] == ["search", "search_failed", "search"]


def test_a_world_searches_on_a_server_as_it_does_by_itself():
    pytest.importorskip("fastapi", reason="needs the serve extra")
    from sesa_env.search.server.app import make_app
    from tests.search.serving import serving

    here = make_world(**SMALL)
    with serving(make_app(here.retriever)) as url:
        there = make_world(**SMALL, remote={"url": url, "connections": 2})
        assert isinstance(there.retriever, RemoteRetriever)
        assert there.fingerprint == here.fingerprint
        query = here.questions[0].text
        assert there.retriever.search([query], 3) == here.retriever.search([query], 3)
        assert make_world(**SMALL, remote={"url": url, "connections": 2}) is there


def test_settings_of_an_index_and_a_server_do_not_go_together():
    with pytest.raises(ConfigError, match="give remote or k1, stop_words, not both"):
        make_world(**SMALL, k1=1.2, stop_words=["the"], remote={"url": "http://127.0.0.1:9"})
    with pytest.raises(ConfigError, match="'url' is missing"):
        make_world(**SMALL, remote={})


def test_with_a_server_a_benchmark_needs_no_corpus(tmp_path):
    (tmp_path / "nq").mkdir()
    (tmp_path / "nq" / "test.jsonl").write_text('{"id": "1", "question": "who", "golden_answers": ["Ada"]}')
    with pytest.raises(ConfigError, match=r"expected corpus\.jsonl"):
        make_world("flashrag", data=str(tmp_path))
    with FakeServer(lambda body: (200, hits(DOCUMENT))) as server:
        world = make_world("flashrag", data=str(tmp_path), remote={"url": server.url, "fingerprint": "wiki-18"})
        assert world.retriever.search(["who"], 1) == [[FOUND]]
    assert (len(world.corpus), len(world.questions), world.targets) == (0, 1, ())
