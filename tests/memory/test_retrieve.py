"""The frozen snapshot: what it finds, and that nothing changes it."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sesa_env.grading import normalise
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.base import MemorySnapshot
from sesa_env.memory.card import question_key
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.embed import HashEmbedder
from sesa_env.memory.retrieve import BankSnapshot
from sesa_env.types import Group
from tests.memory.helpers import EAGER, RELATIONS, CountingEmbedder, Teacher, card, failing, question, right


def primed(count: int = 10, **config: object) -> SkillBank:
    bank = SkillBank.open(config=MemoryConfig(**config))
    bank.prime([card(relation) for relation in RELATIONS[:count]])
    return bank


def test_the_best_card_is_the_one_of_the_relation():
    snapshot = primed(len(RELATIONS)).snapshot()
    found = snapshot.retrieve([f"what is the {relation} of the thing" for relation in RELATIONS])
    assert [hits[0].card.id for hits in found] == [f"card-{relation}" for relation in RELATIONS]


def test_at_most_k_best_first():
    (hits,) = primed(similarity_floor=-1.0, top_k=4).snapshot().retrieve(["the spouse of the author"])
    assert len(hits) == 4
    assert [hit.similarity for hit in hits] == sorted((hit.similarity for hit in hits), reverse=True)
    assert {hits[0].card.id, hits[1].card.id} == {"card-spouse", "card-author"}


def test_it_equals_a_full_sort_ties_in_the_banks_order():
    generator = np.random.default_rng(5)
    vectors = generator.integers(-1, 2, size=(40, 8)).astype(np.float32)
    cards = tuple(card("spouse", f"c{place}", key=question_key("own") if place % 7 == 0 else "") for place in range(40))
    snapshot = BankSnapshot(cards, vectors, HashEmbedder(), top_k=5, floor=0.0, utility_weight=0.0)
    for _ in range(30):
        query = generator.integers(-1, 2, size=8).astype(np.float32)
        scores = [(-float(vectors[i] @ query), i) for i in range(40) if i % 7 and vectors[i] @ query >= 0]
        assert [hit.card.id for hit in snapshot.nearest(query, question_key("own"))] == [f"c{i}" for _, i in sorted(scores)[:5]]


def test_an_empty_bank_abstains():
    assert SkillBank.open().snapshot().retrieve(["who", "who"]) == [[], []]
    assert primed().snapshot().retrieve([]) == []


def test_questions_are_embedded_in_one_batch_and_repeated_ones_once():
    embedder = CountingEmbedder()
    bank = SkillBank.open(embedder=embedder)
    bank.prime([card("spouse")])
    found = bank.snapshot().retrieve(["the spouse", "the author", "the spouse"])
    assert embedder.queries == ["the spouse", "the author"]
    assert found[0] == found[2] != []
    found[0].clear()
    assert found[2] != []


def test_a_batch_finds_what_single_questions_find():
    snapshot = primed().snapshot()
    questions = [f"what is the {relation} of it" for relation in RELATIONS]
    assert snapshot.retrieve(questions) == [snapshot.retrieve([text])[0] for text in questions]


def test_later_writes_never_change_a_snapshot():
    bank = SkillBank.open(config=EAGER)
    bank.prime([card(relation) for relation in RELATIONS[1:4]])
    old = bank.snapshot()
    cards, vectors, fingerprint = old.cards, old.vectors.copy(), old.fingerprint
    bank.commit(1, [Group(question(1), (right(RELATIONS[1]),)), *failing(2), *failing(3, relation="zodiac")])
    bank.consolidate(1, Teacher())
    assert (old.cards, old.fingerprint) == (cards, fingerprint)
    assert np.array_equal(old.vectors, vectors)
    assert bank.snapshot() != old
    assert BankSnapshot(cards, vectors, old.embedder, old.top_k, old.floor, old.utility_weight) == old


def test_it_cannot_be_written_to():
    snapshot = primed().snapshot()
    with pytest.raises(FrozenInstanceError):
        snapshot.top_k = 9
    with pytest.raises(ValueError, match="read-only"):
        snapshot.vectors[0, 0] = 1.0


def test_the_fingerprint_covers_all_that_retrieval_depends_on():
    def of(**config: object) -> str:
        return primed(**config).snapshot().fingerprint

    bank = primed()
    bank.commit(1, [Group(question(1), (right("card-spouse"),))])
    changed = [of(count=9), of(top_k=2), of(similarity_floor=0.3), of(utility_weight=0.1), bank.snapshot().fingerprint]
    assert len({of(), *changed}) == 6
    assert of() == of()


def test_it_crosses_a_process_boundary():
    snapshot = primed(utility_weight=0.1).snapshot()
    copy = pickle.loads(pickle.dumps(snapshot))
    assert copy == snapshot
    assert hash(copy) == hash(snapshot)
    assert not copy.vectors.flags.writeable
    assert copy.retrieve(["the spouse of it"]) == snapshot.retrieve(["the spouse of it"])
    assert isinstance(copy, MemorySnapshot)


def test_it_outlives_its_bank():
    with SkillBank.open() as bank:
        bank.prime([card("spouse")])
        snapshot = bank.snapshot()
    assert len(snapshot.retrieve(["the spouse"])[0]) == 1


@given(st.text())
def test_case_punctuation_and_articles_make_no_other_question(text):
    assert question_key(text) == question_key(f" {text} ")
    assume(normalise(text))
    assert question_key(f"The {text}!") == question_key(f"{text} the")


def test_other_words_make_another_question():
    assert question_key("who wrote it") != question_key("who wrote them")
    assert question_key("?") != question_key("!")
