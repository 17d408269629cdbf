"""What a game is made of: the numbers in its rules, and all that changes during an episode."""

from dataclasses import dataclass, field
from typing import NamedTuple

from sesa_env.errors import ConfigError
from sesa_env.memory.base import CardHit
from sesa_env.rewards import RewardConfig
from sesa_env.types import Attempt, Passage, Question, Role, SearchCall, Target
from sesa_env.validity import ValidityConfig


@dataclass(frozen=True, slots=True)
class GameConfig:
    """The numbers in the rules; the defaults are the paper's where it gives them (sections 1, 3 and 6)."""

    group_size: int = 5
    """G: Solver attempts at each question."""
    max_turns: int = 10
    """Turns of one Solver attempt; without an answer it is then truncated."""
    challenger_max_turns: int = 10
    """Turns of the Challenger; without a question it is then rejected."""
    max_searches: int = 9
    """Searches of one seat; once they are spent it must answer or pose."""
    top_k: int = 3
    """Passages shown for each search."""
    max_strikes: int = 3
    """A seat's malformed turns until it forfeits."""
    max_action_chars: int = 20_000
    """A longer turn is malformed."""
    max_passage_chars: int = 2_000
    """A longer passage is cut when shown."""
    reward: RewardConfig = field(default_factory=RewardConfig)
    """Which rewards, and their numbers."""
    validity: ValidityConfig = field(default_factory=ValidityConfig)
    """The numbers in the Challenger's filters."""

    def __post_init__(self) -> None:
        """Refuses numbers that no game can be played with."""
        lowest = {"max_searches": 0}
        for name in ("group_size", "max_turns", "challenger_max_turns", "max_searches", "top_k", "max_strikes"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < lowest.get(name, 1):
                raise ConfigError(f"{name}: expected a whole number of at least {lowest.get(name, 1)}; got {value!r}")
        for name in ("max_action_chars", "max_passage_chars"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise ConfigError(f"{name}: expected a whole number of at least 1; got {getattr(self, name)!r}")


class Turn(NamedTuple):
    """One turn as it happened.

    Attributes:
        actor: who acted.
        text: what it wrote.
        observation: what the next actor is shown: the answer to this turn, the next seat's prompt, or "" at the end.
        reward: what the actor earned by this turn.
        event: "search", "answer", "question", "malformed", "forfeit", "over_budget", "search_failed", "out_of_turns" or the
            reason why the Challenger's question was rejected, as "rejected:REASON".
        terminated: the episode is over by the rules.
        truncated: the episode is over because a seat ran out of turns.
    """

    actor: Role
    text: str
    observation: str
    reward: float
    event: str
    terminated: bool
    truncated: bool


Outcome = Turn
"""What `SearchGame.act` returns: the turn, as the transcript keeps it."""


@dataclass(slots=True)
class Seat:
    """One seat's part of an episode: a Challenger's turn at posing, or one Solver attempt.

    Its turns are those of the transcript from `first_turn` on.
    """

    role: Role
    prompt: str
    turns_left: int
    searches_left: int
    first_turn: int = 0
    searches: list[SearchCall] = field(default_factory=list)
    strikes: int = 0
    failed_searches: int = 0


@dataclass(slots=True)
class GameState:
    """All that changes during an episode: plain data, so a deep copy is a snapshot and pickles across processes."""

    task: Target | Question
    seed: int
    noise: tuple[Passage, ...] | None
    seat: Seat | None
    question: Question | None = None
    cards: tuple[CardHit, ...] = ()
    attempts: list[Attempt] = field(default_factory=list)
    transcript: list[Turn] = field(default_factory=list)
    evidence: tuple[Passage, ...] = ()
    reject_reason: str = ""
    rewards: dict[str, dict[str, float]] = field(default_factory=dict)
    pending: tuple[str, str] | None = None
