"""Questions, mixtures, targets and posed questions, against a second opinion that reads the passages and the text."""

import re
from collections import Counter

import pytest

from sesa_env.corpus.miniwiki import BENCHMARKS, FAMILIES, MiniWiki
from sesa_env.errors import ConfigError
from sesa_env.grading import contains_answer
from sesa_env.types import Question, Target
from tests.corpus.miniwiki_oracle import Oracle

HOPS = {"comparison": 2, "bridge_comparison": 4, "yesno": 2, "intersection": 2, "single": 1, "rare": 1, "inverse": 1}


@pytest.fixture(scope="module")
def world() -> MiniWiki:
    return MiniWiki(seed=3, size=1500, relations=60)


@pytest.fixture(scope="module")
def oracle(world) -> Oracle:
    return Oracle(world)


def check(oracle: Oracle, question: Question) -> None:
    """Answers, evidence and entities are right by what the passages say."""
    assert oracle.answer(question.text) == question.answers[0].lower(), question
    pages = {passage.id: passage for passage in oracle.passages}
    assert len(question.evidence) == question.hops
    stated = " ".join(f"{pages[page].title} {pages[page].text}" for page in question.evidence)
    if question.family != "yesno":
        assert question.answers[0] in stated
    assert all(name in stated or oracle_nick(oracle, name) for name in question.entities)


def oracle_nick(oracle: Oracle, name: str) -> bool:
    return any(f"Also known as {name}." in passage.text for passage in oracle.passages)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("split", ["train", "test"])
def test_every_family_gives_right_questions(world, oracle, family, split):
    questions = world.questions(60, split=split, families={family: 1.0})
    assert len({q.text for q in questions}) == len({q.id for q in questions}) == 60
    for question in questions:
        check(oracle, question)
        if family in HOPS:
            assert question.hops == HOPS[family]
            assert question.family == family.replace("rare", "single")


def test_bridges_have_the_hops_asked_for(world):
    assert {q.hops for q in world.questions(50, families={"bridge2": 1})} == {2}
    assert {q.hops for q in world.questions(50, families={"bridge3": 1})} == {3}
    assert {q.hops for q in world.questions(50, families={"bridge": 1})} == {2, 3}


def test_the_first_hop_is_named_nearest_to_the_entity(world):
    for question in world.questions(80, families={"bridge": 1}):
        chain = world._reader.read(question.text).chain  # the only place where a chain's order is visible
        text, start = question.text, world.graph.label(chain.start)
        first, second = chain.steps[0].relation, chain.steps[1].relation
        distance = [min(gap for noun in r.nouns for gap in _gaps(text, start, noun)) for r in (first, second)]
        assert first is second or distance[0] < distance[1]


def _gaps(text: str, name: str, noun: str) -> list[int]:
    """The numbers of characters between a name and each place of a noun."""
    start, end = text.index(name), text.index(name) + len(name)
    places = re.finditer(rf"\b{noun}\b", text)
    return [place.start() - end if place.start() > start else start - place.end() for place in places]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_mixture_gives_right_questions(world, oracle, name):
    questions = world.benchmark(name, 80)
    assert {q.source for q in questions} == {f"miniwiki/{name}"}
    for question in questions:
        check(oracle, question)


def test_mixtures_are_shaped_like_the_real_ones():
    world = MiniWiki(size=2000)
    mixtures = {name: world.benchmark(name) for name in BENCHMARKS}
    assert [len(questions) for questions in mixtures.values()] == [500] * 6 + [125]
    assert all(len({q.text for q in questions}) == len(questions) for questions in mixtures.values())
    shares = {name: Counter(q.family for q in questions) for name, questions in mixtures.items()}
    assert all(q.text == q.text.lower() and "?" not in q.text and q.hops == 1 for q in mixtures["nq"])
    assert _mean_words(mixtures["triviaqa"]) > 1.5 * _mean_words(mixtures["popqa"])
    assert {q.hops for q in mixtures["triviaqa"] + mixtures["popqa"]} == {1}
    assert 15 <= shares["hotpotqa"]["yesno"] <= 50
    assert {"bridge", "comparison", "yesno"} <= set(shares["hotpotqa"])
    assert 25 <= shares["2wikimultihopqa"]["yesno"] <= 70
    assert {"bridge", "comparison", "bridge_comparison", "yesno"} == set(shares["2wikimultihopqa"])
    assert {q.hops for q in mixtures["musique"]} == {2, 3}
    assert {q.hops for q in mixtures["bamboogle"]} == {2}
    answers = Counter(q.answers[0] for q in mixtures["2wikimultihopqa"] if q.family == "yesno")
    assert min(answers["yes"], answers["no"]) > 0.3 * answers.total()


