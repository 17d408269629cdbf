"""Sampled tokens a CPU second of rollouts: our engine against calling `generate` anew in each turn, side by side.

Same model, prompts, stops and observations of 60 ids; greedy, so both write the very same ids, and sampled. A share of the
vocabulary ends a turn, so turns are ragged: about 12 ids, at most 24. Aim: twice the tokens a second of `generate`.
"""

import statistics
import time
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the llm extra")
transformers = pytest.importorskip("transformers", reason="needs the llm extra")

from agents.decode import Decoder, Row, Sampling
from sesa_env.models import cache_folder

AIM = 2
OBSERVATION = 60
ENDING = 12  # one id in so many ends a turn
ROUNDS = 3


class Stops:
    """Every twelfth id ends a turn."""

    def ends(self, turn):
        return turn[-1] % ENDING == 0


def tiny():
    """A Llama of 0.9 million parameters."""
    shape = {"hidden_size": 128, "intermediate_size": 384, "num_hidden_layers": 4, "num_attention_heads": 4}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=600, tie_word_embeddings=True, **shape)).eval()


def smollm2():
    """The real model of 135 million parameters."""
    if not (cache_folder() / "models").is_dir():
        pytest.skip("no model in the cache; type: sesa models get smollm2")
    from agents.policy import load_policy

    return load_policy("smollm2").network


def ids(count, *key):
    return np.random.default_rng(key).integers(50, 600, count).tolist()


def prompts(rows):
    return [ids(50 + 7 * row % 50, row) for row in range(rows)]


def ours(model, rows, turns, sampling):
    """Returns the sampled turns of each row."""
    policy = SimpleNamespace(name="m", network=model, stops=Stops(), device=torch.device("cpu"), context_length=2048)
    decoder, made = Decoder(policy, sampling), [Row(prompt, row) for row, prompt in enumerate(prompts(rows))]
    for turn in range(turns):
        if turn:
            for row, state in enumerate(made):
                state.observe(ids(OBSERVATION, row, turn))
        decoder.sample_turns(made)
    return [[row.ids[start:stop] for start, stop in row.spans] for row in made]


def anew(model, rows, turns, sampling):
    """The same with `generate`, which reads the whole history in each turn."""
    history, made = prompts(rows), [[] for _ in range(rows)]
    ends = [index for index in range(model.config.vocab_size) if index % ENDING == 0]
    for turn in range(turns):
        if turn:
            history = [[*past, *ids(OBSERVATION, row, turn)] for row, past in enumerate(history)]
        width = max(map(len, history))
        padded = torch.tensor([[0] * (width - len(past)) + past for past in history])
        mask = torch.tensor([[0] * (width - len(past)) + [1] * len(past) for past in history])
        how = {"do_sample": False} if sampling.greedy else {"do_sample": True, "top_k": 0}
        with torch.no_grad():
            written = model.generate(
                padded,
                attention_mask=mask,
                max_new_tokens=sampling.turn_tokens,
                eos_token_id=ends,
                pad_token_id=0,
                **how,
            )
        for row, tail in enumerate(written[:, width:].tolist()):
            length = next((place + 1 for place, index in enumerate(tail) if index % ENDING == 0), len(tail))
            made[row].append(tail[:length])
            history[row] += tail[:length]
    return made


def rate(play, *arguments):
    """Sampled tokens a CPU second."""
    start = time.process_time()
    made = play(*arguments)
    return sum(len(turn) for row in made for turn in row) / (time.process_time() - start)


@pytest.mark.parametrize("greedy", [True, False], ids=["greedy", "sampled"])
@pytest.mark.parametrize(
    ("model", "rows", "turns"),
    [(tiny, 80, 2), (tiny, 80, 4), pytest.param(smollm2, 4, 3, marks=pytest.mark.models)],  # minutes: tox -e bench -- -m models
    ids=["tiny-2-turns", "tiny-4-turns", "smollm2"],
)
@pytest.mark.benchmark(timer=time.process_time, warmup=False)
def test_tokens_a_second(benchmark, model, rows, turns, greedy, capsys):
    arguments = (model(), rows, turns, Sampling(greedy=greedy, turn_tokens=24, tokens=2048))
    if greedy:
        assert ours(*arguments) == anew(*arguments)
    pairs = [(rate(ours, *arguments), rate(anew, *arguments)) for _ in range(ROUNDS)]  # in turn: noise hits both alike
    benchmark.pedantic(ours, arguments, rounds=1)
    ratio = statistics.median(mine / theirs for mine, theirs in pairs)
    mine, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    benchmark.extra_info.update(tokens_a_second=mine, generate_tokens_a_second=theirs, ratio=ratio, aim=AIM)
    with capsys.disabled():
        print(  # noqa: T201 - a measurement is for reading
            f"\n{model.__name__}, {rows} rows, {turns} turns: {mine:,.0f} tokens a CPU second, "
            f"{ratio:.1f} times `generate` anew in each turn (aim {AIM})"
        )
