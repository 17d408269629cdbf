"""What the server answers: the wire of Search-R1, its limits, its errors, the token, what it tells of itself."""

import json
import socket

import pytest

for package in ("fastapi", "uvicorn", "prometheus_client"):
    pytest.importorskip(package, reason="needs the serve extra")

from sesa_env.errors import ConfigError
from sesa_env.search.bm25 import BM25Retriever
from sesa_env.search.server.app import make_app
from sesa_env.search.server.config import ServerConfig
from tests.search.conftest import template_corpus, template_queries
from tests.search.serving import ask, retrieve, serving
from tests.toy import PASSAGES, ToyRetriever

LIMITS = ServerConfig(default_k=2, max_k=5, max_queries=40, max_passages=100, max_body_bytes=4000)
QUERIES = ["corin vale", "weather rained", "nothing of it"]


@pytest.fixture(scope="module")
def url():
    with serving(make_app(ToyRetriever(PASSAGES), LIMITS)) as served:
        yield served


@pytest.fixture(scope="module")
def guarded():
    with serving(make_app(ToyRetriever(PASSAGES), LIMITS, token="let me in")) as served:
        yield served


def ids(answer):
    return [[hit.get("document", hit)["id"] for hit in hits] for hits in answer.json["result"]]


def expected(queries, k):
    return [[passage.id for passage in hits] for hits in ToyRetriever(PASSAGES).search(queries, k)]


def test_hits_with_scores(url):
    answer = retrieve(url, {"queries": ["corin vale"], "topk": 1, "return_scores": True})
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    document = {"id": "p0", "contents": '"Alda Wern"\nAlda Wern wed Corin Vale in 1820.'}
    assert answer.json == {"result": [[{"document": document, "score": 0.0}]]}


def test_documents_without_scores(url):
    answer = retrieve(url, {"queries": ["corin vale"], "topk": 1, "return_scores": False})
    assert answer.json == {"result": [[{"id": "p0", "contents": '"Alda Wern"\nAlda Wern wed Corin Vale in 1820.'}]]}


@pytest.mark.parametrize("return_scores", [True, False])
@pytest.mark.parametrize("queries", [[], QUERIES[:1], QUERIES, QUERIES * 10])
def test_one_none_and_many_queries(url, queries, return_scores):
    answer = retrieve(url, {"queries": queries, "topk": 2, "return_scores": return_scores})
    assert answer.status == 200
    assert ids(answer) == expected(queries, 2)


@pytest.mark.parametrize("asked", [{}, {"topk": None}, {"topk": 0}])
def test_no_topk_means_the_default(url, asked):
    assert ids(retrieve(url, {"queries": QUERIES, **asked})) == expected(QUERIES, LIMITS.default_k)


@pytest.mark.parametrize("topk", [1, 3, 3.0, 5])
def test_topk(url, topk):
    assert ids(retrieve(url, {"queries": QUERIES, "topk": topk})) == expected(QUERIES, int(topk))


def test_a_single_query_and_fields_that_nobody_knows(url):
    answer = retrieve(url, {"query": "corin vale", "topk": 1, "session": 7})
    assert ids(answer) == [["p0"]]


@pytest.mark.parametrize("query", ["", " ", "日本", "\udce9 corin vale", "a" * 3000, "\x00"])
def test_any_string_is_a_query(url, query):
    answer = retrieve(url, {"queries": [query, "corin vale"], "topk": 1})
    assert answer.status == 200
    assert ids(answer)[1] == ["p0"]


