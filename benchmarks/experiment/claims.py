"""The claims of the paper, each as a contrast that is estimated, corrected and judged by code: never a verdict by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from benchmarks.experiment.coupling import OWN
from benchmarks.experiment.design import MAIN, Experiment
from benchmarks.experiment.results import Results
from benchmarks.scores import Side
from benchmarks.stats import Estimate

Verdict = Literal["holds", "not established", "reversed", "unfinished"]
"""The last one is that of all claims of an experiment under way: what is looked at early is not judged."""
COUPLING = "coupling"
"""In the place of a study: the continuations with exchanged banks."""
ALPHA = 0.05
HOLM = (
    "Intervals are corrected for the number of claims by Holm's method, each at the level of its own step. What that controls "
    f"are false verdicts over the whole table: the chance of any is at most {ALPHA:.0%}. It is no joint coverage: that all "
    "intervals hold their true values at once is not said."
)
"""What the correction does, for readers of the table."""


@dataclass(frozen=True)
class Measure:
    """What a claim's numbers are.

    Attributes:
        unit: the unit of an estimate and its interval.
        shown: the unit in which readers are shown them.
        scale: how many of that are one of the other.
    """

    unit: str
    shown: str
    scale: float


MEASURES: Mapping[str, Measure] = {
    "em": Measure("share of questions", "points", 100.0),
    "informative_groups": Measure("groups a step", "groups a step", 1.0),
    "Jensen-Shannon distance": Measure("distance from 0 to 1", "hundredths", 100.0),
}
"""By the name in `Claim.measure`."""


@dataclass(frozen=True)
class Claim:
    """Something that the paper says, or that must hold if what it says is to mean anything."""

    claim: str
    """In words."""

    study: str
    """The study that it is read from, after the last stage."""

    before: Side
    """What is compared with: an arm and its mode."""

    after: Side
    """What the claim says is better."""

    paper: str = ""
    """The paper's numbers for it: Qwen3-4B unless they say otherwise, macro mean over the seven real benchmarks, percent."""

    control: bool = False
    """Whether it is ours: a control that the paper lacks."""

    measure: str = "em"
    """A name in `MEASURES`. "em": the macro mean of exact match on held-out questions. Else a field of the training's metrics,
    averaged over it, or the distance of two Challengers' questions beyond chance (`benchmarks.experiment.coupling`)."""

    @property
    def scale(self) -> float:
        """What its estimate is multiplied by for a reader."""
        return MEASURES[self.measure].scale


CLAIMS = (
    Claim("SSP's self-play improves the policy it starts from", MAIN, ("base", "off"), ("ssp", "off"), "45.3 → 53.9"),
    Claim("SESA's weights alone beat SSP's: parametric carry-over", MAIN, ("ssp", "off"), ("sesa", "off"), "53.9 → 55.7"),
    Claim("The bank helps at inference", MAIN, ("sesa", "off"), ("sesa", "on"), "55.7 → 56.2"),
    Claim("SESA with its bank beats SSP", MAIN, ("ssp", "off"), ("sesa", "on"), "53.9 → 56.2"),
    Claim("Distillation matters", MAIN, ("sesa-no-distillation", "on"), ("sesa", "on"), "53.5 → 56.2"),
    Claim("Frontier shaping matters", MAIN, ("sesa-no-shaping", "on"), ("sesa", "on"), "54.0 → 56.2"),
    Claim("Priming matters", MAIN, ("sesa-no-priming", "on"), ("sesa", "on"), "54.7 → 56.2"),
    Claim(
        "SESA beats SkillRL", MAIN, ("skillrl", "on"), ("sesa", "on"), "50.1 → 51.0 (Qwen2.5-7B-Instruct)"
    ),
    Claim("The Challenger must not see the bank", MAIN, ("leak", "on"), ("sesa", "on"), "said, not measured"),
    Claim(
        "Shaping makes more groups informative than 1 - p", MAIN, ("ssp", ""), ("shaping-only", ""), "said, not measured",
        measure="informative_groups",
    ),
    Claim(
        "The bank moves the Challenger's questions: an empty one", COUPLING, (OWN, ""), ("empty", ""), control=True,
        measure="Jensen-Shannon distance",
    ),
    Claim(
        "The bank moves the Challenger's questions: another run's", COUPLING, (OWN, ""), ("other", ""), control=True,
        measure="Jensen-Shannon distance",
    ),
    Claim(
        "Memory carries over beyond what shaping alone does", MAIN, ("shaping-only", "off"), ("sesa", "off"), control=True
    ),
    Claim(
        "With the carry-over term the weights alone beat SSP's", MAIN, ("ssp", "off"), ("sesa-carryover", "off"), control=True
    ),
    Claim("With the carry-over term and its bank SESA beats SSP", MAIN, ("ssp", "off"), ("sesa-carryover", "on"), control=True),
    Claim("SESA with its bank beats SSP at equal tokens", MAIN, ("ssp-tokens", "off"), ("sesa", "on"), control=True),
    Claim("SESA with its bank beats shaping alone", MAIN, ("shaping-only", "off"), ("sesa", "on"), control=True),
    Claim("The bank beats its cards shuffled between questions", MAIN, ("sesa", "shuffled"), ("sesa", "on"), control=True),
    Claim("The bank beats irrelevant cards of its length", MAIN, ("sesa", "irrelevant"), ("sesa", "on"), control=True),
    Claim("The bank beats its hand-written cards", MAIN, ("sesa", "seeds"), ("sesa", "on"), control=True),
)  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """A claim with what was measured.

    Attributes:
        claim: the claim.
        estimate: the mean difference with its interval before correction.
        low: lower end of the interval after correction.
        high: its upper end.
        level: the level of that interval.
        verdict: follows from the corrected interval alone.
    """

    claim: Claim
    estimate: Estimate
    low: float
    high: float
    level: float
    verdict: Verdict

    def row(self) -> dict[str, Any]:
        """Returns the row of `claims.json`."""
        return {
            "claim": self.claim.claim,
            "estimate": self.estimate.value,
            "low": self.low,
            "high": self.high,
            "verdict": self.verdict,
            "unit": MEASURES[self.claim.measure].unit,
            "uncorrected": [self.estimate.low, self.estimate.high],
            "level": self.level,
            **{name: value for name, value in asdict(self.claim).items() if name != "claim"},
        }


