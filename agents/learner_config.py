"""How one role learns: the settings of its learner, and what each algorithm's name stands for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from agents.objective import Aggregation, Baseline, Scale
from sesa_env.errors import ConfigError

Algorithm = Literal["grpo", "dr_grpo", "reinforce", "reinforce_moving", "reinforce++"]

RECIPES: dict[str, tuple[Baseline, Scale, Aggregation]] = {
    "grpo": ("group", "group", "token"),
    "dr_grpo": ("group", "none", "constant"),
    "reinforce": ("batch", "none", "token"),
    "reinforce_moving": ("moving", "none", "token"),
    "reinforce++": ("none", "tokens", "token"),
}
"""What each algorithm's name stands for: its baseline, its scale and its aggregation."""

_CHOICES = {
    "algorithm": tuple(RECIPES),
    "baseline": ("auto", *get_args(Baseline)),
    "scale": ("auto", *get_args(Scale)),
    "aggregation": ("auto", *get_args(Aggregation)),
    "on_nan": ("raise", "skip"),
}
_BOUNDS: dict[str, tuple[str, Callable[[float], bool]]] = {
    **dict.fromkeys(("constant_length", "mini_batches", "epochs", "micro_tokens"), ("at least 1", lambda value: value >= 1)),
    **dict.fromkeys(
        ("learning_rate", "warmup_steps", "weight_decay", "clip_low", "clip_high", "kl", "entropy"),
        ("0 or more", lambda value: value >= 0),
    ),
    **dict.fromkeys(("temperature", "max_grad_norm"), ("more than 0", lambda value: value > 0)),
    **dict.fromkeys(("moving_decay", "beta1", "beta2"), ("0 or more and below 1", lambda value: 0 <= value < 1)),
}


@dataclass(frozen=True)
class LearnerConfig:
    """How one role learns: JSON values only. Numbers without a remark are the usual ones of PPO."""

    algorithm: Algorithm = "grpo"
    """Names a row of `RECIPES`; the next three replace parts of it."""
    baseline: Baseline | Literal["auto"] = "auto"
    """What is subtracted from a reward: the mean of its `Sample.group`, of the batch, of earlier batches ("moving"), nothing.
    With "reinforce++", "group" is that paper's variant with a baseline."""
    scale: Scale | Literal["auto"] = "auto"
    """What an advantage is divided by: the standard deviation of its group's or the batch's rewards, that of all tokens'
    advantages (with their mean subtracted), or nothing."""
    aggregation: Aggregation | Literal["auto"] = "auto"
    """How tokens add up: mean over the batch's tokens, mean over the samples of their means, or over `constant_length`."""
    constant_length: int = 1024
    """Dr. GRPO's normaliser, in tokens: the most that a rollout may sample."""
    learning_rate: float = 1e-6
    """Of AdamW, after the warm-up. The paper's 1e-6 is for LLMs; a model of a million parameters takes 5e-4."""
    warmup_steps: int = 5
    """Optimiser steps over which the learning rate rises linearly (paper: 5)."""
    weight_decay: float = 0.0
    """Of AdamW."""
    beta1: float = 0.9
    """Of AdamW: how much of the mean gradient stays at each step."""
    beta2: float = 0.999
    """Of AdamW: how much of the mean squared gradient stays."""
    max_grad_norm: float = 1.0
    """Gradients of a larger norm are scaled down to it; `inf` leaves them as they are."""
    clip_low: float = 0.2
    """The ratio to the sampling policy earns nothing below 1 - clip_low."""
    clip_high: float = 0.285
    """Nor above 1 + clip_high (paper: 0.285)."""
    kl: float = 0.0
    """Coefficient of the KL to the reference model (paper: 0.01). A term of the loss by the low-variance estimator; with
    "reinforce++" a penalty in each token's return, as in that paper. 0 keeps no reference model."""
    kl_corrected: bool = False
    """Whether each token's KL in the loss is weighted by its ratio (arXiv 2512.02556, section 3.1; TRL's default), which makes
    the gradient an unbiased one of the KL. The paper's estimator is without."""
    entropy: float = 0.0
    """Coefficient of the bonus for the mean entropy of the sampled tokens (paper: none)."""
    temperature: float = 1.0
    """The sampler's: log-probabilities are those of the distribution that was drawn from."""
    moving_decay: float = 0.9
    """What a moving baseline keeps of itself at each update; the first update sets it to the batch's mean."""
    mini_batches: int = 1
    """Optimiser steps for one pass over the batch (paper: 256 samples in mini-batches of 128, so 2)."""
    epochs: int = 1
    """Passes over the batch."""
    micro_tokens: int = 16384
    """Padded ids of one forward pass: bounds memory, changes no result."""
    score_all: bool = True
    """Whether samples that ask for no gradient (advantage 0, no KL, no entropy bonus) are scored too. Without them an update is
    cheaper and the same; entropy, ratio and clip fraction then speak of the other samples only."""
    on_nan: Literal["raise", "skip"] = "raise"
    """At a loss or gradient that is not finite: raise `TrainingError`, or leave the step out and count it in `skipped`."""

    def __post_init__(self) -> None:
        """Refuses values that no update can have.

        Raises:
            ConfigError: says which value, what was expected and what came.
        """
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise ConfigError(f"{name}: expected one of {', '.join(known)}; got {getattr(self, name)!r}")
        for name, (expected, holds) in _BOUNDS.items():
            if not holds(getattr(self, name)):
                raise ConfigError(f"{name}: expected {expected}; got {getattr(self, name)}")

    @property
    def recipe(self) -> tuple[Baseline, Scale, Aggregation]:
        """Baseline, scale and aggregation, with what the algorithm's name stands for filled in."""
        baseline, scale, aggregation = RECIPES[self.algorithm]
        return (
            baseline if self.baseline == "auto" else self.baseline,
            scale if self.scale == "auto" else self.scale,
            aggregation if self.aggregation == "auto" else self.aggregation,
        )
