"""The paper's numbers, as data: always shown marked as the paper's, never mixed into ours.

Scores in percent: exact match, and on a miss a judge of equivalence; 500 questions a benchmark, Bamboogle 125; top 3 passages
of all Wikipedia (arXiv 2607.29468, section 6).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

SOURCE = "arXiv 2607.29468"
_ORDER = ("nq", "triviaqa", "popqa", "hotpotqa", "2wikimultihopqa", "musique", "bamboogle")


@dataclass(frozen=True)
class PaperRow:
    """One row of the paper's results.

    Attributes:
        backbone: the language model.
        method: "base", "SSP", "SESA-Off", "SESA-On", an ablation, or another system.
        macro: the unweighted mean of the seven benchmarks, in percent.
        benchmarks: percent for each benchmark, where known.
    """

    backbone: str
    method: str
    macro: float
    benchmarks: Mapping[str, float] = field(default_factory=dict)


def _each(*scores: float) -> dict[str, float]:
    return dict(zip(_ORDER, scores, strict=True))


PAPER: tuple[PaperRow, ...] = (
    PaperRow("Qwen3-4B", "base", 45.3),
    PaperRow("Qwen3-4B", "SSP", 53.9),
    PaperRow("Qwen3-4B", "SESA-Off", 55.7),
    PaperRow("Qwen3-4B", "SESA-On", 56.2),
    PaperRow("Qwen3-4B", "SESA without priming", 54.7),
    PaperRow("Qwen3-4B", "SESA without frontier shaping", 54.0),
    PaperRow("Qwen3-4B", "SESA without distillation", 53.5),
    PaperRow("Qwen3-4B-Instruct", "base", 46.1),
    PaperRow("Qwen3-4B-Instruct", "SSP", 55.2),
    PaperRow("Qwen3-4B-Instruct", "SESA-On", 57.9),
    PaperRow("Qwen3-8B", "base", 52.5),
    PaperRow("Qwen3-8B", "SSP", 56.3, _each(56.0, 78.2, 55.0, 58.0, 51.5, 28.0, 67.2)),
    PaperRow("Qwen3-8B", "SESA-Off", 58.5),
    PaperRow("Qwen3-8B", "SESA-On", 59.5),
    PaperRow("Qwen2.5-7B-Base", "base", 22.3),
    PaperRow("Qwen2.5-7B-Base", "SSP", 48.7, _each(54.2, 73.6, 56.0, 52.8, 33.2, 24.0, 47.2)),
    PaperRow("Qwen2.5-7B-Base", "SESA-On", 50.8),
    PaperRow("Qwen2.5-7B-Instruct", "base", 41.5),
    PaperRow("Qwen2.5-7B-Instruct", "SSP", 49.5, _each(54.8, 73.4, 51.8, 51.8, 38.8, 21.2, 54.4)),
    PaperRow("Qwen2.5-7B-Instruct", "SESA-On", 51.0),
    PaperRow("Qwen2.5-7B-Instruct", "SkillRL-Search-7B", 50.1),
    PaperRow("LLaMA-3.1-8B", "base", 36.7),
    PaperRow("LLaMA-3.1-8B", "SSP", 46.3, _each(58.0, 75.8, 55.4, 44.2, 34.4, 16.2, 40.0)),
    PaperRow("LLaMA-3.1-8B", "SESA-On", 47.5),
    PaperRow("Search-R1-7B", "base", 53.9),
    PaperRow("Search-R1-7B", "SSP", 55.7, _each(57.8, 78.0, 58.4, 60.4, 45.6, 30.6, 59.2)),
    PaperRow("Search-R1-7B", "SESA-On", 57.5),
    # Exact match alone, of another paper on the same benchmarks: what Search-R1 reports of itself.
    PaperRow("Qwen2.5-7B-Base", "Search-R1 (PPO), exact match", 43.1, _each(48.0, 63.8, 45.7, 43.3, 38.2, 19.6, 43.2)),
)

MAIN_BACKBONES = ("Qwen3-4B", "Qwen3-8B")
"""The backbones for which the paper reports both SESA-Off and SESA-On."""
MAIN_METHODS = ("base", "SSP", "SESA-Off", "SESA-On")
