import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.errors import ConfigError
from sesa_env.search.tokenise import Tokeniser, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Who wed Alda-Wern's 2nd cousin?", ["who", "wed", "alda", "wern", "s", "2nd", "cousin"]),
        ("Straße STRASSE ™", ["strasse", "strasse", "tm"]),
        ("snake_case", ["snake", "case"]),
        ("Zoë ØRN", ["zoë", "ørn"]),
        ("ﬁne \uff21\uff22\uff23", ["fine", "abc"]),
        ("Москва Ἀθῆναι", ["москва", "ἀθῆναι"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("日本の首都", ["日", "本", "の", "首", "都"]),
        ("東京tower", ["東", "京", "tower"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("한국 사람", ["한국", "사람"]),
        ("", []),
        (" \t\n", []),
        ("?!…", []),
        ("\ud800 lone", ["lone"]),
    ],
)
def test_words_of_many_scripts(text, expected):
    assert words(text) == expected


@given(st.text())
def test_composed_and_decomposed_text_has_the_same_words(text):
    assert words(unicodedata.normalize("NFD", text)) == words(unicodedata.normalize("NFC", text))


@given(st.text())
def test_words_are_words(text):
    assert words(" ".join(words(text))) == words(text)


@given(st.text(st.characters(max_codepoint=127)))
def test_the_short_way_for_ascii_agrees_with_the_long_one(text):
    assert words(text) == words(f"{text} é")[:-1]


def test_a_repeated_query_word_counts_once_and_a_repeated_passage_word_does_not():
    tokeniser = Tokeniser()
    assert tokeniser.query_terms("Fenn and fenn AND Vale") == ["fenn", "and", "vale"]
    assert tokeniser.terms("Fenn fenn") == ["fenn", "fenn"]


def test_stop_words_are_neither_indexed_nor_searched():
    tokeniser = Tokeniser(("the", "of"))
    assert tokeniser.terms("The city of Wern") == ["city", "wern"]
    assert tokeniser.query_terms("of the") == []


@pytest.mark.parametrize("word", ["The", "two words", "", "é\u0301!"])
def test_a_stop_word_that_no_text_could_hold_is_refused(word):
    with pytest.raises(ConfigError, match="stop word"):
        Tokeniser((word,))
