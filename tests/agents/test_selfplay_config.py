"""What a run is: presets, profiles, arms and single settings, and the one budget of all arms."""

import json

import pytest

pytest.importorskip("torch")

from agents.selfplay.__main__ import default_directory, main
from agents.selfplay.arms import ARMS, arm_overrides, before_training, budget, check_equal_budgets, merged, spent
from agents.selfplay.config import GuardConfig, QuestionConfig, RunConfig, SkillConfig
from agents.selfplay.presets import PRESETS, configure, parse_setting, profile_of
from sesa_env.errors import ConfigError
from sesa_env.plain import build

FLASHRAG = {"world": "flashrag", "world_options": {"data": "DIR"}}
MOVING = {"challenger": {"learner": {"algorithm": "reinforce_moving"}}}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("profile", ["tiny", "llm"])
def test_all_arms_of_a_preset_have_one_budget(preset, profile):
    configs = [configure(preset, arm, profile=profile) for arm in ARMS]
    common = check_equal_budgets(configs)
    assert common["rollouts"] == common["questions"] * configs[1].rules.group_size > 0
    assert [config.updates for config in configs if config.arm == "base"] == [0]


def test_unequal_budgets_are_refused():
    with pytest.raises(ConfigError, match="one budget"):
        check_equal_budgets([configure(arm="sesa"), configure(arm="ssp", settings=[{"rules": {"group_size": 2}}])])


@pytest.mark.parametrize("arm", ARMS)
def test_a_configuration_survives_json(arm):
    config = configure("paper", arm, seed=3)
    assert build(RunConfig, json.loads(json.dumps(config.to_json()))) == config


def test_an_arm_changes_what_it_names_and_nothing_else():
    ssp, sesa = configure(arm="ssp").to_json(), configure(arm="sesa").to_json()
    assert ssp["rules"]["reward"].pop("challenger") == "one_minus_p"
    assert sesa["rules"]["reward"].pop("challenger") == "bell"
    assert (ssp["skills"].pop("enabled"), sesa["skills"].pop("enabled")) == (False, True)
    assert (ssp.pop("arm"), sesa.pop("arm")) == ("ssp", "sesa")
    assert ssp == sesa


def test_the_papers_numbers():
    paper = configure("paper")
    learner, memory = paper.solver.learner, paper.skills.bank
    assert (learner.learning_rate, learner.warmup_steps, learner.kl, learner.clip_high, learner.entropy) == (
        1e-6,
        5,
        0.01,
        0.285,
        0,
    )
    assert (paper.questions.per_update, learner.mini_batches, paper.rules.group_size, paper.rules.max_turns) == (256, 2, 5, 10)
    assert paper.questions.per_update // learner.mini_batches == 128
    assert (memory.top_k, memory.cap, memory.evict_after, memory.queue_size) == (3, 800, 3, 300)
    assert (memory.consolidate_every, memory.consolidate_min, memory.consolidate_max) == (10, 20, 30)
    assert (paper.skills.mined, paper.questions.pool_reset, paper.rules.validity.noise) == (142, 10, 4)
    for sampling in (paper.solver.sampling, paper.challenger.sampling):
        assert (sampling.prompt_tokens, sampling.response_tokens, sampling.tokens) == (4096, 8192, 4096 + 8192)
    assert (paper.rules.reward.frontier_low, paper.rules.reward.frontier_high) == (0.0, 1.0)
    assert 0.8 <= paper.challenger.sampling.temperature <= 1.0
    assert 150 <= paper.updates <= 200
    assert not paper.shared
    assert paper.skills.carry_over == 0
    assert (paper.rules.reward.malformed, paper.skills.embedder) == (0.0, "intfloat/e5-base-v2")
    assert (paper.judge, paper.skills.teacher) == (None, "hindsight")  # the paper's are behind servers


def test_the_papers_challenger_is_compared_within_the_rollouts_of_one_target():
    paper = configure("paper")
    assert paper.challenger.learner.recipe[:2] == ("group", "group")
    assert (paper.questions.baseline, paper.questions.per_target, 256 % paper.questions.per_target) == ("target", 4, 0)


def test_a_learner_scores_at_the_temperature_of_its_sampler():
    assert configure("paper").challenger.at_its_temperature().temperature == 0.9


def test_settings_go_over_everything():
    found = configure(settings=[parse_setting("skills.bank.evict_after=7"), parse_setting("guard.on_nan=recover")])
    assert (found.skills.bank.evict_after, found.guard.on_nan) == (7, "recover")


@pytest.mark.parametrize("preset", PRESETS)
def test_another_world_drops_the_presets_options(preset):
    found = configure(preset, seed=3, settings=[{"world": "flashrag"}, parse_setting("world_options.data=DIR")])
    assert (found.world, found.world_options) == ("flashrag", {"data": "DIR"})
    assert configure(preset, seed=3, settings=[{"world": "miniwiki"}]).world_options["seed"] == 3


