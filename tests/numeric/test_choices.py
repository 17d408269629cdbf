"""What an agent without text can choose from: leads, queries, answers; and what it is shown of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sesa_env.memory.base import CardHit, SkillCard
from sesa_env.numeric import ACTIONS, choices, observation_space, observe
from sesa_env.numeric.features import SHAPES
from sesa_env.numeric.leads import leads
from sesa_env.numeric.trails import N_QUERIES, follow
from sesa_env.players.base import View
from sesa_env.types import Passage, Role, SearchCall

QUESTION = "Who is the spouse of Alda Wern?"
WED = Passage("p0", "Alda Wern", "Alda Wern wed Corin Vale in 1820.", 4.0)
RUMOUR = Passage("p4", "Rumours", "The spouse of Alda Wern was said to be Jory Pell.", 7.0)
BORN = Passage("p1", "Corin Vale", "Corin Vale was born in Harrow Mere.", 3.0)
SPACE = observation_space()


def hit(trigger, *queries, similarity=0.9):
    return CardHit(SkillCard(trigger, "u", trigger, "a", queries), similarity)


def view(question=QUESTION, cards=(), searches=(), **changes):
    found = View(Role.SOLVER, question, (), question, "", 0, tuple(cards), tuple(searches), 10, 9)
    return replace(found, **changes)


def available(seen):
    return {ACTIONS[place]: turn for place, turn in enumerate(choices(seen).turns) if turn}


SPOUSE = hit('Questions that ask "spouse of".', "{entity} wed")


def test_without_cards_the_questions_own_words_can_be_searched():
    assert available(view()) == {
        "search the question": f"<search>{QUESTION}</search>",
        "search the first name by the question's words": "<search>Alda Wern spouse</search>",
        "search the first name alone": "<search>Alda Wern</search>",
        "give up": "<answer>unknown</answer>",
    }


def test_a_card_brings_an_action_that_finds_what_the_questions_words_do_not():
    offered = available(view(cards=[SPOUSE]))
    assert offered["search the first name by a card"] == "<search>Alda Wern wed</search>"
    assert offered["search the first name by the question's words"] == "<search>Alda Wern spouse of</search>"
    led = "answer with what the first name led to"
    by_card = view(cards=[SPOUSE], searches=[SearchCall("Alda Wern wed", (WED, RUMOUR))])
    by_words = view(cards=[SPOUSE], searches=[SearchCall("Alda Wern spouse of", (RUMOUR, WED))])
    assert available(by_card)[led] == "<answer>Corin Vale</answer>"
    assert available(by_words)[led] == "<answer>Jory Pell</answer>"


def test_a_query_is_offered_once_and_never_again():
    card = hit('Questions that ask "spouse of".', "{entity} wed", "{entity} married")
    offers = follow(view(cards=[card], searches=[SearchCall("Alda Wern wed", ())])).offers
    assert offers[1] == "Alda Wern married"  # the first template brought nothing, so it is the next one's turn
    searches = [SearchCall(query, ()) for query in ("Alda Wern wed", "Alda Wern married", "Alda Wern", QUESTION)]
    assert follow(view(cards=[card], searches=searches)).offers == ("", "", "Alda Wern spouse of", "", "", "", "")


def test_a_chain_goes_on_from_the_name_that_was_found():
    asked = "Where was the spouse of Alda Wern born?"
    cards = [SPOUSE, hit('Questions that ask "where was ... born".', "{entity} born in")]
    one = view(asked, cards, [SearchCall("Alda Wern wed", (WED,))])
    assert follow(one).offers[1] == "Corin Vale born in"
    two = replace(one, searches=(*one.searches, SearchCall("Corin Vale born in", (BORN,))))
    assert follow(two).trails[0].complete
    assert available(two)["answer with what the first name led to"] == "<answer>Harrow Mere</answer>"


def test_a_card_of_two_steps_keeps_the_name_it_started_from():
    card = hit('Questions that ask "spouse of".', "{entity} wed", "{bridge} {entity}")
    assert follow(view(cards=[card], searches=[SearchCall("Alda Wern wed", (WED,))])).offers[1] == "Corin Vale Alda Wern"


def test_both_things_of_a_comparison_are_followed_and_compared():
    asked = "Who was born first, Ada Bel or Cy Dor?"
    pages = [Passage(name, name, f"{name} was born in {year}.") for name, year in (("Ada Bel", 1820), ("Cy Dor", 1790))]
    searches = []
    for place, page in zip((2, 5), pages, strict=True):
        searches.append(SearchCall(follow(view(asked, searches=searches)).offers[place], (page,)))
    assert [call.query for call in searches] == ["Ada Bel born", "Cy Dor born"]
    assert available(view(asked, searches=searches))["answer with what both lead to"] == "<answer>Cy Dor</answer>"


def test_what_meets_both_conditions_is_an_answer():
    asked = "Which film has Ada Bel as its director and Cy Dor as its star?"
    films = [Passage(title, title, f"{title} had {name} for its {role}.") for title, name, role in (
        ("Amber Road", "Ada Bel", "director"), ("Red Moon", "Ada Bel", "director"), ("Red Moon", "Cy Dor", "star"),
    )]  # fmt: skip
    searches = [SearchCall("Ada Bel director", tuple(films[:2])), SearchCall("Cy Dor star", (films[2],))]
    assert [lead.name for lead in leads(asked, ())] == ["Ada Bel", "Cy Dor"]
    assert available(view(asked, searches=searches))["answer with what both lead to"] == "<answer>Red Moon</answer>"


@pytest.mark.parametrize("spent", [{"turns_left": 1}, {"searches_left": 0}])
def test_nothing_can_be_searched_at_the_end(spent):
    assert list(available(view(**spent))) == ["give up"]


def test_there_is_an_action_for_each_query_and_each_answer():
    assert len(choices(view()).answers) == len(ACTIONS) - N_QUERIES


def test_numbers_tell_of_cards_budget_and_what_was_found():
    seen = view(cards=[SPOUSE], searches=[SearchCall("Alda Wern wed", (WED, RUMOUR))], turns_left=9, searches_left=8)
    shown = observe(seen, choices(seen))
    assert {name: len(vector) for name, vector in shown.items()} == SHAPES
    np.testing.assert_allclose(shown["skills"][:4], [0.9, 0.0, 0.2, 1.0], rtol=1e-6)
    np.testing.assert_allclose(shown["budget"], [0.9, 0.8], rtol=1e-6)
    np.testing.assert_allclose(shown["scores"], [4 / 14, 7 / 17, 0.0], rtol=1e-6)
    assert list(shown["last"]) == [0, 1, 0, 0, 0, 0, 0, 1, 1]
    assert list(shown["available"]) == [float(bool(turn)) for turn in choices(seen).turns]
    assert not observe(replace(seen, cards=()), choices(replace(seen, cards=())))["skills"].any()


TAGS = st.sampled_from(["</answer>", "<answer>x</answer>", "\x00", "\u202e", "\ud800", '"', "Ada ", "1820", "{entity}", "{"])
HOSTILE = st.lists(st.one_of(st.text(max_size=30), TAGS), max_size=8).map("".join)
ASKED = [QUESTION, "Who was born first, Ada Bel or Cy Dor?", "Which film has Ada Bel as its director and Cy Dor as its star?"]
HITS = st.lists(
    st.builds(
        hit,
        st.one_of(HOSTILE, st.sampled_from(['asks for the "spouse of" or "who ... born"', '"director" or "star"'])),
        st.one_of(HOSTILE, st.sampled_from(["{entity} wed", "{bridge} {entity}", "{entity} {other}", "{entity!r} {0} {"])),
        similarity=st.floats(-1, 1),
    ),
    max_size=3,
)
PASSAGES = st.lists(st.builds(Passage, st.just("p"), HOSTILE, HOSTILE, st.floats(-1e6, 1e6)), max_size=3).map(tuple)


@settings(max_examples=50)
@given(st.one_of(HOSTILE, st.sampled_from(ASKED)), HITS, st.lists(PASSAGES, max_size=4), st.data())
def test_any_text_gives_turns_that_can_be_written_and_numbers_in_the_space(question, cards, found, data):
    searches = []
    for passages in found:
        offers = [query for query in follow(view(question, cards, searches)).offers if query]
        query = data.draw(st.sampled_from(offers or ["other"]))
        searches.append(SearchCall(query, passages))
    seen = view(question, cards, searches)
    turns = choices(seen).turns
    assert len(turns) == len(ACTIONS)
    assert turns[-1] == "<answer>unknown</answer>"
    assert all(turn.count("<") in (0, 2) and turn.isprintable() for turn in turns)
    assert observe(seen, choices(seen)) in SPACE
