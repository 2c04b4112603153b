"""New rows for a finished factor, against a reference that solves one row at a time."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import unrelu
from unrelu import CompletionWarning, InputError
from unrelu._old.placing import attach
from unrelu._old.placing.attach import attach_rows, bands

NAN = np.nan
# What least squares by orthogonal methods leaves of an exact, well-conditioned row, with a margin for size.
EXACT = 1e-12


def reference(U: np.ndarray, K: np.ndarray, rcond: float = 1e-10) -> np.ndarray:
    rows = np.zeros((len(K), U.shape[1]))
    for i, k in enumerate(K):
        seen = ~np.isnan(k)
        if seen.any():
            rows[i] = np.linalg.lstsq(U[seen], k[seen], rcond=rcond)[0]
    return rows


def planted(n: int = 60, r: int = 4, m: int = 25, seed: int = 11) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    U, new = rng.standard_normal((n, r)), rng.standard_normal((m, r))
    K = new @ U.T
    return U, new, np.where(K >= 0, K, NAN)


def twisted(closeness: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows that see only fitted rows whose last two coordinates are nearly equal."""
    rng = np.random.default_rng(3)
    U, new = rng.standard_normal((60, 3)), rng.standard_normal((20, 3))
    U[:30, 2] = U[:30, 1] + closeness * rng.standard_normal(30)
    K = new @ U.T
    K[:, 30:] = NAN
    return U, new, K


@pytest.mark.parametrize("entries", [100, attach.BAND_ENTRIES])
def test_exact_rows_come_back_without_solving_them_one_by_one(monkeypatch, entries):
    U, new, K = planted()
    before = K.copy()

    def one_by_one(*args: object) -> None:
        raise AssertionError("a well-conditioned row was solved alone")

    monkeypatch.setattr(attach.Frame, "solve_one", one_by_one)
    monkeypatch.setattr(attach, "BAND_ENTRIES", entries)
    np.testing.assert_allclose(attach_rows(U, K), new, rtol=0, atol=EXACT)
    np.testing.assert_array_equal(K, before)


def test_a_graded_factor_costs_no_accuracy_in_the_completed_entries():
    U, new, _ = planted(r=5)
    U = U * np.logspace(0, -6, 5)
    K = new @ U.T
    rows = attach_rows(U, np.where(K >= 0, K, NAN))
    np.testing.assert_allclose(rows @ U.T, K, rtol=0, atol=EXACT)
    np.testing.assert_allclose(rows[:, 0], new[:, 0], rtol=0, atol=EXACT)
    # Normal equations of U itself, with condition 1e12, leave errors of 1e-4 / 1e-6 in the last column.
    np.testing.assert_allclose(rows[:, 4], new[:, 4], rtol=0, atol=1e-7)


