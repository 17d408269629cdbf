"""TRL's tool loop over the game: tools, rewards, and one GRPO step with a model that calls them."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from datasets import Dataset
from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer

from sesa_env.integrations.messages import TOOLS
from sesa_env.integrations.seats import shared_tasks
from sesa_env.integrations.trl_tools import ChallengerTools, SolverTools, challenger_tools, solver_tools, tool_rows
from sesa_env.types import Role
from tests.integrations.toy_tools import Scripted, config, tool_call, tool_tokenizer

pytestmark = [
    pytest.mark.filterwarnings("ignore:You are using 'environment_factory':UserWarning"),
    pytest.mark.filterwarnings("ignore:`(is_)?gradient_checkpointing` is deprecated:FutureWarning"),
]
WORLD = {"corpus": "miniwiki", "corpus_options": {"n_questions": 4, "n_targets": 4}, "rules": {"group_size": 2}}


@pytest.mark.parametrize(("kind", "role"), [(SolverTools, Role.SOLVER), (ChallengerTools, Role.CHALLENGER)])
def test_the_schemas_are_those_of_the_messages(kind, role):
    last = getattr(kind, "answer", None) or kind.question
    schemas = [get_json_schema(tool) for tool in (kind.search, last)]
    for schema in schemas:
        assert schema["function"].pop("return") == {"type": "string"}  # transformers' own addition
    assert schemas == list(TOOLS[role])


def test_a_solver_is_paid_for_the_right_answer():
    tools, question = solver_tools(**WORLD)(), shared_tasks(role="solver", **WORLD).tasks[2]
    prompt = tools.reset(task=2, prompt="", other=1)
    assert question.text in prompt
    assert "<answer>" not in prompt
    assert "<information>" in tools.search(query="the town")
    assert tools.answer(answer=question.answers[0]) == "The episode is over."
    assert tools.search(query="more") == "The episode is over."
    assert tools.get_reward() == 1.0
    tools.reset(task=2)
    assert tools.get_reward() == 0.0  # it never answered


def test_what_the_game_says_names_tools():
    tools = solver_tools(**WORLD | {"rules": {"max_turns": 3}})()
    tools.reset(task=0)
    assert tools.search(query="") == "Error: <search> is empty. Write something between the tags."
    assert tools.search(query="x").endswith("This is your last turn. Write answer(...) now.")


def test_a_challenger_is_paid_by_the_game():
    tools = challenger_tools(**WORLD)()
    target = shared_tasks(role="challenger", **WORLD).tasks[1]
    assert target.answer in tools.reset(task=1)
    tools.search(query=target.answer)
    assert tools.question(question="Too short?") == "The episode is over."
    assert tools.get_reward() == 0.0


def trainer_for(tmp_path, script):
    tokenizer = tool_tokenizer()
    torch.manual_seed(0)
    model = Scripted(config(tokenizer))
    model.script = script
    return GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        environment_factory=solver_tools(**WORLD),
        args=GRPOConfig(
            output_dir=str(tmp_path),
            per_device_train_batch_size=2,
            num_generations=2,
            max_completion_length=4000,
            max_steps=1,
            learning_rate=1e-2,
            beta=0.0,
            report_to=[],
            save_strategy="no",
            logging_steps=1,
            disable_tqdm=True,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
        ),
        train_dataset=Dataset.from_list(tool_rows(4)),
    )


def test_one_step_masks_what_tools_said_and_pays_the_right_answer(tmp_path):
    """The first of the two rollouts answers rightly, the second wrongly."""
    tasks = shared_tasks(role="solver", **WORLD)

    def script(row, conversation):
        if "<tool_response>" not in conversation:
            return tool_call("search", query="the town")
        if "The episode is over." in conversation:
            return "Done."
        gold = next(question.answers[0] for question in tasks.tasks if question.text in conversation)
        return tool_call("answer", answer=gold if row == 0 else "nobody at all")

    trainer = trainer_for(tmp_path, script)
    before = {name: weight.detach().clone() for name, weight in trainer.model.named_parameters()}
    batches, original = [], trainer._generate_and_score_completions
    trainer._generate_and_score_completions = lambda inputs: batches.append(original(inputs)) or batches[-1]
    trainer.train()
    (batch,) = batches
    for ids, attention, mask in zip(batch["completion_ids"], batch["completion_mask"], batch["tool_mask"], strict=True):
        written, shown = ids[(attention * mask).bool()], ids[(attention * (1 - mask)).bool()]
        text = trainer.processing_class.decode(written)
        assert "<tool_response>" not in text
        assert text.count("<tool_call>") == 2
        assert "<information>" in trainer.processing_class.decode(shown)
    assert trainer.state.log_history[0]["rewards/SolverTools/mean"] == 0.5
    assert batch["advantages"].flatten().tolist() == pytest.approx([0.7071, -0.7071], abs=1e-3)
    assert any(not torch.equal(weight, before[name]) for name, weight in trainer.model.named_parameters())
