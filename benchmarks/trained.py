"""Finished runs of `agents.selfplay`: what each was trained on, and what it left to be evaluated.

A run's directory holds `config.json`, `metrics.jsonl`, the Solver as a transformers directory `solver`, where its arm has a
skill bank, `bank.sqlite`, the digest of the weights that it started from in `start.json`, and, last of all, `finished.json`,
which vouches for Solver and bank.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.selfplay.finished import FINISHED, START, why_unfinished
from benchmarks.records import read_json, read_records
from benchmarks.suites import SUITES, WorldSpec
from sesa_env.errors import ConfigError

CONFIG_FILE, METRICS_FILE, SOLVER, BANK_FILE = "config.json", "metrics.jsonl", "solver", "bank.sqlite"
BASE = "base"
"""The arm that trains nothing: the policy that the others start from."""
TRAINED = "trained"
"""Stands for the player of an arm whose every seed has a Solver of its own."""
_PLAYED = ("max_turns", "max_searches", "top_k", "max_strikes", "max_action_chars", "max_passage_chars")
_RETRIEVED = ("top_k", "similarity_floor", "utility_weight")
_HELD_OUT = {"split": "test", "benchmark": None, "families": None, "n_questions": 0, "n_targets": 0}


@dataclass(frozen=True)
class TrainedRun:
    """One finished run, as plain data."""

    arm: str
    """The name of its configuration."""

    seed: int
    """Its seed."""

    start: str
    """The policy that it started from."""

    start_digest: str
    """The digest of that policy's weights."""

    solver: str
    """The directory of its trained Solver."""

    solver_digest: str
    """The digest of that Solver's weights: an evaluation is not gone on with when it was trained further."""

    bank: str
    """Its skill bank; "" where its arm has none."""

    world: WorldSpec
    """The world that it was trained in."""

    rules: dict[str, Any]
    """Those of its rules that a Solver plays by, as fields of `GameConfig`; rewards are training's."""

    model: dict[str, Any]
    """How its Solver is loaded, as fields of `ModelConfig`."""

    sampling: dict[str, Any]
    """Its Solver's budgets, as fields of `Sampling`; greedy."""

    memory: dict[str, Any]
    """How cards are retrieved from its bank, as fields of `MemoryConfig`."""

    budget: dict[str, int]
    """What it was trained with: updates, questions and rollouts."""

    def test_world(self) -> WorldSpec:
        """The same world, for questions about what training held out."""
        options = self.world["options"]
        if self.world["name"] == "miniwiki":
            options = {name: value for name, value in {**options, **_HELD_OUT}.items() if value is not None}
        return {"name": self.world["name"], "options": options}


def read_run(directory: str | Path) -> TrainedRun:
    """Reads a finished run.

    Raises:
        ConfigError: the directory holds no run, or one that is not finished; the message says what to do.
        StoreError: a file cannot be read.
    """
    root = Path(directory).resolve()
    if not (root / CONFIG_FILE).is_file():
        raise ConfigError(f"{root}: expected a finished run of agents.selfplay, but {CONFIG_FILE} is missing")
    config = read_json(root / CONFIG_FILE)
    rows = read_records(root / METRICS_FILE) if (root / METRICS_FILE).is_file() else []
    reason = "start.json is missing" if not (root / START).is_file() else why_unfinished(root, config["updates"])
    if reason or len(rows) != config["updates"]:
        done = f"{len(rows)} of {config['updates']} updates"
        raise ConfigError(
            f"{root}: this run is not finished ({done}{f'; {reason}' if reason else ''}); "
            f"go on with: python -m agents.selfplay --out {root} --resume"
        )
    return _run(root, config, rows)


