"""What makes the world worth learning: the whole question finds the decoy, the right words find the evidence."""

from collections.abc import Iterable

import bm25s
import pytest

from sesa_env.corpus.miniwiki import MiniWiki
from sesa_env.types import Question

COUNT = 150


class Search:
    def __init__(self, **arguments) -> None:
        self.world = MiniWiki(seed=6, **arguments)
        passages = list(self.world.passages())
        self._ids = [passage.id for passage in passages]
        self._index = bm25s.BM25()
        self._index.index(self._tokens(f"{p.title} {p.text}" for p in passages), show_progress=False)

    def __call__(self, queries: list[str], k: int) -> list[list[str]]:
        found, _ = self._index.retrieve(self._tokens(queries), k=k, show_progress=False)
        return [[self._ids[place] for place in row] for row in found]

    @staticmethod
    def _tokens(texts: Iterable[str]):
        return bm25s.tokenize(list(texts), stopwords="en", show_progress=False)

    def questions(self, family: str) -> list[Question]:
        return self.world.questions(COUNT, families={family: 1.0})

    def whole(self, family: str, k: int) -> float:
        """The share of questions whose own words find the first evidence passage among the first k."""
        questions = self.questions(family)
        hits = self([q.text for q in questions], k)
        return sum(q.evidence[0] in found for q, found in zip(questions, hits, strict=True)) / len(questions)

    def reformulated(self, family: str, k: int) -> float:
        """The share of evidence passages that the right query finds among the first k."""
        pairs = [p for q in self.questions(family) for p in zip(self.world.ideal_queries(q.text), q.evidence, strict=True)]
        hits = self([query for query, _ in pairs], k)
        return sum(page in found for (_, page), found in zip(pairs, hits, strict=True)) / len(pairs)


@pytest.fixture(scope="module")
def default() -> Search:
    return Search()


@pytest.mark.parametrize("family", ["single", "rare", "inverse", "bridge2", "bridge3", "comparison", "yesno", "intersection"])
def test_the_whole_question_often_fails_and_the_right_words_succeed(default, family):
    assert default.whole(family, 1) < 0.45
    assert default.whole(family, 3) < 0.65
    assert default.reformulated(family, 1) > 0.85
    assert default.reformulated(family, 3) > 0.95


def test_one_hop_reformulations_nearly_always_come_first(default):
    assert default.reformulated("single", 1) > 0.95
    assert default.whole("single", 1) < 0.4


def test_the_nearer_the_words_the_better_the_whole_question_does():
    shares = [Search(distance=distance).whole("single", 1) for distance in (1.0, 0.8, 0.4, 0.0)]
    assert shares[0] < 0.1
    assert shares[0] < shares[1] < shares[2] < shares[3]
    assert shares[3] > 0.85


def test_decoys_are_what_leads_astray():
    assert Search(decoys=0.0, distance=1.0).whole("single", 3) > Search(decoys=1.0, distance=1.0).whole("single", 3) + 0.2


def test_a_long_tail_and_many_phrasings_keep_reformulations_good():
    search = Search(size=4000, relations=200, phrasings=4)
    assert search.reformulated("single", 1) > 0.95
    assert search.whole("single", 1) < 0.4
