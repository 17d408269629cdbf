import inspect
import json
import os
import subprocess
import sys
from dataclasses import asdict

import pytest

from sesa_env.corpus.miniwiki import MiniWiki
from sesa_env.errors import ConfigError, StoreError
from sesa_env.search.base import Corpus, Retriever
from sesa_env.world_options import WikiOptions
from sesa_env.worlds import make_world

SMALL = {"size": 400, "n_questions": 20, "n_targets": 12}
BAD_WEIGHTS = (float("nan"), float("inf"), -1, "1", True, None, [1])


@pytest.fixture
def data(tmp_path):
    """Two small benchmarks in FlashRAG's layout."""
    for name in ("nq", "popqa"):
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        passages = [
            {
                "id": str(number),
                "contents": f'"Alda {name.title()} {number}"\nWas a friend of Alda {name.title()} {(number + 1) % 9}.',
            }
            for number in range(9)
        ]
        questions = [
            {
                "id": str(number),
                "question": f"who was a friend of alda {number}",
                "golden_answers": [f"Alda {name.title()} {number}"],
            }
            for number in range(3)
        ]
        (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, passages)))
        (folder / "test.jsonl").write_text("\n".join(map(json.dumps, questions)))
    return str(tmp_path / "data")


@pytest.fixture(params=["miniwiki", "flashrag"])
def arguments(request, data):
    return {"corpus": "miniwiki", **SMALL} if request.param == "miniwiki" else {"corpus": "flashrag", "data": data}


def test_a_world_has_all_its_parts(arguments):
    world = make_world(**arguments)
    assert world.name == arguments["corpus"]
    assert isinstance(world.corpus, Corpus)
    assert isinstance(world.retriever, Retriever)
    assert world.questions
    assert world.targets
    assert all(world.corpus.find(place) for question in world.questions for place in question.evidence)
    hits = world.retriever.search([world.questions[0].text], 3)[0]
    assert [world.corpus.find(hit.id) for hit in hits] == hits
    assert len(hits) == 3


def test_the_same_arguments_give_the_same_object(arguments):
    world = make_world(**arguments)
    assert make_world(**arguments) is world
    assert make_world(**arguments, pool_seed=0, stop_words=[]) is world
    assert make_world(**arguments, pool_seed=1) is not world


def test_worlds_on_one_corpus_share_its_index(arguments):
    assert make_world(**arguments, pool_seed=2).retriever is make_world(**arguments, pool_seed=3).retriever


def test_the_fingerprint_sees_corpus_ranking_and_pools(arguments):
    changes = [{}, {"pool_seed": 1}, {"k1": 1.5}, {"stop_words": ["the"]}, {"n_targets": 5}]
    prints = {make_world(**{**arguments, **change}).fingerprint for change in changes}
    assert len(prints) == len(changes)


def test_miniwiki_verifies_itself():
    world = make_world(**SMALL)
    question = world.questions[0]
    verdict = world.verifier.verify(question.text, [])
    assert set(verdict.answers) & set(question.answers)
    assert world.graph is world.verifier


def test_miniwiki_options_reach_it():
    assert len(make_world(**{**SMALL, "size": 500}).corpus) == 500
    assert {question.source for question in make_world(**SMALL, benchmark="hotpotqa").questions} == {"miniwiki/hotpotqa"}
    assert {question.family for question in make_world(**SMALL, families={"single": 1.0}).questions} == {"single"}
    train, test = make_world(**SMALL, split="train"), make_world(**SMALL, split="test")
    assert train.corpus is test.corpus
    assert not {question.text for question in train.questions} & {question.text for question in test.questions}


def test_flashrag_takes_some_benchmarks_and_some_questions(data):
    world = make_world("flashrag", data=data, benchmarks=["popqa"], limit=2)
    assert [question.id for question in world.questions] == ["popqa/0", "popqa/1"]
    assert len(world.corpus) == 9
    whole = make_world("flashrag", data=data, limit=2)
    assert [question.source for question in whole.questions] == ["nq", "nq", "popqa", "popqa"]
    assert len(whole.corpus) == 18


