"""Pieces that never see each other, or only by noise: landmarks claim nothing of entries across."""

import warnings

import numpy as np
import pytest

import unrelu
from unrelu import CompletionWarning, Landmarks
from unrelu._old.scale.hanging import hanging_together


def signs_of_a_table(shape, noise, seed=0):
    """Of rank 1, entries from 0 on: the signs make two pieces, and noise lets a few entries across."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal(shape[0]), rng.standard_normal(shape[1])
    X = np.outer(a, b) + noise * rng.standard_normal(shape)
    return a, b, np.where(X >= 0, X, np.nan)


def two_groups(n, rank, noise, seed=0):
    """A symmetric matrix of two groups of rows that never see each other."""
    rng = np.random.default_rng(seed)
    U, one = rng.standard_normal((n, rank)), rng.random(n) < 0.5
    errors = np.triu(noise * rng.standard_normal((n, n)))
    X = U @ U.T + errors + np.triu(errors, 1).T
    return U, one, np.where(one[:, None] == one, X, np.nan)


def checked(found, across):
    """What is said of two pieces, of which noise may have carried rows that are nearly zero into the other."""
    assert found.verdict.code == "fitted-to-noise"
    assert "see too little to be placed" in found.verdict.reason
    assert 0.4 < found.determined_share < 0.7
    assert np.isinf(found.standard_errors(*across)).all()
    low, high = found.interval(*across)
    assert np.isinf(low).all()
    assert np.isinf(high).all()
    assert set(found.entry_determinacy(*across)) == {"no"}
    assert np.isnan(found.matrix(undetermined="nan")[across]).all()


@pytest.mark.parametrize(
    ("shape", "noise", "threshold"),
    [((60, 50), 0.01, None), ((50, 16), 1e-3, None), ((500, 400), 0.01, None), ((60, 50), 0.01, 0.0)],
)
def test_noise_ties_no_pieces_of_a_table_together(shape, noise, threshold):
    a, b, X = signs_of_a_table(shape, noise)
    with pytest.warns(CompletionWarning, match="too little was seen to place"):
        found = unrelu.complete_rectangular(X, 1, threshold=threshold, method="landmarks", rng=0)
    across = np.nonzero((np.abs(a)[:, None] > 0.2) & (np.abs(b) > 0.2) & (np.outer(a, b) < 0))
    checked(found, across)
    assert found.sigma == pytest.approx(noise, rel=0.25)
    inside = found.determined[:, None] & found.columns_determined
    strong = inside & (np.outer(a, b) > 0.1)
    off = np.abs(found.matrix() - np.outer(a, b))[strong]
    assert (off < 5 * found.standard_errors(*np.nonzero(strong))).all()


@pytest.mark.parametrize("chunks", [20, 33])
def test_chunks_do_not_decide_what_the_data_leave_open(chunks):
    da = pytest.importorskip("dask.array")
    a, b, X = signs_of_a_table((60, 50), 0.01)
    source = unrelu.DaskSource(da.from_array(X, chunks=chunks))
    with pytest.warns(CompletionWarning, match="too little was seen to place"):
        found = unrelu.complete_rectangular(source, 1, threshold=None, method="landmarks", rng=0)
    checked(found, np.nonzero((np.abs(a)[:, None] > 0.2) & (np.abs(b) > 0.2) & (np.outer(a, b) < 0)))


def test_noise_ties_no_pieces_of_a_symmetric_matrix_together():
    rng = np.random.default_rng(0)
    u, noise = rng.standard_normal(400), np.triu(0.01 * rng.standard_normal((400, 400)))
    X = np.outer(u, u) + noise + np.triu(noise, 1).T
    X[X < 0] = np.nan
    with pytest.warns(CompletionWarning, match="too little was seen to place"):
        found = unrelu.complete(X, 1, threshold=None, method="landmarks", rng=0)
    checked(found, np.nonzero((np.abs(u)[:, None] > 0.2) & (np.abs(u) > 0.2) & (np.outer(u, u) < 0)))


@pytest.mark.parametrize("method", ["landmarks", Landmarks(columns=60)])
@pytest.mark.parametrize(("n", "rank"), [(60, 1), (150, 2), (500, 2)])
def test_a_piece_that_is_never_seen_does_not_spoil_the_other(n, rank, method):
    U, one, X = two_groups(n, rank, 0.01)
    with pytest.warns(CompletionWarning, match="too little was seen to place"):
        found = unrelu.complete(X, rank, threshold=None, method=method, rng=0)
    checked(found, np.nonzero(one[:, None] != one))
    assert found.sigma == pytest.approx(0.01, rel=0.1)
    inside = found.determined
    assert set(one[inside]) != {True, False}
    assert set(np.flatnonzero(~inside)) == set(found.undetermined_rows)
    off = np.abs(found.matrix() - U @ U.T)[np.ix_(inside, inside)]
    assert off.max() < 0.1


def test_a_table_of_two_pieces_is_fitted_where_few_columns_are_read():
    rng = np.random.default_rng(0)
    L, R = rng.standard_normal((600, 2)), rng.standard_normal((500, 2))
    X = L @ R.T + 0.01 * rng.standard_normal((600, 500))
    across = (rng.random(600) < 0.5)[:, None] != (rng.random(500) < 0.5)
    X[across] = np.nan
    with pytest.warns(CompletionWarning, match="too little was seen to place"):
        found = unrelu.complete_rectangular(X, 2, threshold=None, method=Landmarks(columns=60), rng=0)
    checked(found, np.nonzero(across))
    assert found.sigma == pytest.approx(0.01, rel=0.1)


def test_rows_without_a_place_have_infinite_errors_and_no_warnings():
    u = np.random.default_rng(1).standard_normal((60, 1))
    X = np.where(u @ u.T >= 0, u @ u.T, np.nan)
    with pytest.warns(CompletionWarning):
        found = unrelu.complete(X, 1, threshold=None, method="landmarks", rng=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        everyone = np.arange(60)
        errors = found.standard_errors(everyone[:, None], everyone)
        low, high = found.interval(everyone[:, None], everyone)
    inside = found.determined[:, None] & found.determined
    assert not errors[inside].any()
    assert np.isinf(errors[~inside]).all()
    assert np.isinf(high - low)[~inside].all()


def test_what_hangs_together_is_the_larger_piece_and_all_where_there_is_one():
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((80, 3)), rng.standard_normal((70, 3))
    seen = rng.random((80, 70)) < 0.5
    assert all(some.all() for some in hanging_together(seen, left, right, 0.1))
    one, other = np.arange(80) < 50, np.arange(70) < 45
    rows, cols = hanging_together(seen & (one[:, None] == other), left, right, 0.1)
    np.testing.assert_array_equal(rows, one)
    np.testing.assert_array_equal(cols, other)
