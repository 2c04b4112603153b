"""Truncated normals against SciPy's where that is exact, and against the tail's own function where it is not."""

import numpy as np
import pytest
from scipy.special import erfcx
from scipy.stats import kstest, norm, truncnorm

from unrelu._old.data.limits import Ends
from unrelu._old.model.truncated_normal import above, draw_within, expected_within, quantile_within

SHARES = np.array([1e-6, 0.025, 0.5, 0.9, 0.999])


def log_tail(z):
    """Log P(ε > z) for z > 0, by the scaled complementary error function."""
    return np.log(erfcx(z / np.sqrt(2)) / 2) - z * z / 2


@pytest.mark.parametrize(("low", "high"), [(-np.inf, 0.5), (-1.0, np.inf), (-0.3, 2.0), (2.0, 3.0), (-np.inf, np.inf)])
def test_quantiles_are_those_of_scipy_near_the_middle(low, high):
    found = quantile_within(np.full(5, 0.2), 1.5, Ends((low, high)), SHARES)
    a, b = (low - 0.2) / 1.5, (high - 0.2) / 1.5
    np.testing.assert_allclose(found, truncnorm.ppf(SHARES, a, b, 0.2, 1.5), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("far", [10.0, 40.0, 300.0, 1e5])
@pytest.mark.parametrize("side", [1, -1])
def test_quantiles_are_exact_far_into_the_tails(far, side):
    ends = Ends((far, np.inf)) if side > 0 else Ends((-np.inf, -far))
    shares = SHARES if side > 0 else 1 - SHARES
    found = side * quantile_within(np.zeros(5), 1.0, ends, shares)
    # Beyond the end the tail falls by the share that is left; its own digits are those of z², hence the tolerance.
    np.testing.assert_allclose(log_tail(found) - log_tail(far), np.log1p(-SHARES), rtol=1e-6, atol=1e-9 * far**2)
    assert (found >= far).all()


def test_a_gap_divides_the_shares_as_the_probabilities_are():
    ends = Ends((-np.inf, np.inf), gap=(-0.5, 1.0))
    found = quantile_within(np.zeros(5), 1.0, ends, SHARES)
    below, beyond = norm.cdf(-0.5), norm.sf(1.0)
    total = below + beyond
    plain = np.where(below / total > SHARES, SHARES * total, SHARES * total + norm.cdf(1.0) - norm.cdf(-0.5))
    np.testing.assert_allclose(found, norm.ppf(plain), rtol=1e-9)


def test_no_gap_is_none():
    none = Ends((-1.0, 2.0), gap=(np.full(5, np.inf), np.full(5, -np.inf)))
    plain = quantile_within(np.zeros(5), 1.0, Ends((-1.0, 2.0)), SHARES)
    np.testing.assert_array_equal(quantile_within(np.zeros(5), 1.0, none, SHARES), plain)


@pytest.mark.parametrize(
    ("mean", "low", "high"), [(0.0, -np.inf, 0.3), (4.0, -np.inf, 0.0), (0.0, 1.0, 1.2), (-9.0, 0.0, np.inf)]
)
def test_draws_are_distributed_as_they_should(mean, low, high):
    drawn = draw_within(np.full(4000, mean), 1.0, Ends((low, high)), np.random.default_rng(0))
    assert ((drawn >= low) & (drawn <= high)).all()
    assert kstest(drawn, truncnorm(low - mean, high - mean, mean, 1.0).cdf).pvalue > 1e-3


def test_draws_beside_a_gap_lie_on_both_sides_as_often_as_they_should():
    drawn = draw_within(np.zeros(20_000), 1.0, Ends((-np.inf, np.inf), gap=(-1.0, 0.5)), np.random.default_rng(0))
    assert not ((drawn > -1) & (drawn < 0.5)).any()
    below = norm.cdf(-1.0) / (norm.cdf(-1.0) + norm.sf(0.5))
    assert abs(np.mean(drawn < 0) - below) < 4 * np.sqrt(below * (1 - below) / 20_000)


def test_expectation_and_probability_are_those_of_the_draws():
    ends = Ends((np.array([-np.inf, -1.0]), np.array([0.0, 2.0])))
    mean = np.array([0.7, 0.1])
    drawn = draw_within(np.tile(mean, (40_000, 1)), 0.8, ends, np.random.default_rng(1))
    np.testing.assert_allclose(expected_within(mean, 0.8, ends), drawn.mean(axis=0), atol=4 * 0.8 / 200)
    np.testing.assert_allclose(above(-0.4, mean, 0.8, ends), np.mean(drawn > -0.4, axis=0), atol=0.01)
    assert above(0.5, mean, 0.8, ends)[0] == 0
    assert above(-5.0, mean, 0.8, ends)[1] == 1


@pytest.mark.parametrize("mean", [-3.0, 0.0, 8.0, 40.0, 1000.0])
def test_the_expectation_below_an_end_is_exact_far_out(mean):
    found = expected_within(np.array([mean]), 1.0, Ends((-np.inf, 0.0)))[0]
    # φ/Φ at −mean by the scaled complementary error function.
    ratio = np.sqrt(2 / np.pi) / erfcx(mean / np.sqrt(2))
    assert abs(found - (mean - ratio)) <= 1e-9 * max(abs(mean), 1)
    mirrored = expected_within(np.array([-mean]), 1.0, Ends((0.0, np.inf)))[0]
    assert abs(found + mirrored) <= 1e-9 * max(abs(mean), 1)
    assert found < 0
