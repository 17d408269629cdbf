"""Claims: Holm's correction by hand, and verdicts that follow from intervals alone; simulated tables are beside this file."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="the experiment's design reads the training presets, which need the llm extra")

from benchmarks.experiment.claims import CLAIMS, MEASURES, Claim, holm_levels, is_shown, judge, verdict
from benchmarks.experiment.design import EXPERIMENTS
from benchmarks.experiment.tables import claims_table
from benchmarks.stats import Estimate

NAMED = [Claim(f"claim {number}", "main", ("a", "off"), ("b", "off")) for number in range(2)]


def test_holm_by_hand():
    """Four p values at 5 %: .01 <= .05/4 and .015 <= .05/3 are rejected, .03 > .05/2 is not, and so .04 is not either."""
    levels = holm_levels([0.04, 0.01, 0.03, 0.015])
    assert levels == pytest.approx([1 - 0.05 / 2, 1 - 0.05 / 4, 1 - 0.05 / 2, 1 - 0.05 / 3])


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12))
def test_an_interval_leaves_out_zero_just_if_holm_rejects(p):
    assume(all(abs(one - 0.05 / count) > 1e-9 for one in p for count in range(1, len(p) + 1)))  # 1 - level rounds
    levels = holm_levels(p)
    order = sorted(range(len(p)), key=lambda place: p[place])
    rejected = set(itertools.takewhile(lambda place: p[place] < 0.05 / (len(p) - order.index(place)), order))
    assert {place for place, level in enumerate(levels) if p[place] < 1 - level} == rejected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.01, 0.2, "holds"), (-0.2, -0.01, "reversed"), (-0.1, 0.1, "not established"), (0.0, 0.1, "not established"),
     (0.0, 0.0, "not established")],
)  # fmt: skip
def test_verdicts(low, high, expected):
    assert verdict(low, high) == expected


def test_the_corrected_interval_is_wider_and_decides():
    sure, unsure = Estimate(0.1, 0.02, 0.18, 0.02, 5), Estimate(0.05, -0.002, 0.102, 0.0202, 5)
    assert sure.p < 0.025
    assert 0.05 < unsure.p < 0.06
    (first, second), alone = judge(NAMED[:2], [sure, unsure]), judge(NAMED[:1], [sure])
    assert first.high - first.low > alone[0].high - alone[0].low
    assert (first.verdict, second.verdict) == ("holds", "not established")
    assert first.row()["low"] == first.low
    assert set(first.row()) >= {"claim", "estimate", "low", "high", "verdict"}


def test_every_number_has_a_unit_in_json_and_table():
    """Shares are shown in points and distances in hundredths, counts as they are; each row says which, and its own level."""
    made = [replace(NAMED[0], measure=measure) for measure in ("em", "informative_groups", "Jensen-Shannon distance")]
    found = judge(made, [Estimate(0.1, 0.02, 0.18, 0.02, 5)] * 3)
    assert [one.row()["unit"] for one in found] == ["share of questions", "groups a step", "distance from 0 to 1"]
    assert [row["estimate"] for row in claims_table(found).rows] == pytest.approx([10.0, 0.1, 10.0])
    assert [row["unit"] for row in claims_table(found).rows] == ["points", "groups a step", "hundredths"]
    assert [row["level"] for row in claims_table(found).rows] == [one.level for one in found]
    assert found[0].level == pytest.approx(1 - 0.05 / 3)
    assert {claim.measure for claim in CLAIMS} == set(MEASURES)


def test_every_claim_is_in_the_small_experiment_and_none_in_one_of_one_seed():
    assert all(is_shown(EXPERIMENTS["small"], claim) for claim in CLAIMS)
    assert not any(is_shown(EXPERIMENTS["quick"], claim) for claim in CLAIMS)
    assert len({claim.claim for claim in CLAIMS}) == len(CLAIMS)
