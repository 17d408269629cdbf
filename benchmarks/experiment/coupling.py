"""Coupling: does the bank, which the Challenger never sees, change what the Challenger asks?

A SESA run is gone on with from one checkpoint several times: with its own bank under two seeds of draws (the null: how far two
continuations drift apart by chance), with an empty bank, and with another run's. Each continuation's Challenger then poses
questions for the same targets; how far two of them are apart is the Jensen-Shannon distance of the kinds of question they pose
(`agents.selfplay.families.kind_of`), invalid ones by their reason. What the bank does is the distance to its own continuation
beyond the null's, paired by world. Counts of few questions are apart by chance alone, the null's as well; that the distance
tells Challengers apart is seen by the start policy's, which poses for the same targets.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.experiment.design import Coupling, Experiment
from benchmarks.experiment.training import FOLDER, run_directory
from benchmarks.records import read_json, write_json
from benchmarks.stats import Differences, Estimate, interval

KINDS_FILE = "kinds.json"
OWN, OTHER, START = "own", "other", "start"


@dataclass(frozen=True)
class Branch:
    """One continuation, plain data."""

    id: str
    """Names its directory."""

    seed: int
    """Of the run that is gone on with."""

    parent: str
    """The id of that run's training."""

    bank: str
    """"own", "empty", or "other"; "start" is no continuation, but the policy that the run started from."""

    donor: str
    """The id of the training whose bank is taken for "other"."""

    draws: int
    """Seed of the continuation's draws."""

    updates: int
    """Updates of the continuation; 0 for the start policy."""

    targets: int
    """Questions posed at its end."""


_ARMS = ((OWN, 1), (OWN, 2), ("empty", 3), (OTHER, 4), (START, 5))


def branches(coupling: Coupling, source: Mapping[tuple[str, str, int], str]) -> list[Branch]:
    """Lists the continuations.

    Args:
        coupling: which.
        source: the id of the training of each (study, arm, seed).
    """
    found = []
    for place, seed in enumerate(coupling.seeds):
        donor = coupling.seeds[(place + 1) % len(coupling.seeds)]
        for bank, number in _ARMS:
            found.append(
                Branch(
                    id=f"coupling-s{seed}-{bank}-{number}",
                    seed=seed,
                    parent=source[coupling.study, coupling.arm, seed],
                    bank=bank,
                    donor=source[coupling.study, coupling.arm, donor],
                    draws=seed * 10 + number,
                    updates=0 if bank == START else coupling.updates,
                    targets=coupling.targets,
                )
            )
    return found


def branches_of(experiment: Experiment, source: Mapping[str, str]) -> list[Branch]:
    """Lists an experiment's branches; none where no coupling is measured."""
    if experiment.coupling is None:
        return []
    return branches(experiment.coupling, {(cell.study, cell.arm, cell.seed): source[cell.id] for cell in experiment.cells()})


def is_branched(root: Path, one: Branch) -> bool:
    """Says whether a continuation has left its result."""
    return (root / FOLDER / one.id / KINDS_FILE).is_file()


def train_branch(data: dict[str, Any], root: str) -> str:
    """Goes on with a run, and lets its Challenger pose; a function for a worker process.

    Args:
        data: the `Branch` as JSON.
        root: the experiment's directory.

    Returns:
        The branch's id.
    """
    import torch

    from agents.policy import load_policy
    from agents.selfplay.directory import stored_config

    torch.set_num_threads(1)
    one = Branch(**data)
    config = stored_config(run_directory(Path(root), one.parent))
    assert config is not None  # the training is done before its branches begin
    posing = config.model if one.bank == START else str(_go_on(one, Path(root)) / "challenger")
    kinds = _kinds(config, load_policy(posing, config.policy), one.targets)
    write_json(run_directory(Path(root), one.id).parent / KINDS_FILE, dict(sorted(kinds.items())))
    return one.id


def _go_on(one: Branch, root: Path) -> Path:
    from agents.selfplay.__main__ import train
    from agents.selfplay.branch import EMPTY, branch
    from agents.selfplay.checkpoint import BANK, Checkpoints
    from agents.selfplay.directory import stored_config

    parent, child = run_directory(root, one.parent), run_directory(root, one.id)
    made = Checkpoints(parent).latest()
    assert made is not None  # the training is done before its branches begin
    if not child.exists():
        other = Checkpoints(run_directory(root, one.donor))
        banks = {OWN: None, "empty": EMPTY, OTHER: other.folder / f"{other.latest():06d}" / BANK}
        branch(parent, child, one.draws, banks[one.bank])
    stored = stored_config(child)
    assert stored is not None  # the branch has just written it
    return train(replace(stored, updates=made + one.updates), child, resume=True, show=False)


def _kinds(config: Any, policy: Any, count: int) -> Counter[str]:
    """Lets a Challenger pose for the first targets of the world, with draws that all continuations share."""
    from agents.selfplay.families import kind_of
    from agents.selfplay.posing import propose
    from sesa_env.worlds import make_world

    world = make_world(config.world, **config.world_options)
    proposals = propose(world, replace(config, seed=0), policy, 0, count)
    return Counter(
        f"invalid: {item.reason}" if item.posed is None else kind_of(world, item.posed.question) for item in proposals
    )


def distance(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """The Jensen-Shannon distance of two counts of kinds: 0 for equal shares, 1 for kinds that never coincide (base 2)."""
    from scipy.spatial.distance import jensenshannon

    kinds = sorted({*one, *other})
    return float(jensenshannon([one.get(kind, 0) for kind in kinds], [other.get(kind, 0) for kind in kinds], base=2))


@dataclass(frozen=True)
class Coupled:
    """How far continuations are apart.

    Attributes:
        null: the distance of two continuations with the run's own bank, a number a seed.
        empty: of one with its own bank and one with none.
        other: of one with its own bank and one with another run's.
        start: of one with its own bank and the start policy.
    """

    null: tuple[float, ...]
    empty: tuple[float, ...]
    other: tuple[float, ...]
    start: tuple[float, ...]

    def beyond_null(self, name: str) -> Estimate:
        """By how much an exchanged bank ("empty" or "other"), or training ("start"), moves the questions beyond chance.

        Paired by seed.
        """
        pairs = zip(self.null, getattr(self, name), strict=True)
        return interval(Differences(tuple(np.array([moved - chance]) for chance, moved in pairs), crossed=False))


def measure(coupling: Coupling, root: Path, found: Sequence[Branch]) -> Coupled:
    """Measures the distances from what the branches left."""
    rows: dict[str, list[float]] = {"null": [], "empty": [], "other": [], "start": []}
    for seed in coupling.seeds:
        kinds = {one.id: read_json(root / FOLDER / one.id / KINDS_FILE) for one in found if one.seed == seed}
        first, second, empty, other, start = (kinds[f"coupling-s{seed}-{bank}-{number}"] for bank, number in _ARMS)
        rows["null"].append(distance(first, second))
        rows["empty"].append((distance(first, empty) + distance(second, empty)) / 2)
        rows["other"].append((distance(first, other) + distance(second, other)) / 2)
        rows["start"].append((distance(first, start) + distance(second, start)) / 2)
    return Coupled(*map(tuple, rows.values()))
