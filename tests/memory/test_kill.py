"""Killed at any instant, the bank stays whole, and a resumed run ends where an undisturbed one does."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from sesa_env.memory.bank import SkillBank
from tests.memory.kill_worker import CONFIG, play

ROOT = Path(__file__).resolve().parents[2]
STEPS = 1_000_000  # more than any machine plays before it is struck, or the worker would end by itself


def strike(bank: Path, after: float) -> bool:
    """Runs the worker and kills it so many seconds after it has begun; says whether it was killed."""
    command = [sys.executable, "-m", "tests.memory.kill_worker", str(bank), str(STEPS)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "begun\n"
        time.sleep(after)
        worker.send_signal(signal.SIGKILL)
        return worker.wait() == -signal.SIGKILL


def look(bank: Path) -> int:
    """Looks at a bank that was just killed; returns its last step."""
    with closing(sqlite3.connect(bank, isolation_level=None)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert raw.execute("SELECT count(*) FROM cards WHERE id NOT IN (SELECT card FROM tombstones)").fetchone()[0] >= 2
    with SkillBank.open(bank, CONFIG) as opened:
        ids = [made.id for made in opened.cards()]
        assert len(ids) == len(set(ids)) <= CONFIG.cap
        assert not {stone.card for stone in opened.tombstones()} & set(ids)
        return opened.last_step


def kill_and_compare(tmp_path: Path, kills: int, seed: int) -> None:
    bank, generator, steps = tmp_path / "killed.sqlite", random.Random(seed), [-1]
    for _ in range(kills):
        assert strike(bank, generator.uniform(0.0, 0.15)), "the worker ended before it was killed"
        steps.append(look(bank))
    assert steps == sorted(steps)
    assert steps[-1] > 0
    # An undisturbed run as far as the killed one came: no card lost, none doubled, not one bit different.
    assert play(str(bank), steps[-1]) == play(str(tmp_path / "undisturbed.sqlite"), steps[-1])


def test_eight_kills(tmp_path):
    kill_and_compare(tmp_path, kills=8, seed=1)


@pytest.mark.slow
def test_sixty_kills(tmp_path):
    kill_and_compare(tmp_path, kills=60, seed=2)


def test_the_history_has_everything_in_it(tmp_path):
    """Otherwise the kills would prove little."""
    play(str(tmp_path / "bank.sqlite"), 60)
    with SkillBank.open(tmp_path / "bank.sqlite", CONFIG) as bank:
        assert len(bank.tombstones()) > 5
        assert len(bank.cards()) > 5
        assert bank.last_consolidation > 50
        assert sum(made.helpful for made in bank.cards()) > 5
