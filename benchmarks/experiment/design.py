"""What an experiment trains and evaluates: studies of arms, each over the same seeds at the same budget.

A study is a comparison. All its arms are trained in the same worlds, one for each seed, and evaluated after the same numbers of
updates, its stages, on the same questions about what training held out. The reported worlds have seeds below 1000; whatever was
tuned was tuned on others (`benchmarks.config.DEVELOPMENT_SEEDS`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from agents.names import local_model
from agents.pretrained import start_name
from agents.selfplay.arms import ROLES, Overrides, arm_overrides, merged
from agents.selfplay.config import RunConfig as TrainingConfig
from agents.selfplay.presets import configure
from benchmarks.config import checked_judge
from sesa_env.corpus.miniwiki import CORE_RELATIONS
from sesa_env.errors import ConfigError
from sesa_env.plain import build

MAIN = "main"
"""The study that the tables and most claims are made of."""
TOOLED = ("ssp", "shaping-only", "sesa")
"""The arms that other search tools are tried with."""


@dataclass(frozen=True)
class Study:
    """Arms that are compared."""

    name: str
    """Names its directories."""

    title: str
    """What it asks, for a reader."""

    arms: tuple[str, ...]
    """Names in `agents.selfplay.arms.ARMS`."""

    seeds: tuple[int, ...]
    """Of worlds and trainings, the same for every arm, so that arms are paired."""

    stages: tuple[int, ...]
    """Updates after which the arms are evaluated, ascending; the last ends training."""

    questions: int
    """Held-out questions of each of the seven benchmarks."""

    settings: Overrides = field(default_factory=dict)
    """Fields of the training's configuration, over the preset's; an arm's own fields stay over them."""

    controls: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Modes besides Off and On in which an arm is evaluated after the last stage (`benchmarks.modes`)."""

    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Search tools that the arms of `TOOLED` are evaluated with after the last stage besides the one they were trained with:
    by name, options of the world (`sesa_env.world_options.SearchOptions`)."""

    matched: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Arms at another's tokens instead of its updates: by their name the arm that is trained on after the last stage, and the
    arm whose tokens it then has (`benchmarks.experiment.matched`)."""

    judge: str | None = None
    """Who looks again at what exact match refuses in evaluations, for `agents.judge.open_judge`; None for nobody. Training's
    is a setting."""

    def cells(self, preset: str) -> Iterator["Cell"]:
        """Lists its trainings, seed by seed, so that a study that is stopped early has whole seeds.

        Args:
            preset: of `agents.selfplay.presets`.
        """
        for seed in self.seeds:
            for arm in self.arms:
                model, updates = self.settings.get("model"), self.stages[-1]
                settings = [_PINNED, self.settings, arm_overrides(arm)]  # what tells an arm from others stays as it is
                config = configure(preset, arm, model=model, seed=seed, updates=updates, settings=settings)
                yield Cell(
                    id=f"{self.name}-{arm}-s{seed}",
                    study=self.name,
                    arm=arm,
                    seed=seed,
                    stages=(0,) if config.updates == 0 else self.stages,
                    config=config.to_json(),
                    questions=self.questions,
                    controls=tuple(self.controls.get(arm, ())),
                    tools={name: dict(options) for name, options in self.tools.items() if arm in TOOLED},
                    judge=self.judge,
                )


@dataclass(frozen=True)
class Cell:
    """One training and its evaluations, plain data."""

    id: str
    """Names its directory."""

    study: str
    """Whose it is."""

    arm: str
    """Its arm."""

    seed: int
    """Its seed."""

    stages: tuple[int, ...]
    """Updates after which it is kept for evaluation."""

    config: dict[str, Any]
    """The training's configuration, as JSON values."""

    questions: int
    """Held-out questions of each benchmark, after each stage."""

    controls: tuple[str, ...]
    """Modes besides Off and On after the last stage."""

    tools: dict[str, dict[str, Any]]
    """Search tools besides its own after the last stage, by name."""

    judge: str | None = None
    """As in `Study`."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Cell":
        """Makes a cell of what `dataclasses.asdict` has made of it, or JSON."""
        return cls(**{**data, "stages": tuple(data["stages"]), "controls": tuple(data["controls"])})

    def covers(self, other: "Cell") -> bool:
        """Says whether all that another cell of the same training evaluates is evaluated here."""
        asked = bool(other.controls or other.tools)
        return (
            set(other.stages) <= set(self.stages)
            and other.questions == self.questions
            and (not asked or other.stages[-1] == self.stages[-1])
            and set(other.controls) <= set(self.controls)
            and all(self.tools.get(name) == options for name, options in other.tools.items())
        )


@dataclass(frozen=True)
class Coupling:
    """Which runs are gone on with, and how far."""

    study: str
    """The study whose runs they are."""

    arm: str
    """The arm."""

    seeds: tuple[int, ...]
    """Its seeds; each is given the next one's bank as another run's."""

    updates: int
    """Updates of each continuation."""

    targets: int
    """Questions that each continuation's Challenger poses at the end."""


