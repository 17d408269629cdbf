"""The exact verifier: it reads back all that the world asks, nothing else, and never raises."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sesa_env.corpus.miniwiki import BENCHMARKS, FAMILIES, MiniWiki
from sesa_env.corpus.miniwiki.wording import LEADINS
from sesa_env.errors import ConfigError
from sesa_env.search.base import Verifier
from tests.corpus.miniwiki_oracle import Oracle

WORLD = MiniWiki(seed=4, size=1200, relations=48, phrasings=3)
ORACLE = Oracle(WORLD)
QUESTIONS = [q for family in FAMILIES for q in WORLD.questions(40, families={family: 1.0})]
QUESTIONS += [q for name in BENCHMARKS for q in WORLD.benchmark(name, 40, split="train")]
QUESTIONS += [q for target in WORLD.targets(60) if (q := WORLD.pose(target, 3))]
NAMES = sorted(ORACLE.kinds)
VOCABULARY = sorted({word for q in QUESTIONS for word in q.text.replace("?", "").split()})
QUESTION = st.sampled_from(QUESTIONS)


def sound(text: str) -> None:
    """If the verifier answers at all, its answer is what the passages say."""
    verdict = WORLD.verify(text)
    assert verdict is None or verdict.answers[0].lower() == ORACLE.answer(text), text


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: f"{q.source}-{q.family}-{q.id}")
def test_every_question_is_read_back(question):
    verdict = WORLD.verify(question.text)
    assert verdict is not None
    assert (verdict.answers, verdict.evidence, verdict.entities) == (question.answers, question.evidence, question.entities)
    assert (verdict.hops, verdict.family) == (question.hops, question.family)


@settings(max_examples=25)
@given(
    seed=st.integers(-(2**70), 2**70),
    size=st.integers(300, 900),
    relations=st.integers(16, 512),
    phrasings=st.integers(1, 6),
    shares=st.tuples(*[st.floats(0, 1)] * 3),
)
def test_every_world_is_whole(seed, size, relations, phrasings, shares):
    distance, aliases, decoys = shares
    world = MiniWiki(seed, size, relations, phrasings, distance=distance, aliases=aliases, decoys=decoys)
    pages = {passage.id for passage in world.passages()}
    assert len(pages) == size
    for family in FAMILIES:
        with suppress(ConfigError):  # a small world of many relations need not have every family
            for question in world.questions(5, families={family: 1.0}):
                verdict = world.verify(question.text)
                assert (verdict.answers, verdict.evidence) == (question.answers, question.evidence)
                assert pages.issuperset(question.evidence)
    for target in world.targets(6):
        assert world.verify(world.pose(target, 1).text).answers == target.answers


def test_it_is_a_verifier():
    verifier: Verifier = WORLD
    assert verifier.verify(QUESTIONS[0].text, []) == WORLD.verify(QUESTIONS[0].text)


@given(QUESTION, st.sampled_from(LEADINS), st.sampled_from(["", "?", "!", ".", " ?", "??"]), st.booleans())
def test_openings_case_and_final_marks_change_nothing(question, opening, mark, upper):
    text = opening + question.text.rstrip("?") + mark
    verdict = WORLD.verify(text.upper() if upper else text)
    assert verdict is not None
    assert verdict == WORLD.verify(question.text)


@given(st.text(max_size=300))
def test_any_text_is_answered_or_refused(text):
    sound(text)


@given(st.lists(st.sampled_from([*VOCABULARY, *NAMES]), max_size=25))
def test_any_words_of_its_own_are_answered_rightly_or_refused(words):
    sound(" ".join(words))


@given(QUESTION, st.integers(0, 60))
def test_a_dropped_word_never_gives_a_wrong_answer(question, place):
    words = question.text.split()
    del words[place % len(words)]
    sound(" ".join(words))


@given(QUESTION, st.integers(0, 60), st.integers(0, 60))
def test_swapped_words_never_give_a_wrong_answer(question, one, other):
    words = question.text.split()
    one, other = one % len(words), other % len(words)
    words[one], words[other] = words[other], words[one]
    sound(" ".join(words))


@given(QUESTION, st.integers(0, 60), st.sampled_from([*VOCABULARY, *NAMES]))
def test_a_strange_word_never_gives_a_wrong_answer(question, place, word):
    words = question.text.split()
    words.insert(place % (len(words) + 1), word)
    sound(" ".join(words))


@given(QUESTION, st.sampled_from(NAMES))
def test_another_name_never_gives_a_wrong_answer(question, name):
    old = next(entity for entity in question.entities if entity.lower() in question.text.lower())
    text = question.text.lower().replace(old.lower(), name.lower())
    sound(text)


@given(QUESTION, st.sampled_from(["Atlantis", "Zorro Zappa", "nobody", "it", ""]))
def test_an_unknown_name_or_none_is_refused(question, name):
    text = question.text.lower()
    for entity in sorted(question.entities, key=len, reverse=True):
        text = text.replace(entity.lower(), name)
    assert WORLD.verify(text) is None


@given(st.integers(0, 2_000))
def test_depth_and_length_are_bounded(depth):
    noun = WORLD.schema.relations[14].nouns[0]  # a relation from persons to persons
    name = next(name for name in NAMES if ORACLE.kinds[name] == "person")
    sound(f"Who is {f'the {noun} of ' * depth}{name}?"[:10_000])
    sound(f"Who is {name}{depth * f's {noun}'}?")


def test_ambiguous_and_empty_questions_are_refused():
    graph = WORLD.graph
    relation = next(r for r in graph.schema.relations if r.subject == "person" and r.object == "city")
    crowded = next(node for node in graph.entities() if node.kind == "city" and len(graph.subjects(relation, node)) > 1)
    assert WORLD.verify(f"Which person has {graph.label(crowded)} as their {relation.nouns[0]}?") is None
    person = next(name for name in NAMES if ORACLE.kinds[name] == "person")
    for text in (
        "",
        "?",
        "   ",
        f"Who is {person}?",
        f"Who is the of {person}?",
        f"Do {person} and {person} have the same birthplace?",
    ):
        assert WORLD.verify(text) is None


def test_the_question_word_must_fit():
    question = next(q for q in QUESTIONS if q.text.startswith("Who is the ") and q.family == "single")
    assert WORLD.verify(question.text.replace("Who is", "What is")) is None
    assert WORLD.verify(question.text.replace("Who is", "Which city is")) is None
    assert WORLD.verify(question.text.replace("Who is", "Which person is")).answers == question.answers


def test_second_names_and_curly_quotes_are_understood():
    question = next(
        q for q in QUESTIONS if "'s " in q.text and q.family == "single" and len(q.entities) > 2 and "'s " in q.text
    )
    assert WORLD.verify(question.text.replace("'", "\u2019")) == WORLD.verify(question.text)
    node = next(n for n in WORLD.graph.entities() if WORLD.graph.names.nickname(*n) and WORLD.graph.facts(n))
    noun = WORLD.graph.facts(node)[0].relation.nouns[0]
    names = (WORLD.graph.label(node), WORLD.graph.names.nickname(*node))
    verdicts = [WORLD.verify(f"Can you name the {noun} of {name}?") for name in names]
    assert verdicts[0] == verdicts[1] is not None
