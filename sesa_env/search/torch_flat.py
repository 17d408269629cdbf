"""Exact search on a GPU: all vectors are held there in float16, and multiplied with the queries by torch.

The products find candidates; their scores are then worked out from the vectors' file, as for every kind of index, so a GPU
changes no score.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from sesa_env.errors import missing_extra
from sesa_env.search.vectors import Rows

ROWS_AT_ONCE = 2**20
QUERIES_AT_ONCE = 256
"""With the rows at once: half a gigabyte of products."""


def gpu_there() -> bool:
    """Tells whether torch finds a CUDA device."""
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


class TorchFlat:
    """Vectors on a device; it is asked as an index of FAISS is.

    Args:
        rows: the vectors: float16, shape (passages, dimension).
        device: as torch names it; the vectors take two bytes a number there.

    Attributes:
        ntotal: how many vectors there are.
        d: their length.

    Raises:
        ConfigError: torch is not installed.
    """

    def __init__(self, rows: Rows, device: str = "cuda") -> None:
        try:
            import torch
        except ImportError as error:
            raise missing_extra("torch", "dense") from error
        self.ntotal, self.d = rows.shape
        self._torch, self._device = torch, device
        self._rows = torch.empty(rows.shape, dtype=torch.float16, device=device)
        for start in range(0, self.ntotal, ROWS_AT_ONCE):
            block = np.array(rows[start : start + ROWS_AT_ONCE])  # a copy: torch takes no read-only memory
            self._rows[start : start + len(block)] = torch.from_numpy(block)

    def search(self, queries: npt.NDArray[np.float32], k: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        """Returns products and places of the best k of each query, best first: two arrays of shape (queries, k)."""
        parts = [self._best(queries[at : at + QUERIES_AT_ONCE], k) for at in range(0, len(queries), QUERIES_AT_ONCE)]
        scores, places = zip(*parts, strict=True)
        return np.concatenate(scores), np.concatenate(places)

    def _best(self, queries: npt.NDArray[np.float32], k: int) -> tuple[Any, Any]:
        asked = self._torch.from_numpy(queries).to(self._device, self._torch.float16)
        scores, places = [], []
        for start in range(0, self.ntotal, ROWS_AT_ONCE):
            products = asked @ self._rows[start : start + ROWS_AT_ONCE].T
            found, where = products.topk(min(k, products.shape[1]), dim=1)
            scores.append(found)
            places.append(where + start)
        found, order = self._torch.cat(scores, 1).topk(min(k, self.ntotal), dim=1)
        return found.float().cpu().numpy(), self._torch.cat(places, 1).gather(1, order).cpu().numpy()