@dataclass(frozen=True)
class Experiment:
    """Everything that one command trains and evaluates."""

    name: str
    """The preset's name."""

    training: str
    """The preset of `agents.selfplay.presets` that all trainings start from."""

    studies: tuple[Study, ...]
    """The comparisons, the main one first."""

    coupling: Coupling | None = None
    """Which runs are gone on with under exchanged banks."""

    def cells(self) -> list[Cell]:
        """Lists all trainings, those of the main study first."""
        return [cell for study in self.studies for cell in study.cells(self.training)]

    def study(self, name: str) -> Study:
        """Looks a study up; there must be one of the name."""
        return next(study for study in self.studies if study.name == name)

    def to_json(self) -> dict[str, Any]:
        """Returns the experiment as a JSON value."""
        return {**asdict(self), "cells": [asdict(cell) for cell in self.cells()]}


_PINNED: Overrides = {
    "tensorboard": False,
    # The trainings that are kept punished wordings, which a Challenger in lower case never repeats, and those that are to stand
    # beside them do the same. By kinds it would be little more: of 6 valid questions of 16 nearly all are of different kinds.
    "questions": {"repetition": "wording"},
    # A Challenger that poses next to nothing is a result: if its training stopped, those that fared better would be left.
    "guard": {"on_collapse": "warn"},
}

ARMS = (
    "base", "ssp", "shaping-only", "sesa", "sesa-no-distillation", "sesa-no-shaping", "sesa-no-priming", "sesa-carryover",
    "skillrl", "oracle", "leak",
)  # fmt: skip
"""The arms of the main table."""

ABLATIONS = ("sesa-no-deduplication", "sesa-no-eviction", "sesa-no-floor", "sesa-shared")
"""Ablations that the paper does not show."""

PLACEBOS = ("sesa-shuffled", "sesa-irrelevant", "sesa-seeds")
"""Placebo banks in training."""

_CONTROLS = {"sesa": ("shuffled", "irrelevant", "seeds", "top-1", "top-5", "no-floor")}
_MATCHED = {"ssp-tokens": ("ssp", "sesa")}
TOOLS: Mapping[str, Mapping[str, Any]] = {"dense": {"backend": "dense"}, "hybrid": {"backend": "hybrid"}}
"""Search tools besides BM25; the encoder is MiniLM, from the extra `minilm`."""
TAILS = (10, 30, 70, 120)
"""Lengths of the procedural tail in the regime map: relations beyond the `CORE_RELATIONS` of every world."""
_CURVES = ("base", "ssp", "shaping-only", "sesa")


_APART: Overrides = {"questions": {"held_out_compositions": 0.2}}
"""Held out by entity goes without saying: half of every world. This adds a fifth of the compositions of relations."""


def _tail(length: int) -> Overrides:
    return merged(_APART, {"world_options": {"relations": CORE_RELATIONS + length}})


WORLDS = tuple(range(40, 46))
"""The worlds of `small`, one for each replicate; `three-worlds` has others, which were judged before."""


def _three_worlds() -> Study:
    return Study(MAIN, "The arms that tell most", _CURVES, (30, 31, 32), (100, 200), 100, settings=_APART)


def _small() -> tuple[Study, ...]:
    worlds, few = WORLDS, WORLDS[:3]
    roles = tuple(f"roles-{challenger}-{solver}" for challenger, solver in ROLES)
    return (
        Study(
            MAIN, "The arms of the paper at one budget", ARMS, worlds, (100, 200, 400), 100, settings=_APART,
            controls=_CONTROLS, tools=TOOLS, matched=_MATCHED,
        ),
        Study("ablations", "What the paper does not take apart", ("sesa", *ABLATIONS), few, (200,), 100, settings=_APART),
        Study(
            "placebos", "Cards of no use in training", ("sesa", "shaping-only", *PLACEBOS), few, (200,), 100, settings=_APART
        ),
        Study("roles", "The algorithms of the two seats", roles, few, (200,), 100, settings=_APART),
        *(
            Study(
                f"tail-{length}", f"A tail of {length} relations", _CURVES, few, (25, 50, 100, 200), 50, settings=_tail(length)
            )
            for length in TAILS
        ),
    )  # fmt: skip


