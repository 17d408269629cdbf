"""The learner: what an update does, what never changes it, and that it goes on to the bit."""

import copy
import io
import logging
import math
from dataclasses import fields, replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from agents.learner import RECIPES, Learner, LearnerConfig, Sample, TrainingError
from agents.policy import LoraSettings, ModelConfig, Policy
from agents.scoring import Row, log_probabilities, pack, score
from sesa_env.errors import ConfigError, SesaError
from tests.agents.learning import Seat, gradients, llama, on_policy, rollout, samples, weights
from tests.agents.toy_policy import toy_policy

FREE = {"max_grad_norm": math.inf}


def learner(**options):
    return Learner(Seat(llama()), LearnerConfig(**FREE | options))


def direct_logprobs(model, sample, temperature=1.0):
    """Log-probabilities of the sampled ids, the whole vocabulary at every position, one row at a time."""
    ids = torch.tensor([sample.rollout.ids])
    everything = torch.log_softmax(model(ids).logits[0, :-1] / temperature, -1)
    return everything.gather(-1, ids[0, 1:, None])[:, 0][torch.tensor(sample.rollout.sampled[1:])]


# Scoring ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_scored_in_any_batch_a_row_has_the_log_probabilities_that_it_has_alone(temperature):
    model, made = llama(), samples()
    rows = [Row.of(sample.rollout.ids, sample.rollout.sampled) for sample in made]
    for budget in (1, 60, 10_000):
        for sample, found in zip(made, score(model, rows, temperature, budget), strict=True):
            torch.testing.assert_close(found, direct_logprobs(model, sample, temperature), atol=2e-5, rtol=0)


def test_the_head_sees_the_sampled_positions_only_and_is_itself_again_afterwards():
    model, made, seen = llama(), samples(), []
    model.lm_head.register_forward_hook(lambda _, inputs, output: seen.append(tuple(output.shape)))
    rows = [Row.of(sample.rollout.ids, sample.rollout.sampled) for sample in made]
    logprobs, entropy = log_probabilities(model, rows)
    tokens = sum(sum(sample.rollout.sampled) for sample in made)
    assert seen == [(tokens, 61)]
    assert logprobs.shape == entropy.shape == (tokens,)
    assert model(torch.tensor([[3, 4, 5]])).logits.shape == (1, 3, 61)


def test_entropy_is_that_of_the_distribution_sampled_from():
    model, sample = llama(), samples()[0]
    _, entropy = log_probabilities(model, [Row.of(sample.rollout.ids, sample.rollout.sampled)], 0.5)
    logits = model(torch.tensor([sample.rollout.ids])).logits[0, :-1] / 0.5
    expected = torch.distributions.Categorical(logits=logits).entropy()[torch.tensor(sample.rollout.sampled[1:])]
    torch.testing.assert_close(entropy, expected, atol=2e-5, rtol=0)


def test_packing_keeps_every_row_once_within_the_budget_and_longest_first():
    lengths = [5, 0, 9, 9, 2, 14, 1]
    batches = pack(lengths, 20)
    assert batches == [[5], [2, 3], [0, 4, 6]]
    assert pack([30], 20) == [[0]]


@pytest.mark.parametrize(
    ("ids", "sampled", "message"),
    [((3, 4), (False,), "one value an id"), ((3, 4), (True, True), "a prompt of at least one id")],
)
def test_a_mask_that_cannot_be(ids, sampled, message):
    with pytest.raises(ConfigError, match=message):
        Row.of(ids, sampled)


# What an update is --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", RECIPES)
@pytest.mark.parametrize("aggregation", ["token", "sequence", "constant"])
def test_micro_batches_change_nothing(algorithm, aggregation):
    options = {"algorithm": algorithm, "aggregation": aggregation, "kl": 0.05, "entropy": 0.01, "clip_low": 0.3}
    made = on_policy(llama(noise=0.01), samples())
    reference = Seat(llama(noise=0.02))
    found = [
        gradients(Learner(Seat(llama()), LearnerConfig(**FREE | options, micro_tokens=budget), reference=reference), made)
        for budget in (1, 50, 100_000)
    ]
    for gradient, metrics in found[1:]:
        torch.testing.assert_close(gradient, found[0][0], atol=1e-5, rtol=1e-4)
        for name, value in vars(metrics).items():
            assert value == pytest.approx(vars(found[0][1])[name], abs=1e-4), name


