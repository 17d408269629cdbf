"""The scripted Solvers: what they search, what they answer, and that no passage can break their turns."""

import os
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesa_env.memory.base import CardHit, SkillCard
from sesa_env.players.base import View
from sesa_env.players.naive import Naive
from sesa_env.players.skilled import Skilled
from sesa_env.types import Passage, Role, SearchCall

WELL_FORMED = re.compile(r"<(search|answer|question)>[^<>]*[^<>\s][^<>]*</\1>")
TAGS = st.sampled_from(
    ["</answer>", "<answer>x</answer>", "</information>", "<search>", "\x00", "\u202e", "\ud800", '"', "Ada ", "1820"]
)
HOSTILE = st.lists(st.one_of(st.text(max_size=30), TAGS), max_size=8).map("".join)
PASSAGES = st.lists(st.builds(Passage, st.just("p"), HOSTILE, HOSTILE), max_size=3).map(tuple)
TEMPLATES = ["{entity} wed", "{bridge} {entity}", "{entity} {other}", "{entity!r} {0} {", "{}"]
CARDS = st.lists(
    st.builds(
        lambda trigger, query: CardHit(SkillCard("c", "u", trigger, "a", (query,)), 0.5),
        st.one_of(HOSTILE, st.just('asks for the "spouse of" or "who ... born"')),
        st.one_of(HOSTILE, st.sampled_from(TEMPLATES)),
    ),
    max_size=3,
).map(tuple)
ASKED = ["Who was the spouse of Ada Bel?", "Who was born first, Ada Bel or Cy Dor?", "who was the spouse of ada"]
QUESTIONS = st.one_of(HOSTILE, st.sampled_from(ASKED))


def test_naive_searches_the_question_and_answers_from_the_top_passage(make_world, make_view, play, family):
    turns = play(Naive(), make_view("Who wed Alda Wern?"), make_world(family).retriever)
    assert turns == ["<search>Who wed Alda Wern?</search>", "<answer>Corin Vale</answer>"]


def test_a_decoy_with_the_questions_words_deceives_naive(make_world, make_view, play, family):
    turns = play(Naive(), make_view("Who was the spouse of Alda Wern?"), make_world(family).retriever)
    assert turns[-1] == "<answer>Bero Tamm</answer>"


def test_skilled_follows_a_card(make_world, make_view, make_card, play, family):
    card = make_card('The question asks for the "spouse of" someone.', "{entity} wed")
    turns = play(Skilled(), make_view("Who was the spouse of Alda Wern?", [card]), make_world(family).retriever)
    assert turns == ["<search>Alda Wern wed</search>", "<answer>Corin Vale</answer>"]


def test_skilled_composes_cards_innermost_hop_first(make_world, make_view, make_card, play, family):
    cards = [make_card('"where ... born"', "{entity} hailed"), make_card('"spouse of"', "{entity} wed")]
    turns = play(Skilled(), make_view("Where was the spouse of Alda Wern born?", cards), make_world(family).retriever)
    assert turns == ["<search>Alda Wern wed</search>", "<search>Corin Vale hailed</search>", "<answer>Ostermark</answer>"]


def test_skilled_follows_a_card_with_two_steps(make_world, make_view, make_card, play, family):
    card = make_card('"birthplace of the spouse of"', "{entity} wed", "{bridge} hailed")
    view = make_view("What is the birthplace of the spouse of Alda Wern?", [card])
    turns = play(Skilled(), view, make_world(family).retriever)
    assert turns == ["<search>Alda Wern wed</search>", "<search>Corin Vale hailed</search>", "<answer>Ostermark</answer>"]


def test_skilled_compares(make_world, make_view, make_card, play, family):
    card = make_card('"born first"', "{entity} came into the world")
    turns = play(Skilled(), make_view("Who was born first, Tilda Fenn or Corin Vale?", [card]), make_world(family).retriever)
    assert turns[-1] == "<answer>Corin Vale</answer>"
    assert len(turns) == 3


