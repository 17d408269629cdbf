"""The critic-free policy-gradient learner of one role: GRPO, Dr. GRPO, REINFORCE and REINFORCE++ (paper, sections 1 and 8).

    learner = Learner(policy, LearnerConfig(algorithm="grpo", learning_rate=5e-4))
    metrics = learner.update([Sample(rollout, reward, group=question_number), ...])

An update, from top to bottom: rewards become advantages over the whole batch; the batch is cut into mini-batches, one optimiser
step each; a mini-batch is cut into micro-batches by padded ids, whose gradients add up to the mini-batch's whatever the cut.
The Challenger and the Solver each have a learner of their own.
"""

import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from agents import objective
from agents.learner_config import RECIPES, LearnerConfig
from agents.masters import Masters
from agents.objective import Floats
from agents.parallel import Processes
from agents.scoring import Row, log_probabilities, pack, score
from sesa_env.errors import ConfigError, SesaError

if TYPE_CHECKING:
    from accelerate import Accelerator

    from agents.policy import Policy
    from agents.rollout import Rollout

__all__ = ["RECIPES", "Learner", "LearnerConfig", "Sample", "TrainingError"]

_log = logging.getLogger(__name__)


class TrainingError(SesaError):
    """A loss or gradient is not finite. The step that it belongs to was not taken."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One rollout and what it earned."""

    rollout: "Rollout"
    """Where its `logprobs` are None it is a rollout scored again under another prompt (the carry-over term): its ratio is 1,
    and it takes no part in the statistics of its group, where it was counted when it was sampled."""
    reward: float
    """On the last token: the whole rollout has one advantage."""
    group: int
    """Samples with the same number are compared: the attempts at one question, or questions of one hop count."""
    weight: float = 1.0
    """Of its tokens in the loss; 2 is the sample taken twice (the carry-over term has 0.5)."""


@dataclass(frozen=True, slots=True)
class _Fact:
    """What every process knows of a sample."""

    reward: float
    group: int
    weight: float
    tokens: int
    counted: bool


@dataclass(slots=True)
class _Item:
    """A sample of this process on its way to the loss. Tensors and arrays have shape (tokens,)."""

    row: Row
    fact: _Fact
    old: torch.Tensor | None
    """Log-probabilities from sampling; None: those of the model as it is when its loss is computed."""
    reference: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    """Log-probabilities under the reference model, where there is one."""
    advantages: torch.Tensor = field(default_factory=lambda: torch.empty(0))


@dataclass(frozen=True, slots=True)
class _Totals:
    """Sums over a mini-batch in all processes: the denominators of its loss."""

    tokens: float
    """Each sample's sampled ids times its weight."""
    weights: float


FIGURES = ("loss", "policy_loss", "kl", "entropy", "clip_fraction", "ratio", "approx_kl", "scored")
"""What a micro-batch reports. The two losses are shares of the mini-batch's; the next five are sums over `scored` tokens."""


