"""Named numbers: presets say how large a run is, profiles what a size of model needs; arms (`arms`) go over both."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agents.demonstrations import QUICK_RULES, QUICK_WORLD
from agents.pretrained import start_name
from agents.selfplay.arms import Overrides, arm_overrides, merged
from agents.selfplay.config import RunConfig
from sesa_env.errors import ConfigError
from sesa_env.plain import build

_QUICK: Overrides = {
    "model": "tiny",
    "updates": 200,
    # The language of tiny's warm start with all its offices, whose words it does not know: every kind of question counts
    # alike, so that two in three one-hop questions are about one. Two nouns for each relation, as it was taught: with one a
    # Challenger that says the other noun asks about nothing, and of its valid questions one in fifteen was about an office
    # instead of one in three. One sentence: with two, 24 of 59 fitting cards had the words of the other one and found nothing.
    "world_options": {
        **QUICK_WORLD,
        "size": 3000,
        "relations": 108,
        "phrasings": 2,
        "sentences": 1,
        "zipf": 0.0,
        "n_targets": 600,
        "n_questions": 0,
    },
    # An invalid question must cost: at 0, like a duplicate, the Challenger stops posing valid ones. Three searches: with four,
    # a Solver that knows no words finds most facts by trying.
    "rules": merged(asdict(QUICK_RULES), {"group_size": 6, "max_turns": 4, "max_searches": 3, "reward": {"invalid": -0.3}}),
    # The start policy's questions are valid one time in four: twice as many proposals as slots, and more of those it can do.
    # For a number of rollouts, many small updates teach the Solver more than few large ones, and cost little more.
    "questions": {
        "per_update": 8,
        "proposals": 2,
        "hops": (3, 2, 1),
        "duplicate_reward": 0.0,
        "repetition_penalty": 1.0,
        "repetition": "kind",
    },
    # At 5e-4 the weights learn a world of 120 relations in 100 updates, faster than failures become cards. Without a bonus for
    # entropy, groups that all failed or all succeeded ask for no gradient and need not be scored.
    "solver": {
        "learner": {"algorithm": "grpo", "learning_rate": 1e-4, "entropy": 0.0, "kl": 0.0, "score_all": False},
        "sampling": {"turn_tokens": 48, "tokens": 512},
    },
    # Gentler than the Solver: while few of its questions are valid, their rewards hardly differ. From a weak start policy a
    # bonus of .01 at 5e-4 drove its entropy from .8 to 2.9 in 30 updates and its valid rate down; so it stayed at .7.
    "challenger": {
        "learner": {"algorithm": "reinforce", "learning_rate": 2e-4, "entropy": 0.0, "kl": 0.0},
        "sampling": {"turn_tokens": 64, "tokens": 512},
    },
    # Under the paper's rule (uniform credit, after 3 retrievals) a Solver that is mostly wrong condemns every card: of 18
    # distilled in 24 updates 2 were left; 14 with credit relative to the rollouts without cards. After 8 retrievals, within 40,
    # that loses 1 % of cards that lift .1 to .45, and 98 % of those that lower .3 to .2 (binomial draws, G = 6, half withheld).
    # Of the fitting cards that were shown 95 % had a cosine of .25 or more, of others one in five: below it the bank abstains.
    "skills": {
        "card_dropout": 0.5,
        "bootstrap": 64,
        "mined": 20,
        "bank": {"credit": "relative", "evict_after": 8, "similarity_floor": 0.25},
    },
    "checkpoint_every": 20,
}

_PAPER_LEARNER: Overrides = {
    "algorithm": "grpo",
    "learning_rate": 1e-6,
    "warmup_steps": 5,
    "mini_batches": 2,
    "kl": 0.01,
    "clip_high": 0.285,
    "entropy": 0.0,
}

_PAPER_TOKENS: Overrides = {"prompt_tokens": 4096, "response_tokens": 8192, "tokens": 4096 + 8192}

PRESETS: Mapping[str, Overrides] = {
    # Minutes on one core.
    "quick": _QUICK,
    # A longer run on a larger world.
    "small": merged(_QUICK, {"updates": 400, "world_options": {"size": 6000, "n_targets": 1800}, "checkpoint_every": 50}),
    # The paper's numbers (section 8); what it does not give is this project's. The corpus is for the user to name: the paper's
    # 50,000 targets over Wikipedia are world="flashrag" with their directory and file of targets.
    "paper": {
        "model": "Qwen/Qwen3-4B",
        "updates": 150,
        "world_options": {"size": 200_000, "relations": 128, "n_targets": 50_000, "n_questions": 0},
        # The paper's rewards are 0 or 1 and nothing else.
        "rules": {"group_size": 5, "max_turns": 10, "challenger_max_turns": 10, "top_k": 3, "reward": {"malformed": 0.0}},
        "policy": {"dtype": "bfloat16", "gradient_checkpointing": True},
        # Critic-free GRPO for both seats. The Challenger's groups are the rollouts of one target; the paper does not give their
        # size: 4 divides the batch, the Solver's 5 does not.
        "questions": {
            "per_update": 256,
            "pool_reset": 10,
            "duplicate_reward": 0.0,
            "repetition_penalty": 0.0,
            "baseline": "target",
            "per_target": 4,
        },
        "solver": {
            "learner": _PAPER_LEARNER,
            "sampling": {"temperature": 1.0, "turn_tokens": 1024, **_PAPER_TOKENS},
        },
        "challenger": {
            "learner": _PAPER_LEARNER,
            "sampling": {"temperature": 0.9, "turn_tokens": 1024, **_PAPER_TOKENS},
        },
        # The paper's teacher (DeepSeek-v4-pro) and judge (Qwen2.5-32B-Instruct) need a server, which the user has to name, here
        # as for `benchmarks/run_all.py --preset paper`, which takes --judge too, for its evaluations:
        # --set skills.teacher=openai:MODEL@URL --set judge=openai:Qwen/Qwen2.5-32B-Instruct@URL
        "skills": {
            "bootstrap": 1024,
            "mined": 142,
            "card_dropout": 0.0,
            "carry_over": 0.0,
            "embedder": "intfloat/e5-base-v2",
        },
        "checkpoint_every": 10,
    },
}
"""Overrides of `RunConfig` by the preset's name."""

