"""The order of hits, shared by every backend: by score, ties by corpus order, also at the last place."""

from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from sesa_env.search.base import Corpus
from sesa_env.types import Passage

Scores = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

Ranked: TypeAlias = tuple[Scores, Places]
"""Scores, best first, and the places in the corpus that have them."""

DECIMALS = 6
"""Scores are compared to this many decimals. Sums of the same weights in another order differ in the last bits of a float;
without rounding they would order equally good passages by chance, and each backend in its own way."""

_STEP = 10.0**-DECIMALS
_GROUP = 64
_FEW = 256  # one in so many passages


@runtime_checkable
class Ranker(Protocol):
    """A retriever over a corpus at hand, which can say places without fetching passages: what others are combined from."""

    @property
    def fingerprint(self) -> str:
        """As in `Retriever`."""
        ...

    @property
    def corpus(self) -> Corpus:
        """The passages."""
        ...

    def search(self, queries: list[str], k: int) -> list[list[Passage]]:
        """As in `Retriever`."""
        ...

    def rank(self, queries: list[str], k: int) -> list[Ranked]:
        """Answers as `search` does, with scores and places in place of passages."""
        ...


def nothing() -> Ranked:
    """Returns the answer to a query that nothing matches."""
    return np.zeros(0, np.float64), np.zeros(0, np.int64)


def best_of(scores: Scores, k: int) -> Ranked:
    """Orders the whole corpus for one query.

    Args:
        scores: shape (corpus size,), unrounded.
        k: how many to keep.

    Returns:
        At most k rounded scores above zero, best first, ties by corpus order, and their places in the corpus.
    """
    # A score one step below the floor is below it after rounding too.
    (places,) = (scores > max(_floor(scores, k) - _STEP, _STEP / 2)).nonzero()
    found = scores[places].astype(np.float64).round(DECIMALS)
    order = (-found).argsort(kind="stable")[:k]
    return found[order], places[order]


def may_be_best(scores: Scores, k: int, more: float) -> Places | None:
    """Finds the passages that can still be among the best when all that a score lacks has been added.

    Args:
        scores: shape (corpus size,), unrounded; each lacks at least 0 and at most `more`.
        k: how many are wanted.
        more: see `scores`.

    Returns:
        Places in corpus order, the best k of the whole scores among them; None where they are more than a few.
    """
    floor = _floor(scores, k) - more - 2 * _STEP  # two: one as in `best_of`, one for the last bits of the sums
    if floor <= 0:
        return None
    (places,) = (scores > floor).nonzero()
    return places if len(places) <= len(scores) // _FEW else None


def in_order(scores: npt.NDArray[Any], places: npt.NDArray[Any], k: int, decimals: int = DECIMALS) -> Ranked:
    """Orders hits that were found some other way.

    Args:
        scores: shape (hits,), unrounded.
        places: shape (hits,), in the corpus.
        k: how many to keep.
        decimals: to how many decimals scores are compared.

    Returns:
        At most k rounded scores, best first, ties by corpus order, and their places.
    """
    rounded = scores.astype(np.float64).round(decimals)
    order = np.lexsort((places, -rounded))[:k]
    return rounded[order], places[order].astype(np.int64)


def _floor(scores: Scores, k: int) -> float:
    """Returns a score that at least k passages reach: the k-th of the groups' best. Far cheaper than the k-th of all."""
    groups = len(scores) // _GROUP
    if groups < k:
        return 0.0
    tops = scores[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0)
    tops.partition(groups - k)
    return float(tops[groups - k])


def as_passages(corpus: Corpus, scores: Scores, places: Places) -> list[Passage]:
    """Returns the passages at these places with these scores."""
    found = zip(map(corpus.__getitem__, places.tolist()), scores.tolist(), strict=True)
    return [Passage(passage.id, passage.title, passage.text, score) for passage, score in found]
