"""The figures of an experiment: how the arms learnt, what the Challenger posed, what became of the cards."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.experiment.asked import Key, key_of
from benchmarks.experiment.design import MAIN, Study
from benchmarks.experiment.flips import Turned, flips
from benchmarks.experiment.regime_figure import regime_figure
from benchmarks.experiment.results import Results
from benchmarks.experiment.stages import by_stage
from benchmarks.experiment.tables import cost_of_a_point
from benchmarks.figures import NEUTRAL, OFF, ON, STYLE, save_figure
from benchmarks.records import Record
from benchmarks.render import format_cell
from benchmarks.stats import Differences, Estimate, interval
from benchmarks.trained import BASE
from sesa_env.errors import missing_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

# Okabe and Ito's palette again, an arm always in its own colour.
COLOURS: Mapping[str, str] = {
    "base": "#8c8c8c", "ssp": "#D55E00", "shaping-only": "#E69F00", "sesa": "#0072B2", "sesa-no-distillation": "#56B4E9",
    "sesa-no-shaping": "#CC79A7", "sesa-no-priming": "#009E73", "sesa-carryover": "#000000", "skillrl": "#7B5EA7",
    "oracle": "#595959", "leak": "#A0522D",
}  # fmt: skip
_WINDOW = 10  # updates that a curve of training is averaged over
_PIECES = 16  # that a noisy training is told in
_PARTS = 8  # of the questions, by likeness
_FEWEST = 10  # questions that anything is told of


def draw_figures(results: Results, directory: Path) -> dict[str, str]:
    """Draws all figures that an experiment has the data for, as PNG and SVG.

    Args:
        results: the experiment's.
        directory: where they go.

    Returns:
        For each figure's name its caption.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise missing_extra("matplotlib", "bench") from error
    directory.mkdir(parents=True, exist_ok=True)
    main, drawn = results.experiment.study(MAIN), dict[str, str]()
    with matplotlib.rc_context(STYLE):
        for name, (draw, caption) in _FIGURES.items():
            figure = draw(results, main)
            if figure is not None:
                save_figure(figure, directory / name)
                drawn[name] = caption
    return drawn


# ---- what was learnt ------------------------------------------------------------------------------------------------


def _curves(results: Results, study: Study) -> "Figure":
    """Exact match on held-out questions by stage: a panel an arm, Off and On with whiskers over the seeds, SSP behind each."""
    arms = [arm for arm in study.arms if arm != BASE]
    columns = min(len(arms), max(3, math.isqrt(len(arms) - 1) + 1))
    figure, panels = _axes(len(arms), "Held-out questions while the arms learn", columns)
    reference = by_stage(results, study, "ssp", "off") if "ssp" in arms else None
    beside = 0.012 * study.stages[-1]  # whiskers of one stage stand side by side
    for axes, arm in zip(panels, arms, strict=True):
        ends = []
        if reference is not None and arm != "ssp":
            stages, scores = reference[0], 100 * reference[1].mean(axis=0)
            axes.plot(stages, scores, color=OFF, linewidth=1.5, linestyle="dotted", zorder=1)
            ends.append(("SSP", scores[-1], NEUTRAL))
        for mode, place in (("off", -beside), ("on", beside)):
            points = by_stage(results, study, arm, mode)
            if points is not None:
                _whiskers(axes, points[0] + place, 100 * points[1], COLOURS.get(arm, NEUTRAL), mode)
                ends.append((mode.capitalize(), 100 * points[1][:, -1].mean(), COLOURS.get(arm, NEUTRAL)))
        axes.set_title(arm)
        axes.set_xlabel("updates", color=NEUTRAL)
        axes.set_xticks([0, *study.stages])
        axes.set_xlim(-3 * beside, study.stages[-1] * 1.3)  # room for the labels
        _at_the_end(axes, study.stages[-1] * 1.04, ends)
    top = max(panel.get_ylim()[1] for panel in panels)
    for panel in panels:
        panel.set_ylim(0, top)
    figure.supylabel("exact match, macro mean, percent", fontsize=10)
    _named(figure)
    return figure


_LINES: Mapping[str, dict[str, Any]] = {
    "off": {"linestyle": "dashed", "marker": "o", "markerfacecolor": "white"},
    "on": {"linestyle": "solid", "marker": "o"},
}


