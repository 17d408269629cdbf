"""The commands `sesa bank`."""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import pytest

from sesa_env.errors import ConfigError, StoreError
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.cli import add_bank_commands
from sesa_env.memory.exchange import dumps
from sesa_env.memory.prime import prime
from sesa_env.memory.seeds import SEEDS
from sesa_env.types import Group
from tests.memory.helpers import CountingEmbedder, card, question, right, wrong


@pytest.fixture
def bank_file(tmp_path):
    path = tmp_path / "bank.sqlite"
    with SkillBank.open(path, run="r1") as bank:
        prime(bank)
        bank.commit(3, [Group(question(1), (right("seed-song"), wrong("seed-author")))])
    return str(path)


@pytest.fixture
def run(capsys):
    def call(*arguments: str) -> tuple[int, str]:
        parser = argparse.ArgumentParser()
        add_bank_commands(parser.add_subparsers())
        options = parser.parse_args(["bank", *arguments])
        code = options.run(options)
        return code, capsys.readouterr().out

    return call


def test_show_prints_cards_with_the_record_of_the_run_that_wrote_last(run, bank_file):
    code, out = run("show", bank_file)
    assert code == 0
    assert out.count("Skill: ") == 15
    assert "seed-song  (seed, permanent; retrieved 1, helpful 1, hurt 0)" in out
    assert "retrieved 1" not in run("show", bank_file, "--run", "another")[1]


def test_show_picks_orders_and_limits(run, bank_file):
    assert run("show", bank_file, "seed-date")[1].startswith("seed-date  (")
    assert run("show", bank_file, "--sort", "utility", "--limit", "1")[1].startswith("seed-song  (")
    with pytest.raises(ConfigError, match="no card 'seed-nothing'"):
        run("show", bank_file, "seed-nothing")


def test_stats_are_json(run, bank_file):
    stats = json.loads(run("stats", bank_file)[1])
    assert (stats["cards"], stats["run"], stats["last_step"], stats["pending"]) == (15, "r1", 3, 1)


def test_export_edit_import_diff(run, bank_file, tmp_path):
    file, other = str(tmp_path / "cards.md"), str(tmp_path / "other.sqlite")
    assert run("export", bank_file, "--out", file) == (0, "")
    with open(file, encoding="utf-8") as source:
        text = source.read()
    assert run("export", bank_file)[1] == text
    assert run("diff", bank_file, file) == (0, "no difference\n")
    with open(file, "w", encoding="utf-8") as target:
        target.write(text.replace("{entity} died\n", "{entity} died of\n"))
    assert run("import", bank_file, file) == (0, "0 added, 1 changed, 14 unchanged, 0 refused as too much alike\n")
    assert run("import", other, file, "--counters")[1].startswith("15 added")
    assert run("diff", bank_file, other) == (0, "no difference\n")
    lines = file.replace(".md", ".jsonl")
    assert run("export", bank_file, "--out", lines) == (0, "")
    assert run("diff", bank_file, lines) == (0, "no difference\n")


def test_diff_tells_by_its_exit_code(run, bank_file, tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("", encoding="utf-8")
    code, out = run("diff", str(empty), bank_file)
    assert code == 1
    assert out.splitlines()[0] == "+ seed-author"


def test_what_is_refused_is_told(run, bank_file, tmp_path):
    file = tmp_path / "more.jsonl"
    file.write_text(dumps([replace(SEEDS[0], id="twin", permanent=False)], "jsonl"), encoding="utf-8")
    assert run("import", bank_file, str(file))[1].endswith("1 refused as too much alike\nrefused: twin\n")


def test_a_missing_bank_is_not_made_by_looking(run, tmp_path):
    for command in ("show", "stats", "export"):
        with pytest.raises(StoreError, match="no skill bank"):
            run(command, str(tmp_path / "absent.sqlite"))
    (tmp_path / "bad.md").write_text("nonsense", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"bad\.md:1"):
        run("import", str(tmp_path / "absent.sqlite"), str(tmp_path / "bad.md"))
    assert not (tmp_path / "absent.sqlite").exists()


def test_an_old_bank_keeps_its_embedder(run, tmp_path, bank_file):
    path = str(tmp_path / "other.sqlite")
    with SkillBank.open(path, embedder=CountingEmbedder()) as bank:
        bank.prime([card("river")])
    assert run("stats", path)[0] == 0
    file = str(tmp_path / "cards.md")
    run("export", bank_file, "--out", file)
    with pytest.raises(StoreError, match="written with the embedder 'counting'"):
        run("import", path, file, "--embedder", "hash")


def test_an_export_cut_short_leaves_the_old_file(run, bank_file, tmp_path, monkeypatch):
    file = tmp_path / "cards.md"
    file.write_text("of yesterday", encoding="utf-8")

    def kill(part, final):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", kill)
        with pytest.raises(KeyboardInterrupt):
            run("export", bank_file, "--out", str(file))
    assert file.read_text(encoding="utf-8") == "of yesterday"
    assert run("export", bank_file, "--out", str(file))[0] == 0
    assert file.read_text(encoding="utf-8").startswith("# Skill bank")


def test_where_nothing_can_be_written_the_file_is_named(run, bank_file, tmp_path):
    with pytest.raises(StoreError, match="cannot write"):
        run("export", bank_file, "--out", str(tmp_path / "absent" / "cards.md"))
    with pytest.raises(ConfigError, match=r"ends in \.jsonl or \.md"):
        run("export", bank_file, "--out", str(tmp_path / "cards.txt"))
