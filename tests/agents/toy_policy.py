"""Small random models and tokenizers of the three kinds that are about, for tests of policies."""

from dataclasses import replace
from functools import cache

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from agents.policy import ModelConfig, Policy
from agents.prompts import load_style
from sesa_env.game import GameConfig, SearchGame
from sesa_env.memory.base import CardHit, SkillCard
from sesa_env.players.base import View
from sesa_env.types import Question, Role
from sesa_env.worlds import make_world

TEXTS = [
    "<think> who wrote the book? </think> <search> author of the book </search>",
    "<answer> Ada Vale </answer>\n\n<question> Which town is it? </question>",
    'Doc 1 (Title: "The Book") It was written by Ada Vale in 1931.\n<information>\n</information>',
]
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@cache
def _trained(kind: str) -> str:
    tokenizer = Tokenizer(models.BPE(byte_fallback=kind == "metaspace", unk_token="<unk>" if kind == "metaspace" else None))
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] if kind == "bytes" else ["<unk>", "<s>", "</s>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    if kind == "bytes":
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
    else:
        special += [f"<0x{byte:02X}>" for byte in range(256)]
        alphabet = [chr(code) for code in range(33, 127)]
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    trainer = trainers.BpeTrainer(vocab_size=520, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(TEXTS * 3, trainer)
    if kind == "metaspace":  # as Llama's: a beginning-of-sequence token before each text
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer.to_str()


def byte_tokenizer(chat_template: str | None = CHATML) -> PreTrainedTokenizerFast:
    """Byte-level BPE, as GPT-2's, Qwen's and SmolLM2's."""
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_trained("bytes")), eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = chat_template
    return tokenizer


def bos_tokenizer(chat_template: str | None = None) -> PreTrainedTokenizerFast:
    """BPE with word boundaries, byte fall-back and a beginning-of-sequence token, as Llama's."""
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_trained("metaspace")), bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    tokenizer.chat_template = chat_template
    return tokenizer


def word_tokenizer() -> PreTrainedTokenizerFast:
    """One id a word, one id a tag."""
    words = sorted({word for text in TEXTS for word in text.replace(">", "> ").split()} | {"<|end|>", "?", "[UNK]"})
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens([AddedToken("<|end|>", special=True)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", unk_token="[UNK]")


TOKENIZERS = {"bytes": byte_tokenizer, "bos": bos_tokenizer, "words": word_tokenizer}


def toy_model(tokenizer: PreTrainedTokenizerFast, seed: int = 0) -> LlamaForCausalLM:
    """A random Llama of two layers."""
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config).eval()
    model.generation_config = GenerationConfig(eos_token_id=tokenizer.eos_token_id, bos_token_id=tokenizer.bos_token_id)
    return model


def toy_policy(kind: str = "bytes", style: str = "tags", config: ModelConfig | None = None) -> Policy:
    """A policy around a random model."""
    tokenizer = TOKENIZERS[kind]()
    return Policy("toy", toy_model(tokenizer), tokenizer, load_style(style), config)


CARD = SkillCard(
    "c", "Who wrote a book", "the author of", "asking in whole sentences", ("author of {entity}", "{bridge} writer")
)
SOLVER = View(
    role=Role.SOLVER,
    prompt="Answer the question below.\n\nQuestion: Who wrote it?",
    turns=(),
    question="Who wrote it?",
    target="",
    hops=0,
    cards=(),
    searches=(),
    turns_left=10,
    searches_left=9,
)
CHALLENGER = replace(SOLVER, role=Role.CHALLENGER, prompt="Write a question.", question="", target="Ada Vale", hops=2)
WITH_CARDS = replace(SOLVER, cards=(CardHit(CARD, 0.9), CardHit(replace(CARD, id="d"), 0.5)))


def toy_games(count: int) -> list[SearchGame]:
    """Games for the Solver on a small invented world."""
    world = make_world("miniwiki", seed=1000)
    games = [SearchGame(world, GameConfig(group_size=1, max_turns=3)) for _ in range(count)]
    for game in games:
        game.reset(Question("q", "Who wrote it?", ("Ada Vale",)))
    return games