@pytest.mark.parametrize("closeness", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
def test_the_condition_is_not_squared(closeness):
    """An orthogonal method leaves about ε/closeness, plain normal equations ε/closeness²."""
    U, new, K = twisted(closeness)
    with warnings.catch_warnings(action="error"):
        rows = attach_rows(U, K)
    assert np.abs(rows - new).max() < 100 * np.finfo(float).eps / closeness


def test_noisy_rows_are_least_squares():
    U, _, K = planted()
    K = K + 0.3 * np.random.default_rng(0).standard_normal(K.shape)
    np.testing.assert_allclose(attach_rows(U, K), reference(U, K), rtol=0, atol=EXACT)


@settings(max_examples=200, deadline=None)
@given(
    n=st.integers(1, 12),
    r=st.integers(1, 5),
    m=st.integers(0, 6),
    share=st.floats(0, 1),
    size=st.sampled_from([1e-30, 1.0, 1e30]),
    seed=st.integers(0, 2**16),
)
def test_any_pattern_agrees_with_one_row_at_a_time(n, r, m, share, size, seed):
    """Also rows that see too little; small integers make dependent rows exactly dependent."""
    rng = np.random.default_rng(seed)
    U = rng.integers(-2, 3, (n, r)).astype(float)
    K = np.where(rng.random((m, n)) < share, rng.standard_normal((m, n)), NAN)
    with warnings.catch_warnings(action="ignore", category=CompletionWarning):
        rows = attach_rows(U * size, K)
    np.testing.assert_allclose(rows * size, reference(U, K), rtol=0, atol=1e-10)


@settings(max_examples=100, deadline=None)
@given(steps=st.integers(0, 9), share=st.floats(0.1, 1), seed=st.integers(0, 2**16))
def test_every_row_fits_what_it_sees_however_the_factor_is_graded(steps, share, seed):
    """Backward stability: the misfit on seen entries is rounding of |u|·|u_j|, whatever the conditioning."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((15, 3)) * np.logspace(0, -steps, 3) * np.logspace(0, -rng.integers(0, 5), 15)[:, None]
    K = rng.standard_normal((5, 3)) @ U.T
    K[rng.random(K.shape) >= share] = NAN
    with warnings.catch_warnings(action="ignore", category=CompletionWarning):
        rows = attach_rows(U, K)
    weak = 1e-10 * np.linalg.norm(U, 2) * 10  # what lies in directions that count as not seen stays
    scale = np.linalg.norm(rows, axis=1)[:, None] * np.linalg.norm(U, axis=1)
    assert np.nanmax(np.abs(rows @ U.T - K) - weak - 1e-13 * scale, initial=-1) <= 0


def test_a_fitted_row_comes_back_as_it_was():
    """The gradient of F with respect to one row is that row's normal equation, exact fit or not."""
    rng = np.random.default_rng(8)
    U = rng.standard_normal((50, 3))
    noise = rng.standard_normal((50, 50))
    M = U @ U.T + 0.1 * (noise + noise.T)
    X = np.where(M >= 0, M, NAN)
    completion = unrelu.complete(X, rank=3, loss="observed", rng=1)
    assert completion.verdict.converged
    assert completion.residual > 1e-3
    np.testing.assert_allclose(attach_rows(completion.factor, X), completion.factor, rtol=0, atol=1e-7)


# --- bands -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entries", [1, 7, 100, 1000])
def test_bands_change_nothing(monkeypatch, entries):
    U, _, K = planted()
    K[3] = NAN
    K[17, 2:] = NAN
    with pytest.warns(CompletionWarning) as expected:
        whole = attach_rows(U, K)
    monkeypatch.setattr(attach, "BAND_ENTRIES", entries)
    with pytest.warns(CompletionWarning) as found:
        np.testing.assert_allclose(attach_rows(U, K), whole, rtol=0, atol=EXACT)
    assert [str(w.message) for w in found] == [str(w.message) for w in expected]


@pytest.mark.parametrize(("count", "width"), [(0, 5), (10, 1), (10, 3), (10, 10**9), (1, 0)])
def test_bands_cover_every_row_once(monkeypatch, count, width):
    monkeypatch.setattr(attach, "BAND_ENTRIES", 7)
    covered = [i for band in bands(count, width) for i in range(count)[band]]
    assert covered == list(range(count))
    assert all((b.stop - b.start) * width <= 7 or b.stop - b.start == 1 for b in bands(count, width))


def test_memory_does_not_grow_with_the_number_of_rows(monkeypatch):
    monkeypatch.setattr(attach, "BAND_ENTRIES", 1 << 14)
    U, _, K = planted(n=200, r=20, m=4000)  # 6.4 MB
    tracemalloc.start()
    attach_rows(U, K)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    result = 4000 * 20 * 8
    assert peak < result + 12 * 8 * (1 << 14)


# --- dtypes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor_type", [np.float32, np.float64])
def test_float32_rows_stay_float32(factor_type):
    U, new, K = planted()
    rows = attach_rows(U.astype(factor_type), K.astype(np.float32))
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, new, rtol=0, atol=1e-5)


