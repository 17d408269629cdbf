"""The door: shape, answers and names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.memory.base import CardDraft
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.door import misshapen, names_in, refuse
from sesa_env.types import Question

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


def test_a_slot_is_not_a_word():
    assert refuse(draft(query="{entity} record"), asked("What is Entity?", "bridge"), CONFIG) is None


def test_names_in_a_question():
    assert names_in("Who is the spouse of the director of film The Unholy Wife?") == ["Unholy Wife"]
    assert names_in("Who was born first, Leopold Lummerstorfer or Laurent Touil-Tartour?") == [
        "Leopold Lummerstorfer",
        "Laurent Touil-Tartour",
    ]
    assert names_in("Where did Edward, 2nd Duke of York's father die?") == ["Edward", "Duke of York"]
    assert names_in("who wrote the book") == []
    assert names_in("") == []


@given(st.text(), st.text(), st.lists(st.text(), min_size=1, max_size=3))
def test_any_text_is_judged(text, question, answers):
    reason = refuse(draft(text), asked(question, *answers), CONFIG)
    assert reason in {None, "format", "answer", "entity"}
