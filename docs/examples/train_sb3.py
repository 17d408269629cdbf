"""MaskablePPO of sb3-contrib learns the Solver's seat, and plays questions about entities that it never met.

python docs/examples/train_sb3.py [STEPS]
"""

import sys

import gymnasium
import torch
from sb3_contrib import MaskablePPO

import sesa_env
from agents.numeric import RandomChoice
from agents.sb3 import Sb3Player

torch.set_num_threads(1)
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
world_options = {"seed": 1000, "size": 1000, "n_targets": 0}

env = gymnasium.make("SESA-SearchDiscrete-v0", corpus_options={**world_options, "split": "train", "n_questions": 1000})
model = MaskablePPO("MultiInputPolicy", env, n_steps=256, batch_size=256, learning_rate=1e-3, ent_coef=0.05, gamma=1.0, seed=0)
print(f"learning for {steps} steps; then 200 questions each for random choices and the agent", flush=True)
model.learn(steps)

# The agent as a player: a function of the view, in the text game, in lock-step.
world = sesa_env.make_world("miniwiki", **world_options, split="test", n_questions=200)
for name, player in (("random choices", RandomChoice()), ("the agent", Sb3Player(model, masked=True))):
    attempts = sesa_env.play_questions(world, world.questions, player)
    print(f"{name}: {sum(attempt.correct for attempt in attempts)} of {len(attempts)} right")
