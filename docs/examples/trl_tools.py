"""GRPO with TRL's tool loop, for a model whose chat template knows tool calls. With the extras llm and trl:

python docs/examples/trl_tools.py --model Qwen/Qwen3-0.6B --steps 3
"""

import argparse

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from sesa_env.integrations.trl_tools import solver_tools, tool_rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True, help="id on the hub, or a directory")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=2048, help="tokens of a completion, what tools say included")
    parser.add_argument("--out", default="runs/trl-tools")
    options = parser.parse_args()

    trainer = GRPOTrainer(
        model=options.model,
        environment_factory=solver_tools(corpus="miniwiki"),
        train_dataset=Dataset.from_list(tool_rows(64)),
        args=GRPOConfig(
            output_dir=options.out,
            max_steps=options.steps,
            per_device_train_batch_size=options.batch,
            num_generations=2,
            max_completion_length=options.length,
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
        print(f"step {entry['step']}: reward {entry['reward']:.3f}, calls {entry['tools/call_frequency']:.2f}")


if __name__ == "__main__":
    main()
