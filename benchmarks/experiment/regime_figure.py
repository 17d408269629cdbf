"""The regime map as two heat maps, with the model's prediction drawn over them, and as a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.experiment.design import training_config
from benchmarks.experiment.regime import BEFORE, Cell, Model, fit, predict, regime_cells
from benchmarks.experiment.results import Results
from benchmarks.figures import NEUTRAL
from benchmarks.render import Column, Row, Table, format_cell
from benchmarks.scores import Side

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

_PANELS: tuple[tuple[Side, str], ...] = (
    (("sesa", "off"), "Off: what the weights gained"),
    (("sesa", "on"), "On: with the bank"),
)
_LEVELS = (2, 5, 10, 20, 30)


def regime_figure(results: Results) -> "Figure | None":
    """Draws the gain of SESA over shaping alone, Off and On, by relations and updates; None without at least two world sizes.

    Numbers are grey where their 95 % interval holds zero. Lines are where the fitted model predicts the bank to add so much.
    """
    from matplotlib.figure import Figure

    cells = regime_cells(results)
    if len({cell.relations for cell in cells}) < 2:
        return None
    figure = Figure(figsize=(10.5, 4.4), layout="constrained")
    figure.suptitle("Where a skill memory pays: points over shaping alone", x=0.01, ha="left", fontweight="bold", fontsize=12)
    largest = max(abs(100 * cell.gains[BEFORE[0], side].value) for cell in cells for side, _ in _PANELS)
    model = fit(cells, results) if all(np.isfinite(cell.start) for cell in cells) else None
    for place, (side, title) in enumerate(_PANELS):
        axes = figure.add_subplot(1, 2, place + 1)
        image = _heat(axes, cells, side, largest)
        axes.set_title(title)
        if model is not None:
            _predicted(axes, cells, results, model, side[1])
    figure.colorbar(image, ax=figure.axes, label="points of exact match, macro mean", shrink=0.85)
    return figure


def _heat(axes: "Axes", cells: Sequence[Cell], side: Side, largest: float) -> "AxesImage":
    sizes, stages = sorted({cell.relations for cell in cells}), sorted({cell.updates for cell in cells})
    grid = np.full((len(sizes), len(stages)), np.nan)
    for cell in cells:
        grid[sizes.index(cell.relations), stages.index(cell.updates)] = 100 * cell.gains[BEFORE[0], side].value
    image = axes.imshow(grid, origin="lower", cmap="RdBu", vmin=-largest, vmax=largest, aspect="auto")
    for cell in cells:
        estimate = cell.gains[BEFORE[0], side]
        sure = estimate.low > 0 or estimate.high < 0
        axes.text(
            stages.index(cell.updates), sizes.index(cell.relations),
            f"{format_cell(estimate.value, 'points')}\n{format_cell((estimate.low, estimate.high), 'interval')}",
            ha="center", va="center", fontsize=8, color="black" if sure else "#8c8c8c", fontweight="bold" if sure else "normal",
        )  # fmt: skip
    axes.set_xticks(range(len(stages)), [str(stage) for stage in stages])
    axes.set_yticks(range(len(sizes)), [str(size) for size in sizes])
    axes.set_xlabel("updates", color=NEUTRAL)
    axes.set_ylabel("relations of the world", color=NEUTRAL)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


def _predicted(axes: "Axes", cells: Sequence[Cell], results: Results, model: Model, mode: str) -> None:
    """Draws lines of equal predicted gain from the bank; places between cells are interpolated in logarithms."""
    sizes, stages = sorted({cell.relations for cell in cells}), sorted({cell.updates for cell in cells})
    study = next(study for study in results.experiment.studies if study.name.startswith("tail-"))
    config = training_config(next(study.cells(results.experiment.training)))
    x, y = np.linspace(0, len(stages) - 1, 40), np.linspace(0, len(sizes) - 1, 40)
    updates = np.exp(np.interp(x, range(len(stages)), np.log(stages)))
    relations = np.exp(np.interp(y, range(len(sizes)), np.log(sizes)))
    surface = np.zeros((len(y), len(x)))
    for row, size in enumerate(relations):
        for column, made in enumerate(updates):
            questions = round(made * config.questions.per_update)
            off, on = predict(round(size), questions, config.rules.group_size, model)
            surface[row, column] = 100 * ((on if mode == "on" else off) - off)
    if surface.max() > _LEVELS[0]:
        lines = axes.contour(x, y, surface, levels=_LEVELS, colors="#404040", linewidths=1, linestyles="dashed")
        axes.clabel(lines, fmt="%g", fontsize=8)


def regime_table(results: Results) -> Table | None:
    """Lists the map's cells with their intervals, and the fitted model; None without at least two world sizes."""
    cells = regime_cells(results)
    if len({cell.relations for cell in cells}) < 2:
        return None
    columns = [Column("relations", "Relations", "count"), Column("updates", "Updates", "count")]
    for before in BEFORE:
        for mode in ("off", "on"):
            name = f"{before[0]}-{mode}"
            columns += [
                Column(name, f"{mode.capitalize()} over {before[0]}", "points"),
                Column(f"{name}-interval", "95 % interval", "interval"),
            ]
    rows: list[Row] = []
    for cell in cells:
        row: dict[str, Any] = {"relations": cell.relations, "updates": cell.updates}
        for (before, after), estimate in cell.gains.items():
            row |= {
                f"{before[0]}-{after[1]}": estimate.value,
                f"{before[0]}-{after[1]}-interval": [estimate.low, estimate.high],
            }
        rows.append(row)
    notes = ["Paired by world and question; intervals are not corrected for their number."]
    if all(np.isfinite(cell.start) for cell in cells):
        model = fit(cells, results)
        notes.append(
            "Model (benchmarks.experiment.regime), fitted to the gains over the start policy: a rollout finds an unknown "
            f"relation's words with chance {model.explore:.4f}, and {model.successes} such finds teach the weights; "
            f"{model.cards:.3f} of the questions end in a card; {model.answered:.2f} of those about a known relation are "
            f"answered. Root mean square error {100 * model.error:.1f} points."
        )
    return Table(
        "regime", "The regime map: SESA's gain by the world's tail and the budget", tuple(columns), (tuple(rows),), tuple(notes)
    )
