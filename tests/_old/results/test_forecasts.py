"""What is said of entries that were not seen: expectations and intervals within their limits."""

import numpy as np
import pytest
from scipy.stats import truncnorm

import unrelu
from helpers import relu_instance, table_instance
from soak.catalogue import drawn
from unrelu._old.results.forecasts import expected
from unrelu.datasets import planted


def noisy(sigma=0.5, n=80, seed=0):
    instance = planted(n, 2, sigma=sigma, symmetric_noise=True, rng=seed)
    return instance.matrix, np.where(instance.matrix >= 0, instance.matrix, np.nan)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("threshold", [0.0, 0.3])
def test_no_fill_is_beyond_the_limit(dtype, threshold):
    M, _ = noisy()
    X = np.where(threshold <= M, M, np.nan).astype(dtype)
    found = unrelu.complete(X, 2, threshold=threshold, rng=0)
    hidden = np.isnan(X) & ~np.eye(80, dtype=bool)
    assert (found.matrix()[hidden] > threshold).any()  # the fit itself is, here and there
    assert (found.filled()[hidden] <= threshold).all()
    np.testing.assert_array_equal(found.filled()[~np.isnan(X)], X[~np.isnan(X)])


def test_a_fill_is_the_expectation_given_the_limit():
    M, X = noisy()
    found = unrelu.complete(X, 2, loss="censored", rng=0)
    hidden = np.isnan(X) & ~np.eye(80, dtype=bool)
    fit = found.matrix()[hidden]
    by_hand = truncnorm(-np.inf, (0 - fit) / found.sigma, loc=fit, scale=found.sigma).mean()
    np.testing.assert_allclose(found.filled()[hidden], by_hand, atol=1e-6)
    off = {
        name: np.mean((values - M[hidden]) ** 2) for name, values in (("fit", fit), ("fill", found.filled()[hidden]))
    }
    assert off["fill"] < off["fit"]


def test_without_noise_a_fill_is_the_fit():
    M, X = relu_instance()
    np.testing.assert_allclose(unrelu.complete(X, 3, rng=0).filled(), M, atol=1e-9)


def test_what_is_missing_for_another_reason_is_filled_by_the_fit():
    M, X = noisy()
    unknown = np.zeros(X.shape, dtype=bool)
    i, j = np.argwhere(np.triu(M > 2, 1))[0]
    unknown[i, j] = unknown[j, i] = True
    X[unknown] = np.nan
    found = unrelu.complete(X, 2, unknown=unknown, rng=0)
    assert found.filled()[i, j] == found.matrix()[i, j] > 1
    low, high = found.predict(i, j)
    assert low < M[i, j] < high


@pytest.mark.parametrize("side", ["above", "below"])
def test_intervals_of_entries_cover_and_stay_beyond_the_limit(side):
    inside = []
    for seed in range(3):
        M, X = noisy(seed=seed)
        sign = 1 if side == "above" else -1
        structure = "psd" if side == "above" else "indefinite"
        found = unrelu.complete(sign * X, 2, seen=side, structure=structure, rng=0)
        i, j = np.nonzero(np.triu(np.isnan(X), 1))
        low, high = found.predict(i, j)
        assert (high <= 0).all() if side == "above" else (low >= 0).all()
        inside.append(np.mean((low <= sign * M[i, j]) & (sign * M[i, j] <= high)))
        narrow = found.predict(i, j, level=0.5)
        assert ((narrow[0] >= low) & (narrow[1] <= high)).all()
    assert 0.92 < np.mean(inside) < 0.98


def test_tables_have_them_too():
    M, X = table_instance(40, 30, 2, sigma=0.3)
    found = unrelu.complete_rectangular(X, 2, rng=0)
    i, j = np.nonzero(np.isnan(X))
    assert (found.filled()[i, j] <= 0).all()
    low, high = found.predict(i, j)
    assert (high <= 0).all()
    assert 0.9 < np.mean((low <= M[i, j]) & (M[i, j] <= high)) < 0.99
    i, j = np.nonzero(~np.isnan(X))
    for end in found.predict(i, j):
        np.testing.assert_array_equal(end, X[i, j])


@pytest.mark.filterwarnings("ignore::unrelu.CompletionWarning")
def test_of_what_the_data_do_not_determine_only_the_limit_is_known():
    _, X = noisy()
    X[0, 1:] = X[1:, 0] = np.nan
    found = unrelu.complete(X, 2, rng=0)
    low, high = found.predict(0, [3, 4])
    np.testing.assert_array_equal(low, -np.inf)
    np.testing.assert_array_equal(high, 0.0)


def test_levels_are_probabilities():
    _, X = noisy()
    with pytest.raises(unrelu.InputError, match=r"level must be a probability between 0 and 1, such as 0.95; got 95"):
        unrelu.complete(X, 2, rng=0).predict(0, 1, level=95)


def test_a_forecast_warns_where_an_interval_does():
    instance = drawn("tables-noisy:12000:132")
    found = unrelu.complete_rectangular(instance.data, rng=0, **instance.arguments())
    for asked in (found.interval, found.predict):
        with pytest.warns(unrelu.CompletionWarning, match="not proportional") as said:
            asked(0, 1)
        assert said[0].filename == __file__


def test_rounding_to_single_precision_does_not_lead_beyond():
    limit = np.array([0.1])  # no float32: the nearest lies above it
    found = expected(np.array([0.7], np.float32), (np.array([-np.inf]), limit), 1e-12)
    assert found.dtype == np.float32
    assert float(found[0]) <= 0.1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_entry_unseen_beyond_either_of_two_limits_is_filled_beyond_one_of_them(dtype):
    rng = np.random.default_rng(3)
    U, noise = rng.standard_normal((60, 2)), rng.standard_normal((60, 60))
    M = (U @ U.T + 0.3 * (np.triu(noise) + np.triu(noise, 1).T)).astype(dtype)
    low, high = np.full((60, 1), dtype(-1)), np.linspace(0.8, 1.5, 60, dtype=dtype)[:, None]  # each row its own
    X = np.where((low <= M) & (high >= M), M, np.nan)
    found = unrelu.complete(X, 2, threshold=(low, high), seen="between", rng=0)
    unseen = np.isnan(X) & np.isnan(X.T)
    fit, filled = found.matrix(), found.filled()
    assert filled.dtype == dtype
    for values, some in ((fit, True), (filled, False)):
        between = (values > low) & (values < high) & unseen
        assert (between | between.T).any() == some
