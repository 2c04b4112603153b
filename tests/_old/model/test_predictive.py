"""Truncated normal forecasts against those of SciPy, and where SciPy has none against numbers drawn."""

import numpy as np
import pytest
from scipy.stats import truncnorm

from unrelu._old.data.limits import Ends
from unrelu._old.model.predictive import Predictive

MEANS = np.array([-3.0, 0.0, 0.4, 2.0, 9.0])
ENDS = [(-np.inf, 0.5), (-0.5, np.inf), (-1.0, 0.7), (-np.inf, np.inf)]


def reference(ends, sigma=0.8):
    low, high = ((end - MEANS) / sigma for end in ends)
    return truncnorm(low, high, loc=MEANS, scale=sigma)


@pytest.mark.parametrize("ends", ENDS)
def test_a_truncated_normal_number(ends):
    mine, other = Predictive(MEANS, 0.8, Ends(ends)), reference(ends)
    np.testing.assert_allclose(mine.expectation(), other.mean(), rtol=1e-6)
    np.testing.assert_allclose(mine.spread(), other.std(), rtol=1e-4)
    for share in (0.025, 0.5, 0.975):
        np.testing.assert_allclose(mine.quantile(share), other.ppf(share), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(mine.log_density(0.2), other.logpdf(0.2), rtol=1e-8)
    np.testing.assert_allclose(mine.log_probability(Ends((ends[0], 0.2))), other.logcdf(0.2), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("ends", ENDS)
def test_nothing_lies_beyond_its_limits(ends):
    far = Predictive(np.linspace(-80, 80, 41), 0.5, Ends(ends))
    for values in (far.expectation(), *far.interval(0.95)):
        assert np.isfinite(values).all()
        assert (values >= ends[0]).all()
        assert (values <= ends[1]).all()
    low, high = far.interval(0.95)
    assert (low <= high).all()


def test_on_either_side_of_a_gap():
    drawn = 0.3 + np.random.default_rng(0).standard_normal(400_000)
    drawn = drawn[(drawn < -1) | (drawn > 1)]
    mine = Predictive(np.array([0.3]), 1.0, Ends((-np.inf, np.inf), gap=(-1.0, 1.0)))
    np.testing.assert_allclose(mine.expectation(), drawn.mean(), atol=0.01)
    for share in (0.1, 0.5, 0.9):
        np.testing.assert_allclose(mine.quantile(share), np.quantile(drawn, share), atol=0.01)
