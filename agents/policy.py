"""Policies: a causal language model with its tokenizer, its prompts and the tags that end its turns.

One code path for every size of model: `load_policy("tiny")`, `load_policy("smollm2")`, `load_policy("Qwen/Qwen3-4B")` and a
directory differ in the name only. An episode is one chat: the user's message is the seat's prompt, and one assistant message
holds all turns with the game's observations between them. What was sampled is never tokenised again.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from agents.adapters import AdaptersOff, LoraSettings, add_adapters, has_adapters, merged_state
from agents.pretrained import find_device, load_pretrained, quiet
from agents.prompts import FOLDER, Style, load_style
from sesa_env.errors import ConfigError
from sesa_env.integrations.stops import StopTags
from sesa_env.integrations.tokens import bos_ids, defused, special_tokens
from sesa_env.memory.whole import whole_directory
from sesa_env.players.base import View

__all__ = ["LoraSettings", "ModelConfig", "Policy", "StopTags", "load_policy"]

_SAVED_STYLE = "sesa_style"  # the entry of a saved model's config.json that names its built-in style
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "mixed": torch.bfloat16}
"""What `ModelConfig.dtype` says, as the dtype of the weights."""


@dataclass(frozen=True)
class ModelConfig:
    """How a model is loaded; JSON values."""

    dtype: str = "float32"
    """ "float32", "bfloat16", or "mixed": a bfloat16 base with float32 adapters, which needs `lora`."""
    device: str = "auto"
    """A torch device such as "cpu" or "cuda:1"; "auto" takes an accelerator where there is one."""
    lora: LoraSettings | None = None
    """Train adapters instead of the model's own weights."""
    style: str = "auto"
    """Prompt style: a built-in name, the path of a folder, or "auto": the one the model was saved with, else "tags"."""
    thinking: bool = False
    """Handed as `enable_thinking` to chat templates that know it (Qwen3)."""
    gradient_checkpointing: bool = False
    """Compute activations again in the backward pass instead of keeping them."""

    def __post_init__(self) -> None:
        """Refuses what no model can be loaded with."""
        if self.dtype not in DTYPES:
            raise ConfigError(f"dtype: expected one of {', '.join(DTYPES)}; got {self.dtype!r}")
        if self.dtype == "mixed" and self.lora is None:
            raise ConfigError(
                'dtype: "mixed" is a bfloat16 base with float32 adapters; give lora settings too, or another dtype'
            )


