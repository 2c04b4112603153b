"""How far forecasts go, how far off they may be, and what is believed: the rules themselves."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import truncnorm

from unrelu._old.auto.damping import Damped, Far
from unrelu._old.auto.menu import _Trying
from unrelu._old.auto.no_structure import NoStructure
from unrelu._old.auto.rehearsed import Rehearsal, Trial
from unrelu._old.data.limits import Ends
from unrelu._old.data.observations import Observations
from unrelu._old.model.predictive import Predictive
from unrelu._old.results.forecasts import _reaching

NONE = NoStructure(0.0, 1.0)


def test_the_error_of_forecasts_that_go_all_of_their_way_is_between_those_of_the_levels():
    assert Damped(1.0, (0.1, 0.1), (0.1, 0.4)).spread(5.0, NONE) == pytest.approx(0.2)


def test_the_error_grows_as_it_grew_but_not_by_more_than_a_fifth():
    assert Damped(0.5, (0.1, 0.1), (0.1, 0.11)).spread(0.0, NONE) == pytest.approx(0.11 * np.sqrt(1.1))
    assert Damped(0.5, (0.1, 0.1), (0.1, 0.2)).spread(0.0, NONE) == pytest.approx(0.2 * 1.2)
    assert Damped(0.5, (0.1, 0.1), (0.2, 0.1)).spread(0.0, NONE) == pytest.approx(0.1)


def test_who_moved_forecasts_may_be_wrong_but_not_by_more_than_who_knows_nothing():
    damped = Damped(0.5, (0.1, 0.1), (0.3, 0.3))
    assert damped.spread(0.4, NONE) == pytest.approx(0.5)
    assert damped.spread(100.0, NONE) == pytest.approx(1.5)


@pytest.mark.parametrize("side", ["below", "above"])
def test_forecasts_lie_at_most_half_a_spread_beyond_what_one_distribution_says(side):
    sign = 1.0 if side == "below" else -1.0
    ends = (np.full(50, -np.inf), np.zeros(50)) if side == "below" else (np.zeros(50), np.full(50, np.inf))
    plain = Predictive(np.zeros(50), 1.0, Ends(ends))
    middle, spread = plain.expectation()[0], plain.spread()[0]
    for beyond, further in ((0.4, False), (0.6, True), (-3.0, False)):
        fits = np.full(50, middle - sign * beyond * spread)
        far = Far(fits, 1e-6, ends, side, plain)
        assert far.further(Damped(1.0, (0.1,), (0.1,))) is further
        # Half of the way from the limit on.
        assert far.mean(Damped(0.5, (0.1,), (0.1,))) == pytest.approx(
            min(0.5 * fits[0], 0) if sign > 0 else max(0.5 * fits[0], 0), abs=1e-3
        )


def test_intervals_are_no_wider_on_the_whole_than_those_of_one_distribution():
    ends = np.full(50, -np.inf), np.zeros(50)
    plain = Predictive(np.zeros(50), 1.0, Ends(ends))
    far = Far(np.linspace(-2, 0.5, 50), 0.1, ends, "below", plain)
    whole = Damped(1.0, (0.1,), (0.1,))
    assert far.no_wider(whole, 0.2) == 0.2
    spread = far.no_wider(whole, 3.0)
    low, high = Predictive(far.fits, spread, Ends(ends)).interval(0.95)
    least, most = plain.interval(0.95)
    assert 0.3 < spread < 1
    assert np.mean(high - low) == pytest.approx(np.mean(most - least), rel=0.01)


def trying(size=20):
    """Levels of numbers without structure, of which one distribution expects exactly what they are."""
    values = np.random.default_rng(0).normal(0.0, 1.0, (size, size))
    values = (values + values.T) / np.sqrt(2)
    return _Trying(Observations.of(np.where(values >= -0.5, values, np.nan), threshold=-0.5), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("gains", "sigmas", "believed"),
    [
        ((0.2, 0.2), (0.5, 0.5), True),
        ((-0.1, 0.5), (0.5, 0.5), False),  # not at every level
        ((0.02, 0.02), (0.5, 0.5), False),  # not enough on a pair
        ((0.5, 0.5), (1.5, 1.5), False),  # an error that is larger than the spread of all entries
    ],
)
def test_a_gain_is_believed_at_every_level_if_it_is_not_chance(gains, sigmas, believed):
    one = trying()
    none = NoStructure(0.0, 1.0)
    assert bool(one._believed(Damped(1.0, gains, sigmas), none)) is believed


def test_a_gain_on_few_pairs_is_chance():
    one = trying()
    few = trying()
    few.levels = [
        replace(
            level,
            values=level.values[:8],
            rows=level.rows[:8],
            cols=level.cols[:8],
            told=tuple(end[:8] for end in level.told),
            true=tuple(end[:8] for end in level.true),
        )
        for level in one.levels
    ]
    gains = Damped(1.0, (0.1, 0.1), (0.5, 0.5))
    assert one._believed(gains, NONE)
    assert not few._believed(gains, NONE)


def test_a_gain_on_a_distribution_that_has_collapsed_is_none():
    one = trying()
    assert one._believed(Damped(1.0, (0.2, 0.2), (0.5, 0.5)), NONE)
    one.none = [score - 10 for score in one.none]  # as if that of each level were far off
    assert not one._believed(Damped(1.0, (0.2, 0.2), (0.5, 0.5)), NONE)


@pytest.mark.parametrize(("better", "size", "share"), [(0.2, 20, 0.5), (0.02, 200, 1.0), (0.05, 20, 1.0)])
def test_forecasts_are_damped_only_if_that_is_clearly_better(better, size, share):
    one = trying(8)
    one.observations = Observations.of(np.eye(size), threshold=0.0)
    whole = Damped(1.0, (0.1, 0.1), (0.5, 0.5))
    less = Damped(0.5, (0.1, 0.1 + better), (0.5, 0.5))
    assert one._better([whole, less], whole).share == share


def test_expectations_take_half_of_the_error_by_its_logarithm():
    trial = Trial(2, 0.0, "data", (0.3, 0.3), (0.4, 0.4))
    shown = Rehearsal((trial,), 0, (), 0.4, 0.4, 1.0, (0.3, 0.3), NONE, "below", extrapolates=True)
    expected = truncnorm.mean(-np.inf, (0.0 - 0.3) / 0.2, 0.3, 0.2)
    found = shown.expectation(np.array([0.3]), (np.array([-np.inf]), np.array([0.0])), 0.1)
    assert found[0] == pytest.approx(expected)


def test_intervals_reach_the_end_of_a_range_that_they_all_but_reach():
    low, high = np.array([0.04, 0.06, 0.04]), np.array([0.97, 0.9, 0.97])
    ends = np.array([0.0, 0.0, -np.inf]), np.array([1.0, 1.0, 1.0])
    least, most = _reaching(low, high, ends)
    assert least.tolist() == [0.0, 0.06, 0.04]
    assert most.tolist() == [1.0, 0.9, 0.97]  # without a range nothing piles up
