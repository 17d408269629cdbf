"""The small model behind the regime map: its limits, and that its fit finds the numbers that made the data."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the llm extra")

from benchmarks.experiment.design import EXPERIMENTS, Experiment, training_config
from benchmarks.experiment.regime import Cell, Model, fit, popularity, predict

MODEL = Model(explore=0.02, cards=0.05, answered=0.6, successes=3, zipf=0.7, error=0.0)


def test_shares_sum_to_one_and_fall():
    shares = popularity(40, 0.7)
    assert shares.sum() == pytest.approx(1)
    assert (np.diff(shares) < 0).all()


def test_without_questions_nothing_is_gained_and_with_endless_ones_all_is():
    assert predict(40, 0, 6, MODEL) == (0.0, 0.0)
    assert predict(40, 10**7, 6, MODEL) == pytest.approx((0.6, 0.6), abs=1e-3)


def test_the_bank_pays_most_between_too_few_questions_and_enough():
    gains = [np.diff(predict(80, questions, 6, MODEL))[0] for questions in (10, 800, 200_000)]
    assert gains[1] > max(gains[0], gains[2]) + 0.05


def test_a_longer_tail_leaves_more_to_the_bank():
    gains = [np.diff(predict(relations, 3000, 6, MODEL))[0] for relations in (10, 40, 160)]
    assert gains == sorted(gains)


def test_the_fit_finds_the_model_that_made_the_map():
    tails = tuple(study for study in EXPERIMENTS["small"].studies if study.name.startswith("tail-"))
    results = SimpleNamespace(experiment=Experiment("x", "quick", tails))
    cells, config = [], training_config(next(tails[0].cells("quick")))
    made = replace(MODEL, zipf=config.world_options["zipf"])
    for study in tails:
        relations = int(study.name.removeprefix("tail-"))
        for updates in study.stages:
            off, on = predict(relations, updates * config.questions.per_update, config.rules.group_size, made)
            cells.append(Cell(relations, updates, {}, 0.2 + off, 0.2 + on, 0.2))
    found = fit(cells, results)
    assert found.error < 0.002
    assert (found.explore, found.cards, found.answered) == pytest.approx((0.02, 0.05, 0.6), rel=0.1)
    assert (found.successes, found.zipf) == (3, made.zipf)
