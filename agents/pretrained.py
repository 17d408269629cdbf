"""Models and tokenizers by name, as transformers loads them; and the device to put them on."""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from agents.tiny import WARM_START, load_tiny
from agents.weights import weights_digest
from sesa_env.errors import ConfigError
from sesa_env.models import MODELS, model_folder, model_path

_WARM = "-warm"  # after the name of a packaged model: its warm start


def load_pretrained(name: str, dtype: torch.dtype) -> tuple[Any, Any]:
    """Loads a model and its tokenizer.

    Args:
        name: as for `agents.policy.load_policy`.
        dtype: of the weights.

    Returns:
        The transformers model, on the CPU, in evaluation mode; its tokenizer.

    Raises:
        ConfigError: there is no such model, or it cannot be read or fetched.
    """
    return _load_tiny(dtype) if name == "tiny" else _load_directory(source_of(name), dtype)


def start_digest(name: str) -> str:
    """Returns what a model's weights are known by: "sha256:..." of its files here, "revision:..." of a model on the hub.

    Args:
        name: as for `agents.policy.load_policy`.

    Raises:
        ConfigError: there is no such model.
        StoreError: its directory has no weights.
    """
    source = source_of(name)
    if Path(source).is_dir():
        return weights_digest(Path(source))
    try:
        config: Any = AutoConfig.from_pretrained(source)
    except (OSError, ValueError) as error:
        raise _not_had(source, error) from error
    return f"revision:{config._commit_hash}"


def _load_tiny(dtype: torch.dtype) -> tuple[Any, Any]:
    with quiet():
        model, tokenizer = load_tiny()
    for weight in model.parameters():  # not model.to, which would round the rotary frequencies too
        weight.data = weight.data.to(dtype)
    return model, tokenizer


def start_name(model: str) -> str:
    """Returns the model that self-play begins with when it is given this one: its warm start, for one that has a known recipe.

    A model as it comes does not know the game's protocol: "smollm2" is what teaches, judges or is evaluated by that name, and
    "smollm2-warm" what `python -m agents.warmstart --for smollm2` made of it.
    """
    return f"{model}{_WARM}" if model in MODELS else model


def warm_start_path(model: str) -> Path:
    """Returns where in the cache the warm start of a model in `sesa_env.models.MODELS` lies, be it made or not."""
    return model_folder(model).with_name(f"{model_folder(model).name}{_WARM}")


def source_of(name: str) -> str:
    """Returns the directory, or the id on the hub, that a model's name stands for.

    Args:
        name: as for `agents.policy.load_policy`.

    Raises:
        ConfigError: the name means nothing, or what it means is not in the cache.
    """
    if name == "tiny":
        return str(WARM_START)
    if name in MODELS:
        return str(model_path(name))
    if (model := name.removesuffix(_WARM)) in MODELS:
        return str(_warm_start(model))
    if (name and Path(name).is_dir()) or re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        return name
    known = ", ".join(["tiny", *sorted(MODELS), *(f"{name}{_WARM}" for name in sorted(MODELS))])
    raise ConfigError(f"model: expected {known}, the path of a transformers directory or a hub id OWNER/NAME; got {name!r}")


def _warm_start(model: str) -> Path:
    if (path := warm_start_path(model)).is_dir():
        return path
    raise ConfigError(
        f"{model} does not know the game's protocol as it comes, and its warm start is not in the cache ({path}); make it "
        f"once: python -m agents.warmstart --for {model} --threads 2 (half an hour on two cores; stopped, it goes on). To "
        f"train the model as it comes, give its path, which `sesa models path {model}` prints"
    )


def _load_directory(source: str, dtype: torch.dtype) -> tuple[Any, Any]:
    try:
        with quiet():
            loaded: Any = AutoModelForCausalLM.from_pretrained(source, dtype=dtype, output_loading_info=True)
            model, report = loaded
            _require_all_weights(report["missing_keys"])
            return model, AutoTokenizer.from_pretrained(source)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise _not_had(source, error) from error


def _not_had(source: str, error: Exception) -> ConfigError:
    reason = str(error).strip().splitlines()[0]
    if Path(source).is_dir():
        return ConfigError(f"model: {source} cannot be loaded as a transformers directory: {reason}")
    return ConfigError(
        f"model: {source!r} is no directory here and could not be had from the Hugging Face hub: {reason} "
        f"Without a network, type on a machine with one: hf download {source} --local-dir DIR, copy DIR, and give its path."
    )


def _require_all_weights(missing: Collection[str]) -> None:
    if missing:  # transformers would go on with random ones
        raise ValueError(f"its files lack {len(missing)} weights, the first of them {min(missing)}.")


def find_device(name: str) -> torch.device:
    """Returns the torch device of a name; "auto" is an accelerator where there is one, else the CPU.

    Raises:
        ConfigError: torch has no such device here.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # torch asserts that it was built for a device
        raise ConfigError(f"device: expected auto, cpu, cuda or another that torch has here; got {name!r}: {error}") from error
    return device


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps transformers' progress bars out of logs and live views."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]
