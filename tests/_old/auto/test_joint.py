"""Columns that go together."""

import numpy as np
import pytest

from unrelu._old.auto.joint import Joint, joint, said_of
from unrelu._old.data.limits import Ends
from unrelu._old.data.measured import Measured
from unrelu._old.model.predictive import Predictive

nan, inf = np.nan, np.inf


def normal(rng, rows, correlations):
    return rng.standard_normal((rows, len(correlations))) @ np.linalg.cholesky(correlations).T


def below(x, limit):
    high = np.full(x.shape, float(limit))
    return Measured(np.where(x >= high, x, nan), Ends((np.full(x.shape, -inf), high)), np.zeros(x.shape, bool))


def unlimited(x):
    return Measured(x, Ends((np.full(x.shape, -inf), np.full(x.shape, inf))), np.isnan(x))


def some_correlations():
    return np.array([[1, 0.7, 0.3], [0.7, 1, 0.5], [0.3, 0.5, 1.0]])


def test_what_the_others_say_is_the_conditional_distribution():
    C = some_correlations()
    x = np.array([[0.5, -1.0, nan], [2.0, 0.3, 1.0]])
    mean, sigma = said_of(Joint(C, np.zeros((0, 3)), np.zeros((0, 3))), unlimited(x))
    seen = [0, 1]
    weights = np.linalg.solve(C[np.ix_(seen, seen)], C[seen, 2])
    assert mean[0, 2] == pytest.approx(weights @ x[0, seen], abs=1e-6)
    assert sigma[0, 2] == pytest.approx(np.sqrt(1 - weights @ C[seen, 2]), abs=1e-6)
    others = [1, 2]
    weights = np.linalg.solve(C[np.ix_(others, others)], C[others, 0])
    assert mean[1, 0] == pytest.approx(weights @ x[1, others], abs=1e-6)  # its own value is left out


def test_limits_say_what_draws_say():
    """Of a row with one value seen and two cells below limits: means over draws that keep these."""
    C = some_correlations()
    x, high = np.array([[nan, nan, 0.2]]), np.array([[-0.3, 0.1, 0.1]])
    cells = Measured(x, Ends((np.full((1, 3), -inf), high)), np.zeros((1, 3), bool))
    mean, sigma = said_of(Joint(C, np.zeros((0, 3)), np.zeros((0, 3))), cells)
    rng = np.random.default_rng(0)
    seen = C[:2, 2] * 0.2
    rest = C[:2, :2] - np.outer(C[:2, 2], C[:2, 2])
    draws = seen + rng.standard_normal((400_000, 2)) @ np.linalg.cholesky(rest).T
    kept = draws[(draws[:, 0] < -0.3) & (draws[:, 1] < 0.1)]
    found = Predictive(mean, sigma, cells.ends).expectation()[0, :2]
    np.testing.assert_allclose(found, kept.mean(axis=0), rtol=0.04)
    deaf = Predictive(seen, np.sqrt(np.diag(rest)), Ends((-inf, high[0, :2]))).expectation()
    assert (np.abs(found - kept.mean(axis=0)) < 0.2 * np.abs(deaf - kept.mean(axis=0))).all()


def test_correlations_are_found_behind_limits():
    C = some_correlations()
    cells = below(normal(np.random.default_rng(1), 4000, C), 0.0)
    np.testing.assert_allclose(joint(cells, 1.0).correlations, C, atol=0.06)
    shrunk = joint(cells, 4000.0).correlations
    assert shrunk[0, 1] < 0.45
    alike = joint(cells, 0.0, alike=True).correlations[np.triu_indices(3, 1)]
    assert np.ptp(alike) < 1e-12
    assert alike[0] == pytest.approx(0.5, abs=0.06)


def test_the_order_of_rows_and_columns_does_not_matter():
    x = normal(np.random.default_rng(2), 80, some_correlations())
    one = joint(below(x, -0.2), 3.0).correlations
    order = [2, 0, 1]
    other = joint(below(x[::-1][:, order], -0.2), 3.0).correlations
    np.testing.assert_allclose(other, one[np.ix_(order, order)], atol=1e-9)


def test_a_path_ends_where_a_fresh_start_does():
    cells = below(normal(np.random.default_rng(3), 150, some_correlations()), 0.0)
    before = joint(cells, 100.0)
    np.testing.assert_allclose(joint(cells, 3.0, before=before).correlations, joint(cells, 3.0).correlations, atol=1e-3)


def test_new_rows_are_told_as_those_that_were_there():
    cells = below(normal(np.random.default_rng(4), 150, some_correlations()), 0.0)
    found = joint(cells, 3.0)
    mean, sigma = said_of(found, cells)
    again, wide = said_of(found, cells.part(slice(10, 40)))
    np.testing.assert_allclose(again, mean[10:40], atol=2e-3)
    np.testing.assert_allclose(wide, sigma[10:40], atol=2e-3)
