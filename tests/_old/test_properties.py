"""What must hold for every matrix, tried on many."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import unrelu
import unrelu._old.data.sampling
from helpers import asymmetric_instance
from unrelu import Observed, OneSided
from unrelu._old.data.observations import Observations
from unrelu._old.problems.psd import PSDProblem

seeds = st.integers(0, 10**6)
losses = st.sampled_from([Observed(), OneSided()])
few = settings(max_examples=25, deadline=None)


def made(seed, loss):
    X, unknown = asymmetric_instance(n=24, seed=seed)
    rng = np.random.default_rng(seed)
    return (
        X,
        unknown,
        rng.standard_normal((24, 3)),
        PSDProblem(Observations.of(X, unknown=unknown), 3, loss),
        rng,
    )


@few
@given(seeds, losses)
def test_rotating_the_factor_changes_nothing(seed, loss):
    _, _, U, problem, rng = made(seed, loss)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    here, there = problem.evaluate(U), problem.evaluate(U @ Q)
    np.testing.assert_allclose(there.value, here.value, rtol=1e-12)
    np.testing.assert_allclose(there.gradient, here.gradient @ Q, atol=1e-10 * np.abs(here.gradient).max())


@few
@given(seeds, losses)
def test_permuting_rows_permutes_value_and_gradient(seed, loss):
    X, unknown, U, problem, rng = made(seed, loss)
    p = rng.permutation(len(X))
    moved = PSDProblem(Observations.of(X[np.ix_(p, p)], unknown=unknown[np.ix_(p, p)]), 3, loss)
    here, there = problem.evaluate(U), moved.evaluate(U[p])
    np.testing.assert_allclose(there.value, here.value, rtol=1e-12)
    np.testing.assert_allclose(there.gradient, here.gradient[p], atol=1e-10 * np.abs(here.gradient).max())


@few
@given(seeds, losses)
def test_permuting_rows_permutes_the_answer(seed, loss):
    X, unknown, U, _, rng = made(seed, loss)
    p = rng.permutation(len(X))
    here = unrelu.complete(X, 3, unknown=unknown, loss=loss, start=U, tol=1e-12, max_iter=100)
    there = unrelu.complete(
        X[np.ix_(p, p)], 3, unknown=unknown[np.ix_(p, p)], loss=loss, start=U[p], tol=1e-12, max_iter=100
    )
    assume(here.verdict.converged and there.verdict.converged)
    M = here.matrix()
    np.testing.assert_allclose(there.matrix(), M[np.ix_(p, p)], atol=1e-6 * np.abs(M).max())


@few
@given(seeds, losses, st.integers(-230, 230), st.sampled_from(["tailored", "random-imputation", "random-spectral"]))
def test_scaling_the_data_scales_the_answer_and_changes_nothing_else(seed, loss, power, start):
    X, unknown, _, _, _ = made(seed, loss)
    c = 4.0**power  # a power of four is exact, and so is its square root
    here = unrelu.complete(X, 3, unknown=unknown, loss=loss, start=start, rng=seed, max_iter=30)
    there = unrelu.complete(c * X, 3, unknown=unknown, loss=loss, start=start, rng=seed, max_iter=30)
    assert there.verdict.code == here.verdict.code
    assert len(there.history) == len(here.history)
    np.testing.assert_allclose(there.factor / np.sqrt(c), here.factor, rtol=1e-9, atol=1e-9 * np.abs(here.factor).max())


@pytest.mark.parametrize(
    ("dtype", "power"), [(np.float32, 40), (np.float32, -40), (np.float64, 240), (np.float64, -240)]
)
def test_data_at_the_edge_of_floating_point_are_recovered(dtype, power):
    U = np.random.default_rng(0).standard_normal((60, 3))
    M = (U @ U.T).astype(dtype)
    X = np.where(M >= 0, M, np.nan).astype(dtype)
    c = dtype(4.0) ** dtype(power)
    plain = unrelu.complete(X, 3, rng=1, truth=M)
    scaled = unrelu.complete(c * X, 3, rng=1, truth=c * M)
    assert scaled.verdict == plain.verdict
    assert scaled.verdict.converged
    assert scaled.history[-1].error == plain.history[-1].error
    np.testing.assert_array_equal(scaled.matrix(), c * plain.matrix())
    np.testing.assert_array_equal(scaled.filled(), c * plain.filled())


@few
@given(seeds, st.floats(0.1, 10))
def test_scaling_with_a_threshold_scales_it_too(seed, c):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((40, 2))
    X = unrelu._old.data.sampling.thresholded(U @ U.T, 0.2)
    assume(not np.isnan(X).all(axis=0).any())
    here = unrelu.complete(X, 2, threshold=0.2, rng=seed)
    # c·0.2 rounds to one side or the other of c times the entries; no entry lies that near
    there = unrelu.complete(c * X, 2, threshold=0.2 * c, rng=seed)
    np.testing.assert_allclose(there.residual, here.residual, atol=1e-6)
    if here.verdict.converged and here.residual < 1e-8:
        np.testing.assert_allclose(there.matrix() / c, here.matrix(), atol=1e-6)


@few
@given(seeds)
def test_transposing_the_data_changes_nothing(seed):
    X, unknown, _, _, _ = made(seed, OneSided())
    how = {"start": "tailored", "rng": 0, "max_iter": 10}
    here = unrelu.complete(X, 3, unknown=unknown, **how)
    there = unrelu.complete(X.T, 3, unknown=unknown.T, **how)
    np.testing.assert_allclose(there.factor, here.factor, rtol=1e-6, atol=1e-6 * np.abs(here.factor).max())