def test_the_gradient_is_reinforces_when_the_policy_is_the_one_that_sampled():
    made = on_policy(llama(), samples())
    found, metrics = gradients(learner(algorithm="reinforce", aggregation="sequence"), made)
    model, mean = llama(), np.mean([sample.reward for sample in made])
    loss = sum(-(sample.reward - mean) * direct_logprobs(model, sample).mean() for sample in made) / len(made)
    loss.backward()
    expected = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    assert metrics.ratio == pytest.approx(1, abs=1e-5)
    assert metrics.clip_fraction == 0


def test_reinforce_plus_plus_has_the_kl_in_its_returns_and_whitens_over_tokens():
    made = on_policy(llama(), samples())
    reference = Seat(llama(noise=0.05))
    config = LearnerConfig(**FREE, algorithm="reinforce++", kl=0.3)
    found, metrics = gradients(Learner(Seat(llama()), config, reference=reference), made)
    model, returns = llama(), []
    with torch.no_grad():
        for sample in made:
            k1 = direct_logprobs(model, sample) - direct_logprobs(reference.model, sample)
            returns.append(sample.reward - 0.3 * k1.flip(0).cumsum(0).flip(0))
    mean, deviation = torch.cat(returns).mean(), torch.cat(returns).std(correction=0)
    every = [-(r - mean) / deviation * direct_logprobs(model, s) for r, s in zip(returns, made, strict=True)]
    torch.cat(every).mean().backward()
    expected = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    assert metrics.loss == pytest.approx(metrics.policy_loss)
    assert metrics.kl > 0


@pytest.mark.parametrize("aggregation", ["token", "sequence", "constant"])
def test_a_weight_of_two_is_the_sample_twice(aggregation):
    made = samples()
    twice, _ = gradients(learner(baseline="none", scale="none", aggregation=aggregation), [*made, made[3]])
    heavy = [*made[:3], replace(made[3], weight=2.0), *made[4:]]
    weighted, _ = gradients(learner(baseline="none", scale="none", aggregation=aggregation), heavy)
    torch.testing.assert_close(weighted, twice, atol=1e-5, rtol=1e-4)
    light, _ = gradients(
        learner(baseline="none", scale="none", aggregation=aggregation), [*made[:3], replace(made[3], weight=0.0)]
    )
    without, _ = gradients(learner(baseline="none", scale="none", aggregation=aggregation), made[:3])
    torch.testing.assert_close(light, without, atol=1e-5, rtol=1e-4)


def test_a_rollout_scored_again_is_taken_as_on_policy_and_leaves_its_groups_advantages():
    made = on_policy(llama(noise=0.05), samples())  # the others are off-policy
    again = Sample(replace(made[1].rollout, logprobs=None), made[1].reward, made[1].group, 0.5)
    found, metrics = gradients(learner(), [*made, again])
    alone, of_them = gradients(learner(), made)
    group = np.array([sample.reward for sample in made[:4]])
    advantage = (again.reward - group.mean()) / (group.std(ddof=1) + 1e-4)
    model = llama()
    (-advantage * direct_logprobs(model, again)).sum().backward()
    term = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    tokens = of_them.tokens + 0.5 * sum(again.rollout.sampled)
    torch.testing.assert_close(found, (alone * of_them.tokens + 0.5 * term) / tokens, atol=1e-5, rtol=1e-4)
    assert metrics.reward == of_them.reward


def test_tokens_that_were_not_sampled_take_no_part():
    """The head and the loss of a batch are those of the sampled ids: other ids as targets are never predicted."""
    rng = np.random.default_rng(3)
    one = rollout(rng, turns=(4,), prompt=6)
    tail = replace(one, ids=(*one.ids, 9, 9), sampled=(*one.sampled, False, False), logprobs=(*one.logprobs, 0.0, 0.0))
    options = {"baseline": "none", "scale": "none"}
    first, _ = gradients(learner(**options), [Sample(one, 1.0, 0)])
    second, metrics = gradients(learner(**options), [Sample(tail, 1.0, 0)])
    assert torch.equal(first, second)
    assert metrics.tokens == 4


