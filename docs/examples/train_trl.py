"""TRL's GRPOTrainer trains a model in either seat, on the tag protocol, token by token.

python docs/examples/train_trl.py --role solver --steps 2
"""

import argparse

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from agents.demonstrations import QUICK_WORLD
from agents.prompts import load_style
from agents.tiny import load_tiny
from sesa_env.integrations.seats import SeatTasks
from sesa_env.integrations.trl import TagRollout, game_reward


def load(name):
    """The built-in tiny model with prompts in the words that it knows, or any causal language model with the game's own."""
    if name != "tiny":
        return AutoModelForCausalLM.from_pretrained(name), AutoTokenizer.from_pretrained(name), None
    model, tokenizer = load_tiny()
    style = load_style("tiny")
    tokenizer.chat_template = style.chat_template
    return model, tokenizer, style


parser = argparse.ArgumentParser()
parser.add_argument("--model", default="tiny", help="tiny, an id on the hub, or a directory")
parser.add_argument("--role", default="solver", choices=["solver", "challenger"])
parser.add_argument("--steps", type=int, default=2)
parser.add_argument("--turn-tokens", type=int, default=48, help="of one turn; a model that thinks needs more")
parser.add_argument("--tokens", type=int, default=512, help="of an episode, what the game answers included")
parser.add_argument("--out", default="runs/trl")
options = parser.parse_args()

model, tokenizer, style = load(options.model)
# A small world in the words that tiny knows, and rules of few tokens; leave both out for a larger model.
world = {**QUICK_WORLD, "families": {"single": 1.0}, "n_questions": 200, "n_targets": 200}
rules = {"top_k": 1, "max_turns": 5, "challenger_max_turns": 5, "max_searches": 4}
tasks = SeatTasks(options.role, corpus="miniwiki", corpus_options=world, rules=rules)
rollout = TagRollout(tasks, style, turn_tokens=options.turn_tokens)
trainer = GRPOTrainer(
    model=model,
    processing_class=tokenizer,
    reward_funcs=game_reward,  # what the game paid
    rollout_func=rollout,  # plays the game
    train_dataset=Dataset.from_list(rollout.rows()),  # the world's questions or targets, as prompts
    args=GRPOConfig(
        output_dir=options.out,
        max_steps=options.steps,
        per_device_train_batch_size=8,
        num_generations=4,
        max_completion_length=options.tokens,
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
for entry in trainer.state.log_history[: options.steps]:
    print(f"step {entry['step']}: reward {entry['reward']:.3f}")
