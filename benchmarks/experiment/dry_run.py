"""A dry run: what an experiment would do, whether what it needs is there, and about what it would cost; nothing is trained."""

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from benchmarks.experiment.design import Cell, Experiment, same_training, training_config
from sesa_env.errors import SesaError
from sesa_env.worlds import make_world

PEAK, SHARE = 989e12, 0.35
"""Floating-point operations a second of an H100 in bfloat16 without sparsity, and the share of them that training reaches."""
_SAMPLING_SHARE = 0.05  # of the peak: decoding waits for memory
_GIB, _MIB = 1024**3, 1024**2
_CPU = 10e6  # parameters of what is trained on CPU cores


@dataclass(frozen=True)
class Cost:
    """What one training takes, estimated.

    Attributes:
        parameters: of one policy.
        memory: bytes of weights, optimisers and the reference model, activations left out.
        hours: of one accelerator as `PEAK` says.
    """

    parameters: float
    memory: float
    hours: float


def dry_run(experiment: Experiment) -> Iterator[str]:
    """Describes an experiment without doing it.

    Worlds and models may take minutes to look at, so each is named before it is.

    Args:
        experiment: what would be done.

    Yields:
        Lines for a reader as they are known: the plan, what is there and what is missing, the estimated cost.
    """
    cells = experiment.cells()
    source = same_training(cells)
    trained = [cell for cell in cells if source[cell.id] == cell.id]
    yield from _plan(experiment, trained)
    yield from _needs(trained)
    yield from _costs(trained)


def _plan(experiment: Experiment, cells: Sequence[Cell]) -> Iterator[str]:
    yield f"Experiment {experiment.name}: {len(cells)} trainings"
    for study in experiment.studies:
        config = training_config(next(study.cells(experiment.training)))
        yield (
            f"  {study.name}: {', '.join(study.arms)}; seeds {', '.join(map(str, study.seeds))}; stages "
            f"{', '.join(map(str, study.stages))}; {config.questions.per_update} questions x {config.rules.group_size} "
            f"rollouts an update; evaluated on {study.questions} questions a benchmark"
        )


def _needs(cells: Sequence[Cell]) -> Iterator[str]:
    """Says of every world and model whether it is there."""
    yield "What it needs"
    worlds = list({repr((config.world, config.world_options)): config for config in map(training_config, cells)}.values())
    for config, which in zip(worlds, _told_apart([config.world_options for config in worlds]), strict=True):
        name = f"world {config.world}{which}"
        yield f"  {name}: looking for it"
        try:
            world = make_world(config.world, **config.world_options)
        except SesaError as error:
            yield f"  {name}: MISSING: {error}"
        else:
            yield f"  {name}: {len(world.corpus):,} passages, {len(world.targets):,} targets"
    for name in sorted({training_config(cell).model for cell in cells}):
        yield f"  model {name}: looking for it"
        yield f"  model {name}: {_where(name)}"
    for name in sorted({training_config(cell).judge or "" for cell in cells} - {""}):
        yield f"  judge {name}: must answer when the run begins"


def _told_apart(options: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of each world the options in which they differ."""
    names = sorted({name for one in options for name in one if any(other.get(name) != one[name] for other in options)})
    return ["".join(f", {name} {one.get(name)}" for name in names) for one in options]


def _where(name: str) -> str:
    from transformers import AutoConfig

    from agents.pretrained import source_of

    try:
        AutoConfig.from_pretrained(source_of(name), local_files_only=True)
    except SesaError as error:
        return f"MISSING: {error}"
    except (OSError, ValueError):
        return "not on this machine: it will be fetched from the hub"
    return "here"


def _costs(cells: Sequence[Cell]) -> Iterator[str]:
    yield "What it costs, estimated"
    costs = [cost(cell) for cell in cells]
    if any(math.isnan(one.parameters) for one in costs):
        yield "  not known: the model's size is neither here nor in its name"
        return
    largest = max(costs, key=lambda one: one.memory)
    yield (
        f"  memory: {_size(largest.memory)} for two policies of {largest.parameters / 1e6:,.1f} million parameters "
        "with their optimisers and reference models, activations and the keys and values of rollouts not counted"
    )
    device, there = memory_here()
    enough = "enough for that" if largest.memory < there else "NOT ENOUGH on one device"
    yield f"  memory here: {_size(there)} ({device}): {enough}"
    if largest.parameters < _CPU:
        yield f"  time: {sum(cell.stages[-1] for cell in cells):,} updates; a CPU core makes one in about a second"
        return
    yield (
        f"  time: {sum(one.hours for one in costs):,.1f} hours of one accelerator of {PEAK / 1e12:.0f} TFLOP/s, training at "
        f"{SHARE:.0%} of it and sampling at {_SAMPLING_SHARE:.0%}, every rollout as long as its budget allows: an upper bound"
    )


def _size(memory: float) -> str:
    return f"{memory / _GIB:.1f} GiB" if memory >= _GIB else f"{memory / _MIB:.0f} MiB"


def memory_here() -> tuple[str, float]:
    """Returns the device that a training would take, and the bytes of its memory."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name(0), float(torch.cuda.get_device_properties(0).total_memory)
    return "CPU", float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def cost(cell: Cell) -> Cost:
    """Estimates one training.

    Memory a policy: weights, and for a trained one gradients and two moments, all in float32 where the weights are (in bfloat16
    a float32 copy as well), and the weights of a reference model where the KL asks for one. Operations a token: 2 a parameter
    to sample or score it, 6 to learn from it.
    """
    config = training_config(cell)
    size = parameters(config.model)
    each = 4.0 if config.policy.dtype == "float32" else 2.0
    memory, flops = 0.0, 0.0
    questions = cell.stages[-1] * config.questions.per_update
    rollouts = {"solver": questions * config.rules.group_size, "challenger": cell.stages[-1] * config.questions.at_most}
    for role, count in rollouts.items():
        seat = getattr(config, role)
        learner = seat.learner
        memory += size * each
        if seat.train:
            memory += size * (12 if each == 4 else 16) + (size * each if learner.kl > 0 else 0)
        tokens = count * seat.sampling.tokens
        scored = 1 if learner.kl > 0 else 0
        flops += tokens * size * (2 / _SAMPLING_SHARE + ((6 + 2 * scored) / SHARE if seat.train else 0))
    return Cost(size, memory, flops / PEAK / 3600)


@cache
def parameters(name: str) -> float:
    """Counts a model's parameters, from its configuration where that is here, else by its name ("...-4B")."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from agents.pretrained import source_of

    try:
        config = AutoConfig.from_pretrained(source_of(name), local_files_only=True)
    except (SesaError, OSError, ValueError):
        found = re.search(r"(\d+(?:\.\d+)?)[Bb]\b", name)
        return float(found.group(1)) * 1e9 if found else float("nan")
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]  # transformers ships it untyped
    return float(sum(weight.numel() for weight in model.parameters()))
