"""Policies: by name, in every precision, with prompts that hold a beginning once, saved as plain directories."""

import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the llm extra")
pytest.importorskip("transformers", reason="needs the llm extra")

from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

from agents.adapters import AdaptersOff
from agents.policy import LoraSettings, ModelConfig, Policy, load_policy
from agents.prompts import load_style
from sesa_env.errors import ConfigError
from sesa_env.plain import build
from tests.agents.toy_policy import CHALLENGER, SOLVER, TOKENIZERS, bos_tokenizer, byte_tokenizer, toy_model, toy_policy

LORA = LoraSettings(rank=2, alpha=4.0)
IDS = torch.arange(40, 72).reshape(2, 16)
QWEN3_LIKE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
WITH_BOS = "{{ bos_token }}{% for message in messages %}[{{ message['content'] | trim }}]{% endfor %}"


@pytest.fixture
def saved(tmp_path):
    """A directory as any project saves one."""
    tokenizer = byte_tokenizer()
    toy_model(tokenizer).save_pretrained(tmp_path / "plain")
    tokenizer.save_pretrained(tmp_path / "plain")
    return str(tmp_path / "plain")


def logits(policy_or_model):
    model = policy_or_model.model if isinstance(policy_or_model, Policy) else policy_or_model
    with torch.no_grad():
        return model(input_ids=IDS).logits


