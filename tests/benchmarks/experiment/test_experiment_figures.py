"""What the figures of an experiment are drawn from: pieces of a training, names beside lines, gains by likeness."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the llm extra")
pytest.importorskip("matplotlib", reason="needs the bench extra")

from benchmarks.experiment.figures import apart, by_likeness, pieces
from benchmarks.experiment.flips import kind_title
from benchmarks.stats import Differences, interval


def test_a_training_is_told_in_pieces_by_weight():
    assert pieces(np.arange(400.0), np.ones(400)) == pytest.approx(np.arange(16) * 25 + 12)
    assert pieces(np.array([1.0, 3.0]), np.array([1.0, 1.0])) == pytest.approx([1, 3])
    # An update without a valid question says nothing of the hops: its 0 is no number of hops.
    hops, valid = np.tile([0.0, 2.0], 16), np.tile([0.0, 3.0], 16)
    assert pieces(hops, valid) == pytest.approx(np.full(16, 2.0))
    assert np.isnan(pieces(np.zeros(2), np.zeros(2))).all()


def test_names_beside_lines_are_pushed_apart_only_where_they_overlap():
    assert apart([1.0, 5.0], 2.0) == [1.0, 5.0]
    moved = apart([4.0, 4.5, 5.0], 2.0)
    assert np.diff(moved) == pytest.approx([2, 2])
    assert np.mean(moved) == pytest.approx(4.5)
    assert apart([], 1.0) == []


def answers(rng, seeds, count):
    for seed in seeds:
        for number in range(count):
            likeness = round(float(rng.uniform(0.2, 0.8)), 2)
            on, off = float(rng.random() < 0.7), float(rng.random() < 0.4)
            shared = {"arm": "sesa", "seed": seed, "benchmark": "nq", "id": str(number)}
            cards = [["other", 0.1], ["best", likeness]] if number else []
            yield {**shared, "mode": "off", "em": off, "cards": []}
            yield {**shared, "mode": "on", "em": on, "cards": cards}


def test_gains_by_likeness_are_paired_and_their_intervals_are_over_worlds():
    rows = list(answers(np.random.default_rng(0), (0, 1, 2), 200))
    study = SimpleNamespace(stages=(4,), seeds=(0, 1, 2))
    parts = by_likeness(SimpleNamespace(records=lambda _, stage: rows), study)
    assert len(parts) == 8
    assert all(low <= high for low, high, _ in parts)
    assert all(before[1] < after[0] for before, after in pairwise(parts))  # alike likeness, same part
    low, high, gain = parts[3]
    off = {(row["seed"], row["id"]): row["em"] for row in rows if row["mode"] == "off"}
    by_seed = [
        np.array(
            [
                row["em"] - off[seed, row["id"]]
                for row in rows
                if row["mode"] == "on" and row["seed"] == seed and row["cards"] and low <= row["cards"][1][1] <= high
            ]
        )
        for seed in study.seeds
    ]
    assert gain == interval(Differences(tuple(by_seed), crossed=False))
    assert gain.freedom == 2


def test_few_questions_are_not_told_by_likeness():
    rows = list(answers(np.random.default_rng(0), (0,), 5))
    assert by_likeness(SimpleNamespace(records=lambda _, stage: rows), SimpleNamespace(stages=(4,), seeds=(0,))) == []


@pytest.mark.parametrize(
    ("hops", "family", "title"),
    [
        (1, "single", "single, 1 hop"),
        (4, "bridge_comparison", "bridge comparison, 4 hops"),
        (2, "yesno", "yes or no, 2 hops"),
        (0, "", "of unknown kind"),
        (2, "", "2 hops"),
    ],
)
def test_kinds_of_questions_are_named_for_readers(hops, family, title):
    assert kind_title(hops, family) == title
