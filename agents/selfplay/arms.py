"""The arms of the comparison as named configurations, and the budget that all of them share.

An arm is a mapping of fields over a preset. What it leaves out is the preset's: two arms differ in what is written here alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agents.selfplay.config import RunConfig
from sesa_env.errors import ConfigError

Overrides = Mapping[str, Any]

_READY: Overrides = {"challenger": {"train": False}}

ROLES = (
    ("reinforce", "grpo"),
    ("reinforce", "reinforce"),
    ("reinforce++", "grpo"),
    ("grpo", "reinforce"),
    ("grpo", "reinforce++"),
    ("grpo", "grpo"),
)
"""Pairs of algorithms, the Challenger's first, as the paper compares them."""


def _roles(challenger: str, solver: str) -> Overrides:
    """A Challenger that learns by GRPO needs groups: four rollouts of each target."""
    grouped = {"baseline": "target", "per_target": 4} if challenger == "grpo" else {}
    return {
        "questions": grouped,
        "challenger": {"learner": {"algorithm": challenger}},
        "solver": {"learner": {"algorithm": solver}},
    }


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
    # SkillRL: a finite fixed question set (`questions.fixed`) of two families only, one hop and two hops, skills for the
    # categories that go badly, nothing evicted.
    "skillrl": {
        **_READY,
        "questions": {"source": "fixed", "families": {"single": 0.5, "bridge2": 0.5}},
        "skills": {"distillation": "skillrl", "bank": {"evict_after": None}},
    },
    # An upper reference, not a baseline: ever new questions, as many of each of the seven benchmarks that the evaluation asks.
    "oracle": {**_READY, "questions": {"source": "stream"}, "skills": {"enabled": False}},
    # The Challenger reads the bank as well.
    "leak": {"skills": {"leak": True}},
    # Ablations that the paper does not show (its section 7).
    "sesa-no-deduplication": {"skills": {"bank": {"duplicate_cosine": 2.0, "tombstone_steps": 0}}},
    "sesa-no-eviction": {"skills": {"bank": {"evict_after": None}}},
    "sesa-no-floor": {"skills": {"bank": {"similarity_floor": -1.0}}},
    "sesa-shared": {"shared": True},
    # Controls: cards of no use by their content, in training as at evaluation; the hand-written cards alone.
    "sesa-shuffled": {"skills": {"placebo": "shuffled"}},
    "sesa-irrelevant": {"skills": {"placebo": "irrelevant"}},
    "sesa-seeds": {"skills": {"distillation": "none", "bootstrap": 0}},
    # The algorithms of Challenger and Solver (the paper's table of SSP's, section 8).
    **{f"roles-{poser}-{solver}": _roles(poser, solver) for poser, solver in ROLES},
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
    """Returns what a run may spend on training its Solver: updates, questions, and rollouts of them.

    What the bootstrap phase plays comes on top: see `before_training`.
    """
    questions = config.updates * config.questions.per_update
    return {"updates": config.updates, "questions": questions, "rollouts": questions * config.rules.group_size}


def before_training(config: RunConfig) -> dict[str, int]:
    """Returns what the bootstrap phase of a run with a memory may play before the first update, to mine cards from.

    With a Challenger it is fewer: only the valid ones of so many proposals are played.
    """
    questions = config.skills.bootstrap if config.skills.enabled else 0
    return {"questions": questions, "rollouts": questions * config.rules.group_size}


def check_equal_budgets(configs: Sequence[RunConfig]) -> dict[str, int]:
    """Makes sure that arms which are to be compared spend the same. The arm `base` trains nothing and is left out.

    Those with a bootstrap phase may spend the same in it; those without a memory, or whose bank begins empty, have none.

    Returns:
        The common budget.

    Raises:
        ConfigError: two of them differ; the message says where.
    """
    spent = {config.arm: budget(config) for config in configs if config.arm != "base"}
    if len({tuple(sorted(one.items())) for one in spent.values()}) > 1:
        raise ConfigError(f"arms that are compared need one budget of updates, questions and rollouts; got {spent}")
    bootstraps = {config.arm: one for config in configs if (one := before_training(config))["questions"]}
    if len({tuple(sorted(one.items())) for one in bootstraps.values()}) > 1:
        raise ConfigError(f"arms that are compared need one bootstrap phase, or none; got {bootstraps}")
    return next(iter(spent.values()), {})


def spent(rows: Sequence[Mapping[str, Any]], bootstrap: Mapping[str, Any] | None = None) -> dict[str, int]:
    """Adds up what a run has spent by its metrics: updates, questions and rollouts, searches and tokens of both seats.

    Args:
        rows: its metrics.
        bootstrap: the row of its bootstrap phase, which all sums but the updates include; `bootstrap_questions` and
            `bootstrap_rollouts` are its part of them. None where there was none.
    """
    before = dict(bootstrap or {})
    names = ("questions", "rollouts", "proposed", "solver_searches", "challenger_searches")
    tokens = tuple(f"{role}_tokens_{kind}" for role in ("solver", "challenger") for kind in ("sampled", "read"))
    total = {name: sum(row.get(name, 0) for row in (before, *rows)) for name in (*names, *tokens)}
    part = {f"bootstrap_{name}": before.get(name, 0) for name in ("questions", "rollouts")}
    return {"updates": len(rows), **total, **part}
