import gzip
import json

import pytest

from sesa_env.corpus.flashrag import find_benchmarks, load_benchmarks, load_questions
from sesa_env.corpus.problems import SHOWN
from sesa_env.errors import ConfigError
from sesa_env.types import Passage, Question

from .conftest import passage, question


def told(directory, **options):
    with pytest.raises(ConfigError) as error:
        load_benchmarks(directory, **options)
    return str(error.value)


def test_questions_and_passages_are_read_with_the_benchmark_in_their_ids(tmp_path, write):
    metadata = {"passage_ids": ["1", "0"], "type": "bridge", "hops": 2, "level": "hard"}
    write("nq/corpus.jsonl.gz", [passage(0), {"id": 1, "title": "Corin", "text": "A smith."}])
    write("nq/test.jsonl", [question(5, metadata=metadata), question(6)])
    loaded = load_benchmarks(tmp_path)
    assert loaded.passages == (
        Passage("nq/0", "Alda Wern", "Alda Wern wed Corin Vale. (0)"),
        Passage("nq/1", "Corin", "A smith."),
    )
    assert loaded.questions == {
        "nq": (
            Question("nq/test_5", "who wed alda wern 5", ("Corin Vale",), 2, "bridge", ("nq/1", "nq/0"), (), "nq"),
            Question("nq/test_6", "who wed alda wern 6", ("Corin Vale",), source="nq"),
        )
    }


def test_evidence_that_a_smaller_corpus_lacks_is_left_out(tmp_path, write):
    write("nq/corpus.jsonl", [passage(0)])
    write("nq/test.jsonl", [question(0, metadata={"passage_ids": ["0", "9"]})])
    assert load_benchmarks(tmp_path).questions["nq"][0].evidence == ("nq/0",)


def test_equal_ids_of_two_benchmarks_do_not_collide_and_equal_passages_are_kept_once(tmp_path, write):
    write("nq/corpus.jsonl", [passage(0), passage(1)])
    write("nq/test.jsonl.gz", [question(0, metadata={"passage_ids": ["0"]})])
    write("popqa/corpus.jsonl", [{**passage(0), "id": "7"}, {**passage(5), "id": "0"}])
    write("popqa/test.jsonl", [question(0, metadata={"passage_ids": ["7", "0"]})])
    loaded = load_benchmarks(tmp_path)
    assert [kept.id for kept in loaded.passages] == ["nq/0", "nq/1", "popqa/0"]
    assert [loaded.questions[name][0].id for name in ("nq", "popqa")] == ["nq/test_0", "popqa/test_0"]
    assert loaded.questions["popqa"][0].evidence == ("nq/0", "popqa/0")


def test_one_corpus_for_all_keeps_its_ids(tmp_path, write):
    write("corpus.jsonl.gz", [passage(0)])
    for name in ("nq", "popqa"):
        write(f"{name}/test.jsonl", [question(0, metadata={"passage_ids": ["0"]})])
    loaded = load_benchmarks(tmp_path)
    assert [kept.id for kept in loaded.passages] == ["0"]
    assert [questions[0].evidence for questions in loaded.questions.values()] == [("0",), ("0",)]


def test_benchmarks_come_in_the_papers_order_and_others_by_name(tmp_path, write):
    for name in ("zebra", "apple", "bamboogle", "musique", "nq"):
        write(f"{name}/test.jsonl", [question(0)])
    write("notes/readme.txt", [])
    assert find_benchmarks(tmp_path) == ("nq", "musique", "bamboogle", "apple", "zebra")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"Who said ""Hello"" first?"', 'Who said "Hello" first?'),
        ('Who said ""Hello"" first?', 'Who said ""Hello"" first?'),
        ('"Hello" was said by "whom"', '"Hello" was said by "whom"'),
        ('"Hello"', '"Hello"'),
        ('""', '""'),
        ("  who wed alda \n", "who wed alda"),
    ],
)
def test_csv_quoting_is_undone_only_where_the_whole_text_is_a_csv_field(write, text, expected):
    (read,) = load_questions(write("q.jsonl", [question(0, question=text)]))
    assert read.text == expected


