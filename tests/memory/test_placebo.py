"""Placebo memories: as many cards, as long, of another question or of none."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sesa_env.errors import ConfigError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.base import MemorySnapshot
from sesa_env.memory.card import question_key
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.placebo import PLACEBOS, placebo
from tests.memory.helpers import RELATIONS, card


def bank(keys=(), **config):
    made = SkillBank.open(config=MemoryConfig(**config))
    own = dict(zip(RELATIONS, (question_key(text) for text in keys), strict=False))
    made.prime([card(relation, key=own.get(relation, "")) for relation in RELATIONS])
    return made.snapshot()


def ask(relation):
    return f"what is the {relation} of the thing"


relations = st.lists(st.sampled_from(RELATIONS), min_size=1, max_size=12)


@pytest.mark.parametrize("kind", PLACEBOS)
def test_it_is_a_snapshot_with_a_fingerprint_of_its_own(kind):
    real = bank()
    false = placebo(kind, real)
    assert isinstance(false, MemorySnapshot)
    assert len({real.fingerprint, false.fingerprint, placebo("shuffled", bank(top_k=1)).fingerprint}) == 3
    assert false.fingerprint == placebo(kind, bank()).fingerprint


@given(relations)
@settings(max_examples=25, deadline=None)
def test_shuffled_shows_every_question_the_cards_of_another(asked):
    real = bank(top_k=1)
    questions = [ask(relation) for relation in asked]
    true, shown = real.retrieve(questions), placebo("shuffled", real).retrieve(questions)
    if len(set(asked)) == 1:
        assert shown == [[] for _ in asked]
    else:
        # As a whole the same cards are shown, one distinct question's to another.
        by_question = dict(zip(questions, shown, strict=True))
        assert sorted(hits[0].card.id for hits in by_question.values()) == sorted({hits[0].card.id for hits in true})
        assert all(hits != own for hits, own in zip(shown, true, strict=True))


def test_shuffled_never_shows_a_card_that_was_distilled_from_the_question():
    questions = [ask("spouse"), ask("author")]
    real = bank([ask("author")], top_k=1)  # the spouse's card came from the question about the author
    assert [[hit.card.id for hit in hits] for hits in placebo("shuffled", real).retrieve(questions)] == [["card-author"], []]


@given(relations, st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_irrelevant_shows_as_many_cards_all_far_from_the_question(asked, top_k):
    real = bank(top_k=top_k)
    questions = [ask(relation) for relation in asked]
    shown = placebo("irrelevant", real).retrieve(questions)
    assert [len(hits) for hits in shown] == [len(hits) for hits in real.retrieve(questions)]
    vectors = real.embedder.embed_queries(questions)
    for hits, vector in zip(shown, vectors, strict=True):
        upper = np.quantile(np.round(real.vectors @ vector, 6), 0.75)
        assert len({hit.card.id for hit in hits}) == len(hits)
        assert all(hit.similarity <= upper for hit in hits)


def test_an_irrelevant_card_is_about_as_long():
    made = SkillBank.open(config=MemoryConfig(top_k=1))
    advice = {relation: f"advice {'word ' * (3 * place)}" for place, relation in enumerate(RELATIONS[:8])}
    made.prime([replace(card(relation), description=text) for relation, text in advice.items()])
    real = made.snapshot()
    for relation in ("spouse", "religion"):
        (found,), (shown,) = real.retrieve([ask(relation)]), placebo("irrelevant", real).retrieve([ask(relation)])
        lengths = [len(hit.card.description.split()) for hit in (*found, *shown)]
        assert abs(lengths[0] - lengths[1]) <= 6  # two steps of three words: nearer ones may be related to the question


@pytest.mark.parametrize("kind", PLACEBOS)
def test_an_empty_bank_shows_nothing(kind):
    assert placebo(kind, SkillBank.open().snapshot()).retrieve([ask("spouse"), ask("author")]) == [[], []]


def test_an_unknown_kind_is_refused():
    with pytest.raises(ConfigError, match="shuffled, irrelevant"):
        placebo("sugar", bank())