def _named(figure: "Figure") -> None:
    """The legend of the learning curves: what the lines are, whatever the arm's colour."""
    from matplotlib.lines import Line2D

    lines = {
        "Off: the weights alone": _LINES["off"],
        "On: with the bank": _LINES["on"],
        "SSP's mean": {"linestyle": "dotted"},
    }
    handles = [Line2D([], [], color=NEUTRAL, **style) for style in lines.values()]
    figure.legend(handles, list(lines), loc="outside lower center", ncols=len(lines), frameon=False, fontsize=9)


def _whiskers(axes: "Axes", x: Floats, values: Floats, colour: str, mode: str) -> None:
    """A line through the means, at each a whisker from the lowest seed to the highest."""
    mean = values.mean(axis=0)
    spread = (mean - values.min(axis=0), values.max(axis=0) - mean)
    axes.errorbar(x, mean, yerr=spread, color=colour, linewidth=1.8, elinewidth=1.2, markersize=5, **_LINES[mode])


def _at_the_end(axes: "Axes", x: float, ends: Sequence[tuple[str, float, str]]) -> None:
    """Names lines at their ends, with their last values; names that would overlap are pushed apart."""
    top = axes.get_ylim()[1]
    ordered = sorted(ends, key=lambda end: end[1])
    for (name, value, colour), y in zip(ordered, apart([end[1] for end in ordered], 0.08 * top), strict=True):
        axes.text(x, y, f"{name} {value:.1f}", color=colour, fontsize=8.5, va="center")


def apart(values: Sequence[float], gap: float) -> list[float]:
    """Moves ascending values as little as it takes, one after the other, for each to be a gap above the one before."""
    lifted: list[float] = []
    for value in values:
        lifted.append(max(value, lifted[-1] + gap) if lifted else value)
    middle = sum(now - was for now, was in zip(lifted, values, strict=True)) / max(len(values), 1)
    return [value - middle for value in lifted]


def _band(axes: "Axes", x: Floats, values: Floats, arm: str, style: str = "solid") -> None:
    colour = COLOURS.get(arm, NEUTRAL)
    axes.plot(x, values.mean(axis=0), color=colour, linewidth=2, linestyle=style, label=arm)
    if len(values) > 1:
        axes.fill_between(x, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.13, linewidth=0)


def _flips(results: Results, study: Study) -> "Figure | None":
    """Shares of questions that the bank turned right and wrong, by kind of question and by benchmark."""
    found = flips(results, study).get("sesa")
    if found is None:
        return None
    shown = [(title, rows) for title, rows in (("by kind", found.kinds), ("by benchmark", found.benchmarks)) if rows]
    figure, panels = _axes(len(shown), "What the bank changes: questions of SESA from Off to On")
    reach = max(100 * max(row.gained, row.lost) / row.asked for _, rows in shown for row in rows) or 1.0
    for axes, (title, rows) in zip(panels, shown, strict=True):
        for place, row in enumerate(rows):
            _turned(axes, place, row)
        axes.axvline(0, color=NEUTRAL, linewidth=1)
        axes.set_yticks(range(len(rows)), [f"{row.name}\n{row.asked:,} questions" for row in rows], fontsize=9)
        axes.invert_yaxis()
        axes.set_xlim(-1.3 * reach, 1.3 * reach)  # room for the counts
        axes.xaxis.set_major_formatter(lambda share, _: f"{abs(share):g}")
        axes.grid(visible=False)
        axes.set_title(title)
        axes.set_xlabel("percent of the questions, all seeds", color=NEUTRAL)
    _legend(figure, panels[0])
    return figure


def _turned(axes: "Axes", place: int, row: Turned) -> None:
    for count, sign, colour, label in ((row.gained, 1, ON, "turned right"), (row.lost, -1, OFF, "turned wrong")):
        share = 100 * sign * count / row.asked
        axes.barh(place, share, height=0.6, color=colour, label=None if place else label)
        axes.annotate(
            str(count), (share, place), textcoords="offset points", xytext=(4 * sign, 0), va="center",
            ha="left" if sign > 0 else "right", fontsize=8.5, color=NEUTRAL,
        )  # fmt: skip


