"""The regime map: where a skill memory pays, by the world's procedural tail and the budget, and a small model of why.

The model. A world asks about relation r with probability w_r. After N questions of G rollouts each, exploration has found on
average N w_r G e right answers about r, where e is the chance that one rollout finds the right words unaided; the weights know
r once k of them were found, which has the chance of a Poisson variable of that mean being k or more. The bank knows r once one
question about it was failed: 1 - exp(-N w_r f), f being the share of questions that end in a card. Off answers what the weights
know, On what either knows, both in proportion a. So memory pays where relations are many and questions few: N w_r large enough
for one failure, too small for k successes. Three numbers (e, f, a) are fitted to the whole map; k is taken from a short list.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.experiment.design import Study, training_config
from benchmarks.experiment.results import Results
from benchmarks.scores import Side
from benchmarks.stats import Estimate

Floats = NDArray[np.float64]

BEFORE: tuple[Side, ...] = (("shaping-only", "off"), ("ssp", "off"))
"""What SESA is compared with."""
_AFTER: tuple[Side, ...] = (("sesa", "off"), ("sesa", "on"))
_SUCCESSES = (1, 2, 3, 5, 8, 12)


@dataclass(frozen=True)
class Cell:
    """One place of the map.

    Attributes:
        relations: of the world.
        updates: of the training.
        gains: by (before, after) the paired difference.
        off: SESA's accuracy without its bank, in [0, 1].
        on: with it.
        start: the start policy's.
    """

    relations: int
    updates: int
    gains: dict[tuple[Side, Side], Estimate]
    off: float
    on: float
    start: float


@dataclass(frozen=True)
class Model:
    """The fitted model.

    Attributes:
        explore: e, the chance of a rollout to find an unknown relation's words.
        cards: f, the share of questions that end in a card.
        answered: a, the share of questions about a known relation that are answered.
        successes: k.
        zipf: how unevenly the worlds ask about their relations.
        error: root mean square of the residuals, in points of accuracy over 100.
    """

    explore: float
    cards: float
    answered: float
    successes: int
    zipf: float
    error: float


def regime_cells(results: Results) -> list[Cell]:
    """Measures the map: one cell for each world size and stage of the studies named "tail-..."."""
    return list(_cells(results))


def _cells(results: Results) -> Iterator[Cell]:
    for study in results.experiment.studies:
        if study.name.startswith("tail-"):
            for stage in study.stages:
                scores, last = results.scores(study, stage), results.scores(study)
                gains = {(one, two): scores.compare(one, two).macro for one in BEFORE for two in _AFTER}
                off, on = (scores.macro(side, "em") for side in _AFTER)
                start = last.macro(("base", "off"), "em") if ("base", "off") in last.sides else float("nan")
                yield Cell(relations_of(results, study), stage, gains, off, on, start)


def relations_of(results: Results, study: Study) -> int:
    """Returns how many relations the worlds of a study have."""
    cell = next(study.cells(results.experiment.training))
    return int(cell.config["world_options"]["relations"])


def popularity(relations: int, zipf: float) -> Floats:
    """The share of questions about each relation, most popular first; shape (relations,)."""
    weights = np.arange(1, relations + 1, dtype=float) ** -zipf
    return np.asarray(weights / weights.sum())


def predict(relations: int, questions: int, group: int, model: Model) -> tuple[float, float]:
    """What the model says is gained over a policy that knows no relation.

    Args:
        relations: of the world.
        questions: played in training.
        group: G, rollouts a question.
        model: its numbers.

    Returns:
        Off's and On's accuracy above the start policy, in [0, 1].
    """
    popular = popularity(relations, model.zipf)
    asked = questions * popular
    weights = _at_least(model.successes, asked * group * model.explore)
    bank = 1 - np.exp(-asked * model.cards)
    shares = popular * model.answered
    return float(shares @ weights), float(shares @ (1 - (1 - weights) * (1 - bank)))


def _at_least(successes: int, means: Floats) -> Floats:
    from scipy.stats import poisson

    return np.asarray(poisson.sf(successes - 1, means))


def fit(cells: Sequence[Cell], results: Results) -> Model:
    """Fits the model to the measured gains over the start policy, by least squares from several beginnings.

    Args:
        cells: the map.
        results: says what was played at each stage.
    """
    from scipy.optimize import least_squares

    study = next(study for study in results.experiment.studies if study.name.startswith("tail-"))
    config = training_config(next(study.cells(results.experiment.training)))
    per_update, group, zipf = config.questions.per_update, config.rules.group_size, config.world_options["zipf"]
    measured = np.array([[cell.off - cell.start, cell.on - cell.start] for cell in cells])

    def residuals(numbers: Floats, successes: int) -> Floats:
        explore, cards, answered = 1 / (1 + np.exp(-numbers))  # each in (0, 1)
        model = Model(explore, cards, answered, successes, zipf, 0.0)
        predicted = [predict(cell.relations, cell.updates * per_update, group, model) for cell in cells]
        return np.asarray((np.array(predicted) - measured).ravel())

    best: Model | None = None
    for successes in _SUCCESSES:
        for begin in ((-4.0, -3.0, 0.0), (-6.0, -5.0, 0.0), (-2.0, -1.0, -1.0)):
            found = least_squares(residuals, begin, args=(successes,))
            error = float(np.sqrt(np.mean(found.fun**2)))
            if best is None or error < best.error:
                explore, cards, answered = (float(number) for number in 1 / (1 + np.exp(-found.x)))
                best = Model(explore, cards, answered, successes, zipf, error)
    assert best is not None
    return best