def test_a_lower_case_question_has_a_name_too(make_world, make_view, make_card, play, family):
    card = make_card('"spouse of"', "{entity} wed")
    turns = play(Skilled(), make_view("who was the spouse of alda wern", [card]), make_world(family).retriever)
    assert turns[0] == "<search>alda wern wed</search>"


@pytest.mark.parametrize("query", ["no slot", "{entity} {other}", "{entity!r}", "{0}", "{"])
def test_a_template_that_cannot_be_filled_is_no_card(make_view, make_card, query):
    view = make_view("Who was the spouse of Alda Wern?", [make_card('"spouse of"', query)])
    assert Skilled().act(view) == Naive().act(view)


@pytest.mark.parametrize("player", [Naive(), Skilled()])
@pytest.mark.parametrize("limits", [{"turns_left": 1}, {"searches_left": 0}])
def test_solvers_answer_when_they_must(make_view, make_card, player, limits):
    view = make_view("Who was the spouse of Alda Wern?", [make_card('"spouse of"', "{entity} wed")], **limits)
    assert player.act(view).startswith("<answer>")


@given(question=QUESTIONS, cards=CARDS, found=st.lists(PASSAGES, max_size=3), left=st.integers(0, 2))
def test_every_turn_is_one_well_formed_action(question, cards, found, left):
    searches = tuple(SearchCall("q", passages) for passages in found)
    for turns_left in (1, 5):
        view = View(Role.SOLVER, question, (), question, "", 0, cards, searches, turns_left, left)
        for player in (Naive(), Skilled()):
            assert WELL_FORMED.fullmatch(player.act(view))


@given(question=QUESTIONS, passages=PASSAGES)
def test_skilled_without_cards_is_naive(question, passages):
    for searches in ((), (SearchCall(question, passages),)):
        view = View(Role.SOLVER, question, (), question, "", 0, (), searches, 5, 5)
        assert Skilled().act(view) == Naive().act(view)


def test_skilled_is_a_function_of_the_view(make_world, make_view, make_card, play, family):
    """One player that is interleaved over two episodes plays each as it would alone."""
    card = make_card('"spouse of"', "{entity} wed")
    views = [make_view("Who was the spouse of Alda Wern?", [card]), make_view("Where was Corin Vale born?")]
    shared, retriever = Skilled(), make_world(family).retriever
    together = [play(shared, view, retriever) for view in [*views, *reversed(views)]]
    assert together == [play(Skilled(), view, retriever) for view in [*views, *reversed(views)]]


HASH_PROBE = """
from sesa_env.corpus.miniwiki import MiniWiki
from sesa_env.memory.base import Failure
from sesa_env.memory.hindsight import Hindsight
from sesa_env.players.reader import ScriptedReader
from sesa_env.types import Attempt

wiki = MiniWiki(seed=1006, size=400)
pages = {page.id: page for page in wiki.passages()}

class Overlap:
    def search(self, queries, k):
        rows = [(page, f"{page.title} {page.text}".split()) for page in pages.values()]
        return [
            [page for page, held in sorted(rows, key=lambda row: -sum(word in row[1] for word in query.split()))[:k]]
            for query in queries
        ]

questions = wiki.questions(25, "train")
failures = [
    Failure("f", question, Attempt("x", False, False), tuple(pages[key] for key in question.evidence), 0)
    for question in questions
]
reader, documents = ScriptedReader(), list(pages.values())[:20]
print([reader.verify(question.text, documents) for question in questions], Hindsight(Overlap()).distil(failures, {}))
"""


def test_nothing_depends_on_the_order_of_hashed_strings():
    told = [
        subprocess.run(
            [sys.executable, "-c", HASH_PROBE],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    ]
    assert told[0] == told[1]
    assert "CardDraft" in told[0]