def test_answers_are_stripped_and_repetitions_dropped(write):
    (read,) = load_questions(write("q.jsonl", [question(0, golden_answers=["George VI\n", " George VI", '"Lonely"', "a"])]))
    assert read.answers == ("George VI", '"Lonely"', "a")


def test_a_byte_order_mark_and_blank_lines_are_nothing_to_stop_for(write):
    read = load_questions(write("q.jsonl", [b"\xef\xbb\xbf" + json.dumps(question(0)).encode(), "", question(1), "   "]))
    assert [one.id for one in read] == ["q/test_0", "q/test_1"]


BAD_QUESTIONS = {
    "no JSON": ('{"id": "x", ', "expected one JSON object"),
    "no object": ("[1, 2]", "expected a JSON object; came [1, 2]"),
    "deep": ("[" * 200_000, "expected one JSON object"),
    "no UTF-8": (b'{"id": "\xff"}', "expected UTF-8"),
    "no id": ({"question": "q", "golden_answers": ["a"]}, '"id" must be a string'),
    "blank id": (question(0, id=" "), '"id" must be a string'),
    "no question": (question(0, question=None), '"question" must be a string that is not empty; came None'),
    "blank question": (question(0, question=" \n"), '"question" must be'),
    "string answers": (question(0, golden_answers="Rome"), "came the string 'Rome'; write ['Rome']"),
    "no answers": (question(0, golden_answers=[]), "at least one string; came []"),
    "blank answer": (question(0, golden_answers=["Rome", " "]), "one is ' '"),
    "number answer": (question(0, golden_answers=[1912]), "one is 1912"),
    "missing answers": ({"id": "1", "question": "q"}, '"golden_answers" must be a list'),
    "metadata": (question(0, metadata="bridge"), '"metadata" must be an object'),
    "hops": (question(0, metadata={"hops": 0}), '"hops" must be a whole number'),
    "true hops": (question(0, metadata={"hops": True}), '"hops" must be a whole number'),
    "family": (question(0, metadata={"type": ["bridge"]}), '"type" must be a string'),
    "evidence": (question(0, metadata={"passage_ids": "0"}), '"passage_ids" must be a list'),
    "twice": (question(1), "'nq/test_1' came before"),
}


@pytest.mark.parametrize(("record", "reason"), BAD_QUESTIONS.values(), ids=BAD_QUESTIONS)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_malformed_question_is_named_by_file_line_and_reason(tmp_path, write, record, reason, suffix):
    write("nq/corpus.jsonl", [passage(0)])
    path = write(f"nq/test.jsonl{suffix}", [question(1), question(2), record, question(3)])
    message = told(tmp_path)
    assert f"{path}, line 3: " in message
    assert reason in message
    assert "1 problem in the input" in message


BAD_PASSAGES = {
    "no newline": ({"id": "1", "contents": "text alone"}, "the quoted title, a newline, the text"),
    "no text": ({"id": "1", "title": "t"}, '"contents", or the strings "title" and "text"'),
    "contents": ({"id": "1", "contents": ["t"]}, '"contents", or the strings "title" and "text"'),
    "no id": ({"contents": '"t"\nx'}, '"id" must be a string'),
    "true id": ({"id": True, "contents": '"t"\nx'}, '"id" must be a string'),
    "twice": (passage(0), "'nq/0' came before"),
}


@pytest.mark.parametrize(("record", "reason"), BAD_PASSAGES.values(), ids=BAD_PASSAGES)
def test_a_malformed_passage_is_named_by_file_line_and_reason(tmp_path, write, record, reason):
    path = write("nq/corpus.jsonl.gz", [passage(0), record])
    write("nq/test.jsonl", [question(0)])
    message = told(tmp_path)
    assert f"{path}, line 2: " in message
    assert reason in message


