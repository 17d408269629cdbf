"""The built-in model `tiny`: half a million parameters of Llama architecture, and a word-level tokenizer for MiniWiki.

It is a transformers model like any other: it saves, loads and serves through `AutoModelForCausalLM` and `AutoTokenizer`. Its
warm start, shared by both seats, is shipped beside this file: `agents.warmstart` made it, by the recipe that lies with it.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from agents.tiny_vocabulary import ENDING, EOS, PAD, SYLLABLE, TAGS, UNKNOWN, WORD, like_names, phrases, pieces
from sesa_env.errors import ConfigError

WARM_START = Path(__file__).with_name("tiny_warm_start")
"""The shipped warm start: a transformers directory."""

CONTEXT = 1024
"""Ids that the model can attend to."""


@dataclass(frozen=True)
class TinyShape:
    """The size of the model; JSON values."""

    hidden: int = 96
    """Width."""
    layers: int = 3
    """Blocks."""
    heads: int = 4
    """Attention heads; each has hidden / heads numbers."""
    feed_forward: int = 256
    """Width of the gated feed-forward part."""


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """Builds the tokenizer from MiniWiki's own word lists.

    Returns:
        A fast tokenizer without a chat template. Text is put in lower case; decoding joins the pieces.

    Raises:
        AssertionError: the vocabulary would be ambiguous (see `tiny_vocabulary.check`).
    """
    vocabulary = {piece: index for index, piece in enumerate(pieces())}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.normalizer = _normaliser()
    tokenizer.pre_tokenizer = _cutter()
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([AddedToken(name, normalized=False) for name in (PAD, EOS, UNKNOWN, *TAGS)])
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        unk_token=UNKNOWN,
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
        padding_side="left",
    )


def _normaliser() -> Any:
    """Lower case, one blank before each word, blanks round quotes and brackets; `tiny_vocabulary.normalise` does the same."""
    return normalizers.Sequence(
        [
            normalizers.Lowercase(),
            *(normalizers.Replace(mark, f" {mark} ") for mark in '"()'),
            normalizers.Replace(Regex(r"\s+"), " "),
            normalizers.Strip(),
            normalizers.Prepend(" "),
        ]
    )


def _cutter() -> Any:
    r"""Cuts a text into phrases, words, figures and marks, then each invented name into syllables and an ending.

    In the second pattern `\A` is the beginning of one word, and `\G` where the last syllable ended.
    """
    fixed = "|".join(re.escape(phrase) for phrase in phrases())
    first = rf"(?:{fixed})(?![a-z0-9])| ?{WORD}| ?\d\d?|'s\b| ?\.\.\.| ?\{{[a-z]+\}}| ?[^\sa-z\d]"
    whole = "|".join(like_names())
    names = rf"(?:\A(?! ?(?:{whole})\z) ?|\G){SYLLABLE}(?=(?:{SYLLABLE})*{ENDING}\z)"
    return pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(first), "isolated"), pre_tokenizers.Split(Regex(names), "isolated")]
    )


def tiny_model(shape: TinyShape = TinyShape(), seed: int = 0) -> LlamaForCausalLM:
    """Builds the model with random weights.

    Args:
        shape: its size.
        seed: of the weights; the global generator is left as it was.

    Returns:
        The model, in float32, with tied embeddings, for the ids of `tiny_tokenizer`.
    """
    names = pieces()
    config = LlamaConfig(
        vocab_size=len(names),
        hidden_size=shape.hidden,
        intermediate_size=shape.feed_forward,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        pad_token_id=names.index(PAD),
        eos_token_id=names.index(EOS),
        bos_token_id=None,
        initializer_range=shape.hidden**-0.5,  # so that a narrow model's attention is not even at the start
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)


def is_tiny(tokenizer: Any) -> bool:
    """Says whether a tokenizer has the ids of `tiny_tokenizer`."""
    return dict(tokenizer.get_vocab()) == {piece: index for index, piece in enumerate(pieces())}


def load_tiny(directory: str | Path = WARM_START) -> tuple[Any, Any]:
    """Loads the shipped warm start.

    Args:
        directory: another directory that `agents.warmstart` or a run has saved `tiny` to.

    Returns:
        The model in float32 on the CPU, and its tokenizer.

    Raises:
        ConfigError: there is no such directory.
    """
    folder = Path(directory)
    if not (folder / "config.json").is_file():
        raise ConfigError(
            f"tiny: expected a saved model in {folder}; found none; make one with: python -m agents.warmstart --out DIR"
        )
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return model, AutoTokenizer.from_pretrained(folder)