def test_ready_questions_of_another_world_are_of_a_file_of_its_own():
    found = configure(arm="oracle", settings=[FLASHRAG, {"world_options": {"questions": "train.jsonl"}}])
    assert found.world_options == {"data": "DIR", "questions": "train.jsonl"}


def test_settings_that_do_not_parse_or_fit():
    with pytest.raises(ConfigError, match="FIELD=JSON"):
        parse_setting("updates")
    with pytest.raises(ConfigError, match="'colour' is not known"):
        configure(settings=[parse_setting("colour=1")])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: QuestionConfig(source="web"), "questions.source"),
        (lambda: QuestionConfig(per_update=0), "questions.per_update"),
        (lambda: QuestionConfig(per_update=5, per_target=2), "multiple of per_target"),
        (lambda: QuestionConfig(baseline="target"), "per_target: expected at least 2"),
        (lambda: configure(settings=[MOVING, {"questions": {"baseline": "hops"}}]), "compares within a group"),
        (lambda: configure(settings=[{"world_options": {"split": "test"}}]), "world_options.split"),
        (lambda: configure(seed=100_000), "seed: expected one below 100000"),
        (lambda: configure(settings=[{"world_options": {"seed": 100_001}}]), "world_options.seed: expected one below"),
        (lambda: configure(arm="oracle", settings=[FLASHRAG]), "train on the questions that it is evaluated on"),
        (lambda: configure(arm="skillrl", settings=[FLASHRAG]), "--set world_options.questions=FILE"),
        (lambda: SkillConfig(card_dropout=1.5), "card_dropout"),
        (lambda: SkillConfig(enabled=False, carry_over=0.5), "carry_over"),
        (lambda: GuardConfig(on_nan="ignore"), "guard.on_nan"),
        (lambda: RunConfig(questions=QuestionConfig(source="stream")), "challenger.train"),
        (lambda: configure("huge"), "preset"),
        (lambda: configure(profile="huge"), "profile"),
        (lambda: arm_overrides("huge"), "arm"),
    ],
)
def test_values_that_mean_nothing_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_profiles_by_name_and_by_size(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"0" * 1000)
    assert (profile_of("tiny"), profile_of("smollm2-warm"), profile_of(str(tmp_path))) == ("tiny", "llm", "tiny")


def test_a_packaged_model_means_its_warm_start_and_its_path_the_model_as_it_comes():
    assert configure(model="smollm2") == configure(model="smollm2-warm")
    assert configure(model="smollm2").model == "smollm2-warm"
    for name in ("tiny", "no/such", "Qwen/Qwen3-4B"):
        assert configure(model=name, profile="llm").model == name


def test_merging_replaces_leaves_only():
    assert merged({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}, "d": None}) == {"a": {"b": 3, "c": 2}, "d": None}


@pytest.mark.parametrize("preset", PRESETS)
def test_arms_with_a_bootstrap_phase_may_spend_the_same_in_it(preset):
    found = {arm: before_training(configure(preset, arm)) for arm in ARMS}
    none = [arm for arm, one in found.items() if not one["questions"]]
    assert none == ["ssp", "shaping-only", "sesa-no-priming", "oracle", "sesa-seeds"]
    assert len({one["rollouts"] for arm, one in found.items() if arm not in none}) == 1
    with pytest.raises(ConfigError, match="one bootstrap phase"):
        check_equal_budgets([configure(), configure(arm="leak", settings=[{"skills": {"bootstrap": 3}}])])


def test_what_a_run_has_spent_is_the_sum_of_its_rows():
    row = dict.fromkeys(spent([]), 2)
    bootstrap = {"bootstrap_questions": 0, "bootstrap_rollouts": 0}
    assert spent([row, row]) == {**dict.fromkeys(spent([]), 4), "updates": 2, **bootstrap}
    found = spent([row], {"questions": 5, "rollouts": 30, "proposed": 8})
    assert (found["updates"], found["questions"], found["rollouts"], found["proposed"]) == (1, 7, 32, 10)
    assert (found["bootstrap_questions"], found["bootstrap_rollouts"]) == (5, 30)
    assert budget(configure(updates=3)) == {"updates": 3, "questions": 24, "rollouts": 144}


def test_the_command_line_says_what_is_wrong(tmp_path, capsys):
    assert main(["--out", str(tmp_path / "run"), "--set", "questions.per_update=0"]) == 2
    assert "questions.per_update: expected at least 1; got 0" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_runs_that_differ_go_to_different_directories():
    runs = [configure(), configure(seed=1), configure(arm="ssp"), configure(model="Qwen/Qwen3-4B"), configure("small")]
    names = [default_directory(config).as_posix() for config in runs]
    assert names[0] == "runs/selfplay/quick-tiny-sesa-s0"
    assert names[3] == "runs/selfplay/quick-Qwen3-4B-sesa-s0"
    assert len(set(names)) == len(names)
