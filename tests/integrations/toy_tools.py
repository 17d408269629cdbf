"""A small random Llama with a tokenizer whose chat template knows tool calls, as a TRL user would have from the hub."""

import json
from pathlib import Path

import torch
import trl
from transformers import LlamaConfig, LlamaForCausalLM

from tests.agents.toy_policy import byte_tokenizer

TEMPLATE = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"  # Qwen3's, as TRL knows it


def tool_tokenizer():
    return byte_tokenizer(TEMPLATE.read_text(encoding="utf-8"))


def config(tokenizer):
    return LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=8192,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )


def save_tool_model(directory):
    """Writes a random model that can be trained but never calls a tool but by chance."""
    tokenizer = tool_tokenizer()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        LlamaForCausalLM(config(tokenizer)).save_pretrained(directory)
    tokenizer.save_pretrained(directory)


def tool_call(name, **arguments):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


class Scripted(LlamaForCausalLM):
    """Its forward pass is a Llama's; what it samples is what `script(row, conversation)` says."""

    script = None

    def generate(self, input_ids, **_):
        tokenizer = tool_tokenizer()
        texts = [self.script(row, tokenizer.decode(ids)) + "<|im_end|>" for row, ids in enumerate(input_ids)]
        turns = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
        longest = max(map(len, turns))
        padded = [turn + [tokenizer.pad_token_id] * (longest - len(turn)) for turn in turns]
        return torch.cat([input_ids, torch.tensor(padded)], dim=1)
