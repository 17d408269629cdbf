"""TRL's GRPOTrainer trains the built-in tiny model in the Solver's seat, on the tag protocol, token by token.

python docs/examples/train_trl.py [STEPS]
"""

import sys
import tempfile
import warnings

from datasets import Dataset

from agents.demonstrations import QUICK_WORLD
from agents.prompts import load_style
from agents.tiny import load_tiny
from sesa_env.integrations.seats import SeatTasks
from sesa_env.integrations.trl import TagRollout, game_reward

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # TRL says of rollout_func that it may change
    from trl import GRPOConfig, GRPOTrainer

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2
model, tokenizer = load_tiny()
style = load_style("tiny")
tokenizer.chat_template = style.chat_template

world = {**QUICK_WORLD, "families": {"single": 1.0}, "n_questions": 200, "n_targets": 0}  # in the words that tiny knows
rollout = TagRollout(SeatTasks("solver", corpus="miniwiki", corpus_options=world), style, turn_tokens=48)
trainer = GRPOTrainer(
    model=model,
    processing_class=tokenizer,
    reward_funcs=game_reward,  # what the game paid
    rollout_func=rollout,  # plays the game
    train_dataset=Dataset.from_list(rollout.rows()),  # the world's questions, as prompts
    args=GRPOConfig(
        output_dir=tempfile.mkdtemp(),
        max_steps=steps,
        per_device_train_batch_size=8,
        num_generations=4,
        max_completion_length=400,
        learning_rate=1e-4,
        beta=0.0,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        bf16=False,
        gradient_checkpointing=False,
    ),
)
trainer.train()
for entry in trainer.state.log_history[:steps]:
    print(f"step {entry['step']}: reward {entry['reward']:.3f}")