def test_problems_of_all_files_are_told_together_and_the_rest_counted(tmp_path, write):
    write("nq/corpus.jsonl", [passage(0), "broken"])
    write("nq/test.jsonl", [question(0), *["broken"] * 8])
    write("popqa/corpus.jsonl", [passage(1)])
    write("popqa/test.jsonl", [question(0), *["broken"] * 4])
    lines = told(tmp_path).splitlines()
    assert lines[0].startswith("13 problems")
    assert len(lines) == SHOWN + 2
    assert "nq/corpus.jsonl, line 2" in lines[1]
    assert "popqa/test.jsonl, line 2" in lines[SHOWN]
    assert lines[-1].strip() == "... and 3 more"


def test_a_truncated_gz_is_named_with_the_line_reached(tmp_path, write):
    path = write("nq/corpus.jsonl.gz", [passage(number) for number in range(3000)])
    path.write_bytes(path.read_bytes()[:-200])
    write("nq/test.jsonl", [question(0)])
    message = told(tmp_path)
    assert f"{path}, after line " in message
    assert "is the file complete?" in message


def test_a_file_that_is_no_gz_is_named(tmp_path, write):
    path = write("nq/corpus.jsonl", [passage(0)]).rename(tmp_path / "nq" / "corpus.jsonl.gz")
    write("nq/test.jsonl", [question(0)])
    assert f"{path}, after line 0" in told(tmp_path)


def test_files_without_records_are_named(tmp_path, write):
    corpus, questions = write("nq/corpus.jsonl", []), write("nq/test.jsonl", [])
    message = told(tmp_path)
    assert f"{corpus}: expected passages" in message
    assert f"{questions}: expected questions" in message


def test_a_missing_corpus_is_told(tmp_path, write):
    write("nq/test.jsonl", [question(0)])
    assert "expected corpus.jsonl or corpus.jsonl.gz" in told(tmp_path)


@pytest.mark.parametrize(
    ("benchmarks", "reason"), [(["popqa"], "'popqa'"), ([], "no benchmark was named"), ("nq", "came the string 'nq'")]
)
def test_a_benchmark_that_is_not_there_is_told_with_those_that_are(tmp_path, write, benchmarks, reason):
    write("nq/test.jsonl", [question(0)])
    message = told(tmp_path, benchmarks=benchmarks)
    assert reason in message
    assert "nq" in message


def test_a_directory_that_is_none_or_holds_none_is_told(tmp_path, write):
    assert "there is no directory" in told(tmp_path / "nowhere")
    write("readme.txt", [])
    assert "it holds readme.txt" in told(tmp_path)


def test_an_unreadable_question_file_is_told(tmp_path):
    with pytest.raises(ConfigError, match=r"there is no file .*; type questions=FILE"):
        load_questions(tmp_path / "nowhere.jsonl")


def test_the_real_benchmarks_are_read_whole(shared_data):
    loaded = load_benchmarks(shared_data)
    ids = {passage.id for passage in loaded.passages}
    for name, questions in loaded.questions.items():
        lines = (shared_data / name / "test.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(questions) == len(lines)
        assert all(set(question.evidence) <= ids for question in questions)
        with gzip.open(shared_data / name / "corpus.jsonl.gz") as file:
            assert sum(1 for _ in file) >= sum(passage.id.startswith(f"{name}/") for passage in loaded.passages) > 0
    texts = [question.text for questions in loaded.questions.values() for question in questions]
    assert not any('""' in text or text != text.strip() for text in texts)


def test_a_source_of_another_type_is_named(write):
    path = write("own.jsonl", [question(1), question(2, data_source=["nq"])])
    with pytest.raises(ConfigError) as error:
        load_questions(path)
    assert f"{path}, line 2: \"data_source\" must be a string; came ['nq']" in str(error.value)
