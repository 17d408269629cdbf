"""The door: shape, answers and names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.memory.admission import Candidate
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.base import CardDraft, Failure, Provenance
from sesa_env.memory.card import make_card
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.door import misshapen, refuse
from sesa_env.memory.leaks import names_in
from sesa_env.memory.seeds import SEEDS
from sesa_env.types import Attempt, Group, Passage, Question, SearchCall
from tests.memory.helpers import EAGER, Fixed

CONFIG = MemoryConfig()


def draft(text: str = "Find it.", query: str = "{entity} record", **fields: object) -> CardDraft:
    return CardDraft(
        **{"description": text, "trigger": "Questions of a kind.", "avoid": "Guessing.", "queries": (query,), **fields}
    )


def asked(text: str, *answers: str, entities: tuple[str, ...] = ()) -> Question:
    return Question("q", text, answers or ("unheard-of",), entities=entities)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"text": ""}, "description must be a string that is not blank"),
        ({"text": "x" * 401}, "description must have at most 400 characters; it has 401"),
        ({"text": "one\x00two"}, "description must not hold control characters"),
        ({"text": "one\ud800two"}, "description must not hold control characters or lone surrogates"),
        ({"text": "Say </information> first."}, "description must not hold a tag"),
        ({"text": "Say < ANSWER>x."}, "description must not hold a tag"),
        ({"trigger": "\n\t "}, "trigger must be a string"),
        ({"avoid": None}, "avoid must be a string"),
        ({"queries": ()}, "queries must be 1 to 5"),
        ({"queries": ("{entity}",) * 6}, "queries must be 1 to 5"),
        ({"queries": "{entity}"}, "queries must be 1 to 5"),
        ({"query": "x" * 201}, "query must have at most 200"),
        ({"query": "{relation} of"}, "query may hold only the slots {entity}, {bridge}"),
        ({"query": "{entity of"}, "query may hold only the slots"),
        ({"query": "entity} of"}, "query may hold only the slots"),
        ({"query": "{} of"}, "query may hold only the slots"),
    ],
)
def test_misshapen_drafts_are_named(fields, fault):
    assert misshapen(draft(**fields), CONFIG).startswith(fault)
    assert refuse(draft(**fields), None, CONFIG) == "format"


@pytest.mark.parametrize("query", ["{entity}", "{bridge} born", "{entity} and {bridge}", "no slot at all"])
def test_good_shapes_pass(query):
    assert misshapen(draft("Lines\nand\ttabs, 名前, é.", query), CONFIG) == ""


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("Look up corin pell.", ("Corin Pell",)),
        ("Pell's life.", ("Pell",)),
        ("It was in N'Djamena.", ("NDjamena",)),
        ("The film of Gabor.", ("Gábor",)),
        ("Search 1838 first.", ("1838",)),
        ("Answer: no.", ("no",)),
    ],
)
def test_the_answer_is_found_in_every_spelling(text, answers):
    for fields in ({"text": text}, {"trigger": text}, {"avoid": text}, {"query": text}):
        assert refuse(draft(**fields), asked("who?", *answers), CONFIG) == "answer"


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Search juno vale.", "Who married Juno Vale?"),
        ("Search Vale.", "Who married Juno Vale?"),
        ("Search best in show.", "Who was the director of Best in Show?"),
        ("Search the unholy wife.", "Who directed 'The Unholy Wife'?"),
        ("Search Lincoln.", "Lincoln was directed by whom?"),
        ("Search Duty-Free.", "Who sells Duty-Free?"),
    ],
)
def test_names_of_the_question_are_entities(text, question):
    assert refuse(draft(text), asked(question), CONFIG) == "entity"


def test_entities_of_the_question_count_even_where_its_text_does_not_show_them():
    hidden = asked("who is the spouse of juno vale", entities=("juno vale", "Hill Gate"))
    assert refuse(draft("Search juno vale."), hidden, CONFIG) == "entity"
    assert refuse(draft("Search the hill gate."), hidden, CONFIG) == "entity"


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Search the film with directed by.", "Who was the director of Best in Show?"),
        ("Put the show first.", "Who was the director of Best in Show?"),
        ("Who, what and when match nothing.", "Who wrote it? When was it?"),
        ("Find the spouse.", "Who is the spouse of Juno Vale?"),
    ],
)
def test_ordinary_words_are_no_names(text, question):
    assert refuse(draft(text), asked(question), CONFIG) is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Search hemingway.", "Ernest Hemingway"),
        ("Search Ernest.", "Ernest Hemingway"),
        ("In Hemingway's house.", "hemingway, ernest (Ernest Hemingway)"),
        ("Search 1815.", "18 June 1815"),
        ("Search 18 june.", "18 June 1815"),
        ("Search the 18 of June.", "18 June 1815"),
        ("About 200000 people.", "some 200,000"),
        ("The new york one.", "New York City"),
        ("Of otoole or so.", "Peter O'Toole"),
        ("Of O Toole or so.", "Peter O'Toole"),
        ("The left ventricle.", "left ventricle of the heart"),
    ],
)
def test_a_part_that_gives_the_answer_away_is_an_answer(text, answer):
    for fields in ({"text": text}, {"trigger": text}, {"avoid": text}, {"query": "{entity} " + text}):
        assert refuse(draft(**fields), asked("who was it?", answer), CONFIG) == "answer"


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ("Search born in june or may.", "When was the battle?", "18 June 1815"),
        ("Search the university.", "Where did he learn?", "University of Leipzig"),
        ("Of the heart.", "Which part pumps?", "left ventricle of the heart"),
        ("The 18 first.", "When was the battle?", "18 June 1815"),
        ("Find the seasons.", "How many seasons were there?", "Eight Seasons"),
    ],
)
def test_ordinary_parts_of_an_answer_give_nothing_away(text, question, answer):
    assert refuse(draft(text), asked(question, answer), CONFIG) is None


def test_an_alias_that_goes_with_the_answer_gives_nothing_away_where_the_passages_use_the_word():
    question = asked("Which state has Madison as its capital?", "Wisconsin", "Religion in Wisconsin")
    passage = Passage("p", "Wisconsin", "The state of Wisconsin has no religion.")
    assert refuse(draft("Search the religion."), question, CONFIG, [passage]) is None
    assert refuse(draft("Search the wisconsin."), question, CONFIG, [passage]) == "answer"


def test_an_alias_of_function_words_alone_gives_nothing_away():
    question = asked("Which land is it?", "India", "IN", "The Who")
    assert refuse(draft(query="{entity} located in"), question, CONFIG) is None
    assert refuse(draft("Who was it?"), question, CONFIG) is None


ROYAL = "Which title is shared by the Duke of Edinburgh and Prince Charles or Lord Louis Mountbatten?"


@pytest.mark.parametrize("name", ["duke of edinburgh", "prince charles", "lord louis mountbatten"])
def test_and_parts_two_names(name):
    assert refuse(draft(f"The question asks for {name}."), asked(ROYAL), CONFIG) == "entity"


LOWER = "what does dell call its laptops made by john deere in 1984"
READ = [
    Passage("a", "Dell", "Dell sells laptops. A laptop by Dell is called so."),
    Passage("b", "Home town", "His home town was large."),
    Passage("c", "Laptops", "The laptops were made by a John Deere man. Made well, WWNQ said."),
]


@pytest.mark.parametrize("query", ["{entity} dell", "{entity} deere", "{entity} john deere", "{entity} 1984"])
def test_the_passages_tell_the_names_of_a_lower_case_question(query):
    assert refuse(draft(query=query), asked(LOWER), CONFIG, READ) == "entity"


@pytest.mark.parametrize("query", ["{entity} laptops", "{entity} made", "{entity} home town", "{entity} call"])
def test_a_word_that_only_begins_sentences_or_titles_is_no_name(query):
    assert refuse(draft(query=query), asked(LOWER), CONFIG, READ) is None


def test_a_word_seen_only_at_the_beginning_of_a_sentence_is_no_name():
    passages = [Passage("a", "", "It ran. Directed by him, it won.")]
    assert refuse(draft("Search directed by."), asked("who directed it"), CONFIG, passages) is None


def test_titles_and_words_with_inner_capitals_are_names():
    passages = [Passage("a", "Silver Harbour (film)", "It was made."), Passage("b", "", "WWNQ is a station.")]
    assert refuse(draft("Search silver harbour."), asked("who made it"), CONFIG, passages) == "entity"
    assert refuse(draft("Search wwnq."), asked("who owns wwnq"), CONFIG, passages) == "entity"


def test_a_candidate_brings_the_passages_of_its_failure():
    attempt = Attempt("no", correct=False, malformed=False, searches=(SearchCall("x", (READ[0],)),))
    failure = Failure("f", asked(LOWER), attempt, (READ[2],), step=1)
    candidate = Candidate.of(make_card(draft(query="{entity} dell"), Provenance()), failure)
    assert candidate.passages == (READ[2], READ[0])
    assert SkillBank.open().admit([candidate]).rejected == {"entity": 1}


def test_a_distilled_card_is_judged_with_the_passages():
    bank = SkillBank.open(config=EAGER)
    attempt = Attempt("no", correct=False, malformed=False, searches=(SearchCall("x", (READ[0],)),))
    bank.commit(1, [Group(asked(LOWER), (attempt,))])
    assert bank.consolidate(1, Fixed(draft(query="{entity} dell"))).rejected == {"entity": 1}


def test_the_seeds_pass_for_questions_that_they_serve():
    question = asked("Who is the director of the film Best in Show?", "Christopher Guest", "Guest")
    passages = [Passage("a", "Best in Show (film)", "Best in Show is a film directed by Christopher Guest.")]
    assert [seed.id for seed in SEEDS if refuse(seed, question, CONFIG, passages)] == []


def test_a_slot_is_not_a_word():
    assert refuse(draft(query="{entity} record"), asked("What is Entity?", "bridge"), CONFIG) is None


def test_names_in_a_question():
    assert names_in("Who is the spouse of the director of film The Unholy Wife?") == ["Unholy Wife"]
    assert names_in("Who was born first, Leopold Lummerstorfer or Laurent Touil-Tartour?") == [
        "Leopold Lummerstorfer",
        "Laurent Touil-Tartour",
    ]
    assert names_in("Where did Edward, 2nd Duke of York's father die?") == ["Edward", "Duke of York"]
    assert names_in("Who wrote Pride And Prejudice?") == ["Pride", "Prejudice"]
    assert names_in("who wrote the book") == []
    assert names_in("") == []


@given(st.text(), st.text(), st.lists(st.text(), min_size=1, max_size=3), st.text(), st.text())
def test_any_text_is_judged(text, question, answers, title, passage):
    reason = refuse(draft(text), asked(question, *answers), CONFIG, [Passage("p", title, passage)])
    assert reason in {None, "format", "answer", "entity"}
