"""A process that plays a fixed history on a bank, to be killed at any instant: python kill_worker.py BANK STEPS.

It goes on where the bank stands, and writes a line when it has begun, so that the killer knows when to strike.
"""

import sys

import numpy as np

from sesa_env.memory.bank import SkillBank
from sesa_env.memory.config import MemoryConfig
from sesa_env.types import Group
from tests.memory.helpers import RELATIONS, Teacher, card, question, right, wrong

CONFIG = MemoryConfig(cap=12, queue_size=9, consolidate_every=2, consolidate_min=2, consolidate_max=4, evict_after=2)


def groups_of(step: int, bank: SkillBank) -> list[Group]:
    """The step's episodes: a function of the step and of the frozen bank, as in training."""
    generator = np.random.default_rng(step)
    groups = []
    for _ in range(3):
        asked = question(int(generator.integers(40)), RELATIONS[int(generator.integers(len(RELATIONS)))])
        shown = [hit.card.id for hit in bank.snapshot().retrieve([asked.text])[0]]
        groups.append(Group(asked, tuple((right if generator.random() < 0.4 else wrong)(*shown) for _ in range(2))))
    return groups


def play(path: str, steps: int) -> str:
    """Plays what is missing and returns the bank's digest."""
    with SkillBank.open(path, CONFIG) as bank:
        bank.prime([card(relation, f"seed-{relation}") for relation in RELATIONS[:2]])
        sys.stdout.write("begun\n")
        sys.stdout.flush()
        for step in range(max(bank.last_step, 1), steps + 1):
            bank.commit(step, groups_of(step, bank))
            bank.consolidate(step, Teacher())
        return bank.digest()


if __name__ == "__main__":
    sys.stdout.write(play(sys.argv[1], int(sys.argv[2])) + "\n")