def _costs(results: Results, study: Study) -> "Figure | None":
    """For each arm the tokens that were spent, the points gained over the start policy, and the tokens of a point."""
    scores = results.scores(study)
    arms = [arm for arm in (*study.arms, *study.matched) if arm != BASE]
    if (BASE, "off") not in scores.sides:
        return None
    figure, (spent, gains, costs) = _axes(3, "What a gain costs")
    for place, arm in enumerate(arms):
        colour, cost = COLOURS.get(arm, NEUTRAL), cost_of_a_point(results, study, arm)
        spent.barh(place, results.spent(study, arm)["tokens"] / 1e6, height=0.5, color=colour)
        for mode, fill, shift in (("off", "white", -0.18), ("on", colour, 0.18)):
            if (arm, mode) in scores.sides:
                gain = scores.compare((BASE, "off"), (arm, mode)).macro
                _estimate(gains, gain, place + shift, colour, fill)
            if mode in cost:
                costs.barh(place + shift, cost[mode] / 1e3, height=0.3, facecolor=fill, edgecolor=colour, linewidth=1.4)
    for axes, label in (
        (spent, "million tokens, both seats"),
        (gains, "points over the start policy"),
        (costs, "thousand tokens a point"),
    ):
        axes.set_yticks(range(len(arms)), arms if axes is spent else [])
        axes.set_ylim(len(arms) - 0.5, -0.5)
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(label, color=NEUTRAL)
    return figure


def _estimate(axes: "Axes", gain: Estimate, place: float, colour: str, fill: str) -> None:
    """A dot with its interval, in points."""
    axes.plot([100 * gain.low, 100 * gain.high], [place, place], color=colour, linewidth=1.6, zorder=2)
    axes.scatter([100 * gain.value], [place], s=44, facecolor=fill, edgecolor=colour, linewidth=1.6, zorder=3)


# ---- what was posed -------------------------------------------------------------------------------------------------


def _solve_rates(results: Results, study: Study) -> "Figure | None":
    """The histogram of groups' solve rates over training, an arm a panel."""
    arms = [arm for arm in ("ssp", "shaping-only", "sesa") if arm in study.arms]
    if not arms:
        return None
    figure, panels = _axes(len(arms), "Solve rates of the questions played")
    for axes, arm in zip(panels, arms, strict=True):
        rows = [
            np.array([row["solve_rates"] for row in results.metrics(study, arm, seed)], dtype=float) for seed in study.seeds
        ]
        shares = np.mean([counts / counts.sum(axis=1, keepdims=True) for counts in rows], axis=0)
        size = shares.shape[1] - 1
        bands = np.array([smooth(column) for column in shares.T])
        axes.stackplot(
            np.arange(bands.shape[1]), bands, colors=_ramp(size + 1), linewidth=0,
            labels=[f"{right} of {size} right" for right in range(size + 1)],
        )  # fmt: skip
        axes.set_title(arm)
        axes.set_xlabel("updates", color=NEUTRAL)
        axes.set_ylim(0, 1)
        axes.margins(x=0)
    panels[0].set_ylabel("share of groups")
    _legend(figure, panels[0])
    return figure


def _ramp(count: int) -> list[Any]:
    import matplotlib

    return [matplotlib.colormaps["cividis"](value) for value in np.linspace(0, 1, count)]


def _curriculum(results: Results, study: Study) -> "Figure | None":
    """Hops, valid rate and solve rate of what was posed."""
    arms = [arm for arm in ("ssp", "shaping-only", "sesa", "leak") if arm in study.arms]
    if not arms:
        return None
    figure, panels = _axes(3, "The self-made curriculum")
    fields = (
        ("hops_posed", "valid", "hops of valid questions"),
        ("valid_rate", "proposed", "valid share of questions posed"),
        ("solve_rate", "questions", "solve rate"),
    )
    for axes, (field, weight, label) in zip(panels, fields, strict=True):
        for arm in arms:
            _pieces(axes, results, study, arm, field, weight)
        axes.set_title(label)
        axes.set_xlabel("updates", color=NEUTRAL)
        axes.set_xlim(left=0)
    _legend(figure, panels[0])
    return figure


