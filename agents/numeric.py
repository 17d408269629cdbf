"""Numeric RL in the Solver's seat: stable-baselines3 agents learn on `SESA-SearchDiscrete-v0`, with and without a skill memory.

    python -m agents.numeric --algorithm maskable-ppo --memory loop --seeds 20 21 22 --out runs/numeric

Each seed is a training and a MiniWiki world of its own. The agent is trained on questions about one half of the world's
entities and asked about the other half: before it has learned anything, then eight times on the way. Whatever is in the
directory already is kept, so a command that was interrupted goes on when it is typed again, and trainings of other algorithms
and memories are added beside; `results.json` and `curves.png` tell of all of them.
"""

import argparse
import json
import sys
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.numeric_report import report
from agents.sb3 import ALGORITHMS, Sb3Player, algorithm_class
from agents.scripted import ScriptedConfig, run_scripted
from sesa_env.errors import ConfigError, SesaError
from sesa_env.memory.base import MemorySnapshot
from sesa_env.numeric import choices
from sesa_env.play import play_questions
from sesa_env.players.base import Player, View
from sesa_env.players.skilled import Skilled
from sesa_env.records import open_memory
from sesa_env.worlds import World, make_world

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

RUN, MODEL = "run.json", "model.zip"
NONE, LOOP = "none", "loop"
LOOP_STEPS = 40
"""Steps of the loop that distils a bank."""

SETTINGS: dict[str, dict[str, Any]] = {
    "ppo": {"n_steps": 128, "batch_size": 256, "n_epochs": 6, "learning_rate": 1e-3, "ent_coef": 0.05, "gamma": 1.0},
    "maskable-ppo": {"n_steps": 128, "batch_size": 256, "n_epochs": 6, "learning_rate": 1e-3, "ent_coef": 0.05, "gamma": 1.0},
    "dqn": {
        "learning_rate": 1e-3,
        "buffer_size": 50_000,
        "learning_starts": 1000,
        "train_freq": 1,
        "gradient_steps": 2,
        "target_update_interval": 500,
        "exploration_fraction": 0.4,
        "exploration_final_eps": 0.05,
        "gamma": 0.98,
    },
}
"""What each algorithm is made with; the rest are stable-baselines3's defaults. Chosen on worlds of seeds from 1000 on."""


@dataclass(frozen=True)
class Training:
    """One training: JSON values only."""

    algorithm: str
    """A name of `agents.sb3.ALGORITHMS`."""
    memory: str = NONE
    """What the Solver is shown: "none", "seeds" (the hand-written cards), "loop" (a bank that the loop of scripted players
    distils on the train half of this world), or the path of a bank."""
    seed: int = 1000
    """Seeds the training and makes the world; below 1000 for what is reported, from 1000 on for development."""
    steps: int = 12_000
    """Steps on the environment."""
    size: int = 1000
    """Passages of the world."""
    questions: int = 1000
    """Questions to train on, about the train half."""
    asked: int = 200
    """Questions to evaluate on, about the test half."""
    evaluations: int = 8
    """Evaluations on the way, after the first."""
    envs: int = 8
    """Environments stepped together."""

    def __post_init__(self) -> None:
        """Refuses what no training can be made of."""
        if self.algorithm not in ALGORITHMS:
            raise ConfigError(f"algorithm: expected one of {', '.join(ALGORITHMS)}; got {self.algorithm!r}")
        for name in ("steps", "size", "questions", "asked", "evaluations", "envs"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}: expected at least 1; got {getattr(self, name)}")

    @property
    def name(self) -> str:
        """Names the training's directory."""
        memory = self.memory if self.memory in (NONE, LOOP, "seeds") else "bank"
        return f"{self.algorithm}-{memory}-s{self.seed}"

    def world_options(self, split: str, questions: int) -> dict[str, Any]:
        """Returns the options of the world, with questions about one half."""
        return {"seed": self.seed, "size": self.size, "split": split, "n_questions": questions, "n_targets": 0}


