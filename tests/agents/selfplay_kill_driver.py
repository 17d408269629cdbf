"""Kills runs of self-play at random instants and compares what they end with: a process of its own, so that it may fork.

    python selfplay_kill_driver.py OUT KILLS SEED ARM

The world is made once; each run is a fork that is sent SIGKILL after a random time and resumed in the next fork. A run that
ends is compared with an undisturbed one, and another is begun. The last line printed is a JSON summary.
"""

import hashlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from agents.selfplay.__main__ import train
from agents.selfplay.checkpoint import BANK
from agents.selfplay.config import RunConfig
from agents.selfplay.metrics import read_metrics, reproducible
from agents.selfplay.posed import POSED
from agents.selfplay.presets import configure
from sesa_env.memory.bank import SkillBank
from sesa_env.worlds import make_world

UPDATES = 7
# So few targets and ready questions that steps stand across the border of two epochs of them, and others begin one: `epochs`.
SETTINGS: dict[str, Any] = {
    "world_options": {"seed": 1000, "size": 600, "n_targets": 6},
    "rules": {"group_size": 3},
    "questions": {"per_update": 4, "pool_reset": 3, "duplicate_steps": 2, "fixed": 10},
    "skills": {
        "bootstrap": 6,
        "mined": 2,
        "carry_over": 0.5,
        "weak_below": 1.0,
        "weak_every": 2,
        "bank": {"consolidate_every": 2, "consolidate_min": 1, "evict_after": 1, "duplicate_cosine": 0.99},
    },
    "solver": {"learner": {"mini_batches": 2, "kl": 0.01, "warmup_steps": 4}},
    "challenger": {"learner": {"algorithm": "reinforce_moving", "entropy": 0.01}},
    "guard": {"on_collapse": "recover", "valid_rate": 0.3, "patience": 2},
    "checkpoint_every": 2,
    "tensorboard": False,
}


def config(arm: str) -> RunConfig:
    return configure("quick", arm, updates=UPDATES, seed=3, settings=[SETTINGS])


def epochs(settings: RunConfig) -> dict[str, list[int]]:
    """The steps that stand across the border of two epochs of what is drawn from, and those that begin one but the first."""
    questions = settings.questions
    size, count = questions.fixed, questions.per_update
    if questions.source == "challenger":  # as many rollouts as it may make draw targets, whose weights repeat them
        targets, weights = make_world(settings.world, **settings.world_options).targets, questions.hops
        size, count = sum(weights[target.hops - 1] for target in targets), questions.at_most
    starts = {step: step * count % size for step in range(1, settings.updates)}
    return {
        "across": [step for step, start in starts.items() if start + count > size],
        "begun": [step for step, start in starts.items() if not start],
    }


def digest(out: Path) -> dict[str, str]:
    """All that equal runs must agree in: metrics, the sample of proposals, weights of the seats, the bank."""
    rows = json.dumps([reproducible(row) for row in read_metrics(out)], sort_keys=True)
    found = {"metrics": hashlib.sha256(rows.encode()).hexdigest()}
    if (out / POSED).exists():
        found["posed"] = hashlib.sha256((out / POSED).read_bytes()).hexdigest()
    for path in sorted(out.glob("*/model.safetensors")):
        found[path.parent.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    with SkillBank.open(out / BANK, run="selfplay", create=False) as bank:
        found["bank"] = bank.digest()
    return found


def fork(action: Callable[[], object]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        action()
    except BaseException as error:  # a forked child must end here, whatever happens, and not run its parent's code
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        os._exit(1)
    os._exit(0)


def main(out: Path, kills: int, seed: int, arm: str) -> None:
    torch.set_num_threads(1)
    generator = random.Random(seed)
    settings = config(arm)
    found_epochs = epochs(settings)  # makes the world, which every fork then has
    assert all(found_epochs.values()), f"no step stands across the border of two epochs, or none begins one: {found_epochs}"
    start = time.monotonic()
    _, status = os.waitpid(fork(lambda: train(settings, out / "undisturbed")), 0)
    assert status == 0, "the undisturbed run failed"
    length = time.monotonic() - start
    expected = digest(out / "undisturbed")
    killed, finished, steps = 0, 0, set()
    while killed < kills or not finished:
        run = out / f"run{finished}"
        child = fork(lambda run=run: train(settings, run, resume=True))
        if killed < kills:
            time.sleep(generator.uniform(0.0, length))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            killed += 1
            steps.add(len(read_metrics(run)) if (run / "metrics.jsonl").exists() else -1)
            continue
        assert os.WEXITSTATUS(status) == 0, "the resumed run failed"
        found = digest(run)
        assert found == expected, (
            f"differs from an undisturbed run in {[name for name in found if found[name] != expected[name]]}"
        )
        finished += 1
    rows = read_metrics(out / "undisturbed")
    summary = {
        "killed": killed,
        "finished": finished,
        "steps_seen": sorted(steps),
        "epochs": found_epochs,
        "births": sum(row["births"] for row in rows),
        "learnt": {role: sum(row.get(f"{role}_steps", 0) for row in rows) for role in ("solver", "challenger")},
    }
    sys.stdout.write(json.dumps(summary) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