class Policy:
    """A causal language model that can take a seat.

    Args:
        name: what it was loaded as.
        model: a transformers model, or a peft model around one, on its device.
        tokenizer: the model's tokenizer.
        style: the prompt style. Its chat template is given to the tokenizer if that has none.
        config: how the model was loaded.

    Attributes:
        name: as given.
        model: as given; in evaluation mode, as transformers loads it.
        tokenizer: as given.
        style: as given.
        config: as given.
        stops: says where a sampled turn ends.
    """

    def __init__(self, name: str, model: Any, tokenizer: Any, style: Style, config: ModelConfig | None = None) -> None:
        self.name = name
        self.model = model
        self.tokenizer = tokenizer
        self.style = style
        self.config = config or ModelConfig()
        self._begins = bos_ids(tokenizer)
        if not tokenizer.chat_template and style.chat_template:
            tokenizer.chat_template = ("{{ bos_token }}" if self._begins else "") + style.chat_template
        self._special = special_tokens(tokenizer)
        self.stops = StopTags(tokenizer.get_vocab(), partial(_decode, tokenizer), _eos_ids(model, tokenizer))

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        device: torch.device = next(self.network.parameters()).device
        return device

    @property
    def network(self) -> Any:
        """The transformers model itself; with LoRA its layers hold the adapters, so calling it applies them."""
        return self.model.get_base_model() if has_adapters(self.model) else self.model

    @property
    def context_length(self) -> int:
        """The greatest number of ids, prompt included, that the model can attend to."""
        config = self.network.config.get_text_config()
        if (length := getattr(config, "max_position_embeddings", None)) is None:
            raise ConfigError(f"{self.name}: expected max_position_embeddings in the model's configuration; got none")
        return int(length)

    # ---- text and ids -----------------------------------------------------------------------------------------------

    def prompt_ids(self, view: View) -> list[int]:
        """Returns the ids that a seat's part of an episode begins with.

        Args:
            view: what the seat may see; the ids are the same at each of its turns.

        Returns:
            The style's text as a user's message in the model's chat template, up to where the assistant's message begins; the
            bare text where there is no template. The model's beginning-of-sequence id comes first, once, if it expects one.
        """
        text = defused(self.style.user(view), self._special)
        if not self.tokenizer.chat_template:
            return self._begins + self._encode(text)
        chat = self.tokenizer.apply_chat_template(
            [{"role": "user", "content": text}],
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=self.config.thinking,
        )
        return self._encode(chat)

    def observation_ids(self, text: str) -> list[int]:
        """Returns the ids to append after a turn.

        Args:
            text: what the game answered: `Turn.observation`.
        """
        return self._encode(defused(self.style.observation(text), self._special))

    def decode(self, ids: Sequence[int]) -> str:
        """Returns the text of ids, special tokens included, nothing tidied. A broken character at an end becomes U+FFFD."""
        return _decode(self.tokenizer, ids)

    def _encode(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    # ---- weights ----------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Returns the weights that training changes, by name, on the CPU: the adapters with LoRA, else all."""
        trained = ((name, weight) for name, weight in self.model.named_parameters() if weight.requires_grad)
        return {name: weight.detach().to("cpu", copy=True) for name, weight in trained}

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Takes weights that `state_dict` gave.

        Raises:
            ConfigError: they are another model's.
        """
        trained = {name: weight for name, weight in self.model.named_parameters() if weight.requires_grad}
        for name in sorted(trained.keys() | state.keys()):
            ours, theirs = trained.get(name), state.get(name)
            if ours is None or theirs is None or ours.shape != theirs.shape:
                raise ConfigError(f"weights of another model: {name!r} is {_shape(ours)} here and {_shape(theirs)} in the file")
        with torch.no_grad():
            for name, weight in trained.items():
                weight.copy_(state[name])

    def frozen_copy(self) -> "Policy":
        """Returns a copy with weights of its own, which training does not reach: an opponent, or a reference model."""
        return self._with_model(copy.deepcopy(self.model).requires_grad_(False).eval())

    def reference(self) -> "Policy":
        """Returns the policy that the KL term measures from: these weights as they are now, frozen.

        With LoRA it is the base model, sharing its memory: the same weights with the adapters switched off during each call.
        """
        return self._with_model(AdaptersOff(self.model)) if has_adapters(self.model) else self.frozen_copy()

    def _with_model(self, model: Any) -> "Policy":
        other = copy.copy(self)  # tokenizer, style and stop tags are the same
        other.model = model
        return other

    def save(self, directory: str | Path) -> None:
        """Writes a plain transformers directory: weights with adapters merged, tokenizer, chat template.

        It is written beside `directory` and takes its name when it is whole. Merged weights are saved in the adapters'
        precision if that is the greater one, since bfloat16 would round small changes away.

        Raises:
            OSError: it cannot be written.
        """
        network = self.network
        setattr(network.config, _SAVED_STYLE, self.style.name if (FOLDER / self.style.name).is_dir() else None)
        state = merged_state(network) if has_adapters(self.model) else None
        with whole_directory(directory) as part, quiet():
            if state is None:
                network.save_pretrained(part)
            else:
                _plain_copy(network, state).save_pretrained(part)
            self.tokenizer.save_pretrained(part)


def load_policy(name: str, config: ModelConfig | None = None) -> Policy:
    """Loads a policy.

    Args:
        name: "tiny" (0.5 million parameters, its warm start comes with the project), "smollm2" (after
            `sesa models get smollm2`), "smollm2-warm" (after `python -m agents.warmstart --for smollm2`), the path
            of a transformers directory, or the id of a model on the Hugging Face hub.
        config: how to load it.

    Returns:
        The policy, in evaluation mode.

    Raises:
        ConfigError: there is no such model, it cannot be read or fetched, or the configuration does not fit it.
    """
    config = config or ModelConfig()
    model, tokenizer = load_pretrained(name, DTYPES[config.dtype])
    model.requires_grad_(True)
    style = load_style(_style_name(name, config, model))
    if config.gradient_checkpointing:
        # The older name is all that early releases of transformers 5 have, and about to be dropped by the later ones.
        enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
        enable({"use_reentrant": False})
    if config.lora is not None:
        model = add_adapters(model, config.lora, float32=config.dtype == "mixed")
    return Policy(name, model.to(find_device(config.device)).eval(), tokenizer, style, config)


def _decode(tokenizer: Any, ids: Sequence[int]) -> str:
    text: str = tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
    return text


def _style_name(name: str, config: ModelConfig, model: Any) -> str:
    if config.style != "auto":
        return config.style
    return "tiny" if name == "tiny" else getattr(model.config, _SAVED_STYLE, None) or "tags"


def _eos_ids(model: Any, tokenizer: Any) -> list[int]:
    """All ids that the model's files call an end: a chat model's turn may end by another than its tokenizer's own."""
    sources = (getattr(model, "generation_config", None), getattr(model, "config", None), tokenizer)
    found = [getattr(source, "eos_token_id", None) for source in sources]
    flat = [one for value in found for one in (value if isinstance(value, list | tuple) else [value])]
    return [index for index in flat if index is not None]


def _shape(weight: torch.Tensor | None) -> str:
    return "absent" if weight is None else "x".join(map(str, weight.shape))


def _plain_copy(network: Any, state: Mapping[str, torch.Tensor]) -> Any:
    """A model of the same kind around other weights, without a second copy of them."""
    with torch.device("meta"):
        plain = type(network)(copy.deepcopy(network.config))
    plain.load_state_dict(state, assign=True)
    plain.tie_weights()
    plain.generation_config = network.generation_config
    return plain
