"""Answers of a run as episodes: played again they are what was recorded, and `sesa replay --show` prints them."""

import shutil
from dataclasses import asdict, replace

import pytest

from benchmarks.arms import parse_arms
from benchmarks.banks import BANK_FILE
from benchmarks.config import make_config
from benchmarks.episodes import episodes, main
from benchmarks.plan import make_plan
from benchmarks.preflight import check
from benchmarks.records import read_records, write_json
from benchmarks.units import RECORDS_FILE, UNITS, run_unit
from sesa_env.cli import main as sesa
from sesa_env.errors import StoreError
from sesa_env.memory.bank import SkillBank
from sesa_env.records import replay

ANY = dict.fromkeys(("arm", "seed", "benchmark", "mode", "em", "id"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    root = tmp_path_factory.mktemp("run")
    config = replace(make_config("miniwiki", "smoke", parse_arms(["hand=skilled@seeds"]), questions=2), seeds=(3,))
    plan = make_plan(config, check(config).available)
    for unit in plan.units:
        run_unit(asdict(unit), str(root))
    write_json(root / "plan.json", {"units": plan.to_json()})
    return root, [record for unit in plan.evaluations for record in read_records(root / UNITS / unit.id / RECORDS_FILE)]


def test_every_answer_is_an_episode_that_replays(run):
    root, records = run
    found = list(episodes(root, ANY))
    assert [(one.task.id, len(one.turns)) for one in found] == [(record["id"], len(record["texts"])) for record in records]
    assert [one.rewards["solver"]["exact_match"] == 1 for one in found] == [record["em"] for record in records]
    assert {bool(one.memory) for one in found} == {True, False}
    assert all(replay(one) == "" for one in found)


def test_the_commands_show_what_is_asked_for(run, tmp_path, capsys):
    root, records = run
    out = tmp_path / "episodes.jsonl"
    wanted = next(record for record in records if record["mode"] == "on" and record["cards"])
    assert (
        main([str(root), "--out", str(out), "--mode", "on", "--benchmark", wanted["benchmark"], "--question", wanted["id"]])
        == 0
    )
    assert sesa(["replay", "--show", str(out)]) == 0
    text = capsys.readouterr().out
    assert f"Question: {wanted['question']}" in text
    assert all(f"Card {card}, cosine" in text for card, _ in wanted["cards"])
    assert all(written.strip() in text for written in wanted["texts"])
    assert "1 episodes replayed, no difference" in text


def test_right_and_wrong_answers_are_told_apart(run, tmp_path):
    root, records = run
    counts = [len(list(episodes(root, {**ANY, "em": right}))) for right in (True, False)]
    assert sum(counts) == len(records)
    assert counts[0] == sum(record["em"] for record in records)


def test_what_cannot_be_played_is_told(run, tmp_path, capsys):
    root, _ = run
    assert main([str(tmp_path), "--out", str(tmp_path / "x")]) == 2
    assert "with a plan.json" in capsys.readouterr().err
    assert main([str(root), "--arm", "nobody", "--out", str(tmp_path / "x")]) == 2
    assert "no such answer" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_bank_that_was_changed_since_is_refused(run, tmp_path):
    copy = shutil.copytree(run[0], tmp_path / "copy")
    (path,) = (copy / UNITS).glob(f"bank-*/{BANK_FILE}")
    path.unlink()
    with SkillBank.open(path):
        pass
    with pytest.raises(StoreError, match="other cards"):
        list(episodes(copy, {**ANY, "mode": "on"}))
