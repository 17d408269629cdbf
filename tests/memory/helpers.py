"""Small questions, episodes, distillers and embedders for the tests of the memory."""

from collections.abc import Mapping, Sequence

import numpy as np

from sesa_env.errors import TeacherError
from sesa_env.memory.base import CardDraft, Failure, Provenance, SkillCard
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.embed import HashEmbedder, Vectors
from sesa_env.types import Attempt, Group, Passage, Question, SearchCall

# Words of no name, far from each other in letters, so that cards made of different ones are not alike.
_WORDS = """
spouse author capital birthplace religion occupation inventor anthem currency river mascot nickname publisher composer brewery
trophy stadium employer language climate hairdo fungus zodiac vaccine glacier kingdom jewel quartz whisky oxygen
"""
RELATIONS = tuple(_WORDS.split())
EAGER = MemoryConfig(consolidate_every=1, consolidate_min=1)


def draft(relation: str, query: str = "") -> CardDraft:
    return CardDraft(
        description=f"Find the {relation} of something.",
        trigger=f'Questions that ask "{relation} of".',
        avoid="Sending the whole question.",
        queries=(query or f"{{entity}} {relation} record",),
    )


def card(relation: str, card_id: str = "", key: str = "", **fields: object) -> SkillCard:
    made = draft(relation)
    origin = Provenance(question_keys=(key,) if key else ())
    values = {"id": card_id or f"card-{relation}", "provenance": origin, **fields}
    return SkillCard(description=made.description, trigger=made.trigger, avoid=made.avoid, queries=made.queries, **values)


def question(number: int, relation: str = "spouse") -> Question:
    return Question(f"q{number}", f"who is the {relation} of person {number}", (f"answer{number}",))


def search(*ids: str) -> SearchCall:
    return SearchCall("a query", tuple(Passage(name, "Title", "Text.") for name in ids))


def wrong(*cards: str, passages: int = 1, prediction: str = "something else") -> Attempt:
    found = search(*(f"p{i}" for i in range(passages))) if passages else search()
    return Attempt(prediction, correct=False, malformed=False, searches=(found,), cards=tuple((name, 0.5) for name in cards))


def right(*cards: str) -> Attempt:
    return Attempt("right", correct=True, malformed=False, searches=(search("p"),), cards=tuple((name, 0.5) for name in cards))


def malformed(*cards: str) -> Attempt:
    shown = tuple((name, 0.5) for name in cards)
    return Attempt("", correct=False, malformed=True, end="forfeit", searches=(search("p"),), cards=shown)


def failing(*numbers: int, relation: str = "spouse") -> list[Group]:
    return [Group(question(number, relation), (wrong(),)) for number in numbers]


class Teacher:
    """Writes one card for each failure, about the relation that its question asks for, and remembers what it was given."""

    name = "test-teacher"

    def __init__(self) -> None:
        self.failures: list[Failure] = []
        self.cards: dict[str, SkillCard] = {}

    def distil(self, failures: Sequence[Failure], cards: Mapping[str, SkillCard]) -> list[list[CardDraft]]:
        self.failures = list(failures)
        self.cards = dict(cards)
        return [[draft(failure.question.text.split()[3])] for failure in failures]


class Outage:
    """A teacher that never answers."""

    name = "outage"

    def distil(self, failures: Sequence[Failure], cards: Mapping[str, SkillCard]) -> list[list[CardDraft]]:
        raise TeacherError("the teacher is out")


class Fixed:
    """A teacher that answers the same drafts to each failure."""

    name = "fixed"

    def __init__(self, *drafts: CardDraft) -> None:
        self.drafts = list(drafts)

    def distil(self, failures: Sequence[Failure], cards: Mapping[str, SkillCard]) -> list[list[CardDraft]]:
        return [self.drafts for _ in failures]


class CountingEmbedder(HashEmbedder):
    """The hash embedder, counting what it embeds."""

    name = "counting"

    def __init__(self) -> None:
        self.cards: list[str] = []
        self.queries: list[str] = []

    def embed_cards(self, texts: Sequence[str]) -> Vectors:
        self.cards += texts
        return super().embed_cards(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.queries += texts
        return super().embed_queries(texts)


class TableEmbedder:
    """Gives each text the vector that a test chose for a word in it."""

    name = "table"
    floor = 0.0

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self.vectors = {word: np.array(vector, np.float32) for word, vector in vectors.items()}
        self.dimension = len(next(iter(self.vectors.values())))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts)

    def embed_cards(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        rows = [next(vector for word, vector in self.vectors.items() if word in text) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self.dimension), np.float32)
