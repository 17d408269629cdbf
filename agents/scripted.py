"""The loop with scripted players: one poses, one answers, failures become Skill Cards (paper, sections 1 to 4).

    python -m agents.scripted --steps 40 --out results/loop

A step: targets are drawn; the Challenger poses a question for each; each valid one is played by a group of Solver attempts that
read one frozen snapshot of the bank; the results are committed in one transaction; when it is time, the teacher turns failures
into cards, in another. No policy is trained here: the players are scripted.

A step is a function of (configuration, step, bank), and the bank remembers what it has taken in, so a run killed at any instant
and resumed ends with the same bank as one that was not.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sesa_env.errors import ConfigError, SesaError, StoreError
from sesa_env.game import GameConfig, SearchGame
from sesa_env.memory.bank import SkillBank
from sesa_env.memory.base import MemorySnapshot
from sesa_env.memory.config import MemoryConfig
from sesa_env.memory.prime import mine, prime
from sesa_env.memory.teacher import load_teacher
from sesa_env.output import require_run
from sesa_env.plain import build
from sesa_env.play import play
from sesa_env.players.base import Player
from sesa_env.players.load import load_player
from sesa_env.types import Role
from sesa_env.worlds import World, make_world

BANK, METRICS, CONFIG = "bank.sqlite", "metrics.jsonl", "config.json"


@dataclass(frozen=True)
class ScriptedConfig:
    """A run of the loop: JSON values only."""

    out: str
    """Directory that holds configuration, metrics and bank."""
    world: str = "miniwiki"
    """Name of the world, for `make_world`."""
    world_options: dict[str, Any] = field(default_factory=dict)
    """Options of the world."""
    challenger: str = "challenger"
    """Who poses: a built-in player or module:factory."""
    solver: str = "naive"
    """Who solves."""
    teacher: str = "hindsight"
    """Who writes the cards: a built-in distiller or module:factory."""
    embedder: str = "hash"
    """Who embeds cards and questions."""
    seed: int = 0
    """Of the targets' order and the players."""
    steps: int = 40
    """Steps to play."""
    questions: int = 16
    """Targets of one step."""
    rules: dict[str, Any] = field(default_factory=lambda: {"group_size": 1})
    """Fields of `GameConfig`. One attempt a question, since scripted Solvers repeat themselves exactly; the paper has five."""
    memory: dict[str, Any] = field(default_factory=dict)
    """Fields of `MemoryConfig`; the defaults are the paper's."""
    primed: bool = True
    """Whether the bank begins with the hand-written cards."""
    show_cards: bool = False
    """Whether the Solver reads the bank while it plays, as the paper's does. `naive` cannot follow cards: its failures would be
    held against whatever it was shown, and every card would be evicted."""
    bootstrap: int = 0
    """Questions of the bootstrap phase, whose failures give the mined cards before the first step; the paper mines 142."""

    def __post_init__(self) -> None:
        """Refuses numbers that no run can have."""
        for name, lowest in (("seed", 0), ("steps", 1), ("questions", 1), ("bootstrap", 0)):
            if getattr(self, name) < lowest:
                raise ConfigError(f"{name}: expected at least {lowest}; got {getattr(self, name)}")


class ScriptedLoop:
    """One run of the loop, opened on its directory."""

    def __init__(self, config: ScriptedConfig) -> None:
        self.config = config
        self.rules = build(GameConfig, config.rules, "rules")
        self.memory = build(MemoryConfig, config.memory, "memory")
        self.world: World = make_world(config.world, **config.world_options)
        if not self.world.targets:
            raise ConfigError(f"world {config.world!r} has no targets for the Challenger; expected at least one")
        self.players: dict[Role, Player] = {
            Role.CHALLENGER: load_player(config.challenger, self.world, config.seed, Role.CHALLENGER),
            Role.SOLVER: load_player(config.solver, self.world, config.seed, Role.SOLVER),
        }
        self.teacher = load_teacher(config.teacher, self.world)
        self.out = Path(config.out)

    def run(self) -> Path:
        """Plays the steps that are missing and returns the bank's path."""
        with SkillBank.open(self.out / BANK, self.memory, self.config.embedder, run="selfplay") as bank:
            if bank.last_step < 0:
                self._begin(bank)
            # The last committed step is played again, since its consolidation may be missing; what is there changes nothing.
            for step in range(max(bank.last_step, 0), self.config.steps):
                self.step(bank, step)
        return self.out / BANK

    def _begin(self, bank: SkillBank) -> None:
        if self.config.primed:
            prime(bank)
        if self.config.bootstrap:
            games = self.play(None, self._draw(0, self.config.bootstrap, stream=1), step=0)
            mine(bank, [game.group for game in games if game.group], self.teacher)

    def step(self, bank: SkillBank, step: int) -> None:
        """Plays one step and commits it."""
        stats = bank.stats()
        snapshot = bank.snapshot() if self.config.show_cards else None
        games = self.play(snapshot, self._draw(step, self.config.questions, stream=2), step)
        _append_row(self.out / METRICS, _row(step, stats, games))
        bank.commit(step, [game.group for game in games if game.group])
        bank.consolidate(step, self.teacher)

    def play(self, snapshot: MemorySnapshot | None, picks: Sequence[int], step: int) -> list[SearchGame]:
        """Plays one game for each target, all of them on one frozen snapshot."""
        games = [SearchGame(self.world, self.rules, snapshot) for _ in picks]
        for game, pick in zip(games, picks, strict=True):
            game.reset(self.world.targets[pick], seed=step)
        play(games, self.players)
        return games

    def _draw(self, step: int, count: int, stream: int) -> list[int]:
        pool = len(self.world.targets)
        generator = np.random.default_rng((self.config.seed, stream, step))
        return [int(pick) for pick in generator.choice(pool, size=count, replace=count > pool)]


