"""The callback that looks at a stable-baselines3 agent while it learns. Importing this needs the extra `sb3`."""

from collections.abc import Callable

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback


class Evaluation(BaseCallback):
    """Calls a function before the first step, then whenever so many steps have been made, and on the agent that comes out.

    Args:
        evaluate: is given the agent; it must not step its environment.
        every: steps from one call to the next; at least 1.
        steps: of the whole training. It may make a few more, and learns from the last of them: the last call comes after that.
    """

    def __init__(self, evaluate: Callable[[BaseAlgorithm], None], every: int, steps: int) -> None:
        super().__init__()
        self._evaluate = evaluate
        self._every = every
        self._steps = steps
        self._next = 0

    def _on_training_start(self) -> None:
        self._look()

    def _on_step(self) -> bool:
        if self._next <= self.num_timesteps < self._steps:
            self._look()
        return True

    def _on_training_end(self) -> None:
        self._look()

    def _look(self) -> None:
        self._evaluate(self.model)
        self._next = (self.num_timesteps // self._every + 1) * self._every
