"""The lowest point along a line."""

import numpy as np
import pytest

from unrelu._old.kernels.line import minimise_quartic


def integrated(*derivative):
    """c₀…c₄ of a polynomial whose derivative has these coefficients, the constant first."""
    c = np.zeros(5)
    c[1 : 1 + len(derivative)] = [value / (k + 1) for k, value in enumerate(derivative)]
    return c


@pytest.mark.parametrize("bend", [0.05, 1e-3, 1e-6])
def test_a_line_that_only_slows_down_has_no_minimum_there(bend):
    """The derivative −((t − 2)² + bend²) vanishes nowhere: the line falls for ever, and the whole step is taken."""
    assert minimise_quartic(integrated(-4 - bend**2, 4.0, -1.0)) == 1.0


def test_a_double_root_that_rounding_has_split_is_one():
    """(t − 1)²(t − 3): the line is flat at 1 and lowest at 3; (t − 1)³ is lowest at 1."""
    assert minimise_quartic(integrated(-3.0, 7.0, -5.0, 1.0)) == pytest.approx(3.0)
    assert minimise_quartic(integrated(-1.0, 3.0, -3.0, 1.0)) == pytest.approx(1.0, abs=1e-4)


def test_of_two_minima_the_lower_one():
    """(t − 1)(t − 2)(t − 4): minima at 1 and 4."""
    assert minimise_quartic(integrated(-8.0, 14.0, -7.0, 1.0)) == pytest.approx(4.0)
