"""The warm start: supervised training of any policy on scripted demonstrations of both seats.

    python -m agents.warmstart --out runs/tiny-warm                    # how the shipped file was made
    python -m agents.warmstart --for smollm2                           # what `agents.selfplay --model smollm2` begins with
    python -m agents.warmstart --model Qwen/Qwen3-0.6B --out runs/qwen3-warm
    python -m agents.warmstart --check agents/tiny_warm_start          # pass rates of a saved policy

Challenger and Solver both begin from the result. A demonstration goes through the same prompts, styles and chat templates as a
rollout, and is tokenised piece by piece as a rollout's pieces are. Stopped at any point, the same command goes on where the
last checkpoint was.
"""

import argparse
import json
import math
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sesa_env.errors import ConfigError, SesaError, missing_extra

try:  # before all that needs them: who lacks one reads what to type, not where it was missed
    import torch
    import transformers  # noqa: F401 - only looked for
except ImportError as error:
    raise SystemExit(f"agents.warmstart: {missing_extra(str(error.name), 'llm')}") from error

from agents.demonstrations import Demonstration, Recipe, demonstrate
from agents.masters import Masters
from agents.passrates import DEVELOPMENT_SEED, pass_rates
from agents.policy import DTYPES, ModelConfig, Policy, load_policy
from agents.pretrained import warm_start_path
from agents.prompts import load_style
from agents.tiny import TinyShape, is_tiny, tiny_model, tiny_tokenizer
from agents.tiny_names import Renamer
from sesa_env.memory.whole import whole_file
from sesa_env.plain import build

RECIPE_FILE = "warm_start.json"
"""Beside the weights: the settings that they were made with."""
_STATE_FILE = "training.pt"
_POOLED = 16  # batches whose lessons are sorted by length together


@dataclass(frozen=True)
class WarmStart:
    """The recipe of a warm start; JSON values. The defaults are those of the shipped file."""

    model: str = "tiny"
    """What to begin with: "tiny" for random weights of `shape`, else what `load_policy` takes, an earlier warm start too."""
    shape: TinyShape = field(default_factory=TinyShape)
    """Size of `tiny`."""
    recipe: Recipe = field(default_factory=Recipe)
    """What the demonstrations are like."""
    demonstrations: int = 20_000
    """How many different ones; gone through again and again in new orders."""
    steps: int = 3_000
    """Optimiser steps."""
    batch: int = 32
    """Demonstrations of one step."""
    rate: float = 3e-3
    """Highest learning rate; it climbs for `climb` steps and falls to a twentieth along half a cosine."""
    climb: int = 100
    """Steps from nought to the highest learning rate."""
    max_grad_norm: float = 1.0
    """Longer gradients are shortened to this."""
    read_weight: float = 0.3
    """Weight in the loss of a token that the demonstrator only read; its own have 1. Copying is learnt sooner from both."""
    renamed: bool = True
    """`tiny` only: each time a demonstration is used, its invented names are drawn anew (`tiny_names`)."""
    exchange_duties: bool = False
    """`tiny` only, with `renamed`: a Solver's lessons tell other duties of an office each time, so that none is learnt by heart
    and the words must be taken from a card. For the last part of a warm start: what went before may well know them."""
    short_steps: int = 1_500
    """First steps, on short demonstrations alone: what all need is learnt there at half the price."""
    short_ids: int = 64
    """The longest of those, in ids."""
    seed: int = 0
    """Of the weights, the demonstrations and their order."""
    began_with: "WarmStart | None" = None
    """The recipe of the directory that `model` names, where a warm start goes on from another."""

    def __post_init__(self) -> None:
        """Refuses numbers that nothing can be trained with."""
        for name in ("demonstrations", "steps", "batch", "climb"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}: expected at least 1; got {getattr(self, name)}")


TINY = WarmStart()
"""The recipe of the first part of the shipped file."""

