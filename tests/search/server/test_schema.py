"""Whatever is sent, the server answers as its OpenAPI says: schemathesis makes the requests up from it."""

import pytest

pytest.importorskip("schemathesis", reason="needs schemathesis; tox -e slow brings it")
for package in ("fastapi", "uvicorn", "prometheus_client"):
    pytest.importorskip(package, reason="needs the serve extra")

import schemathesis
from hypothesis import settings

from sesa_env.search.bm25 import BM25Retriever
from sesa_env.search.server.app import make_app
from sesa_env.search.server.config import ServerConfig
from tests.search.conftest import template_corpus
from tests.search.serving import serving

pytestmark = pytest.mark.slow

LIMITS = ServerConfig(max_k=7, max_queries=9, max_body_bytes=50_000)
TOKEN = "let-me-in"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
app = make_app(BM25Retriever(template_corpus(60)), LIMITS, TOKEN)
schema = schemathesis.openapi.from_dict(app.openapi())


@pytest.fixture(scope="module")
def url():
    with serving(app) as served:
        yield served


def test_the_schema_is_whole():
    assert {(operation.ok().method, operation.ok().path) for operation in schema.get_all_operations()} == {
        ("post", "/retrieve"),
        ("get", "/status"),
        ("get", "/metrics"),
    }


@schema.parametrize()
@settings(max_examples=100)
def test_every_answer_is_as_the_schema_says(case, url):
    case.call_and_validate(base_url=url, headers=HEADERS, timeout=30)
