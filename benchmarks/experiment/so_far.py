"""The finished part of an experiment under way, so that it can be looked at before all of it is done."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks.experiment.cells import is_finished
from benchmarks.experiment.coupling import branches_of, is_branched
from benchmarks.experiment.design import MAIN, Experiment, Study, same_training
from benchmarks.experiment.matched import is_matched, matches
from benchmarks.experiment.outcome import write_outcome
from benchmarks.experiment.run import check_budgets, require_experiment
from benchmarks.render import Table
from sesa_env.errors import ConfigError


def report_so_far(experiment: Experiment, root: Path) -> list[Table]:
    """Reports on what is finished; no claim is judged before all is.

    Args:
        experiment: the whole.
        root: its directory; a run may be at work in it.

    Returns:
        The tables, as `write_outcome`.

    Raises:
        ConfigError: the directory holds no such experiment, or too little of it.
    """
    require_experiment(root, experiment)
    part, source = finished_part(experiment, root), same_training(experiment.cells())
    for study in part.studies:
        check_budgets(study, experiment.training, root, source)
    return write_outcome(part, root, None if part == experiment else experiment)


def finished_part(experiment: Experiment, root: Path) -> Experiment:
    """Takes out of an experiment what is finished of it: of each study whole worlds of the same arms.

    Arms and worlds are chosen together: for each number of worlds, from the first on, the arms that are finished in all of
    them; of those choices the one with most trainings, and of equal ones that with more worlds.

    Args:
        experiment: the whole.
        root: its directory.

    Returns:
        The part; the whole if all is finished.

    Raises:
        ConfigError: no two arms of the main study are finished in its first world.
    """
    source = same_training(experiment.cells())
    found = [_part(study, experiment.training, source, lambda cell: is_finished(root, cell)) for study in experiment.studies]
    studies = tuple(
        replace(study, matched=_matched(study, experiment.training, source, root))
        for study in found
        if len(study.arms) > 1 and study.seeds
    )
    if not any(study.name == MAIN for study in studies):
        raise ConfigError(
            f"{root}: expected at least two arms of the main study that are finished in its first world; go on with --resume"
        )
    coupled = all(is_branched(root, one) for one in branches_of(experiment, source))
    return replace(experiment, studies=studies, coupling=experiment.coupling if coupled else None)


def _part(study: Study, training: str, source: Mapping[str, str], done: Callable[[str], bool]) -> Study:
    ids = {(cell.arm, cell.seed): source[cell.id] for cell in study.cells(training)}
    choices = []
    for worlds in range(1, len(study.seeds) + 1):
        seeds = study.seeds[:worlds]
        arms = tuple(arm for arm in study.arms if all(done(ids[arm, seed]) for seed in seeds))
        choices.append(replace(study, seeds=seeds, arms=arms))
    return max(choices, key=lambda part: (len(part.arms) * len(part.seeds), len(part.seeds)))


def _matched(study: Study, training: str, source: Mapping[str, str], root: Path) -> dict[str, tuple[str, str]]:
    """Keeps the arms at another's tokens whose two arms are there and which have been gone on with in all worlds."""
    here = {name: pair for name, pair in study.matched.items() if set(pair) <= set(study.arms)}
    missing = {one.arm for one in matches(replace(study, matched=here), training, source) if not is_matched(root, one)}
    return {name: pair for name, pair in here.items() if name not in missing}
