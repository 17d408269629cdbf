"""One update's row of metrics: what was posed, how it was solved, what both learners and the bank did."""

import resource
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from agents.rollout import Rollout
from agents.selfplay.config import RunConfig
from agents.selfplay.families import effective_number, kind_of
from agents.selfplay.held_out import HELD_OUT
from agents.selfplay.keeper import Boundary
from agents.selfplay.posing import DUPLICATE, Proposal, Slot
from agents.selfplay.solving import Solved
from sesa_env.memory.base import CardHit
from sesa_env.validity import REJECT_REASONS
from sesa_env.worlds import World

_DIGITS = 10  # far below what differs between two steps, far above what JSON would cost


def posing_row(
    world: World, proposals: Sequence[Proposal], slots: Sequence[Slot], rewards: Sequence[float | None]
) -> dict[str, Any]:
    """Says what the Challenger posed, and what fills the batch."""
    reasons = Counter(item.reason for item in proposals if item.reason)
    posed = [item.posed.question for item in proposals if item.posed is not None]
    known = [reward for reward in rewards if reward is not None]
    return {
        "proposed": len(proposals),
        "valid": len(posed),
        "valid_rate": _share(len(posed), len(proposals)),
        "rejected": {reason: reasons[reason] for reason in (*REJECT_REASONS, HELD_OUT)},
        "duplicates": reasons[DUPLICATE],
        "replayed": sum(slot.proposal is None and not slot.ready for slot in slots),
        "ready": sum(slot.ready for slot in slots),
        "hops_asked": _mean([item.target.hops for item in proposals]),
        "hops_posed": _mean([question.hops for question in posed]),
        "effective_kinds": _rounded(effective_number(kind_of(world, question) for question in posed)),
        "challenger_reward": _mean(known),
        "challenger_searches": sum(item.searches for item in proposals),
        **_tokens("challenger", [item.rollout for item in proposals]),
    }


def solving_row(solved: Sequence[Solved], config: RunConfig) -> dict[str, Any]:
    """Says how the batch was solved."""
    rates = [rate for item in solved if (rate := item.solve_rate) is not None]
    attempts = [attempt for item in solved for attempt in item.attempts]
    size = config.rules.group_size
    bins = Counter(round(rate * size) for rate in rates)
    return {
        "questions": len(solved),
        "rollouts": len(attempts),
        "solve_rate": _mean(rates),
        "solve_rates": [bins[right] for right in range(size + 1)],
        "informative_groups": sum(0 < rate < 1 for rate in rates),
        "solve_rate_with_cards": _mean([attempt.correct for attempt in attempts if attempt.cards]),
        "solve_rate_without_cards": _mean([attempt.correct for attempt in attempts if not attempt.cards]),
        "hops": _mean([item.slot.posed.question.hops for item in solved]),
        "solver_reward": _mean([reward for item in solved for reward in item.rewards]),
        "malformed": sum(attempt.malformed for attempt in attempts),
        "unjudged": sum(len(item.unjudged) for item in solved),
        "void": len(attempts) - sum(len(item.counted) for item in solved),
        "solver_searches": sum(len(attempt.searches) for attempt in attempts),
        "cut": sum(rollout.cut for item in solved for rollout in item.rollouts),
        **_tokens("solver", [rollout for item in solved for rollout in item.rollouts]),
    }


def memory_row(stats: Mapping[str, Any], cards: Sequence[Sequence[CardHit]], boundary: Boundary) -> dict[str, Any]:
    """Says what the bank held when the step began, what was retrieved from it, and what the boundary changed."""
    hits = [hit.similarity for found in cards for hit in found]
    return {
        "cards": stats["cards"],
        "origins": stats["origins"],
        "pending": stats["pending"],
        "tombstones": stats["tombstones"],
        "never_retrieved": stats["never_retrieved"],
        "utility": _rounded(stats["helpful"] - stats["hurt"]),
        "hit_rate": _share(sum(bool(found) for found in cards), len(cards)),
        "similarity": _mean(hits),
        "queued": boundary.commit.queued,
        **boundary_row(boundary),
        "outages": int(bool(boundary.outage)),
    }


def boundary_row(boundary: Boundary) -> dict[str, Any]:
    """Says which cards a boundary brought, took, and would not have."""
    report = boundary.consolidation
    return {
        "births": len(report.added) if report else 0,
        "deaths": len(boundary.commit.evicted) + (len(report.evicted) if report else 0),
        "refused": dict(sorted(report.rejected.items())) if report else {},
    }


def learning_row(role: str, stats: Mapping[str, float]) -> dict[str, Any]:
    """Puts a learner's figures under its role's name."""
    return {f"{role}_{name}": value for name, value in sorted(stats.items())}


def machine_row() -> dict[str, Any]:
    """Returns the greatest memory that the process has used, in MiB, and where CUDA is in use that of its fullest device."""
    unit = 1024**2 if sys.platform == "darwin" else 1024  # the system counts bytes there, KiB elsewhere
    row = {"peak_memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)}
    # Not `is_available`: only where a policy is there already, since to ask a device for the first time takes up its memory.
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]  # torch ships it untyped
        most = max(torch.cuda.max_memory_allocated(device) for device in range(torch.cuda.device_count()))
        row["peak_device_memory_mib"] = round(most / 1024**2)
    return row


def _tokens(role: str, rollouts: Sequence[Rollout]) -> dict[str, int]:
    return {
        f"{role}_tokens_sampled": sum(sum(rollout.sampled) for rollout in rollouts),
        f"{role}_tokens_read": sum(len(rollout.ids) for rollout in rollouts),
    }


def _mean(values: Sequence[float]) -> float:
    return _rounded(sum(values) / len(values)) if values else 0.0


def _share(part: int, whole: int) -> float:
    return _rounded(part / whole) if whole else 0.0


def _rounded(value: float) -> float:
    return round(float(value), _DIGITS)
