"""Data-parallel processes as the learner sees them: gather what decides the loss, sum gradients, start from the same weights.

Gradients are summed after all micro-batches of a step instead of averaged in each backward pass: a process may then have more
micro-batches than another, or none, and the sum is that of one process with the whole batch.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from accelerate import Accelerator


class Processes:
    """The processes that train one policy together.

    Args:
        accelerator: of accelerate, made under `torchrun`; None for a single process.
    """

    def __init__(self, accelerator: "Accelerator | None" = None) -> None:
        self._many = accelerator is not None and accelerator.num_processes > 1
        self.rank = accelerator.process_index if accelerator is not None else 0

    def gather(self, items: list[Any]) -> list[Any]:
        """Everyone's items, in the order of the processes."""
        if not self._many:
            return items
        gathered: list[list[Any]] = [[] for _ in range(torch.distributed.get_world_size())]
        torch.distributed.all_gather_object(gathered, items)
        return [item for part in gathered for item in part]

    def before(self, count: int) -> int:
        """How many items the earlier processes have, each calling this with its own count."""
        return int(sum(self.gather([count])[: self.rank]))

    def sum(self, tensor: torch.Tensor) -> None:
        """Replaces the tensor by its sum over the processes."""
        if self._many:
            torch.distributed.all_reduce(tensor)

    def sum_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replaces each gradient by its sum over the processes; a process without samples has zeros."""
        if not self._many:
            return
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            torch.distributed.all_reduce(parameter.grad)

    def same_weights(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Gives every process the first one's weights."""
        if self._many:
            for parameter in parameters:
                torch.distributed.broadcast(parameter.data, src=0)
