"""Forecasts of the cells of a table."""

import numpy as np
import pytest
from scipy.integrate import quad

from unrelu._old.data.limits import Ends
from unrelu._old.data.measured import Measured
from unrelu._old.model.margins import Margins
from unrelu._old.model.table_forecast import Forecast

inf = np.inf


def cell(value, low=-inf, high=inf):
    """A table of one cell."""
    return Measured(np.array([[value]]), Ends((np.array([[low]]), np.array([[high]]))), np.zeros((1, 1), bool))


@pytest.mark.parametrize("skew", [0.0, 0.5, -0.5])
def test_scores_are_those_of_a_distribution(skew):
    """All that may be, below the limit that was told: densities down to the true limit, and what lies beyond that."""
    forecast = Forecast(
        Margins(np.array([2.0]), np.array([3.0]), np.array([skew])), np.full((1, 1), 0.2), np.full((1, 1), 0.7)
    )
    told = cell(np.nan, high=3.0)
    beyond = float(np.exp(forecast.log_scores(cell(np.nan, high=1.0), told)[0, 0]))
    between, _ = quad(lambda x: float(np.exp(forecast.log_scores(cell(x), told)[0, 0])), 1.0, 3.0)
    assert 0.05 < beyond < 0.95
    assert beyond + between == pytest.approx(1, abs=1e-8)
    assert forecast.log_scores(cell(2.5), cell(2.5)) == 0


def test_an_interval_holds_what_it_says():
    forecast = Forecast(Margins(np.array([2.0]), np.array([3.0]), np.array([0.5])), np.zeros((1, 1)), np.ones((1, 1)))
    told = cell(np.nan, high=3.0)
    low, high = forecast.interval(told.ends, 0.9)
    inside, _ = quad(
        lambda x: float(np.exp(forecast.log_scores(cell(x), told)[0, 0])), float(low[0, 0]), float(high[0, 0])
    )
    assert inside == pytest.approx(0.9, abs=1e-8)
    wide = forecast.widened(np.array([2.0])).interval(told.ends, 0.9)
    assert wide[0][0, 0] < low[0, 0]