class RandomChoice:
    """Writes any available turn, each as likely: what learning starts from. A function of seed and view alone."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def act(self, view: View) -> str:
        """Draws one of the turns that can be written."""
        drawn = np.random.default_rng([self._seed, zlib.crc32(view.question.encode()), len(view.turns)])
        available = [turn for turn in choices(view).turns if turn]
        return available[int(drawn.integers(len(available)))]


def train(config: Training, out: str | Path) -> dict[str, Any]:
    """Carries out a training, unless the directory holds it already.

    Args:
        config: the training.
        out: the directory of all trainings; this one has a directory of its own below it.

    Returns:
        "config"; "curve": [steps, exact match] at each evaluation, the last of the agent that is saved; "random" and
        "scripted": the exact match of players that choose among the same turns at random, and of the scripted Solver with the
        same memory.

    Raises:
        ConfigError: a training of this name but of another configuration is there, or the extra is missing.
    """
    folder = Path(out) / config.name
    if (folder / RUN).is_file():
        return _finished(folder, config)
    bank = memory_name(config, Path(out))
    memory = open_memory(bank)
    world = make_world("miniwiki", **config.world_options("test", config.asked))
    curve: list[list[float]] = []
    model = _learn(config, bank, lambda model: curve.append([model.num_timesteps, _score(config, world, memory, model)]))
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / MODEL)
    result = {
        "config": asdict(config),
        "curve": curve,
        "random": exact_match(world, RandomChoice(config.seed), memory),
        "scripted": exact_match(world, Skilled(), memory),
    }
    _write_whole(folder / RUN, json.dumps(result, indent=1, sort_keys=True) + "\n")
    return result


def memory_name(config: Training, out: Path) -> str | None:
    """Returns what `open_memory` takes for a training's memory; distils the bank of "loop", unless it is there already."""
    if config.memory != LOOP:
        return None if config.memory == NONE else config.memory
    options = {"seed": config.seed, "size": config.size, "split": "train", "n_questions": 0}
    made = ScriptedConfig(out=str(out / f"bank-s{config.seed}"), world_options=options, seed=config.seed, steps=LOOP_STEPS)
    return str(run_scripted(made, resume=True))


def exact_match(world: World, player: Player, memory: MemorySnapshot | None) -> float:
    """Puts a world's questions to a player and returns the share that it answers rightly."""
    attempts = play_questions(world, world.questions, player, memory=memory, batch=len(world.questions))
    return sum(attempt.correct for attempt in attempts) / len(attempts)


def _score(config: Training, world: World, memory: MemorySnapshot | None, model: "BaseAlgorithm") -> float:
    return exact_match(world, Sb3Player(model, masked=config.algorithm == "maskable-ppo"), memory)


def _learn(config: Training, bank: str | None, evaluate: Any) -> "BaseAlgorithm":
    """Trains an agent and lets `evaluate` look at it before the first step and at even distances on the way."""
    make = algorithm_class(config.algorithm)
    import torch
    from stable_baselines3.common.env_util import make_vec_env

    from agents.numeric_evaluation import Evaluation

    torch.set_num_threads(1)  # the networks are small, and sums do not depend on the number of cores
    # stable-baselines3 would ask for pictures, which a game of texts has none of.
    kwargs = {"memory": bank, "corpus_options": config.world_options("train", config.questions), "render_mode": None}
    env = make_vec_env("sesa_env:SESA-SearchDiscrete-v0", config.envs, seed=config.seed, env_kwargs=kwargs)
    model = make("MultiInputPolicy", env, seed=config.seed, device="cpu", **SETTINGS[config.algorithm])
    every = max(config.steps // config.evaluations, 1)
    return model.learn(config.steps, callback=Evaluation(evaluate, every, config.steps))


def _finished(folder: Path, config: Training) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / RUN).read_text(encoding="utf-8"))
    if found["config"] != asdict(config):
        raise ConfigError(f"{folder} holds a training of another configuration: {found['config']}; expected another --out")
    return found


def _write_whole(path: Path, text: str) -> None:
    """Writes a file that is there whole or not at all."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    options = vars(_parser().parse_args(arguments))
    out, seeds = options.pop("out"), options.pop("seeds")
    try:
        for seed in seeds:
            result = train(Training(seed=seed, **options), out)
            sys.stdout.write(f"{Training(**result['config']).name}: {_told(result)}\n")
        sys.stdout.write(report(Path(out)))
    except SesaError as error:
        sys.stderr.write(f"numeric: {error}\n")
        return 2
    return 0


def _told(result: dict[str, Any]) -> str:
    first, last = result["curve"][0][1], result["curve"][-1][1]
    return f"{first:.3f} before, {last:.3f} after; random {result['random']:.3f}, scripted {result['scripted']:.3f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m agents.numeric", description="Numeric RL in the Solver's seat.")
    parser.add_argument("--out", required=True, help="directory of trainings, results.json and curves.png")
    parser.add_argument("--algorithm", default="maskable-ppo", choices=ALGORITHMS, help="default: %(default)s")
    parser.add_argument("--memory", default=NONE, help="none, seeds, loop (a bank distilled on each world) or a bank's path")
    parser.add_argument("--seeds", type=int, nargs="+", default=[Training.seed], help="trainings and worlds; default: 1000")
    for name, told in (("steps", "of training"), ("size", "of the world, in passages"), ("questions", "to train on")):
        parser.add_argument(f"--{name}", type=int, default=getattr(Training, name), help=f"{told}; default: %(default)s")
    parser.add_argument("--asked", type=int, default=Training.asked, help="questions to evaluate on; default: %(default)s")
    return parser


if __name__ == "__main__":
    sys.exit(main())
