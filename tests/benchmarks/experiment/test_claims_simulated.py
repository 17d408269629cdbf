"""The whole table of claims on made-up experiments: how often it is wrong by chance, and whether its intervals hold the truth.

Six worlds, seven benchmarks, and answers whose chances are known. Arms answer the same questions of the same worlds, the modes
of an arm share its training, and most claims share a side, so that the claims' estimates hang together as those of an
experiment do. Of 300 tables a share of 5 % has a standard error of 1.3 points; what is asked for is within three.
"""

from functools import cached_property

import numpy as np
import pytest
from scipy.stats import norm

pytest.importorskip("torch", reason="the experiment's design reads the training presets, which need the llm extra")

from benchmarks.experiment.claims import CLAIMS, COUPLING, judge_claims
from benchmarks.experiment.coupling import Coupled
from benchmarks.experiment.design import EXPERIMENTS, WORLDS
from benchmarks.experiment.results import Results
from benchmarks.scores import Comparison, Scores, SeedScores
from benchmarks.stats import macro_interval
from benchmarks.suites import BENCHMARKS

TABLES, QUESTIONS = 300, 20
MARGIN = 3 * np.sqrt(0.05 * 0.95 / TABLES)
SIDES = sorted({side for claim in CLAIMS if claim.measure == "em" for side in (claim.before, claim.after)})
TRAININGS = sorted({arm for arm, _ in SIDES})
EASE = np.linspace(-0.9, 0.3, len(BENCHMARKS))
"""How easy each benchmark is, in standard deviations of what follows."""
SPREAD = {"world": 0.2, "question": 1.0, "training": 0.12, "mode": 0.06, "benchmark": 0.15, "answer": 0.7}
LEAK, SKILLRL, GROUPS, EMPTY = "The Challenger must not see the bank", "SESA beats SkillRL", "Shaping makes", "an empty one"
"""Words of the claims that are given an effect; what they are read from is read for no other claim."""
EFFECTS = {("leak", "on"): -1.0, ("skillrl", "on"): 1.0, GROUPS: 1.5, EMPTY: 0.1}


class _Scores(Scores):
    """Scores out of arrays, compared for the macro mean alone: claims read nothing else, and tests by benchmark take long."""

    def __init__(self, right):
        items = {seed: tuple((f"world {seed}", str(number)) for number in range(QUESTIONS)) for seed in WORLDS}
        self.sides, self.benchmarks = SIDES, list(BENCHMARKS)
        self._scores = {
            (side, name): {seed: SeedScores(items[seed], {"em": right[k, w, b]}) for w, seed in enumerate(WORLDS)}
            for k, side in enumerate(SIDES)
            for b, name in enumerate(BENCHMARKS)
        }

    def compare(self, before, after, metric="em"):
        macro = macro_interval({name: self._differences(before, after, name, metric) for name in self.benchmarks})
        return Comparison(before, after, metric, {}, macro, macro)


class _Simulated(Results):
    """An experiment like `small` that left no files; the pairing, the intervals and the claims are the real ones."""

    def __init__(self, rng, effects):
        self.experiment, self._rng, self._effects = EXPERIMENTS["small"], rng, effects

    def scores(self, study, stage=None, tool=""):
        return self._drawn

    @cached_property
    def _drawn(self):
        worlds, benchmarks, sides = len(WORLDS), len(BENCHMARKS), len(SIDES)
        shape = sides, worlds, benchmarks, QUESTIONS
        trained = self._rng.normal(0, SPREAD["training"], (len(TRAININGS), worlds, 1, 1))
        latent = (
            np.array([self._effects.get(side, 0.0) for side in SIDES])[:, None, None, None]
            + EASE[:, None]
            + self._rng.normal(0, SPREAD["world"], (worlds, 1, 1))
            + self._rng.normal(0, SPREAD["question"], shape[1:])
            + trained[[TRAININGS.index(arm) for arm, _ in SIDES]]
            + self._rng.normal(0, SPREAD["mode"], (sides, worlds, 1, 1))
            + self._rng.normal(0, SPREAD["benchmark"], (sides, worlds, benchmarks, 1))
            + self._rng.normal(0, SPREAD["answer"], shape)
        )
        return _Scores((latent > 0).astype(float))

    @cached_property
    def _groups(self):
        shared = self._rng.normal(3, 0.5, len(WORLDS))
        return {
            arm: shared + effect + self._rng.normal(0, 0.3, len(WORLDS))
            for arm, effect in (("ssp", 0.0), ("shaping-only", self._effects.get(GROUPS, 0.0)))
        }

    def per_seed(self, study, arm, field):
        return list(self._groups[arm])

    @cached_property
    def coupled(self):
        null, *others = self._rng.normal(0.4, 0.05, len(WORLDS)) + self._rng.normal(0, 0.02, (5, len(WORLDS)))
        empty, other = np.mean(others[:2], axis=0) + self._effects.get(EMPTY, 0.0), np.mean(others[2:], axis=0)
        return Coupled(tuple(null), tuple(empty), tuple(other), start=tuple(null))