def run_scripted(config: ScriptedConfig, *, resume: bool = False) -> Path:
    """Runs the loop in `config.out`.

    Args:
        config: the run.
        resume: go on with a run of the same configuration; a finished one changes nothing.

    Returns:
        The path of the skill bank.

    Raises:
        ConfigError: a value of the configuration, or a directory that holds another run.
    """
    out = Path(config.out)
    stored = {name: value for name, value in asdict(config).items() if name not in ("out", "steps")}
    path = out / CONFIG
    if path.exists():
        _check_resumable(path, stored, resume=resume)
    elif out.exists() and any(out.iterdir()):
        raise ConfigError(f"{out} is not empty and holds no run; expected a new or empty directory")
    out.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        _write_whole(path, json.dumps(stored, sort_keys=True, indent=1) + "\n")
    return ScriptedLoop(config).run()


def _check_resumable(path: Path, stored: dict[str, Any], *, resume: bool) -> None:
    if not resume:
        raise ConfigError(f"{path.parent} holds a run already; type --resume to go on with it, or name another --out")
    found = json.loads(path.read_text(encoding="utf-8"))
    for name in sorted(stored.keys() | found.keys()):
        if found.get(name) != stored.get(name):
            raise ConfigError(f"--resume: {name} was {found.get(name)!r} in {path}, now it is {stored.get(name)!r}")


def _write_whole(path: Path, text: str) -> None:
    temporary = path.with_suffix(".part")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def _row(step: int, stats: dict[str, Any], games: Sequence[SearchGame]) -> dict[str, Any]:
    """One step's metrics: the bank as the step found it, and what was played on it."""
    groups = [game.group for game in games if game.group]
    rates = [group.solve_rate for group in groups]
    return {
        "step": step,
        "cards": stats["cards"],
        "pending": stats["pending"],
        "tombstones": stats["tombstones"],
        "proposed": len(games),
        "valid": len(groups),
        "rejected": dict(sorted(Counter(game.state.reject_reason for game in games if game.state.reject_reason).items())),
        "distinct_questions": len({group.question.text for group in groups}),
        "hops_asked": round(float(np.mean([game.state.task.hops for game in games])), 6),
        "hops": round(float(np.mean([group.question.hops for group in groups])), 6) if groups else 0.0,
        "solve_rate": round(float(np.mean(rates)), 6) if rates else 0.0,
        "frontier": sum(0 < rate < 1 for rate in rates),
        "challenger_reward": _mean_reward(games, Role.CHALLENGER),
        "solver_reward": _mean_reward(games, Role.SOLVER),
    }


def _mean_reward(games: Sequence[SearchGame], role: Role) -> float:
    """The mean over the games of what a role earned in each."""
    return round(float(np.mean([sum(game.state.rewards.get(role.value, {}).values()) for game in games])), 6)


def _append_row(path: Path, row: dict[str, Any]) -> None:
    """Appends the step's row, unless it is there; what a killed process left of a row goes first.

    The row is written before the commit: after it the bank would no longer be the one that the step was played on.
    """
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    whole = [line for line in lines if line.endswith("\n")]
    if len(whole) < len(lines):
        _write_whole(path, "".join(whole))
    if len(whole) > row["step"]:
        return
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, sort_keys=True) + "\n")


def read_metrics(out: str | Path) -> list[dict[str, Any]]:
    """Reads the metrics of a run, a row a step."""
    path = Path(out) / METRICS
    if not path.exists():
        raise StoreError(f"{path}: expected the metrics of a run; there is no such file")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m agents.scripted", description="Self-play of scripted players with a skill bank."
    )
    parser.add_argument("--out", required=True, help="directory for configuration, metrics and bank")
    parser.add_argument("--steps", type=int, default=ScriptedConfig.steps, help="steps to play (default: %(default)s)")
    parser.add_argument("--questions", type=int, default=ScriptedConfig.questions, help="targets of one step")
    parser.add_argument("--seed", type=int, default=ScriptedConfig.seed, help="of the targets' order and the players")
    parser.add_argument("--world", default=ScriptedConfig.world, help="miniwiki (the default) or flashrag")
    parser.add_argument("--world-options", type=json.loads, default={}, metavar="JSON", help='for example {"size": 3000}')
    parser.add_argument("--challenger", default=ScriptedConfig.challenger, help="a built-in player or module:factory")
    parser.add_argument("--solver", default=ScriptedConfig.solver, help="a built-in player or module:factory")
    parser.add_argument("--teacher", default=ScriptedConfig.teacher, help="hindsight or module:factory")
    parser.add_argument(
        "--bootstrap", type=int, default=ScriptedConfig.bootstrap, help="questions to mine permanent cards from"
    )
    parser.add_argument("--show-cards", action="store_true", help="the Solver reads the bank while it plays")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out")
    options = vars(parser.parse_args(arguments))
    resume = options.pop("resume")
    try:
        if resume:
            require_run(Path(options["out"]))
        bank = run_scripted(ScriptedConfig(**options), resume=resume)
    except SesaError as error:
        sys.stderr.write(f"scripted: {error}\n")
        return 2
    for row in read_metrics(options["out"]):
        sys.stdout.write(json.dumps(row, sort_keys=True) + "\n")
    sys.stdout.write(f"{bank}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
