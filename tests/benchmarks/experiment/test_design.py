"""The experiments: equal budgets, paired worlds, development worlds left out, and each training done once."""

import json

import pytest

pytest.importorskip("torch", reason="needs the llm extra")

from agents.selfplay.arms import ARMS, check_equal_budgets
from benchmarks.config import DEVELOPMENT_SEEDS
from benchmarks.experiment.design import EXPERIMENTS, MAIN, same_training, training_config
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
