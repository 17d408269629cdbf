"""The small model behind the regime map: its limits, that its fit finds the numbers that made the data, and its pictures."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the llm extra")
pytest.importorskip("matplotlib", reason="needs the bench extra")

from benchmarks.experiment.design import EXPERIMENTS, TAILS, training_config
from benchmarks.experiment.page.plots import plots
from benchmarks.experiment.regime import (
    AFTER,
    BEFORE,
    OFF,
    ON,
    Cell,
    Design,
    Model,
    Predicted,
    design_of,
    errors_of,
    fit,
    popularity,
    predict,
    regime_map,
)
from benchmarks.experiment.regime_figure import regime_figure, regime_table
from benchmarks.experiment.results import Results
from sesa_env.corpus.miniwiki import CORE_RELATIONS
from tests.benchmarks.experiment import synthetic

DESIGN = Design(per_update=8, group=6, zipf=0.0, shown=0.5)
MODEL = Model(explore=0.02, cards=0.1, answered=0.6, successes=3, design=DESIGN, error=0.0)
START = 0.05


def bank_adds(tail, updates):
    predicted = predict(tail, updates, START, MODEL)
    return predicted.on - predicted.off


def test_shares_sum_to_one_and_fall():
    shares = popularity(40, 0.7)
    assert shares.sum() == pytest.approx(1)
    assert (np.diff(shares) < 0).all()


def test_without_updates_nothing_is_gained_and_with_endless_ones_all_is():
    before, after = predict(40, 0, START, MODEL), predict(40, 10**6, START, MODEL)
    assert (before.alone, before.off, before.on) == pytest.approx((START,) * 3)
    assert (after.alone, after.off, after.on) == pytest.approx((0.6,) * 3, abs=1e-3)


def test_the_bank_pays_most_between_too_few_updates_and_enough():
    gains = [bank_adds(80, updates) for updates in (1, 100, 30_000)]
    assert gains[1] > max(gains[0], gains[2]) + 0.05


def test_a_longer_tail_leaves_more_to_the_bank():
    gains = [bank_adds(tail, 150) for tail in (5, 30, 120)]
    assert gains == sorted(gains)


def test_cards_leave_the_weights_fewer_rollouts_to_learn_from():
    predicted = predict(80, 200, START, MODEL)
    assert predicted.gain(OFF) < -0.01
    assert predicted.gain(ON) > 0.05
    unshown = predict(80, 200, START, replace(MODEL, design=replace(DESIGN, shown=0.0)))
    assert unshown.gain(OFF) == pytest.approx(0.0)


def test_the_fit_finds_the_model_that_made_the_map():
    cells = []
    for tail in TAILS:
        for updates in (25, 50, 100, 200):
            made = predict(tail, updates, START, MODEL)
            cells.append(Cell(tail, updates, {}, START, made.alone, made.off, made.on))
    found = fit(cells, DESIGN)
    assert found.error < 0.002
    assert (found.explore, found.cards, found.answered) == pytest.approx((0.02, 0.1, 0.6), rel=0.1)
    assert found.successes == 3
    assert fit([replace(cell, start=float("nan")) for cell in cells], DESIGN) is None


def mapped(change=lambda tail, predicted: predicted):
    """A map of three lengths of the tail that the model has made, or something else out of it."""
    cells = []
    for tail in (10, 30, 120):
        for updates in (25, 100):
            made = change(tail, predict(tail, updates, START, MODEL))
            cells.append(Cell(tail, updates, {}, START, made.alone, made.off, made.on))
    return cells


def test_a_true_model_foretells_a_length_that_it_has_not_seen():
    cells = mapped()
    errors = errors_of(cells, fit(cells, DESIGN))
    assert max(errors.fitted, errors.left_out) < 0.001
    assert errors.mean > 0.01


def test_a_false_model_is_found_out_by_what_it_has_not_seen():
    """The bank pays least where the tail is long: worse than no model, and worse than the fit to the same map looks."""
    cells = mapped(lambda tail, made: Predicted(made.alone, made.alone, made.alone + 0.3 - 0.1 * np.log10(tail)))
    errors = errors_of(cells, fit(cells, DESIGN))
    assert errors.left_out > 1.2 * errors.fitted
    assert errors.left_out > 1.5 * errors.mean


def test_the_mean_to_be_beaten_is_that_of_other_lengths_after_as_many_updates():
    """Gains of 0 and .3 after 25 updates and of -.1 and .1 after 100 at one length; of .1, .2, 0 and 0 at the other."""
    gains = {(10, 25): (0.0, 0.3), (10, 100): (-0.1, 0.1), (30, 25): (0.1, 0.2), (30, 100): (0.0, 0.0)}
    cells = [Cell(*place, {}, START, 0.2, 0.2 + off, 0.2 + on) for place, (off, on) in gains.items()]
    assert errors_of(cells, fit(cells, DESIGN)).mean == pytest.approx(0.1)


def test_the_tails_of_small_are_what_they_are_called():
    studies = [study for study in EXPERIMENTS["small"].studies if study.name.startswith("tail-")]
    assert len(studies) == len(TAILS) >= 4
    for study in studies:
        config = training_config(next(study.cells("quick")))
        assert study.name == f"tail-{config.world_options['relations'] - CORE_RELATIONS}"
        assert len(study.stages) >= 4


def test_the_map_is_drawn_over_both_rivals_with_the_models_lines(tmp_path):
    made = synthetic.experiment(questions=4)
    results = Results(made, synthetic.write(made, tmp_path))
    cells = regime_map(results).cells
    assert sorted({cell.tail for cell in cells}) == [10, 20]
    assert design_of(results) == Design(8, 6, 0.0, 0.5)
    figure = regime_figure(results)
    panels = [axes for axes in figure.axes if axes.get_title()]
    assert len(panels) == len(BEFORE) * len(AFTER)
    for axes in panels:
        assert len(axes.texts) >= len(cells)
        assert [label.get_text() for label in axes.get_yticklabels()] == ["10", "20"]
    drawn = {axes.get_title(): float(axes.texts[0].get_text().split("\n")[0].replace("\u2212", "-")) for axes in panels}
    assert drawn["with the bank, over SSP"] == pytest.approx(100 * cells[0].gains[BEFORE[1], ON].value, abs=0.051)
    table = regime_table(results)
    assert [row["tail"] for row in table.rows] == [cell.tail for cell in cells]
    model = fit(cells, design_of(results))
    told = errors_of(cells, model).sentence()
    assert told in table.notes[-1]
    assert figure.get_supxlabel().replace("\n", " ") == told
    assert plots(results)["regime"]["errors"] == told
    first = predict(cells[0].tail, cells[0].updates, cells[0].start, model)
    assert table.rows[0]["shaping-only-on-model"] == pytest.approx(first.gain(ON))


def test_one_length_of_the_tail_is_no_map(tmp_path):
    made = synthetic.experiment(questions=4, tails=False)
    results = Results(made, synthetic.write(made, tmp_path))
    assert regime_figure(results) is None
    assert regime_table(results) is None
