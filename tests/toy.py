"""A toy world of six passages for tests of the rules: every search result and every verdict is chosen by the test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sesa_env.errors import RetrievalError
from sesa_env.memory.base import CardHit, SkillCard
from sesa_env.types import Passage, Question, Target, Verdict
from sesa_env.worlds import World

PASSAGES = (
    Passage("p0", "Alda Wern", "Alda Wern wed Corin Vale in 1820."),
    Passage("p1", "Corin Vale", "Corin Vale was born in Harrow Mere."),
    Passage("p2", "Harrow Mere", "Harrow Mere is a town of 900 souls."),
    Passage("p3", "Tessa Wern", "Tessa Wern painted seven portraits."),
    Passage("p4", "Rumours", "The spouse of Alda Wern was said to be Jory Pell."),
    Passage("p5", "Weather", "It rained for nine days."),
)
QUESTION = Question(
    "q0", "Who is the spouse of Alda Wern?", ("Corin Vale", "C. Vale"), evidence=("p0",), entities=("Alda Wern",)
)
TARGET = Target("t0", "Corin Vale", 1)
LONG_QUESTION = "According to the old parish register, who is the lawful spouse of Alda Wern?"


class ToyCorpus:
    """A corpus over a tuple of passages."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = tuple(passages)
        self.fingerprint = "toy-corpus"

    def __len__(self) -> int:
        return len(self.passages)

    def __getitem__(self, index: int) -> Passage:
        return self.passages[index]

    def find(self, passage_id: str) -> Passage | None:
        return next((passage for passage in self.passages if passage.id == passage_id), None)


class ToyRetriever:
    """Ranks by shared words, ties by corpus order; fails for the query "outage"."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = tuple(passages)
        self.fingerprint = "toy-retriever"
        self.calls: list[list[str]] = []

    def search(self, queries: list[str], k: int) -> list[list[Passage]]:
        self.calls.append(list(queries))
        if "outage" in queries:
            raise RetrievalError("the toy index is out")
        return [self._rank(query)[:k] for query in queries]

    def _rank(self, query: str) -> list[Passage]:
        words = set(query.lower().split())
        scored = [(len(words & set(f"{p.title} {p.text}".lower().split())), i) for i, p in enumerate(self.passages)]
        return [self.passages[i] for score, i in sorted(scored, key=lambda pair: (-pair[0], pair[1])) if score]


@dataclass
class ToyVerifier:
    """Knows the answers that it was told, and keeps what it was asked."""

    answers: Mapping[str, str] = field(default_factory=lambda: {LONG_QUESTION: "Corin Vale"})
    asked: list[tuple[str, tuple[Passage, ...]]] = field(default_factory=list)

    def verify(self, question: str, passages: Sequence[Passage]) -> Verdict | None:
        self.asked.append((question, tuple(passages)))
        answer = self.answers.get(question)
        return None if answer is None else Verdict((answer,), evidence=("p0",), entities=("Alda Wern",))


@dataclass(frozen=True)
class ToySnapshot:
    """Shows the same cards for every question."""

    cards: tuple[SkillCard, ...]
    fingerprint: str = "toy-memory"

    def retrieve(self, questions: Sequence[str]) -> list[list[CardHit]]:
        return [[CardHit(card, 0.5) for card in self.cards] for _ in questions]


def card(name: str = "c0", **fields: object) -> SkillCard:
    values = {"description": "Find a spouse.", "trigger": 'Questions that ask "spouse of".', "avoid": "The whole question."}
    return SkillCard(id=name, **{**values, "queries": ("{entity} wed",), **fields})  # type: ignore[arg-type]


def toy_world(passages: Sequence[Passage] = PASSAGES, verifier: ToyVerifier | None = None) -> World:
    targets = tuple(Target(f"t{i}", passage.title, 1) for i, passage in enumerate(passages))
    return World(
        name="toy",
        fingerprint="toy",
        corpus=ToyCorpus(passages),
        retriever=ToyRetriever(passages),
        verifier=verifier or ToyVerifier(),
        questions=(QUESTION,),
        targets=(TARGET, *targets),
    )