class Learner:
    """Updates one policy from rewarded rollouts.

    Args:
        policy: whose model is trained, in place. Parameters that ask for no gradient (all but LoRA's) stay as they are; those
            in bfloat16 have float32 copies which the optimiser steps on, since a small step would be lost in their rounding.
        config: how.
        seed: of the mini-batches' composition.
        accelerator: of accelerate, for several processes under `torchrun`: each calls `update` with its own samples, and the
            update is that of one process with all of them, in the order of the processes.
        reference: what the KL is measured to; by default `policy.reference()`, the policy as it is now. To resume, make the
            learner from the run's first policy and load the checkpoint's weights into that afterwards.
    """

    def __init__(
        self,
        policy: "Policy",
        config: LearnerConfig | None = None,
        seed: int = 0,
        accelerator: "Accelerator | None" = None,
        reference: "Policy | None" = None,
    ) -> None:
        self.policy, self.config, self.seed = policy, config or LearnerConfig(), seed
        if not any(parameter.requires_grad for parameter in policy.model.parameters()):
            raise ConfigError(f"policy {policy.name!r}: expected parameters that ask for gradients; got none to train")
        self.processes = Processes(accelerator)
        self.processes.same_weights(policy.model.parameters())
        self.masters = Masters.of(policy.model)
        self.parameters = self.masters.parameters
        self.reference = (reference or policy.reference()) if self.config.kl > 0 else None
        betas, decay = (self.config.beta1, self.config.beta2), self.config.weight_decay
        self.optimizer = torch.optim.AdamW(self.parameters, self.config.learning_rate, betas, weight_decay=decay, foreach=True)
        self.updates = 0
        self.steps = 0
        self.moving: float | None = None

    def update(self, samples: Sequence[Sample]) -> dict[str, float]:
        """Learns from one batch.

        Args:
            samples: of this process; may be empty.

        Returns:
            Metrics, the same names at each update. Means over the optimiser steps: `loss`, `policy_loss`, `kl` (to the
            reference, nats a token; 0 without one), `approx_kl` (to the sampling policy), `entropy` (nats a token),
            `clip_fraction`, `ratio`, `grad_norm` (before clipping). Of the batch: `samples`, `tokens` (sampled ids), `groups`,
            `informative` (groups whose rewards differ), `reward`, `baseline` (the moving one), `learning_rate`, `steps` taken,
            `skipped` steps. Where there was nothing to learn from, both are 0 and a warning is logged.

        Raises:
            ConfigError: a reward or weight that is not finite, or a mask that does not fit its ids.
            TrainingError: a loss or gradient is not finite and `on_nan` is "raise". The weights are as before that step.
        """
        self.masters.follow()
        items = [self._item(sample) for sample in samples]
        facts = self.processes.gather([item.fact for item in items])
        with self._training():
            signal = self._prepare(items, facts)
            parts = self._parts(items, facts) if signal else []
            outcomes = [outcome for part, totals in parts if (outcome := self._step(part, totals))]
        if not outcomes:
            _log.warning("update %d: nothing to learn from in %d samples; no step was taken", self.updates, len(facts))
        self.updates += 1
        self._move_baseline(facts)
        return self._metrics(facts, outcomes)

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs beside the model's weights to go on to the bit, for `torch.save`."""
        state = {"optimizer": self.optimizer.state_dict(), "updates": self.updates, "steps": self.steps, "moving": self.moving}
        return {**state, "masters": masters} if (masters := self.masters.state()) else state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from a state that `state_dict` gave.

        Raises:
            ConfigError: it is no learner's state, or belongs to a model with other parameters.
        """
        expected = {"optimizer", "updates", "steps", "moving"} | ({"masters"} if self.masters.state() else set())
        if state.keys() != expected:
            raise ConfigError(f"a learner's state: expected the keys {sorted(expected)}; got {sorted(state)}")
        try:
            self.optimizer.load_state_dict(state["optimizer"])
            self.masters.load(state.get("masters", []))
        except ValueError as error:
            raise ConfigError(f"a learner's state: expected that of a model with the same parameters; {error}") from error
        self.updates, self.steps, self.moving = state["updates"], state["steps"], state["moving"]

    def _item(self, sample: Sample) -> _Item:
        """Checks a sample and lays its ids and log-probabilities ready."""
        if not (math.isfinite(sample.reward) and 0 <= sample.weight < math.inf):
            raise ConfigError(
                f"a sample: expected a finite reward and weight, the weight 0 or more; got {sample.reward} and {sample.weight}"
            )
        rollout = sample.rollout
        row = Row.of(rollout.ids, rollout.sampled)
        fact = _Fact(sample.reward, sample.group, sample.weight, len(row.positions), rollout.logprobs is not None)
        return _Item(row, fact, None if rollout.logprobs is None else self._tensor(np.asarray(rollout.logprobs)[row.positions]))

    def _prepare(self, items: list[_Item], facts: list[_Fact]) -> bool:
        """Scores by the reference model and sets advantages. Returns whether any process has something to learn from."""
        if self.reference is not None:
            for item, logprobs in zip(items, self._score(self.reference, items), strict=True):
                item.reference = logprobs
        signal = False
        for item, array in zip(items, self._advantages(items, facts), strict=True):
            item.advantages = self._tensor(array)
            signal = signal or bool(array.any())
        return self._all_have_gradients or any(self.processes.gather([signal]))

    def _advantages(self, items: list[_Item], facts: list[_Fact]) -> list[Floats]:
        """Each item's advantage at each of its tokens, from the rewards of all processes."""
        baseline, scale, _ = self.config.recipe
        everyone = objective.advantages(
            [fact.reward for fact in facts],
            [fact.group for fact in facts],
            [fact.counted for fact in facts],
            baseline=baseline,
            scale=scale,
            moving=_mean_reward(facts) if self.moving is None else self.moving,
        )
        mine = everyone[self.processes.before(len(items)) :][: len(items)]
        returns = [np.full(item.fact.tokens, value) for item, value in zip(items, mine, strict=True)]
        if self._kl_in_return:
            self._penalise(items, returns)
        if scale != "tokens":
            return returns
        whole = self.processes.gather(returns)
        counted = [array for array, fact in zip(whole, facts, strict=True) if fact.counted] or whole
        return [objective.whiten(array, np.concatenate(counted)) for array in returns]

    def _penalise(self, items: list[_Item], returns: list[Floats]) -> None:
        """Takes REINFORCE++'s KL off the returns. A rollout scored again has the current policy for the one that sampled."""
        current = self._score(self.policy, [item for item in items if item.old is None])
        for number, item in enumerate(items):
            old = current.pop(0) if item.old is None else item.old
            k1 = (old - item.reference).cpu().numpy()
            returns[number] = objective.penalised_returns(returns[number], k1, self.config.kl)

    def _score(self, policy: "Policy", items: list[_Item]) -> list[torch.Tensor]:
        return score(policy.model, [item.row for item in items], self.config.temperature, self.config.micro_tokens)

    def _parts(self, items: list[_Item], facts: list[_Fact]) -> Iterator[tuple[list[_Item], _Totals]]:
        """Cuts the batch of all processes into mini-batches, anew each epoch: this process's share of each, and its sums.

        The draw depends on (seed, update, epoch) alone, so every process draws the same and no generator needs saving.
        """
        before = self.processes.before(len(items))
        for epoch in range(self.config.epochs):
            order = np.random.default_rng((self.seed, self.updates, epoch)).permutation(len(facts))
            for chosen in np.array_split(order, self.config.mini_batches):
                numbers = sorted(chosen.tolist())
                totals = _Totals(
                    tokens=sum(facts[number].weight * facts[number].tokens for number in numbers),
                    weights=sum(facts[number].weight for number in numbers),
                )
                if totals.tokens:
                    yield [items[number - before] for number in numbers if 0 <= number - before < len(items)], totals

    def _step(self, items: list[_Item], totals: _Totals) -> dict[str, float] | None:
        """One optimiser step on a mini-batch; None where no token of it asks for a gradient."""
        if not (self._all_have_gradients or self.config.score_all):
            items = [item for item in items if item.advantages.any()]
        figures = torch.zeros(len(FIGURES), device=self.policy.device)
        for batch in pack([item.row.length for item in items], self.config.micro_tokens):
            loss, part = self._loss([items[index] for index in batch], totals)
            loss.backward()  # type: ignore[no-untyped-call]  # torch ships it untyped
            self.masters.take_gradients()
            figures += part
        self.processes.sum(figures)
        outcome = dict(zip(FIGURES, figures.tolist(), strict=True))
        scored = outcome.pop("scored")
        if not scored:
            return None
        self.processes.sum_gradients(self.parameters)
        outcome = {name: value if name.endswith("loss") else value / scored for name, value in outcome.items()}
        outcome["grad_norm"] = torch.nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm).item()
        return self._apply(outcome)

    def _loss(self, items: list[_Item], totals: _Totals) -> tuple[torch.Tensor, torch.Tensor]:
        """A micro-batch's share of the mini-batch's loss, and its `FIGURES`."""
        config, lengths = self.config, [item.fact.tokens for item in items]
        rows, bonus = [item.row for item in items], config.entropy > 0
        logprobs, entropy = log_probabilities(self.policy.model, rows, config.temperature, entropy_gradient=bonus)
        now = logprobs.detach()
        old = torch.cat(
            [part if item.old is None else item.old for item, part in zip(items, torch.split(now, lengths), strict=True)]
        )
        advantages = torch.cat([item.advantages for item in items])
        weights = self._per_token([self._token_weight(item.fact, totals) for item in items], lengths)

        losses, ratio = objective.surrogate(logprobs, old, advantages, config.clip_low, config.clip_high)
        policy_loss = loss = (weights * losses).sum()
        kl = torch.zeros_like(now)
        if self.reference is not None:
            kl = objective.low_variance_kl(logprobs, torch.cat([item.reference for item in items]))
            if not self._kl_in_return:
                loss = loss + config.kl * (weights * (kl * ratio if config.kl_corrected else kl)).sum()
        if bonus:
            mean = self._per_token([item.fact.weight / totals.tokens for item in items], lengths)
            loss = loss - config.entropy * (mean * entropy).sum()

        with torch.no_grad():
            clipped = objective.clipped(ratio, advantages, config.clip_low, config.clip_high).float()
            drift = objective.low_variance_kl(old, now)
            sums = [figure.sum() for figure in (kl, entropy, clipped, ratio, drift, torch.ones_like(now))]
        return loss, torch.stack([loss.detach(), policy_loss.detach(), *sums]).detach()

    def _apply(self, outcome: dict[str, float]) -> dict[str, float]:
        """Steps along the gradients, unless something is not finite: what was lost is then said, not learnt."""
        wrong = [name for name, value in outcome.items() if not math.isfinite(value)]
        if wrong and self.config.on_nan == "raise":
            self.optimizer.zero_grad()
            found = ", ".join(f"{name} {outcome[name]}" for name in wrong)
            raise TrainingError(
                f"update {self.updates}: expected finite losses and gradients; got {found}; the step was not taken. "
                "Lower the learning rate, or set on_nan to 'skip' to leave such steps out"
            )
        if not wrong:
            self.steps += 1
            for group in self.optimizer.param_groups:
                group["lr"] = self._rate()
            self.optimizer.step()
            self.masters.write_back()
        else:
            _log.warning("update %d: a step is left out, not finite: %s", self.updates, ", ".join(wrong))
        self.optimizer.zero_grad()
        return {**outcome, "skipped": float(bool(wrong))}

    def _rate(self) -> float:
        """The learning rate of the step that is being taken: a linear warm-up, then constant."""
        return self.config.learning_rate * min(1.0, self.steps / max(self.config.warmup_steps, 1))

    def _token_weight(self, fact: _Fact, totals: _Totals) -> float:
        return objective.token_weight(
            self.config.recipe[2],
            fact.tokens,
            fact.weight,
            all_tokens=totals.tokens,
            all_weights=totals.weights,
            constant_length=self.config.constant_length,
        )

    def _per_token(self, values: Sequence[float], lengths: Sequence[int]) -> torch.Tensor:
        """A value a sample, repeated for each of its tokens."""
        return self._tensor(np.repeat(values, lengths))

    def _tensor(self, values: np.ndarray[Any, Any]) -> torch.Tensor:
        return torch.as_tensor(values, dtype=torch.float32, device=self.policy.device)

    @property
    def _kl_in_return(self) -> bool:
        return self.reference is not None and self.config.algorithm == "reinforce++"

    @property
    def _all_have_gradients(self) -> bool:
        """Whether a sample of advantage 0 still has a gradient: from the KL or the entropy."""
        return self.config.entropy > 0 or (self.reference is not None and not self._kl_in_return)

    @contextmanager
    def _training(self) -> Iterator[None]:
        """The model in training mode (gradient checkpointing asks for it), any dropout drawn from (seed, update) alone."""
        device, was = self.policy.device, self.policy.model.training
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(int(np.random.SeedSequence((self.seed, self.updates)).generate_state(1)[0]))
            self.policy.model.train()
            try:
                yield
            finally:
                self.policy.model.train(was)

    def _metrics(self, facts: list[_Fact], outcomes: list[dict[str, float]]) -> dict[str, float]:
        groups, counted = [fact.group for fact in facts], [fact.counted for fact in facts]
        differing, all_groups = objective.informative([fact.reward for fact in facts], groups, counted)
        skipped = sum(outcome["skipped"] for outcome in outcomes)
        names = [name for name in FIGURES if name != "scored"] + ["grad_norm"]
        return {
            **{name: float(np.mean([outcome[name] for outcome in outcomes])) if outcomes else 0.0 for name in names},
            "samples": float(len(facts)),
            "tokens": float(sum(fact.tokens for fact in facts)),
            "groups": float(all_groups),
            "informative": float(differing),
            "reward": _mean_reward(facts),
            "baseline": 0.0 if self.moving is None else self.moving,
            "learning_rate": self._rate(),
            "steps": len(outcomes) - skipped,
            "skipped": skipped,
        }

    def _move_baseline(self, facts: list[_Fact]) -> None:
        """Takes the batch into the moving baseline, after its advantages: a baseline must not depend on what it judges."""
        if facts:
            mean, keep = _mean_reward(facts), self.config.moving_decay
            self.moving = mean if self.moving is None else keep * self.moving + (1 - keep) * mean


def _mean_reward(facts: list[_Fact]) -> float:
    rewards = [fact.reward for fact in facts if fact.counted] or [fact.reward for fact in facts]
    return float(np.mean(rewards)) if rewards else 0.0