REFUSED = [
    ({"queries": "corin vale"}, 422, "invalid_request", "queries: Input should be a valid list; came 'corin vale'"),
    ({"queries": None}, 422, "invalid_request", "queries"),
    ({"queries": [1]}, 422, "invalid_request", "queries.0"),
    ({}, 422, "invalid_request", 'expected "queries", a list of strings, or "query"'),
    ({"queries": ["a"], "query": "b"}, 422, "invalid_request", 'expected "queries", a list of strings, or "query"'),
    ({"queries": ["a"], "topk": 6}, 422, "bad_topk", "less than or equal to 5; came 6"),
    ({"queries": ["a"], "topk": -1}, 422, "bad_topk", "greater than or equal to 0; came -1"),
    ({"queries": ["a"], "topk": "3"}, 422, "bad_topk", "expected a whole number; came '3'"),
    ({"queries": ["a"], "topk": True}, 422, "bad_topk", "expected a whole number; came True"),
    ({"queries": ["a"], "topk": 1.5}, 422, "bad_topk", "topk"),
    ({"queries": ["a"], "return_scores": "yes"}, 422, "invalid_request", "return_scores"),
    ({"queries": ["a"] * 41}, 422, "invalid_request", "at most 40 items"),
    ({"queries": ["a"] * 21, "topk": 5}, 413, "too_large", "at most 100; came 21 times 5"),
    ([], 422, "invalid_request", "the body"),
    (b"{", 422, "invalid_request", "the body is no JSON"),
    (b"", 422, "invalid_request", "the body"),
    (b"\xff\xfe{", 400, "bad_request", "cannot be read as JSON"),
    (b'{"queries": ["a"], "topk": NaN}', 422, "bad_topk", "topk"),
    (b'{"queries": ["\\ud800"], "topk": "\\ud800"}', 422, "bad_topk", "topk"),
    ({"queries": ["a" * 5000]}, 413, "too_large", "at most 4000 bytes"),
]


@pytest.mark.parametrize(("body", "status", "code", "part"), REFUSED)
def test_what_is_refused_and_what_is_said(url, body, status, code, part):
    answer = retrieve(url, body)
    assert (answer.status, answer.error["code"]) == (status, code)
    assert part in answer.error["message"]
    assert answer.headers["content-type"] == "application/json"


def test_a_body_nested_deeper_than_python_reads_is_refused():
    with serving(make_app(ToyRetriever(PASSAGES))) as served:  # with the default limit: newer Pythons read 10,000 levels
        answer = retrieve(served, b"[" * 60_000)
    assert (answer.status, answer.error["code"]) == (400, "bad_request")
    assert "cannot be read as JSON" in answer.error["message"]


def test_a_body_that_does_not_call_itself_json_is_told_how(url):
    answer = retrieve(url, b'{"queries": []}', **{"content-type": "application/x-www-form-urlencoded"})
    assert answer.status == 422
    assert "Content-Type: application/json" in answer.error["message"]


def test_a_body_far_too_large_is_told_so_too():
    with serving(make_app(ToyRetriever(PASSAGES), ServerConfig(max_body_bytes=3_000_000))) as served:
        answer = retrieve(served, {"queries": ["a" * 20_000_000]})
    assert (answer.status, answer.error["code"]) == (413, "too_large")


