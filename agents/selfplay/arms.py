"""The arms of the comparison as named configurations, and the budget that all of them share.

An arm is a mapping of fields over a preset. What it leaves out is the preset's: two arms differ in what is written here alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agents.selfplay.config import RunConfig
from sesa_env.errors import ConfigError

Overrides = Mapping[str, Any]

_READY: Overrides = {"challenger": {"train": False}}

ARMS: Mapping[str, Overrides] = {
    # The start policy, evaluated with and without the primed bank.
    "base": {"updates": 0},
    # SSP: the harder the question the better, no memory (paper, section 2).
    "ssp": {"rules": {"reward": {"challenger": "one_minus_p"}}, "skills": {"enabled": False}},
    # Frontier shaping alone: what of SESA's gain is not the memory's.
    "shaping-only": {"skills": {"enabled": False}},
    "sesa": {},
    # The paper's ablations (section 6).
    "sesa-no-distillation": {"skills": {"distillation": "none"}},
    "sesa-no-shaping": {"rules": {"reward": {"challenger": "one_minus_p"}}},
    "sesa-no-priming": {"skills": {"primed": False, "bootstrap": 0}},
    # Not in the paper: what succeeds with a card is also taught without it.
    "sesa-carryover": {"skills": {"carry_over": 0.5}},
    # SkillRL: a finite fixed question set of fewer families, skills for the categories that go badly, nothing evicted.
    "skillrl": {
        **_READY,
        "questions": {"source": "fixed", "families": {"single": 0.5, "bridge2": 0.5}},
        "skills": {"distillation": "skillrl", "bank": {"evict_after": None}},
    },
    # An upper reference, not a baseline: ever new questions of all the families that the evaluation asks.
    "oracle": {**_READY, "questions": {"source": "stream"}, "skills": {"enabled": False}},
    # The Challenger reads the bank as well.
    "leak": {"skills": {"leak": True}},
}
"""Overrides by the arm's name."""


def merged(*layers: Overrides) -> dict[str, Any]:
    """Merges nested mappings, later ones over earlier ones; what is no mapping is replaced."""
    result: dict[str, Any] = {}
    for layer in layers:
        for name, value in layer.items():
            old = result.get(name)
            result[name] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return result


def arm_overrides(name: str) -> Overrides:
    """Looks an arm up.

    Raises:
        ConfigError: there is no such arm.
    """
    if name not in ARMS:
        raise ConfigError(f"arm: expected one of {', '.join(ARMS)}; got {name!r}")
    return ARMS[name]


def budget(config: RunConfig) -> dict[str, int]:
    """Returns what a run may spend on training its Solver: updates, questions, and rollouts of them."""
    questions = config.updates * config.questions.per_update
    return {"updates": config.updates, "questions": questions, "rollouts": questions * config.rules.group_size}


def check_equal_budgets(configs: Sequence[RunConfig]) -> dict[str, int]:
    """Makes sure that arms which are to be compared spend the same. The arm `base` trains nothing and is left out.

    Returns:
        The common budget.

    Raises:
        ConfigError: two of them differ; the message says where.
    """
    spent = {config.arm: budget(config) for config in configs if config.arm != "base"}
    if len({tuple(sorted(one.items())) for one in spent.values()}) > 1:
        raise ConfigError(f"arms that are compared need one budget of updates, questions and rollouts; got {spent}")
    return next(iter(spent.values()), {})


def spent(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Adds up what a run has spent by its metrics: updates, questions and rollouts, searches and tokens of both seats."""
    names = ("questions", "rollouts", "proposed", "solver_searches", "challenger_searches")
    tokens = tuple(f"{role}_tokens_{kind}" for role in ("solver", "challenger") for kind in ("sampled", "read"))
    return {"updates": len(rows)} | {name: sum(row.get(name, 0) for row in rows) for name in (*names, *tokens)}
