"""LoRA adapters, through peft."""

import warnings
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from sesa_env.errors import ConfigError, missing_extra


@dataclass(frozen=True)
class LoraSettings:
    """Low-rank adapters; JSON values. The names are peft's."""

    rank: int = 16
    """Inner dimension of each adapter."""
    alpha: float = 32.0
    """An adapter's output is scaled by alpha / rank."""
    dropout: float = 0.0
    """Of the adapters' input, in training."""
    target_modules: str | tuple[str, ...] = "all-linear"
    """Names of the layers that get one; "all-linear" is every linear layer but the head."""
    seed: int = 0
    """Of the adapters' first weights."""

    def __post_init__(self) -> None:
        """Refuses what no adapter can be made of."""
        if self.rank < 1:
            raise ConfigError(f"lora rank: expected at least 1; got {self.rank}")
        if not 0.0 <= self.dropout < 1.0:
            raise ConfigError(f"lora dropout: expected at least 0 and less than 1; got {self.dropout}")


def add_adapters(model: Any, settings: LoraSettings, *, float32: bool) -> Any:
    """Puts fresh adapters into a model and freezes all else. At first they change nothing.

    Args:
        model: a transformers model; its layers are changed in place.
        settings: the adapters.
        float32: adapters in float32 whatever the model's dtype; else in the model's.

    Returns:
        The peft model around it.

    Raises:
        ConfigError: peft is not installed, or the model has no such layers.
    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise missing_extra("peft", "train") from error
    targets = settings.target_modules if isinstance(settings.target_modules, str) else list(settings.target_modules)
    config = LoraConfig(
        task_type="CAUSAL_LM",
        r=settings.rank,
        lora_alpha=settings.alpha,  # type: ignore[arg-type,unused-ignore]  # peft divides by it; a float does as well
        lora_dropout=settings.dropout,
        target_modules=targets,
    )
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        torch.manual_seed(settings.seed)  # peft draws from the global generator, on the CPU
        # peft asks for it by the name that transformers is about to drop.
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing` is deprecated", FutureWarning)
        try:
            return get_peft_model(model, config, autocast_adapter_dtype=float32)
        except ValueError as error:
            raise ConfigError(f"lora target_modules: {error}") from error


def has_adapters(model: Any) -> bool:
    """Says whether a model is a peft model."""
    return hasattr(model, "get_base_model")


def merged_state(network: nn.Module) -> dict[str, torch.Tensor]:
    """Returns the weights that a model without adapters needs to do what this one does; the model itself is left as it is.

    Args:
        network: a transformers model with adapters in its layers.

    Returns:
        Weights by their names in a plain model, in the greater precision of model and adapters.
    """
    from peft.tuners.lora import LoraLayer

    weights = {name: weight for name, weight in network.state_dict().items() if ".lora_" not in name}
    state = {name.replace(".base_layer.", "."): weight for name, weight in weights.items()}
    for name, layer in network.named_modules():
        if isinstance(layer, LoraLayer):
            for adapter in layer.active_adapters:
                base, delta = state[f"{name}.weight"], _delta(layer, adapter)
                state[f"{name}.weight"] = base.to(torch.promote_types(base.dtype, delta.dtype)) + delta
    widest = max((weight.dtype for weight in state.values()), key=lambda dtype: dtype.itemsize)
    return {name: weight.to(widest) for name, weight in state.items()}


def _delta(layer: Any, adapter: str) -> torch.Tensor:
    """What one adapter adds to its layer's weight: B A alpha / rank."""
    delta: torch.Tensor = layer.get_delta_weight(adapter).detach()
    return delta


class AdaptersOff(nn.Module):
    """A peft model with its adapters switched off during each call, without gradients; it shares the model's memory.

    Args:
        model: the peft model. Its mode (training or evaluation) is never changed from here.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.inner = model

    @property
    def config(self) -> Any:
        """The transformers configuration."""
        return self.inner.config

    def get_output_embeddings(self) -> nn.Module:
        """Returns the base model's head."""
        head: nn.Module = self.inner.get_output_embeddings()
        return head

    @torch.no_grad()
    def forward(self, *args: Any, **options: Any) -> Any:
        """Calls the base model, with the arguments of its own `forward`."""
        with self.inner.disable_adapter():
            return self.inner(*args, **options)

    def train(self, mode: bool = True) -> "AdaptersOff":
        """Does nothing: the model is shared with the policy in training."""
        return self
