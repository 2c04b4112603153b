"""What a column is like by itself."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from unrelu._old.data.limits import Ends
from unrelu._old.data.measured import Measured
from unrelu._old.model.margins import Margins

nan, inf = np.nan, np.inf


def below(x, limits):
    """Cells of which those below the limits of their columns went unseen."""
    high = np.broadcast_to(np.asarray(limits, float), x.shape)
    return Measured(np.where(x >= high, x, nan), Ends((np.full(x.shape, -inf), high)), np.zeros(x.shape, bool))


def above(x, limits):
    low = np.broadcast_to(np.asarray(limits, float), x.shape)
    return Measured(np.where(x <= low, x, nan), Ends((low, np.full(x.shape, inf))), np.zeros(x.shape, bool))


SOME = Margins(np.array([1.0, 2.0, -1.0]), np.array([0.5, 2.0, 3.0]), np.array([0.0, 0.7, -0.4]))


def test_there_and_back():
    z = np.linspace(-2, 2, 9)[:, None] + np.zeros(3)
    np.testing.assert_allclose(SOME.forward(SOME.backward(z)), z, atol=1e-12)
    ends = np.array([[-inf, inf, inf]])
    assert np.array_equal(SOME.forward(ends), ends)
    assert np.array_equal(SOME.backward(ends), ends)
    x, step = SOME.backward(z), 1e-6
    slope = (SOME.forward(x + step) - SOME.forward(x - step)) / (2 * step)
    np.testing.assert_allclose(SOME.log_slope(x), np.log(slope), atol=1e-6)


@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize(("low", "high"), [(-inf, 0.3), (-0.5, inf), (-1.0, 0.5), (-inf, inf)])
def test_an_expectation_is_an_integral(column, low, high):
    part, mean, sigma = SOME.part([column]), 0.4, 0.8

    def times(power):
        def value(z):
            return part.backward(np.array([z]))[0] ** power * norm.pdf(z, mean, sigma)

        return quad(value, max(low, mean - 12 * sigma), min(high, mean + 12 * sigma))[0]

    found = part.expectation(np.array([[mean]]), np.array([[sigma]]), Ends((np.array([[low]]), np.array([[high]]))))
    assert found[0, 0] == pytest.approx(times(1) / times(0), rel=1e-6)


def test_a_normal_column_is_found_behind_its_limit():
    x = 3 + 2 * np.random.default_rng(0).standard_normal((3000, 2))
    found = Margins.of(below(x, np.quantile(x, [0.2, 0.5], axis=0).diagonal()))
    np.testing.assert_allclose(found.centre, 3, atol=0.2)
    np.testing.assert_allclose(found.scale, 2, rtol=0.07)
    assert np.abs(found.skew).max() < 0.05


def test_a_skew_column_has_a_short_tail_where_nothing_was_seen():
    x = np.exp(0.6 * np.random.default_rng(1).standard_normal((2000, 1)))
    cells = below(x, np.quantile(x, 0.4, axis=0))
    skew, normal = Margins.of(cells), Margins.of(cells, skewed=False)
    assert skew.skew[0] == pytest.approx(0.6, abs=0.15)
    assert normal.skew[0] == 0
    nobody = np.zeros(x.shape)
    hidden = ~cells.seen
    errors = [np.std((m.expectation(nobody, nobody + 1, m.ends(cells.ends)) - x)[hidden]) for m in (skew, normal)]
    truth = x[hidden].mean()
    means = [m.expectation(nobody, nobody + 1, m.ends(cells.ends))[hidden].mean() for m in (skew, normal)]
    assert abs(means[0] - truth) < 0.3 * abs(means[1] - truth), (means, truth, errors)


def test_hidden_above_is_the_mirror_image():
    x = np.random.default_rng(2).gamma(3, 1, (400, 1))
    limit = np.quantile(x, 0.3, axis=0)
    one, other = Margins.of(below(x, limit)), Margins.of(above(-x, -limit))
    np.testing.assert_allclose(other.centre, -one.centre, rtol=1e-5)
    np.testing.assert_allclose(other.scale, one.scale, rtol=1e-5)
    np.testing.assert_allclose(other.skew, -one.skew, rtol=1e-4)


def test_logarithms_are_normal_if_one_says_so():
    x = np.exp(1 + 0.5 * np.random.default_rng(3).standard_normal((3000, 1)))
    found = Margins.of(below(x, np.quantile(x, 0.3, axis=0)), log=True)
    assert found.centre[0] == pytest.approx(np.e, rel=0.05)
    assert found.skew[0] == pytest.approx(0.5, rel=0.05)
    np.testing.assert_allclose(found.forward(x), (np.log(x) - np.log(found.centre)) / found.skew, atol=1e-9)


def test_units_and_the_order_of_rows_do_not_matter():
    x = np.random.default_rng(4).gamma(2, 1, (150, 3))
    limits = np.quantile(x, 0.3, axis=0)
    one = Margins.of(below(x, limits))
    scaled = Margins.of(below(1000 * x, 1000 * limits))
    turned = Margins.of(below(x[::-1], limits))
    np.testing.assert_allclose(scaled.scale, 1000 * one.scale, rtol=1e-5)
    np.testing.assert_allclose(scaled.skew, one.skew, rtol=1e-4)
    np.testing.assert_allclose(turned.centre, one.centre, rtol=1e-5)
