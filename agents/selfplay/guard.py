"""What stops a run or brings it back: a Challenger that poses no valid questions any more (paper, section 3)."""

import logging
from collections.abc import Callable

from agents.selfplay.config import GuardConfig
from sesa_env.errors import SesaError

_log = logging.getLogger(__name__)


class CollapseError(SesaError):
    """The Challenger has collapsed and the configuration says to stop."""


class ValidRate:
    """Watches the share of new valid questions; duplicates are none.

    Args:
        config: what is bad, and what to do.
        model: the run's start policy, for the advice.
        cold: whether that may not know the game's protocol; asked when the Challenger has collapsed.

    Attributes:
        bad: bad steps in a row, up to now.
    """

    def __init__(self, config: GuardConfig, model: str = "MODEL", cold: Callable[[], bool] = lambda: False) -> None:
        self._config, self._model, self._cold = config, model, cold
        self.bad = 0

    @property
    def healthy(self) -> bool:
        """Whether the last step was a good one."""
        return self.bad == 0

    def see(self, step: int, valid: int, proposed: int) -> bool:
        """Looks at a step.

        Args:
            step: the step.
            valid: its valid questions, each counted once.
            proposed: its proposals.

        Returns:
            True when the Challenger must go back to a healthy checkpoint; counting then begins anew.

        Raises:
            CollapseError: it has collapsed and the configuration says to stop.
        """
        if not proposed:
            return False
        if not valid:
            _log.warning("step %d: none of %d questions is valid and new", step, proposed)
        self.bad = self.bad + 1 if valid < self._config.valid_rate * proposed or not valid else 0
        if self.bad < self._config.patience:
            return False
        said = (
            f"step {step}: the Challenger has collapsed: in {self.bad} steps in a row fewer than {self._config.valid_rate:.0%} "
            f"of its questions were valid and new"
        )
        if self._config.on_collapse == "stop":
            raise CollapseError(
                f"{said}; look at the reject reasons in the metrics, and {self._warm_start() if self._cold() else ''}begin "
                "another run in which invalid questions cost more (rules.reward.invalid), or let the Challenger go back to a "
                "healthy checkpoint: --resume --set guard.on_collapse=recover"
            )
        if self._config.on_collapse == "warn":
            if self.bad % self._config.patience == 0:
                _log.error("%s; the run goes on as it is", said)
            return False
        _log.error("%s; it goes back to its newest healthy checkpoint", said)
        self.bad = 0
        return True

    def _warm_start(self) -> str:
        return (
            f"if {self._model} has not learnt the protocol yet, give it a warm start first: python -m agents.warmstart --model "
            f"{self._model} --out WARM, and another run begun with --model WARM; else "
        )
