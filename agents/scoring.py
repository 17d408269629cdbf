"""Log-probabilities of sampled ids under a model: rows packed by length, the head applied to the sampled positions only."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from sesa_env.errors import ConfigError


@dataclass(slots=True)
class Row:
    """The ids of one rollout up to its last sampled one, and which of them were sampled."""

    ids: np.ndarray[Any, np.dtype[np.int64]]
    """Shape (length,)."""
    positions: np.ndarray[Any, np.dtype[np.int64]]
    """Where the sampled ids are, ascending; shape (tokens,). Empty where nothing was sampled."""

    @classmethod
    def of(cls, ids: Sequence[int], sampled: Sequence[bool]) -> "Row":
        """Builds the row. What follows the last sampled id takes no part in any log-probability.

        Raises:
            ConfigError: the mask has another length, or the first id is marked as sampled: nothing precedes it.
        """
        if len(ids) != len(sampled):
            raise ConfigError(f"a rollout's mask: expected one value an id ({len(ids)}); got {len(sampled)}")
        positions = np.flatnonzero(np.asarray(sampled, dtype=bool))
        if positions.size and positions[0] == 0:
            raise ConfigError("a rollout's mask: expected a prompt of at least one id before the first sampled one; got none")
        return cls(np.asarray(ids[: positions[-1] + 1] if positions.size else [], dtype=np.int64), positions)

    @property
    def length(self) -> int:
        """Ids that a forward pass reads: the last sampled one is predicted, not read."""
        return max(len(self.ids) - 1, 0)


def pack(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Cuts rows into micro-batches of at most `budget` padded ids, longest first, so that little of a batch is padding.

    A row longer than the budget is a batch by itself. Rows of length 0 are left out: there is nothing to score.

    Returns:
        Indices into `lengths`, a list a micro-batch.
    """
    batches: list[list[int]] = []
    for index in sorted((i for i, length in enumerate(lengths) if length), key=lambda i: (-lengths[i], i)):
        if not batches or (len(batches[-1]) + 1) * lengths[batches[-1][0]] > budget:
            batches.append([])
        batches[-1].append(index)
    return batches


def log_probabilities(
    model: torch.nn.Module, rows: Sequence[Row], temperature: float = 1.0, *, entropy_gradient: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores the sampled ids of one micro-batch.

    Rows are padded on the right and the model is causal, so no id sees padding and no attention mask is needed.

    Args:
        model: a causal LM of transformers, or a PeftModel over one.
        rows: none of length 0.
        temperature: the logits are divided by it, as the sampler did.
        entropy_gradient: whether the entropy takes part in a loss.

    Returns:
        Log-probabilities and entropies (nats) in float32, shape (tokens,), in the order of rows and positions.
    """
    device = next(model.parameters()).device
    width = max(row.length for row in rows)
    ids = np.zeros((len(rows), width), dtype=np.int64)
    for line, row in zip(ids, rows, strict=True):
        line[: row.length] = row.ids[:-1]
    flat = np.concatenate([number * width + row.positions - 1 for number, row in enumerate(rows)])
    targets = torch.from_numpy(np.concatenate([row.ids[row.positions] for row in rows])).to(device)
    with _head_at(model, torch.from_numpy(flat).to(device)):
        logits = model(input_ids=torch.from_numpy(ids).to(device), use_cache=False).logits.float()
    everything = torch.log_softmax(logits if temperature == 1.0 else logits / temperature, dim=-1)
    with torch.set_grad_enabled(torch.is_grad_enabled() and entropy_gradient):
        entropy = -(everything.exp() * everything).sum(-1)
    return everything.gather(-1, targets.unsqueeze(-1)).squeeze(-1), entropy


@contextmanager
def _head_at(model: torch.nn.Module, positions: torch.Tensor) -> Iterator[None]:
    """Within it the model's head reads only these positions of the flattened batch: logits have shape (positions, vocabulary).

    A hook rather than `logits_to_keep`, which keeps the same columns of every row, and rather than calling backbone and head
    apart, which would leave out what a model's own forward pass does to its logits (scaling, capping).
    """
    head = model.get_output_embeddings()  # type: ignore[operator]  # every causal LM of transformers has it
    if not isinstance(head, torch.nn.Module):
        raise ConfigError(f"expected a causal language model with an output head; got {type(model).__name__} without one")
    handle = head.register_forward_pre_hook(lambda _, inputs: (inputs[0].flatten(0, 1).index_select(0, positions), *inputs[1:]))
    try:
        yield
    finally:
        handle.remove()


@torch.no_grad()
def score(
    model: torch.nn.Module, rows: Sequence[Row], temperature: float = 1.0, micro_tokens: int = 16384
) -> list[torch.Tensor]:
    """Scores rows of any number without gradient.

    Args:
        model: as for `log_probabilities`.
        rows: some may be of length 0.
        temperature: as the sampler's.
        micro_tokens: padded ids of one forward pass.

    Returns:
        Log-probabilities of each row's sampled ids, shape (tokens,), in the order of the rows.
    """
    device = next(model.parameters()).device
    scored = [torch.zeros(0, device=device) for _ in rows]
    for batch in pack([row.length for row in rows], micro_tokens):
        logprobs, _ = log_probabilities(model, [rows[index] for index in batch], temperature)
        for index, part in zip(batch, torch.split(logprobs, [len(rows[index].positions) for index in batch]), strict=True):
            scored[index] = part
    return scored