def test_a_body_in_chunks_is_limited_too(url):
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as line:
        line.sendall(
            b"POST /retrieve HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(5):
            line.sendall(b"3e8\r\n" + b" " * 1000 + b"\r\n")
        assert line.recv(100).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/", 404), ("GET", "/retrieve", 405), ("PUT", "/status", 405)])
def test_what_is_not_there_is_told_where_to_go(url, method, path, status):
    answer = ask(url, method, path)
    assert answer.status == status
    assert "POST /retrieve" in answer.error["message"]


def test_a_search_that_fails_is_an_error_and_no_document(url):
    answer = retrieve(url, {"queries": ["corin vale", "outage"]})
    assert (answer.status, answer.error["code"]) == (500, "search_failed")
    assert "the toy index is out; ask once more" in answer.error["message"]
    assert retrieve(url, {"queries": ["corin vale"]}).status == 200


def test_a_fault_of_the_search_tool_is_an_error_and_harms_no_other_request():
    class Faulty(ToyRetriever):
        def search(self, queries, k):
            return [] if "short" in queries else super().search(queries, int(1 / len(set(queries) - {"zero"})))

    with serving(make_app(Faulty(PASSAGES))) as served:
        for queries, name in ((["short"], "RuntimeError"), (["zero"], "ZeroDivisionError")):
            answer = retrieve(served, {"queries": queries})
            assert (answer.status, answer.error["code"]) == (500, "internal")
            assert name in answer.error["message"]
        assert retrieve(served, {"queries": ["corin vale"]}).status == 200


def test_status_says_what_is_served():
    retriever = BM25Retriever(template_corpus(30))
    with serving(make_app(retriever, LIMITS, passages=30)) as served:
        status = ask(served, "GET", "/status").json
    assert status["status"] == "ok"
    assert status["fingerprint"] == retriever.fingerprint
    assert status["passages"] == 30
    assert status["waiting"] == 0
    assert status["limits"] == {
        "default_topk": 2,
        "max_topk": 5,
        "max_queries": 40,
        "max_passages": 100,
        "max_body_bytes": 4000,
    }


def test_answers_say_which_index_they_come_from(url):
    assert retrieve(url, {"queries": QUERIES}).headers["x-sesa-fingerprint"] == "toy-retriever"


def test_openapi_tells_the_limits_and_the_errors(url):
    schema = ask(url, "GET", "/openapi.json").json
    request = schema["components"]["schemas"]["RetrieveRequest"]["properties"]
    assert request["queries"]["maxItems"] == 40
    assert {"maximum": 5, "minimum": 0, "type": "integer"} in request["topk"]["anyOf"]
    assert {"200", "400", "401", "413", "422", "429", "500", "503"} == set(schema["paths"]["/retrieve"]["post"]["responses"])


@pytest.mark.parametrize(
    "header", [{}, {"authorization": "Bearer "}, {"authorization": "Bearer let me i"}, {"authorization": "é"}]
)
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/retrieve"), ("GET", "/metrics"), ("GET", "/openapi.json"), ("GET", "/x")]
)
def test_without_the_token_nothing_is_answered(guarded, method, path, header):
    answer = ask(guarded, method, path, {"queries": ["a"]}, header)
    assert (answer.status, answer.error["code"]) == (401, "unauthorised")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_with_the_token_everything_is_and_status_without(guarded):
    assert retrieve(guarded, {"queries": ["a"]}, authorization="Bearer let me in").status == 200
    assert ask(guarded, "GET", "/metrics", headers={"authorization": "Bearer let me in"}).status == 200
    assert ask(guarded, "GET", "/status").status == 200


def test_metrics_count_answers_queries_and_batches():
    with serving(make_app(ToyRetriever(PASSAGES), LIMITS)) as served:
        for body in ({"queries": QUERIES}, {"queries": QUERIES[:1]}, {"queries": 3}):
            retrieve(served, body)
        for path in ("/a", "/b"):
            ask(served, "GET", path)
        answer = ask(served, "GET", "/metrics")
    lines = answer.body.decode().splitlines()
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'sesa_requests_total{path="/retrieve",status="200"} 2.0' in lines
    assert 'sesa_requests_total{path="/retrieve",status="422"} 1.0' in lines
    assert 'sesa_requests_total{path="other",status="404"} 2.0' in lines
    assert "sesa_queries_total 4.0" in lines
    assert "sesa_batch_queries_count 2.0" in lines
    assert "sesa_retrieve_seconds_count 2.0" in lines
    assert "sesa_waiting_queries 0.0" in lines


def test_answers_are_those_of_the_retriever_itself():
    corpus, queries = template_corpus(300), template_queries(40)
    retriever = BM25Retriever(corpus)
    with serving(make_app(retriever)) as served:
        answer = retrieve(served, {"queries": queries, "topk": 5, "return_scores": True})
    for hits, own in zip(answer.json["result"], retriever.search(queries, 5), strict=True):
        assert [(hit["document"]["id"], hit["score"]) for hit in hits] == [(passage.id, passage.score) for passage in own]


BAD_CONFIG = [
    ({"max_k": 0}, "max_k must be at least 1"),
    ({"default_k": 9, "max_k": 8}, "default_k must be at most max_k"),
    ({"max_waiting": 10, "max_queries": 11}, "max_waiting must be at least max_queries"),
    ({"busy_status": 500}, "429 or 503"),
    ({"batch_wait_s": -0.1}, "batch_wait_s"),
]


@pytest.mark.parametrize(("values", "message"), BAD_CONFIG)
def test_limits_that_make_no_sense_are_refused(values, message):
    with pytest.raises(ConfigError, match=message):
        ServerConfig(**values)


def test_json_of_errors_is_plain_ascii(url):
    answer = retrieve(url, {"queries": ["a"], "topk": "é\udce9"})
    assert answer.body.isascii()
    assert "\\udce9" in json.loads(answer.body)["error"]["message"]
