"""Float32 copies of weights that are kept in less, for the optimiser to step on.

A bfloat16 number has 8 significant bits: at a learning rate of 1e-6 a step is far below half a unit in the last place of most
weights, and rounding would undo it, every time. The optimiser steps on the copies, and the weights are these, rounded.
"""

from weakref import WeakKeyDictionary

import torch

from sesa_env.errors import ConfigError

_OF: "WeakKeyDictionary[torch.nn.Module, Masters]" = WeakKeyDictionary()


class Masters:
    """What the optimiser steps on: the float32 copies, and as they are the parameters that need none.

    Args:
        model: whose parameters are trained: those that ask for gradients.

    Attributes:
        parameters: one for each trained parameter, in the model's order.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.parameters = [one if one.itemsize >= 4 else torch.nn.Parameter(one.detach().float()) for one in trained]
        pairs = zip(trained, self.parameters, strict=True)
        self._pairs = [(weight, master) for weight, master in pairs if master is not weight]

    @classmethod
    def of(cls, model: torch.nn.Module) -> "Masters":
        """Returns a model's masters: one set, so that learners which share a model lose nothing of each other's."""
        if model not in _OF:
            _OF[model] = cls(model)
        return _OF[model]

    @torch.no_grad()
    def follow(self) -> None:
        """Takes over weights that were set from outside, for example loaded: where a copy does not round to its weight."""
        for weight, master in self._pairs:
            master.copy_(torch.where(master.to(weight.dtype) == weight, master, weight.float()))

    @torch.no_grad()
    def take_gradients(self) -> None:
        """Adds the weights' gradients to the copies', in float32, and clears the weights'."""
        for weight, master in self._pairs:
            if weight.grad is not None:
                fresh = weight.grad.float()
                master.grad = fresh if master.grad is None else master.grad.add_(fresh)
                weight.grad = None

    @torch.no_grad()
    def write_back(self) -> None:
        """Sets the weights to their copies, rounded."""
        for weight, master in self._pairs:
            weight.copy_(master)

    def state(self) -> list[torch.Tensor]:
        """Returns the copies, for a checkpoint; none where all weights are in float32."""
        return [master.detach() for _, master in self._pairs]

    @torch.no_grad()
    def load(self, state: list[torch.Tensor]) -> None:
        """Takes copies that `state` gave.

        Raises:
            ConfigError: they are those of other parameters.
        """
        if [found.shape for found in state] != [master.shape for _, master in self._pairs]:
            raise ConfigError(f"a learner's masters: expected those of {len(self._pairs)} weights of this model's shapes")
        for (_, master), found in zip(self._pairs, state, strict=True):
            master.copy_(found)
