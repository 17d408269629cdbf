"""Questions of compositions that training held out are told apart from the others, and counted by hand."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the llm extra")

from agents.selfplay.arms import merged
from benchmarks.experiment.compositions import APART, OPEN, by_composition, compositions_table
from benchmarks.experiment.results import Results
from sesa_env.worlds import make_world

from .synthetic import experiment, write


def holding_out(share):
    made = experiment(questions=20, tails=False)
    study = replace(made.studies[0], settings=merged(made.studies[0].settings, {"questions": {"held_out_compositions": share}}))
    return replace(made, studies=(study,))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    made = holding_out(0.4)
    return Results(made, write(made, tmp_path_factory.mktemp("apart") / "made"))


def test_each_answer_is_of_its_kind(results):
    study = results.experiment.studies[0]
    told = list(by_composition(results, study))
    assert {record["benchmark"] for record in told} == {APART, OPEN}
    for seed in study.seeds:
        world = make_world("miniwiki", seed=seed, size=300, relations=20, zipf=0.3, filler=0)
        for record in (one for one in told if one["seed"] == seed):
            needs = world.graph.needs(record["question"])
            assert needs is None or len(needs) > 1


def test_the_table_counts_by_hand(results):
    study = results.experiment.studies[0]
    table = compositions_table(results, study)
    row = next(row for row in table.rows if row["arm"] == "sesa")
    for mode in ("off", "on"):
        found = [record for record in by_composition(results, study) if (record["arm"], record["mode"]) == ("sesa", mode)]
        by_seed = [
            np.mean([one["em"] for one in found if one["benchmark"] == APART and one["seed"] == seed]) for seed in study.seeds
        ]
        assert row[f"{APART} {mode}"] == pytest.approx(np.mean(by_seed))
    assert row["difference"] == pytest.approx(row[f"{APART} on"] - row[f"{APART} off"])
    assert next(row for row in table.rows if row["arm"] == "ssp").keys().isdisjoint({"difference", f"{OPEN} on"})


def test_where_none_is_held_out_there_is_no_table(tmp_path):
    made = holding_out(0.0)
    assert compositions_table(Results(made, write(made, tmp_path / "made")), made.studies[0]) is None
