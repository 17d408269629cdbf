"""One question's record, and files that are whole or not there."""

import json

import pytest

from benchmarks.records import dump, hit, make_record, read_json, read_records, write_file, write_records
from sesa_env.errors import StoreError
from sesa_env.types import Attempt, Passage, Question, SearchCall


def passage(name, text="nothing"):
    return Passage(id=name, title=name, text=text)


def attempt(*searches, prediction="", texts=()):
    calls = tuple(SearchCall(f"query {number}", tuple(found)) for number, found in enumerate(searches))
    return Attempt(prediction, correct=False, malformed=False, texts=tuple(texts), searches=calls)


def question(*answers, evidence=()):
    return Question("q", "Where?", answers or ("Rome",), evidence=tuple(evidence))


@pytest.mark.parametrize(
    ("searches", "at_1", "at_3"),
    [
        ([], False, False),
        ([["a", "b", "c"]], False, False),
        ([["e", "b", "c"]], True, True),
        ([["a", "b", "e"]], False, True),
        ([["a", "b", "c", "e"]], False, False),
        ([["a"], ["e"]], True, True),
        ([[], ["a", "e"]], False, True),
    ],
)
def test_a_hit_is_named_evidence_in_the_first_k_of_any_search(searches, at_1, at_3):
    played = attempt(*([passage(name, "Rome") for name in found] for found in searches))
    asked = question(evidence=["e", "f"])
    assert (hit(asked, played, 1), hit(asked, played, 3)) == (at_1, at_3)


def test_without_named_evidence_a_hit_holds_a_gold_answer():
    assert hit(question("Rome"), attempt([passage("a", "It lies in rome, they say.")]), 1)
    assert hit(question("Rome"), attempt([passage("Rome")]), 1)
    assert not hit(question("Rome"), attempt([passage("a", "Jerome wrote it.")]), 3)


@pytest.mark.parametrize("answer", ["yes", "No"])
def test_yes_and_no_are_never_found(answer):
    assert not hit(question(answer), attempt([passage("a", "Yes and no.")]), 3)


def test_the_record_scores_over_all_aliases_and_counts_words():
    asked = question("Rome", "Eternal City")
    played = attempt(
        [], [], prediction="the eternal city", texts=["<search>where is it</search>", "<answer>the eternal city</answer>"]
    )
    record = make_record({"arm": "a", "mode": "off"}, asked, played)
    assert (record["em"], record["f1"]) == (True, 1.0)
    assert (record["searches"], record["tokens"]) == (2, 6)
    assert record["answers"] == ["Rome", "Eternal City"]
    assert make_record({}, asked, attempt(prediction="city of Rome"))["f1"] == pytest.approx(0.5)


def test_records_keep_every_character(tmp_path):
    record = {"text": "Sørby \ud800 \u2028 \x00", "a": 1}
    write_records(tmp_path / "r.jsonl", [record, record])
    assert read_records(tmp_path / "r.jsonl") == [record, record]
    assert dump({"b": 1, "a": "ø"}) == '{"a": "ø", "b": 1}\n'.encode()


def test_a_damaged_line_is_named(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text('{"a": 1}\n{"a": \n')
    with pytest.raises(StoreError, match=r"r\.jsonl, line 2"):
        read_records(path)
    with pytest.raises(StoreError, match="cannot be read as JSON"):
        read_json(path)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "r.jsonl"
    write_records(path, [{"a": 1}])

    def broken():
        yield {"a": 2}
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        write_records(path, broken())
    assert json.loads(path.read_text()) == {"a": 1}
    write_file(path, b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["r.jsonl"]
