"""What a run is: presets, and the frozen configuration that decides every record."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from agents.names import endpoint, local_model, names_model, sb3_agent
from benchmarks.arms import ARMS, Arm
from benchmarks.modes import check_mode
from benchmarks.suites import BENCHMARKS, SUITES
from benchmarks.trained import BASE, TRAINED, TrainedRun, check_start
from sesa_env.errors import ConfigError

DEVELOPMENT_SEEDS = 1000
"""Worlds from this seed on are for development; a reported number comes from a lower seed, a world that nobody tuned on."""


@dataclass(frozen=True)
class Preset:
    """How much a run does."""

    questions: int
    """Questions of each benchmark, Bamboogle aside; all there are where a benchmark has fewer."""

    bamboogle: int
    """Questions of Bamboogle, which has only 125."""

    seeds: int
    """How many seeds: worlds and players. `--seeds` overrides it."""

    world_size: int
    """Passages of a MiniWiki world, about."""

    loop_steps: int
    """Steps of the self-play loop that distils a bank."""

    loop_questions: int
    """Questions the loop plays in a step."""

    shard: int
    """Questions in one unit of work, at most."""


PRESETS: Mapping[str, Preset] = {
    "smoke": Preset(questions=20, bamboogle=20, seeds=1, world_size=1000, loop_steps=40, loop_questions=8, shard=20),
    "quick": Preset(questions=200, bamboogle=125, seeds=1, world_size=3000, loop_steps=80, loop_questions=16, shard=100),
    "small": Preset(questions=200, bamboogle=125, seeds=3, world_size=3000, loop_steps=80, loop_questions=16, shard=100),
    "paper": Preset(questions=500, bamboogle=125, seeds=5, world_size=10000, loop_steps=150, loop_questions=16, shard=250),
}


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides what a run's records say; `--workers` and `--out` decide nothing."""

    suite: str
    """`miniwiki` (the built-in world) or `flashrag` (the real benchmarks)."""

    preset: str
    """The preset that the numbers came from."""

    data: str
    """Directory of the real benchmarks; "" for MiniWiki."""

    arms: tuple[Arm, ...]
    """The players compared, the baseline first."""

    seeds: tuple[int, ...]
    """Seeds of the worlds, the players and the draws of questions."""

    questions: Mapping[str, int]
    """Questions asked of each benchmark."""

    world_size: int
    """As in `Preset`."""

    loop_steps: int
    """As in `Preset`."""

    loop_questions: int
    """As in `Preset`."""

    shard: int
    """As in `Preset`."""

    loop_memory: Mapping[str, Any] = field(default_factory=dict)
    """Where the loop's `MemoryConfig` departs from the paper's settings."""

    max_turns: int = 10
    """Turns of an episode (paper, section 6)."""

    top_k: int = 3
    """Passages that a search brings (paper, section 6)."""

    batch: int = 64
    """Questions played in lock step."""

    judge: str = ""
    """The model that looks again at what exact match refuses, for `agents.judge.open_judge`; "" for none."""

    model: Mapping[str, Any] = field(default_factory=dict)
    """How language models among the arms are loaded, as fields of `ModelConfig`."""

    sampling: Mapping[str, Any] = field(default_factory=dict)
    """Their budgets of tokens, as fields of `Sampling`."""

    controls: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Modes besides Off and On in which a trained arm with a bank is played, by the arm's name (`benchmarks.modes`)."""

    trained: tuple[TrainedRun, ...] = ()
    """The finished training runs that are compared, if it is they; `arms` then names their arms and `seeds` their seeds."""

    def to_json(self) -> dict[str, Any]:
        """Returns the configuration as a JSON value."""
        return {
            **asdict(self),
            "arms": [asdict(arm) for arm in self.arms],
            "seeds": list(self.seeds),
            "questions": dict(self.questions),
            "controls": {arm: list(modes) for arm, modes in self.controls.items()},
            "trained": [asdict(run) for run in self.trained],
        }


def make_config(
    suite: str,
    preset: str,
    arms: tuple[Arm, ...],
    data: str = "",
    seeds: int | None = None,
    questions: int | None = None,
    judge: str = "",
) -> RunConfig:
    """Builds a run's configuration.

    Args:
        suite: a name in `SUITES`.
        preset: a name in `PRESETS`.
        arms: the players to compare.
        data: directory of the real benchmarks, for suites that read one.
        seeds: how many seeds; None for the preset's number.
        questions: how many questions of each benchmark at most; None for the preset's number.
        judge: the model that judges what exact match refuses; "" for none.

    Raises:
        ConfigError: a value is unknown or does not fit the others; the message says what exists.
    """
    scale = choose("preset", preset, PRESETS)
    needs_data = choose("suite", suite, SUITES).needs_data
    if needs_data != bool(data):
        raise ConfigError(f"--suite {suite} {'needs' if needs_data else 'takes no'} --data DIR")
    _check_counts(seeds, questions)
    if seeds is not None and seeds > DEVELOPMENT_SEEDS:
        raise ConfigError(
            f"--seeds must be at most {DEVELOPMENT_SEEDS}, since later worlds are for development, but is {seeds}"
        )
    return RunConfig(
        suite=suite,
        preset=preset,
        data=data,
        arms=tuple(_with_bank(arm, suite) for arm in arms),
        seeds=tuple(range(seeds or scale.seeds)),
        questions=question_counts(preset, questions),
        world_size=scale.world_size,
        loop_steps=scale.loop_steps,
        loop_questions=scale.loop_questions,
        shard=scale.shard,
        judge=checked_judge(judge),
    )


