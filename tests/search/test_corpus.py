import pytest

from sesa_env.errors import ConfigError
from sesa_env.search.base import Corpus
from sesa_env.search.corpus import ListCorpus, fingerprint_passages
from sesa_env.types import Passage

ONE, TWO = Passage("1", "Alda", "wed Corin"), Passage("2", "Corin", "wed Alda")


def test_a_list_corpus_is_a_corpus():
    corpus = ListCorpus([ONE, TWO])
    assert isinstance(corpus, Corpus)
    assert list(corpus) == [ONE, TWO]
    assert corpus[-1] == TWO
    assert list(corpus[:1]) == [ONE]
    assert corpus.find("2") == TWO
    assert corpus.find("3") is None


def test_two_passages_with_one_id_are_both_named():
    with pytest.raises(ConfigError, match=r"'1' is the id of passage 0 \('Alda'\) and of passage 1 \('Corin'\)"):
        ListCorpus([ONE, Passage("1", "Corin", "")])


def test_the_fingerprint_sees_every_field_and_the_order_but_no_score():
    other = [
        [TWO, ONE],
        [ONE],
        [Passage("3", "Alda", "wed Corin"), TWO],
        [Passage("1", "Ald", "awed Corin"), TWO],
        [Passage("1", "Alda", "wed Corin "), TWO],
    ]
    prints = {fingerprint_passages(passages) for passages in [[ONE, TWO], *other]}
    assert len(prints) == len(other) + 1
    assert fingerprint_passages([Passage("1", "Alda", "wed Corin", score=3.0), TWO]) == fingerprint_passages([ONE, TWO])


def test_ill_formed_text_has_a_fingerprint_too():
    assert len(ListCorpus([Passage("1", "", "\ud800")]).fingerprint) == 64
