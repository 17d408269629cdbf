"""The experiments: equal budgets, paired worlds, development worlds left out, and each training done once."""

import json

import pytest

pytest.importorskip("torch", reason="needs the llm extra")

from agents.selfplay.arms import ARMS, check_equal_budgets
from agents.selfplay.presets import parse_setting
from benchmarks.config import DEVELOPMENT_SEEDS
from benchmarks.experiment.design import EXPERIMENTS, MAIN, experiment_of, same_training, training_config
from benchmarks.experiment.run import CONFIG_FILE, require_experiment, write_design
from benchmarks.modes import check_mode
from sesa_env.errors import ConfigError


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_arms_of_a_study_have_one_budget_and_the_same_worlds(name):
    experiment = EXPERIMENTS[name]
    for study in experiment.studies:
        cells = list(study.cells(experiment.training))
        for seed in study.seeds:
            configs = [training_config(cell) for cell in cells if cell.seed == seed]
            assert [config.arm for config in configs] == list(study.arms)
            assert len({json.dumps(config.world_options, sort_keys=True) for config in configs}) == 1
            check_equal_budgets(configs)
        assert len({training_config(cell).world_options["seed"] for cell in cells}) == len(study.seeds)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_reported_worlds_are_no_development_worlds(name):
    assert all(seed < DEVELOPMENT_SEEDS for study in EXPERIMENTS[name].studies for seed in study.seeds)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_arms_stages_and_controls_exist(name):
    for study in EXPERIMENTS[name].studies:
        assert set(study.arms) <= set(ARMS)
        assert list(study.stages) == sorted(set(study.stages))
        assert set(study.controls) <= set(study.arms)
        for mode in (mode for modes in study.controls.values() for mode in modes):
            check_mode(mode)
    assert EXPERIMENTS[name].studies[0].name == MAIN
    json.dumps(EXPERIMENTS[name].to_json())


def test_a_training_that_two_studies_share_is_done_once():
    experiment = EXPERIMENTS["small"]
    cells = {cell.id: cell for cell in experiment.cells()}
    source = same_training(list(cells.values()))
    assert source["ablations-sesa-s40"] == "main-sesa-s40"
    assert source["roles-roles-reinforce-grpo-s41"] == "main-sesa-s41"
    assert source["main-ssp-s40"] == "main-ssp-s40"
    for cell, other in source.items():
        one, two = training_config(cells[cell]).to_json(), training_config(cells[other]).to_json()
        assert {name for name in one if one[name] != two[name]} <= {"arm", "updates"}
        assert set(cells[cell].stages) <= set(cells[other].stages)


@pytest.mark.parametrize("mode", ["sugar", "top-0", "top-K", "top-two"])
def test_what_is_no_mode_is_refused(mode):
    with pytest.raises(ConfigError, match="unknown mode"):
        check_mode(mode)


PAPERS = ("world_options.targets=FILE", "skills.teacher=openai:teacher@http://localhost/v1", "judge=openai:judge@http://localhost/v1",
          'policy.lora={"rank": 8}', "policy.dtype=mixed", "policy.device=cuda:1")  # fmt: skip


def test_settings_go_over_every_training_and_what_tells_arms_apart_stays():
    made = experiment_of("paper", data="DIR", settings=[*map(parse_setting, PAPERS), parse_setting("skills.bootstrap=9")])
    configs = [training_config(cell) for cell in made.cells()]
    assert {config.world_options["targets"] for config in configs} == {"FILE"}
    assert {config.judge for config in configs} == {"openai:judge@http://localhost/v1"}
    assert {config.skills.teacher for config in configs} == {"openai:teacher@http://localhost/v1"}
    assert {(config.policy.dtype, config.policy.device, config.policy.lora.rank) for config in configs} == {
        ("mixed", "cuda:1", 8)
    }
    bootstraps = {config.arm: config.skills.bootstrap for config in configs}
    assert {arm for arm, asked in bootstraps.items() if asked != 9} == {"sesa-no-priming"}
    assert {config.updates for config in configs if config.arm == "base"} == {0}


@pytest.mark.parametrize(
    ("preset", "setting", "said"),
    [
        ("small", "updates=3", "--set updates: expected a field that the experiment leaves open"),
        ("three-worlds", "skills.enabled=false", "main-sesa-s30 would be the same training as main-shaping-only-s30"),
        ("small", "world_options.relations=50", "tail-120-base-s40 would be the same training as tail-10-base-s40"),
        ("quick", "skills.colour=1", "'colour' is not known"),
    ],
)
def test_settings_that_no_comparison_can_have_are_refused(preset, setting, said):
    with pytest.raises(ConfigError, match=said):
        experiment_of(preset, settings=[parse_setting(setting)])


@pytest.mark.parametrize(
    "other",
    [{"settings": [{"skills": {"teacher": "openai:a@http://localhost/v1"}}]}, {"judge": "openai:a@http://localhost/v1"}],
)
def test_other_settings_or_another_judge_are_another_experiment(other, tmp_path):
    plain = experiment_of("quick")
    write_design(tmp_path, plain.to_json())
    require_experiment(tmp_path, plain)
    with pytest.raises(ConfigError, match=r"holds another experiment: .*openai:a@"):
        require_experiment(tmp_path, experiment_of("quick", **other))
    write_design(tmp_path / "other", experiment_of("quick", **other).to_json())
    require_experiment(tmp_path / "other", experiment_of("quick", **other))


def test_what_was_begun_before_settings_could_be_given_can_be_gone_on_with(tmp_path):
    plain = experiment_of("quick")
    before = plain.to_json()
    for part in (*before["studies"], *before["cells"]):
        del part["judge"]
    write_design(tmp_path, before)
    assert "judge" not in json.loads((tmp_path / CONFIG_FILE).read_text())["cells"][0]
    require_experiment(tmp_path, plain)