def test_learning_makes_rewarded_rollouts_likelier():
    made = on_policy(llama(), samples())
    for algorithm in RECIPES:
        subject = learner(algorithm=algorithm, learning_rate=6e-3, warmup_steps=1)
        for _ in range(4):
            made = on_policy(subject.policy.model, made)
            subject.update(made)
        rewarded = [sample for sample in made if sample.reward > 0.5]
        before = [direct_logprobs(llama(), sample).sum().item() for sample in rewarded]
        after = [direct_logprobs(subject.policy.model, sample).sum().item() for sample in rewarded]
        assert np.mean(after) > np.mean(before) + 1, algorithm


def test_the_entropy_bonus_keeps_entropy_up():
    made = [replace(sample, reward=1.0) for sample in samples()]  # nothing else to learn
    subject = learner(entropy=0.1, learning_rate=1e-2, warmup_steps=1)
    first = subject.update(made)
    for _ in range(5):
        last = subject.update(made)
    assert last["entropy"] > first["entropy"] + 0.05


def test_the_kl_term_pulls_back_to_the_reference():
    made = [replace(sample, reward=1.0) for sample in samples()]
    subject = Learner(
        Seat(llama(noise=0.05)), LearnerConfig(kl=1.0, learning_rate=1e-3, warmup_steps=1), reference=Seat(llama())
    )
    kls = [subject.update(made)["kl"] for _ in range(10)]
    assert kls[-1] < 0.7 * kls[0]


def test_warm_up_is_linear_in_steps_then_constant():
    subject = learner(learning_rate=1e-4, warmup_steps=4, mini_batches=2)
    assert [subject.update(samples())["learning_rate"] for _ in range(3)] == pytest.approx([0.5e-4, 1e-4, 1e-4])
    assert subject.optimizer.param_groups[0]["lr"] == 1e-4


def test_gradients_are_clipped_to_the_norm():
    found, metrics = gradients(learner(max_grad_norm=0.25), samples())
    assert metrics.grad_norm > 1
    assert found.norm().item() == pytest.approx(0.25, rel=1e-4)


def test_epochs_and_mini_batches_take_a_step_each_over_every_sample_once_an_epoch():
    subject, seen = learner(epochs=2, mini_batches=3, learning_rate=1e-3), []
    step = subject._step

    def remembered(items, totals):
        seen.append(sorted(id(item) for item in items))
        return step(items, totals)

    subject._step = remembered
    metrics = subject.update(samples())
    assert metrics["steps"] == 6
    assert [len(part) for part in seen] == [4] * 6
    first, second = (sorted(number for part in epoch for number in part) for epoch in (seen[:3], seen[3:]))
    assert first == second
    assert len(set(first)) == 12
    assert seen[:3] != seen[3:]
    assert metrics["approx_kl"] > 0  # the later steps are off-policy


def test_a_moving_baseline_judges_before_it_moves():
    subject = learner(algorithm="reinforce_moving", moving_decay=0.9)
    made = samples()
    first = np.mean([sample.reward for sample in made])
    assert subject.update(made)["baseline"] == pytest.approx(first)
    higher = [replace(sample, reward=sample.reward + 1) for sample in made]
    gradient, metrics = gradients(subject, higher)
    assert metrics.baseline == pytest.approx(0.9 * first + 0.1 * (first + 1))
    assert gradient.any()


def test_samples_that_ask_for_no_gradient_may_be_left_out():
    made = on_policy(llama(noise=0.02), samples())
    made[4:8] = [replace(sample, reward=1.0) for sample in made[4:8]]
    everything, metrics = gradients(learner(), made)
    fewer, of_them = gradients(learner(score_all=False), made)
    torch.testing.assert_close(fewer, everything, atol=1e-6, rtol=1e-4)
    assert metrics.loss == pytest.approx(of_them.loss, abs=0.5)
    assert metrics.informative == of_them.informative == 2


