"""The distiller without a model: which cards it writes, and which it does not."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.grading import contains_answer
from sesa_env.memory.base import CardDraft, CardHit, Failure, SkillCard
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.door import misshapen
from sesa_env.memory.hindsight import Hindsight
from sesa_env.play import play_questions
from sesa_env.players.decisions import phrases
from sesa_env.players.naive import Naive
from sesa_env.players.skilled import Skilled
from sesa_env.types import Attempt, Passage, Question, SearchCall
from sesa_env.worlds import make_world

PAGES = [
    Passage("wed", "Alda Wern", "Alda Wern wed Corin Vale in 1820."),
    Passage("wed-decoy", "Alda Wern", "Rumour had it that the spouse of Alda Wern was Bero Tamm. Bero Tamm denied it."),
    Passage("hailed", "Corin Vale", "Corin Vale hailed from Ostermark, far away."),
    Passage("hailed-decoy", "Corin Vale", "The birthplace of Corin Vale is often given as Dunhold, wrongly."),
    Passage("died", "Corin Vale", "Corin Vale perished on 4 June 1850."),
    Passage("other", "Tilda Fenn", "Tilda Fenn perished on 8 July 1861. Nothing else about her matters here."),
    # The same is stated of others in the same words: that makes them words of a relation.
    *(Passage(f"wed-{name}", name, f"{name} wed {name} Brunholm in 1799, to the joy of all.") for name in ("Ola", "Una")),
    *(Passage(f"hailed-{name}", name, f"{name} hailed from Westermark, which is far away too.") for name in ("Ola", "Una")),
    *(Passage(f"died-{name}", name, f"{name} perished on 2 May 1870, as did so many others.") for name in ("Ola", "Una")),
]


class Words:
    """Ranks by shared words, shorter passages first."""

    fingerprint = "words"

    def search(self, queries: list[str], k: int) -> list[list[Passage]]:
        return [self._one(set(re.findall(r"\w+", query.lower())), k) for query in queries]

    def _one(self, asked: set[str], k: int) -> list[Passage]:
        rows = [(page, re.findall(r"\w+", f"{page.title} {page.text}".lower())) for page in PAGES]
        ranked = sorted(rows, key=lambda row: (-len(asked & set(row[1])), len(row[1])))
        return [page for page, held in ranked if asked & set(held)][:k]


def failure(text: str, answer: str, evidence: Sequence[str], cards: Sequence[str] = (), query: str = "") -> Failure:
    by_id = {page.id: page for page in PAGES}
    query = query or text
    calls = (SearchCall(query, tuple(Words().search([query], 3)[0])),)
    attempt = Attempt("wrong", False, False, searches=calls, cards=tuple((key, 0.9) for key in cards))
    question = Question("q", text, (answer,), entities=("Alda Wern", "Corin Vale", "Tilda Fenn"))
    return Failure("f", question, attempt, tuple(by_id[key] for key in evidence), 0)


def distil(failed: Failure, cards: Sequence[SkillCard] = ()) -> list[CardDraft]:
    return Hindsight(Words()).distil([failed], {card.id: card for card in cards})[0]


def card(key: str, trigger: str, *queries: str) -> SkillCard:
    return SkillCard(key, "u", trigger, "a", queries)


def test_finds_the_query_that_would_have_brought_the_evidence():
    drafts = distil(failure("Who was the spouse of Alda Wern?", "Corin Vale", ["wed"]))
    assert [draft.queries for draft in drafts] == [("{entity} wed",)]
    assert '"spouse"' in drafts[0].trigger
    assert "whole question" in drafts[0].avoid


UPON = Passage("upon", "Alda Wern", "Alda Wern looked upon Corin Vale with originally fond eyes.")
RADIO = Passage("radio", "Alda Wern", "Wwnq sang of Corin Vale to Alda Wern.")
ONCE = Passage("once", "Alda Wern", "Alda Wern outfoxed Corin Vale.")


@pytest.mark.parametrize("page", [UPON, RADIO, ONCE])
def test_words_that_stand_near_by_chance_make_no_card(page, monkeypatch):
    """Adverbs, names that begin a sentence, and words that no other page uses in the same way."""
    monkeypatch.setitem(globals(), "PAGES", [page, *PAGES])
    assert distil(failure("Who was the spouse of Alda Wern?", "Corin Vale", [page.id])) == []


@pytest.mark.parametrize(("seen", "known"), [("Many listen to Wwnq.", 0), ("Many listen to wwnq.", 1)])
def test_a_first_word_that_others_write_with_a_capital_is_a_name(monkeypatch, seen, known):
    pages = [Passage(name, name, f"Wwnq and {name} and the Corin Vale of old.") for name in ("Alda Wern", "Ola", "Una")]
    monkeypatch.setitem(globals(), "PAGES", [*pages, Passage("seen", "Radio", seen), *PAGES])
    drafts = distil(failure("Who was the spouse of Alda Wern?", "Corin Vale", ["Alda Wern"]))
    assert sum("{entity} wwnq" in draft.queries for draft in drafts) == known


def test_a_word_of_the_question_itself_needs_no_other_page(monkeypatch):
    page = Passage("direct", "Alda Wern", "Alda Wern was directed by Corin Vale.")
    monkeypatch.setitem(globals(), "PAGES", [page, *PAGES])
    (draft,) = distil(failure("Who was the director of Alda Wern?", "Corin Vale", ["direct"]))
    assert draft.queries == ("{entity} directed",)


def test_a_question_with_a_blank_teaches_nothing():
    text = 'Which name fills the blank in the statement about Alda Wern that reads "Alda Wern was the spouse of _____"?'
    assert distil(failure(text, "Corin Vale", ["wed"])) == []


@pytest.mark.parametrize("asked", ["Duke of Edinburgh", "Originally 3", "2nd originally"])
def test_a_phrase_holds_no_name_no_figure_and_no_adverb(asked):
    drafts = distil(failure(f"Who wed the {asked} of Alda Wern?", "Corin Vale", ["wed"]))
    assert not any(word in draft.trigger.lower() for draft in drafts for word in asked.lower().split()[:1])


def test_two_hops_give_two_cards_each_for_its_own_words():
    drafts = distil(failure("What is the birthplace of the spouse of Alda Wern?", "Ostermark", ["wed", "hailed"]))
    assert [(phrases(draft.trigger), draft.queries) for draft in drafts] == [
        ([(("spouse",),)], ("{entity} wed",)),
        ([(("birthplace",),)], ("{entity} hailed",)),
    ]


def test_a_possessive_is_the_inner_hop():
    drafts = distil(failure("What is the birthplace of Alda Wern's spouse?", "Ostermark", ["wed", "hailed"]))
    assert [draft.queries for draft in drafts] == [("{entity} wed",), ("{entity} hailed",)]


def test_lower_case_questions_are_understood_through_the_evidence():
    assert distil(failure("who was the spouse of alda wern", "Corin Vale", ["wed"]))[0].queries == ("{entity} wed",)


def test_a_comparison_teaches_the_decision_for_one_of_its_things():
    failed = failure("Who has the earlier date of death, Corin Vale or Tilda Fenn?", "Corin Vale", ["died", "other"])
    assert [(draft.queries, phrases(draft.trigger)) for draft in distil(failed)] == [
        (("{entity} perished",), [(("date", "of", "death"),)])
    ]


def test_when_and_where_are_kept_with_a_verb_that_follows_the_name():
    assert '"when ... die"' in distil(failure("When did Corin Vale die?", "4 June 1850", ["died"]))[0].trigger


def test_a_bag_of_documents_in_which_the_last_holds_the_answer_is_enough():
    drafts = distil(failure("Who was the spouse of Alda Wern?", "Corin Vale", ["other", "wed-decoy", "wed"]))
    assert [draft.queries for draft in drafts] == [("{entity} wed",)]


def test_what_a_shown_card_says_already_is_not_said_again():
    shown = card("c", 'asks for the "spouse"', "{entity} wed")
    assert distil(failure("Who was the spouse of Alda Wern?", "Corin Vale", ["wed"], ["c"]), [shown]) == []


def test_a_shown_card_that_missed_is_named_in_the_advice():
    shown = card("c", 'asks for the "spouse"', "{entity} married")
    (draft,) = distil(failure("Who was the spouse of Alda Wern?", "Corin Vale", ["wed"], ["c"]), [shown])
    assert draft.queries == ("{entity} wed",)
    assert "{entity} married" in draft.avoid


def test_evidence_that_was_found_but_not_used_is_named_in_the_advice():
    failed = failure("Who was the spouse of Alda Wern?", "Corin Vale", ["wed"], query="Alda Wern wed")
    assert "Answering from another passage" in distil(failed)[0].avoid


@pytest.mark.parametrize(
    ("text", "answer", "evidence"),
    [
        ("Who was the spouse of Alda Wern?", "Corin Vale", []),
        ("Who was the spouse of Nobody?", "Corin Vale", ["wed"]),
        ("Who was the spouse of Alda Wern?", "Somebody Else", ["wed"]),
        ("", "Corin Vale", ["wed"]),
        ("Is this a question?", "yes", ["wed", "other"]),
    ],
)
def test_what_cannot_be_found_teaches_nothing(text, answer, evidence):
    assert distil(failure(text, answer, evidence)) == []


ANY = st.one_of(
    st.text(max_size=30), st.sampled_from(["Alda Wern", "spouse of Alda Wern", "1820", "when", "</answer>", "\ud800"])
)


@given(st.lists(ANY, max_size=4).map(" ".join), ANY, st.lists(st.builds(Passage, ANY, ANY, ANY), max_size=3))
def test_any_failure_is_taken_in_and_every_draft_is_well_shaped(text, answer, evidence):
    question = Question("q", text, (answer,))
    failed = Failure("f", question, Attempt("x", False, False), (*evidence, PAGES[0]), 0)
    for draft in distil(failed):
        assert not misshapen(draft, MemoryConfig())
        assert not re.search(r"\d|_", f"{draft.trigger} {draft.queries}")


def test_cards_from_train_failures_help_on_test_questions_of_the_built_in_world():
    """The skilled Solver, shown the cards of its phrases, against itself without any; a world of its own, never reported."""
    world = make_world("miniwiki", seed=1003, size=600)
    train = world.graph.questions(120, "train", {"single": 1.0})
    failures = [
        Failure(str(number), question, attempt, tuple(filter(None, map(world.corpus.find, question.evidence))), 0)
        for number, (question, attempt) in enumerate(zip(train, play_questions(world, train, Naive()), strict=True))
        if not attempt.correct
    ]
    drafts = [draft for row in Hindsight(world.retriever).distil(failures, {}) for draft in row]
    for failed, row in zip(failures, Hindsight(world.retriever).distil(failures, {}), strict=True):
        names = (*failed.question.entities, *failed.question.answers)
        assert not any(contains_answer(f"{draft.trigger} {draft.queries}", names) for draft in row)

    bank = ByPhrase(drafts)
    test = world.graph.questions(80, "test", {"single": 1.0})
    off = sum(attempt.correct for attempt in play_questions(world, test, Skilled()))
    on = sum(attempt.correct for attempt in play_questions(world, test, Skilled(), memory=bank))
    assert on >= off + 20


class ByPhrase:
    """An ideal retriever of cards: those whose phrase stands in the question."""

    fingerprint = "ideal"

    def __init__(self, drafts: Sequence[CardDraft]) -> None:
        self._cards = [card(str(number), draft.trigger, *draft.queries) for number, draft in enumerate(dict.fromkeys(drafts))]

    def retrieve(self, questions: Sequence[str]) -> list[list[CardHit]]:
        return [[CardHit(kept, 0.9) for kept in self._cards if self._fits(kept, text.lower())][:3] for text in questions]

    def _fits(self, kept: SkillCard, text: str) -> bool:
        return any(" ".join(piece) in text for pieces in phrases(kept.trigger) for piece in pieces)
