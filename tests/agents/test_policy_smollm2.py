"""The policy with SmolLM2, a real language model of 135 million parameters: `sesa models get smollm2` brings it."""

from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs the llm extra")
pytest.importorskip("transformers", reason="needs the llm extra")

from agents.policy import LoraSettings, ModelConfig, load_policy
from sesa_env.models import cache_folder
from tests.agents.toy_policy import SOLVER, WITH_CARDS

pytestmark = [
    pytest.mark.models,
    pytest.mark.skipif(not (cache_folder() / "models").is_dir(), reason="no model in the cache; type: sesa models get smollm2"),
]
CLOSING = ("</search>", "</answer>", "</question>")
LORA = LoraSettings(rank=4)


@pytest.fixture(scope="module")
def policy():
    return load_policy("smollm2")


@pytest.fixture(scope="module")
def pieces(policy):
    """The tokens that tags can be spelt with, and some of the others."""
    vocabulary = policy.tokenizer.get_vocab()
    spelling = (index for token, index in vocabulary.items() if any(token in tag for tag in CLOSING))
    return sorted({*policy.stops.candidates, *spelling, *range(17, len(vocabulary), 97)} - policy.stops.eos)


def first_end(policy, ids):
    return next((count for count in range(1, len(ids) + 1) if policy.stops.ends(ids[:count])), None)


def first_end_of_text(policy, ids):
    counts = range(1, len(ids) + 1)
    return next((count for count in counts if any(tag in policy.decode(ids[:count]) for tag in CLOSING)), None)


def logits(policy):
    ids = torch.tensor([policy.prompt_ids(SOLVER)], device=policy.device)
    with torch.no_grad():
        return policy.model(input_ids=ids).logits.float()


def moved(policy):
    """The policy with adapters as training might leave them."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weight in policy.model.named_parameters():
            if "lora_B" in name:
                weight.copy_(0.02 * torch.randn(weight.shape, generator=generator))
    return policy


def test_its_chat_template_holds_the_prompt(policy):
    assert policy.decode(policy.prompt_ids(WITH_CARDS)) == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        f"<|im_start|>user\n{WITH_CARDS.prompt}<|im_end|>\n<|im_start|>assistant\n"
    )
    assert policy.context_length == 8192
    assert policy.decode(sorted(policy.stops.eos)) == "<|im_end|>"


def test_it_is_the_language_model_it_should_be(policy):
    chat = [{"role": "user", "content": "What is the capital of France?"}]
    ids = policy.tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt")
    written = policy.model.generate(**ids.to(policy.device), max_new_tokens=12, do_sample=False)
    assert "Paris" in policy.decode(written[0].tolist())


@settings(max_examples=300)
@given(
    text=st.lists(st.sampled_from([*CLOSING, "</think>", "<search>", "</", ">", "\n\n", ".", " ", "é", "🙂", "Ada"])).map(
        "".join
    )
)
def test_a_turn_ends_with_the_token_that_completes_a_closing_tag(policy, text):
    ids = policy.tokenizer(text, add_special_tokens=False)["input_ids"]
    assert first_end(policy, ids) == first_end_of_text(policy, ids)


@settings(max_examples=300)
@given(data=st.data())
def test_any_tokens_end_where_their_text_does(policy, pieces, data):
    ids = data.draw(st.lists(st.sampled_from(pieces), max_size=24))
    assert first_end(policy, ids) == first_end_of_text(policy, ids)


def test_the_tags_are_spread_over_tokens_and_share_the_last(policy):
    def pieces(text):
        return [policy.decode([index]) for index in policy.tokenizer(text, add_special_tokens=False)["input_ids"]]

    assert pieces("</answer>") == ["</", "answer", ">"]
    assert pieces("</search>.")[-1] == ">.", "else the property tests above show less than they say"


def test_a_saved_policy_is_the_same_policy(policy):
    with TemporaryDirectory() as folder:
        policy.save(f"{folder}/model")
        again = load_policy(f"{folder}/model")
        assert torch.equal(logits(again), logits(policy))
        assert again.prompt_ids(SOLVER) == policy.prompt_ids(SOLVER)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("mixed", 0.25)])
def test_adapters_are_merged_when_saved(policy, dtype, tolerance):
    pytest.importorskip("peft", reason="needs the train extra")
    trained = moved(load_policy("smollm2", ModelConfig(dtype=dtype, lora=LORA)))
    before, start = logits(trained), logits(policy)
    with TemporaryDirectory() as folder:
        trained.save(f"{folder}/model")
        merged = logits(load_policy(f"{folder}/model"))
    # "mixed" computes in bfloat16 what the merged model computes in float32.
    assert (merged - before).abs().mean() < tolerance * (start - before).abs().mean()
    plain = policy if dtype == "float32" else load_policy("smollm2", ModelConfig(dtype="bfloat16"))
    assert torch.equal(logits(trained.reference()), logits(plain))


def test_bfloat16_is_near_float32(policy):
    half = load_policy("smollm2", ModelConfig(dtype="bfloat16"))
    assert {weight.dtype for weight in half.model.parameters()} == {torch.bfloat16}
    probabilities = [torch.log_softmax(logits(one)[0], -1) for one in (policy, half)]
    divergence = torch.nn.functional.kl_div(probabilities[1], probabilities[0], log_target=True, reduction="batchmean")
    assert 0.0 <= divergence < 0.05
