"""Encoders: how queries and passages become vectors whose inner product says how well they fit."""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from sesa_env.errors import ConfigError, missing_extra
from sesa_env.plugins import make_plugin
from sesa_env.sentence_models import dimension_of, load_sentence_model

Vectors: TypeAlias = npt.NDArray[np.float32]

DTYPES = ("float32", "bfloat16", "float16")
MOST_CHARACTERS = 20_000
"""How much of a text is looked at; the encoders of this field read a few hundred words."""

# What a family of models wants before its texts, where the model itself does not say: a pattern of names, and the two prefixes.
_PREFIXES = (
    (r"\be5\b", "query: ", "passage: "),
    (r"\bbge-(small|base|large)-en\b", "Represent this sentence for searching relevant passages: ", ""),
)


@runtime_checkable
class Encoder(Protocol):
    """Anything that turns queries and passages into unit vectors.

    Attributes:
        dimension: length d of a vector.
    """

    dimension: int

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Encodes queries: float32, shape (len(texts), d), rows of length 1."""
        ...

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Encodes passages (title, newline, text): float32, shape (len(texts), d), rows of length 1."""
        ...


@lru_cache(maxsize=4)
def make_encoder(name: str, dtype: str = "float32", device: str = "auto") -> Encoder:
    """Makes an encoder by name; one instance of each a process.

    Args:
        name: "minilm", the name or folder of a sentence-transformers model such as "intfloat/e5-base-v2", or your own
            `module:factory`, called without arguments.
        dtype: what the model computes in, one of `DTYPES`; "bfloat16" pays on processors that multiply in it, and on GPUs.
        device: as torch names it, "cpu" or "cuda"; "auto" takes the best that there is.

    Raises:
        ConfigError: a package or the model is missing, or the dtype is unknown.
    """
    if dtype not in DTYPES:
        raise ConfigError(f"an encoder's dtype must be one of {', '.join(DTYPES)}; came {dtype!r}")
    if ":" in name and not Path(name).exists():
        made = make_plugin("encoder", name, {}, "'minilm', a model's name or folder, or module:factory")
        if not isinstance(made, Encoder):
            raise ConfigError(f"encoder {name!r}: expected dimension, encode_queries and encode_passages; came {made!r}")
        return made
    return SentenceEncoder(name, dtype, device)


def prefixes(name: str, prompts: dict[str, str]) -> tuple[str, str]:
    """Returns what goes before a query and before a passage.

    Args:
        name: of the model.
        prompts: what the model itself says, by sentence-transformers' names "query", "document" and "passage".
    """
    if any(prompts.values()):
        return prompts.get("query", ""), prompts.get("document") or prompts.get("passage", "")
    found = (rest for pattern, *rest in _PREFIXES if re.search(pattern, name.lower()))
    query, passage = next(found, ["", ""])
    return query, passage


def legible(text: str) -> str:
    """Returns a text as tokenisers take it: of bounded length, without lone surrogates."""
    text = text[:MOST_CHARACTERS]
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class SentenceEncoder:
    """A sentence-transformers model, with the prefixes that it wants; see `make_encoder`.

    Attributes:
        dimension: length of a vector.
        prefixes: what goes before a query and before a passage.
    """

    def __init__(self, name: str, dtype: str = "float32", device: str = "auto") -> None:
        self._model = load_sentence_model(name, "dense", device=None if device == "auto" else device)
        self._model.to(_torch_dtype(dtype))
        self.dimension = dimension_of(self._model)
        self.prefixes = prefixes(name, dict(self._model.prompts or {}))

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Encodes queries; see `Encoder`."""
        return self._encode([self.prefixes[0] + legible(text) for text in texts])

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Encodes passages; see `Encoder`."""
        return self._encode([self.prefixes[1] + legible(text) for text in texts])

    def _encode(self, texts: list[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        # prompt="": the prefix stands in the texts already.
        found = self._model.encode(texts, prompt="", normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False)
        return np.asarray(found, np.float32)


def _torch_dtype(name: str) -> Any:
    try:
        import torch
    except ImportError as error:
        raise missing_extra("torch", "dense") from error
    return getattr(torch, name)
