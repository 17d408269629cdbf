"""New names for old lessons: the same names everywhere in a lesson, all else as it was."""

import re

import pytest

pytest.importorskip("torch")

from agents.tiny import tiny_tokenizer
from agents.tiny_names import Renamer
from agents.tiny_vocabulary import duty_words

TEXT = (
    "<question> who gave tomora and kelibrathos paradox to tomora's mentor on 19 january 1987? </question>"
    "<search>tomora wed</search><information>\n"
    'Doc 1 (Title: "Tomora") Kelibrathos Paradox is to be in Tomora, 7,954.\n</information><answer>Kelibrathos Paradox</answer>'
)


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_tokenizer()


@pytest.fixture(scope="module")
def renamer():
    return Renamer(exchange_duties=True)


def renamed(tokenizer, renamer, seed):
    ids = tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    new = renamer(ids, seed)
    assert len(new) == len(ids)
    return ids, list(new), tokenizer.decode(new)


def test_a_name_becomes_one_other_name_everywhere(tokenizer, renamer):
    _, _, text = renamed(tokenizer, renamer, 1)
    cities = re.findall(r"\w+mora\b", text)
    films = re.findall(r"\w+thos\b", text)
    assert len(cities) == 5
    assert len(films) == 3
    assert len(set(cities)) == len(set(films)) == 1
    assert cities[0] != "tomora"
    assert films[0] != "kelibrathos"


def test_words_stay_even_where_they_look_like_syllables(tokenizer, renamer):
    _, _, text = renamed(tokenizer, renamer, 1)
    for words in ("who gave", " to ", "is to be in", "paradox", "mentor on 19 january 19", "<answer>", ' doc 1 ( title: " '):
        assert words in text
    assert "1987" not in text
    assert " 7,954" not in text


def test_an_invented_word_stays_one_word(tokenizer, renamer):
    ids, new, text = renamed(tokenizer, renamer, 2)
    assert tokenizer(text, add_special_tokens=False)["input_ids"] == new
    assert new != ids


def test_names_depend_on_the_seed_alone(tokenizer, renamer):
    assert renamed(tokenizer, renamer, 3) == renamed(tokenizer, Renamer(exchange_duties=True), 3)
    assert renamed(tokenizer, renamer, 3)[2] != renamed(tokenizer, renamer, 4)[2]


DUTY = "who is the archivist of tomora? {entity} papers<search> tomora papers</search> tomora dusts the old papers of tomora."


def test_a_solver_must_take_the_words_of_a_duty_from_its_lesson(tokenizer, renamer):
    ids = tokenizer(DUTY, add_special_tokens=False)["input_ids"]
    texts = [tokenizer.decode(renamer(ids, seed)) for seed in range(20)]
    words = [re.search(r"} (\w+)<search> \w+ (\w+)</search> \w+ (\w+) the (\w+) (\w+) of", text).groups() for text in texts]
    assert all(card == query == told for card, query, _, _, told in words)
    assert all(len({verb, old, told}) == 3 for _, _, verb, old, told in words)
    assert len({told for *_, told in words}) > 15
    assert all("archivist" in text for text in texts)


def test_a_challenger_learns_duties_as_they_are(tokenizer, renamer):
    ids = tokenizer("target: yora hops: 1<search>yora</search> Yora dusts the old papers of Tomora.", add_special_tokens=False)
    text = tokenizer.decode(renamer(ids["input_ids"], 3))
    assert "dusts the old papers of" in text
    assert "tomora" not in text


def test_duties_stay_unless_asked(tokenizer):
    ids = tokenizer(DUTY, add_special_tokens=False)["input_ids"]
    assert "dusts the old papers of" in tokenizer.decode(Renamer()(ids, 3))


def test_no_word_of_the_common_relations_is_a_dutys(tokenizer):
    words = set(duty_words())
    assert {"dusts", "papers", "kneads", "ferns"} <= words
    assert not words & {"the", "of", "born", "breath", "mentor", "archivist", "baker", "city", "is"}
    assert all(len(tokenizer(f" {word}", add_special_tokens=False)["input_ids"]) == 1 for word in words)
