import gzip
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.corpus.passages import read_passages
from sesa_env.corpus.problems import SHOWN, Problems
from sesa_env.errors import ConfigError
from sesa_env.types import Passage

ALDA, CORIN = Passage("7", "Alda", "wed Corin"), Passage("x", "Corin", "a smith")
LINES = [{"id": 7, "contents": '"Alda"\nwed Corin'}, {"id": "x", "title": "Corin", "text": "a smith"}]
TABLE = 'id\ttext\ttitle\n7\t"wed Corin"\tAlda\nx\ta smith\tCorin\n'


def jsonl(records):
    return "".join(f"{record if isinstance(record, str) else json.dumps(record)}\n" for record in records).encode()


def compress(data, ending):
    if ending == ".gz":
        return gzip.compress(data)
    return pytest.importorskip("zstandard").ZstdCompressor().compress(data) if ending else data


def read(*sources, **options):
    problems = Problems()
    passages = list(read_passages(sources, problems, **options))
    problems.stop()
    return passages


def told(*sources):
    with pytest.raises(ConfigError) as error:
        read(*sources)
    return str(error.value)


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize(("name", "data"), [("wiki.jsonl", jsonl(LINES)), ("wiki.tsv", TABLE.encode())])
def test_lines_and_tables_plain_and_compressed(tmp_path, name, data, ending):
    (tmp_path / (name + ending)).write_bytes(compress(data, ending))
    assert read(tmp_path / (name + ending)) == [ALDA, CORIN]


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_compressed_file_that_is_cut_off_or_damaged_is_told(tmp_path, ending):
    data = compress(jsonl({"id": number, "title": "", "text": f"{number * 7919}"} for number in range(5000)), ending)
    path = tmp_path / f"wiki.jsonl{ending}"
    for wrong in (data[: len(data) // 2], data[:-3], b"nothing of the kind", data + data[:50]):
        path.write_bytes(wrong)
        assert "cannot be read further" in told(path)


def test_frames_one_after_the_other_are_one_file(tmp_path):
    data = [compress(jsonl([line]), ".zst") for line in LINES]
    (tmp_path / "wiki.jsonl.zst").write_bytes(b"".join(data))
    assert read(tmp_path / "wiki.jsonl.zst") == [ALDA, CORIN]


def test_without_zstandard_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "wiki.jsonl.zst").write_bytes(b"")
    assert "sesa-env[corpora]" in told(tmp_path / "wiki.jsonl.zst")


def test_beirs_layout(tmp_path):
    lines = [
        {"_id": "x", "title": "Corin", "text": "a smith", "metadata": {}},
        {"_id": "y", "text": "untitled"},
        {"_id": "z", "title": None, "text": "untitled too"},
    ]
    (tmp_path / "corpus.jsonl").write_bytes(jsonl(lines))
    (tmp_path / "queries.jsonl").write_bytes(b"not looked at")
    assert read(tmp_path) == [CORIN, Passage("y", "", "untitled"), Passage("z", "", "untitled too")]
    (tmp_path / "corpus.jsonl").write_bytes(jsonl([{"_id": "x", "title": 3, "text": "t"}, {"title": "T", "text": "t"}]))
    message = told(tmp_path)
    assert "line 1: a passage needs" in message
    assert 'line 2: "id" must' in message


def test_a_folder_of_texts_is_divided_by_words(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "Alda Wern.txt").write_text("one two\nthree\n\nfour five", encoding="utf-8")
    (tmp_path / "b.txt").write_text("short é", encoding="utf-8")
    (tmp_path / "c.md").write_text("another kind")
    assert read(tmp_path, words=2) == [
        Passage("b.txt", "b", "short é"),
        Passage("deep/Alda Wern.txt#1", "Alda Wern", "one two"),
        Passage("deep/Alda Wern.txt#2", "Alda Wern", "three four"),
        Passage("deep/Alda Wern.txt#3", "Alda Wern", "five"),
    ]


def test_sources_come_in_the_order_given(tmp_path):
    for name, line in zip("ab", LINES, strict=True):
        (tmp_path / f"{name}.jsonl").write_bytes(jsonl([line]))
    assert read(tmp_path / "b.jsonl", tmp_path / "a.jsonl") == [CORIN, ALDA]


def test_every_wrong_line_is_named_with_its_reason(tmp_path):
    wrong = [
        "{",
        "[]",
        {"id": "", "contents": '"A"\nb'},
        {"id": "1"},
        {"id": "2", "contents": "no line end"},
        {"title": "", "text": ""},
    ]
    (tmp_path / "a.jsonl").write_bytes(jsonl([*LINES, *wrong]) + b"\xff\n")
    message = told(tmp_path / "a.jsonl")
    for part in (
        "7 problems",
        "line 3: expected one JSON object",
        "line 4: expected a JSON object; came []",
        'line 5: "id" must',
    ):
        assert part in message
    for part in (
        'line 6: a passage needs the string "contents"',
        'line 7: "contents" must be',
        'line 8: "id"',
        "line 9: expected UTF-8",
    ):
        assert part in message


def test_every_wrong_row_is_named_with_its_reason(tmp_path):
    (tmp_path / "a.tsv").write_bytes(TABLE.encode() + b"8\tonly two\n\t text\ttitle\n9\tcaf\xe9\tCafe\n10\tfine\tFine\n")
    message = told(tmp_path / "a.tsv")
    for part in ("3 problems", "line 4: expected the columns", "line 5: the id must not be empty", "line 6: expected UTF-8"):
        assert part in message
    (tmp_path / "b.tsv").write_text("7\ttext\ttitle\n")
    assert "line 1: expected the names id, text and title" in told(tmp_path / "b.tsv")


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ('7\t"never closed\tAlda\n8\tfine "quoted" word\tCorin\n', (2,)),
        ('7\t"Hello" he said\tAlda\n8\tfine\tCorin\n9\t"Bye" she said\tAlda\n', (2, 4)),
        ('6\t"two\nlines"\tOro\n7\t"open to the end\tAlda\n8\tfine\tCorin\n', (4,)),
        (f"7\t{'x' * 140_000}\tAlda\n8\t\n", (2, 3)),
        ('6\t"two\nlines"\n', (2,)),
    ],
)
def test_quotes_that_do_not_match_swallow_no_passage_in_silence(tmp_path, rows, lines):
    path = tmp_path / "a.tsv"
    path.write_text(f"id\ttext\ttitle\n{rows}")
    message = told(path)
    assert [f"{path}, line {line}:" in message for line in lines] == [True] * len(lines)
    assert message.startswith(f"{len(lines)} problem")


