"""A small random Llama and random rollouts, for tests of the learner."""

import copy
from types import SimpleNamespace

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from agents.learner import Sample
from agents.rollout import Rollout

VOCABULARY = 61


def llama(seed=0, noise=0.0, **options):
    """A Llama with weights large enough that its distributions are far from uniform; `noise` moves them a little."""
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4} | options
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        num_key_value_heads=2,
        max_position_embeddings=512,
        initializer_range=0.3,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        **sizes,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += noise * torch.randn_like(parameter)
        return model


class Seat:
    """What the learner needs of a policy."""

    def __init__(self, model):
        self.name, self.model, self.device = "toy", model, torch.device("cpu")

    def reference(self):
        return Seat(copy.deepcopy(self.model).requires_grad_(False))


def rollout(rng, *, turns=(3, 4), prompt=6, observation=5, logprobs=True, vocabulary=VOCABULARY):
    """Ids and mask of a rollout whose turns have these lengths."""
    ids, sampled, spans = [int(i) for i in rng.integers(3, vocabulary, prompt)], [False] * prompt, []
    for number, length in enumerate(turns):
        if number:
            ids += [int(i) for i in rng.integers(3, vocabulary, observation)]
            sampled += [False] * observation
        spans.append((len(ids), len(ids) + length))
        ids += [int(i) for i in rng.integers(3, vocabulary, length)]
        sampled += [True] * length
    values = tuple(float(v) if mark else 0.0 for v, mark in zip(rng.uniform(-5, -3, len(ids)), sampled, strict=True))
    texts = tuple("" for _ in spans)
    return Rollout(tuple(ids), tuple(sampled), values if logprobs else None, tuple(spans), texts, cut=False)


def samples(seed=0, groups=3, size=4, *, logprobs=True):
    """Groups of rollouts of ragged lengths with rewards that differ within each group."""
    rng = np.random.default_rng(seed)
    made = []
    for group in range(groups):
        for attempt in range(size):
            turns = tuple(int(n) for n in rng.integers(1, 7, rng.integers(1, 4)))
            one = rollout(rng, turns=turns, prompt=int(rng.integers(3, 12)), logprobs=logprobs)
            made.append(Sample(one, float(attempt % 2) + 0.1 * float(rng.random()), group))
    return made


def on_policy(model, made, temperature=1.0):
    """The same samples with the model's own log-probabilities."""
    from agents.scoring import Row, score

    result = []
    for sample in made:
        old = sample.rollout
        scored = score(model, [Row.of(old.ids, old.sampled)], temperature)[0].tolist()
        values = tuple(scored.pop(0) if mark else 0.0 for mark in old.sampled)
        new = Rollout(old.ids, old.sampled, values, old.turns, old.texts, cut=False)
        result.append(Sample(new, sample.reward, sample.group, sample.weight))
    return result


def weights(model):
    """All parameters as one vector."""
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).clone()


def gradients(learner, made):
    """The gradient of one update's only step, as one vector: what the optimiser is given."""
    caught = []

    def catch(*_):
        caught.append(torch.cat([parameter.grad.flatten() for parameter in learner.parameters]).clone())

    learner.optimizer.register_step_pre_hook(catch)
    metrics = learner.update(made)
    return caught[0], SimpleNamespace(**metrics)