def test_no_flashrag_answer_is_a_target_even_beyond_the_limit(data):
    targets = make_world("flashrag", data=data, limit=1).targets
    assert sorted(target.answer for target in targets) == sorted(
        f"Alda {name} {place}" for name in ("Nq", "Popqa") for place in range(3, 9)
    )


@pytest.mark.parametrize("options", [{}, {"questions": "OWN"}])
def test_answers_of_benchmarks_that_are_not_loaded_are_no_targets(data, tmp_path, options):
    asked = {"id": "1", "question": "who", "golden_answers": ["Alda Nq 5"]}
    (tmp_path / "own.jsonl").write_text(json.dumps(asked))
    (tmp_path / "data" / "popqa" / "test.jsonl").write_text(json.dumps(asked | {"golden_answers": ["alda nq 7"]}))
    given = {name: str(tmp_path / "own.jsonl") for name in options}
    answers = {target.answer for target in make_world("flashrag", data=data, benchmarks=["nq"], **given).targets}
    assert answers == {f"Alda Nq {place}" for place in ((3, 4, 6, 8) if options else (3, 4, 5, 6, 8))}


def test_no_target_of_a_file_is_an_answer(data, tmp_path):
    pool = [{"ground_truth": answer, "search_turns": 2} for answer in ("Rome", "Alda Nq 1", ["One", "alda popqa 1"])]
    (tmp_path / "pool.jsonl").write_text("\n".join(map(json.dumps, pool)))
    world = make_world("flashrag", data=data, benchmarks=["nq"], targets=str(tmp_path / "pool.jsonl"))
    assert [target.answer for target in world.targets] == ["Rome"]


def test_a_malformed_benchmark_that_is_not_loaded_is_told_where_targets_are_sampled(data, tmp_path):
    (tmp_path / "data" / "popqa" / "test.jsonl").write_text("{")
    assert not make_world("flashrag", data=data, benchmarks=["nq"], n_targets=0).targets
    with pytest.raises(ConfigError, match=r"popqa.test\.jsonl, line 1"):
        make_world("flashrag", data=data, benchmarks=["nq"])


def test_flashrag_takes_questions_and_targets_from_files(data, tmp_path):
    (tmp_path / "own.jsonl").write_text(json.dumps({"id": 1, "question": "who", "golden_answers": ["Alda Nq 5"]}))
    (tmp_path / "pool.jsonl").write_text(json.dumps({"ground_truth": "Rome", "search_turns": 2}))
    own = make_world("flashrag", data=data, questions=str(tmp_path / "own.jsonl"))
    assert [question.id for question in own.questions] == ["own/1"]
    assert "Alda Nq 5" not in {target.answer for target in own.targets}
    pool = make_world("flashrag", data=data, targets=str(tmp_path / "pool.jsonl"))
    assert [(target.answer, target.hops) for target in pool.targets] == [("Rome", 2)]


def test_an_index_directory_is_used(data, tmp_path):
    world = make_world("flashrag", data=data, k1=1.11, index_dir=str(tmp_path / "indices"))
    (kept,) = (tmp_path / "indices").iterdir()
    assert world.retriever.fingerprint.startswith(kept.name)


