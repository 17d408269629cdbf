"""An encoder without a model: signed hashes of words. Named `tests.search.toy_encoder:make` where an encoder is asked for."""

import zlib

import numpy as np

from sesa_env.search.tokenise import words

DIMENSION = 32
encoded: list[str] = []
"""The passages encoded so far, over all tests."""


class ToyEncoder:
    dimension = DIMENSION

    def encode_queries(self, texts):
        return np.stack([_vector(text) for text in texts]) if texts else np.zeros((0, DIMENSION), np.float32)

    def encode_passages(self, texts):
        encoded.extend(texts)
        return self.encode_queries(texts)


def make():
    return ToyEncoder()


def _vector(text):
    vector = np.full(DIMENSION, 1e-3)
    for word in words(text):
        value = zlib.crc32(word.encode())
        vector[value % DIMENSION] += 1 if value >> 31 else -1
        vector[(value >> 8) % DIMENSION] += 1 if value >> 30 & 1 else -1
    return (vector / np.linalg.norm(vector)).astype(np.float32)