def _mean_words(questions: list[Question]) -> float:
    return sum(len(q.text.split()) for q in questions) / len(questions)


def test_popular_relations_are_asked_about_more_the_higher_zipf_is():
    def head(zipf: float) -> float:
        world = MiniWiki(size=4000, relations=40, zipf=zipf)
        first = [noun for relation in world.schema.relations[:8] for noun in relation.nouns]
        questions = world.questions(300, families={"single": 1})
        return sum(any(noun in q.text for noun in first) for q in questions) / 300

    assert head(0.0) < 0.35 < 0.6 < head(1.5)


def test_answers_have_their_aliases(world):
    answers = [q.answers for q in world.questions(400, families={"single": 1})]
    persons = [a for a in answers if a[-1].count(",") == 1 and a[-1].split(", ")[::-1] == a[0].split()]
    assert len(persons) > 50
    assert any(len(a) == 3 for a in persons)
    dates = [a for a in answers if len(a) == 3 and a[2][4:5] == "-"]
    assert dates
    for day, american, iso in dates:
        number, month, year = day.split()
        assert american == f"{month} {number}, {year}"
        assert iso.startswith(f"{year}-")
        assert int(iso[-2:]) == int(number)


def test_questions_are_a_function_of_the_seed(world):
    assert world.questions(30, seed=1) == world.questions(30, seed=1) != world.questions(30, seed=2)
    assert [q.text for q in world.questions(30)] == [q.text for q in world.questions(60)[:30]]
    assert world.questions(0) == world.targets(0) == []


def test_targets_are_a_third_each_hop_count(world):
    targets = world.targets(90)
    assert Counter(t.hops for t in targets) == {1: 30, 2: 30, 3: 30}
    assert len({t.id for t in targets}) == 90
    assert len({(t.answer, t.hops) for t in targets}) > 80


@pytest.mark.parametrize("split", ["train", "test"])
def test_posed_questions_pass_the_papers_filters(world, oracle, split):
    for target in world.targets(60, split=split):
        for seed in range(2):
            question = world.pose(target, seed)
            assert question is not None
            assert question.answers == target.answers
            assert question.hops == target.hops
            assert len(question.text.split()) >= 10
            assert len(question.text) <= 1000
            assert not contains_answer(question.text, target.answers)
            check(oracle, question)


def test_posing_again_gives_another_question(world):
    for target in world.targets(30):
        texts = [world.pose(target, seed).text for seed in range(8)]
        assert len(set(texts)) == 8
        assert texts[0] == world.pose(target, 0).text


def test_nothing_leads_to_an_unknown_target(world):
    for answer in ("Atlantis", "", "31 February 1900", "1111", "12,345,678", "5 March 99999"):
        assert world.pose(Target("x", answer, 1), 0) is None
    answer = world.targets(1)[0].answer
    assert world.pose(Target("x", answer, 1), 0) is not None
    assert all(world.pose(Target("x", answer, hops), 0) is None for hops in (-1, 0, 4, 40))


def test_ideal_queries_follow_the_evidence(world):
    pages = {passage.id: passage for passage in world.passages()}
    for question in world.questions(100):
        queries = world.ideal_queries(question.text)
        assert len(queries) == len(question.evidence)
        for query, page in zip(queries, question.evidence, strict=True):
            text = f"{pages[page].title} {pages[page].text}".lower()
            assert set(query.lower().split()) <= set(text.replace(",", "").replace(".", "").split())
    assert world.ideal_queries("What is this?") is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda w: w.questions(5, split="dev"), "split"),
        (lambda w: w.questions(-1), "n must"),
        (lambda w: w.questions("5"), "n must be a whole number; got '5'"),
        (lambda w: w.targets(5.0), "n must be a whole number; got 5.0"),
        (lambda w: w.questions(5, families={"riddle": 1.0}), "riddle"),
        (lambda w: w.questions(5, families={}), "families"),
        (lambda w: w.questions(5, families={"single": -1.0}), "families"),
        (lambda w: w.benchmark("squad"), "squad"),
        (lambda w: w.targets(5, split="dev"), "split"),
        (lambda w: MiniWiki(size=300).questions(100_000, families={"single": 1.0}), "larger size"),
    ],
)
def test_a_wrong_wish_is_refused(world, call, message):
    with pytest.raises(ConfigError, match=message):
        call(world)
