"""On the same batch the learner's loss and gradients are those of TRL's GRPOTrainer, and its advantages too."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from transformers import TrainerCallback

from agents.learner import Learner, LearnerConfig
from agents.objective import advantages
from tests.agents.learning import Seat, gradients, llama, on_policy, samples
from tests.agents.trl_side import batch_of, split, trainer_for

pytestmark = [
    # transformers and TRL read attributes by the names that transformers deprecates.
    pytest.mark.filterwarnings("ignore:`(is_)?gradient_checkpointing` is deprecated:FutureWarning"),
]
TOLERANCE = {"rtol": 0, "atol": 1e-5}


def loss_and_gradients(trainer, batch):
    trainer.current_gradient_accumulation_steps = 1  # as in a training loop that steps after each batch
    trainer.model.train()
    trainer.model.zero_grad()
    loss = trainer.compute_loss(trainer.model, batch)
    loss.backward()
    return loss.item(), torch.cat([parameter.grad.flatten() for parameter in trainer.model.parameters()])


# How TRL's loss types are called here.
LOSSES = {
    "grpo": {"algorithm": "grpo", "aggregation": "sequence"},
    "bnpo": {"algorithm": "grpo", "aggregation": "token"},
    "dapo": {"algorithm": "grpo"},
    "dr_grpo": {"algorithm": "dr_grpo", "constant_length": 40},
}


EXTRAS = {
    "plain": ({}, {}),
    "kl": ({"kl": 0.04}, {"beta": 0.04, "use_bias_correction_kl": False}),
    "kl-entropy-temperature": (
        {"kl": 0.04, "kl_corrected": True, "entropy": 0.02, "temperature": 0.7},
        {"beta": 0.04, "entropy_coef": 0.02, "temperature": 0.7},
    ),
}


@pytest.mark.parametrize("extras", EXTRAS)
@pytest.mark.parametrize("loss_type", LOSSES)
def test_loss_and_gradients_are_trls(tmp_path, loss_type, extras):
    ours, theirs = EXTRAS[extras]
    config = LearnerConfig(**LOSSES[loss_type], **ours, max_grad_norm=float("inf"), micro_tokens=64)
    model, reference = llama(), llama(noise=0.02)
    reference.save_pretrained(tmp_path / "reference")
    model.config._name_or_path = str(tmp_path / "reference")  # where TRL looks for the reference model
    options = {"epsilon": 0.2, "epsilon_high": 0.285, "max_completion_length": 40, "beta": 0.0} | theirs
    trainer = trainer_for(model, tmp_path, loss_type=loss_type, **options)
    baseline, scale, _ = config.recipe
    for made in (as_if_on_policy(samples()), drifted(on_policy(model, samples(), config.temperature))):
        rewards, groups = [s.reward for s in made], [s.group for s in made]
        batch = batch_of(made, advantages(rewards, groups, [True] * len(made), baseline=baseline, scale=scale))
        if config.kl:
            batch["ref_per_token_logps"] = reference_logprobs(trainer, batch)
        loss, gradient = loss_and_gradients(trainer, batch)
        found, metrics = gradients(Learner(Seat(llama()), config, reference=Seat(reference)), made)

        assert gradient.abs().max() > 1e-3
        assert metrics.loss == pytest.approx(loss, abs=1e-5)
        torch.testing.assert_close(found, gradient, **TOLERANCE)
        theirs = {name: values[-1] for name, values in trainer._metrics["train"].items()}
        assert metrics.entropy == pytest.approx(theirs["entropy"], abs=1e-5)
        assert metrics.clip_fraction == pytest.approx(theirs["clip_ratio/region_mean"], abs=1e-6)
        assert (metrics.clip_fraction > 0) == (made[0].rollout.logprobs is not None)
        if extras == "kl":
            assert metrics.kl == pytest.approx(theirs["kl"], abs=1e-5)
            assert metrics.kl > 0.01


def as_if_on_policy(made):
    return [replace(sample, rollout=replace(sample.rollout, logprobs=None)) for sample in made]


def drifted(made):
    """The samples as if the policy had moved since: log-probabilities off by up to 0.6, half of the ratios to be clipped."""
    rng = np.random.default_rng(7)
    moved = [tuple(p + float(rng.uniform(-0.6, 0.6)) for p in sample.rollout.logprobs) for sample in made]
    return [replace(s, rollout=replace(s.rollout, logprobs=logprobs)) for s, logprobs in zip(made, moved, strict=True)]


@torch.no_grad()
def reference_logprobs(trainer, batch):
    ids, mask = (torch.cat([batch[f"prompt_{part}"], batch[f"completion_{part}"]], dim=1) for part in ("ids", "mask"))
    width = batch["completion_ids"].size(1)
    return trainer._get_per_token_logps_and_entropies(trainer.ref_model, ids, mask, width)[0]


class Gradients(TrainerCallback):
    """Keeps what TRL's optimiser is given."""

    def on_pre_optimizer_step(self, args, state, control, model=None, **_):
        self.found = torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).clone()


# The interface through which rollouts of one's own come in calls itself experimental.
@pytest.mark.filterwarnings("ignore:You are using 'rollout_func':UserWarning")
@pytest.mark.parametrize(("algorithm", "scale"), [("grpo", "group"), ("dr_grpo", "none")])
def test_a_training_step_of_trl_on_the_same_rollouts_and_rewards(tmp_path, algorithm, scale):
    made = samples(seed=5)
    made[4:8] = [replace(sample, reward=0.3) for sample in made[4:8]]  # a group that teaches nothing
    prompts, completions, masks, _ = zip(*map(split, made), strict=True)

    def rollouts(*_):
        texts = {"prompt_ids": prompts, "completion_ids": completions, "env_mask": masks}
        return {name: [list(entries) for entries in rows] for name, rows in texts.items()} | {"logprobs": None}

    def reward(**_):
        return [sample.reward for sample in made]

    theirs = Gradients()
    trainer = trainer_for(
        llama(),
        tmp_path,
        reward=reward,
        rollouts=rollouts,
        callbacks=[theirs],
        loss_type="dapo",
        scale_rewards=scale,
        beta=0.0,
        max_steps=1,
        max_grad_norm=0.5,
        shuffle_dataset=False,
    )
    trainer.train()
    learner = Learner(Seat(llama()), LearnerConfig(algorithm=algorithm, aggregation="token", max_grad_norm=0.5))
    ours, metrics = gradients(learner, as_if_on_policy(made))

    expected = advantages([s.reward for s in made], [s.group for s in made], [True] * 12, baseline="group", scale=scale)
    assert list(trainer._logs["advantages"]) == pytest.approx(expected.tolist(), abs=1e-5)
    assert (expected[4:8] == 0).all()
    assert metrics.informative == 2
    assert metrics.grad_norm > 0.5
    torch.testing.assert_close(ours, theirs.found, **TOLERANCE)