PRETRAINED: Mapping[str, Any] = {
    "demonstrations": 1600, "steps": 200, "batch": 8, "rate": 1e-4, "climb": 10, "read_weight": 0.0, "short_steps": 0,
}  # fmt: skip
"""What differs for a model that can read already: it has the protocol to learn, not the language."""


def _smollm2() -> WarmStart:
    # Two parts: after the first, whose last steps hold lessons of all lengths, a Challenger went on searching whatever number
    # of hops it was asked for, and 2 of 32 of its one-hop questions were valid; after 110 short lessons about half were.
    first = replace(
        TINY,
        **{**PRETRAINED, "steps": 360, "batch": 4, "short_steps": 200, "short_ids": 190},
        model="smollm2",
        recipe=Recipe(tail_worlds=0),
    )
    return replace(first, began_with=first, steps=110, short_steps=110, short_ids=160, seed=1)


KNOWN: dict[str, tuple[WarmStart, ModelConfig]] = {
    # The terse prompts halve what a small model has to read. In float32 a step takes twice as long where the processor
    # multiplies in bfloat16.
    "smollm2": (_smollm2(), ModelConfig(dtype="bfloat16", style="tiny")),
}
"""The warm starts that a model's name stands for in self-play: how they are made, and how the model is loaded for it."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A demonstration as token ids.

    Attributes:
        ids: prompt, turns and observations.
        written: which of them the demonstrator wrote; same length.
    """

    ids: tuple[int, ...]
    written: tuple[bool, ...]


def lesson(policy: Policy, demonstration: Demonstration) -> Lesson:
    """Tokenises a demonstration piece by piece, as a rollout grows, so that the mask is known by construction."""
    ids = list(policy.prompt_ids(demonstration.view))
    written = [False] * len(ids)
    for turn, observation in zip(demonstration.turns, (*demonstration.observations, None), strict=True):
        spoken = policy.tokenizer(turn, add_special_tokens=False)["input_ids"]
        shown = [] if observation is None else policy.observation_ids(observation)
        ids += [*spoken, *shown]
        written += [True] * len(spoken) + [False] * len(shown)
    return Lesson(tuple(ids), tuple(written))


def batches(lengths: Sequence[int], batch: int, epoch: int, seed: int) -> list[list[int]]:
    """Shares an epoch's lessons out among its batches: in a new order, but of similar lengths, so that little is padding.

    Args:
        lengths: of each lesson, in ids.
        batch: lessons of one step.
        epoch: each has an order of its own.
        seed: likewise.

    Returns:
        The indices of each batch, all of the same size; the few lessons left over are another epoch's.
    """
    draw = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    shuffled = torch.randperm(len(lengths), generator=draw).tolist()
    rows: list[list[int]] = []
    for start in range(0, len(shuffled), _POOLED * batch):
        pooled = sorted(shuffled[start : start + _POOLED * batch], key=lambda index: lengths[index])
        rows += [pooled[at : at + batch] for at in range(0, len(pooled) - batch + 1, batch)]
    return [rows[place] for place in torch.randperm(len(rows), generator=draw).tolist()]


def loss_of(policy: Policy, lessons: Sequence[Lesson], read_weight: float = 0.0) -> torch.Tensor:
    """Returns the weighted mean of the tokens' negative log-likelihoods, a scalar.

    Args:
        policy: whose.
        lessons: at least one.
        read_weight: weight of the tokens that the demonstrator did not write, in [0, 1]; the others have 1.
    """
    width = max(len(row.ids) for row in lessons)
    ids = torch.zeros((len(lessons), width), dtype=torch.long)
    real, weight = torch.zeros_like(ids), torch.zeros(ids.shape)
    for place, row in enumerate(lessons):
        ids[place, : len(row.ids)] = torch.tensor(row.ids)
        real[place, : len(row.ids)] = 1
        weight[place, : len(row.ids)] = torch.where(torch.tensor(row.written), 1.0, read_weight)
    ids, real, weight = (tensor.to(policy.device) for tensor in (ids, real, weight))
    network = policy.network
    hidden = network.model(input_ids=ids, attention_mask=real).last_hidden_state
    wanted = weight[:, 1:] > 0  # the state before a token predicts it; logits are made where they are needed only
    logits = network.lm_head(hidden[:, :-1][wanted])
    losses = torch.nn.functional.cross_entropy(logits.float(), ids[:, 1:][wanted], reduction="none")
    weights = weight[:, 1:][wanted]
    return (losses * weights).sum() / weights.sum()


