"""verl's agent loop with a server that says what the test wants: ids, mask, reward, and where it ends."""

import asyncio
from types import SimpleNamespace

import pytest

pytest.importorskip("verl", reason="verl 0.9 wants an older transformers than the project's: see docs/faces/verl.md")
torch = pytest.importorskip("torch")

import warnings
from pathlib import Path

with warnings.catch_warnings():  # verl and ray import from each other's and their own old places
    warnings.simplefilter("ignore", DeprecationWarning)
    import hydra
    from omegaconf import OmegaConf
    from verl.experimental.agent_loop.agent_loop import AgentLoopWorker, DictConfigWrap, ToolListWrap
    from verl.utils.dataset.rl_dataset import RLHFDataset
    from verl.workers.rollout.replica import TokenOutput

from sesa_env.errors import ConfigError
from sesa_env.integrations.seats import shared_tasks
from sesa_env.integrations.verl_data import write_rows
from tests.agents.toy_policy import byte_tokenizer

LOOPS = OmegaConf.load(Path(__file__).resolve().parents[2] / "docs" / "examples" / "verl_agents.yaml")
TOKENIZER = byte_tokenizer()


class FakeServer:
    """Writes the given texts, each followed by words that no turn should keep."""

    def __init__(self, texts, logprobs=True):
        self.texts, self.logprobs, self.asked = list(texts), logprobs, []

    async def generate(self, request_id, *, prompt_ids, sampling_params, priority=0):
        self.asked.append((request_id, list(prompt_ids), dict(sampling_params)))
        text = self.texts.pop(0)
        ids = TOKENIZER(text + " and so on" if text else "", add_special_tokens=False)["input_ids"][
            : sampling_params["max_tokens"]
        ]
        return TokenOutput(token_ids=ids, log_probs=[-0.5] * len(ids) if self.logprobs else None)


def loop_for(server, number=0, response=4000, prompt=4000, **extra):
    """As AgentLoopWorker makes it, from the configuration that the page shows."""
    rollout = {"prompt_length": prompt, "response_length": response, "name": "vllm"}
    config = OmegaConf.create({"actor_rollout_ref": {"rollout": rollout}, "data": {}})
    return hydra.utils.instantiate(
        config=OmegaConf.merge(LOOPS[number], extra),
        trainer_config=DictConfigWrap(config=config),
        server_manager=server,
        tokenizer=TOKENIZER,
        processor=None,
        hf_model_type=None,
        dataset_cls=RLHFDataset,
        data_config=DictConfigWrap(config.data),
        tools=ToolListWrap([]),
    )


def run(server, number=0, index=0, **options):
    async def inside():  # a loop made outside leaves an event loop of verl's behind
        loop = loop_for(server, number, **options)
        info = {} if index is None else {"index": index}
        return loop, await loop.run({"temperature": 1.0}, extra_info=info, raw_prompt=[])

    return asyncio.run(inside())


def test_a_solver_s_rollout_is_exact():
    tasks = shared_tasks(role="solver", corpus="miniwiki")
    question = tasks.tasks[3]
    texts = ["<think>hm</think><search>the town</search>", f"<answer>{question.answers[0]}</answer>"]
    loop, output = run(server := FakeServer(texts), index=3)
    sampled = [index for index, mark in zip(output.response_ids, output.response_mask, strict=True) if mark]
    assert TOKENIZER.decode(sampled) == "".join(texts)
    assert output.reward_score == 1.0
    assert output.num_turns == 4
    assert output.response_logprobs == [-0.5 if mark else 0.0 for mark in output.response_mask]
    assert server.asked[1][1] == output.prompt_ids + output.response_ids[: output.response_mask.index(0)] + [
        index for index, mark in zip(output.response_ids, output.response_mask, strict=True) if not mark
    ]
    assert server.asked[0][0] == server.asked[1][0]
    game = tasks.begin(3)
    tasks.step([game], texts[:1])
    between = [index for index, mark in zip(output.response_ids, output.response_mask, strict=True) if not mark]
    assert between == loop.tokens.observation_ids(game.state.transcript[-1].observation)


def test_a_challenger_is_paid_by_its_inner_solvers():
    tasks = shared_tasks(role="challenger", opponent="naive", corpus="miniwiki")
    texts = ["<question>Who is it?</question>"]
    loop, output = run(FakeServer(texts, logprobs=False), number=1)
    assert output.reward_score == 0.0
    assert output.response_logprobs is None
    assert output.prompt_ids == loop.tokens.prompt_ids(tasks.begin(0).view())


def test_the_budget_ends_it():
    _, output = run(FakeServer(["<think>" + "ever " * 100] * 9), response=40, turn_tokens=16)
    assert len(output.response_ids) <= 40
    assert output.response_mask[-1] == 1
    assert output.reward_score <= 0.0


def test_an_aborted_request_ends_it():
    _, output = run(FakeServer([""]))
    assert output.response_ids == []
    assert output.reward_score == 0.0


def test_what_it_cannot_play_is_refused():
    with pytest.raises(ConfigError, match="filter_overlong_prompts"):
        run(FakeServer([]), prompt=20)
    with pytest.raises(ConfigError, match="extra_info"):
        run(FakeServer([]), index=None)


def test_verl_s_own_worker_takes_the_output():
    """Padding, masks and score as verl's worker makes them, without its ray actors."""
    _, output = run(FakeServer(["<answer>nobody</answer>"]))
    worker = object.__new__(AgentLoopWorker)
    worker.rollout_config = SimpleNamespace(prompt_length=len(output.prompt_ids) + 3, response_length=64)
    worker.tokenizer, worker.processor, worker.mm_processor_kwargs = TOKENIZER, None, {}
    worker.reward_loop_worker_handles, worker.distillation_enabled = None, False
    padded = asyncio.run(worker._agent_loop_postprocess(output, False, raw_prompt=[]))
    batch = worker._postprocess([padded])
    assert batch.batch["response_mask"][0].tolist() == output.response_mask + [0] * (64 - len(output.response_mask))
    assert batch.batch["rm_scores"][0, len(output.response_ids) - 1] == 0.0


def test_rows_are_verl_s(tmp_path):
    tasks = shared_tasks(role="solver", corpus="miniwiki", corpus_options={"n_questions": 3})
    pytest.importorskip("pyarrow")
    assert write_rows(tmp_path / "train.parquet", tasks, "sesa_solver") == 3
    config = OmegaConf.create({"max_prompt_length": 4000, "filter_overlong_prompts": True, "cache_dir": str(tmp_path)})
    data = RLHFDataset(str(tmp_path / "train.parquet"), TOKENIZER, config)
    assert data[1]["raw_prompt"] == [{"role": "user", "content": tasks.begin(1).view().prompt}]
    assert data[1]["agent_name"] == "sesa_solver"
    assert data[2]["extra_info"]["index"] == 2
