"""Directories as finished runs of agents.selfplay leave them, around a small random model that learnt nothing."""

import json
from functools import cache
from pathlib import Path

from agents.policy import Policy
from agents.prompts import load_style
from agents.selfplay.directory import open_directory
from agents.selfplay.finished import mark_finished
from agents.selfplay.presets import configure
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.prime import prime
from tests.agents.toy_policy import byte_tokenizer, toy_model

WORLD = {"size": 600, "n_targets": 20}
SAMPLING = {"turn_tokens": 8, "tokens": 2048}


@cache
def policy(seed: int) -> Policy:
    tokenizer = byte_tokenizer()
    model = toy_model(tokenizer, seed)
    model.config.max_position_embeddings = 4096
    return Policy("toy", model, tokenizer, load_style("tags"))


def write_start(directory: Path) -> Path:
    """The start policy."""
    policy(0).save(directory)
    return directory


def write_run(root: Path, arm: str, seed: int, start: Path, updates: int = 2, **settings: object) -> Path:
    """One finished run."""
    fixed = {"world_options": WORLD, "solver": {"sampling": SAMPLING}, "rules": {"max_turns": 3, "top_k": 2}}
    config = configure("quick", arm, model=str(start), updates=updates, seed=seed, settings=[fixed, settings])
    open_directory(config, root, resume=False)
    rows = [{"step": step, "questions": 16, "rollouts": 96} for step in range(config.updates)]
    (root / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    policy(1 + seed).save(root / "solver")
    if config.skills.enabled:
        with SkillBank.open(root / "bank.sqlite", config.skills.bank, run="selfplay") as bank:
            prime(bank)
    mark_finished(root, config.updates)
    return root