def _pieces(axes: "Axes", results: Results, study: Study, arm: str, field: str, weight: str) -> None:
    """Draws a noisy field of the metrics as its means over pieces of the training, each at the piece's middle."""
    rows = [results.metrics(study, arm, seed) for seed in study.seeds]
    middles = pieces(np.arange(1.0, len(rows[0]) + 1), np.ones(len(rows[0])))
    values = [[[row[name] for row in each] for each in rows] for name in (field, weight)]
    means = [pieces(*pair) for pair in zip(*np.array(values, dtype=float), strict=True)]
    _band(axes, middles, np.array(means), arm)


def pieces(values: Floats, weights: Floats) -> Floats:
    """Returns the weighted means of some pieces of a series, `_PIECES` at most; a piece without weight is not a number."""
    cuts = np.linspace(0, len(values), min(_PIECES, len(values)) + 1).round().astype(int)[:-1]
    sums, totals = np.add.reduceat(values * weights, cuts), np.add.reduceat(weights, cuts)
    return np.asarray(np.divide(sums, totals, out=np.full(len(cuts), np.nan), where=totals > 0))


def smooth(values: Floats) -> Floats:
    """The mean of each value and the `_WINDOW - 1` before it, as far as there are any."""
    sums = np.cumsum(np.insert(values, 0, 0.0))
    first = np.maximum(np.arange(len(values)) - _WINDOW + 1, 0)
    return np.asarray((sums[1:] - sums[first]) / (np.arange(len(values)) + 1 - first))


# ---- what became of the cards ---------------------------------------------------------------------------------------


def _bank(results: Results, study: Study) -> "Figure | None":
    """Cards in the bank, births and evictions so far, how often a question was shown a card, and the hand-written share."""
    arms = [arm for arm in ("sesa", "sesa-no-distillation", "sesa-no-priming", "skillrl") if arm in study.arms]
    if "sesa" not in arms:
        return None
    figure, (cards, lives, hits, seeds) = _axes(4, "The life of the bank", columns=2)
    for arm in arms:
        rows = [results.metrics(study, arm, seed) for seed in study.seeds]
        held = np.array([[row["cards"] for row in each] for each in rows], dtype=float)
        _band(cards, np.arange(held.shape[1], dtype=float), held, arm)
        _pieces(hits, results, study, arm, "hit_rate", "questions")
        for field, style in (("births", "solid"), ("deaths", "dashed")):
            sums = np.array([np.cumsum([row[field] for row in each]) for each in rows], dtype=float)
            _band(lives, np.arange(sums.shape[1], dtype=float), sums, arm, style)
        if all("origins" in row for each in rows for row in each):
            shares = np.array([[_written_share(row) for row in each] for each in rows])
            _band(seeds, np.arange(shares.shape[1], dtype=float), shares, arm)
    seeds.set_ylim(0, 1.05)
    hits.set_ylim(0, 1.05)
    cards.set_ylim(bottom=0)
    for axes, title in (
        (cards, "cards in the bank"),
        (lives, "born and evicted (dashed) so far"),
        (hits, "questions shown a card, share"),
        (seeds, "written by hand, share of the bank"),
    ):
        axes.set_title(title)
        axes.set_xlabel("updates", color=NEUTRAL)
    if not seeds.lines:  # runs of before the metrics told the cards' origins
        seeds.remove()
    _legend(figure, cards)
    return figure


def _written_share(row: Mapping[str, Any]) -> float:
    return float(row["origins"].get("seed", 0) / row["cards"]) if row["cards"] else 0.0


def _similarity(results: Results, study: Study) -> "Figure | None":
    """What cards do at evaluation, On minus Off, by how alike the best of them is to the question."""
    parts = by_likeness(results, study)
    if not parts:
        return None
    figure, (axes,) = _axes(1, "What cards do: SESA's On minus Off")
    axes.axhline(0, color=NEUTRAL, linewidth=1)
    for low, high, gain in parts:
        middle = (low + high) / 2
        axes.plot([low, high], [100 * gain.value] * 2, color=ON, linewidth=4, solid_capstyle="butt")
        axes.plot([middle, middle], [100 * gain.low, 100 * gain.high], color=ON, linewidth=1.5)
        axes.annotate(
            format_cell(gain.value, "points"), (middle, 100 * gain.high), textcoords="offset points", xytext=(0, 4),
            ha="center", fontsize=8.5, color=NEUTRAL,
        )  # fmt: skip
    axes.set_xlabel("cosine of the best card and the question", color=NEUTRAL)
    axes.set_ylabel("points of exact match")
    return figure