def test_double_precision_inside_whatever_the_factor():
    U, new, _ = planted()
    U = U.astype(np.float32)
    K = new @ U.astype(np.float64).T
    rows = attach_rows(U, np.where(K >= 0, K, NAN))
    assert rows.dtype == np.float64
    np.testing.assert_allclose(rows, new, rtol=0, atol=EXACT)


def test_whole_numbers_lists_and_masked_arrays():
    U = [[1, 0], [0, 1], [1, 1]]
    np.testing.assert_allclose(attach_rows(U, [[2, 3, 5]]), [[2, 3]], atol=EXACT)
    hidden = np.ma.MaskedArray([[2, 3, 99]], mask=[[False, False, True]])
    np.testing.assert_allclose(attach_rows(U, hidden), [[2, 3]], atol=EXACT)
    assert hidden.data[0, 2] == 99


# --- what the data do not determine ------------------------------------------------------------------------


def test_rows_that_see_nothing_are_zero_and_named():
    U, new, K = planted()
    K[[2, 5]] = NAN
    with pytest.warns(CompletionWarning) as caught:
        rows = attach_rows(U, K)
    assert [str(w.message) for w in caught] == [
        "nothing was seen of rows 2, 5 of K; completed with zeros, which the data do not determine"
    ]
    assert caught[0].filename == __file__
    assert not rows[[2, 5]].any()
    others = np.delete(np.arange(len(K)), [2, 5])
    np.testing.assert_allclose(rows[others], new[others], rtol=0, atol=EXACT)


def test_rows_that_see_too_little_get_the_least_norm_and_the_first_few_are_named():
    U, _, K = planted(r=4)
    values = np.random.default_rng(2).standard_normal((7, 3))
    K[:7] = NAN
    K[:7, :3] = values
    with pytest.warns(CompletionWarning) as caught:
        rows = attach_rows(U, K)
    assert [str(w.message) for w in caught] == [
        "rows 0, 1, 2, 3, 4 and 2 more of K see fewer than 4 independent fitted rows; "
        "completed with the least norm, which the data do not determine"
    ]
    np.testing.assert_allclose(rows[:7], values @ np.linalg.pinv(U[:3]).T, rtol=0, atol=EXACT)
    np.testing.assert_allclose(rows[:7] @ U[:3].T, values, rtol=0, atol=EXACT)


def test_a_row_that_sees_many_dependent_rows_sees_too_little():
    U, new, _ = planted(r=3)
    U[:20] = np.outer(np.arange(1, 21), U[0])
    K = (new @ U.T)[:1]
    K[:, 20:] = NAN
    with pytest.warns(CompletionWarning, match=r"^row 0 of K sees fewer than 3 independent fitted rows"):
        row = attach_rows(U, K)[0]
    np.testing.assert_allclose(row, U[0] * (new[0] @ U[0]) / (U[0] @ U[0]), rtol=0, atol=EXACT)


def test_a_factor_of_lower_rank_is_no_reason_to_warn():
    U, new, _ = planted(r=2)
    U = np.hstack([U, U @ [[1.0], [2.0]]])
    K = new @ U[:, :2].T
    with warnings.catch_warnings(action="error"):
        rows = attach_rows(U, np.where(K >= 0, K, NAN))
    np.testing.assert_allclose(rows, K @ np.linalg.pinv(U).T, rtol=0, atol=EXACT)


def test_near_dependence_in_a_factor_of_lower_rank_is_no_reason_to_warn_either():
    U, new, K = twisted(1e-6)
    wide = np.hstack([U, U[:, :1]])
    with warnings.catch_warnings(action="error"):
        rows = attach_rows(wide, K)
    np.testing.assert_allclose(rows[:, 0] + rows[:, 3], new[:, 0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(rows[:, 0], rows[:, 3], rtol=0, atol=1e-8)


def test_a_zero_factor_says_nothing():
    with warnings.catch_warnings(action="error"):
        assert not attach_rows(np.zeros((3, 2)), np.ones((4, 3))).any()


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-14])
@pytest.mark.parametrize("r", [1, 2])
def test_a_row_that_sees_only_negligible_rows_sees_nothing_of_use(size, r):
    """Their coordinates are rounding errors, and dividing by those would give rows of any size."""
    U = np.random.default_rng(6).standard_normal((10, r))
    U[:3] *= size
    K = np.full((1, 10), NAN)
    K[0, :3] = 1.0
    with pytest.warns(CompletionWarning, match=rf"^row 0 of K sees fewer than {r} independent fitted rows"):
        assert not attach_rows(U, K).any()


