"""The wire, without a server: whatever a passage holds comes back, and whatever comes is read or refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.search.wire import contents, read_result, writable, write_hits, write_request, write_result
from sesa_env.types import Passage

TEXT = st.text(st.characters() | st.sampled_from('"\n\r\\\ud800'), max_size=20)
SCORES = st.floats(allow_nan=False)
PASSAGES = st.lists(st.builds(Passage, TEXT, TEXT, TEXT, SCORES), max_size=4)
NAMES = TEXT | st.sampled_from(["document", "score", "contents"])
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT | st.sampled_from(["document", "score"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(PASSAGES, max_size=4))
def test_hits_come_back_as_they_were_with_their_scores(answers):
    body = write_result([write_hits(hits, return_scores=True) for hits in answers])
    came = read_result(body, len(answers), 4)
    assert came == answers
    assert [[hit.score for hit in hits] for hits in came] == [[hit.score for hit in hits] for hits in answers]


@given(PASSAGES)
def test_documents_without_scores_come_back_too(hits):
    assert read_result(write_result([write_hits(hits, return_scores=False)]), 1, 4) == [hits]


@given(st.builds(Passage, TEXT, TEXT, TEXT))
def test_clients_of_the_field_find_the_quoted_title_before_the_text(passage):
    hit = json.loads(write_hits([passage], return_scores=False))[0]
    assert hit["contents"] == contents(passage) == f'"{passage.title}"\n{passage.text}'
    assert set(hit) == ({"id", "contents", "title", "text"} if "\n" in passage.title else {"id", "contents"})


@given(st.lists(TEXT, max_size=4), st.integers(1, 100))
def test_requests_are_json_that_utf8_can_write(queries, k):
    sent = json.loads(write_request(queries, k))
    assert sent == {"queries": [writable(query) for query in queries], "topk": k, "return_scores": True}
    assert all(query.encode() for query in sent["queries"] if query)


@given(JSON, st.integers(0, 2))
def test_any_answer_is_read_or_refused(value, queries):
    try:
        found = read_result(json.dumps({"result": value}).encode(), queries, 3)
    except ValueError:
        return
    assert len(found) == queries
    assert all(isinstance(hit, Passage) for hits in found for hit in hits)


@given(st.binary(max_size=30))
def test_no_bytes_do_anything_else(body):
    with pytest.raises(ValueError, match=r"\w"):
        read_result(body, 1, 3)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'{"result": [[{"document": {"contents": "a"}, "score": 1' + b"0" * 400 + b"}]]}", "a score that is a float"),
    ],
)
def test_what_breaks_readers_is_refused(body, message):
    with pytest.raises(ValueError, match=message):
        read_result(body, 1, 3)