_SMALL_LLM: Overrides = {
    # An update has 16 rollouts and takes half a minute of a core, so this is a world in which a hundred teach something:
    # relations are stated in one way, few are common, and the one-hop questions are posed that the start policy can do.
    "world_options": {"relations": 40, "phrasings": 1, "zipf": 0.7},
    "questions": {"per_update": 4, "hops": (1, 0, 0)},
    "rules": {"group_size": 4},
    "solver": {
        "learner": {"learning_rate": 2e-5, "micro_tokens": 4096},
        "sampling": {"turn_tokens": 64, "tokens": 1536, "batch": 32},
    },
    "challenger": {
        "learner": {"learning_rate": 1e-5, "micro_tokens": 4096},
        "sampling": {"turn_tokens": 96, "tokens": 1536, "batch": 32},
    },
    "skills": {"bootstrap": 16, "bank": {"consolidate_min": 8}},
}

PROFILES: Mapping[str, Mapping[str, Overrides]] = {
    # Half a million parameters: what quick and small are written for.
    "tiny": {},
    # Some hundred million parameters on CPU cores, fine-tuned in full: smaller batches and steps.
    "llm": {
        "quick": merged(_SMALL_LLM, {"world_options": {"size": 2000}, "checkpoint_every": 10}),
        "small": merged(_SMALL_LLM, {"checkpoint_every": 10}),
    },
}
"""By the profile's name, overrides of each preset. `paper` is written for a language model already."""

_WORLD = RunConfig.world
"""The world of a preset that names none."""

_LARGE = 16 * 1024**2
"""Bytes of weights from which on a saved model is no `tiny`."""


def profile_of(model: str) -> str:
    """Returns the profile that fits a model: that of its name, or by the size of its saved weights."""
    if model == "tiny":
        return "tiny"
    weights = sum(path.stat().st_size for path in Path(model).glob("*.safetensors")) if Path(model).is_dir() else _LARGE
    return "tiny" if weights < _LARGE else "llm"


def configure(
    preset: str = "quick",
    arm: str = "sesa",
    *,
    model: str | None = None,
    profile: str | None = None,
    updates: int | None = None,
    seed: int = 0,
    settings: Sequence[Overrides] = (),
) -> RunConfig:
    """Puts a configuration together: the preset, over it the model's profile, the arm, and single settings.

    Args:
        preset: a name in `PRESETS`.
        arm: a name in `agents.selfplay.arms.ARMS`.
        model: the start policy, "smollm2" for that model's warm start; None for the preset's.
        profile: a name in `PROFILES`; None for the one that fits the model.
        updates: how many; None for the preset's number. The arm `base` makes none.
        seed: the run's seed, and the world's unless `settings` name another.
        settings: nested overrides, the last ones first in rank. One that names another world than the preset's drops the
            world's options of the preset and of the seed.

    Raises:
        ConfigError: an unknown name, or a value that does not fit.
    """
    if preset not in PRESETS:
        raise ConfigError(f"preset: expected one of {', '.join(PRESETS)}; got {preset!r}")
    name = start_name(model or str(PRESETS[preset]["model"]))
    kind = profile or profile_of(name)
    if kind not in PROFILES:
        raise ConfigError(f"profile: expected one of {', '.join(PROFILES)}; got {kind!r}")
    given: dict[str, Any] = {"preset": preset, "arm": arm, "model": name, "seed": seed, "world_options": {"seed": seed}}
    if updates is not None:
        given["updates"] = updates
    named = merged(PRESETS[preset], PROFILES[kind].get(preset, {}), given, arm_overrides(arm))
    asked = merged(*settings)
    if asked.get("world", _WORLD) != named.get("world", _WORLD):
        named["world_options"] = {}
    return build(RunConfig, merged(named, asked), "configuration")


def parse_setting(text: str) -> dict[str, Any]:
    """Reads `FIELD=JSON`, dotted names for nested fields; what is no JSON is taken as a string.

    Raises:
        ConfigError: it is not of that form.
    """
    name, given, value = text.partition("=")
    if not given or not name:
        raise ConfigError(f"--set: expected FIELD=JSON, for example questions.per_update=8; got {text!r}")
    try:
        read = json.loads(value)
    except ValueError:
        read = value
    for part in reversed(name.split(".")):
        read = {part: read}
    return dict(read)
