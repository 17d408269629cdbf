"""A language model, evaluated without a memory (Off) and with one (On), on the same questions.

python docs/examples/evaluate_model.py [MODEL [BANK]]

MODEL is "tiny", a transformers directory or a hub id such as Qwen/Qwen3-0.6B; BANK is the path of a bank, or "seeds".
"""

import sys

import numpy as np

from agents.demonstrations import QUICK_RULES, QUICK_WORLD
from agents.players import open_player
from benchmarks.stats import mcnemar
from sesa_env import make_world, play_questions
from sesa_env.errors import SesaError
from sesa_env.records import open_memory


def main(model: str = "tiny", bank: str = "seeds") -> None:
    # A small world in few words, for the smallest of models; leave QUICK_WORLD and QUICK_RULES out for a larger one.
    options = {**QUICK_WORLD, "families": {"single": 1.0}, "n_questions": 40, "n_targets": 0}
    world = make_world("miniwiki", seed=1000, split="test", **options)
    memories = {"Off": None, "On": open_memory(bank)}
    solver = open_player(f"model:{model}", world)

    right = {}
    for mode, memory in memories.items():
        attempts = play_questions(world, world.questions, solver, QUICK_RULES, memory)
        right[mode] = np.array([attempt.correct for attempt in attempts])
        shown = sum(bool(attempt.cards) for attempt in attempts)
        print(f"{mode}: {right[mode].sum()} of {len(attempts)} right; {shown} were shown cards")

    test = mcnemar(right["Off"], right["On"])  # paired: the same questions
    print(f"On gained {test.gained} and lost {test.lost}; p = {test.p:.2f}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:3])
    except SesaError as error:  # its message says what to do
        print(error, file=sys.stderr)
        sys.exit(2)
