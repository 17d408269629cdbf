"""The committed results: tables and verdicts follow from the committed answers, and trainings from this code."""

import csv
import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("matplotlib", reason="needs the bench extra")

from agents.selfplay.metrics import read_metrics
from benchmarks.experiment.cells import PACKED_METRICS
from benchmarks.experiment.design import MAIN, experiment_of
from benchmarks.experiment.keep import slim
from benchmarks.experiment.run import CONFIG_FILE
from benchmarks.experiment.so_far import finished_part, report_so_far
from benchmarks.experiment.training import stage_directory, train_cell
from benchmarks.records import read_json, read_records

ROOT = Path(__file__).resolve().parents[2]
RESULTS = sorted(path.parent for path in (ROOT / "docs" / "results").glob(f"*/{CONFIG_FILE}"))
UPDATES = 3
pytestmark = pytest.mark.repro


def experiment(place):
    return experiment_of(read_json(place / CONFIG_FILE)["name"])


def test_there_are_results():
    assert RESULTS


@pytest.mark.parametrize("place", RESULTS, ids=lambda place: place.name)
def test_tables_and_verdicts_follow_from_the_committed_answers(place, tmp_path):
    copy = tmp_path / place.name
    shutil.copytree(place, copy)
    shutil.rmtree(copy / "tables")
    (copy / "claims.json").unlink()
    report_so_far(experiment(place), copy)
    assert {path.name for path in (copy / "tables").iterdir()} == {path.name for path in (place / "tables").iterdir()}
    for name in ("claims.json", *(f"tables/{path.name}" for path in (place / "tables").iterdir())):
        ours, theirs = (root / name for root in (copy, place))
        if ours.suffix == ".json":  # all digits, of which the last ones are the processor's
            assert close(json.loads(ours.read_bytes()), json.loads(theirs.read_bytes())), name
        elif ours.suffix == ".csv":
            assert close(cells(ours), cells(theirs)), name
        else:
            assert ours.read_text() == theirs.read_text(), name


@pytest.mark.parametrize("place", RESULTS, ids=lambda place: place.name)
def test_a_training_made_again_goes_as_the_committed_one(place, tmp_path):
    """The first updates of the committed `sesa` in its first world, after its bootstrap phase: what is drawn is the same."""
    whole = experiment(place)
    study = finished_part(whole, place).study(MAIN)
    cell = next(cell for cell in study.cells(whole.training) if cell.arm == "sesa")
    held = read_records(stage_directory(place, cell.id, cell.stages[-1]) / PACKED_METRICS)[:UPDATES]
    train_cell(replace(cell, stages=(UPDATES,)), tmp_path)
    made = [slim(row) for row in read_metrics(stage_directory(tmp_path, cell.id, UPDATES))]
    assert all(set(row) <= set(ours) for row, ours in zip(held, made, strict=True))
    made = [{name: ours[name] for name in row} for row, ours in zip(held, made, strict=True)]  # metrics may be told since
    assert digests(made) == digests(held)
    assert close(without_seconds(made), without_seconds(held))


def cells(path):
    """The cells of a CSV file, numbers as numbers."""
    with path.open(encoding="utf-8", newline="") as file:
        return [[number(cell) for cell in row] for row in csv.reader(file)]


def number(cell):
    try:
        return float(cell)
    except ValueError:
        return cell


def without_seconds(rows):
    return [{name: value for name, value in row.items() if not name.endswith("_s")} for row in rows]


def digests(rows):
    """A digest of all that was drawn in each step: counts, lists of counts, reasons; no measured number."""
    drawn = [{name: value for name, value in row.items() if not isinstance(value, float)} for row in without_seconds(rows)]
    assert all(len(row) > 20 for row in drawn)
    return [hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest() for row in drawn]


def close(one, other):
    """Says whether two JSON values are equal but for the last digits of their numbers."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=1e-6, abs=2e-6, nan_ok=True)
    return one == other
