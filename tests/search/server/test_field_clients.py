"""The server before the field's clients: requests as they shape them, answers read as they read them.

The shapes are written anew here, each from what its client does; with `skyrl-gym` installed, and with a verl that still has a
search tool, their own code asks too.
"""

import importlib.util
import json
from pathlib import Path

import pytest

for package in ("fastapi", "uvicorn", "prometheus_client"):
    pytest.importorskip(package, reason="needs the serve extra")

from sesa_env.search.bm25 import BM25Retriever
from sesa_env.search.server.app import make_app
from sesa_env.search.server.config import ServerConfig
from tests.search.conftest import template_corpus, template_queries
from tests.search.serving import Answer, retrieve, serving

QUERIES = template_queries(6)
RETRIED_BY_VERL = (500, 502, 503, 504)


@pytest.fixture(scope="module")
def bm25():
    return BM25Retriever(template_corpus(200))


@pytest.fixture(scope="module")
def url(bm25):
    with serving(make_app(bm25, ServerConfig(default_k=4))) as served:
        yield served


def read(answer: Answer) -> list:
    assert answer.status == 200
    return answer.json["result"]


def title_and_text(contents: str) -> tuple[str, str]:
    """As all of them take a document apart: the first line, quotes and all, and the rest."""
    first, *rest = contents.split("\n")
    return first, "\n".join(rest)


def search_r1(url, queries):
    """Search-R1's rollouts, and GEM's and many a fork's: all queries of a step at once, those of no game included."""
    result = read(retrieve(url, {"queries": queries, "topk": 3, "return_scores": True}))
    return [[title_and_text(hit["document"]["contents"]) for hit in hits] for hits in result]


def search_r1_inference(url, queries):
    """Search-R1's inference: one query a request."""
    return [search_r1(url, [query])[0] for query in queries]


def search_r1_without_scores(url, queries):
    """What Search-R1's own server answers with status 500: documents alone."""
    result = read(retrieve(url, {"queries": queries, "topk": 3, "return_scores": False}))
    return [[title_and_text(document["contents"]) for document in documents] for documents in result]


def verl(url, queries):
    """verl's search tool, which SSP uses for both its roles."""
    sent = {"queries": queries, "topk": 3, "return_scores": True}
    result = read(retrieve(url, sent, Accept="application/json"))
    return [[title_and_text(item["document"]["contents"]) for item in retrieval] for retrieval in result]


def skillrl(url, queries):
    """SkillRL's search environment, from SkyRL's: a single `query`, and a document that may stand bare."""
    told = []
    for query in queries:
        (retrieval,) = read(retrieve(url, {"query": query, "topk": 3, "return_scores": True}, Accept="application/json"))
        told.append([title_and_text(item.get("document", item)["contents"].strip()) for item in retrieval])
    return told


@pytest.mark.parametrize("client", [search_r1, search_r1_inference, search_r1_without_scores, verl, skillrl])
def test_clients_read_what_the_retriever_finds(url, bm25, client):
    expected = [[(f'"{hit.title}"', hit.text) for hit in hits] for hits in bm25.search(QUERIES, 3)]
    assert client(url, QUERIES) == expected


@pytest.mark.parametrize("client", [search_r1, search_r1_inference, search_r1_without_scores, verl, skillrl])
def test_a_step_in_which_nobody_searches_is_answered(url, client):
    assert client(url, []) == []


def test_no_topk_is_the_servers_own(url):
    (hits,) = read(retrieve(url, {"queries": QUERIES[:1], "topk": None, "return_scores": True}))
    assert len(hits) == 4
    assert hits == read(retrieve(url, {"queries": QUERIES[:1], "return_scores": True}))[0]


def test_a_whole_batch_of_rollouts_is_one_request(url, bm25):
    queries = template_queries(8) * 320  # 512 questions with 5 rollouts
    result = read(retrieve(url, {"queries": queries, "topk": 3, "return_scores": True}))
    once = [[hit.id for hit in hits] for hits in bm25.search(queries[:8], 3)]
    assert [[hit["document"]["id"] for hit in hits] for hits in result] == once * 320


def test_a_status_is_there_to_be_watched(url):
    """SSP's server has one too; its clients look at the code alone."""
    from tests.search.serving import ask

    assert ask(url, "GET", "/status").status == 200


def test_a_busy_server_can_be_told_to_say_what_verl_waits_for():
    assert ServerConfig().busy_status not in RETRIED_BY_VERL
    assert ServerConfig(busy_status=503).busy_status in RETRIED_BY_VERL


@pytest.mark.slow
def test_skyrls_own_client(url, bm25):
    pytest.importorskip("skyrl_gym", reason="needs skyrl-gym, whose search tool SkillRL carries")
    from skyrl_gym.tools import SearchToolGroup

    tool = SearchToolGroup(search_url=f"{url}/retrieve", topk=2, timeout=30, log_requests=False)
    for query in QUERIES:
        told = json.loads(tool.execute_tool("search", query))["result"]
        assert [hit.text in told for hit in bm25.search([query], 2)[0]] == [True, True]


@pytest.mark.slow
def test_verls_own_client(url, bm25):
    place = getattr(importlib.util.find_spec("verl"), "origin", None)
    file = Path(place or "").parent / "tools" / "utils" / "search_r1_like_utils.py"
    if place is None or not file.is_file():
        pytest.skip("needs a verl with a search tool, as 0.5 to 0.7 have; verl itself is not imported")
    spec = importlib.util.spec_from_file_location("search_r1_like_utils", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    told, metadata = module.perform_single_search_batch(f"{url}/retrieve", QUERIES, topk=2)
    assert (metadata["status"], metadata["total_results"]) == ("success", 2 * len(QUERIES))
    assert [hit.text in json.loads(told)["result"] for hits in bm25.search(QUERIES, 2) for hit in hits] == [True] * 12
