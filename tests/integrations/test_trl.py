"""TRL's rollout_func: the tag protocol, token by token, and one GRPO step with it."""

import re

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from agents.prompts import load_style
from agents.tiny import load_tiny
from sesa_env.errors import ConfigError
from sesa_env.integrations.seats import SeatTasks
from sesa_env.integrations.trl import TagRollout, game_reward
from sesa_env.types import Role

pytestmark = [
    pytest.mark.filterwarnings("ignore:You are using 'rollout_func':UserWarning"),
    # transformers and TRL read attributes by the names that transformers deprecates.
    pytest.mark.filterwarnings("ignore:`(is_)?gradient_checkpointing` is deprecated:FutureWarning"),
]
STYLE = load_style("tiny")
LIMIT = 300
CLOSED = re.compile("</(?:search|answer|question)>")
OPTIONS = {"n_questions": 4, "n_targets": 4}


class Spy(TagRollout):
    """Keeps what it handed to TRL."""

    def __call__(self, prompts, trainer):
        self.prompts, self.output = prompts, super().__call__(prompts, trainer)
        return self.output


def trainer_for(rollout, tmp_path, **options):
    model, tokenizer = load_tiny()
    tokenizer.chat_template = STYLE.chat_template
    settings = {
        "per_device_train_batch_size": 4,
        "num_generations": 2,
        "max_completion_length": LIMIT,
        "max_steps": 1,
        "learning_rate": 1e-3,
        "beta": 0.0,
        "temperature": 0.9,
        "report_to": [],
        "save_strategy": "no",
        "logging_steps": 1,
        "disable_tqdm": True,
        "use_cpu": True,
        "gradient_checkpointing": False,
        "bf16": False,
    }
    return GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=game_reward,
        rollout_func=rollout,
        args=GRPOConfig(output_dir=str(tmp_path), **settings | options),
        train_dataset=Dataset.from_list(rollout.rows()),
    )


@pytest.fixture(scope="module", params=["solver", "challenger"])
def trained(request, tmp_path_factory):
    """A trainer after one step, what it rolled out, its batch, and the weights before."""
    tasks = SeatTasks(request.param, corpus_options=OPTIONS, rules={"group_size": 2})
    trainer = trainer_for(rollout := Spy(tasks, STYLE, turn_tokens=48), tmp_path_factory.mktemp("trl"))
    before = {name: weight.detach().clone() for name, weight in trainer.model.named_parameters()}
    batches, original = [], trainer._generate_and_score_completions
    trainer._generate_and_score_completions = lambda inputs: batches.append(original(inputs)) or batches[-1]
    trainer.train()
    return trainer, rollout, batches[0], before


def segments(mask):
    """[start, stop) of each run of ones."""
    padded = [0, *mask, 0]
    edges = [place for place in range(1, len(padded)) if padded[place] != padded[place - 1]]
    return list(zip((edge - 1 for edge in edges[::2]), (edge - 1 for edge in edges[1::2]), strict=True))


def test_a_rollout_is_the_game_that_its_ids_say(trained):
    trainer, rollout, _, _ = trained
    output, tasks, decode = rollout.output, rollout.tasks, trainer.processing_class.decode
    assert len(output["completion_ids"]) == len(rollout.prompts) == 4
    for prompt, ids, mask, reward in zip(
        rollout.prompts, output["completion_ids"], output["env_mask"], output["game_reward"], strict=True
    ):
        assert len(ids) == len(mask)
        game = tasks.begin(rollout._task(prompt))
        for number, (start, stop) in enumerate(spans := segments(mask)):
            assert tasks.plays(game)
            text = decode(ids[start:stop])
            if stop == LIMIT and not CLOSED.search(text):  # the budget of ids ended it
                game.cut_off(text)
                break
            tasks.step([game], [text])
            if number + 1 < len(spans):  # what stands between two turns is what the game answered, and nothing else
                answer = STYLE.observation(game.state.transcript[-1].observation)
                wanted = trainer.processing_class(answer, add_special_tokens=False)["input_ids"]
                assert ids[stop : spans[number + 1][0]] == wanted
        assert mask[-1] == 1
        assert tasks.close(game) == reward


def test_prompts_are_the_chat_template_s(trained):
    trainer, rollout, _, _ = trained
    for prompt, ids in zip(rollout.prompts, rollout.output["prompt_ids"], strict=True):
        text = trainer.processing_class.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)
        assert ids == trainer.processing_class(text, add_special_tokens=False)["input_ids"]


def test_log_probabilities_are_the_learner_s(trained):
    _, rollout, _, _ = trained
    model, _ = load_tiny()  # as it was before the step
    for prompt, ids, mask, logprobs in zip(
        *(rollout.output[name] for name in ("prompt_ids", "completion_ids", "env_mask", "logprobs")), strict=True
    ):
        with torch.no_grad():
            logits = model(torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1] / 0.9
        again = logits.log_softmax(-1).gather(-1, torch.tensor(ids)[:, None])[:, 0]
        sampled = torch.tensor(mask).bool()
        torch.testing.assert_close(torch.tensor(logprobs)[sampled], again[sampled], rtol=0, atol=1e-4)
        assert not torch.tensor(logprobs)[~sampled].any()


def test_trl_takes_mask_and_rewards(trained):
    trainer, rollout, batch, before = trained
    for row, mask in zip(batch["tool_mask"].tolist(), rollout.output["env_mask"], strict=True):
        assert row[: len(mask)] == mask
    rewards = torch.tensor(rollout.output["game_reward"])
    groups = rewards.view(2, 2)
    expected = ((groups - groups.mean(1, keepdim=True)) / (groups.std(1, keepdim=True) + 1e-4)).flatten()
    torch.testing.assert_close(batch["advantages"].flatten(), expected, rtol=1e-4, atol=1e-4)
    assert trainer.state.log_history[0]["reward"] == pytest.approx(rewards.mean().item(), abs=1e-4)
    moved = [name for name, weight in trainer.model.named_parameters() if not torch.equal(weight, before[name])]
    assert bool(moved) == bool(groups.std(1).any())


def test_groups_play_one_task(trained):
    _, rollout, _, _ = trained
    tasks = [rollout._task(prompt) for prompt in rollout.prompts]
    assert tasks == [tasks[0], tasks[0], tasks[2], tasks[2]]


def test_the_budget_of_ids_ends_a_rollout(tmp_path):
    rollout = Spy(SeatTasks(corpus_options=OPTIONS), STYLE, turn_tokens=8)
    trainer = trainer_for(rollout, tmp_path, max_completion_length=12)
    output = rollout([row["prompt"] for row in rollout.rows()], trainer)
    assert all(1 <= len(ids) <= 12 for ids in output["completion_ids"])
    assert all(mask[-1] == 1 for mask in output["env_mask"])


def test_what_it_cannot_play_is_refused(tmp_path):
    rollout = TagRollout(SeatTasks(corpus_options=OPTIONS), STYLE)
    trainer = trainer_for(rollout, tmp_path)
    with pytest.raises(ConfigError, match="rows"):
        rollout(["who?"], trainer)
    trainer.mask_truncated_completions = True
    with pytest.raises(ConfigError, match="mask_truncated_completions"):
        rollout(["who?"], trainer)
    assert rollout.tasks.role is Role.SOLVER