def chance(side, effects):
    """The macro mean that a side has over all worlds and questions."""
    return float(np.mean(norm.cdf((EASE + effects.get(side, 0.0)) / np.sqrt(sum(one**2 for one in SPREAD.values())))))


def truth(claim, effects):
    if claim.study == COUPLING or claim.measure != "em":
        return sum(effect for words, effect in effects.items() if isinstance(words, str) and words in claim.claim)
    return chance(claim.after, effects) - chance(claim.before, effects)


def simulated(seed, effects):
    rng = np.random.default_rng(seed)
    return [judge_claims(_Simulated(rng, effects)) for _ in range(TABLES)]


@pytest.fixture(scope="module")
def nothing():
    """Tables of experiments in which no claim is true."""
    return simulated(21, {})


@pytest.fixture(scope="module")
def something():
    """Tables of experiments in which four claims have an effect: two of scores, up and down, and one of each other measure."""
    return simulated(22, EFFECTS)


def test_all_claims_are_judged_and_hang_together(nothing):
    assert [one.claim for one in nothing[0]] == list(CLAIMS)
    named = {claim.claim: place for place, claim in enumerate(CLAIMS)}
    estimates = np.array([[one.estimate.value for one in table] for table in nothing])
    pair = [named["Distillation matters"], named["SESA with its bank beats SSP"]]
    assert np.corrcoef(estimates[:, pair], rowvar=False)[0, 1] > 0.3


def test_where_nothing_is_there_a_table_is_rarely_wrong(nothing):
    """Any verdict but "not established" in 5 % of the tables at most; an interval before correction errs 5 % of the time."""
    wrong = np.mean([any(one.verdict != "not established" for one in table) for table in nothing])
    assert wrong <= 0.05 + MARGIN
    missed = np.mean([[not one.estimate.low <= 0 <= one.estimate.high for one in table] for table in nothing])
    assert abs(missed - 0.05) <= MARGIN
    anywhere = np.mean([any(not one.estimate.low <= 0 <= one.estimate.high for one in table) for table in nothing])
    assert anywhere > 0.2  # so that the correction is what keeps the table right


def test_intervals_hold_what_is_there(something):
    """Of each claim with an effect: the interval before correction as often as it says, the one after it at least as often."""
    for place, claim in enumerate(CLAIMS):
        known = truth(claim, EFFECTS)
        if known == 0:
            continue
        rows = [table[place] for table in something]
        assert abs(np.mean([one.estimate.low <= known <= one.estimate.high for one in rows]) - 0.95) <= MARGIN, claim.claim
        assert np.mean([one.low <= known <= one.high for one in rows]) >= 0.95 - MARGIN, claim.claim


def test_what_is_there_is_found_and_what_is_not_rarely(something):
    found = {words: "reversed" if words == SKILLRL else "holds" for words in (LEAK, SKILLRL, GROUPS, EMPTY)}
    expected = [next((said for words, said in found.items() if words in claim.claim), "") for claim in CLAIMS]
    assert sum(map(bool, expected)) == sum(truth(claim, EFFECTS) != 0 for claim in CLAIMS) == len(EFFECTS)
    for place, said in enumerate(expected):
        if said:
            assert np.mean([table[place].verdict == said for table in something]) > 0.8, CLAIMS[place].claim
    others = [place for place, said in enumerate(expected) if not said]
    wrong = np.mean([any(table[place].verdict != "not established" for place in others) for table in something])
    assert wrong <= 0.05 + MARGIN
