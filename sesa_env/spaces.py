"""`Utf8`: the space of all texts."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers.utils import create_zero_array

_WORDS = ("search", "answer", "question", "think", "who", "when", "a", "the", "ü", "名", "\N{SNAKE}", "\n", "<", ">", "&lt;")


class Utf8(gymnasium.Space[str]):
    """All strings that UTF-8 can encode, up to a length.

    `gymnasium.spaces.Text` admits only the characters of a given set and checks them one by one, and shared-memory vector
    environments cut its values silently. This space admits every text and belongs to no shared-memory scheme, so a vector
    environment refuses it instead of corrupting it.

    Args:
        max_length: greatest number of characters; at least 1.
        seed: of `sample`.
    """

    def __init__(self, max_length: int = 2**31 - 1, seed: int | np.random.Generator | None = None) -> None:
        if max_length < 1:
            raise ValueError(f"max_length: expected at least 1; got {max_length}")
        self.max_length = max_length
        super().__init__(None, np.str_, seed)

    @property
    def is_np_flattenable(self) -> bool:
        """False: a text has no fixed number of values."""
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """Draws a short text: sometimes well-formed tags, mostly not.

        Args:
            mask: not supported; must be None.
            probability: not supported; must be None.
        """
        if mask is not None or probability is not None:
            raise ValueError("Utf8 cannot be masked; expected mask=None and probability=None")
        words = self.np_random.choice(np.array(_WORDS), size=int(self.np_random.integers(1, 9)))
        text = " ".join(str(word) for word in words)
        if self.np_random.random() < 0.5:
            tag = str(self.np_random.choice(np.array(("search", "answer", "question"))))
            text = f"<{tag}>{text.replace('<', '')}</{tag}>"
        return text[: self.max_length]

    def contains(self, x: Any) -> bool:
        """Says whether `x` is a string that UTF-8 can encode, of at most `max_length` characters."""
        if not isinstance(x, str) or len(x) > self.max_length:
            return False
        try:
            x.encode("utf-8")
        except UnicodeEncodeError:
            return False
        return True

    def to_jsonable(self, sample_n: Any) -> list[str]:
        """Returns the texts as they are: they are JSON already."""
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        """Returns the texts as they are."""
        return [str(text) for text in sample_n]

    def __repr__(self) -> str:
        return f"Utf8({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Utf8) and other.max_length == self.max_length

    __hash__ = None  # type: ignore[assignment]  # mutable, like every gymnasium space


@create_zero_array.register(Utf8)
def _no_text(space: Utf8) -> str:  # type: ignore[misc]  # a Space[str] is one of the dispatcher's Space[T]
    """What Gymnasium's wrappers show before there is an observation: frame stacks and delays pad with it."""
    return ""
