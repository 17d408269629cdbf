"""The plain data that crosses every boundary: frozen, picklable, and JSON after `dataclasses.asdict`."""

from dataclasses import dataclass, field
from enum import StrEnum


class Role(StrEnum):
    """The two seats of the game (paper, section 1)."""

    CHALLENGER = "challenger"
    SOLVER = "solver"


ROLE_NAMES = {role: role.value for role in Role}
"""The roles as plain strings: looking one up costs a fraction of `role.value`, which runs in every turn."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage of a corpus, or one hit of a search.

    Attributes:
        id: unique within its corpus.
        title: the page's title, without quotes; titles need not be unique.
        text: the passage itself, as stored: raw and unescaped. `protocol.render_information` escapes it.
        score: the retriever's score; 0.0 for a passage that no search returned. Takes no part in comparison.
    """

    id: str
    title: str
    text: str
    score: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Target:
    """What the Challenger is given: the answer to reach, and over how many hops (paper, section 1).

    Attributes:
        id: unique within its pool.
        answer: the target answer.
        hops: 1, 2 or 3.
        aliases: other accepted spellings of the answer.
    """

    id: str
    answer: str
    hops: int
    aliases: tuple[str, ...] = ()

    @property
    def answers(self) -> tuple[str, ...]:
        """The answer and its aliases, the answer first."""
        return (self.answer, *self.aliases)


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its gold answers.

    Attributes:
        id: unique within its source.
        text: the question as the Solver reads it.
        answers: accepted answers, the canonical one first; at least one.
        hops: how many facts must be chained.
        family: the kind of question, for example "bridge" or "comparison"; "" if unknown.
        evidence: ids of the passages that state the facts needed, in the order of the chain; () if unknown.
        entities: names in the question or on its chain that no Skill Card may contain; () if unknown.
        source: the benchmark or the player it came from, for example "miniwiki/nq".
    """

    id: str
    text: str
    answers: tuple[str, ...]
    hops: int = 1
    family: str = ""
    evidence: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verifier found a question to ask for.

    Attributes:
        answers: the accepted answers, the canonical one first; at least one.
        evidence: passage ids, as in `Question`.
        entities: names, as in `Question`.
        hops: how many facts are chained; 0 if unknown.
        family: as in `Question`.
    """

    answers: tuple[str, ...]
    evidence: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    hops: int = 0
    family: str = ""


@dataclass(frozen=True, slots=True)
class SearchCall:
    """One search that a player made.

    Attributes:
        query: the query as written.
        passages: what came back, best first.
    """

    query: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one Solver episode leaves behind.

    Attributes:
        prediction: the final answer, "" if none was given.
        correct: exact match against the question's answers.
        malformed: the episode ended by forfeit or without any answer, so it says nothing about the cards it was given.
        end: how it ended: "answered", "forfeit" (too many malformed turns) or "out_of_turns".
        texts: what the Solver wrote, turn by turn.
        searches: the searches made, in order.
        cards: (card id, similarity) of each Skill Card shown, best first; () in Off mode.
        failed_searches: searches that could not be carried out; an attempt with any says nothing about the player.
    """

    prediction: str
    correct: bool
    malformed: bool
    end: str = "answered"
    texts: tuple[str, ...] = ()
    searches: tuple[SearchCall, ...] = ()
    cards: tuple[tuple[str, float], ...] = ()
    failed_searches: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """A question and the G Solver episodes that played it (paper, section 1).

    Attributes:
        question: the question.
        attempts: its episodes; at least one.
        evidence: the passages behind `question.evidence`, in its order, resolved by whoever holds the corpus.
    """

    question: Question
    attempts: tuple[Attempt, ...]
    evidence: tuple[Passage, ...] = ()

    @property
    def solve_rate(self) -> float:
        """The share of right attempts, p in the paper's section 2, in [0, 1]."""
        return sum(attempt.correct for attempt in self.attempts) / len(self.attempts)
