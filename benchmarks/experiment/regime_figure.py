"""The regime map as heat maps, with the model's prediction drawn over them, and as a table."""

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.experiment.regime import AFTER, BEFORE, OFF, Cell, Model, predict, regime_map
from benchmarks.experiment.results import Results
from benchmarks.figures import NEUTRAL
from benchmarks.render import Column, Row, Table, format_cell
from benchmarks.scores import Side

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

_NAMES = {BEFORE[0]: "shaping alone", BEFORE[1]: "SSP"}
_LEVELS = (-20, -10, -5, -2, 2, 5, 10, 20)
"""Points at which a line of the model is drawn."""


def regime_figure(results: Results) -> "Figure | None":
    """Draws SESA's gain, Off and On, over shaping alone and SSP, by tail and updates; None without two lengths of the tail.

    Numbers are pale where their 95 % interval holds zero. Lines are where the fitted model predicts so much over shaping alone;
    a note below says how far the model is off.
    """
    from matplotlib.figure import Figure

    found = regime_map(results)
    if found is None:
        return None
    cells, model = found.cells, found.model
    figure = Figure(figsize=(10.5, 8.2), layout="constrained")
    figure.suptitle("Where a skill memory pays: SESA's gain in points", x=0.01, ha="left", fontweight="bold", fontsize=12)
    largest = max(abs(100 * gain.value) for cell in cells for gain in cell.gains.values())
    for row, before in enumerate(BEFORE):
        for column, after in enumerate(AFTER):
            axes = figure.add_subplot(2, 2, 2 * row + column + 1)
            image = _heat(axes, cells, (before, after), largest)
            axes.set_title(f"{'the weights alone' if after == OFF else 'with the bank'}, over {_NAMES[before]}")
            if model is not None:
                _predicted(axes, cells, model, after)
    figure.colorbar(image, ax=figure.axes, label="points of exact match, macro mean", shrink=0.6)
    if found.errors is not None:
        figure.supxlabel(fill(found.errors.sentence(), 130), x=0.01, ha="left", fontsize=8, color=NEUTRAL)
    return figure


def _heat(axes: "Axes", cells: Sequence[Cell], sides: tuple[Side, Side], largest: float) -> "AxesImage":
    tails, stages = sorted({cell.tail for cell in cells}), sorted({cell.updates for cell in cells})
    grid = np.full((len(tails), len(stages)), np.nan)
    for cell in cells:
        grid[tails.index(cell.tail), stages.index(cell.updates)] = 100 * cell.gains[sides].value
    image = axes.imshow(grid, origin="lower", cmap="RdBu", vmin=-largest, vmax=largest, aspect="auto")
    for cell in cells:
        estimate = cell.gains[sides]
        sure = estimate.low > 0 or estimate.high < 0
        dark = abs(100 * estimate.value) > 0.6 * largest
        axes.text(
            stages.index(cell.updates),
            tails.index(cell.tail),
            f"{format_cell(estimate.value, 'points')}\n{format_cell((estimate.low, estimate.high), 'interval')}",
            ha="center",
            va="center",
            fontsize=8,
            zorder=4,  # over the model's lines
            color="white" if dark else "black",
            alpha=1.0 if sure else 0.65,
            fontweight="bold" if sure else "normal",
        )
    axes.set_xticks(range(len(stages)), [str(stage) for stage in stages])
    axes.set_yticks(range(len(tails)), [str(tail) for tail in tails])
    axes.set_xlabel("updates", color=NEUTRAL)
    axes.set_ylabel("relations of the tail", color=NEUTRAL)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


def _predicted(axes: "Axes", cells: Sequence[Cell], model: Model, after: Side) -> None:
    """Draws lines of equal predicted gain; places between cells are interpolated in logarithms."""
    tails, stages = sorted({cell.tail for cell in cells}), sorted({cell.updates for cell in cells})
    starts = [next(cell.start for cell in cells if cell.tail == tail) for tail in tails]
    x, y = np.linspace(0, len(stages) - 1, 40), np.linspace(0, len(tails) - 1, 40)
    updates = np.exp(np.interp(x, range(len(stages)), np.log(stages)))
    lengths = np.exp(np.interp(y, range(len(tails)), np.log(tails)))
    start = np.interp(y, range(len(tails)), starts)
    surface = np.array(
        [[100 * predict(round(length), made, begun, model).gain(after) for made in updates]
         for length, begun in zip(lengths, start, strict=True)]
    )  # fmt: skip
    levels = [level for level in _LEVELS if surface.min() < level < surface.max()]
    if levels:
        lines = axes.contour(x, y, surface, levels=levels, colors="#404040", linewidths=1, linestyles="dashed")
        axes.clabel(lines, fmt="%+g", fontsize=8)


def regime_table(results: Results) -> Table | None:
    """Lists the map's cells with their intervals and what the fitted model says; None without two lengths of the tail."""
    found = regime_map(results)
    if found is None:
        return None
    cells, model = found.cells, found.model
    columns = [Column("tail", "Tail", "count"), Column("updates", "Updates", "count")]
    for before in BEFORE:
        for after in AFTER:
            name = f"{before[0]}-{after[1]}"
            columns += [
                Column(name, f"{after[1].capitalize()} over {before[0]}", "points"),
                Column(f"{name}-interval", "95 % interval", "interval"),
            ]
            if model is not None and before == BEFORE[0]:
                columns.append(Column(f"{name}-model", "Model", "points"))
    rows: list[Row] = []
    for cell in cells:
        row: dict[str, Any] = {"tail": cell.tail, "updates": cell.updates}
        for (before, after), estimate in cell.gains.items():
            name = f"{before[0]}-{after[1]}"
            row |= {name: estimate.value, f"{name}-interval": [estimate.low, estimate.high]}
        if model is not None:
            predicted = predict(cell.tail, cell.updates, cell.start, model)
            row |= {f"{BEFORE[0][0]}-{after[1]}-model": predicted.gain(after) for after in AFTER}
        rows.append(row)
    notes = ["Paired by world and question; intervals are not corrected for their number."]
    if model is not None and found.errors is not None:
        notes.append(
            "Model (benchmarks.experiment.regime), fitted to the accuracies: a rollout finds an unknown relation's words with "
            f"chance {model.explore:.4f}, and {model.successes} such finds teach the weights; {model.cards:.3f} of the "
            f"questions end in a card; {model.answered:.2f} of those about a known relation are answered. Root mean square "
            f"error {100 * model.error:.1f} points. {found.errors.sentence()}"
        )
    return Table(
        "regime", "The regime map: SESA's gain by the world's tail and the budget", tuple(columns), (tuple(rows),), tuple(notes)
    )
