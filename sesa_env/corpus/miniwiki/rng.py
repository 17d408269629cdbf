"""Hash-based randomness: the same numbers on every platform, under every hash seed and every numpy version."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_M1 = 0xBF58476D1CE4E5B9
_M2 = 0x94D049BB133111EB


def derive(*parts: int | str) -> int:
    """Derives a 64-bit key from numbers and names; different parts give independent keys."""
    payload = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts).encode()
    return int.from_bytes(hashlib.blake2b(payload, digest_size=8).digest(), "big")


def mix(value: int) -> int:
    """Scrambles a 64-bit number (the finaliser of splitmix64)."""
    value = (value + _GOLDEN) & _MASK
    value = ((value ^ (value >> 30)) * _M1) & _MASK
    value = ((value ^ (value >> 27)) * _M2) & _MASK
    return value ^ (value >> 31)


def mixed(key: int, count: int) -> npt.NDArray[np.uint64]:
    """Returns `mix(key + i)` for i in 0 .. count - 1, as a uint64 array of shape (count,)."""
    values = np.arange(count, dtype=np.uint64) + np.uint64((key + _GOLDEN) & _MASK)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(_M1)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(_M2)
    return values ^ (values >> np.uint64(31))


class Stream:
    """A sequence of random choices named by the parts that it is made from."""

    def __init__(self, *parts: int | str) -> None:
        self._state = derive(*parts)

    def below(self, bound: int) -> int:
        """Returns an integer in [0, bound)."""
        self._state = (self._state + _GOLDEN) & _MASK
        return mix(self._state) % bound

    def unit(self) -> float:
        """Returns a number in [0, 1)."""
        return self.below(1 << 53) / (1 << 53)

    def pick(self, options: Sequence[T]) -> T:
        """Returns one of the options, each equally likely."""
        return options[self.below(len(options))]

    def pick_weighted(self, options: Sequence[T], weights: Sequence[float]) -> T:
        """Returns one of the options, in proportion to its weight; at least one weight must be positive."""
        point = self.unit() * sum(weights)
        for option, weight in zip(options, weights, strict=True):
            point -= weight
            if point < 0:
                return option
        return next(option for option, weight in zip(reversed(options), reversed(weights), strict=True) if weight > 0)

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """Returns the options in random order (Fisher and Yates)."""
        order = list(options)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order
