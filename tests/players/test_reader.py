"""The reader: what it reads off passages, real and hostile."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.grading import exact_match
from sesa_env.players.asking import asked
from sesa_env.players.reader import ScriptedReader
from sesa_env.players.spans import MAX_CHARS, names, sentences
from sesa_env.types import Passage

READER = ScriptedReader()


def passage(text: str, title: str = "", key: str = "p") -> Passage:
    return Passage(key, title, text)


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("Who was the spouse of Alda Wern?", "Alda Wern wed Corin Vale in 1820.", "Corin Vale"),
        ("When did Alda Wern marry?", "Alda Wern married Corin Vale on 3 May 1820.", "3 May 1820"),
        ("In what year did Alda Wern marry?", "Alda Wern married Corin Vale in 1820.", "1820"),
        ("Where was Alda Wern born?", "Alda Wern, a friend of Corin Vale, was born in Port of Ester.", "Port of Ester"),
        ("How many people live in Ostermark?", "Ostermark has 12,400 people. It lies on the Ulm.", "12,400"),
        ("Who wrote The Silent Oak?", "The Silent Oak is a novel by J. R. Tamm. Mara Quell praised it.", "J. R. Tamm"),
        ("Which film did Bero Tamm direct?", 'Bero Tamm directed "The Silent Oak" for Vale Pictures.', "The Silent Oak"),
        ("What is Alda Wern's occupation?", "Alda Wern is a Norlandic jazz singer who lives in Ulm.", "jazz singer"),
        ("Who was the first king of Norland?", "", ""),
        ("Who wed Alda Wern?", "Alda Wern and wern were alone.", ""),
    ],
)
def test_reads_the_kind_of_thing_that_is_asked_for(question, text, answer):
    assert READER.read(question, question, [passage(text)]) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who was born first, Alda Wern or Corin Vale?", "Corin Vale"),
        ("Who is younger, Alda Wern or Corin Vale?", "Alda Wern"),
        ("Were Alda Wern and Corin Vale born in the same city?", "no"),
        ("Were Alda Wern and Tilda Fenn born in the same city?", "yes"),
    ],
)
def test_compares_two_things_when_passages_for_both_are_there(question, answer):
    found = [
        passage("Alda Wern was born on 3 May 1820 in the city of Ulm.", "Alda Wern"),
        passage("Corin Vale was born on 9 June 1799 in the city of Dunhold.", "Corin Vale"),
        passage("Tilda Fenn was born on 1 May 1801 in the city of Ulm.", "Tilda Fenn"),
    ]
    assert READER.read(question, question, found) == answer


def test_a_pronoun_stands_for_the_title():
    assert READER.read("Who wed Corin Vale?", "", [passage("She wed Corin Vale.", "Alda Wern")]) == "Alda Wern"


def test_a_leading_repetition_of_the_title_is_no_answer():
    found = [passage("Testosterone Testosterone is made from Cholesterol.", "Testosterone")]
    assert READER.read("What is testosterone made from?", "", found) == "Cholesterol"


def test_verify_does_not_depend_on_the_order_of_documents():
    documents = [passage("Ada Bel wed Cy Dor.", "Ada Bel", "1"), passage("Eve Fox wed Gil Ham.", "Eve Fox", "2")]
    verdicts = {
        READER.verify("Who was the person that wed Eve Fox?", order) for order in (tuple(documents), tuple(reversed(documents)))
    }
    assert {verdict.answers for verdict in verdicts} == {("Gil Ham",)}


def test_verify_of_nothing_is_none():
    assert READER.verify("Who wed Eve Fox?", []) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("He met Ludwig van der Berg and Mr. Smith.", ["Ludwig van der Berg", "Mr. Smith"]),
        ("The Bank of Norland hired O'Hara's son.", ["Bank of Norland", "O'Hara"]),
        ("In June he saw Élan Vital.", ["June", "Élan Vital"]),
    ],
)
def test_names(text, found):
    assert [name.text for name in names(text)] == found


def test_an_abbreviation_does_not_end_a_sentence():
    assert len(sentences("Dr. A. Wern came. She left.")) == 2


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("when did it end", "date"),
        ("In which city?", "place"),
        ("Which actor played it?", "person"),
        ("how many are there", "number"),
        ("spouse of Ada", "name"),
        ("What sport does Ada play?", "noun"),
        ("", "name"),
    ],
)
def test_question_words_decide_the_kind(question, kind):
    assert asked(question).kind == kind


@given(question=st.text(max_size=80), query=st.text(max_size=40), title=st.text(max_size=20), text=st.text(max_size=300))
def test_any_text_is_read_without_an_error(question, query, title, text):
    found = [passage(text, title)]
    assert isinstance(READER.read(question, query, found), str)
    assert READER.verify(question, found) is None or READER.verify(question, found).answers[0]


@pytest.mark.parametrize(
    "piece", ["A", "Aa ", "a.A. ", '"', "1,000,", "was a ", "<answer>", "O'", "of The ", "1 ", "\n", "é ", "Is A and "]
)
def test_a_megabyte_line_costs_no_more_than_its_beginning(piece):
    line = piece * (1_000_000 // len(piece))
    part = line[: 2 * MAX_CHARS]
    assert READER.read(line, line, [passage(line, line)]) == READER.read(part, part, [passage(part, part)])


def test_reads_some_real_passages(shared_data):
    """SQuAD-like heuristics on real Wikipedia passages: far below a model, well above chance."""
    with gzip.open(shared_data / "popqa" / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        corpus = {row["id"]: row["contents"] for row in map(json.loads, lines)}
    rows = [json.loads(line) for line in (shared_data / "popqa" / "test.jsonl").read_text(encoding="utf-8").splitlines()]
    right = 0
    for row in rows[:100]:
        found = [corpus[key].partition("\n") for key in row["metadata"]["passage_ids"][:3] if key in corpus]
        read = READER.read(row["question"], row["question"], [passage(text, title.strip('"')) for title, _, text in found])
        right += exact_match(read, row["golden_answers"])
    assert right >= 10


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ('Which name fills the blank in "Ada wed _____ in 1820"?', "Bo saw it. Ada wed Cy Dor in 1820.", "Cy Dor"),
        ('Which name fills the blank in "_____ wed Ada"?', "Cy Dor wed Ada.", "Cy Dor"),
        ('Which name fills the blank in "Ada wed _____"?', "Ada wed the tall cook.", "the tall cook"),
        ('Consider A. Which name fills the blank in "A wed _____ in 1820"?', "Ada Bel wed Cy Dor in 1820.", "Cy Dor"),
        ('Which name fills the blank in "Ada saw _____ here"?', "Ada saw nothing.", ""),
        ('Which name fills the blank in "_____"?', "Ada", "Ada"),
    ],
)
def test_fills_a_blank(question, text, answer):
    assert READER.read(question, "", [passage(text)]) == answer
