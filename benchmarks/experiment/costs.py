"""What trainings cost."""

from collections.abc import Mapping, Sequence
from typing import Any


def spent(rows: Sequence[Mapping[str, Any]], bootstrap: Mapping[str, Any] | None = None) -> dict[str, float]:
    """Adds up what a training cost.

    Args:
        rows: its metrics.
        bootstrap: what its bootstrap phase played, in the terms of a row of metrics; None where there was none.

    Returns:
        Updates with their questions and rollouts, which are equal between arms by design; the rollouts of the bootstrap phase;
        searches and tokens, read and sampled, of both seats, with those of the bootstrap phase; seconds of the updates, which
        are the machine's and not reproducible.
    """
    before, kinds = bootstrap or {}, ("searches", "tokens_sampled", "tokens_read")
    names = [*(f"{seat}_{kind}" for seat in ("solver", "challenger") for kind in kinds), "rollouts", "questions", "step_s"]
    sums = {name: sum(row.get(name, 0) for row in rows) for name in names}
    whole = {name: sums[name] + before.get(name, 0) for name in names}
    return {
        "updates": len(rows),
        "questions": sums["questions"],
        "rollouts": sums["rollouts"],
        "bootstrap_rollouts": before.get("rollouts", 0),
        "searches": whole["solver_searches"] + whole["challenger_searches"],
        "tokens": sum(value for name, value in whole.items() if "tokens" in name),
        "seconds": sums["step_s"],
    }
