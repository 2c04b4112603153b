import numpy as np
import pytest

import unrelu
from helpers import asymmetric_instance, relu_instance
from unrelu import RandomImputation, RandomSpectral, Spectral, Tailored
from unrelu._old.data import sampling
from unrelu._old.data.observations import Observations
from unrelu._old.model import factors


def start(kind, X, rank, seed=3, **how):
    return kind(X if isinstance(X, Observations) else Observations.of(X, **how), rank, np.random.default_rng(seed))


@pytest.mark.parametrize("kind", [Tailored, RandomImputation, RandomSpectral, Spectral])
@pytest.mark.parametrize("n", [90, 500])
def test_columns_are_scaled_or_orthonormal_on_request(kind, n):
    _, X = relu_instance(n, 4)
    scaled, plain = start(kind(), X, 4), start(kind(scaled=False), X, 4)
    np.testing.assert_allclose(plain.T @ plain, np.eye(4), atol=1e-4)
    lengths = np.linalg.norm(scaled, axis=0)
    assert np.all(np.diff(lengths) <= 1e-6)
    np.testing.assert_allclose(scaled / lengths, plain, atol=1e-4)


def test_tailored_is_the_paper_s_at_threshold_zero():
    M, X = relu_instance(90, 4)
    U = start(Tailored(), X, 4)
    rng = np.random.default_rng(3)
    Y = rng.standard_normal((90, 4))
    q = np.einsum("ik,ik->i", Y, np.roll(Y, 1, axis=0))
    Q = Y @ Y.T * np.sqrt(np.nanmean(X**2) / np.mean(q**2))
    bar = np.where(np.isnan(X), -np.abs(Q), M)
    values, vectors = np.linalg.eigh(bar)
    expected = vectors[:, -4:] * values[-4:] @ vectors[:, -4:].T
    np.testing.assert_allclose(U @ U.T, expected, atol=1e-8)


def test_random_imputation_fills_on_either_side_and_random_spectral_everywhere():
    _, X = relu_instance(90, 4)
    observations = Observations.of(X)
    Y = np.random.default_rng(0).standard_normal((90, 4))
    whole = slice(0, 90)
    filled = RandomImputation().fill(observations, Y, whole, whole)
    np.testing.assert_allclose(filled, np.where(np.isnan(X), Y @ Y.T, X / observations.unit))
    np.testing.assert_allclose(RandomSpectral().fill(observations, Y, whole, whole), Y @ Y.T)


@pytest.mark.parametrize(("threshold", "seen"), [(0.7, "above"), (-0.7, "above"), (0.7, "below"), (-0.2, "below")])
def test_tailored_draws_lie_on_the_unseen_side(threshold, seen):
    M, _ = relu_instance(60, 3)
    X = sampling.thresholded(M, threshold, seen)
    Y = np.random.default_rng(0).standard_normal((60, 3))
    whole = slice(0, 60)
    observations = Observations.of(X, threshold=threshold, seen=seen)
    filled = Tailored().fill(observations, Y, whole, whole)
    absent = observations.absent(whole, whole, X)
    filled = filled * observations.unit
    assert np.all(filled[absent] <= threshold) if seen == "above" else np.all(filled[absent] >= threshold)
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])


def test_half_seen_pairs_are_half_drawn():
    X, unknown = asymmetric_instance()
    observations = Observations.of(X, unknown=unknown)
    Y = np.random.default_rng(0).standard_normal((30, 3))
    whole = slice(0, 30)
    Q = Y @ Y.T
    absent = observations.absent(whole, whole, X)
    bar = np.where(np.isnan(X), np.where(absent, -np.abs(Q), 0), X / observations.unit)
    np.testing.assert_allclose(Tailored().fill(observations, Y, whole, whole), (bar + bar.T) / 2, atol=1e-12)


@pytest.mark.parametrize("threshold", [0.0, 1.5, -1.0])
def test_draws_have_the_scale_of_the_data(threshold):
    M, _ = relu_instance(400, 6)
    observed = Observations.of(sampling.thresholded(50 * M, 50 * threshold), threshold=50 * threshold)
    U = start(RandomSpectral(), observed, 6)
    assert np.mean((U @ U.T) ** 2) == pytest.approx(np.mean((50 * M) ** 2), rel=0.5)


def test_rows_of_which_nothing_was_seen_start_at_zero():
    _, X = relu_instance(40, 2)
    X[3], X[:, 3] = np.nan, np.nan
    assert not start(Tailored(), X, 2)[3].any()


def test_no_column_starts_at_zero_even_without_positive_eigenvalues_left():
    X = np.full((6, 6), np.nan)
    X[0, 0] = 1.0
    with pytest.warns(unrelu.CompletionWarning):
        completion = unrelu.complete(X, 6, rng=0, max_iter=0)
    assert np.all(np.linalg.norm(completion.factor, axis=0) > 0)
    assert np.isfinite(completion.factor).all()


def test_factor_distance_does_not_cancel():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((50, 3))
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    V = U @ Q
    V[0, 0] += 1e-11
    assert factors.distance(U, U @ Q) < 1e-13
    assert factors.distance(U, V) == pytest.approx(np.linalg.norm(U @ U.T - V @ V.T), rel=0.05)
    np.testing.assert_allclose(factors.align(U, U @ Q), U @ Q, atol=1e-12)
