"""``PSDCompleter`` without a rank, and its score by entries that are held out."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.model_selection import GridSearchCV

import unrelu
from helpers import relu_instance
from unrelu import PSDCompleter
from unrelu._old.estimators.held_out import NewRows

CUT = 0.3


def noisy(n=90, rank=2, sigma=0.1):
    rng = np.random.default_rng(5)
    U = rng.standard_normal((n, rank))
    noise = rng.standard_normal((n, n)) / np.sqrt(2)
    M = U @ U.T + sigma * (noise + noise.T)
    return np.where(M >= 0, M, np.nan)


def kernel():
    points = np.random.default_rng(3).standard_normal((32, 3))
    return np.exp(-np.square(points[:, None] - points).sum(axis=2) / 6)


@pytest.fixture(scope="module")
def forecasting():
    M = kernel()
    X = np.where(M >= CUT, M, np.nan)
    completer = PSDCompleter(threshold=CUT, random_state=0).fit(X[:24, :24])
    assert completer.completion_.forecasts  # else nothing is about forecasts
    return M, X, completer


def test_no_rank_finds_the_planted_one():
    M, X = relu_instance(50, 2)
    completer = PSDCompleter(random_state=0).fit(X[:40, :40])
    assert completer.rank is None
    assert completer.rank_ == 2
    np.testing.assert_allclose(completer.transform(X[40:, :40]), M[40:, :40], atol=1e-8)


def test_new_rows_of_a_model_that_forecasts_are_forecast_within_their_limits(forecasting):
    _, X, completer = forecasting
    filled = completer.transform(X[24:, :24])
    seen = ~np.isnan(X[24:, :24])
    np.testing.assert_array_equal(filled[seen], X[24:, :24][seen])
    assert (filled[~seen] <= CUT).all()
    assert np.isfinite(filled).all()
    assert completer.embed(X[24:, :24]).shape == (8, completer.rank_)


def test_a_grid_search_by_the_score_finds_the_rank():
    search = GridSearchCV(PSDCompleter(random_state=0), {"rank": [1, 2, 3]}, cv=3).fit(noisy())
    assert search.best_params_ == {"rank": 2}


def test_the_score_is_that_of_entries_left_out_one_by_one():
    X = noisy(60)
    completer = PSDCompleter(2, threshold=0.0, random_state=0).fit(X[:50, :50])
    rows = NewRows.of(completer.completion_)
    U, sigma = completer.factor_, rows.sigma
    prior = U.T @ U / len(U)
    scores = []
    for row in X[50:, :50]:
        for j in range(50):
            others = ~np.isnan(row)
            others[j] = False
            # The same by the covariance of all entries of the row together.
            joint = U @ prior @ U.T + sigma**2 * np.eye(50)
            weights = np.linalg.solve(joint[np.ix_(others, others)], joint[others, j])
            mean = weights @ row[others]
            deviation = np.sqrt(joint[j, j] - weights @ joint[others, j])
            known = not np.isnan(row[j])
            scores.append(norm.logpdf(row[j], mean, deviation) if known else norm.logcdf(0.0, mean, deviation))
    assert completer.score(X[50:, :50]) == pytest.approx(np.mean(scores), rel=1e-6)


def test_without_structure_every_entry_is_scored_alike(forecasting):
    _, X, completer = forecasting
    found = completer.completion_
    simple = replace(found, rehearsal=replace(found.rehearsal, extrapolates=False))
    shown, row = found.rehearsal.none, X[24:25, :24]
    seen = ~np.isnan(row)
    z = shown.scale.z(np.append(row[seen], CUT))
    expected = norm.logpdf(z[:-1], shown.mean, shown.sigma).sum() + shown.scale.log_slope(row[seen]).sum()
    expected += (~seen).sum() * norm.logcdf(z[-1], shown.mean, shown.sigma)
    assert NewRows.of(simple).log_likelihood(completer._cells(row)) == pytest.approx(expected / row.size)


def test_limits_that_differ_from_row_to_row_are_not_those_of_other_rows():
    X = noisy(30)
    completer = PSDCompleter(2, threshold=np.zeros((30, 1)), random_state=0).fit(X)
    with pytest.raises(unrelu.InputError, match="limits of new rows are not known where they differ"):
        completer.score(X[:5])
