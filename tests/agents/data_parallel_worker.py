"""Run under torchrun: each process updates from its share of one batch and writes what came of it."""

import sys
from pathlib import Path

import torch
from accelerate import Accelerator

from agents.learner import Learner, LearnerConfig
from tests.agents.learning import Seat, llama, on_policy, samples, weights

CASES = {
    "grpo": {"algorithm": "grpo", "kl": 0.05, "entropy": 0.01},
    "dr_grpo": {"algorithm": "dr_grpo"},
    "reinforce": {"algorithm": "reinforce", "aggregation": "sequence"},
    "reinforce_moving": {"algorithm": "reinforce_moving"},
    "reinforce++": {"algorithm": "reinforce++", "kl": 0.1},
}
# The first process's samples of 12 in each batch: groups of 4 are cut apart; once it has none, once all.
SHARES = (9, 3, 0, 12)


def batches():
    """On-policy enough that ratios differ from 1 a little."""
    return [on_policy(llama(noise=0.01), samples(seed=seed)) for seed in range(len(SHARES))]


def train(case, accelerator=None, rank=None):
    """Metrics of each update, and the weights after the last."""
    # A process's weights of its own at the start: the first one's are to count.
    seat = Seat(llama(seed=rank or 0))
    options = {"learning_rate": 1e-4, "max_grad_norm": 0.3, "mini_batches": 2, "epochs": 2, "micro_tokens": 60}
    learner = Learner(seat, LearnerConfig(**options, **CASES[case]), 0, accelerator, Seat(llama(noise=0.05)))
    metrics = []
    for share, made in zip(SHARES, batches(), strict=True):
        metrics.append(learner.update(made if rank is None else made[share:] if rank else made[:share]))
    return metrics, weights(seat.model)


if __name__ == "__main__":
    accelerator = Accelerator(cpu=True)
    rank = accelerator.process_index
    torch.save({case: train(case, accelerator, rank) for case in CASES}, Path(sys.argv[1]) / f"{rank}.pt")
    accelerator.end_training()
