"""What a skill memory is: cards, frozen snapshots to read from, one commit a step to write with (paper, section 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from sesa_env.types import Attempt, Group, Passage, Question


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a card came from.

    Attributes:
        origin: "seed" (written by hand), "mined" (bootstrap phase), "distilled", or "imported".
        question_keys: keys (`memory.card.question_key`) of the questions it was distilled from: it is never shown for them.
        failure: id of the failure record it was distilled from, "" if none.
        step: the training step of its consolidation, -1 if none.
        run: the run that wrote it, "" if none.
        teacher: name of the distiller that wrote it, "" if none.
    """

    origin: str = "imported"
    question_keys: tuple[str, ...] = ()
    failure: str = ""
    step: int = -1
    run: str = ""
    teacher: str = ""


@dataclass(frozen=True, slots=True)
class SkillCard:
    """A Skill Card s = (u, c, a, z, m), readable by a person (paper, section 4).

    Attributes:
        id: unique within its bank.
        description: u, what the skill is, in a sentence or two.
        trigger: c, when to use it: words and phrases of the questions that it fits.
        avoid: a, what not to do.
        queries: z, query templates with slots in braces: {entity} is the name that the search starts from, {bridge} a name
            found by an earlier search.
        permanent: seeds are permanent: never evicted.
        retrieved: m, how many questions it was shown for; the episodes of a group share one retrieval.
        helpful: m, summed credit of right episodes that were shown it.
        hurt: m, summed credit of substantive wrong episodes that were shown it.
        provenance: where it came from.
    """

    id: str
    description: str
    trigger: str
    avoid: str
    queries: tuple[str, ...]
    permanent: bool = False
    retrieved: int = 0
    helpful: float = 0.0
    hurt: float = 0.0
    provenance: Provenance = field(default_factory=Provenance)


@dataclass(frozen=True, slots=True)
class CardDraft:
    """What a distiller writes: a card before the bank has given it an id, a provenance and counters."""

    description: str
    trigger: str
    avoid: str
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CardHit:
    """A card retrieved for a question, with the cosine similarity that found it, in [-1, 1]."""

    card: SkillCard
    similarity: float


@dataclass(frozen=True, slots=True)
class Failure:
    """An informative failure waiting for a teacher (paper, section 4).

    Attributes:
        id: unique within its bank.
        question: the question, with its answers.
        attempt: the failed episode: prediction, searches with their passages, cards shown.
        evidence: the passages that hold the answer, in the order of the chain; () if unknown.
        step: the training step at which it failed.
        repeats: how often this question failed at earlier steps.
    """

    id: str
    question: Question
    attempt: Attempt
    evidence: tuple[Passage, ...]
    step: int
    repeats: int = 0


class Distiller(Protocol):
    """Writes cards from failures: a rule-based one or a teacher model."""

    @property
    def name(self) -> str:
        """What each card's provenance will call the teacher."""
        ...

    def distil(self, failures: Sequence[Failure], cards: Mapping[str, SkillCard]) -> list[list[CardDraft]]:
        """Writes cards for a batch of failures.

        Args:
            failures: what failed; at most 30 (paper, section 4).
            cards: the cards that were shown in vain, by id; what they missed must be addressed.

        Returns:
            For each failure, in order, the drafts that it gave rise to; [] when it teaches nothing.

        Raises:
            TeacherError: the teacher could not answer. The failures stay in the queue.
        """
        ...


@dataclass(frozen=True, slots=True)
class CommitReport:
    """What one commit changed: failures queued, cards credited, cards evicted (ids)."""

    queued: int = 0
    credited: int = 0
    evicted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsolidationReport:
    """What one consolidation did.

    Attributes:
        due: False when it was not time yet, or too little was pending: nothing else happened then.
        failures: how many failures the teacher was given.
        added: ids of the new cards.
        rejected: number of drafts refused, by reason ("duplicate", "tombstone", "entity", "answer", "format").
        evicted: ids of the cards evicted to keep the cap.
    """

    due: bool = False
    failures: int = 0
    added: tuple[str, ...] = ()
    rejected: Mapping[str, int] = field(default_factory=dict)
    evicted: tuple[str, ...] = ()


@runtime_checkable
class MemorySnapshot(Protocol):
    """An immutable view of a memory: the same question always gets the same cards."""

    @property
    def fingerprint(self) -> str:
        """A digest of all that retrieval depends on."""
        ...

    def retrieve(self, questions: Sequence[str]) -> list[list[CardHit]]:
        """Finds the cards to show for each question, best first; [] where the memory abstains."""
        ...


@runtime_checkable
class SkillMemory(Protocol):
    """A skill memory. All reads during a batch go to one snapshot; all writes happen at the step boundary."""

    def snapshot(self) -> MemorySnapshot:
        """Returns the memory as it is now, frozen."""
        ...

    def commit(self, step: int, groups: Sequence[Group]) -> CommitReport:
        """Takes in one step's results, in one transaction: counters, failure queue, eviction.

        Committing a step again (after a crash between the commit and its caller's own bookkeeping) changes nothing.
        """
        ...

    def consolidate(self, step: int, distiller: Distiller) -> ConsolidationReport:
        """Lets `distiller` turn pending failures into cards, if it is time, and commits them in one transaction."""
        ...