def judge_claims(results: Results, claims: Sequence[Claim] = CLAIMS) -> list[Judged]:
    """Estimates and judges the claims whose sides an experiment has, corrected for their number.

    Args:
        results: of an experiment of several seeds.
        claims: the table.

    Returns:
        The claims in their order; none for an experiment of one seed, of which no claim is drawn.
    """
    shown = [claim for claim in claims if is_shown(results.experiment, claim)]
    return judge(shown, [estimate(results, claim) for claim in shown])


def is_shown(experiment: Experiment, claim: Claim) -> bool:
    """Says whether an experiment has both sides of a claim, under several seeds."""
    if claim.study == COUPLING:
        return experiment.coupling is not None and len(experiment.coupling.seeds) > 1
    study = next((study for study in experiment.studies if study.name == claim.study), None)
    if study is None or len(study.seeds) < 2:
        return False
    modes = {"", "off", "on"}
    arms = {claim.before[0], claim.after[0]} <= {*study.arms, *study.matched}
    return arms and all(mode in modes or mode in study.controls.get(arm, ()) for arm, mode in (claim.before, claim.after))


def estimate(results: Results, claim: Claim) -> Estimate:
    """Estimates a claim's contrast, after minus before, paired by world and question."""
    if claim.study == COUPLING:
        assert results.coupled is not None  # or the claim is not shown
        return results.coupled.beyond_null(claim.after[0])
    study = results.experiment.study(claim.study)
    if claim.measure != "em":
        return results.process(study, claim.before[0], claim.after[0], claim.measure)
    return results.scores(study).compare(claim.before, claim.after).macro


def judge(claims: Sequence[Claim], estimates: Sequence[Estimate]) -> list[Judged]:
    """Corrects the estimates of a table for their number by Holm's method and judges them."""
    levels = holm_levels([estimate.p for estimate in estimates])
    judged = []
    for claim, found, level in zip(claims, estimates, levels, strict=True):
        low, high = found.at(level)
        judged.append(Judged(claim, found, low, high, level, verdict(low, high)))
    return judged


def holm_levels(p: Sequence[float], alpha: float = ALPHA) -> list[float]:
    """Finds the level of each interval so that each says of zero what Holm's step-down test says.

    The smallest of m p values is held to alpha / m, the next to alpha / (m - 1), and so on; from the first that fails on, all
    are held to its bound. An interval leaves out zero just if Holm's test rejects. That is all that is controlled: false
    rejections over the table, not that all intervals cover at once.

    Args:
        p: two-sided p values.
        alpha: the chance of any false verdict in the whole table, at most.

    Returns:
        The levels, in the order of the p values.
    """
    levels, bound = [0.0] * len(p), 0.0
    failed = False
    for rank, place in enumerate(np.argsort(p, kind="stable").tolist()):
        bound = bound if failed else alpha / (len(p) - rank)
        failed = failed or p[place] >= bound
        levels[place] = 1 - bound
    return levels


def verdict(low: float, high: float) -> Verdict:
    """Judges an interval of a difference that a claim says is above zero."""
    if low > 0:
        return "holds"
    return "reversed" if high < 0 else "not established"
