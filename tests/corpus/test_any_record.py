"""Whatever JSON a record holds, it is read or named by file and line: no other error escapes the loaders."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sesa_env.corpus.flashrag import load_questions
from sesa_env.corpus.parquet import question_record
from sesa_env.corpus.problems import Malformed
from sesa_env.corpus.seeds import load_targets
from sesa_env.errors import ConfigError

NAMES = (
    "id", "question", "golden_answers", "metadata", "data_source", "prompt", "reward_model", "extra_info", "ground_truth",
    "search_turns", "target", "role", "content", "type", "hops", "passage_ids", "index", "split",
)  # fmt: skip
WORDS = ("", " ", "user", "dummy", "Question: who?", "requires 2 searches", "3")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(WORDS) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)
records = st.dictionaries(st.sampled_from(NAMES), values, max_size=8)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("any") / "own.jsonl"


@pytest.mark.parametrize("load", [load_questions, load_targets])
@given(record=records)
@settings(max_examples=300, deadline=None)
def test_any_jsonl_record_is_read_or_named(load, path, record):
    path.write_text(json.dumps(record))
    try:
        assert len(load(path)) == 1
    except ConfigError as error:
        assert f"{path}, line 1: " in str(error)  # noqa: PT017 - either outcome is right


@given(row=records, number=st.integers(1, 9))
@settings(max_examples=300, deadline=None)
def test_any_parquet_row_is_brought_to_a_record_or_malformed(row, number):
    with contextlib.suppress(Malformed):
        assert set(question_record(row, number)) == {"id", "question", "golden_answers", "metadata", "data_source"}
