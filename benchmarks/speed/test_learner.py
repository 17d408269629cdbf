"""How fast the learner is, in CPU time: an update of a `tiny`-sized model, and the same update by TRL's GRPOTrainer.

`ratio_to_trl` is the CPU time of TRL's loss, backward pass and step on the same model and batch, divided by the learner's: the
median of rounds that alternate between the two. TRL gets its batch ready-made; the learner makes its own from rollouts.
"""

import copy
import statistics
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from transformers import LlamaConfig, LlamaForCausalLM

from agents.learner import Learner, LearnerConfig, Sample
from agents.objective import advantages
from tests.agents.learning import Seat, rollout

VOCABULARY, ROWS, GROUP, OBSERVATION = 1500, 80, 5, 40
ROUNDS = 3


def model():
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=3,
        num_attention_heads=4,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        pad_token_id=0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return LlamaForCausalLM(config)


def batch():
    """80 rollouts of 180 to 320 ids, about 23 of them sampled, in groups of five with rewards that differ."""
    rng, made = np.random.default_rng(0), []
    for number in range(ROWS):
        turns = tuple(int(length) for length in rng.integers(4, 10, int(rng.integers(2, 6))))
        appended = sum(turns) + OBSERVATION * (len(turns) - 1)
        prompt = max(int(rng.integers(180, 321)) - appended, 10)
        one = rollout(rng, turns=turns, prompt=prompt, observation=OBSERVATION, logprobs=False, vocabulary=VOCABULARY)
        made.append(Sample(one, float(number % 2), number // GROUP))
    return made


def read_ids(made):
    return sum(len(sample.rollout.ids) for sample in made)


CONFIG = LearnerConfig(learning_rate=5e-4, entropy=0.01)


@pytest.mark.benchmark(timer=time.process_time)
def test_an_update_of_80_rollouts(benchmark):
    learner, made = Learner(Seat(model()), CONFIG), batch()
    metrics = benchmark.pedantic(learner.update, (made,), rounds=ROUNDS, warmup_rounds=1)
    assert metrics["steps"] == 1
    benchmark.extra_info.update(ids=read_ids(made), ids_per_cpu_second=round(read_ids(made) / benchmark.stats.stats.median))


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.filterwarnings("ignore:`(is_)?gradient_checkpointing` is deprecated:FutureWarning")  # transformers' own reads
@pytest.mark.parametrize("rows", [80, 16], ids=["in-one-batch", "in-batches-of-16"])
def test_an_update_beside_trls(benchmark, tmp_path, rows):
    pytest.importorskip("trl")
    from tests.agents.trl_side import batch_of, trainer_for

    made, same = batch(), model()
    learner = Learner(Seat(copy.deepcopy(same)), CONFIG)
    trainer = trainer_for(
        same, tmp_path, rows=rows, size=GROUP if rows == ROWS else 4, beta=0.0, entropy_coef=0.01, loss_type="dapo"
    )
    trainer.current_gradient_accumulation_steps = ROWS // rows
    optimizer = torch.optim.AdamW(same.parameters(), CONFIG.learning_rate / CONFIG.warmup_steps, weight_decay=0.0)
    rewards, groups = [sample.reward for sample in made], [sample.group for sample in made]
    credit = advantages(rewards, groups, [True] * ROWS, baseline="group", scale="group")
    order = sorted(range(ROWS), key=lambda number: -len(made[number].rollout.ids))
    parts = [order[start : start + rows] for start in range(0, ROWS, rows)]
    batches = [batch_of([made[number] for number in part], credit[part]) for part in parts]
    tokens = sum(part["num_items_in_batch"] for part in batches)
    trainer.args.steps_per_generation = len(batches)

    def theirs():
        trainer.model.train()
        loss = 0.0
        for part in batches:
            share = trainer.compute_loss(trainer.model, {**part, "num_items_in_batch": tokens})
            share.backward()
            loss += share.item()
        torch.nn.utils.clip_grad_norm_(same.parameters(), CONFIG.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()
        return loss

    ours = benchmark.pedantic(learner.update, (made,), rounds=1)
    assert ours["loss"] == pytest.approx(theirs(), abs=1e-3)  # the same work
    ratios = [seconds(theirs) / seconds(learner.update, made) for _ in range(ROUNDS)]
    benchmark.extra_info.update(ratio_to_trl=round(statistics.median(ratios), 2), all_ratios=[round(r, 2) for r in ratios])


def seconds(work, *arguments):
    start = time.process_time()
    work(*arguments)
    return time.process_time() - start