def by_likeness(results: Results, study: Study) -> list[tuple[float, float, Estimate]]:
    """Estimates SESA's On minus Off in parts of the questions, by the likeness of the best card shown.

    Returns:
        For each part its lowest and its highest likeness, and the mean difference, paired by question, with its interval over
        worlds. Parts are of nearly equal size, and each has questions of every world; a question shown no card is in none.
    """
    pairs: dict[Key, dict[str, Record]] = {}
    for record in results.records(study, study.stages[-1]):
        if record["arm"] == "sesa" and record["mode"] in ("off", "on"):
            pairs.setdefault(key_of(record), {})[record["mode"]] = record
    shown = np.array(
        [
            (seed, max(likeness for _, likeness in pair["on"]["cards"]), float(pair["on"]["em"]) - float(pair["off"]["em"]))
            for (seed, *_), pair in pairs.items()
            if len(pair) == 2 and pair["on"]["cards"]
        ]
    )
    if len(shown) < _FEWEST:
        return []
    seeds, likeness, gains = shown.T
    edges = np.unique(np.quantile(likeness, np.linspace(0, 1, _PARTS + 1)[1:-1]))
    part, found = np.searchsorted(edges, likeness), []
    for one in np.unique(part):
        by_seed = tuple(gains[(part == one) & (seeds == seed)] for seed in study.seeds)
        if all(len(each) for each in by_seed):
            inside = likeness[part == one]
            found.append((float(inside.min()), float(inside.max()), interval(Differences(by_seed, crossed=False))))
    return found


# ---- common ---------------------------------------------------------------------------------------------------------


def _axes(count: int, title: str, columns: int | None = None) -> "tuple[Figure, list[Axes]]":
    from matplotlib.figure import Figure

    across = columns or count
    down = -(-count // across)
    figure = Figure(figsize=(4.2 * across + (1.5 if count == 1 else 0.3), 3.3 * down + 0.6), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=12)
    panels = [figure.add_subplot(down, across, place + 1) for place in range(count)]
    for axes in panels:
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        axes.tick_params(length=0)
    return figure, panels


def _legend(figure: "Figure", axes: "Axes") -> None:
    handles, labels = axes.get_legend_handles_labels()
    columns = min(len(labels), 3 * len(figure.axes) or 1)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)


_Draw = Callable[[Results, Study], "Figure | None"]
_FIGURES: Mapping[str, tuple[_Draw, str]] = {
    "curves": (
        _curves,
        "Exact match on held-out questions after each stage, from the start policy on: Off dashed, On solid, SSP's mean dotted "
        "behind each arm. Whiskers from the lowest seed to the highest.",
    ),
    "solve_rates": (
        _solve_rates,
        "Shares of questions by how many of a group's rollouts solved them: the middle is what teaches.",
    ),
    "curriculum": (
        _curriculum,
        f"What the Challenger poses: hops, validity and how often it is solved. Means over {_PIECES} pieces of the training; "
        "bands from the lowest seed to the highest.",
    ),
    "bank": (
        _bank,
        "Cards in the bank, how many were born and evicted, how many questions are shown one, and how much of the bank is "
        "still what was written by hand. Bands from the lowest seed to the highest.",
    ),
    "flips": (
        _flips,
        "Questions that turned right and wrong when the bank was opened to the same weights, as shares of the questions of "
        "their kind and of their benchmark; beside the bars how many they are.",
    ),
    "similarity": (
        _similarity,
        "On minus Off of the questions that are shown a card, in parts of nearly equal size by the likeness of the best card: "
        "thick, the part's range and mean; thin, the 95 % interval, paired by question and over worlds.",
    ),
    "regime": (
        lambda results, _: regime_figure(results),
        "SESA's gain by the length of the world's procedural tail and the budget; bold where the 95 % interval, each by "
        "itself, leaves out zero. Dashed: what the fitted model predicts, to which shaping alone and SSP are one.",
    ),
    "costs": (
        _costs,
        "Tokens read and sampled in training, points over the start policy with their 95 % intervals, and the tokens of a "
        "point; hollow Off, filled On.",
    ),
}