def test_a_row_that_sees_only_a_direction_too_weak_to_count_sees_nothing_of_use():
    U = np.zeros((10, 2))
    U[:8, 0] = np.random.default_rng(6).standard_normal(8)
    U[8:, 1] = 1e-12
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    K = np.full((1, 10), NAN)
    K[0, 8:] = 1.0
    with pytest.warns(CompletionWarning, match=r"^row 0 of K sees fewer than 1 independent fitted rows"):
        assert not attach_rows(U @ turn, K).any()


def test_rcond_decides_what_counts_as_independent():
    U, new, K = twisted(1e-4)
    np.testing.assert_allclose(attach_rows(U, K), new, rtol=0, atol=1e-9)
    U, new, K = twisted(1e-6)
    with pytest.warns(CompletionWarning, match="fewer than 3 independent"):
        blurred = attach_rows(U, K, rcond=1e-4)
    np.testing.assert_allclose(blurred, reference(U, K, rcond=1e-4), rtol=0, atol=EXACT)
    assert np.abs(blurred - new).max() > 0.1


def test_no_rows_no_work():
    assert attach_rows(np.ones((3, 2)), np.ones((0, 3))).shape == (0, 2)


# --- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("factor", "K", "options", "expected"),
    [
        (
            np.ones(3),
            np.ones((1, 3)),
            {},
            "factor must have shape (n, r) with n and r at least 1, got shape (3,)",
        ),
        (
            np.ones((3, 0)),
            np.ones((1, 3)),
            {},
            "factor must have shape (n, r) with n and r at least 1, got shape (3, 0)",
        ),
        (
            [[1.0], [NAN]],
            np.ones((1, 2)),
            {},
            "factor must be finite, got NaN or infinite entries; is this the matrix rather than its factor?",
        ),
        (
            np.ones((3, 1)),
            np.ones(3),
            {},
            "K must be 2-D, one row per new item, got shape (3,); write K[None, :] for one row",
        ),
        (
            np.ones((3, 1)),
            np.ones((2, 4)),
            {},
            "K must have 3 columns, one for each row of the factor, got shape (2, 4)",
        ),
        (
            np.ones((3, 1)),
            np.ones((2, 3), bool),
            {},
            "K must hold real numbers, got dtype bool; convert it with .astype(float) first",
        ),
        (
            np.ones((3, 1)),
            [[1, 2, 3], [4]],
            {},
            "K must be a matrix of numbers, got rows of different lengths",
        ),
        (
            np.ones((3, 1)),
            [[1, 2, 3], [4, -np.inf, NAN]],
            {},
            "K must be finite where it was seen, got -inf at (1, 1); write NaN where nothing was seen",
        ),
        (
            np.ones((3, 1)),
            scipy.sparse.csr_array(np.ones((2, 3))),
            {},
            "K must be a dense array with NaN where nothing was seen, got a sparse one; "
            "fill an array of NaN with what it stores",
        ),
        *[
            (
                np.ones((3, 1)),
                np.ones((2, 3)),
                {"rcond": rcond},
                f"rcond must be a number in [0, 1), or None for the default; got {rcond!r}",
            )
            for rcond in (1, -1e-3, NAN, "0.1", True, [0.1])
        ],
    ],
)
def test_refusals(factor, K, options, expected):
    with pytest.raises(InputError) as caught:
        attach_rows(factor, K, **options)
    assert str(caught.value) == expected
