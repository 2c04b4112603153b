"""Scales on which entries of a bounded range look normal."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from unrelu._old.data.limits import Ends
from unrelu._old.model.links import LINKS, Linked, Scale

TOP = 2.0


@pytest.mark.parametrize("link", LINKS)
def test_a_scale_there_and_back(link):
    scale = Scale(link, TOP)
    x = np.array([0.01, 0.4, 1.7])
    np.testing.assert_allclose(scale.entries(scale.z(x)), x, rtol=1e-12)
    step = 1e-6
    slope = (scale.z(x + step) - scale.z(x - step)) / (2 * step)
    np.testing.assert_allclose(scale.log_slope(x), np.log(slope), atol=1e-6)
    assert scale.holds(x)
    assert Scale(link, 1.0).holds(x) == (link == "plain")


def test_only_a_positive_scale_refuses_what_is_not():
    assert Scale("fisher", TOP).holds(np.array([-1.9]))
    assert not Scale("fisher", TOP).holds(np.array([-2.1]))
    assert not Scale("logit", TOP).holds(np.array([0.0]))


def test_ends_do_not_leave_the_range_unless_they_contradict_it():
    low, high = Scale("logit", TOP).narrowed((np.array([-np.inf, -3.0]), np.array([0.5, -1.0])))
    assert low.tolist() == [0.0, -3.0]
    assert high.tolist() == [0.5, -1.0]
    low, high = Scale("fisher", TOP).narrowed((np.array([-np.inf]), np.array([np.inf])))
    assert (low, high) == (-TOP, TOP)
    low, high = Scale(positive=True).narrowed((np.array([-np.inf]), np.array([np.inf])))
    assert (low, high) == (0.0, np.inf)


@pytest.mark.parametrize("link", ["fisher", "logit"])
@pytest.mark.parametrize("high", [0.3, 1.99, TOP])
def test_moments_and_quantiles_are_those_of_the_density(link, high):
    """Against the density of x = entries(z), z normal, integrated between the ends."""
    scale, mean, sigma = Scale(link, TOP), 0.3, 0.8
    low = scale.range[0]
    one = Linked(mean, sigma, scale, Ends((np.full(1, low), np.full(1, high))))

    def density(x):
        return norm.pdf(scale.z(x), mean, sigma) * np.exp(scale.log_slope(np.array(x)))

    whole = quad(density, low, high)[0]
    first = quad(lambda x: x * density(x), low, high)[0] / whole
    second = quad(lambda x: x**2 * density(x), low, high)[0] / whole
    np.testing.assert_allclose(one.expectation(), first, rtol=2e-3)
    np.testing.assert_allclose(one.spread(), np.sqrt(second - first**2), rtol=2e-2)
    least, most = one.interval(0.9)
    np.testing.assert_allclose(quad(density, low, least[0])[0] / whole, 0.05, rtol=1e-4)
    np.testing.assert_allclose(quad(density, low, most[0])[0] / whole, 0.95, rtol=1e-4)
    at = np.array([0.6 * high])
    np.testing.assert_allclose(one.log_density(at), np.log(density(at) / whole), rtol=1e-6)
    inner = one.log_probability(Ends((np.full(1, low), at)))
    np.testing.assert_allclose(np.exp(inner), quad(density, low, at[0])[0] / whole, rtol=1e-6)
