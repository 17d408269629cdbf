"""Paired intervals and McNemar's test: known values, degenerate cases, and coverage by simulation."""

import numpy as np
import pytest

from benchmarks.stats import Differences, interval, macro_interval, mcnemar, micro_interval
from sesa_env.errors import ConfigError


def nested(*seeds):
    return Differences(tuple(np.array(seed, dtype=float) for seed in seeds), crossed=False)


def crossed(*seeds):
    return Differences(tuple(np.array(seed, dtype=float) for seed in seeds), crossed=True)


def test_identical_sides_give_exactly_zero():
    same = {"a": nested([0] * 7), "b": crossed([0] * 50)}
    for estimate in (macro_interval(same), micro_interval(same), interval(same["a"])):
        assert (estimate.value, estimate.low, estimate.high) == (0.0, 0.0, 0.0)


def test_constant_difference_has_no_width():
    estimate = interval(nested([0.25] * 40, [0.25] * 40))
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((0.25, 0.25, 0.25))


def test_macro_weights_benchmarks_and_micro_weights_questions():
    benchmarks = {"long": nested([0.0] * 90), "short": nested([1.0] * 10)}
    assert macro_interval(benchmarks).value == pytest.approx(0.5)
    assert micro_interval(benchmarks).value == pytest.approx(0.1)


def test_macro_resamples_within_each_benchmark():
    """Two constant benchmarks that differ: pooled resampling would have width, stratified has none."""
    benchmarks = {"a": nested([1.0] * 20), "b": nested([-1.0] * 20)}
    assert (macro_interval(benchmarks).low, macro_interval(benchmarks).high) == pytest.approx((0.0, 0.0))
    assert micro_interval(benchmarks).high == pytest.approx(0.0)


def test_the_interval_agrees_with_plain_index_resampling():
    values = np.random.default_rng(3).choice([-1.0, 0.0, 0.3, 1.0], size=120, p=[0.1, 0.5, 0.1, 0.3])
    means = np.random.default_rng(4).choice(values, size=(20_000, 120)).mean(axis=1)
    estimate = interval(nested(values))
    assert (estimate.low, estimate.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), abs=0.01)


def test_the_same_seed_gives_the_same_interval_and_another_one_another():
    values = nested(np.random.default_rng(1).normal(size=50))
    assert interval(values, seed=1) == interval(values, seed=1)
    assert interval(values, seed=1) != interval(values, seed=2)


def test_the_spread_of_seeds_counts():
    """All spread lies between the seeds: question resampling alone would have no width."""
    estimate = interval(nested([0.0] * 30, [0.5] * 30, [1.0] * 30))
    assert estimate.value == pytest.approx(0.5)
    assert estimate.low < 0.1
    assert estimate.high > 0.9


def test_crossed_seeds_do_not_multiply_the_questions():
    """Five identical seeds on the same questions know no more than one; five nested ones would claim to."""
    values = np.random.default_rng(5).choice([-1.0, 0.0, 1.0], size=100)
    one, five, wrong = interval(crossed(values)), interval(crossed(*[values] * 5)), interval(nested(*[values] * 5))
    assert five.error == pytest.approx(one.error, rel=0.1)
    assert five.high - five.low == pytest.approx(one.high - one.low, rel=0.1)
    assert wrong.error < 0.6 * one.error


def test_few_seeds_have_students_tails():
    """Six seeds whose questions all agree: the interval is the textbook one of six numbers."""
    gains = np.array([0.1, 0.2, 0.25, 0.3, 0.4, 0.55])
    estimate = interval(nested(*([gain] * 20 for gain in gains)))
    error = gains.std(ddof=1) / np.sqrt(6)
    assert estimate.error == pytest.approx(error, rel=0.05)
    assert estimate.high - estimate.value == pytest.approx(2.5706 * error, rel=0.05)
    assert estimate.freedom == 5


def test_a_seeds_mean_holds_the_noise_of_its_questions_already():
    """Without any spread between worlds the standard error is that of all questions together, counted once."""
    rng = np.random.default_rng(3)
    errors = [interval(nested(*(rng.normal(size=50) for _ in range(8))), seed=k).error for k in range(200)]
    assert np.mean(errors) == pytest.approx(1 / np.sqrt(400), rel=0.15)


def test_other_levels_and_p_values_are_students():
    estimate = interval(nested(*([gain] * 20 for gain in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6))))
    assert estimate.at(0.95) == pytest.approx((estimate.low, estimate.high))
    wide, narrow = estimate.at(0.99), estimate.at(0.9)
    assert wide[0] < estimate.low < narrow[0] < estimate.value < narrow[1] < estimate.high < wide[1]
    assert estimate.at(1 - estimate.p)[0] == pytest.approx(0.0, abs=1e-9)


def test_what_never_varies_has_the_p_value_of_certainty():
    assert (interval(nested([0.0] * 9)).p, interval(nested([0.25] * 9)).p) == (1.0, 0.0)


def test_rounding_is_no_spread():
    """Two seeds with the same gains in another order, whose means differ in the last digit: their questions still vary."""
    gains = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    pairs = {
        str(one): nested([one - 0.1, one + 0.1], [other - 0.1, other + 0.1])
        for one, other in zip(gains, gains[::-1], strict=True)
    }
    means = [sum(each.by_seed[seed].mean() / 7 for each in pairs.values()) for seed in (0, 1)]
    assert means[0] != means[1]
    estimate = macro_interval(pairs)
    assert estimate.value == pytest.approx(0.4)
    assert estimate.high - estimate.low > 0.1