def make_trained_config(
    preset: str,
    runs: tuple[TrainedRun, ...],
    questions: int | None = None,
    judge: str = "",
    *,
    base: bool = True,
    controls: Mapping[str, tuple[str, ...]] | None = None,
) -> RunConfig:
    """Builds the configuration of an evaluation of finished training runs.

    Args:
        preset: a name in `PRESETS`; it says how many questions.
        runs: the runs, as `trained.read_runs` reads them.
        questions: how many questions of each benchmark at most; None for the preset's number.
        judge: as in `make_config`.
        base: whether the policy that training started from is an arm too, the first.
        controls: modes besides Off and On, by the arm's name.

    Returns:
        The configuration: an arm for each arm of the runs, its seeds the runs'.

    Raises:
        ConfigError: as `make_config`, or the weights that training started from have changed since.
    """
    scale = choose("preset", preset, PRESETS)
    _check_counts(None, questions)
    names = list(dict.fromkeys(run.arm for run in runs))
    banks = {name: "trained" if any(run.bank for run in runs if run.arm == name) else "none" for name in names}
    start = [Arm(BASE, f"model:{runs[0].start}", "none")] if base and BASE not in names else []
    if start:
        check_start(runs)
    world = runs[0].world
    return RunConfig(
        suite=world["name"],
        preset=preset,
        data=world["options"].get("data", ""),
        arms=(*start, *(Arm(name, TRAINED, banks[name]) for name in names)),
        seeds=tuple(sorted({run.seed for run in runs})),
        questions=question_counts(preset, questions),
        world_size=world["options"].get("size", 0),
        loop_steps=0,
        loop_questions=0,
        shard=scale.shard,
        judge=checked_judge(judge),
        controls=_checked(controls or {}),
        trained=runs,
    )


def _checked(controls: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    for mode in (mode for modes in controls.values() for mode in modes):
        check_mode(mode)
    return controls


def _check_counts(seeds: int | None, questions: int | None) -> None:
    for option, number in (("--seeds", seeds), ("--questions", questions)):
        if number is not None and number < 1:
            raise ConfigError(f"{option} must be at least 1, but is {number}")


def checked_judge(name: str) -> str:
    """Returns the name of a judge, "" for none.

    Raises:
        ConfigError: it names no model.
    """
    if name and endpoint(name) is None and local_model(name) is None:
        raise ConfigError(f"--judge {name!r}: expected openai:MODEL@URL or model:NAME_OR_DIR")
    return name


def _with_bank(arm: Arm, suite: str) -> Arm:
    """Settles an arm's bank: where the suite has only one, a built-in arm, or one that names no bank, gets that."""
    only = SUITES[suite].bank
    if arm.bank_file or arm.bank == "none":
        return arm
    if not only:
        return replace(arm, bank=arm.bank or _usual_bank(arm.player))
    if arm.bank not in ("", only) and arm != ARMS.get(arm.name):
        raise ConfigError(
            f"arm {arm.name!r}: {suite} has no train entities to distil from; "
            f"expected @{only}, @none or @file:PATH, got @{arm.bank}"
        )
    return replace(arm, bank=only)


def _usual_bank(player: str) -> str:
    """Names the bank of an arm that names none: no loop is played with a language model, nor with an agent that is trained."""
    if sb3_agent(player) is not None:
        return ARMS["skilled"].bank
    return "seeds" if names_model(player) else "loop"


def question_counts(preset: str, limit: int | None = None) -> dict[str, int]:
    """Returns how many questions are asked of each benchmark, at most.

    Args:
        preset: a name in `PRESETS`.
        limit: as many of each; None for the preset's number.

    Raises:
        ConfigError: there is no such preset.
    """
    scale = choose("preset", preset, PRESETS)
    return {name: _count(name, scale, limit) for name in BENCHMARKS}


def _count(benchmark: str, scale: Preset, limit: int | None) -> int:
    count = scale.bamboogle if benchmark == "bamboogle" else scale.questions
    return min(limit, count) if benchmark == "bamboogle" and limit else limit or count


def choose(what: str, name: str, table: Mapping[str, Any]) -> Any:
    """Looks a name up.

    Raises:
        ConfigError: there is no such name; the message says what exists.
    """
    if name not in table:
        raise ConfigError(f"unknown {what} {name!r}; choose from {', '.join(table)}")
    return table[name]


def differing_fields(old: Any, new: Any, path: str = "") -> list[str]:
    """Lists the fields in which two JSON values differ, as "path: old -> new"."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = sorted(old.keys() | new.keys())
        return [line for key in keys for line in differing_fields(old.get(key), new.get(key), f"{path}.{key}".lstrip("."))]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [line for place, (was, now) in pairs for line in differing_fields(was, now, f"{path}[{place}]")]
    return [] if old == new else [f"{path}: {old!r} -> {new!r}"]
