"""Answers of a run as episodes: played again they are what was recorded, and `sesa replay --show` prints them."""

import lzma
import re
import shutil
from dataclasses import asdict, replace

import pytest

from benchmarks.arms import parse_arms
from benchmarks.banks import BANK_FILE
from benchmarks.config import make_config
from benchmarks.episodes import episodes, main
from benchmarks.plan import make_plan
from benchmarks.preflight import check
from benchmarks.records import dump, read_json, read_records, write_file, write_json
from benchmarks.units import PACKED_RECORDS, RECORDS_FILE, UNITS, run_unit
from sesa_env.cli import main as sesa
from sesa_env.errors import StoreError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.file import compress
from sesa_env.records import replay

CONTROLS = "shuffled", "top-1"
ANY = dict.fromkeys(("arm", "seed", "benchmark", "mode", "em", "id"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    root = tmp_path_factory.mktemp("run")
    config = make_config("miniwiki", "smoke", parse_arms(["hand=skilled@seeds"]), questions=6)
    config = replace(config, seeds=(3,), shard=4)
    plan = make_plan(config, check(config).available)
    plan = replace(plan, evaluations=tuple(replace(unit, modes=(*unit.modes, *CONTROLS)) for unit in plan.evaluations))
    for unit in plan.units:
        run_unit(asdict(unit), str(root))
    write_json(root / "plan.json", {"units": plan.to_json()})
    return root, [record for unit in plan.evaluations for record in read_records(root / UNITS / unit.id / RECORDS_FILE)]


def test_every_answer_is_an_episode_that_replays(run):
    root, records = run
    found = list(episodes(root, ANY))
    assert [(one.task.id, len(one.turns)) for one in found] == [(record["id"], len(record["texts"])) for record in records]
    assert [one.rewards["solver"]["exact_match"] == 1 for one in found] == [record["em"] for record in records]
    shown = [[[hit.card.id, hit.similarity] for hit in one.cards or ()] for one in found]
    assert shown == [record["cards"] for record in records]
    assert any(shown)
    assert all(hit.card.description for one in found for hit in one.cards or ())
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


def packed(run, place, *without):
    """The evaluation as `benchmarks.experiment.keep` leaves it: all records in one file, and no unit."""
    root, records = run
    kept = place / "evaluations" / "hand"
    rows = [{name: value for name, value in record.items() if name not in without} for record in records]
    write_file(kept / PACKED_RECORDS, lzma.compress(b"".join(map(dump, rows))))
    plan = read_json(root / "plan.json")
    for unit in plan["units"]:
        if unit["kind"] == "bank":
            unit["request"]["file"] = "training/hand/bank.sqlite"
    write_json(kept / "plan.json", plan)
    return kept


def test_a_kept_evaluation_is_played_with_and_without_its_bank(run, tmp_path):
    root, records = run
    kept, found = packed(run, tmp_path), list(episodes(root, ANY))
    alone = list(episodes(kept, ANY))
    assert [one.name for one in alone] == [f"hand, seed 3, {record['mode']}" for record in records]
    assert {hit.card.description for one in alone for hit in one.cards or ()} == {""}
    (bank,) = (root / UNITS).glob(f"bank-*/{BANK_FILE}")
    write_file(tmp_path / "training" / "hand" / "bank.sqlite.xz", compress(bank))
    assert list(episodes(kept, ANY)) == found
    assert all(replay(one) == "" for one in alone)


def test_an_evaluation_kept_without_texts_says_so(run, tmp_path):
    with pytest.raises(StoreError, match="after the last stage alone"):
        list(episodes(packed(run, tmp_path, "texts"), ANY))


def test_modes_are_read_side_by_side(run, tmp_path, capsys):
    root, records = run
    out = tmp_path / "episodes.jsonl"
    wanted = next(record for record in records if record["mode"] == "on" and record["cards"])
    assert main([str(root), "--out", str(out), "--benchmark", wanted["benchmark"], "--question", wanted["id"]]) == 0
    assert main([str(root), "--out", str(out), "--mode", "aside"]) == 2
    assert sesa(["replay", "--show", "--beside", str(out)]) == 0
    text = capsys.readouterr().out
    heads = [line for line in text.splitlines() if line.startswith("Episode")]
    assert [re.findall(r"seed 3, ([\w-]+)", line) for line in heads] == [["off", "on"], ["off", "shuffled"], ["off", "top-1"]]
    assert all(" ! " in line for line in heads)
    assert re.search(rf"^ +! Card {wanted['cards'][0][0]}, cosine", text, re.MULTILINE)


def test_a_bank_that_was_changed_since_is_refused(run, tmp_path):
    copy = shutil.copytree(run[0], tmp_path / "copy")
    (path,) = (copy / UNITS).glob(f"bank-*/{BANK_FILE}")
    path.unlink()
    with SkillBank.open(path):
        pass
    with pytest.raises(StoreError, match="other cards"):
        list(episodes(copy, {**ANY, "mode": "on"}))
