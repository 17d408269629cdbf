"""The commit at the step boundary: counters, failure collection, eviction, all or nothing."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from sesa_env.errors import ConfigError, StoreError
from sesa_env.memory.admission import Candidate
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.config import MemoryConfig
from sesa_env.types import Group
from tests.memory.helpers import RELATIONS, card, failing, malformed, question, right, wrong


def counters(bank: SkillBank) -> dict[str, tuple[int, float, float]]:
    return {made.id: (made.retrieved, made.helpful, made.hurt) for made in bank.cards()}


def primed(*relations: str, config: MemoryConfig | None = None) -> SkillBank:
    bank = SkillBank.open(config=config)
    bank.prime([card(relation) for relation in relations])
    return bank


def test_a_question_is_one_retrieval_and_malformed_attempts_credit_nothing():
    bank = primed("spouse", "author")
    attempts = (right("card-spouse"), right("card-spouse", "card-author"), wrong("card-author"), malformed("card-spouse"))
    report = bank.commit(1, [Group(question(1), attempts)])
    assert counters(bank) == {"card-spouse": (1, 2.0, 0.0), "card-author": (1, 1.0, 1.0)}
    assert report.credited == 2


def test_cards_that_are_not_in_the_bank_are_passed_over():
    bank = primed("spouse")
    assert bank.commit(1, [Group(question(1), (right("card-gone"),))]).credited == 0
    assert counters(bank) == {"card-spouse": (0, 0.0, 0.0)}


def test_only_informative_frontier_failures_are_collected_one_a_question():
    groups = [
        Group(question(1), (right(), wrong(), wrong(passages=4))),
        Group(question(2), (right(), right())),
        Group(question(3), (malformed(),)),
        Group(question(4), (wrong(passages=0),)),
        Group(question(5), (wrong(prediction="  "),)),
        Group(question(1), (wrong(passages=5),)),
    ]
    bank = SkillBank.open()
    assert bank.commit(1, groups).queued == 1
    (failure,) = bank.pending()
    assert failure.question == question(1)
    assert failure.attempt == wrong(passages=4)
    assert failure.repeats == 0


def test_the_band_of_solve_rates_is_an_option():
    groups = [Group(question(1), (wrong(), wrong())), Group(question(2), (right(), wrong()))]
    bank = SkillBank.open(config=MemoryConfig(solve_rate_low=0.1, solve_rate_high=0.9))
    bank.commit(1, groups)
    assert [failure.question.id for failure in bank.pending()] == ["q2"]


def test_a_failure_in_spite_of_cards_stands_for_its_question():
    bank = primed("spouse")
    bank.commit(1, [Group(question(1), (wrong(passages=2), wrong("card-spouse")))])
    assert bank.pending()[0].attempt == wrong("card-spouse")


def test_a_question_that_fails_again_is_repeated_and_waits_once():
    bank = SkillBank.open()
    bank.commit(1, failing(1, 2))
    bank.commit(2, failing(1))
    assert [(failure.question.id, failure.step, failure.repeats) for failure in bank.pending()] == [("q2", 1, 0), ("q1", 2, 1)]


def test_the_queue_keeps_its_size_and_among_equals_the_newest():
    bank = SkillBank.open(config=MemoryConfig(queue_size=3))
    assert bank.commit(1, failing(1, 2, 3, 4, 5)).queued == 3
    assert [failure.question.id for failure in bank.pending()] == ["q3", "q4", "q5"]


@pytest.mark.parametrize(("shown", "hurt", "goes"), [(3, 2, True), (2, 2, False), (3, 1, False), (4, 2, False)])
def test_eviction_needs_three_retrievals_and_a_negative_utility(shown, hurt, goes):
    bank = SkillBank.open()
    bank.carry_out(bank.plan([card("spouse")])[0])
    attempts = [wrong("card-spouse") if i < hurt else right("card-spouse") for i in range(shown)]
    report = bank.commit(1, [Group(question(i), (attempt,)) for i, attempt in enumerate(attempts)])
    assert report.evicted == (("card-spouse",) if goes else ())
    assert [stone.card for stone in bank.tombstones()] == list(report.evicted)


def test_one_unsolved_question_evicts_no_fresh_card():
    bank = SkillBank.open()
    bank.carry_out(bank.plan([card("spouse")])[0])
    for step in (1, 2):
        assert bank.commit(step, [Group(question(step), (wrong("card-spouse"),) * 5)]).evicted == ()
    assert counters(bank) == {"card-spouse": (2, 0.0, 10.0)}
    assert bank.commit(3, [Group(question(3), (wrong("card-spouse"),) * 5)]).evicted == ("card-spouse",)


def test_an_attempt_with_a_failed_search_says_nothing_of_the_cards_and_is_not_queued():
    bank = primed("spouse")
    attempts = (replace(wrong("card-spouse"), failed_searches=1), replace(right("card-spouse"), failed_searches=2))
    assert bank.commit(1, [Group(question(1), attempts)]).queued == 0
    assert counters(bank) == {"card-spouse": (1, 0.0, 0.0)}
    assert bank.commit(2, [Group(question(1), (attempts[0], wrong("card-spouse")))]).queued == 1
    assert bank.pending()[0].attempt.failed_searches == 0


def test_permanent_cards_are_never_evicted():
    bank = primed("spouse")
    assert bank.commit(1, [Group(question(i), (wrong("card-spouse"),)) for i in range(9)]).evicted == ()


def test_above_the_cap_the_lowest_utility_goes_and_among_equals_the_oldest():
    bank = primed("spouse", config=MemoryConfig(cap=4))
    mortal = [card(relation) for relation in RELATIONS[1:4]]
    bank.carry_out(bank.plan(mortal)[0])
    bank.commit(1, [Group(question(1), (right(mortal[0].id), wrong(mortal[2].id)))])
    bank.carry_out(bank.plan([card(RELATIONS[4]), card(RELATIONS[5])])[0])
    assert [made.id for made in bank.cards()] == ["card-spouse", mortal[0].id, *(card(r).id for r in RELATIONS[4:6])]
    assert [stone.card for stone in bank.tombstones()] == [mortal[2].id, mortal[1].id]


def test_more_permanent_cards_than_the_cap_are_refused():
    bank = SkillBank.open(config=MemoryConfig(cap=2))
    with pytest.raises(ConfigError, match="3 permanent cards"):
        bank.prime([card(relation) for relation in RELATIONS[:3]])
    assert bank.cards() == []


def test_a_step_committed_again_changes_nothing_and_reports_the_same():
    bank = primed("spouse")
    groups = [Group(question(1), (wrong("card-spouse"),)), *failing(2, 3)]
    report, digest = bank.commit(1, groups), bank.digest()
    assert bank.commit(1, groups) == report
    assert bank.digest() == digest
    assert bank.last_step == 1


def test_an_empty_step_is_a_step():
    bank = SkillBank.open()
    bank.commit(4, [])
    assert bank.last_step == 4


def test_a_write_that_fails_leaves_file_and_memory_alone(tmp_path):
    path = tmp_path / "bank.sqlite"
    with SkillBank.open(path) as bank:
        bank.prime([card("spouse")])
        digest, cards, snapshot = bank.digest(), bank.cards(), bank.snapshot()
        with closing(sqlite3.connect(path, isolation_level=None)) as raw:
            raw.execute("CREATE TRIGGER full BEFORE INSERT ON steps BEGIN SELECT RAISE(ABORT, 'no room'); END")
        with pytest.raises(StoreError, match="no room; nothing of this change was written"):
            bank.commit(1, [Group(question(1), (wrong("card-spouse"),))])
        assert (bank.digest(), bank.cards(), bank.pending()) == (digest, cards, [])
        assert bank.snapshot() == snapshot
        with closing(sqlite3.connect(path, isolation_level=None)) as raw:
            raw.execute("DROP TRIGGER full")
        bank.commit(1, [Group(question(1), (wrong("card-spouse"),))])
        assert len(bank.pending()) == 1


def test_similarity_credit_without_any_similarity_is_uniform():
    bank = primed("spouse", "author", config=MemoryConfig(credit="similarity"))
    far = replace(right(), cards=(("card-spouse", -0.2), ("card-author", 0.0)))
    bank.commit(1, [Group(question(1), (far,))])
    assert {name: value[1] for name, value in counters(bank).items()} == {"card-spouse": 1.0, "card-author": 1.0}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("top_k", 0),
        ("top_k", 2.5),
        ("top_k", True),
        ("top_k", "3"),
        ("cap", 0),
        ("queue_size", float("nan")),
        ("consolidate_every", None),
        ("consolidate_min", 1.0),
        ("consolidate_max", 0),
        ("max_chars", 0),
        ("max_queries", "5"),
        ("max_query_chars", -1),
        ("much_evidence", -1),
        ("repeated_priority", 0.5),
        ("despite_cards_priority", "10"),
        ("much_evidence_priority", None),
        ("evict_after", 2.5),
        ("evict_after", -1),
        ("tombstone_steps", -1),
        ("tombstone_steps", "1"),
        ("similarity_floor", float("nan")),
        ("similarity_floor", 2.0),
        ("similarity_floor", -1.01),
        ("similarity_floor", "x"),
        ("utility_weight", float("nan")),
        ("utility_weight", float("inf")),
        ("utility_weight", -0.5),
        ("utility_weight", None),
        ("duplicate_cosine", 0.0),
        ("duplicate_cosine", float("inf")),
        ("duplicate_cosine", "0.9"),
        ("solve_rate_low", 1.0),
        ("solve_rate_low", -0.1),
        ("solve_rate_low", float("nan")),
        ("solve_rate_high", float("nan")),
        ("solve_rate_high", False),
        ("credit", "fair"),
        ("credit", None),
        ("slots", ["entity"]),
        ("slots", "entity"),
        ("slots", ("an entity",)),
        ("slots", (1,)),
    ],
)
def test_settings_that_mean_nothing_are_refused(field, value):
    with pytest.raises(ConfigError, match=f"MemoryConfig.{field} must be"):
        MemoryConfig(**{field: value})


def test_the_defaults_are_the_papers():
    config = MemoryConfig()
    paper = {"top_k": 3, "cap": 800, "evict_after": 3, "duplicate_cosine": 0.93, "queue_size": 300, "credit": "uniform"}
    paper |= {"repeated_priority": 5, "despite_cards_priority": 10, "much_evidence_priority": 3}
    paper |= {"consolidate_every": 10, "consolidate_min": 20, "consolidate_max": 30, "utility_weight": 0.0}
    assert {name: getattr(config, name) for name in paper} == paper


def test_relative_credit_is_what_cards_add_to_the_base_rate():
    """A Solver that is mostly wrong: under uniform credit the card that helps it goes, under relative credit it stays."""
    helps = Group(question(1), (right("good"), wrong("good"), wrong("good"), wrong(), wrong(), wrong()))
    harms = Group(question(2), (wrong("bad"), wrong("bad"), right(), wrong()))
    kept = {}
    for mode in ("uniform", "relative"):
        bank = SkillBank.open(config=MemoryConfig(credit=mode, evict_after=1))
        bank.admit([Candidate(card("spouse", "good")), Candidate(card("anthem", "bad"))])
        bank.commit(0, [helps, harms])
        kept[mode] = {found.id: (found.helpful, found.hurt) for found in bank.cards()}
    assert kept == {"uniform": {}, "relative": {"good": (1.0, 0.0)}}


def test_relative_credit_says_nothing_without_a_base_rate():
    bank = SkillBank.open(config=MemoryConfig(credit="relative", evict_after=1))
    bank.admit([Candidate(card("spouse", "good"))])
    bank.commit(0, [Group(question(1), (wrong("good"), wrong("good"), malformed()))])
    assert [(found.retrieved, found.helpful, found.hurt) for found in bank.cards()] == [(1, 0.0, 0.0)]
