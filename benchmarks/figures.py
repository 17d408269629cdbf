"""The figures of a run: scores without and with the bank, and the differences with their paired intervals."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.render import format_cell
from benchmarks.scores import Comparison, Scores
from benchmarks.stats import Estimate
from benchmarks.suites import Suite
from benchmarks.tables import comparison_label
from sesa_env.errors import missing_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette: told apart by readers with any kind of colour vision, and in grey.
OFF, ON, GAIN, LOSS, NEUTRAL = "#8c8c8c", "#0072B2", "#009E73", "#D55E00", "#595959"
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "xtick.color": NEUTRAL,
    "axes.edgecolor": "#bfbfbf",
    "grid.color": "#e6e6e6",
    "figure.dpi": 150,
    "savefig.dpi": 150,
    # Element ids in the SVG come from this salt instead of from a random one.
    "svg.hashsalt": "sesa",
}


def save_figures(scores: Scores, comparisons: Sequence[Comparison], suite: Suite, directory: Path) -> list[str]:
    """Draws all figures as PNG and SVG.

    Args:
        scores: the run's scores.
        comparisons: as `tables.compare_sides` makes them.
        suite: names the benchmarks.
        directory: where to put them.

    Returns:
        The figures' names, without endings: of arms without an On mode nothing can be drawn that compares the two.

    Raises:
        ConfigError: matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise missing_extra("matplotlib", "bench") from error
    directory.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        within = [each for each in comparisons if each.before[0] == each.after[0]]
        if within:
            save_figure(_draw_off_on(scores, within, suite), directory / "off_on")
        if comparisons:
            save_figure(_draw_forest(comparisons, suite), directory / "differences")
    return [name for name, drawn in (("off_on", within), ("differences", comparisons)) if drawn]


def save_figure(figure: "Figure", path: Path) -> None:
    """Writes a figure as SVG and PNG, the same bytes for the same figure; `path` is without an ending."""
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None, "Creator": None})
    figure.savefig(path.with_suffix(".png"), metadata={"Software": None})


def _draw_off_on(scores: Scores, comparisons: Sequence[Comparison], suite: Suite) -> "Figure":
    """One panel an arm: a grey ring without the bank, a blue dot with it, a bar for the paired interval of the difference."""
    names = ["macro mean", *(suite.title(name) for name in scores.benchmarks)]
    figure, panels = _panels(len(comparisons), len(names), "Exact match without and with the skill bank")
    for axes, comparison in zip(panels, comparisons, strict=True):
        before = [
            scores.macro(comparison.before, "em"),
            *(scores.mean(comparison.before, name, "em") for name in scores.benchmarks),
        ]
        estimates = [comparison.macro, *comparison.benchmarks.values()]
        for row, (start, estimate) in enumerate(zip(before, estimates, strict=True)):
            _draw_dumbbell(axes, row, 100 * start, estimate)
        _finish(axes, names, comparison.before[0], "Exact match, percent")
        axes.set_xlim(-2, 102)
    handles, labels = panels[0].get_legend_handles_labels()
    order = [1, 2, 0]  # Off, On, interval: as they are read, not as they are stacked
    shown = [handles[place] for place in order], [labels[place] for place in order]
    figure.legend(*shown, loc="outside lower center", ncols=3, frameon=False, handletextpad=0.4)
    return figure


def _draw_dumbbell(axes: "Axes", row: int, start: float, estimate: Estimate) -> None:
    end = start + 100 * estimate.value
    label = row == 0
    axes.plot([start, end], [row, row], color="#bfbfbf", linewidth=2, zorder=1, solid_capstyle="butt")
    axes.plot(
        [start + 100 * estimate.low, start + 100 * estimate.high], [row, row], color=ON, alpha=0.35, linewidth=7, zorder=2,
        solid_capstyle="butt", label="Off plus the paired 95 % interval of the difference" if label else None,
    )  # fmt: skip
    axes.scatter(
        [start], [row], s=52, facecolor="white", edgecolor=OFF, linewidth=1.8, zorder=3, label="Off" if label else None
    )
    axes.scatter([end], [row], s=36, color=ON, zorder=4, label="On" if label else None)
    axes.text(1.02, row, describe(estimate), transform=axes.get_yaxis_transform(), va="center", fontsize=8.5, color=NEUTRAL)


def describe(estimate: Estimate) -> str:
    """Writes an estimate for a reader, in points: "+3.1 [+1.2, +5.0]"."""
    return f"{format_cell(estimate.value, 'points')} {format_cell((estimate.low, estimate.high), 'interval')}"


def _draw_forest(comparisons: Sequence[Comparison], suite: Suite) -> "Figure":
    """One panel a comparison: each benchmark's difference with its interval, green above zero, orange below, grey across it."""
    names = ["macro mean", *(suite.title(name) for name in comparisons[0].benchmarks)]
    figure, panels = _panels(len(comparisons), len(names), "Paired differences in exact match, with 95 % intervals")
    for axes, comparison in zip(panels, comparisons, strict=True):
        axes.axvline(0, color=NEUTRAL, linewidth=1, zorder=1)
        for row, estimate in enumerate([comparison.macro, *comparison.benchmarks.values()]):
            colour = GAIN if estimate.low > 0 else LOSS if estimate.high < 0 else NEUTRAL
            axes.plot([100 * estimate.low, 100 * estimate.high], [row, row], color=colour, linewidth=2, zorder=2)
            axes.scatter([100 * estimate.value], [row], s=44, color=colour, marker="D" if row == 0 else "o", zorder=3)
            axes.text(
                1.02, row, describe(estimate), transform=axes.get_yaxis_transform(), va="center", fontsize=8.5, color=NEUTRAL
            )
        _finish(axes, names, comparison_label(comparison), "Difference, points")
    return figure


def _panels(count: int, rows: int, title: str) -> tuple["Figure", list["Axes"]]:
    """Panels in two columns, wide enough for the intervals written at the right of each."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = min(2, count)
    lines = -(-count // columns)
    figure = Figure(
        figsize=(6.2 * columns + 0.6, (0.36 * rows + 1.3) * lines + 0.7), layout=ConstrainedLayoutEngine(w_pad=0.16, h_pad=0.12)
    )
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=13, fontweight="bold", x=0.01, ha="left")
    grid = figure.subplots(lines, columns, squeeze=False, sharex=True)
    panels = list(grid.flat)
    for unused in panels[count:]:
        unused.remove()
    return figure, panels[:count]


def _finish(axes: "Axes", names: Sequence[str], title: str, xlabel: str) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.get_yticklabels()[0].set_fontweight("bold")
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.axhline(0.5, color="#bfbfbf", linewidth=0.8)
    axes.tick_params(length=0)
    axes.tick_params(labelbottom=True)
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.set_title(title)
    axes.set_xlabel(xlabel, color=NEUTRAL)
