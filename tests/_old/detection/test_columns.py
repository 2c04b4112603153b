"""Limits of columns: claimed where the data show them, and not where cells were lost."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import beta, norm

import unrelu
from unrelu._old.detection.columns import column_levels
from unrelu._old.detection.edge import edge_of

SHAPES = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "lognormal": lambda rng, size: np.exp(0.5 * rng.standard_normal(size)),
    "wide lognormal": lambda rng, size: np.exp(rng.standard_normal(size)),
    "exponential": lambda rng, size: rng.exponential(size=size),
    "shifted exponential": lambda rng, size: rng.exponential(size=size) - 1,
    "gamma": lambda rng, size: rng.gamma(2, size=size),
    "uniform": lambda rng, size: rng.random(size),
    "counts": lambda rng, size: rng.poisson(3, size).astype(float),
}


def claimed(table, side="above", unknown=None):
    return column_levels(table, np.arange(table.shape[1]), side, unknown)


def together(rng, rows, columns, share=0.8):
    common = rng.standard_normal((rows, 1))
    return np.sqrt(share) * common + np.sqrt(1 - share) * rng.standard_normal((rows, columns))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [80, 300])
def test_cells_lost_by_a_coin_make_no_limit(shape, rows):
    rng = np.random.default_rng(5)
    table = SHAPES[shape](rng, (rows, 24))
    lost = rng.random(table.shape) < np.tile([0.1, 0.2, 0.4], 8)
    assert len(claimed(np.where(lost, np.nan, table))) <= 1
    assert len(claimed(-np.where(lost, np.nan, table), "below")) <= 1


@pytest.mark.parametrize(("shape", "least"), [("normal", 10), ("lognormal", 14), ("wide lognormal", 14)])
@pytest.mark.parametrize("side", ["above", "below"])
def test_limits_are_found_by_the_values_alone(shape, least, side):
    rng = np.random.default_rng(6)
    table = SHAPES[shape](rng, (400, 16))
    seen = np.where(table >= np.quantile(table, 0.3, axis=0), table, np.nan)
    found = claimed(seen if side == "above" else -seen, side)
    assert len(found) >= least
    for j, edge in found.items():
        assert edge.level == np.nanmin(seen[:, j])


def test_other_columns_decide_where_values_do_not():
    """Uniform numbers begin at once, with a limit and without: rows tell which."""
    rng = np.random.default_rng(7)
    table = 1 / (1 + np.exp(-1.7 * together(rng, 400, 6, 0.9)))
    X = table.copy()
    for j in range(3):
        X[table[:, j] < np.quantile(table[:, j], 0.2), j] = np.nan
    X[:, 3:] = np.where(rng.random((400, 3)) < 0.2, np.nan, table[:, 3:])
    assert list(claimed(X)) == [0, 1, 2]
    for j in range(3):
        assert not claimed(X[:, [j]])


def test_other_columns_deny_a_limit():
    """These values begin like those above a limit, which forecasts of the missing ones contradict."""
    rng = np.random.default_rng(13)
    table = beta.ppf(norm.cdf(together(rng, 600, 8)), 2, 5) - 0.2
    X = np.where(rng.random(table.shape) < 0.1, np.nan, table)
    assert any(claimed(X[:, [j]]) for j in range(8))
    assert not claimed(X)


@pytest.mark.parametrize("slope", [2, 20])
def test_cells_lost_because_of_another_column_make_no_limit(slope):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        table = together(rng, 400, 4)
        table[rng.random(400) < expit(-slope * table[:, 1]), 0] = np.nan
        assert not claimed(table)


def test_more_missing_than_a_limit_explains_is_seldom_told():
    """About one column in eight is, and all of them if the number that is missing is not asked."""
    rng = np.random.default_rng(12)
    table = np.exp(0.5 * rng.standard_normal((1000, 8)))
    above = table >= np.quantile(table, 0.1)
    assert len(claimed(np.where(above, table, np.nan))) >= 7
    assert len(claimed(np.where(above & (rng.random(table.shape) < 0.5), table, np.nan))) <= 3


def test_rows_lost_together_make_no_limit():
    rng = np.random.default_rng(9)
    table = together(rng, 300, 6)
    table[np.ix_(rng.random(300) < 0.3, range(3))] = np.nan
    assert not claimed(table)


def test_cells_that_are_known_to_be_lost_do_not_count():
    rng = np.random.default_rng(10)
    table = rng.standard_normal((300, 1))
    gone = table < -0.5
    X = np.where(gone, np.nan, table)
    assert list(claimed(X)) == [0]
    assert not claimed(X, unknown=gone)
    both = np.hstack([X, rng.standard_normal((300, 2))])
    found = unrelu.complete_table(both, threshold="auto", unknown=np.isnan(both), rng=0)
    assert found.terms.threshold is None


def test_scale_and_order_do_not_matter():
    rng = np.random.default_rng(11)
    table = np.exp(together(rng, 200, 5))
    X = np.where(table >= np.quantile(table, 0.25, axis=0), table, np.nan)
    X[:, 0] = np.where(rng.random(200) < 0.3, np.nan, table[:, 0])
    first = claimed(X)
    assert list(first) == [1, 2, 3, 4]
    again = claimed(1e6 * X[rng.permutation(200)])
    assert {j: edge.level for j, edge in again.items()} == {j: 1e6 * edge.level for j, edge in first.items()}


@pytest.mark.parametrize(
    "column", [np.repeat([1.0, 2.0], 50), np.full(100, 3.0), np.r_[np.zeros(80), np.arange(1, 21)]]
)
def test_columns_with_few_different_values_have_no_limit(column):
    table = np.column_stack([column, np.arange(100.0)])
    table[::7, 0] = np.nan
    assert not claimed(table)


def test_intervals_hold_what_a_coin_lost():
    rng = np.random.default_rng(0)
    table = rng.random((100, 6))
    lost = rng.random(table.shape) < 0.2
    found = unrelu.complete_table(np.where(lost, np.nan, table), threshold="auto", rng=0)
    low, high = found.predict(*np.nonzero(lost))
    assert np.mean((low <= table[lost]) & (table[lost] <= high)) > 0.9
    assert "no column shows a limit" in found.verdict.reason


def test_a_small_sample_without_a_wall_seldom_looks_like_one_with_it():
    rng = np.random.default_rng(1)
    tails = [edge_of(rng.standard_normal(80)).sharp for _ in range(200)]
    halves = [edge_of(np.abs(rng.standard_normal(80))).sharp for _ in range(200)]
    assert np.mean(tails) < 0.15
    assert np.mean(halves) > 0.9