def disturb(policy, scale=0.05):
    """Changes every weight that training would."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in policy.model.parameters():
            if weight.requires_grad:
                weight.add_(scale * torch.randn(weight.shape, generator=generator).to(weight.dtype))
    return policy


# ---- prompts and observations -------------------------------------------------------------------------------------


def test_a_prompt_is_the_users_message_up_to_where_the_assistant_writes():
    policy = toy_policy()
    text = policy.decode(policy.prompt_ids(SOLVER))
    assert text == f"<|im_start|>user\n{SOLVER.prompt}<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize("kind", sorted(TOKENIZERS))
def test_an_observation_is_tokenised_by_itself_without_special_tokens(kind):
    policy = toy_policy(kind)
    text = "\n\n<information>\n\n</information>\n\n"
    assert policy.observation_ids(text.strip()) == policy.tokenizer(text, add_special_tokens=False)["input_ids"]
    assert policy.tokenizer.bos_token_id is None or policy.tokenizer.bos_token_id not in policy.observation_ids(text)


@pytest.mark.parametrize("template", [None, WITH_BOS], ids=["bare", "template"])
def test_the_beginning_of_sequence_comes_once_and_first(template, tmp_path):
    tokenizer = bos_tokenizer(template)
    style = replace(load_style("tags"), chat_template=None)
    policy = Policy("toy", toy_model(tokenizer), tokenizer, style)
    ids = policy.prompt_ids(SOLVER)
    assert ids.index(tokenizer.bos_token_id) == 0
    assert ids.count(tokenizer.bos_token_id) == 1
    assert "Who wrote it?" in policy.decode(ids)


def test_a_chat_template_that_leaves_the_beginning_out_is_trusted():
    tokenizer = bos_tokenizer("{{ messages[0]['content'] }}")
    policy = Policy("toy", toy_model(tokenizer), tokenizer, load_style("tags"))
    assert tokenizer.bos_token_id not in policy.prompt_ids(SOLVER)


def test_a_model_without_chat_template_gets_the_styles_and_keeps_it(tmp_path):
    tokenizer = bos_tokenizer(None)
    policy = Policy("toy", toy_model(tokenizer), tokenizer, load_style("tags"))
    ids = policy.prompt_ids(SOLVER)
    assert ids.count(tokenizer.bos_token_id) == 1
    assert policy.decode(ids[1:]) == f"User: {SOLVER.prompt}\n\nAssistant:\n"
    policy.save(tmp_path / "model")
    again = AutoTokenizer.from_pretrained(tmp_path / "model")
    chat = [{"role": "user", "content": SOLVER.prompt}]
    assert again.apply_chat_template(chat, add_generation_prompt=True)["input_ids"] == ids


def test_without_any_template_the_prompt_is_bare():
    tokenizer = byte_tokenizer(None)
    policy = Policy("toy", toy_model(tokenizer), tokenizer, replace(load_style("tags"), chat_template=None))
    assert policy.decode(policy.prompt_ids(SOLVER)) == SOLVER.prompt


@pytest.mark.parametrize(("thinking", "ending"), [(True, "assistant\n"), (False, "assistant\n<think>\n\n</think>\n\n")])
def test_thinking_is_handed_to_templates_that_know_it(thinking, ending):
    tokenizer = byte_tokenizer(QWEN3_LIKE)
    policy = Policy("toy", toy_model(tokenizer), tokenizer, load_style("tags"), ModelConfig(thinking=thinking))
    assert policy.decode(policy.prompt_ids(SOLVER)).endswith(ending)


@pytest.mark.parametrize("kind", sorted(TOKENIZERS))
def test_foreign_text_cannot_become_a_special_token(kind):
    policy = toy_policy(kind)
    tokenizer = policy.tokenizer
    special = {index for index, token in tokenizer.added_tokens_decoder.items() if token.special} - {tokenizer.unk_token_id}
    special -= {index for index in special if tokenizer.convert_ids_to_tokens(index).startswith("<0x")}
    hostile = "a " + "".join(tokenizer.convert_ids_to_tokens(sorted(special)))
    assert special & set(tokenizer(hostile, add_special_tokens=False)["input_ids"]), "else this test shows nothing"

    def specials(ids):
        return [index for index in ids if index in special]

    assert specials(policy.observation_ids(hostile)) == []
    attacked = replace(SOLVER, prompt=hostile)
    assert specials(policy.prompt_ids(attacked)) == specials(policy.prompt_ids(SOLVER))


def test_decoding_keeps_everything():
    policy = toy_policy()
    text = "<answer> a , b . </answer><|im_end|>"
    assert policy.decode(policy.tokenizer(text, add_special_tokens=False)["input_ids"]) == text
    half = policy.tokenizer("é", add_special_tokens=False)["input_ids"][:1]
    assert policy.decode(half) == "\ufffd"


def test_every_end_that_the_models_files_name_ends_a_turn():
    tokenizer = byte_tokenizer()
    model = toy_model(tokenizer)
    model.generation_config.eos_token_id = [0, 7]
    policy = Policy("toy", model, tokenizer, load_style("tags"))
    assert policy.stops.eos == {0, 7, tokenizer.eos_token_id}


def test_training_and_evaluation_see_the_same_ids():
    pytest.importorskip("agents.rollout")
    from agents.rollout import Sampling, history_ids, roll_out
    from tests.agents.toy_policy import toy_games

    policy, games = toy_policy("words"), toy_games(2)
    prompts = [policy.prompt_ids(game.view()) for game in games]
    rollouts = roll_out(policy, games, Sampling(turn_tokens=8, tokens=500), seeds=[1, 2])
    for game, prompt, rollout in zip(games, prompts, rollouts, strict=True):
        assert list(rollout.ids[: rollout.turns[0][0]]) == prompt
        turns = game.state.transcript[: len(rollout.turns)]
        for turn, (_, stop), (start, _) in zip(turns, rollout.turns, rollout.turns[1:], strict=False):
            assert list(rollout.ids[stop:start]) == policy.observation_ids(turn.observation)
        seen = [(turn.text, turn.observation) for turn in turns[:-1]]
        assert policy.decode(history_ids(policy, prompt, seen)) == policy.decode(rollout.ids[: rollout.turns[-1][0]])


# ---- names --------------------------------------------------------------------------------------------------------


def test_a_directory_is_a_name(saved):
    policy = load_policy(saved)
    assert policy.name == saved
    assert policy.style.name == "tags"
    assert policy.context_length == 512
    assert policy.device.type == ("cuda" if torch.cuda.is_available() else policy.device.type)
    assert not policy.model.training
    assert torch.equal(logits(policy), logits(AutoModelForCausalLM.from_pretrained(saved, dtype=torch.float32)))


def test_tiny_is_a_name(monkeypatch):
    tokenizer = TOKENIZERS["words"]()
    monkeypatch.setattr("agents.pretrained.load_tiny", lambda: (toy_model(tokenizer), tokenizer))
    policy = load_policy("tiny", ModelConfig(dtype="bfloat16", device="cpu"))
    assert policy.style.name == "tiny"
    assert {weight.dtype for weight in policy.model.parameters()} == {torch.bfloat16}
    assert policy.model.model.rotary_emb.inv_freq.dtype == torch.float32


@pytest.mark.parametrize("name", ["tinny", "a/b/c", "", "no such"])
def test_an_unknown_name_is_told_what_there_is(name):
    expected = r"model: expected tiny, smollm2, smollm2-warm, the path of .* or a hub id OWNER/NAME; got "
    with pytest.raises(ConfigError, match=expected):
        load_policy(name)


def test_a_model_that_must_be_fetched_first_says_how(monkeypatch, tmp_path):
    monkeypatch.setenv("SESA_CACHE", str(tmp_path))
    with pytest.raises(ConfigError, match="type: sesa models get smollm2"):
        load_policy("smollm2")


def test_a_hub_id_without_a_network_says_what_to_do(monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(
        ConfigError, match=r"could not be had from the Hugging Face hub.*hf download nobody/nothing --local-dir"
    ):
        load_policy("nobody/nothing")


def test_a_directory_that_holds_no_model(tmp_path):
    with pytest.raises(ConfigError, match="cannot be loaded as a transformers directory"):
        load_policy(str(tmp_path))


def test_a_directory_with_damaged_weights(saved):
    weights = Path(saved) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:500])
    with pytest.raises(ConfigError, match="cannot be loaded as a transformers directory"):
        load_policy(saved)


def test_weights_that_are_missing_are_not_made_up(saved):
    weights = Path(saved) / "model.safetensors"
    state = load_file(weights)
    del state["model.norm.weight"]
    save_file(state, weights, {"format": "pt"})
    with pytest.raises(ConfigError, match=r"its files lack 1 weights, the first of them model\.norm\.weight"):
        load_policy(saved)


def test_half_precision_is_as_transformers_loads_it(saved):
    plain = AutoModelForCausalLM.from_pretrained(saved, dtype=torch.bfloat16)
    assert torch.equal(logits(load_policy(saved, ModelConfig(dtype="bfloat16"))), logits(plain))


def test_settings_that_cannot_be(saved):
    with pytest.raises(ConfigError, match="dtype: expected one of float32, bfloat16, mixed; got 'half'"):
        ModelConfig(dtype="half")
    with pytest.raises(ConfigError, match="give lora settings too"):
        ModelConfig(dtype="mixed")
    with pytest.raises(ConfigError, match="lora rank: expected at least 1; got 0"):
        LoraSettings(rank=0)
    with pytest.raises(ConfigError, match="lora dropout"):
        LoraSettings(dropout=1.0)
    with pytest.raises(ConfigError, match=r"device: expected auto, cpu, .*; got 'quantum'"):
        load_policy(saved, ModelConfig(device="quantum"))


def test_the_configuration_is_plain_data():
    config = ModelConfig(dtype="mixed", lora=LoraSettings(target_modules=("q_proj", "v_proj")), style="search-r1")
    assert build(ModelConfig, asdict(config)) == config


# ---- weights ------------------------------------------------------------------------------------------------------


def test_a_saved_policy_is_the_same_policy(saved, tmp_path):
    policy = disturb(load_policy(saved, ModelConfig(style="search-r1")))
    policy.save(tmp_path / "model")
    again = load_policy(str(tmp_path / "model"))
    assert torch.equal(logits(again), logits(policy))
    assert again.style == policy.style
    assert [again.prompt_ids(view) for view in (SOLVER, CHALLENGER)] == [
        policy.prompt_ids(view) for view in (SOLVER, CHALLENGER)
    ]
    plain = AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    assert torch.equal(logits(plain), logits(policy))


def test_a_style_of_ones_own_is_not_written_into_a_model(saved, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("solver", "challenger", "card", "observation"):
        (folder / f"{name}.txt").write_text("x\n")
    load_policy(saved, ModelConfig(style=str(folder))).save(tmp_path / "model")
    assert load_policy(str(tmp_path / "model")).style.name == "tags"


def test_saving_replaces_a_directory_whole_or_not_at_all(saved, tmp_path, monkeypatch):
    policy, target = load_policy(saved), tmp_path / "model"
    policy.save(target)
    before = logits(policy)
    disturb(policy)
    with monkeypatch.context() as patch:
        patch.setattr(policy.tokenizer, "save_pretrained", lambda folder: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            policy.save(target)
    assert torch.equal(logits(load_policy(str(target))), before)
    policy.save(target)
    assert torch.equal(logits(load_policy(str(target))), logits(policy))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "plain"]


def test_weights_go_out_and_in(saved):
    policy, other = disturb(load_policy(saved)), load_policy(saved)
    state = policy.state_dict()
    other.load_state_dict(state)
    assert torch.equal(logits(other), logits(policy))
    disturb(policy)
    other.load_state_dict(state)
    assert not torch.equal(logits(other), logits(policy)), "the state is a copy"
    with pytest.raises(ConfigError, match=r"weights of another model: 'model\.norm\.weight' is 32 here and absent in the file"):
        other.load_state_dict({name: weight for name, weight in state.items() if name != "model.norm.weight"})
    with pytest.raises(ConfigError, match="is absent here and 1 in the file"):
        other.load_state_dict(state | {"zzz": torch.zeros(1)})


def test_a_frozen_copy_stays_as_it_was(saved):
    policy = load_policy(saved)
    for make in (policy.frozen_copy, policy.reference):
        before, copy = logits(policy), make()
        disturb(policy)
        assert torch.equal(logits(copy), before)
        assert not torch.equal(logits(policy), before)
        assert not any(weight.requires_grad for weight in copy.model.parameters())
        assert copy.prompt_ids(SOLVER) == policy.prompt_ids(SOLVER)


def test_recomputing_activations_changes_no_gradient(saved):
    gradients = []
    for checkpointing in (False, True):
        model = load_policy(saved, ModelConfig(gradient_checkpointing=checkpointing)).model.train()
        model(input_ids=IDS, labels=IDS, use_cache=False).loss.backward()
        gradients.append([weight.grad for weight in model.parameters()])
    assert model.model.gradient_checkpointing
    assert all(torch.allclose(one, two, atol=1e-7) for one, two in zip(*gradients, strict=True))


# ---- adapters -----------------------------------------------------------------------------------------------------

needs_peft = pytest.mark.skipif("not __import__('importlib.util').util.find_spec('peft')", reason="needs the train extra")
PRECISIONS = [
    ("float32", torch.float32, torch.float32),
    ("bfloat16", torch.bfloat16, torch.bfloat16),
    ("mixed", torch.bfloat16, torch.float32),
]


@needs_peft
@pytest.mark.parametrize(("dtype", "base", "adapters"), PRECISIONS)
def test_adapters_alone_are_trained(saved, dtype, base, adapters):
    policy = load_policy(saved, ModelConfig(dtype=dtype, lora=LORA))
    trained = {name: weight for name, weight in policy.model.named_parameters() if weight.requires_grad}
    assert trained
    assert all("lora_" in name and weight.dtype == adapters for name, weight in trained.items())
    assert {weight.dtype for weight in policy.model.parameters() if not weight.requires_grad} == {base}
    assert policy.state_dict().keys() == trained.keys()
    plain = load_policy(saved, ModelConfig(dtype="float32" if dtype == "float32" else "bfloat16"))
    assert torch.equal(logits(policy), logits(plain)), "fresh adapters change nothing"


@needs_peft
@pytest.mark.parametrize(("dtype", "base", "adapters"), PRECISIONS)
def test_adapters_are_merged_when_saved(saved, tmp_path, dtype, base, adapters):
    policy = disturb(load_policy(saved, ModelConfig(dtype=dtype, lora=LORA)), 0.3)
    before, start = logits(policy), logits(load_policy(saved))
    policy.save(tmp_path / "model")
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "model", dtype="auto")
    assert merged.dtype == adapters, "bfloat16 would round a small change away"
    changed = (start - before.float()).abs().mean()
    wrong = (logits(merged).float() - before.float()).abs().mean()
    assert wrong < (1e-5 if dtype == "float32" else 0.05) * changed
    assert torch.equal(logits(policy), before), "saving changes nothing"
    assert not list((tmp_path / "model").glob("*adapter*"))
    assert torch.equal(logits(load_policy(str(tmp_path / "model"))), logits(merged.float()))


@needs_peft
@pytest.mark.parametrize(("config", "model"), [(Qwen2Config, Qwen2ForCausalLM), (Qwen3Config, Qwen3ForCausalLM)])
def test_other_families_go_the_same_way(tmp_path, config, model):
    tokenizer = byte_tokenizer(QWEN3_LIKE)
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "tie_word_embeddings": False}
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "max_position_embeddings": 128}
    ends = {"bos_token_id": None, "eos_token_id": 2, "pad_token_id": 0}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model(config(vocab_size=len(tokenizer), **heads, **sizes, **ends)).save_pretrained(tmp_path / "plain")
    tokenizer.save_pretrained(tmp_path / "plain")
    policy = disturb(load_policy(str(tmp_path / "plain"), ModelConfig(lora=LORA)))
    policy.save(tmp_path / "model")
    again = load_policy(str(tmp_path / "model"))
    assert type(again.model) is model
    assert torch.allclose(logits(again), logits(policy), atol=1e-5)
    assert not torch.allclose(logits(load_policy(str(tmp_path / "plain"))), logits(policy), atol=1e-3)
    assert again.decode(again.prompt_ids(SOLVER)).endswith("<think>\n\n</think>\n\n")


@needs_peft
def test_adapters_begin_from_their_own_seed(saved):
    state = torch.get_rng_state()
    one, two = (load_policy(saved, ModelConfig(lora=LORA)).state_dict() for _ in range(2))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(one[name], two[name]) for name in one)
    other = load_policy(saved, ModelConfig(lora=replace(LORA, seed=1))).state_dict()
    assert not all(torch.equal(one[name], other[name]) for name in one)


@needs_peft
def test_the_reference_of_adapters_is_the_base_in_the_same_memory(saved):
    base = logits(load_policy(saved))
    policy = load_policy(saved, ModelConfig(lora=LORA))
    reference = policy.reference()
    assert isinstance(reference.model, AdaptersOff)
    disturb(policy)
    policy.model.train()
    reference.model.eval()
    assert policy.model.training, "the reference leaves the policy's mode alone"
    assert torch.equal(logits(reference), base)
    assert not torch.equal(logits(policy), base), "the adapters are back on"
    assert not reference.model(input_ids=IDS).logits.requires_grad
    assert policy.model(input_ids=IDS).logits.requires_grad
    assert reference.model.get_output_embeddings() is policy.model.get_output_embeddings()
    shared = {weight.data_ptr() for weight in policy.model.parameters()}
    assert {weight.data_ptr() for weight in reference.model.parameters()} == shared
    assert reference.device == policy.device
    assert reference.context_length == policy.context_length


@needs_peft
def test_layers_that_no_model_has(saved):
    with pytest.raises(ConfigError, match=r"lora target_modules: .*nonsense"):
        load_policy(saved, ModelConfig(lora=replace(LORA, target_modules=("nonsense",))))


def test_adapters_without_peft_name_the_extra(saved, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(ConfigError, match=r"'sesa-env\[train\]'"):
        load_policy(saved, ModelConfig(lora=LORA))