def test_a_damaged_index_in_the_directory_is_told(data, tmp_path):
    make_world("flashrag", data=data, k1=1.12, index_dir=str(tmp_path / "indices"))
    (kept,) = (tmp_path / "indices").iterdir()
    (kept / "sesa-index.json").write_text("{")
    call = f"make_world('flashrag', data={data!r}, k1=1.12, index_dir={str(kept.parent)!r})"
    script = f"from sesa_env.worlds import make_world; {call}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode
    assert StoreError.__name__ in done.stderr
    assert "build the index again" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"corpus": "wiki"}, r"one of flashrag, miniwiki; came 'wiki'"),
        ({"corpus": ["miniwiki"]}, r"one of flashrag, miniwiki; came \['miniwiki'\]"),
        ({"corpus": "miniwiki", "sise": 3}, r"'miniwiki'.*'sise' is not known; expected some of .*n_questions.*size"),
        ({"corpus": "flashrag", "size": 3}, r"'flashrag'.*'size' is not known; expected some of .*benchmarks.*data"),
        ({"corpus": "flashrag"}, "needs data=DIR"),
        ({"corpus": "flashrag", "data": "/nowhere/at/all"}, "no directory /nowhere/at/all"),
        ({"corpus": "flashrag", "data": "DATA", "benchmarks": ["trivia"]}, "'trivia' in .*; it holds nq, popqa"),
        ({"corpus": "flashrag", "data": "DATA", "benchmarks": "nq"}, "benchmarks: expected a list; got str 'nq'"),
        ({"corpus": "flashrag", "data": "DATA", "benchmarks": [3]}, r"benchmarks\[0\]: expected str; got int 3"),
        ({"corpus": "flashrag", "data": "DATA", "limit": "3"}, "limit: expected int; got str '3'"),
        ({"corpus": "flashrag", "data": "DATA", "n_targets": -1}, "n_targets must be at least 0; came -1"),
        ({"corpus": "flashrag", "data": "DATA", "pool_seed": -1}, "pool_seed must be at least 0; came -1"),
        ({"corpus": "flashrag", "data": 3}, "data: expected str; got int 3"),
        ({"corpus": "flashrag", "data": "DATA", "limit": 0}, "limit"),
        ({"corpus": "flashrag", "data": "DATA", "stop_words": ["The"]}, "stop word"),
        ({"corpus": "miniwiki", "benchmark": "nq", "families": {"single": 1.0}}, "not both"),
        ({"corpus": "miniwiki", "seed": {1}}, r"seed: expected int; got set \{1\}"),
        ({"corpus": "miniwiki", "size": 400.0}, "size: expected int; got float 400.0"),
        ({"corpus": "miniwiki", "zipf": float("nan")}, "zipf must be from 0 to 100; got nan"),
        ({"corpus": "miniwiki", "families": {"single": {1}}}, "JSON values"),
        *(
            ({"corpus": "miniwiki", "families": {"single": 1, "rare": weight}}, "weights of 0 or more")
            for weight in BAD_WEIGHTS
        ),
        ({"corpus": "miniwiki", "families": {}}, "weights of 0 or more"),
        ({"corpus": "miniwiki", "families": {"single": 0}}, "weights of 0 or more"),
        ({"corpus": "miniwiki", "families": {"bridges": 1}}, "families must map some of single"),
        ({"corpus": "miniwiki", "families": ["single"]}, r"families: expected Mapping; got list \['single'\]"),
        ({"corpus": "miniwiki", "benchmark": ["nq"]}, r"benchmark: expected str; got list \['nq'\]"),
        ({"corpus": "miniwiki", "n_questions": "5"}, "n_questions: expected int; got str '5'"),
        ({"corpus": "miniwiki", "n_questions": -1}, "n_questions must be at least 0; came -1"),
        ({"corpus": "miniwiki", "stop_words": "the"}, "stop_words: expected a list; got str 'the'"),
        ({"corpus": "miniwiki", "k1": -1}, "k1"),
        ({"corpus": "miniwiki", "k1": "x"}, "k1: expected float; got str 'x'"),
        ({"corpus": "miniwiki", "k1": float("nan")}, "k1=nan"),
    ],
)
def test_wrong_options_are_told_with_what_there_is(data, options, message):
    given = {name: data if value == "DATA" else value for name, value in options.items()}
    with pytest.raises(ConfigError, match=message):
        make_world(**given)


def test_the_options_of_miniwiki_are_the_arguments_of_miniwiki():
    arguments = {name: argument.default for name, argument in inspect.signature(MiniWiki).parameters.items()}
    assert asdict(WikiOptions()) == arguments


def test_a_world_does_not_depend_on_the_hash_seed(data):
    script = (
        "from sesa_env.worlds import make_world\n"
        f"print(make_world('flashrag', data={data!r}).fingerprint, make_world(**{SMALL!r}).fingerprint)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
