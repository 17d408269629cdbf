"""Kills runs of the loop at random instants and looks at the bank after each: a process of its own, so that it may fork.

    python kill_driver.py OUT KILLS SEED

The world is made once; each run of the loop is a fork that is sent SIGKILL after a random time. A run that ends by itself is
compared with an undisturbed one and another is begun. The last line printed is a JSON summary.
"""

import json
import os
import random
import signal
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

from agents.scripted import BANK, METRICS, ScriptedConfig, run_scripted
from sesa_env.memory.bank import SkillBank

STEPS = 60


def config(out: Path) -> ScriptedConfig:
    memory = {"consolidate_every": 2, "consolidate_min": 2, "cap": 40, "evict_after": 1}
    return ScriptedConfig(out=str(out), world_options={"size": 300}, steps=STEPS, questions=4, memory=memory)


def run_child(out: Path) -> None:
    try:
        run_scripted(config(out), resume=True)
    except BaseException as error:  # a forked child must end here, whatever happens, and not run its parent's code
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        os._exit(1)
    os._exit(0)


def known_cards(bank: Path) -> set[str]:
    """Looks at a bank that was just killed: whole, no id twice; returns every card it holds or held."""
    with closing(sqlite3.connect(bank, isolation_level=None)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with SkillBank.open(bank, run="selfplay") as opened:
        cards = [card.id for card in opened.cards()]
        failures = [failure.id for failure in opened.pending()]
        buried = {stone.card for stone in opened.tombstones()}
    assert len(cards) == len(set(cards)), "a card is doubled"
    assert len(failures) == len(set(failures)), "a failure is doubled"
    assert not buried & set(cards), "an evicted card is back"
    return set(cards) | buried


def digest(bank: Path) -> str:
    with SkillBank.open(bank, run="selfplay") as opened:
        return opened.digest()


def main(out: Path, kills: int, seed: int) -> None:
    generator = random.Random(seed)
    start = time.monotonic()
    run_scripted(config(out / "undisturbed"))
    length = time.monotonic() - start
    expected = digest(out / "undisturbed" / BANK)
    metrics = (out / "undisturbed" / METRICS).read_bytes()
    killed, finished, known, steps = 0, 0, set(), set()
    while killed < kills or not finished:
        run = out / f"run{finished}"
        if (child := os.fork()) == 0:
            run_child(run)
        if killed < kills:
            time.sleep(generator.uniform(0.0, length / 6))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            killed += 1
        if (run / BANK).exists():
            now = known_cards(run / BANK)
            assert known <= now, f"cards were lost: {sorted(known - now)}"
            known = now
        if (run / METRICS).exists():
            steps.add((run / METRICS).read_text().count("\n"))
        if not os.WIFSIGNALED(status):
            assert os.WEXITSTATUS(status) == 0, "the resumed run failed"
            assert digest(run / BANK) == expected, "the bank differs from an undisturbed run's"
            assert (run / METRICS).read_bytes() == metrics, "the metrics differ from an undisturbed run's"
            finished, known = finished + 1, set()
    summary = {
        "killed": killed,
        "finished": finished,
        "distinct_steps_seen": len(steps),
        "cards": len(known_cards(out / "undisturbed" / BANK)),
    }
    sys.stdout.write(json.dumps(summary) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