def rate_at(settings: WarmStart, step: int) -> float:
    """Returns the learning rate of a step."""
    if step < settings.climb:
        return settings.rate * (step + 1) / settings.climb
    done = (step - settings.climb) / max(1, settings.steps - settings.climb)
    return settings.rate * (0.05 + 0.95 * (1 + math.cos(math.pi * min(1.0, done))) / 2)


def start_policy(settings: WarmStart, config: ModelConfig) -> Policy:
    """Returns what the warm start begins with."""
    if settings.model != "tiny":
        return load_policy(settings.model, config)
    network: Any = tiny_model(settings.shape, settings.seed)
    return Policy("tiny", network.to(DTYPES[config.dtype]), tiny_tokenizer(), load_style("tiny"), config)


class Training:
    """A warm start in progress.

    Args:
        settings: the recipe.
        out: the directory that it goes to; a checkpoint of the same recipe there is taken up again.
        config: how the model is loaded.

    Raises:
        ConfigError: `out` holds a warm start of other settings.
    """

    def __init__(self, settings: WarmStart, out: Path, config: ModelConfig | None = None) -> None:
        self.settings, self.out = settings, out
        self.policy = start_policy(settings, config or ModelConfig())
        self.masters, self.step = Masters.of(self.policy.model), 0
        self.optimiser = torch.optim.AdamW(self.masters.parameters, lr=settings.rate, betas=(0.9, 0.98), weight_decay=0.0)
        self._epoch: tuple[int, int, list[list[int]]] = (-1, -1, [])
        self._renamer = Renamer(exchange_duties=settings.exchange_duties) if self._is_tiny and settings.renamed else None
        self._take_up()

    def run(self, checkpoint_every: int | None = None) -> None:
        """Trains to the last step and saves the policy with its recipe.

        Args:
            checkpoint_every: steps from one checkpoint to the next; None for a twentieth of them all.

        Raises:
            ConfigError: there are too few demonstrations for a batch.
        """
        settings = self.settings
        every = checkpoint_every or max(settings.steps // 20, 1)
        if self.step < settings.steps:
            made = demonstrate(settings.recipe, settings.demonstrations, settings.seed)
            lessons = [lesson(self.policy, one) for one in made]
            short = [one for one in lessons if len(one.ids) <= settings.short_ids]
            while self.step < settings.steps:
                loss = self.learn(self._batch(short if self.step < settings.short_steps else lessons))
                if self.step % every == 0 or self.step == settings.steps:
                    sys.stderr.write(f"step {self.step} of {settings.steps}: loss {loss:.4f}\n")
                    self.keep()
        self.finish()

    def _batch(self, lessons: Sequence[Lesson]) -> list[Lesson]:
        """Returns this step's lessons; the same ones for the same step, whatever was done before."""
        settings = self.settings
        if len(lessons) < settings.batch:
            raise ConfigError(f"demonstrations: expected at least {settings.batch} in each phase; got {len(lessons)}")
        whole, rest = divmod(len(lessons), _POOLED * settings.batch)
        epoch, place = divmod(self.step, whole * _POOLED + rest // settings.batch)
        if self._epoch[:2] != (len(lessons), epoch):
            rows = batches([len(one.ids) for one in lessons], settings.batch, epoch, settings.seed)
            self._epoch = (len(lessons), epoch, rows)
        return [self._renamed(lessons[index], number) for number, index in enumerate(self._epoch[2][place])]

    def _renamed(self, one: Lesson, number: int) -> Lesson:
        if self._renamer is None:
            return one
        seed = (self.settings.seed * self.settings.steps + self.step) * self.settings.batch + number
        return Lesson(self._renamer(one.ids, seed), one.written)

    def learn(self, lessons: Sequence[Lesson]) -> float:
        """Takes one optimiser step and returns its loss."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate_at(self.settings, self.step)
        self.optimiser.zero_grad(set_to_none=True)
        loss = loss_of(self.policy, lessons, self.settings.read_weight)
        loss.backward()  # type: ignore[no-untyped-call]
        self.masters.take_gradients()
        torch.nn.utils.clip_grad_norm_(self.masters.parameters, self.settings.max_grad_norm)
        self.optimiser.step()
        self.masters.write_back()
        self.step += 1
        return float(loss.detach())

    def keep(self) -> None:
        """Writes a checkpoint."""
        self.out.parent.mkdir(parents=True, exist_ok=True)
        state: dict[str, Any] = {
            "settings": _json(asdict(self.settings)),
            "step": self.step,
            "weights": self.policy.state_dict(),
            "masters": self.masters.state(),
            "optimiser": self.optimiser.state_dict(),
        }
        with whole_file(self._checkpoint) as part:
            torch.save(state, part)

    def finish(self) -> None:
        """Saves the policy with its recipe, `tiny` in half precision, and drops the checkpoint."""
        if self._is_tiny:
            self.policy.model.to(torch.float16)
        self.policy.save(self.out)
        (self.out / RECIPE_FILE).write_text(_json(asdict(self.settings)), encoding="utf-8")
        self._checkpoint.unlink(missing_ok=True)

    @property
    def _is_tiny(self) -> bool:
        return is_tiny(self.policy.tokenizer)  # not by the prompts: another model may be taught with tiny's terse ones

    @property
    def _checkpoint(self) -> Path:
        return self.out.with_name(f"{self.out.name}.{_STATE_FILE}")

    def _take_up(self) -> None:
        if not self._checkpoint.is_file():
            return
        state = torch.load(self._checkpoint, weights_only=True)
        if state["settings"] != _json(asdict(self.settings)):
            raise ConfigError(f"{self._checkpoint} is of a warm start with other settings; remove it, or give another --out")
        self.step = state["step"]
        self.policy.load_state_dict(state["weights"])
        self.masters.load(state.get("masters", []))  # none in a checkpoint of before
        self.optimiser.load_state_dict(state["optimiser"])


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def settings_of(directory: Path) -> WarmStart:
    """Reads the recipe that lies beside a warm start's weights.

    Raises:
        ConfigError: there is none, or it is malformed.
    """
    path = directory / RECIPE_FILE
    if not path.is_file():
        raise ConfigError(f"expected the recipe of a warm start at {path}; found none")
    return build(WarmStart, json.loads(path.read_text(encoding="utf-8")), str(path))


def make(settings: WarmStart, out: Path, config: ModelConfig | None = None) -> Path:
    """Makes a warm start anew, and before it the one that it began with; stopped at any point, the same call goes on.

    Args:
        settings: the recipe. Where it has an earlier one in `began_with`, `model` is of no account.
        out: the directory that it goes to. One that is there and was made by this recipe is left as it is. The earlier warm
            start is made beside it, and removed when this one is whole.
        config: how the models are loaded.

    Returns:
        The directory.

    Raises:
        ConfigError: there is something else in `out`, or what `Training` raises.
    """
    before = out.with_name(f"{out.name}.before")
    earlier = settings.began_with
    if earlier is not None:
        settings = replace(settings, model=str(before))
    if not out.exists():
        if earlier is not None:
            make(earlier, before, config)
        Training(settings, out, config).run()
    elif replace(settings_of(out), model=settings.model) != settings:
        raise ConfigError(f"{out} is a warm start with other settings; remove it, or give another directory")
    if earlier is not None:
        shutil.rmtree(before, ignore_errors=True)
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line.

    Returns:
        0 when the warm start is whole; 2 when it could not be made; 130 when it was interrupted.
    """
    given = _parser().parse_args(arguments)
    torch.set_num_threads(given.threads)
    try:
        _run(given)
    except SesaError as error:
        sys.stderr.write(f"warmstart: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("\nwarmstart: interrupted; to go on from the last checkpoint, type the same again\n")
        return 130
    return 0


def _run(given: argparse.Namespace) -> None:
    chosen = {name: getattr(given, name) for name in (*_OPTIONS, *_RECIPE_OPTIONS) if getattr(given, name) is not None}
    if given.known is not None:
        if chosen or given.style or given.out:
            raise ConfigError(
                "--for: the recipe, the prompts and the directory are known; beside it give --dtype and --threads"
            )
        settings, config = KNOWN[given.known]
        made = make(settings, warm_start_path(given.known), replace(config, dtype=given.dtype or config.dtype))
        sys.stdout.write(f"{made}\n")
        return
    config = ModelConfig(dtype=given.dtype or ModelConfig.dtype, style=given.style or ModelConfig.style)
    if given.check is not None:
        sys.stdout.write(_json(asdict(pass_rates(load_policy(given.check, config), given.count, given.world))))
        return
    tail_worlds = chosen.pop("tail_worlds", None)
    settings = settings_for(chosen)
    if tail_worlds is not None:
        settings = replace(settings, recipe=replace(settings.recipe, tail_worlds=tail_worlds))
    Training(settings, Path(given.out or "runs/warm-start"), config).run()


def settings_for(chosen: Mapping[str, Any]) -> WarmStart:
    """Returns the recipe for a model: that of `tiny`, `PRETRAINED`, or that of the warm start which it goes on from.

    Args:
        chosen: fields of `WarmStart`, over the recipe's own.
    """
    directory = Path(chosen.get("model", TINY.model))
    if (directory / RECIPE_FILE).is_file():
        earlier = settings_of(directory)
        return replace(earlier, **{"began_with": earlier, **chosen})
    return replace(TINY, **{**({} if str(directory) == "tiny" else PRETRAINED), **chosen})


_OPTIONS: Mapping[str, type] = {
    "model": str, "demonstrations": int, "steps": int, "batch": int, "rate": float, "climb": int, "seed": int,
    "read_weight": float, "short_steps": int, "short_ids": int,
}  # fmt: skip
_RECIPE_OPTIONS = ("exchange_duties", "tail_worlds")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m agents.warmstart", description=__doc__.splitlines()[0])
    for name, kind in _OPTIONS.items():
        told = "what to begin with" if name == "model" else f"see WarmStart.{name}"
        default = f"{getattr(TINY, name)}" + (f", for other models {PRETRAINED[name]}" if name in PRETRAINED else "")
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, help=f"{told}; {default}")
    parser.add_argument("--exchange-duties", action="store_true", default=None, help="see WarmStart.exchange_duties")
    parser.add_argument("--tail-worlds", type=int, help=f"see Recipe.tail_worlds; {Recipe.tail_worlds}")
    parser.add_argument("--out", help="the directory to write; default: runs/warm-start")
    parser.add_argument("--dtype", help="float32 (default), or bfloat16 with float32 masters; with --for as is known")
    parser.add_argument("--style", help="the prompts' style, which is saved with the model; default: the model's own")
    parser.add_argument(
        "--for", choices=sorted(KNOWN), dest="known", metavar="NAME",
        help=f"make, in the cache, the warm start that agents.selfplay --model NAME begins with: {', '.join(sorted(KNOWN))}",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, default=1, help="a second one gains a tiny model nothing")
    parser.add_argument("--check", metavar="MODEL", help="print the pass rates of a policy instead of training one")
    parser.add_argument("--count", type=int, default=200, help="with --check: questions for each hop count")
    parser.add_argument("--world", type=int, default=DEVELOPMENT_SEED, help="with --check: seed of the world, 1000 or more")
    return parser


if __name__ == "__main__":
    sys.exit(main())
