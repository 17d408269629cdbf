"""What a person at a terminal reads while an index is built."""

import pytest

from sesa_env.search import stderr_progress
from sesa_env.search.progress import told
from sesa_env.search.stderr_progress import StderrProgress


@pytest.fixture
def at(monkeypatch):
    """Sets the clock that the progress reads."""
    return lambda seconds: monkeypatch.setattr(stderr_progress.time, "monotonic", lambda: seconds)


def test_rates_are_of_what_was_done_since_the_stage_began(capsys, at):
    progress = StderrProgress()
    for seconds, *news in (
        (100.0, "counted", 6000, 9000),  # so many were done by an earlier build
        (101.0, "counted", 6500, 9000),  # too soon to be told
        (110.0, "counted", 8000, 9000),
        (115.0, "counted", 9000, 9000),
        (115.0, "passages", 0, None),
        (119.0, "passages", 20_000, None),
        (119.0, "postings", 70_000, 70_000),
    ):
        at(seconds)
        progress(*news)
    assert capsys.readouterr().err.splitlines() == [
        "counted: 6,000 of 9,000",
        "counted: 8,000 of 9,000, 200 a second",
        "counted: 9,000 of 9,000, 200 a second",
        "passages: 20,000, 5,000 a second",
        "postings: 70,000 of 70,000",
    ]


def test_a_stream_is_told_from_its_beginning_to_its_end():
    news = []
    assert list(told("abcde", "letters", None, lambda *one: news.append(one), every=2)) == list("abcde")
    assert news == [("letters", 0, None), ("letters", 2, None), ("letters", 4, None), ("letters", 5, None)]
