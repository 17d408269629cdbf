"""What trainings cost."""

from collections.abc import Mapping, Sequence
from typing import Any


def spent(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Adds up what a training cost: updates, rollouts, searches, tokens of both seats, and seconds of its steps.

    Seconds are of this machine and are not reproducible; all else is.
    """
    kinds = ("searches", "tokens_sampled", "tokens_read")
    names = [*(f"{seat}_{kind}" for seat in ("solver", "challenger") for kind in kinds), "rollouts", "questions", "step_s"]
    sums = {name: sum(row.get(name, 0) for row in rows) for name in names}
    return {
        "updates": len(rows),
        "questions": sums["questions"],
        "rollouts": sums["rollouts"],
        "searches": sums["solver_searches"] + sums["challenger_searches"],
        "tokens": sum(value for name, value in sums.items() if "tokens" in name),
        "seconds": sums["step_s"],
    }
