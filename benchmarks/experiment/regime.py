"""The regime map: where a skill memory pays, by the world's procedural tail and the budget, and a small model of why.

The model. A world asks about relation r with probability w_r; its first relations, the core, are those that the start policy
was taught, the rest is the tail. After N questions of G rollouts each, exploration has found on average N w_r G e right answers
about a relation of the tail, where e is the chance that one rollout finds the right words unaided; the weights know r once k of
them were found, which has the chance of a Poisson variable of that mean being k or more. The bank knows r once one question
about it was failed: 1 - exp(-N w_r f), f being the share of questions that end in a card. From then on a share d of SESA's
rollouts is shown the card, and what succeeds with a card teaches the weights nothing about doing without: SESA's weights have
fewer unaided rollouts to learn from than those of shaping alone. Off answers what the weights know, On what either knows, both
in proportion a. Of the core a share s is answered from the start, and with that chance each rollout adds to the k.

So memory pays where relations are many and questions few: N w_r large enough for one failure, too small for k successes. And it
costs the weights something, most where the bank came early. Three numbers (e, f, a) are fitted to the whole map; k is taken
from a short list; s is the start policy's score; d, N, G and w are the design's.

A fit to the map that it is drawn over says little, so each length of the tail is also left out in turn and predicted from the
others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.experiment.design import Study, training_config
from benchmarks.experiment.results import Results
from benchmarks.scores import Side
from benchmarks.stats import Estimate
from sesa_env.corpus.miniwiki import CORE_RELATIONS

Floats = NDArray[np.float64]

ALONE, SSP, OFF, ON = ("shaping-only", "off"), ("ssp", "off"), ("sesa", "off"), ("sesa", "on")
BEFORE: tuple[Side, ...] = (ALONE, SSP)
"""What SESA is compared with. To the model they are one: both explore without cards."""
AFTER: tuple[Side, ...] = (OFF, ON)
"""What is compared with it."""
_START: Side = ("base", "off")
_SUCCESSES = (1, 2, 3, 5, 8, 12)


@dataclass(frozen=True)
class Cell:
    """One place of the map.

    Attributes:
        tail: relations of its worlds beyond the core.
        updates: of the training.
        gains: by (before, after) the paired difference.
        start: the start policy's accuracy, in [0, 1]; NaN where it was not measured.
        alone: of shaping alone.
        off: of SESA without its bank.
        on: with it.
    """

    tail: int
    updates: int
    gains: Mapping[tuple[Side, Side], Estimate]
    start: float
    alone: float
    off: float
    on: float


@dataclass(frozen=True)
class Design:
    """What the model takes from the experiment.

    Attributes:
        per_update: questions of an update.
        group: G, rollouts a question.
        zipf: how unevenly the worlds ask about their relations.
        shown: d, the share of rollouts that are shown a card where there is one.
    """

    per_update: int
    group: int
    zipf: float
    shown: float


@dataclass(frozen=True)
class Model:
    """The fitted model.

    Attributes:
        explore: e, the chance of a rollout to find an unknown relation's words.
        cards: f, the share of questions that end in a card.
        answered: a, the share of questions about a known relation that are answered.
        successes: k.
        design: what was not fitted.
        error: root mean square of the residuals, in accuracy.
    """

    explore: float
    cards: float
    answered: float
    successes: int
    design: Design
    error: float


@dataclass(frozen=True)
class Predicted:
    """Accuracies by the model, in [0, 1]: of shaping alone, and of SESA without and with its bank."""

    alone: float
    off: float
    on: float

    def gain(self, after: Side) -> float:
        """What SESA has over shaping alone, Off or On."""
        return (self.on if after == ON else self.off) - self.alone


@dataclass(frozen=True)
class Errors:
    """Mean absolute errors of SESA's gains over shaping alone, Off and On, in accuracy.

    Attributes:
        fitted: of the model, on the map that it was fitted to.
        left_out: of the model on each length of the tail, fitted to the other lengths alone.
        mean: of the mean gain of the other lengths after as many updates, Off or On, in the model's place.
    """

    fitted: float
    left_out: float
    mean: float

    def sentence(self) -> str:
        """Tells them to a reader, in points."""
        fitted, left_out, mean = (f"{100 * error:.1f}" for error in (self.fitted, self.left_out, self.mean))
        return (
            f"Of SESA's gains over shaping alone the model misses on average {fitted} points on the map that it was fitted to, "
            f"and {left_out} on a length of the tail that was left out of its fit, where the mean gain of the other lengths "
            f"after as many updates misses {mean}."
        )


@dataclass(frozen=True)
class RegimeMap:
    """The map and what the model says of it; `model` and `errors` are None where the start policy was not measured."""

    cells: tuple[Cell, ...]
    model: Model | None
    errors: Errors | None


@lru_cache(maxsize=1)  # a table, a figure and a page ask for it, and the fits take seconds
def regime_map(results: Results) -> RegimeMap | None:
    """Measures the map and fits the model to it; None without two lengths of the tail."""
    cells = tuple(_cells(results))
    if len({cell.tail for cell in cells}) < 2:
        return None
    design = design_of(results)
    model = fit(cells, design)
    return RegimeMap(cells, model, None if model is None else errors_of(cells, model))


def _tails(results: Results) -> list[Study]:
    return [study for study in results.experiment.studies if study.name.startswith("tail-")]


def _cells(results: Results) -> Iterator[Cell]:
    """Measures one cell for each length of the tail and stage of the studies named "tail-..."."""
    for study in _tails(results):
        config = training_config(next(study.cells(results.experiment.training)))
        tail = int(config.world_options["relations"]) - CORE_RELATIONS
        last = results.scores(study)
        start = last.macro(_START, "em") if _START in last.sides else float("nan")
        for stage in study.stages:
            scores = results.scores(study, stage)
            gains = {(one, two): scores.compare(one, two).macro for one in BEFORE for two in AFTER}
            yield Cell(tail, stage, gains, start, *(scores.macro(side, "em") for side in (ALONE, OFF, ON)))


def design_of(results: Results) -> Design:
    """Reads off an experiment what the model needs of it; the studies of the map agree in that."""
    config = training_config(next(_tails(results)[0].cells(results.experiment.training)))
    return Design(
        config.questions.per_update, config.rules.group_size, config.world_options["zipf"], 1 - config.skills.card_dropout
    )


def popularity(relations: int, zipf: float) -> Floats:
    """The share of questions about each relation, most popular first; shape (relations,)."""
    weights = np.arange(1, relations + 1, dtype=float) ** -zipf
    return np.asarray(weights / weights.sum())


def predict(tail: int, updates: float, start: float, model: Model) -> Predicted:
    """What the model says.

    Args:
        tail: relations of the world beyond the core.
        updates: made in training.
        start: the start policy's accuracy, in [0, 1].
        model: its numbers.
    """
    design = model.design
    popular = popularity(CORE_RELATIONS + tail, design.zipf)
    core, far = popular[:CORE_RELATIONS], popular[CORE_RELATIONS:]
    rollouts = updates * design.per_update * design.group
    known = min(start / core.sum(), model.answered)
    familiar = core @ (known + (model.answered - known) * _at_least(model.successes, rollouts * core * known))
    failures = updates * design.per_update * far * model.cards
    bank = -np.expm1(-failures)
    # The bank's share averaged over training: for so much of it a relation's rollouts could be shown its card.
    aided = design.shown * (1 - bank / np.maximum(failures, 1e-12))
    alone, off = (_at_least(model.successes, rollouts * far * model.explore * share) for share in (1.0, 1 - aided))
    told = (alone, off, 1 - (1 - off) * (1 - bank))
    return Predicted(*(float(familiar + model.answered * (far @ each)) for each in told))


def _at_least(successes: int, means: Floats) -> Floats:
    from scipy.special import pdtrc

    return np.asarray(pdtrc(successes - 1, means))


def fit(cells: Sequence[Cell], design: Design) -> Model | None:
    """Fits the model to the accuracies of the map, by least squares from several beginnings.

    Args:
        cells: the map.
        design: of the experiment.

    Returns:
        The best fit; None where the start policy's accuracy is not known.
    """
    from scipy.optimize import least_squares

    if not all(np.isfinite(cell.start) for cell in cells):
        return None
    measured = np.array([[cell.alone, cell.off, cell.on] for cell in cells])

    def residuals(numbers: Floats, successes: int) -> Floats:
        model = Model(*_shares(numbers), successes, design, 0.0)
        predicted = [predict(cell.tail, cell.updates, cell.start, model) for cell in cells]
        return np.asarray((np.array([[one.alone, one.off, one.on] for one in predicted]) - measured).ravel())

    best: Model | None = None
    for successes in _SUCCESSES:
        for begin in ((-4.0, -3.0, 0.0), (-6.0, -5.0, 0.0), (-2.0, -1.0, -1.0)):
            found = least_squares(residuals, begin, args=(successes,))
            error = float(np.sqrt(np.mean(found.fun**2)))
            if best is None or error < best.error:
                best = Model(*_shares(found.x), successes, design, error)
    return best


def _shares(numbers: Floats) -> tuple[float, float, float]:
    """Three numbers of any size as explore, cards and answered, each in (0, 1)."""
    explore, cards, answered = (float(number) for number in 1 / (1 + np.exp(-numbers)))
    return explore, cards, answered


def errors_of(cells: Sequence[Cell], model: Model) -> Errors:
    """Measures how far the model is off, on what it was fitted to and on lengths of the tail that it was not.

    Args:
        cells: the map, of two lengths of the tail or more, all after the same numbers of updates.
        model: fitted to all of it.
    """
    within, without, by_mean = [], [], []
    for tail in sorted({cell.tail for cell in cells}):
        held, others = [cell for cell in cells if cell.tail == tail], [cell for cell in cells if cell.tail != tail]
        refitted = fit(others, model.design)
        assert refitted is not None  # there is a fit to the whole
        measured = _gains(held)
        within.append(measured - _predicted_gains(held, model))
        without.append(measured - _predicted_gains(held, refitted))
        alike = [_gains([cell for cell in others if cell.updates == one.updates]).mean(axis=0) for one in held]
        by_mean.append(measured - np.array(alike))
    return Errors(*(float(np.abs(np.concatenate(each)).mean()) for each in (within, without, by_mean)))


def _gains(cells: Sequence[Cell]) -> Floats:
    """What SESA has over shaping alone, Off and On; shape (cells, 2)."""
    return np.array([[cell.off - cell.alone, cell.on - cell.alone] for cell in cells])


def _predicted_gains(cells: Sequence[Cell], model: Model) -> Floats:
    predicted = [predict(cell.tail, cell.updates, cell.start, model) for cell in cells]
    return np.array([[one.gain(OFF), one.gain(ON)] for one in predicted])
