"""Counts below a limit."""

import numpy as np
import pytest

import unrelu
from unrelu._old.data.limits import Ends
from unrelu._old.model.counts import Counts
from unrelu._old.model.margins import Margins

MARGINS = Margins(np.array([8.0, 300.0, 8.0]), np.array([5.0, 10.0, 5.0]), np.zeros(3))
COUNTS = Counts(np.array([True, True, False]), MARGINS)
ENDS = Ends((np.full((1, 3), -1e-9), np.full((1, 3), 6.0)))


def test_where_zero_is_near_half_of_the_way_to_the_middle_of_what_is_possible():
    assert COUNTS.expectation(np.full((1, 3), 5.0), ENDS).tolist() == [[4.0, 5.0, 5.0]]
    nowhere = Ends((np.full((1, 3), -np.inf), np.full((1, 3), np.inf)))
    assert COUNTS.expectation(np.full((1, 3), 5.0), nowhere).tolist() == [[5.0, 5.0, 5.0]]


def test_intervals_end_at_whole_numbers_and_reach_as_far_as_chance():
    cols = np.arange(3)
    low, high = COUNTS.interval(np.full(3, 3.4), np.full(3, 5.2), (ENDS[0][0], ENDS[1][0]), cols, 0.9)
    assert low.tolist() == [0.0, 3.0, 3.4]  # a tenth of six, and no less than any whole number below it
    assert high.tolist() == [6.0, 6.0, 5.2]
    low, high = COUNTS.interval(np.full(3, 3.4), np.full(3, 5.2), (ENDS[0][0], np.full(3, 40.0)), cols, 0.9)
    assert low.tolist() == [3.0, 3.0, 3.4]


@pytest.mark.parametrize("rate", [3.0, 8.0])
def test_counts_of_several_kinds_are_covered_and_better_than_by_a_normal_number(rate):
    """Counts that vary more than Poisson's: most of those below their median are 0, or near it."""
    rng = np.random.default_rng(3)
    rates = rate * np.exp(0.4 * rng.standard_normal((150, 2)) @ rng.standard_normal((2, 8))) * rng.gamma(1, 1, (150, 8))
    table = rng.poisson(rates).astype(float)
    limits = np.quantile(table, 0.5, axis=0)
    X = np.where(table >= limits, table, np.nan)
    found = unrelu.complete_table(X, threshold=limits, rng=0)
    assert found.counts.all()
    i, j = np.nonzero(np.isnan(X))
    low, high = found.predict(i, j)
    assert (low == np.floor(low)).all()
    assert np.mean((low <= table[i, j]) & (table[i, j] <= high)) >= 0.9
    filled, normal = found.filled()[i, j], found.fit.forecast.expectation(found.cells.ends)[i, j]
    assert ((low <= filled) & (filled <= high)).all()
    off = [np.sqrt(np.mean((one - table[i, j]) ** 2)) for one in (filled, normal)]
    assert off[0] < 0.98 * off[1]
    again = found.new_rows(X[:5])
    np.testing.assert_allclose(again, found.filled()[:5], atol=1e-6)
