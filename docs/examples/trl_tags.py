"""GRPO with TRL on the tag protocol, token by token. From a checkout, with the extras llm and trl:

python docs/examples/trl_tags.py --steps 3
"""

import argparse

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from agents.prompts import load_style
from agents.tiny import load_tiny
from sesa_env.integrations.seats import SeatTasks
from sesa_env.integrations.trl import TagRollout, game_reward


def load(name):
    """The built-in tiny model with the words that it knows, or any causal language model with the game's own."""
    if name != "tiny":
        return AutoModelForCausalLM.from_pretrained(name), AutoTokenizer.from_pretrained(name), None
    model, tokenizer = load_tiny()
    style = load_style("tiny")
    tokenizer.chat_template = style.chat_template
    return model, tokenizer, style


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--role", default="solver", choices=["solver", "challenger"])
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--out", default="trl-tags")
    options = parser.parse_args()

    model, tokenizer, style = load(options.model)
    rollout = TagRollout(SeatTasks(options.role, corpus="miniwiki"), style, turn_tokens=48)
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=game_reward,
        rollout_func=rollout,
        train_dataset=Dataset.from_list(rollout.rows()),
        args=GRPOConfig(
            output_dir=options.out,
            max_steps=options.steps,
            per_device_train_batch_size=8,
            num_generations=4,
            max_completion_length=512,
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


if __name__ == "__main__":
    main()
