"""The figures of an experiment: how the arms learnt, what the Challenger posed, what became of the cards."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.experiment.design import MAIN, Study
from benchmarks.experiment.regime_figure import regime_figure
from benchmarks.experiment.results import Results
from benchmarks.experiment.tables import cost_of_a_point
from benchmarks.figures import NEUTRAL, OFF, ON, STYLE, save_figure
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
_CURVES = ("ssp", "shaping-only", "sesa", "sesa-carryover", "skillrl")


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
    """Exact match on held-out questions by stage: a line an arm, a band from the lowest seed to the highest."""
    figure, axes = _axes(2, "Held-out questions while the arms learn")
    arms = [arm for arm in study.arms if arm in _CURVES]
    for place, mode in enumerate(("off", "on")):
        for arm in arms:
            points = by_stage(results, study, arm, mode)
            if points is not None:
                stages, scores = points
                _band(axes[place], stages, 100 * scores, arm)
        axes[place].set_title(f"{mode.capitalize()}: {'the weights alone' if mode == 'off' else 'with the bank'}")
        axes[place].set_xlabel("updates", color=NEUTRAL)
    axes[0].set_ylabel("exact match, macro mean, percent")
    top = max(panel.get_ylim()[1] for panel in axes)
    for panel in axes:
        panel.set_ylim(0, top)
    _legend(figure, axes[0])
    return figure


def by_stage(results: Results, study: Study, arm: str, mode: str) -> tuple[Floats, Floats] | None:
    """Returns the stages, the start policy as stage 0, and the macro means by seed and stage, shape (seeds, stages)."""
    columns, stages = [], []
    last = results.scores(study)
    if ("base", "off") in last.sides:
        stages.append(0)
        columns.append(last.macro_by_seed(("base", "off"), "em"))
    for stage in study.stages:
        scores = results.scores(study, stage)
        if (arm, mode) not in scores.sides:
            return None
        stages.append(stage)
        columns.append(scores.macro_by_seed((arm, mode), "em"))
    return np.array(stages, dtype=float), np.array(columns).T


def _band(axes: "Axes", x: Floats, values: Floats, arm: str, style: str = "solid") -> None:
    colour, marker = COLOURS.get(arm, NEUTRAL), "o" if len(x) < 10 else None
    axes.plot(x, values.mean(axis=0), color=colour, linewidth=2, linestyle=style, label=arm, marker=marker, markersize=4)
    if len(values) > 1:
        axes.fill_between(x, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.15, linewidth=0)


def _flips(results: Results, study: Study) -> "Figure | None":
    """Questions that the bank turned right and wrong, by benchmark."""
    scores = results.scores(study)
    if ("sesa", "on") not in scores.sides:
        return None
    tests = scores.compare(("sesa", "off"), ("sesa", "on")).tests
    figure, (axes,) = _axes(1, "What the bank changes: questions of SESA from Off to On")
    names = list(tests)
    axes.barh(names, [tests[name].gained for name in names], color=ON, label="turned right")
    axes.barh(names, [-tests[name].lost for name in names], color=OFF, label="turned wrong")
    axes.axvline(0, color=NEUTRAL, linewidth=1)
    axes.invert_yaxis()
    axes.set_xlabel("questions, all seeds", color=NEUTRAL)
    _legend(figure, axes)
    return figure


def _costs(results: Results, study: Study) -> "Figure | None":
    """Points gained over the start policy against the tokens that were spent on it, and the tokens of a point."""
    scores = results.scores(study)
    arms = [arm for arm in (*study.arms, *study.matched) if arm != "base"]
    if ("base", "off") not in scores.sides:
        return None
    start = scores.macro(("base", "off"), "em")
    figure, (axes, bars) = _axes(2, "What a gain costs")
    for place, arm in enumerate(arms):
        tokens, points, colour = results.spent(study, arm)["tokens"] / 1e6, [], COLOURS.get(arm, NEUTRAL)
        cost = cost_of_a_point(results, study, arm)
        for mode, fill, shift in (("off", "none", -0.2), ("on", colour, 0.2)):
            if (arm, mode) in scores.sides:
                points.append(100 * (scores.macro((arm, mode), "em") - start))
                axes.scatter([tokens], points[-1:], s=48, facecolor=fill, edgecolor=colour, linewidth=1.6, zorder=3)
            if mode in cost:
                bars.barh(place + shift, cost[mode] / 1e3, height=0.34, facecolor=fill, edgecolor=colour, linewidth=1.2)
        axes.annotate(arm, (tokens, max(points)), textcoords="offset points", xytext=(6, 4), fontsize=8, color=NEUTRAL)
    axes.set_xlabel("million tokens read and sampled in training, both seats", color=NEUTRAL)
    axes.set_ylabel("points over the start policy")
    axes.margins(0.15)
    axes.set_xlim(0, 1.25 * max(results.spent(study, arm)["tokens"] for arm in arms) / 1e6)
    axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
    bars.set_yticks(range(len(arms)), arms)
    bars.invert_yaxis()
    bars.grid(axis="x")
    bars.grid(visible=False, axis="y")
    bars.set_xlabel("thousand tokens a point gained", color=NEUTRAL)
    return figure


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
        ("hops_posed", "hops of valid questions"),
        ("valid_rate", "valid share of questions posed"),
        ("solve_rate", "solve rate"),
    )
    for axes, (field, label) in zip(panels, fields, strict=True):
        for arm in arms:
            _training(axes, results, study, arm, field)
        axes.set_title(label)
        axes.set_xlabel("updates", color=NEUTRAL)
    _legend(figure, panels[0])
    return figure


def _training(axes: "Axes", results: Results, study: Study, arm: str, field: str) -> None:
    values = np.array(
        [smooth(np.array([row[field] for row in results.metrics(study, arm, seed)], dtype=float)) for seed in study.seeds]
    )
    _band(axes, np.arange(values.shape[1], dtype=float), values, arm)


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
        _training(cards, results, study, arm, "cards")
        _training(hits, results, study, arm, "hit_rate")
        rows = [results.metrics(study, arm, seed) for seed in study.seeds]
        for field, style in (("births", "solid"), ("deaths", "dashed")):
            sums = np.array([np.cumsum([row[field] for row in each]) for each in rows], dtype=float)
            _band(lives, np.arange(sums.shape[1], dtype=float), sums, arm, style)
        if all("origins" in row for each in rows for row in each):
            shares = np.array([[_written_share(row) for row in each] for each in rows])
            _band(seeds, np.arange(shares.shape[1], dtype=float), shares, arm)
    seeds.set_ylim(0, 1.05)
    for axes, title in (
        (cards, "cards"),
        (lives, "cards born (solid) and evicted (dashed) so far"),
        (hits, "share of questions shown a card"),
        (seeds, "share of the bank that was written by hand"),
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
    """What cards do at evaluation, by how alike the best of them is to the question."""
    scores = results.scores(study)
    if ("sesa", "on") not in scores.sides:
        return None
    pairs: dict[tuple[int, str, str], dict[str, Any]] = {}
    for record in results.records(study, study.stages[-1]):
        if record["arm"] == "sesa" and record["mode"] in ("off", "on"):
            pairs.setdefault((record["seed"], record["benchmark"], record["id"]), {})[record["mode"]] = record
    shown = [
        (pair["on"]["cards"][0][1], pair["on"]["em"] - pair["off"]["em"]) for pair in pairs.values() if pair["on"]["cards"]
    ]
    if len(shown) < 10:
        return None
    shown.sort()
    parts = np.array_split(np.array(shown, dtype=float), min(8, len(shown) // 5))
    figure, (axes,) = _axes(1, "What cards do, by likeness to the question")
    middles = [part[:, 0].mean() for part in parts]
    gains = np.array([100 * part[:, 1].mean() for part in parts])
    errors = np.array([196 * part[:, 1].std(ddof=1) / np.sqrt(len(part)) for part in parts])
    axes.axhline(0, color=NEUTRAL, linewidth=1)
    axes.errorbar(middles, gains, yerr=errors, color=ON, marker="o", linewidth=1.5, capsize=3)
    axes.set_xlabel("cosine of the best card and the question (parts of equal size)", color=NEUTRAL)
    axes.set_ylabel("points from Off to On")
    return figure


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
    "curves": (_curves, "Exact match on held-out questions; bands from the lowest seed to the highest."),
    "solve_rates": (
        _solve_rates,
        "Shares of questions by how many of a group's rollouts solved them: the middle is what teaches.",
    ),
    "curriculum": (_curriculum, "What the Challenger poses: hops, validity and how often it is solved."),
    "bank": (
        _bank,
        "Cards in the bank, how many were born and evicted, how many questions are shown one, and how much of the bank is "
        "still what was written by hand.",
    ),
    "flips": (_flips, "Questions that turned right and wrong when the bank was opened to the same weights."),
    "similarity": (_similarity, "Gain from Off to On by the likeness of the best card, with 95 % intervals over questions."),
    "regime": (
        lambda results, _: regime_figure(results),
        "SESA's gain by the length of the world's procedural tail and the budget; bold where the 95 % interval leaves "
        "out zero. Dashed: what the fitted model predicts, to which shaping alone and SSP are one.",
    ),
    "costs": (_costs, "Gain over the start policy by tokens spent, and the tokens of a point; hollow Off, filled On."),
}