def test_wrong_texts_are_named(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"caf\xe9")
    (tmp_path / "b.txt").write_bytes(b" \n")
    message = told(tmp_path)
    assert "a.txt: expected UTF-8; byte 3" in message
    assert "b.txt: expected a text" in message


def test_a_million_wrong_lines_cost_no_memory(tmp_path):
    problems = Problems()
    for number in range(1000):
        problems.add(tmp_path, f"line {number}", "wrong")
    assert len(problems._first) == SHOWN
    with pytest.raises(ConfigError, match=r"1000 problems(.|\n)*and 990 more"):
        problems.stop()


@pytest.mark.parametrize(
    ("name", "message"),
    [("nowhere.jsonl", "there is nothing"), ("a.csv", r"as .jsonl or .tsv"), (".", "found neither")],
)
def test_what_is_no_corpus_is_told_before_anything_is_read(tmp_path, name, message):
    (tmp_path / "a.csv").write_text("x")
    with pytest.raises(ConfigError, match=message):
        next(read_passages([tmp_path / name], Problems()))
    with pytest.raises(ConfigError, match="at least one word"):
        next(read_passages([tmp_path], Problems(), words=0))


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), max_size=12)


@given(st.lists(st.tuples(CELLS.filter(str.strip), CELLS, CELLS), max_size=5))
def test_any_table_that_csv_writes_is_read(tmp_path_factory, rows):
    import csv

    path = tmp_path_factory.getbasetemp() / "any.tsv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t").writerows([("id", "text", "title"), *rows])
    assert read(path) == [Passage(one.strip(), title.strip(), text) for one, text, title in rows]
