"""Common words weigh next to nothing in BM25, and adding them up is most of the work of a question.

So the rare words are added up for the whole corpus, and the common ones only for the few passages that can still be among the
best with all that the common ones may give them. The answers are those of adding up everything.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sesa_env.search.postings import Postings
from sesa_env.search.ranking import Places

PASSAGES_A_HIT = 2**12
"""Pruning pays where the corpus has so many passages for each hit that is wanted: else too many passages are left over."""

POSTINGS = 2**14
"""Likewise, where so many postings are left out: fewer are added up as fast as a few passages are looked up in them."""

COMMON_SHARE = 0.05
"""How much of the greatest possible score of a query its common words may make up. More leaves out more postings, and leaves
more passages over: twice as much is about as fast on real questions and on MiniWiki's."""

_LAST_BITS = 2e-7
"""Share of a sum that an addition in single precision may be off by, and that a stored score may be off by."""


class Column(NamedTuple):
    """A term of an index: how many passages hold it, where its postings begin, and its number."""

    holding: int
    start: int
    number: int


Columns: TypeAlias = Sequence[Column]


def by_rarity(postings: Postings, numbers: Sequence[int]) -> list[Column]:
    """Returns the terms of these numbers, the rarest first: the order in which their scores are added up."""
    starts = [(number, int(postings.indptr[number]), int(postings.indptr[number + 1])) for number in numbers]
    return sorted(Column(end - start, start, number) for number, start, end in starts)


def split(columns: Columns, passages: int) -> tuple[int, float]:
    """Divides the terms of a query into rare and common ones.

    Args:
        columns: by rarity.
        passages: how many the corpus has.

    Returns:
        How many are rare, all of them where leaving out the others would not pay; and how much the others can add to a score.
    """
    # No score is above the term's inverse document frequency: the factor that counts occurrences is below 1.
    weights = [math.log(1 + (passages - column.holding + 0.5) / (column.holding + 0.5)) for column in columns]
    whole, more, rare = sum(weights), 0.0, len(columns)
    while more + weights[rare - 1] <= COMMON_SHARE * whole:
        rare -= 1
        more += weights[rare]
    common = columns[rare:]
    if sum(column.holding for column in common) < POSTINGS:
        return len(columns), 0.0
    return rare, more + len(common) * _LAST_BITS * whole


def add_common(scores: npt.NDArray[np.floating], places: Places, postings: Postings, common: Columns) -> None:
    """Adds the scores of common terms to those of some passages.

    Args:
        scores: of the passages, without the common terms; changed.
        places: of the passages.
        postings: the index.
        common: the terms.
    """
    wanted = places.astype(np.int32)  # of the indices' type: else all of them would be converted
    for holding, start, _ in common:
        held = postings.indices[start : start + holding]
        at = held.searchsorted(wanted)
        found = postings.data[start : start + holding].take(at, mode="clip")
        scores += found * (held.take(at, mode="clip") == wanted)
