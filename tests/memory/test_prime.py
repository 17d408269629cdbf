"""The hand-written seeds, and mining."""

import json
import re

import pytest

from sesa_env.errors import TeacherError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.base import SkillMemory
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.door import misshapen
from sesa_env.memory.leaks import names_in
from sesa_env.memory.pending import is_informative, most_informative, priority
from sesa_env.memory.prime import MINED_CARDS, mine, prime
from sesa_env.memory.seeds import SEEDS
from sesa_env.memory.teacher import ask
from sesa_env.memory.utility import Counters, credit, evictions
from sesa_env.types import Group
from tests.memory.helpers import RELATIONS, Outage, Teacher, card, failing, question, right, wrong


def test_there_are_fifteen_seeds_all_permanent_and_well_formed():
    assert len(SEEDS) == 15
    assert all(seed.permanent and seed.provenance.origin == "seed" for seed in SEEDS)
    assert [misshapen(seed, MemoryConfig()) for seed in SEEDS] == [""] * 15


def test_the_seeds_name_nothing():
    for seed in SEEDS:
        for text in (seed.description, seed.trigger, seed.avoid):
            assert all(name.split()[0] in _begins(text) for name in names_in(text)), (seed.id, names_in(text))


def _begins(text: str) -> set[str]:
    """The words that begin a sentence, which have their capital from there."""
    return set(re.findall(r"(?:^|[.:] )(\w+)", text))


def test_the_rules_of_the_seeds_can_be_followed_by_a_program():
    for seed in SEEDS:
        assert all("{" in query for query in seed.queries), seed.id
        if seed.id != "seed-two-hops":
            assert len(re.findall(r'"([^"]+)"', seed.trigger)) >= 4, seed.id
            assert all("{bridge}" not in query for query in seed.queries)


def test_priming_twice_changes_nothing():
    bank = SkillBank.open()
    assert len(prime(bank).added) == 15
    digest = bank.digest()
    assert prime(bank).added == ()
    assert bank.digest() == digest


@pytest.mark.parametrize(
    ("text", "seed"),
    [
        ("Who is the author of The Calcutta Chromosome?", "author"),
        ("who wrote the music phantom of the opera", "author"),
        ("Who was the director of Best in Show?", "film-credits"),
        ("who sings the theme song for living single", "song"),
        ("who plays scrooge mcduck in the new ducktales", "cast"),
        ("In what city was Jacob Duck born?", "birthplace"),
        ("Where was the place of death of the director of film Majestic Hotel Cellars?", "death"),
        ("Who is the spouse of the actor that plays vision?", "spouse"),
        ("Who is the mother of Prince Dmitri?", "parents"),
        ("What is the capital of Chad?", "place"),
        ("What is Adam Darr's occupation?", "trade"),
        ("In which year was the ten shilling note withdrawn?", "date"),
        ("how many seasons of rules of engagement is there", "count"),
        ("Which film came out first, Pyar Ka Bandhan or Rosa?", "compare"),
        ("What is the real name of the singer known as Sting?", "plain-words"),
    ],
)
def test_real_questions_find_their_seed(text, seed):
    bank = SkillBank.open()
    prime(bank)
    assert f"seed-{seed}" in [hit.card.id for hit in bank.snapshot().retrieve([text])[0]]


def test_the_floor_lets_fitting_seeds_pass_and_most_others_not(shared_data):
    """On PopQA, whose questions come from templates, so that the fitting seed is known."""
    templates = {r"Who was the (director|screenwriter|producer|composer)": "film-credits", r"Who is the author": "author"}
    templates |= {r"In what city was": "birthplace", r"What is the capital": "place", r"What sport|.* occupation": "trade"}
    bank = SkillBank.open()
    prime(bank)
    lines = (shared_data / "popqa" / "test.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["question"] for line in lines]
    wanted = [next((seed for pattern, seed in templates.items() if re.match(pattern, text)), None) for text in texts]
    known = [(text, f"seed-{seed}") for text, seed in zip(texts, wanted, strict=True) if seed]
    found = bank.snapshot().retrieve([text for text, _ in known])
    fitting = sum(seed in [hit.card.id for hit in hits] for (_, seed), hits in zip(known, found, strict=True))
    first = sum(bool(hits) and hits[0].card.id == seed for (_, seed), hits in zip(known, found, strict=True))
    assert len(known) > 100
    assert fitting >= 0.98 * len(known)
    assert first >= 0.95 * len(known)
    assert sum(len(hits) for hits in found) < 2.5 * len(known)


def bootstrap(count: int) -> list[Group]:
    return [group for i in range(count) for group in failing(i, relation=RELATIONS[i % len(RELATIONS)])]


def test_mined_cards_are_permanent_and_enter_by_the_door():
    bank = SkillBank.open()
    prime(bank)
    report = mine(bank, [*bootstrap(8), *failing(90, relation="spouse")], Teacher())
    mined = [made for made in bank.cards() if made.provenance.origin == "mined"]
    assert len(mined) == len(report.added) == 8
    assert all(made.permanent and made.provenance.teacher == "test-teacher" for made in mined)
    assert report.rejected == {"duplicate": 1}
    assert (bank.pending(), bank.last_step) == ([], -1)
    assert bank.snapshot().retrieve([question(0, RELATIONS[0]).text])[0][:1] != mined[:1]


def test_mining_stops_at_the_target_and_goes_on_after_an_outage():
    config = MemoryConfig(consolidate_max=4)
    bank = SkillBank.open(config=config)
    with pytest.raises(TeacherError):
        mine(bank, bootstrap(10), Outage())
    assert len(mine(bank, bootstrap(10), Teacher(), target=3).added) == 3
    teacher = Teacher()
    assert len(mine(bank, bootstrap(10), teacher, target=8).added) == 5
    assert "q0" not in {failure.question.id for failure in teacher.failures}
    assert mine(bank, bootstrap(10), Outage(), target=8).added == ()
    assert MINED_CARDS + len(SEEDS) == 157


def test_priorities_are_the_papers():
    bank = SkillBank.open()
    bank.commit(1, [Group(question(1), (wrong("c", passages=6),)), *failing(2)])
    bank.commit(2, failing(2))
    assert [priority(failure, bank.config) for failure in bank.pending()] == [13, 5]
    assert [failure.question.id for failure in most_informative(bank.pending(), bank.config)] == ["q1", "q2"]
    assert not is_informative(right())


def test_credit_adds_up_over_groups():
    groups = [Group(question(1), (right("a"), wrong("a"))), Group(question(2), (right("a"),))]
    assert credit(groups, {"a"}, "uniform") == {"a": Counters(2, 2.0, 1.0)}


def test_evictions_are_in_order():
    cards = [card(RELATIONS[i], str(i), retrieved=3, helpful=float(i), hurt=1.0) for i in range(4)]
    assert evictions(cards, MemoryConfig(cap=2)) == ["0", "1"]
    assert evictions(cards, MemoryConfig(cap=2), fresh={"1"}) == ["0", "2"]
    assert evictions(cards, MemoryConfig(evict_after=None)) == []


def test_a_teacher_is_shown_each_card_once():
    teacher = Teacher()
    bank = SkillBank.open()
    bank.prime([card("spouse")])
    bank.commit(1, [Group(question(i), (wrong("card-spouse"),)) for i in range(3)])
    answers = ask(teacher, bank.pending(), {made.id: made for made in bank.cards()})
    assert len(answers) == 3
    assert list(teacher.cards) == ["card-spouse"]


def test_the_bank_is_a_skill_memory():
    assert isinstance(SkillBank.open(), SkillMemory)