# What is not learnt -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", RECIPES)
@pytest.mark.parametrize(
    "made",
    [
        [],
        [replace(sample, reward=0.3) for sample in samples()],
        [Sample(rollout(np.random.default_rng(0), turns=()), float(i), 0) for i in range(3)],
        [replace(sample, weight=0.0) for sample in samples()],
    ],
    ids=["empty", "equal rewards", "nothing sampled", "no weight"],
)
def test_nothing_to_learn_from_is_said_and_moves_nothing(made, algorithm, caplog):
    subject = learner(algorithm=algorithm, learning_rate=1e-2)
    subject.update(samples())  # momentum that a step would follow
    subject.moving = 0.3
    before = weights(subject.policy.model)
    with caplog.at_level(logging.WARNING):
        metrics = subject.update(made)
    assert torch.equal(weights(subject.policy.model), before)
    assert metrics["steps"] == metrics["skipped"] == 0
    assert all(math.isfinite(value) for value in metrics.values())
    assert metrics["samples"] == len(made)
    assert "nothing to learn from" in caplog.text
    assert metrics.keys() == learner().update(samples()).keys()


@pytest.mark.parametrize("poison", ["weights", "logprobs"])
def test_a_loss_that_is_not_finite_never_steps(poison, caplog):
    def poisoned(**options):
        subject, made = learner(**options), samples()
        if poison == "weights":
            with torch.no_grad():
                subject.policy.model.lm_head.weight[5, 5] = math.nan
        else:
            broken = tuple(-math.inf if mark else 0.0 for mark in made[0].rollout.sampled)
            made[0] = replace(made[0], reward=-5.0, rollout=replace(made[0].rollout, logprobs=broken))
        return subject, made

    subject, made = poisoned()
    before = weights(subject.policy.model)
    with pytest.raises(TrainingError, match="expected finite losses and gradients; got loss"):
        subject.update(made)
    assert issubclass(TrainingError, SesaError)
    assert torch.equal(weights(subject.policy.model).nan_to_num(), before.nan_to_num())
    assert not subject.optimizer.state_dict()["state"]

    subject, made = poisoned(on_nan="skip")
    metrics = subject.update(made)
    assert (metrics["steps"], metrics["skipped"]) == (0, 1)
    assert torch.equal(weights(subject.policy.model).nan_to_num(), before.nan_to_num())
    assert "not finite" in caplog.text
    if poison == "logprobs":  # the next batch is learnt as if nothing had happened
        assert subject.update(samples())["steps"] == 1


@pytest.mark.parametrize("change", [{"reward": math.nan}, {"reward": math.inf}, {"weight": -1.0}, {"weight": math.nan}])
def test_a_sample_that_cannot_be_is_refused(change):
    made = samples()
    made[2] = replace(made[2], **change)
    with pytest.raises(ConfigError, match="expected a finite reward and weight"):
        learner().update(made)


@pytest.mark.parametrize(
    "change",
    [
        {"algorithm": "ppo"},
        {"baseline": "mean"},
        {"scale": "std"},
        {"aggregation": "mean"},
        {"on_nan": "ignore"},
        {"mini_batches": 0},
        {"micro_tokens": 0},
        {"learning_rate": -1.0},
        {"learning_rate": math.nan},
        {"temperature": 0.0},
        {"moving_decay": 1.0},
    ],
)
def test_a_configuration_that_cannot_be_is_refused(change):
    with pytest.raises(ConfigError, match=f"{next(iter(change))}: expected"):
        LearnerConfig(**change)


def test_every_field_of_the_configuration_has_a_bound_or_a_choice():
    from agents import learner_config as module

    named = module._CHOICES.keys() | module._BOUNDS.keys()
    assert {field.name for field in fields(LearnerConfig)} - named == {"score_all", "kl_corrected"}


def test_a_policy_with_nothing_to_train_is_refused():
    with pytest.raises(ConfigError, match="parameters that ask for gradients"):
        Learner(Seat(llama().requires_grad_(False)))


# Going on, and doing it again ---------------------------------------------------------------------------------------------

BUSY = {"algorithm": "reinforce_moving", "learning_rate": 1e-3, "entropy": 0.01, "mini_batches": 3, "epochs": 2, "kl": 0.02}


def batches():
    return [samples(seed=seed) for seed in range(4)]


def test_two_runs_are_the_same_to_the_bit_whatever_the_global_generator():
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        subject = learner(**BUSY)
        found.append(([subject.update(made) for made in batches()], weights(subject.policy.model)))
        assert torch.initial_seed() == seed
    assert found[0][0] == found[1][0]
    assert torch.equal(found[0][1], found[1][1])


