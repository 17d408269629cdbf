"""Weights in bfloat16 learn by steps that are smaller than their rounding; float32 is trained as ever."""

import copy
import io
import math
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from agents.learner import Learner, LearnerConfig
from agents.masters import Masters
from sesa_env.errors import ConfigError
from tests.agents.learning import Seat, llama, on_policy, samples

SLOW = LearnerConfig(learning_rate=1e-6, warmup_steps=0)


def low(seed=0):
    return llama(seed).to(torch.bfloat16)


def learner(config=SLOW, model=None):
    return Learner(Seat(model or low()), config)


def bits(model):
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


def batches(model, count):
    return [on_policy(model, samples(seed)) for seed in range(count)]


def ulp(weight):
    """The distance from each weight to the next representable number of greater size."""
    return torch.nextafter(weight.abs(), torch.tensor(math.inf, dtype=weight.dtype)).float() - weight.abs().float()


def test_small_steps_add_up_instead_of_being_rounded_away():
    one = learner()
    model, before = one.policy.model, bits(one.policy.model)
    for batch in batches(model, 6):
        one.update(batch)
    moved, shifted = [], []
    for (name, weight), master in zip(model.named_parameters(), one.parameters, strict=True):
        change = (master.detach() - before[name].float()).abs()
        moved.append((change > 0).flatten())
        # Rounding to the nearest: what is more than half a unit away is another number now, and what is less is not.
        off = (weight != before[name]).flatten()
        assert off[(change > ulp(before[name])).flatten()].all()
        shifted.append(off)
    assert torch.cat(moved).float().mean() > 0.9
    assert 0 < torch.cat(shifted).float().mean() < 1


def test_the_copies_learn_what_float32_would_from_the_same_gradients(monkeypatch):
    """One step of plain AdamW on the float32 values of weights and gradients."""
    config = LearnerConfig(learning_rate=1e-3, warmup_steps=0, max_grad_norm=0.5)
    one = learner(config)
    start = [parameter.detach().clone() for parameter in one.parameters]
    assert all(parameter.dtype == torch.float32 for parameter in one.parameters)
    seen = []
    stepped = one.optimizer.step
    monkeypatch.setattr(one.optimizer, "step", lambda: (seen.extend(p.grad.clone() for p in one.parameters), stepped())[1])
    assert one.update(batches(one.policy.model, 1)[0])["grad_norm"] > 0.5
    assert torch.cat([gradient.flatten() for gradient in seen]).norm() == pytest.approx(0.5, rel=1e-4)
    plain = [torch.nn.Parameter(weight) for weight in start]
    for weight, gradient in zip(plain, seen, strict=True):
        weight.grad = gradient
    torch.optim.AdamW(plain, 1e-3, weight_decay=0.0, foreach=True).step()
    for expected, found, weight in zip(plain, one.parameters, one.policy.model.parameters(), strict=True):
        assert torch.equal(expected, found)
        assert torch.equal(weight, found.to(torch.bfloat16))
        assert weight.grad is None
        assert found.grad is None


def test_processes_add_up_the_gradients_of_the_copies(monkeypatch):
    """Before they are clipped, and in float32: another process of the same samples doubles the norm."""
    alone, together = (learner(replace(SLOW, max_grad_norm=math.inf)) for _ in range(2))
    (batch,) = batches(alone.policy.model, 1)
    summed = []

    def twice(parameters):
        for parameter in parameters:
            parameter.grad.mul_(2)
            summed.append(parameter.grad.dtype)

    monkeypatch.setattr(together.processes, "sum_gradients", twice)
    assert together.update(batch)["grad_norm"] == pytest.approx(2 * alone.update(batch)["grad_norm"], rel=1e-6)
    assert set(summed) == {torch.float32}
    assert len(summed) == len(list(together.policy.model.parameters()))


def test_gradients_of_micro_batches_add_up_in_float32():
    """bfloat16 could not add a small share to a large sum."""
    model = torch.nn.Linear(1, 1, bias=False).to(torch.bfloat16)
    masters = Masters(model)
    for share in (1.0, 2.0**-12):
        model.weight.grad = torch.full((1, 1), share, dtype=torch.bfloat16)
        masters.take_gradients()
    assert masters.parameters[0].grad.item() == 1.0 + 2.0**-12


def test_training_resumes_to_the_bit():
    whole, made = learner(replace(SLOW, learning_rate=1e-5)), batches(low(), 6)
    for batch in made[:3]:
        whole.update(batch)
    file = io.BytesIO()
    torch.save(whole.state_dict(), file)
    weights = bits(whole.policy.model)
    for batch in made[3:]:
        whole.update(batch)
    resumed = learner(replace(SLOW, learning_rate=1e-5))
    with torch.no_grad():
        for name, weight in resumed.policy.model.named_parameters():
            weight.copy_(weights[name])
    file.seek(0)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    for batch in made[3:]:
        resumed.update(batch)
    for one, other in zip(whole.parameters, resumed.parameters, strict=True):
        assert torch.equal(one, other)
    assert all(torch.equal(weight, bits(whole.policy.model)[name]) for name, weight in bits(resumed.policy.model).items())


def test_learners_of_one_model_have_one_set_of_copies():
    """With shared parameters each seat has a learner: neither may undo the other's small steps."""
    model = low()
    one, other = learner(model=model), learner(model=model)
    assert one.parameters is other.parameters
    first, second = batches(model, 2)
    one.update(first)
    between = [parameter.detach().clone() for parameter in one.parameters]
    other.update(second)
    changes = [(now - was).abs().max().item() for now, was in zip(other.parameters, between, strict=True)]
    assert 0 < max(changes) < 2e-6


def test_weights_that_were_set_from_outside_are_trained_on():
    one = learner()
    with torch.no_grad():
        for weight in one.policy.model.parameters():
            weight.add_(1.0)
    expected = [weight.detach().float() for weight in one.policy.model.parameters()]
    one.update(batches(one.policy.model, 1)[0])
    for was, master in zip(expected, one.parameters, strict=True):
        torch.testing.assert_close(master.detach(), was, atol=2e-6, rtol=0)


def test_float32_has_no_copies():
    model = llama()
    one = Learner(Seat(model), SLOW)
    assert all(ours is theirs for ours, theirs in zip(one.parameters, model.parameters(), strict=True))
    assert "masters" not in one.state_dict()
    assert Masters(model).state() == []


def test_a_state_of_another_kind_is_refused():
    one, plain = learner(), Learner(Seat(llama()), SLOW)
    with pytest.raises(ConfigError, match="expected the keys"):
        one.load_state_dict(plain.state_dict())
    state = one.state_dict()
    with pytest.raises(ConfigError, match="masters: expected those of"):
        one.load_state_dict({**copy.deepcopy(state), "masters": state["masters"][1:]})
