"""Rules behind the four words that could be loosened unseen: each on rows whose answer is plain."""

import numpy as np
import pytest

from judging import judged
from unrelu.certificates.agreement import cleared
from unrelu.certificates.direct import DataError, from_block
from unrelu.observations import Observations


def seen(X, **absence):
    return Observations.of(np.array(X, float), **{"threshold": None, **absence})


# --- rows that are zero ------------------------------------------------------------------------------------------------


def test_a_row_of_which_nothing_was_seen_is_not_zero_to_the_data():
    nan = np.nan
    X = [[1, 1, nan], [1, 1, nan], [nan, nan, nan]]
    assert cleared(seen(X), np.array([[1.0], [1], [0]]))[1].tolist() == [False, False, False]


@pytest.mark.parametrize(("entry", "zero"), [(0.0, True), (1e-12, False)])
def test_a_row_that_only_the_fit_has_at_zero_is_not_zero_to_the_data(entry, zero):
    X = [[1, 1, entry], [1, 1, 0], [entry, 0, 0]]
    assert cleared(seen(X), np.array([[1.0], [1], [0]]))[1].tolist() == [False, False, zero]


def test_zeros_beside_a_diagonal_that_was_not_seen_do_not_make_a_row_zero():
    """Row 4 saw a zero with row 0 alone: it may be anything at a right angle to it."""
    U = np.array([[1.0, 0], [1, 1], [0, 1], [2, 1], [0, 0]])
    X = U @ U.T
    X[4, 1:] = X[1:, 4] = np.nan
    assert judged(X, U, threshold=None).determined.tolist() == [True] * 4 + [False]
    X[4, 4] = 0
    assert judged(X, U, threshold=None).determined.all()


# --- the fit and the data ----------------------------------------------------------------------------------------------


def noisy(U, sigma=0.01):
    noise = sigma * np.random.default_rng(1).standard_normal((len(U), len(U)))
    return U @ U.T + noise + noise.T


def gaussian(n, rank, seed=0):
    return np.random.default_rng(seed).standard_normal((n, rank))


def test_with_noise_nothing_is_proved_not_even_a_row_of_zeros():
    U = gaussian(12, 2)
    U[11] = 0
    X = noisy(U)
    X[11] = X[:, 11] = 0
    found = judged(X, U, misfit=1.0, threshold=None)
    assert not found.agrees
    assert set(found.level) == {"generic"}


def test_a_row_that_does_not_fit_takes_no_proof_from_the_others():
    """Row 10 saw one row and itself, and the fit misses both."""
    U = gaussian(11, 2)
    X = U @ U.T
    X[10, 1:10] = X[1:10, 10] = np.nan
    X[10, 10] += 0.1
    X[10, 0] = X[0, 10] = X[0, 10] + 0.1
    found = judged(X, U, misfit=0.2, threshold=None)
    assert found.agrees
    assert found.level.tolist()[:10] == ["proved"] * 10
    assert not found.determined[10]


@pytest.mark.parametrize(("off", "determined"), [(0.0, True), (1e-3, False)])
def test_rows_outside_the_body_are_tested_only_where_the_data_want_them(off, determined):
    """Four rows see one row of the body each, and each other: ten entries for eight numbers, if all of them fit."""
    U = gaussian(14, 2)
    X = U @ U.T
    X[10:, :10] = X[:10, 10:] = np.nan
    for i in range(10, 14):
        X[i, i - 10] = X[i - 10, i] = U[i] @ U[i - 10]
        X[i, i] = np.nan
    X[12, 13] = X[13, 12] = X[12, 13] + off
    found = judged(X, U, misfit=np.sqrt(2) * off, threshold=None)
    assert found.agrees
    assert found.determined[:10].all()
    assert found.determined[[12, 13]].all() == determined


@pytest.mark.parametrize(("times", "agrees"), [(1e2, True), (1e6, False)])
def test_a_small_row_agrees_by_its_own_size(times, agrees):
    """The whole leaves room for a hundred times the rounding of large rows, which is more than all of a small one."""
    U = np.array([[1.0], [1.0], [1.0], [1e-7]])
    X = U @ U.T
    off = 1e-7 * times * 1e-15
    X[3, :3] = X[:3, 3] = 1e-7 + off
    assert judged(X, U, misfit=np.sqrt(6) * off, threshold=None).agrees == agrees


@pytest.mark.parametrize(("share", "beyond"), [(1e-14, False), (2e-12, True)])
def test_a_block_of_small_rows_is_beyond_the_rank_by_its_own_size(share, beyond):
    """Four rows of size 1e-5 have a second direction of this share, beside a row of size 1 that hides the misfit."""
    s = 1e-5
    U = np.array([[1.0], [s], [s], [s], [s]])
    X = U @ U.T
    w = np.array([1.0, -1, 1, -1]) / 2
    X[1:, 1:] += share * 4 * s**2 * np.outer(w, w)
    X[0, 2:] = X[2:, 0] = np.nan
    assert judged(X, U, misfit=share * 4 * s**2, threshold=None).agrees != beyond


# --- the first block -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("error", "counts"), [(2e-7, True), (4e-7, False)])
def test_a_block_must_be_semidefinite_whatever_the_error(error, counts):
    """Two unit rows an angle of √2/1000 apart: their block has an eigenvalue of 1e-6, and an error of 2·``error``."""
    U = np.array([[1.0, 0], [np.cos(np.sqrt(2) / 1e3), np.sin(np.sqrt(2) / 1e3)]])
    found = from_block(seen(U @ U.T), U, DataError(0.0, error), np.arange(2))
    assert (found is not None) is counts


def test_a_block_with_a_hole_is_no_block_even_if_the_fit_stands_for_the_data():
    U = gaussian(4, 2)
    X = U @ U.T
    error = DataError(0.0, 1e-15, as_fitted=True)
    assert from_block(seen(X), U, error, np.arange(4)) is not None
    X[0, 1] = X[1, 0] = np.nan
    assert from_block(seen(X), U, error, np.arange(4)) is None
