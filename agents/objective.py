"""What the learner optimises, as pure functions: advantages, the clipped surrogate, the KL to a reference, aggregation.

Advantages are numpy arrays over the samples (or sampled tokens) of the whole batch, in every process the same. Losses are torch
tensors over the sampled tokens of a micro-batch, flat: shape (tokens,). Each function names the equation that it implements.

| algorithm | baseline | scale | source |
|---|---|---|---|
| GRPO | group mean | group standard deviation | arXiv 2402.03300, section 4.1.2 |
| Dr. GRPO | group mean | none | arXiv 2503.20783, section 3.2 |
| REINFORCE | mean of the batch, or of its history | none | Williams 1992 |
| REINFORCE++ | none, or group mean | mean and standard deviation over the batch's tokens | arXiv 2501.03262 |
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

Baseline = Literal["group", "batch", "moving", "none"]
Scale = Literal["group", "batch", "tokens", "none"]
Aggregation = Literal["token", "sequence", "constant"]
Floats = NDArray[np.float64]

GROUP_EPSILON = 1e-4
"""Added to a standard deviation of rewards, as TRL does: rewards are of order one."""
WHITEN_EPSILON = 1e-8
"""Added to the standard deviation over tokens in REINFORCE++."""


def advantages(
    rewards: Sequence[float],
    groups: Sequence[int],
    counted: Sequence[bool],
    *,
    baseline: Baseline,
    scale: Scale,
    moving: float = 0.0,
) -> Floats:
    """How much better each sample did than its baseline, in units of `scale`.

    Args:
        rewards: of each sample.
        groups: the group id of each sample: the attempts at one question, or what the caller compares with one another.
        counted: whether the sample's reward takes part in means and deviations. A rollout that is scored again does not, since
            it was counted when it was sampled; where a group holds nothing else, all of it is counted.
        baseline: what is subtracted: the mean of the group or of the batch, `moving`, or nothing.
        scale: what divides: the standard deviation (unbiased) of the group or of the batch, or nothing. "tokens" divides
            nothing here: it is `whiten`, on tokens.
        moving: the mean of earlier batches, for the baseline of that name.

    Returns:
        One advantage a sample. Where the counted rewards of a group (of the batch) do not differ there is nothing to learn from
        the comparison, and the advantage is exactly 0.
    """
    values = np.asarray(rewards, dtype=np.float64)
    labels = {"group": np.asarray(groups, dtype=np.int64), "batch": np.zeros(len(values), dtype=np.int64)}
    result = values.copy()
    if baseline == "moving":
        result -= moving
    elif baseline != "none":
        mean, _ = statistics(values, labels[baseline], counted)
        result -= mean
    for kind in {baseline, scale} & labels.keys():
        _, deviation = statistics(values, labels[kind], counted)
        result[deviation == 0] = 0.0
    if scale in labels:
        _, deviation = statistics(values, labels[scale], counted)
        result /= deviation + GROUP_EPSILON
    return result


def statistics(values: Floats, labels: NDArray[np.int64], counted: Sequence[bool]) -> tuple[Floats, Floats]:
    """Mean and unbiased standard deviation of the label of each value; equal values have a deviation of exactly 0."""
    mean, deviation, counts = np.zeros_like(values), np.zeros_like(values), np.asarray(counted, dtype=bool)
    for label in np.unique(labels):
        members = labels == label
        chosen = values[members & counts] if (members & counts).any() else values[members]
        same = chosen.min() == chosen.max()
        mean[members] = chosen[0] if same else chosen.mean()
        deviation[members] = 0.0 if same else chosen.std(ddof=1)
    return mean, deviation


def informative(rewards: Sequence[float], groups: Sequence[int], counted: Sequence[bool]) -> tuple[int, int]:
    """The groups whose counted rewards differ, and all groups."""
    labels = np.asarray(groups, dtype=np.int64)
    _, deviation = statistics(np.asarray(rewards, dtype=np.float64), labels, counted)
    return len(np.unique(labels[deviation > 0])), len(np.unique(labels))


def penalised_returns(returns: Floats, k1: Floats, coefficient: float) -> Floats:
    """REINFORCE++'s return of each token of a rollout: its reward, less the KL that is still to come.

    A_t = r - beta * sum over i >= t of KL(i), with KL(i) = log pi_old(o_i) - log pi_ref(o_i) (arXiv 2501.03262, section 3).

    Args:
        returns: the reward at each sampled token, shape (tokens,).
        k1: log pi_old - log pi_ref of each, shape (tokens,).
        coefficient: beta.
    """
    return returns - coefficient * np.cumsum(k1[::-1], dtype=np.float64)[::-1]


def whiten(values: Floats, among: Floats) -> Floats:
    """REINFORCE++'s normalisation by the mean and standard deviation of all tokens of the batch.

    Args:
        values: advantages of some tokens.
        among: those of the whole batch. Where they do not differ the result is 0, instead of rounding errors blown up.
    """
    if not among.size or among.min() == among.max():
        return np.zeros_like(values)
    whitened: Floats = (values - among.mean()) / (among.std() + WHITEN_EPSILON)
    return whitened


def surrogate(
    logprobs: torch.Tensor, old: torch.Tensor, advantages: torch.Tensor, clip_low: float, clip_high: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """PPO's clipped objective with a bound of its own above (clip-higher, arXiv 2503.14476, equation 10), negated to be a loss.

    Where the policy is still the one that sampled, the ratio is 1 and the gradient is REINFORCE's: -A times that of log pi.

    Args:
        logprobs: log pi of each sampled token.
        old: under the policy that sampled, without gradient.
        advantages: of each token.
        clip_low: the ratio is held above 1 - clip_low.
        clip_high: and below 1 + clip_high (0.285 in the paper, section 8 of its facts).

    Returns:
        The loss of each token, and the ratio.
    """
    ratio = torch.exp(logprobs - old)
    clipped = ratio.clamp(1 - clip_low, 1 + clip_high)
    return -torch.minimum(ratio * advantages, clipped * advantages), ratio


def clipped(ratio: torch.Tensor, advantages: torch.Tensor, clip_low: float, clip_high: float) -> torch.Tensor:
    """Which tokens the clipping deprives of their gradient."""
    return ((ratio < 1 - clip_low) & (advantages < 0)) | ((ratio > 1 + clip_high) & (advantages > 0))


def low_variance_kl(logprobs: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """KL(pi, pi_ref) of each token by Schulman's k3 estimator: exp(d) - d - 1 with d = log pi_ref - log pi. Never negative."""
    difference = reference - logprobs
    return torch.exp(difference) - difference - 1


def token_weight(
    aggregation: Aggregation, tokens: int, weight: float, *, all_tokens: float, all_weights: float, constant_length: int
) -> float:
    """What one token's loss is multiplied by, so that the sum over the batch's tokens is the batch's loss.

    The denominators are of the whole batch, whatever micro-batch or process the token is in: cutting changes nothing.

    Args:
        aggregation: "token", the mean over the batch's tokens (DAPO, and TRL's default); "sequence", the mean over the samples
            of their means (GRPO's paper; TRL's "grpo"); "constant", sums over a constant length (Dr. GRPO).
        tokens: sampled tokens of the token's sample.
        weight: of that sample. A weight of 2 is the sample taken twice.
        all_tokens: tokens of the batch, each times its sample's weight.
        all_weights: the samples' weights summed.
        constant_length: the length that "constant" divides by, in tokens.
    """
    if aggregation == "token":
        return weight / all_tokens
    return weight / (all_weights * (tokens if aggregation == "sequence" else constant_length))
