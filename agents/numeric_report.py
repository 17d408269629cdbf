"""What trainings of `agents.numeric` came to: mean curves with intervals over the seeds, as a table, JSON and a figure."""

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sesa_env.errors import missing_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RESULTS, FIGURE = "results.json", "curves.png"
# Okabe and Ito's palette: told apart by readers with any kind of colour vision.
COLOURS = {"ppo": "#D55E00", "maskable-ppo": "#0072B2", "dqn": "#009E73"}
_GREY = "#595959"


def report(out: Path) -> str:
    """Writes `results.json` and `curves.png` of all trainings in a directory.

    Args:
        out: the directory of `agents.numeric`.

    Returns:
        A table in Markdown: a row for each algorithm and memory, exact match before and after training with a 95 % interval
        over the seeds (Student's), and that of the random and the scripted player.

    Raises:
        ConfigError: matplotlib or scipy is not installed.
    """
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(out.glob("*/run.json"))]
    groups: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for result in found:
        groups[result["config"]["algorithm"], result["config"]["memory"]].append(result)
    rows = [_row(*key, results) for key, results in sorted(groups.items())]
    (out / RESULTS).write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    _draw(rows, out / FIGURE)
    return _table(rows)


def _row(algorithm: str, memory: str, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    points = list(zip(*(result["curve"] for result in results), strict=False))  # the curve ends with the shortest of them
    return {
        "algorithm": algorithm,
        "memory": memory,
        "seeds": [result["config"]["seed"] for result in results],
        "curve": [{"steps": point[0][0], **_interval([right for _, right in point])} for point in points],
        "random": _interval([result["random"] for result in results]),
        "scripted": _interval([result["scripted"] for result in results]),
        "gain_over_random": _interval([result["curve"][-1][1] - result["random"] for result in results]),
        "gain_over_scripted": _interval([result["curve"][-1][1] - result["scripted"] for result in results]),
    }


def _interval(values: Sequence[float]) -> dict[str, float | None]:
    """Returns the mean, and half the width of its 95 % interval by Student's t; None with one value."""
    try:
        from scipy.stats import t
    except ImportError as error:
        raise missing_extra("scipy", "bench") from error
    count = len(values)
    half = None if count < 2 else float(t.ppf(0.975, count - 1)) * float(np.std(values, ddof=1)) / math.sqrt(count)
    return {"mean": round(float(np.mean(values)), 4), "half": half if half is None else round(half, 4)}


def _table(rows: Sequence[dict[str, Any]]) -> str:
    lines = ["| algorithm | memory | seeds | before | after | random | scripted |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        cells = [row["curve"][0], row["curve"][-1], row["random"], row["scripted"]]
        seeds = ", ".join(str(seed) for seed in row["seeds"])
        lines.append(f"| {row['algorithm']} | {row['memory']} | {seeds} | {' | '.join(map(_cell, cells))} |")
    return "\n".join(lines) + "\n"


def _cell(interval: dict[str, Any]) -> str:
    half = interval["half"]
    return f"{100 * interval['mean']:.1f}" + ("" if half is None else f" ± {100 * half:.1f}")


def _draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draws one panel for each memory: the curves with their intervals, random and scripted play as lines."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_extra("matplotlib", "bench") from error
    memories = sorted({row["memory"] for row in rows}, key=lambda name: (name != "none", name))
    figure = Figure(figsize=(4.6 * len(memories), 3.4), layout="constrained")
    panels = figure.subplots(1, len(memories), sharey=True, squeeze=False)[0]
    for axes, memory in zip(panels, memories, strict=True):
        _panel(axes, [row for row in rows if row["memory"] == memory])
        axes.set_title("Memory Off" if memory == "none" else f"Memory On: {Path(memory).name}", loc="left", fontsize=10)
    panels[0].set_ylabel("exact match, held-out questions")
    figure.savefig(path, dpi=110, metadata={"Software": None})


def _panel(axes: "Axes", rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        steps = [point["steps"] for point in row["curve"]]
        mean = np.array([point["mean"] for point in row["curve"]])
        half = np.array([point["half"] or 0.0 for point in row["curve"]])
        axes.plot(steps, mean, color=COLOURS[row["algorithm"]], label=row["algorithm"])
        axes.fill_between(steps, mean - half, mean + half, color=COLOURS[row["algorithm"]], alpha=0.15, linewidth=0)
    for name, style in (("scripted", "--"), ("random", ":")):
        axes.axhline(float(np.mean([row[name]["mean"] for row in rows])), color=_GREY, linestyle=style, label=name)
    axes.set_xlabel("environment steps")
    axes.set_ylim(0.0, 1.0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="upper left", ncols=2)
