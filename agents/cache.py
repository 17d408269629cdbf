"""A key-value cache for rows of unequal length, kept from turn to turn.

A row's k-th id stands in column k, whatever the other rows hold, so there are no gaps to mask and positions are columns. New
ids are written where they belong; reading is a view of the first columns. The dynamic cache of transformers concatenates,
which copies everything at every token.
"""

from collections.abc import Sequence
from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

_STEP = 256  # columns by which a cache grows


class Window:
    """Where the next forward pass writes and how far it reads; shared by all layers of a cache.

    Attributes:
        start, stop: the rows that the pass is about, [start, stop).
        width: columns that it reads.
        capacity: columns that the cache holds. One more is kept for padding, which nobody reads.
    """

    def __init__(self) -> None:
        self.start = self.stop = self.width = self.capacity = 0
        self._places = torch.empty(0, 0, dtype=torch.long)
        self._index: dict[int, torch.Tensor] = {}

    def open(self, columns: torch.Tensor, width: int, start: int = 0) -> None:
        """Says where the next ids belong.

        Args:
            columns: [rows, new ids]; below 0 for padding.
            width: columns to read: the greatest of `columns`, plus one.
            start: the first row.
        """
        self.start, self.stop, self.width = start, start + len(columns), width
        self._places = torch.where(columns < 0, self.capacity, columns)
        self._index.clear()

    def index(self, heads: int) -> torch.Tensor:
        """The places of the next ids in a buffer of [rows * heads * (capacity + 1), dimension]."""
        if heads not in self._index:
            lanes = torch.arange(self.start * heads, self.stop * heads, device=self._places.device).view(-1, heads, 1)
            self._index[heads] = (lanes * (self.capacity + 1) + self._places[:, None]).flatten()
        return self._index[heads]


class RaggedLayer(CacheLayerMixin):  # type: ignore[no-untyped-call]  # as transformers left it
    """Keys and values of one layer, [all rows, heads, capacity + 1, dimension]."""

    is_sliding = False
    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self, window: Window) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # as transformers left it
        self.window = window
        self.rows = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Allocates zeros: what was never written takes part in attention with weight 0, and so must be finite."""
        self.keys, self.values = (
            states.new_zeros(self.rows, states.shape[1], self.window.capacity + 1, states.shape[3])
            for states in (key_states, value_states)
        )
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Writes [rows, heads, new ids, dimension] into the window; returns what the pass reads."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        window, index = self.window, self.window.index(key_states.shape[1])
        for buffer, states in ((self.keys, key_states), (self.values, value_states)):
            buffer.view(-1, buffer.shape[-1]).index_copy_(0, index, states.reshape(-1, buffer.shape[-1]))
        rows, columns = slice(window.start, window.stop), slice(window.width)
        return self.keys[rows, :, columns], self.values[rows, :, columns]

    def get_seq_length(self) -> int:
        """Of no consequence: positions and mask are always given."""
        return 0

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """The length and offset of the mask."""
        return self.window.width, 0

    def get_max_length(self) -> int:
        """No limit: the cache grows."""
        return -1

    get_max_cache_shape = get_max_length  # its name in earlier versions of transformers


class RaggedCache(Cache):
    """The cache of a batch of rows.

    Args:
        layers: layers of the model.
    """

    def __init__(self, layers: int) -> None:
        self.window = Window()
        self._ragged = [RaggedLayer(self.window) for _ in range(layers)]
        super().__init__(layers=list(self._ragged))

    @property
    def capacity(self) -> int:
        """Columns that there is room for."""
        return self.window.capacity

    def allot(self, rows: int, capacity: int) -> None:
        """Says how much an empty cache is to hold, at least."""
        self.window.capacity = _rounded(capacity)
        for layer in self._ragged:
            layer.rows = rows

    def reserve(self, capacity: int) -> None:
        """Makes room for so many columns, if there is less."""
        if capacity > self.capacity:
            self.select(range(len(self._ragged[0].keys)), self.capacity, capacity)

    def select(self, rows: Sequence[int], used: int, capacity: int) -> None:
        """Keeps these rows in this order, one several times if it is named so.

        Args:
            rows: the rows to keep.
            used: their columns that are worth keeping: the first ones.
            capacity: columns to have room for, at least.
        """
        if capacity > self.capacity:
            self.window.capacity = _rounded(capacity)
        for layer in self._ragged:
            index = torch.tensor(rows, device=layer.keys.device)
            columns = self.capacity + 1
            layer.keys, layer.values = (_arranged(buffer, index, used, columns) for buffer in (layer.keys, layer.values))

    def swap(self, first: Sequence[int], second: Sequence[int]) -> None:
        """Swaps rows pairwise."""
        if not first:
            return
        device = self._ragged[0].keys.device
        onto, source = torch.tensor([*first, *second], device=device), torch.tensor([*second, *first], device=device)
        for layer in self._ragged:
            for buffer in (layer.keys, layer.values):
                used = buffer[:, :, : self.window.width]  # by the last pass, so by all that the swapped rows hold
                used.index_copy_(0, onto, used.index_select(0, source))


def _rounded(capacity: int) -> int:
    return -(-capacity // _STEP) * _STEP


def _arranged(buffer: torch.Tensor, rows: torch.Tensor, used: int, columns: int) -> torch.Tensor:
    """Puts the first columns of some rows in front, in a larger buffer if need be."""
    kept = buffer[:, :, :used].index_select(0, rows)
    if len(rows) > len(buffer) or columns > buffer.shape[2]:
        buffer = buffer.new_zeros(len(rows), buffer.shape[1], columns, buffer.shape[3])
    buffer[: len(rows), :, :used] = kept
    return buffer
