import pytest

from sesa_env.corpus.flashrag import load_benchmarks, load_questions
from sesa_env.errors import ConfigError

from .conftest import passage

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

PROMPT = "Answer the given question. For example, <answer> Beijing </answer>. Question: {}\n"


def search_r1(number, **changes):
    """A row as Search-R1's `nq_search.py` writes it."""
    return {
        "id": f"test_{number}",
        "question": f"who wed alda {number}?",
        "golden_answers": ["Corin", "Corin Vale"],
        "data_source": "nq",
        "prompt": [{"role": "user", "content": PROMPT.format(f"who wed alda {number}?")}],
        "ability": "fact-reasoning",
        "reward_model": {"style": "rule", "ground_truth": {"target": ["Corin", "Corin Vale"]}},
        "extra_info": {"split": "test", "index": number},
        **changes,
    }


def ssp(number, source="searchR1_popqa", **changes):
    """A row as SSP's evaluation set has it: no id, the question in `extra_info`."""
    asked = f"Who wed Alda {number}?"
    truth = {"target": ["Corin"]}
    return {
        "data_source": source,
        "prompt": [{"role": "system", "content": "You are helpful."}, {"role": "user", "content": PROMPT.format(asked)}],
        "ability": "fact-reasoning",
        "reward_model": {"ground_truth": truth, "style": "rule"},
        "extra_info": {
            "index": number,
            "need_tools_kwargs": True,
            "question": asked,
            "split": "test",
            "tools_kwargs": {"search": {"create_kwargs": {"ground_truth": truth, "question": asked, "data_source": source}}},
        },
        "metadata": None,
        **changes,
    }


@pytest.fixture
def table(tmp_path):
    def table(rows, name="q.parquet"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
        return path

    return table


def test_search_r1_rows_are_read(table):
    read = load_questions(table([search_r1(4), search_r1(5, data_source="hotpotqa")]))
    assert [(one.id, one.text, one.answers, one.source) for one in read] == [
        ("nq/test_4", "who wed alda 4?", ("Corin", "Corin Vale"), "nq"),
        ("hotpotqa/test_5", "who wed alda 5?", ("Corin", "Corin Vale"), "hotpotqa"),
    ]


def test_ssp_rows_are_read(table):
    read = load_questions(table([ssp(0), ssp(1, "searchR1_nq")]))
    assert [(one.id, one.text, one.answers, one.source) for one in read] == [
        ("popqa/test_0", "Who wed Alda 0?", ("Corin",), "popqa"),
        ("nq/test_1", "Who wed Alda 1?", ("Corin",), "nq"),
    ]


def test_the_question_is_found_in_the_prompt_where_there_is_no_other(table):
    row = search_r1(4)
    del row["question"], row["golden_answers"], row["id"], row["extra_info"]
    (read,) = load_questions(table([row]))
    assert (read.id, read.text, read.answers) == ("nq/row_0", "who wed alda 4?", ("Corin", "Corin Vale"))


@pytest.mark.parametrize("truth", ["Corin", ["Corin"], {"target": "Corin"}, {"target": ["Corin"]}])
def test_the_answers_may_be_a_string_or_a_list_with_or_without_target(table, truth):
    (read,) = load_questions(table([search_r1(0, golden_answers=None, reward_model={"style": "rule", "ground_truth": truth})]))
    assert read.answers == ("Corin",)


def test_metadata_of_structs_with_nulls_is_read(table):
    rows = [search_r1(0, metadata={"type": "bridge", "hops": None}), search_r1(1, metadata={"type": None, "hops": 3})]
    assert [(one.family, one.hops) for one in load_questions(table(rows))] == [("bridge", 1), ("", 3)]


def test_parquet_stands_in_for_jsonl_in_a_benchmarks_directory(tmp_path, table, write):
    write("popqa/corpus.jsonl", [passage(0)])
    table([ssp(0, "anything")], "popqa/test.parquet")
    loaded = load_benchmarks(tmp_path)
    assert [one.id for one in loaded.questions["popqa"]] == ["popqa/test_0"]


BAD = {
    "dummy": ({"question": "dummy"}, "a target for the Challenger"),
    "blank answers": ({"golden_answers": [" "], "reward_model": None}, "one is ' '"),
    "no answers": ({"golden_answers": [], "reward_model": None}, "at least one string; came []"),
    "nothing": ({"golden_answers": None, "reward_model": None}, "reward_model is None"),
    "no question": ({"question": None, "prompt": [{"role": "user", "content": "Hello"}]}, "expected the question in"),
    "no prompt": ({"question": " ", "prompt": None}, "expected the question in"),
    "twice": ({"id": "test_0"}, "'nq/test_0' came before"),
}


@pytest.mark.parametrize(("changes", "reason"), BAD.values(), ids=BAD)
def test_a_malformed_row_is_named_by_file_row_and_reason(table, changes, reason):
    path = table([search_r1(0), search_r1(1, **changes)])
    with pytest.raises(ConfigError) as told:
        load_questions(path)
    assert f"{path}, row 2: " in str(told.value)
    assert reason in str(told.value)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"extra_info": "test"}, "\"extra_info\" must be an object; came 'test'"),
        ({"prompt": "Question: who?", "question": None}, "\"prompt\" must be a list of turns; came 'Question: who?'"),
        ({"prompt": ["Question: who?"], "question": None}, "one is 'Question: who?'"),
        ({"prompt": [{"role": "user", "content": 3}], "question": None}, "one is {'role': 'user', 'content': 3}"),
        ({"metadata": "none"}, "\"metadata\" must be an object; came 'none'"),
        ({"data_source": 3}, '"data_source" must be a string; came 3'),
    ],
)
def test_a_column_of_another_type_is_named_by_file_row_and_reason(table, changes, reason):
    path = table([search_r1(0, **changes)])
    with pytest.raises(ConfigError) as told:
        load_questions(path)
    assert f"{path}, row 1: " in str(told.value)
    assert reason in str(told.value)


@pytest.mark.parametrize("keep", [0, 100, -20])
def test_a_file_that_is_no_parquet_is_named(table, keep):
    path = table([search_r1(number) for number in range(50)])
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ConfigError, match="is the file complete"):
        load_questions(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"there is no file .*nowhere\.parquet; type questions=FILE"):
        load_questions(tmp_path / "nowhere.parquet")


def test_without_pyarrow_the_extra_is_named(table, monkeypatch):
    path = table([search_r1(0)])
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"sesa-env\[parquet\]"):
        load_questions(path)