def _run(root: Path, config: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> TrainedRun:
    bank = root / BANK_FILE
    return TrainedRun(
        arm=config["arm"],
        seed=config["seed"],
        start=config["model"],
        start_digest=read_json(root / START)["weights"],
        solver=str(root / SOLVER),
        solver_digest=read_json(root / FINISHED)["solver"],
        bank=str(bank) if config["skills"]["enabled"] and bank.is_file() else "",
        world={"name": config["world"], "options": config["world_options"]},
        rules={name: config["rules"][name] for name in _PLAYED},
        model=_to_play(config["policy"]),
        memory={name: config["skills"]["bank"][name] for name in _RETRIEVED},
        # A bound that is not set is one that runs of before it was there had not either.
        sampling={name: value for name, value in config["solver"]["sampling"].items() if value is not None} | {"greedy": True},
        budget={
            "updates": len(rows),
            "questions": sum(row["questions"] for row in rows),
            "rollouts": sum(row["rollouts"] for row in rows),
        },
    )


def _to_play(policy: Mapping[str, Any]) -> dict[str, Any]:
    """A trained model is saved whole, its adapters merged: it needs none of what serves training.

    Adapters in float32 over a bfloat16 base are merged in float32, and bfloat16 would round away what they learnt.
    """
    dtype = "float32" if policy["dtype"] == "mixed" else policy["dtype"]
    return {**policy, "dtype": dtype, "lora": None, "gradient_checkpointing": False}


def read_runs(directories: Sequence[str], *, unequal: bool = False) -> tuple[TrainedRun, ...]:
    """Reads finished runs that are to be compared.

    Args:
        directories: their directories.
        unequal: whether runs of different budgets may be compared.

    Raises:
        ConfigError: an arm comes twice with one seed, the runs did not start from the same weights, they load or sample their
            Solvers differently, runs of one seed were trained in different worlds or by different rules, or budgets differ.
    """
    return check_runs([read_run(directory) for directory in directories], unequal=unequal)


def check_runs(runs: Sequence[TrainedRun], *, unequal: bool = False) -> tuple[TrainedRun, ...]:
    """Refuses runs that cannot be compared; raises as `read_runs`."""
    names = [(run.arm, run.seed) for run in runs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"arm {twice[0][0]!r} comes twice with seed {twice[0][1]}; give each run once")
    if len({run.world["name"] for run in runs}) > 1 or any(run.world["name"] not in SUITES for run in runs):
        raise ConfigError(f"expected runs on one of {', '.join(SUITES)}; got {sorted({run.world['name'] for run in runs})}")
    for run in runs:
        first = next(other for other in runs if other.seed == run.seed)
        for what in ("test_world", "rules"):
            if _of(run, what) != _of(first, what):
                raise ConfigError(f"{run.solver} and {first.solver} have one seed but not one {what}: they cannot be compared")
    for what in ("start_digest", "model", "sampling"):
        _check_alike(runs, what)
    if not unequal:
        _check_budgets(runs)
    return tuple(runs)


def _check_alike(runs: Sequence[TrainedRun], what: str) -> None:
    for run in runs:
        if (ours := getattr(run, what)) != (first := getattr(runs[0], what)):
            raise ConfigError(
                f"{run.solver} and {runs[0].solver} have not one {what} ({ours} and {first}): they cannot be compared"
            )


def check_start(runs: Sequence[TrainedRun]) -> None:
    """Sees to it that the policy which the runs started from is still what it was, before it is evaluated as `base`.

    Raises:
        ConfigError: it is gone, or its weights have changed since.
    """
    from agents.pretrained import start_digest

    if (found := start_digest(runs[0].start)) != runs[0].start_digest:
        raise ConfigError(
            f"{runs[0].start}: these are not the weights that the runs started from ({runs[0].start_digest} -> {found}): "
            f"put the old ones back, or give a run of the arm {BASE!r} beside the others"
        )


def _of(run: TrainedRun, what: str) -> Any:
    value = getattr(run, what)
    return value() if callable(value) else value


def _check_budgets(runs: Sequence[TrainedRun]) -> None:
    """Arms are compared at one budget (paper, section 7): of updates, questions and rollouts."""
    first, *others = [run for run in runs if run.arm != BASE] or runs
    for run in others:
        if run.budget != first.budget:
            raise ConfigError(
                f"{run.arm} (seed {run.seed}) was trained with {run.budget}, {first.arm} (seed {first.seed}) with "
                f"{first.budget}; train them with one budget, or add --unequal-budgets, and the report will say so"
            )