def test_an_end_that_is_zero_is_zero():
    """Its shares summed to -1.7e-18, and the report called it a loss while it printed an upper end of 0.0."""
    changes = {
        "nq": (1, 0),
        "triviaqa": (0, 1),
        "popqa": (1, 3),
        "2wiki": (0, 4),
        "hotpotqa": (0, 0),
        "musique": (0, 0),
        "bamboogle": (0, 0),
    }
    of = {name: crossed([1] * gained + [-1] * lost + [0] * (25 - gained - lost)) for name, (gained, lost) in changes.items()}
    assert macro_interval(of).high == 0.0


def test_unequal_numbers_of_seeds_are_refused():
    with pytest.raises(ConfigError, match="same seeds"):
        macro_interval({"a": nested([1.0]), "b": nested([1.0], [0.0])})


@pytest.mark.parametrize("empty", [(), ((),)])
def test_nothing_to_compare_is_refused(empty):
    with pytest.raises(ConfigError, match="at least one"):
        nested(*empty)


def covers(rng, truth, draw):
    estimate = macro_interval(draw(rng), seed=int(rng.integers(2**31)), resamples=500)
    return estimate.low <= truth <= estimate.high


def test_coverage_over_questions():
    """500 simulated comparisons, two benchmarks: 95 %, within three standard errors (1 point each) of the simulation."""
    rng = np.random.default_rng(11)

    def draw(rng):
        a = rng.choice([-1.0, 0.0, 1.0], size=150, p=[0.1, 0.6, 0.3])
        b = rng.choice([-1.0, 0.0, 1.0], size=60, p=[0.2, 0.5, 0.3])
        return {"a": nested(a), "b": nested(b)}

    coverage = np.mean([covers(rng, 0.15, draw) for _ in range(500)])
    assert 0.92 <= coverage <= 0.975


@pytest.mark.parametrize("spread", [0.0, 0.03, 0.2])
@pytest.mark.parametrize("worlds", [3, 6, 12])
def test_coverage_over_seeds_and_questions(worlds, spread):
    """800 simulated comparisons over worlds whose true effects are alike or differ: 95 %, within three standard errors."""
    rng = np.random.default_rng(12)

    def draw(rng):
        gains = rng.uniform(0.3 - spread, 0.3 + spread, size=worlds)
        return {"a": nested(*(rng.choice([-1.0, 0.0, 1.0], size=100, p=[0.1, 0.9 - gain, gain]) for gain in gains))}

    coverage = np.mean([covers(rng, 0.2, draw) for _ in range(800)])
    assert 0.95 - 0.023 <= coverage <= 0.95 + 0.023


@pytest.mark.parametrize(("spread", "low", "high"), [(0.0, 0.96, 1.0), (0.2, 0.83, 0.91)])
def test_a_percentile_bootstrap_over_seeds_and_questions_does_not_cover(spread, low, high):
    """Why the interval is not that: six worlds, and then their questions, drawn again; it held 98 and 87 % of the truths."""
    rng, held = np.random.default_rng(14), 0
    for _ in range(600):
        gains = rng.uniform(0.3 - spread, 0.3 + spread, size=6)
        seeds = np.array([rng.choice([-1.0, 0.0, 1.0], size=700, p=[0.1, 0.9 - gain, gain]) for gain in gains])
        drawn = rng.integers(6, size=(500, 6))
        counts = np.stack([(seeds == value).mean(axis=1) for value in (-1.0, 0.0, 1.0)], axis=1)
        means = (rng.multinomial(700, counts[drawn]) @ [-1.0, 0.0, 1.0] / 700).mean(axis=1)
        ends = np.quantile(means, [0.025, 0.975])
        held += ends[0] <= 0.2 <= ends[1]
    assert low <= held / 600 <= high


def test_coverage_over_crossed_seeds():
    """Five seeds that answer the same questions; both the seeds' skill and the questions' difficulty are drawn."""
    rng = np.random.default_rng(13)

    def draw(rng):
        questions, seeds = rng.normal(0.2, 0.5, size=60), rng.normal(0, 0.05, size=5)
        return {"a": crossed(*(questions + one + rng.normal(0, 0.2, size=60) for one in seeds))}

    coverage = np.mean([covers(rng, 0.2, draw) for _ in range(300)])
    assert 0.91 <= coverage <= 0.985


@pytest.mark.parametrize(
    ("gained", "lost", "p"), [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (8, 2, 0.109375), (3, 3, 1.0)]
)
def test_mcnemar_by_hand(gained, lost, p):
    """Two-sided binomial values: 2 * 0.5**5; 2 * 0.5**6; 2 * (1 + 10 + 45) / 1024."""
    before = np.array([False] * gained + [True] * lost + [True] * 4 + [False] * 3)
    after = np.array([True] * gained + [False] * lost + [True] * 4 + [False] * 3)
    result = mcnemar(before, after)
    assert (result.gained, result.lost) == (gained, lost)
    assert result.p == pytest.approx(p)


def test_mcnemar_of_different_questions_is_refused():
    with pytest.raises(ConfigError, match="same questions"):
        mcnemar(np.array([True]), np.array([True, False]))
