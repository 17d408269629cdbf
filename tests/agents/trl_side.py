"""TRL's GRPOTrainer on the CPU, and a batch of ours as it reads one."""

import torch
import trl
from datasets import Dataset
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast


def no_reward(completions, **_):
    return [0.0] * len(completions)


def trainer_for(model, directory, *, reward=no_reward, rollouts=None, callbacks=(), size=4, rows=12, **options):
    """A GRPOTrainer of this model on the CPU."""
    words = {f"w{number}": number for number in range(model.config.vocab_size)}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="w3")),
        pad_token="w0",
        bos_token="w1",
        eos_token="w2",
        padding_side="left",
    )
    config = trl.GRPOConfig(
        output_dir=str(directory / "out"),
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
        per_device_train_batch_size=rows,
        num_generations=size,
        **options,
    )
    return trl.GRPOTrainer(
        model=model,
        reward_funcs=reward,
        rollout_func=rollouts,
        callbacks=list(callbacks),
        args=config,
        train_dataset=Dataset.from_list([{"prompt": "w4 w5"}] * rows),
        processing_class=tokenizer,
    )


def split(sample):
    """Prompt, completion, and the masks and log-probabilities of the completion."""
    rollout, start = sample.rollout, sample.rollout.sampled.index(True)
    return rollout.ids[:start], rollout.ids[start:], rollout.sampled[start:], rollout.logprobs and rollout.logprobs[start:]


def padded(lists, *, left=False, dtype=torch.long):
    """Lists as one tensor with zeros before or after, and the mask of what is not padding."""
    width = max(map(len, lists))
    values, mask = torch.zeros(len(lists), width, dtype=dtype), torch.zeros(len(lists), width, dtype=torch.long)
    for row, entries in enumerate(lists):
        place = slice(width - len(entries), width) if left else slice(0, len(entries))
        values[row, place], mask[row, place] = torch.tensor(entries, dtype=dtype), 1
    return values, mask


def batch_of(made, advantages):
    """The dictionary that TRL's `_compute_loss` reads."""
    prompts, completions, masks, logprobs = zip(*map(split, made), strict=True)
    batch = dict(zip(("prompt_ids", "prompt_mask"), padded(prompts, left=True), strict=True))
    batch |= dict(zip(("completion_ids", "completion_mask"), padded(completions), strict=True))
    batch["tool_mask"] = padded(masks)[0]
    batch["advantages"] = torch.tensor(advantages, dtype=torch.float32)
    batch["num_items_in_batch"] = batch["tool_mask"].sum()
    if logprobs[0] is not None:
        batch["old_per_token_logps"] = padded(logprobs, dtype=torch.float32)[0]
    return batch
