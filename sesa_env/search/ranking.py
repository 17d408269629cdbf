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


def best(scores: Scores, places: Places, k: int) -> tuple[Scores, Places]:
    """Orders scored passages.

    Args:
        scores: shape (n,), the scores of the passages at `places`, rounded to `DECIMALS`.
        places: shape (n,), their places in the corpus.
        k: how many to keep.

    Returns:
        At most k scores above zero, best first, ties by corpus order, and their places.
    """
    hit = scores > 0
    scores, places = scores[hit], places[hit]
    order = np.lexsort((places, -scores))[:k]
    return scores[order], places[order]


def best_of_all(scores: Scores, k: int) -> tuple[Scores, Places]:
    """Orders the whole corpus.

    Args:
        scores: shape (corpus size,), unrounded.
        k: how many to keep.

    Returns:
        As `best`.
    """
    scores = np.round(scores, DECIMALS)
    floor = np.partition(scores, -k)[-k] if k < len(scores) else 0.0
    places = np.flatnonzero(scores >= floor)
    return best(scores[places], places, k)


def as_passages(corpus: Corpus, scores: Scores, places: Places) -> list[Passage]:
    """Returns the passages at these places with these scores."""
    found = zip(map(corpus.__getitem__, places.tolist()), scores.tolist(), strict=True)
    return [Passage(passage.id, passage.title, passage.text, score) for passage, score in found]
