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

_STEP = 10.0**-DECIMALS
_GROUP = 64


def best_of(scores: Scores, k: int) -> tuple[Scores, Places]:
    """Orders the whole corpus for one query.

    Args:
        scores: shape (corpus size,), unrounded.
        k: how many to keep.

    Returns:
        At most k rounded scores above zero, best first, ties by corpus order, and their places in the corpus.
    """
    # A score one step below the floor is below it after rounding too.
    (places,) = (scores > max(_floor(scores, k) - _STEP, _STEP / 2)).nonzero()
    found = np.round(scores[places], DECIMALS)
    order = np.argsort(-found, kind="stable")[:k]
    return found[order], places[order]


def _floor(scores: Scores, k: int) -> float:
    """Returns a score that at least k passages reach: the k-th of the groups' best. Far cheaper than the k-th of all."""
    groups = len(scores) // _GROUP
    if groups < k:
        return 0.0
    tops = scores[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0)
    return float(np.partition(tops, -k)[-k])


def as_passages(corpus: Corpus, scores: Scores, places: Places) -> list[Passage]:
    """Returns the passages at these places with these scores."""
    found = zip(map(corpus.__getitem__, places.tolist()), scores.tolist(), strict=True)
    return [Passage(passage.id, passage.title, passage.text, score) for passage, score in found]
