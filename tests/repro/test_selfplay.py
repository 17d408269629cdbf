"""Two runs of a short self-play loop in processes of other hash seeds end with the same metrics, weights and bank."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from agents.selfplay.metrics import read_metrics, reproducible
from sesa_env.memory.bank import SkillBank

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.repro

SETTINGS = (
    "world_options.size=1000",
    "skills.bootstrap=8",
    "skills.bank.consolidate_every=2",
    "skills.bank.consolidate_min=1",
    "skills.carry_over=0.5",
    "solver.learner.kl=0.01",
    "solver.learner.mini_batches=2",
)


def run(out: Path, hash_seed: int) -> None:
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    done = subprocess.run(
        [sys.executable, "-m", "agents.selfplay", "--updates", "5", "--seed", "1000", "--out", str(out), *settings],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_two_runs_with_one_seed_are_one(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    run(one, 1)
    run(other, 2)
    rows = [reproducible(row) for row in read_metrics(one)]
    assert len(rows) == 5
    assert sum(row["valid"] for row in rows) > 0
    assert rows == [reproducible(row) for row in read_metrics(other)]
    for role in ("solver", "challenger"):
        assert digest(one / role / "model.safetensors") == digest(other / role / "model.safetensors")
    banks = []
    for out in (one, other):
        with SkillBank.open(out / "bank.sqlite", run="selfplay", create=False) as bank:
            banks.append(bank.digest())
    assert banks[0] == banks[1]
