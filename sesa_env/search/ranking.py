"""The order of hits, shared by every BM25 backend: by score, ties by corpus order, also at the last place."""

import numpy as np
import numpy.typing as npt

from sesa_env.search.base import Corpus
from sesa_env.types import Passage

Scores = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

DECIMALS = 6
"""Scores are compared to this many decimals. Sums of the same weights in another order differ in the last bits of a float;
without rounding they would order equally good passages by chance, and each backend in its own way."""

_ZERO = 0.5 * 10.0**-DECIMALS
"""What rounds to zero."""


def best_of(scores: Scores, k: int) -> tuple[Scores, Places]:
    """Orders the whole corpus for one query.

    Args:
        scores: shape (corpus size,), unrounded.
        k: how many to keep.

    Returns:
        At most k rounded scores above zero, best first, ties by corpus order, and their places in the corpus.
    """
    places = np.flatnonzero(scores > _ZERO)  # first, since to partition an array of zeros is slow
    found = np.round(scores[places], DECIMALS)
    if k < len(found):
        kept = found >= np.partition(found, -k)[-k]
        found, places = found[kept], places[kept]
    order = np.lexsort((places, -found))[:k]
    return found[order], places[order]


def best_of_each(scores: Scores, places: Places, k: int) -> tuple[list[int], Scores, Places]:
    """Orders the best passages of several queries, where they are known already.

    Args:
        scores: shape (queries, n), rounded.
        places: shape (queries, n), their places in the corpus.
        k: how many to keep.

    Returns:
        How many passages each query keeps, and (queries, k) scores and places of which each row's first so many count.
    """
    order = np.lexsort((places, -scores), axis=-1)[:, :k]
    scores, places = np.take_along_axis(scores, order, axis=-1), np.take_along_axis(places, order, axis=-1)
    return (scores > 0).sum(axis=-1).tolist(), scores, places


def as_passages(corpus: Corpus, scores: Scores, places: Places) -> list[Passage]:
    """Returns the passages at these places with these scores."""
    found = zip(map(corpus.__getitem__, places.tolist()), scores.tolist(), strict=True)
    return [Passage(passage.id, passage.title, passage.text, score) for passage, score in found]