EXPERIMENTS: Mapping[str, Experiment] = {
    "smoke": Experiment(
        "smoke",
        "quick",
        (
            Study(
                MAIN, "SSP and SESA", ("base", "ssp", "sesa"), (0,), (2,), 4,
                settings={"questions": {"per_update": 2}, "rules": {"group_size": 2}, "skills": {"bootstrap": 4}},
                controls={"sesa": ("shuffled",)},
            ),
        ),
    ),
    "quick": Experiment(
        "quick", "quick", (Study(MAIN, "SSP and SESA", ("base", "ssp", "sesa"), (0,), (100, 200), 100, settings=_APART),)
    ),
    "three-worlds": Experiment("three-worlds", "quick", (_three_worlds(),)),
    "paper": Experiment("paper", "paper", (Study(MAIN, "The paper's arms", ARMS, (0, 1, 2), (50, 100, 150), 500),)),
    "small": Experiment("small", "quick", _small(), Coupling(MAIN, "sesa", WORLDS, 50, 300)),
}  # fmt: skip
"""The experiments by their presets' names."""


def experiment_of(
    preset: str,
    model: str | None = None,
    data: str = "",
    seeds: int | None = None,
    settings: Sequence[Overrides] = (),
    judge: str = "",
) -> Experiment:
    """Looks an experiment up.

    Args:
        preset: its name.
        model: the start policy of all arms, "smollm2" for that model's warm start; None for the training preset's.
        data: a directory of real benchmarks to train and evaluate on, instead of MiniWiki. The arms that train on ready
            questions are left out then: the directory's are those of the evaluation.
        seeds: how many of each study's at most, the first ones; None for all. Coupling, which exchanges banks between seeds,
            is measured with all of them only.
        settings: nested overrides of every training's configuration, over those of the studies, the last ones first in rank.
        judge: who looks again at what exact match refuses in evaluations; "" for nobody.

    Raises:
        ConfigError: there is no such experiment, or it cannot have such settings or such a judge.
    """
    if preset not in EXPERIMENTS:
        raise ConfigError(f"unknown preset {preset!r}; choose from {', '.join(EXPERIMENTS)}")
    given: dict[str, Any] = {} if model is None else {"model": start_name(model)}
    if data:
        given |= {"world": "flashrag", "world_options": {"data": data}, "questions": {"held_out_compositions": 0.0}}
    found, left_out = EXPERIMENTS[preset], ("skillrl", "oracle") if data else ()
    studies = tuple(
        replace(
            one,
            settings=merged(one.settings, given),
            arms=tuple(arm for arm in one.arms if arm not in left_out),
            seeds=one.seeds[:seeds],
            judge=checked_judge(judge) or None,
        )
        for one in found.studies
    )
    made = replace(found, studies=studies)
    if settings:
        made = _with_settings(made, merged(*settings))
    if made.coupling is not None and not set(made.coupling.seeds) <= set(made.study(made.coupling.study).seeds):
        made = replace(made, coupling=None)
    return made


def takes_accelerator(experiment: Experiment) -> bool:
    """Says whether models are loaded for an experiment that take an accelerator where there is one."""
    cells = experiment.cells()
    helpers = (name for cell in cells for name in (cell.judge, cell.config["judge"], cell.config["skills"]["teacher"]) if name)
    return any(cell.config["policy"]["device"] != "cpu" for cell in cells) or any(map(local_model, helpers))


def _with_settings(experiment: Experiment, asked: Overrides) -> Experiment:
    """Puts settings over those of an experiment's studies.

    Raises:
        ConfigError: the design says it already, no training can have them, or trainings that are compared would be alike.
    """
    if fixed := sorted({"preset", "arm", "seed", "updates", "model", "world"} & set(asked)):
        raise ConfigError(
            f"--set {fixed[0]}: expected a field that the experiment leaves open; its design has arms, seeds and updates, "
            "--model names the start policy, and --suite and --data the world"
        )
    studies = tuple(replace(study, settings=merged(study.settings, asked)) for study in experiment.studies)
    made = replace(experiment, studies=studies)
    before, after = (same_training(one.cells()) for one in (experiment, made))
    if alike := sorted(cell for cell in after if after[cell] not in (cell, before[cell])):
        raise ConfigError(f"--set: with these settings {alike[0]} would be the same training as {after[alike[0]]}")
    return made


def same_training(cells: Sequence[Cell]) -> dict[str, str]:
    """Finds cells that differ in nothing but their names: each is done once.

    Returns:
        For each cell's id the id of the first cell whose training is the same, with at least its evaluations.
    """
    alike: dict[str, list[Cell]] = {}
    for cell in cells:
        alike.setdefault(repr(merged(cell.config, {"arm": "", "updates": 0})), []).append(cell)
    return {cell.id: next(other.id for other in group if other.covers(cell)) for group in alike.values() for cell in group}


def training_config(cell: Cell) -> TrainingConfig:
    """Returns a cell's training as the loop takes it."""
    return build(TrainingConfig, cell.config, cell.id)
