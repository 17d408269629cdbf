"""Small worlds and views for the tests of players."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from sesa_env.memory.base import CardHit, SkillCard
from sesa_env.players.base import View
from sesa_env.players.reader import ScriptedReader
from sesa_env.types import Passage, Role, SearchCall
from sesa_env.worlds import World


class WordRetriever:
    """Ranks passages by the number of distinct words shared with the query, shorter passages first."""

    fingerprint = "words"

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = list(passages)

    def search(self, queries: list[str], k: int) -> list[list[Passage]]:
        return [self._one(query, k) for query in queries]

    def _one(self, query: str, k: int) -> list[Passage]:
        asked = set(query.lower().replace("?", "").split())
        scored = []
        for index, passage in enumerate(self.passages):
            held = f"{passage.title} {passage.text}".lower().replace(".", "").replace(",", "").split()
            shared = len(asked & set(held))
            if shared:
                scored.append((-shared, len(held), index, passage))
        return [passage for *_, passage in sorted(scored, key=lambda row: row[:3])[:k]]


class ListCorpus(list):
    """A corpus in a list."""

    fingerprint = "list"

    def find(self, passage_id: str) -> Passage | None:
        return next((passage for passage in self if passage.id == passage_id), None)


def _world(passages: Sequence[Passage] = (), targets=()) -> World:
    return World("small", "small", ListCorpus(passages), WordRetriever(passages), ScriptedReader(), (), targets)


def _view(question: str = "", cards: Sequence[SkillCard] = (), searches: Sequence[SearchCall] = (), **changes) -> View:
    hits = tuple(CardHit(card, 0.9) for card in cards)
    view = View(Role.SOLVER, question, (), question, "", 0, hits, tuple(searches), 10, 9)
    return replace(view, **changes)


def _play(player, view: View, retriever, k: int = 3) -> list[str]:
    """Plays one seat to its end; returns its turns."""
    texts: list[str] = []
    while view.turns_left > 0:
        text = player.act(view)
        texts.append(text)
        searches, left = view.searches, view.searches_left
        if not text.startswith("<search>"):
            break
        if left > 0:
            query = text.removeprefix("<search>").removesuffix("</search>")
            searches, left = (*searches, SearchCall(query, tuple(retriever.search([query], k)[0]))), left - 1
        view = replace(view, searches=searches, searches_left=left, turns_left=view.turns_left - 1)
    return texts


@pytest.fixture
def make_world() -> Callable[..., World]:
    return _world


@pytest.fixture
def make_view() -> Callable[..., View]:
    return _view


@pytest.fixture
def play() -> Callable[..., list[str]]:
    return _play


@pytest.fixture
def make_card() -> Callable[..., SkillCard]:
    def make(trigger: str, *queries: str) -> SkillCard:
        return SkillCard("card", "a skill", trigger, "nothing", queries)

    return make


@pytest.fixture
def family() -> list[Passage]:
    """Facts about invented people, with decoys that hold the questions' words."""
    return [
        Passage("p1", "Alda Wern", "Alda Wern wed Corin Vale in 1820."),
        Passage("p2", "Alda Wern", "The spouse of Alda Wern was the talk of Bero Tamm."),
        Passage("p3", "Corin Vale", "Corin Vale hailed from Ostermark."),
        Passage("p4", "Corin Vale", "Where Corin Vale was born is asked in Dunhold."),
        Passage("p5", "Tilda Fenn", "Tilda Fenn hailed from Ostermark. Tilda Fenn came into the world on 3 May 1801."),
        Passage("p6", "Corin Vale", "Corin Vale came into the world on 9 June 1799."),
    ]
