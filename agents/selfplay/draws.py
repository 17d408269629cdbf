"""Every random choice of the loop is a function of (seed, stream, step): nothing is remembered, so nothing is stored."""

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class Stream(IntEnum):
    """What a draw is for. Each purpose has a stream of its own, so that one more draw here changes nothing there."""

    ORDER = 1
    GAMES = 2
    CHALLENGER = 3
    SOLVER = 4
    CARDS = 5
    POOL = 6
    QUESTIONS = 7
    LEAK = 8


BEFORE_TRAINING = 1 << 40
"""The step of the bootstrap phase: no training step has its draws."""


def generator(seed: int, stream: Stream, step: int) -> np.random.Generator:
    """Returns the generator of one purpose at one step."""
    return np.random.default_rng((seed, int(stream), step))


def seeds(seed: int, stream: Stream, step: int, count: int) -> list[int]:
    """Draws `count` seeds, each in [0, 2**62)."""
    return [int(number) for number in generator(seed, stream, step).integers(2**62, size=count)]


def in_turn(pool: Sequence[T], seed: int, step: int, count: int) -> list[T]:
    """Takes a step's share of a pool that is gone through epoch by epoch, each epoch in an order of its own.

    Args:
        pool: what is drawn from; not empty.
        seed: the run's seed.
        step: from 0; steps take `count` items each, one after the other.
        count: how many items.

    Returns:
        The items. No item comes twice within an epoch; a step may stand across the border of two.
    """
    first, size = step * count, len(pool)
    epochs = range(first // size, math.ceil((first + count) / size))
    order = np.concatenate([generator(seed, Stream.ORDER, epoch).permutation(size) for epoch in epochs])
    start = first - epochs.start * size
    return [pool[int(place)] for place in order[start : start + count]]