def test_a_learner_loaded_from_its_state_goes_on_to_the_bit():
    whole = learner(**BUSY)
    expected = [whole.update(made) for made in batches()]
    first = learner(**BUSY)
    for made in batches()[:2]:
        first.update(made)
    file = io.BytesIO()
    torch.save({"learner": first.state_dict(), "model": first.policy.model.state_dict()}, file)
    saved = torch.load(io.BytesIO(file.getvalue()), weights_only=True)
    second = learner(**BUSY)  # made from the first policy, which the KL goes on being measured to
    second.policy.model.load_state_dict(saved["model"])
    second.load_state_dict(saved["learner"])
    assert [second.update(made) for made in batches()[2:]] == expected[2:]
    assert torch.equal(weights(second.policy.model), weights(whole.policy.model))


def test_a_state_of_another_kind_is_refused():
    subject = learner()
    with pytest.raises(ConfigError, match="expected the keys"):
        subject.load_state_dict({"optimizer": {}})
    other = Learner(toy_policy())
    other.update([])
    with pytest.raises(ConfigError, match="the same parameters"):
        subject.load_state_dict({**subject.state_dict(), "optimizer": {"state": {}, "param_groups": []}})


# Other models -------------------------------------------------------------------------------------------------------------


def lora_policy(dropout=0.0):
    from agents.adapters import add_adapters

    plain = toy_policy()
    config = ModelConfig(lora=LoraSettings(rank=4, dropout=dropout))
    return Policy("toy", add_adapters(plain.model, config.lora, float32=True).eval(), plain.tokenizer, plain.style, config)


def test_a_policy_with_lora_trains_its_adapters_alone():
    pytest.importorskip("peft")
    policy = lora_policy()
    before = copy.deepcopy(dict(policy.model.named_parameters()))
    subject = Learner(policy, LearnerConfig(learning_rate=1e-2, kl=0.1, warmup_steps=1))
    for _ in range(2):  # at the first step only one of an adapter's two matrices has a gradient
        metrics = subject.update(samples())
    assert metrics["kl"] > 0
    changed = {name for name, value in policy.model.named_parameters() if not torch.equal(value, before[name])}
    assert changed == {name for name in before if "lora_" in name}


def test_dropout_is_drawn_from_the_learners_seed():
    pytest.importorskip("peft")
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        subject = Learner(lora_policy(dropout=0.3), LearnerConfig(learning_rate=1e-2, warmup_steps=1))
        found.append([subject.update(samples()) for _ in range(3)])
        assert not subject.policy.model.training
    assert found[0] == found[1]


@pytest.mark.parametrize("family", ["qwen2", "qwen3", "gemma2"])
def test_other_architectures_are_scored_as_they_score_themselves(family):
    """Gemma 2 caps its logits after the head: what a model does there is kept."""
    import transformers

    names = {"qwen2": "Qwen2", "qwen3": "Qwen3", "gemma2": "Gemma2"}
    config = getattr(transformers, f"{names[family]}Config")(
        vocab_size=61,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=128,
        initializer_range=0.3,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = getattr(transformers, f"{names[family]}ForCausalLM")(config).eval()
    made = samples()
    rows = [Row.of(sample.rollout.ids, sample.rollout.sampled) for sample in made]
    for sample, found in zip(made, score(model, rows), strict=True):
        torch.testing.assert_close(found, direct_logprobs(model, sample), atol=5e-5, rtol=0)
    metrics = Learner(Seat(model), LearnerConfig(learning_rate=1e-4)).update(made)
    assert metrics["steps"] == 1


def test_gradient_checkpointing_and_bfloat16():
    policy = toy_policy()
    enable = getattr(policy.model, "activation_checkpointing_enable", None) or policy.model.gradient_checkpointing_enable
    enable()
    plain = Learner(toy_policy(), LearnerConfig(**FREE))
    found, _ = gradients(Learner(policy, LearnerConfig(**FREE)), samples())
    expected, _ = gradients(plain, samples())
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-4)
    half = toy_policy()
    half.model.to(torch.bfloat16)
    metrics = Learner(half, LearnerConfig(learning_rate=1e-2)).update(samples())
    assert metrics["steps"] == 1
    assert math.isfinite(metrics["loss"])
