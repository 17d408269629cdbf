"""Whole runs, each in two processes that differ in all that must not matter: hash seed, batch, worker count, directory."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.repro

# What names the machine and the clock, and the databases, whose content has a digest of its own.
NOT_COMPARED = {"environment.json", "timings.json", "timing.json"}

DIGESTS = """
from dataclasses import asdict
import json
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.prime import prime
from sesa_env.play import play_questions
from sesa_env.players.load import load_player
from sesa_env.worlds import make_world

world = make_world("miniwiki", seed=3, size=600, n_questions=40, n_targets=60)
print("world", world.fingerprint, world.corpus.fingerprint, world.retriever.fingerprint)
with SkillBank.open() as bank:
    prime(bank)
    snapshot = bank.snapshot()
    print("bank", bank.digest(), snapshot.fingerprint)
    for name in ("naive", "skilled"):
        attempts = play_questions(world, world.questions, load_player(name, world, 5), memory=snapshot, batch={batch})
        print(name, json.dumps([asdict(attempt) for attempt in attempts], sort_keys=True))
"""


def run(*arguments: str, hash_seed: int, check: bool = True) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=900
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file that a run leaves, by its path within the run, figures and databases aside."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in NOT_COMPARED]
    texts = [path for path in files if path.suffix in {".json", ".jsonl", ".md", ".tex", ".csv"}]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in texts}


def bank_digest(path: Path) -> str:
    from sesa_env.memory.bank import SkillBank

    with SkillBank.open(path, create=False) as bank:
        return bank.digest()


def test_worlds_banks_and_players_do_not_depend_on_the_process():
    first = run("-c", DIGESTS.replace("{batch}", "64"), hash_seed=1)
    assert first.count("\n") == 4
    assert first == run("-c", DIGESTS.replace("{batch}", "7"), hash_seed=2)


def test_the_loop_leaves_the_same_bank(tmp_path):
    options = ("--steps", "12", "--questions", "8", "--world-options", '{"size": 1000, "seed": 4}', "--seed", "2")
    for name, seed in (("one", 1), ("other", 2)):
        run("-m", "agents.scripted", "--out", str(tmp_path / name), *options, hash_seed=seed)
    assert (tmp_path / "one" / "metrics.jsonl").read_bytes() == (tmp_path / "other" / "metrics.jsonl").read_bytes()
    assert bank_digest(tmp_path / "one" / "bank.sqlite") == bank_digest(tmp_path / "other" / "bank.sqlite")


def test_the_harness_leaves_the_same_bytes(tmp_path):
    for name, seed, workers in (("one", 1, "1"), ("other", 2, "2")):
        command = ("benchmarks/run_all.py", "--preset", "smoke", "--out", str(tmp_path / name), "--workers", workers)
        command += ("--arms", "naive", "skilled")
        run(*command, hash_seed=seed)
    one, other = digests(tmp_path / "one"), digests(tmp_path / "other")
    assert any(path.startswith("records/") for path in one)
    assert {path for path in one if one[path] != other.get(path)} == set()
    assert set(one) == set(other)


def test_the_experiment_leaves_the_same_bytes(tmp_path):
    for name, seed, workers in (("one", 1, "1"), ("other", 2, "2")):
        run("benchmarks/run_all.py", "--preset", "smoke", "--out", str(tmp_path / name), "--workers", workers, hash_seed=seed)
    one, other = (without_seconds(digests(tmp_path / name)) for name in ("one", "other"))
    assert any(path.startswith("evaluations/main-sesa-s0-000002/records/") for path in one)
    assert any(path.startswith("tables/") for path in one)
    assert {path for path in one if one[path] != other.get(path)} == set()
    assert set(one) == set(other)


def without_seconds(found: dict[str, str]) -> dict[str, str]:
    """Leaves out what holds seconds, metrics and the table of what was spent, and paths of this directory."""
    names = ("metrics.jsonl", "budgets.", "roles.", "report.md", "config.json", "plan.json", "unit.json", "bootstrap.json")
    return {path: digest for path, digest in found.items() if not any(name in path for name in names)}
