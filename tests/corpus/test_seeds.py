import pytest

from sesa_env.corpus.flashrag import load_benchmarks
from sesa_env.corpus.seeds import load_targets, mentioned_titles
from sesa_env.errors import ConfigError
from sesa_env.grading import normalise
from sesa_env.search.corpus import ListCorpus
from sesa_env.types import Passage, Target

PROMPT = "The answer I provided is: {}\nYou need to create a question that requires {} searches.\nWhen you have enough ..."


def ssp_row(answer, turns):
    return {
        "data_source": "quark_selfplay_en",
        "prompt": [
            {"role": "system", "content": "requires 9 searches"},
            {"role": "user", "content": PROMPT.format(answer, turns)},
        ],
        "reward_model": {"ground_truth": {"target": answer}, "style": "rule"},
        "extra_info": {"index": 0, "question": "dummy", "split": "train"},
    }


def test_ssps_raw_pool_is_read(write):
    path = write(
        "pool.jsonl.gz", [{"ground_truth": "Rome\n", "search_turns": 2}, {"ground_truth": ["A", "B"], "search_turns": "3"}]
    )
    assert load_targets(path) == (Target("pool/1", "Rome", 2), Target("pool/2", "A", 3, ("B",)))


def test_ssps_pool_for_verl_is_read_from_jsonl_and_parquet(tmp_path, write):
    rows = [ssp_row("Rome", 1), ssp_row("Alda", 3)]
    expected = (Target("pool/1", "Rome", 1), Target("pool/2", "Alda", 3))
    assert load_targets(write("pool.jsonl", rows)) == expected
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "pool.parquet")
    assert load_targets(tmp_path / "pool.parquet") == expected


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"ground_truth": "Rome"}, "1 to 3 hops"),
        ({"ground_truth": "Rome", "search_turns": 4}, "came 4"),
        ({"ground_truth": "Rome", "search_turns": True}, "came True"),
        ({"ground_truth": " ", "search_turns": 1}, '"ground_truth" must hold strings'),
        ({"search_turns": 1}, '"reward_model.ground_truth.target" must be a list'),
        (ssp_row("Rome", "many"), "1 to 3 hops"),
        (ssp_row("Rome", "9" * 5000), "1 to 3 hops"),
        ({"ground_truth": "Rome", "search_turns": "9" * 5000}, "1 to 3 hops"),
        ({"ground_truth": "Rome", "prompt": "requires 2 searches"}, '"prompt" must be a list of turns; came \'requires'),
        ({"ground_truth": "Rome", "prompt": ["requires 2 searches"]}, "one is 'requires 2 searches'"),
        ({"ground_truth": "Rome", "prompt": [{"content": 3}]}, "one is {'content': 3}"),
        ({"ground_truth": "Rome", "prompt": [{"content": None}]}, "came None"),
        ({"reward_model": "Rome", "search_turns": 1}, '"reward_model.ground_truth.target" must be a list'),
    ],
)
def test_a_malformed_target_is_named(write, record, reason):
    path = write("pool.jsonl", [{"ground_truth": "Rome", "search_turns": 1}, record])
    with pytest.raises(ConfigError) as told:
        load_targets(path)
    assert f"{path}, line 2: " in str(told.value)
    assert reason in str(told.value)


@pytest.mark.parametrize("records", [[], ["", " "]])
def test_a_file_without_targets_is_named(write, records):
    path = write("pool.jsonl", records)
    with pytest.raises(ConfigError, match="expected targets; found none") as told:
        load_targets(path)
    assert str(path) in str(told.value)


def test_targets_with_a_forbidden_answer_or_alias_are_left_out(write):
    records = [{"ground_truth": answer, "search_turns": 1} for answer in ("Rome", "Alda", ["Eternal City", "Rome"])]
    assert [target.answer for target in load_targets(write("pool.jsonl", records), forbidden=["the rome!"])] == ["Alda"]


CORPUS = ListCorpus(
    Passage(str(place), title, text)
    for place, (title, text) in enumerate(
        [
            ("Alda Wern", "Alda Wern wed Corin Vale. They moved to West Fenn, near Fenn, and saw the film Dunes."),
            ("Corin Vale", "Corin Vale was a smith. Smith is a word at the start. The river Wern-Fenn runs by Vale Hall."),
            ("Fenn", "a town"),
            ("Smith", "a trade"),
            ("West", "a direction"),
            ("Vale Hall", "a house in West; it is old. It was Alda Wern's."),
            ("Dunes (1937 film)", "a film"),
            ("river", "not a name"),
            ("It", "too short"),
        ]
    )
)


def answers(**options):
    return {target.answer for target in mentioned_titles(CORPUS, **{"n": 100, "seed": 0, **options})}


def test_targets_are_names_of_passages_that_other_passages_mention():
    assert answers() == {"Corin Vale", "Fenn", "Dunes", "Vale Hall", "West", "Alda Wern"}


def test_no_answer_of_a_benchmark_becomes_a_target():
    assert answers(forbidden=["the fenn!", "DUNES"]) == {"Corin Vale", "Vale Hall", "West", "Alda Wern"}


def test_targets_are_a_function_of_the_seed():
    pools = [mentioned_titles(CORPUS, 3, seed) for seed in (0, 0, 1, 2, 3)]
    assert pools[0] == pools[1]
    assert len(set(pools)) > 1
    assert all(len({target.answer for target in pool}) == len({target.id for target in pool}) == 3 for pool in pools)
    assert {target.hops for pool in pools for target in pool} <= {1, 2, 3}


def test_more_targets_than_passages_are_no_more_work():
    assert mentioned_titles(CORPUS, 10**15, 0) == mentioned_titles(CORPUS, len(CORPUS), 0)


def test_targets_of_the_real_corpus_hold_no_answer(shared_data):
    loaded = load_benchmarks(shared_data)
    gold = {normalise(answer) for questions in loaded.questions.values() for one in questions for answer in one.answers}
    targets = mentioned_titles(ListCorpus(loaded.passages), 300, 0, gold)
    assert len(targets) == 300
    assert not gold & {normalise(target.answer) for target in targets}
