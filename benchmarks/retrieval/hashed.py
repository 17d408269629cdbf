"""An encoder that costs next to nothing, for measuring what stands behind one: sums of a random vector for each word."""

import zlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from sesa_env.search.encoder import Vectors
from sesa_env.search.tokenise import words

DIMENSION = 384


@lru_cache(maxsize=2**17)
def _word(word: str) -> Vectors:
    return np.random.default_rng(zlib.crc32(word.encode())).standard_normal(DIMENSION, np.float32)


class HashedWords:
    """Texts with words in common are near each other; nothing else is meant by it."""

    dimension = DIMENSION

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Encodes texts; see `sesa_env.search.encoder.Encoder`."""
        found = np.zeros((len(texts), DIMENSION), np.float32)
        for row, text in zip(found, texts, strict=True):
            for word in words(text) or [""]:
                row += _word(word)
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        return found

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Encodes texts likewise."""
        return self.encode_queries(texts)


def make() -> HashedWords:
    """Makes the encoder."""
    return HashedWords()
