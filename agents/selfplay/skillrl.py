"""SkillRL's update rule: only categories that go badly get new skills, a few at a time (arXiv 2602.08234).

At fixed intervals the success rate of each question category since the last look is compared with a threshold; the teacher is
given failures of the categories below it, the worst first. Nothing is evicted for hurting: the arm's bank has `evict_after`
None, so only a bank that is full lets cards go, and of those never the ones that it was primed with.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from agents.selfplay.config import SkillConfig
from sesa_env.memory.base import Failure
from sesa_env.types import Group, Question


class WeakCategories:
    """Counts successes by category and chooses whose failures are worth a skill."""

    def __init__(self, config: SkillConfig) -> None:
        self._below = config.weak_below
        self._right: Counter[str] = Counter()
        self._played: Counter[str] = Counter()

    def count(self, groups: Sequence[Group]) -> None:
        """Counts a step's attempts."""
        for group in groups:
            self._right[category(group.question)] += sum(attempt.correct for attempt in group.attempts)
            self._played[category(group.question)] += len(group.attempts)

    def rates(self) -> dict[str, float]:
        """Returns the success rate of each category played since the last `restart`."""
        return {name: self._right[name] / played for name, played in sorted(self._played.items()) if played}

    def choose(self, pending: Sequence[Failure]) -> list[Failure]:
        """Returns the failures of weak categories, those of the weakest first, then in the order of the queue."""
        weak = {name: rate for name, rate in self.rates().items() if rate < self._below}
        chosen = [failure for failure in pending if category(failure.question) in weak]
        return sorted(chosen, key=lambda failure: weak[category(failure.question)])

    def restart(self) -> None:
        """Begins to count anew."""
        self._right.clear()
        self._played.clear()

    def state_dict(self) -> dict[str, Any]:
        """Returns the counts as JSON."""
        return {"right": dict(sorted(self._right.items())), "played": dict(sorted(self._played.items()))}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes over what `state_dict` returned."""
        self._right, self._played = Counter(state["right"]), Counter(state["played"])


def category(question: Question) -> str:
    """Returns the category that success is counted by: the question's family, else its number of hops."""
    return f"{question.family or 'any'}-{question.hops}"
