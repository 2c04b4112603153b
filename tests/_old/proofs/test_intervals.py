"""Guaranteed intervals contain the truth, always; and they are as narrow as simple geometry says."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import unrelu
import unrelu._old.proofs.programs
from unrelu import CompletionWarning
from unrelu._old.base.tolerances import DIRECT_LARGEST_SHARE
from unrelu._old.data.sampling import thresholded
from unrelu._old.proofs.programs import least
from unrelu.datasets import FAMILIES, family

SEEDS = st.integers(0, 2**32 - 1)
# An entry that is determined is known to the digits of the fit.
SHARP = 1e-9


def quick(test):
    return settings(max_examples=25, deadline=None, derandomize=True)(test)


def completed(X, rank, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompletionWarning)
        return unrelu.complete(X, rank, **options)


def short_of_entries(M, tau, rows, count, rng):
    """What the threshold shows, but of some rows only so many entries: the others are missing for another reason."""
    X = thresholded(M, tau)
    unknown = np.zeros(M.shape, dtype=bool)
    for i in rows:
        others = np.setdiff1d(np.flatnonzero(~np.isnan(X[i])), rows)
        hide = np.append(rng.permutation(others)[count:], np.setdiff1d(rows, i))
        hide = hide[~np.isnan(X[i, hide])]
        unknown[i, hide] = unknown[hide, i] = True
        X[i, hide] = X[hide, i] = np.nan
    return X, unknown


def with_undetermined_rows(quantile, seed, n=100, rank=5, name="gaussian"):
    """At threshold 0 rows are made short of entries, beyond the 85 % quantile they are by themselves."""
    rng = np.random.default_rng([seed, 11])
    M = family(name, n, rank, rng=[seed, 12]).truth
    if quantile == 0:
        X, unknown = short_of_entries(M, 0.0, np.arange(6), rank - 2, rng)
        return M, completed(X, rank, unknown=unknown, rng=seed), rng
    tau = float(np.quantile(M, quantile))
    return M, completed(thresholded(M, tau), rank, threshold=tau, rng=seed), rng


def contained(quantile, seed, count, **options):
    """Of ``count`` random entries of undetermined rows: how many contain the truth, and how many are finite."""
    M, completion, rng = with_undetermined_rows(quantile, seed, **options)
    rows = np.flatnonzero(~completion.determined)
    if rows.size == 0:
        return count, count
    i, j = rng.choice(rows, count), rng.integers(0, len(M), count)
    low, high = completion.bounds(i, j)
    return int(((low <= M[i, j]) & (M[i, j] <= high)).sum()), int(np.isfinite(high - low).sum())


@pytest.mark.parametrize("quantile", [0, 0.85, 0.9])
def test_the_truth_is_inside(quantile):
    inside, finite = np.array([contained(quantile, seed, 17) for seed in range(2)]).sum(axis=0)
    assert inside == 34
    assert finite > 17


@pytest.mark.slow
def test_the_truth_is_inside_a_thousand_times():
    counts = [contained(quantile, seed, 10) for quantile in (0, 0.85, 0.9) for seed in range(100, 134)]
    assert sum(inside for inside, _ in counts) == 10 * len(counts) >= 1000


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_the_truth_is_inside_in_every_family(name):
    counts = [contained(quantile, seed, 20, name=name) for quantile in (0, 0.7, 0.85) for seed in range(3)]
    assert sum(inside for inside, _ in counts) == 180


@quick
@given(seed=SEEDS, rank=st.integers(1, 4), family_name=st.sampled_from(sorted(FAMILIES)))
def test_the_truth_is_inside_on_small_matrices_of_any_family(seed, rank, family_name):
    """All entries at once, rows with few entries, rows of very different size, entries that are exactly zero."""
    rng = np.random.default_rng(seed)
    M = family(family_name, 16, rank, rng=seed).truth
    X, unknown = short_of_entries(M, 0.0, np.arange(2), max(rank - 1, 1), rng)
    completion = completed(X, rank, unknown=unknown)
    everyone = np.arange(16)
    low, high = completion.bounds(everyone[:, None], everyone)
    wrong = (low > M) | (high < M)
    assert not wrong.any(), np.argwhere(wrong)
    seen = ~np.isnan(X)
    assert (low[seen] == X[seen]).all()
    assert (high[seen] == X[seen]).all()
    absent = ~seen & ~unknown & ~np.eye(16, dtype=bool)
    assert (high[absent] <= SHARP).all()
    proved = (completion.determinacy == "proved") & completion.determined
    # A row counts as proved up to a bound of a thousandth of its size, loosened fourfold on both sides of both rows.
    assert (high - low)[np.outer(proved, proved)].max(initial=0) <= 16 * DIRECT_LARGEST_SHARE * np.abs(M).max()


def known_body(rank=2):
    """Rows 1… fully seen, and row 0 to be shown in part."""
    rng = np.random.default_rng(5)
    U = rng.standard_normal((20, rank))
    U[1:5] = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    U[0] = [0.5, -0.8]
    M = U @ U.T
    X = M.copy()
    X[0] = X[:, 0] = np.nan
    return M, X


def test_a_norm_bounds_what_no_entry_says():
    """Only m₀₀ was seen of row 0: |m₀ⱼ| ≤ √(m₀₀ mⱼⱼ), by Cauchy and Schwarz."""
    M, X = known_body()
    X[0, 0] = M[0, 0]
    low, high = completed(X, 2, threshold=None).bounds(0, np.arange(1, 20))
    most = np.sqrt(M[0, 0] * np.diag(M)[1:])
    assert np.allclose(high, most, rtol=1e-6)
    assert np.allclose(low, -most, rtol=1e-6)


def test_one_direction_is_known_and_the_other_is_not():
    """Row 0 sees e₁: its entry with −e₁ follows, that with e₂ may be anything."""
    M, X = known_body()
    X[0, 1] = X[1, 0] = M[0, 1]
    completion = completed(X, 2, threshold=None)
    low, high = completion.bounds(0, [2, 3, 4])
    assert low[0] <= -M[0, 1] <= high[0]
    assert high[0] - low[0] < 1e-7
    assert low[1:].tolist() == [-np.inf, -np.inf]
    assert high[1:].tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("side", ["above", "below"])
def test_what_absence_says_cuts_the_interval(side):
    """Row 0 sees e₁; its entries with ±e₂ are absent, all of the others seen or unknown."""
    M, X = known_body()
    X[0, 1] = X[1, 0] = M[0, 1]
    tau = float(np.nanmin(X)) - 0.1 if side == "above" else float(np.nanmax(X)) + 0.1
    unknown = np.isnan(X)
    unknown[0, 3:5] = unknown[3:5, 0] = False
    completion = completed(X, 2, threshold=tau, seen=side, unknown=unknown, loss="observed")
    low, high = completion.bounds(0, [3, 4])
    assert np.allclose(high if side == "above" else low, tau)


def test_entries_within_another_component_are_sharp():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((30, 2))
    M = U @ U.T
    X = np.full((30, 30), np.nan)
    X[:18, :18], X[18:, 18:] = M[:18, :18], M[18:, 18:]
    X[20, 25] = X[25, 20] = X[3, 4] = X[4, 3] = np.nan
    low, high = completed(X, 2, threshold=None).bounds([20, 3, 3], [25, 4, 25])
    assert ((low <= M[[20, 3, 3], [25, 4, 25]]) & (M[[20, 3, 3], [25, 4, 25]] <= high)).all()
    assert (high - low)[:2].max() < SHARP
    assert (high - low)[2] > 0.1  # between components only norms say something
    assert np.isfinite(high[2])


@pytest.mark.parametrize("scale", [2.0**-400, 2.0**300])
def test_scaling_the_data_scales_the_bounds(scale):
    M, _, rng = with_undetermined_rows(0.85, 3)
    tau = float(np.quantile(M, 0.85))
    X = thresholded(M, tau)
    one = completed(X, 5, threshold=tau, rng=1)
    other = completed(X * scale, 5, threshold=tau * scale, rng=1)
    assert (one.determinacy == other.determinacy).all()
    i = rng.choice(np.flatnonzero(~one.determined), 10)
    j = rng.integers(0, 100, 10)
    assert np.array_equal(np.array(one.bounds(i, j)) * scale, np.array(other.bounds(i, j)))


def special_instance(seed):
    """Small matrices of every odd kind: repeated, nearly repeated, zero, integer, very unequal rows; odd patterns."""
    rng = np.random.default_rng([seed, 7])
    n = int(rng.integers(2, 21))
    rank = min(int(rng.integers(1, 4)), n)
    U = rng.standard_normal((n, rank))
    few = rng.integers(0, max(2, n // 2), n) % n
    kind = int(rng.integers(6))
    U = [
        U,
        U[few],
        U * (rng.random((n, 1)) < 0.7),
        rng.integers(-2, 3, (n, rank)).astype(float),
        U * 10.0 ** rng.integers(-3, 4, (n, 1)),
        U[few] + 1e-6 * rng.standard_normal((n, rank)),
    ][kind]
    M = U @ U.T
    M = np.triu(M) + np.triu(M, 1).T
    tau = [None, 0.0, float(np.quantile(M, rng.choice([0.2, 0.5, 0.7, 0.85])))][int(rng.integers(3))]
    side = "below" if tau is not None and rng.random() < 0.2 else "above"
    X = M.copy() if tau is None else thresholded(M, tau, side)
    hidden = rng.random((n, n)) < rng.choice([0.0, 0.1, 0.3, 0.6])
    if rng.random() < 0.5:
        hidden = np.triu(hidden) | np.triu(hidden, 1).T
    X[hidden] = np.nan
    return M, X, rank, {"threshold": tau, "seen": side, "unknown": None if tau is None else hidden}


def missed(seed):
    """Entries that their bounds miss, or None if the pattern is refused; seen ones and their mirrors are sharp."""
    M, X, rank, options = special_instance(seed)
    try:
        completion = completed(X, rank, rng=0, **options)
    except unrelu.InputError:
        return None
    low, high = completion.bounds(np.arange(len(M))[:, None], np.arange(len(M)))
    assert (low <= high).all()
    either = np.where(np.isnan(X), X.T, X)
    seen = ~np.isnan(either)
    assert (low[seen] == either[seen]).all()
    assert (high[seen] == either[seen]).all()
    return int(((low > M) | (high < M)).sum())


def test_no_bound_misses_special_rows_and_patterns():
    assert sum(missed(seed) or 0 for seed in range(60)) == 0


@pytest.mark.slow
def test_no_bound_misses_special_rows_and_patterns_a_thousand_times():
    counts = [missed(seed) for seed in range(1000, 2200)]
    assert sum(count is not None for count in counts) > 1000
    assert sum(count or 0 for count in counts) == 0


def test_what_is_generic_bounds_nothing():
    """Six rows, each repeated: all is determined in general position, and there is another completion."""
    rng = np.random.default_rng(363)
    U = rng.standard_normal((6, 2))[rng.integers(0, 6, 13)]
    M = U @ U.T
    tau = float(np.quantile(M, 0.3))
    completion = completed(thresholded(M, tau), 2, threshold=tau, rng=0)
    low, high = completion.bounds(np.arange(13)[:, None], np.arange(13))
    assert not ((low > M) | (high < M)).any()


def test_nothing_is_proved_with_noise():
    """Bounds are then what absence and norms say, whatever the fit is."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((20, 2))
    noise = 1e-3 * rng.standard_normal((20, 20))
    X = thresholded(U @ U.T + noise + noise.T, 0.0)
    low, high = completed(X, 2).bounds(np.arange(20)[:, None], np.arange(20))
    hidden = np.isnan(X)
    size = np.sqrt(np.diag(X))
    assert np.allclose(high[hidden], 0)
    assert np.allclose(low[hidden], -np.outer(size, size)[hidden])


def test_the_mirror_of_a_seen_entry_is_that_entry():
    M, X = known_body()
    X[0, 1:] = M[0, 1:]
    X[3:9, 2] = np.nan
    completion = completed(X, 2, threshold=None)
    low, high = completion.bounds(np.arange(20)[:, None], np.arange(20))
    assert np.array_equal(low[1:, 0], X[0, 1:])
    assert np.array_equal(high[1:, 0], X[0, 1:])
    assert np.array_equal(low[3:9, 2], X[2, 3:9])


def test_rows_of_unknown_size_are_not_taken_to_be_small():
    """Of row 0 one direction was seen and the other not; it is a hundred times as long as all others."""
    rng = np.random.default_rng(5)
    U = rng.standard_normal((20, 2))
    U[0] = [0.5, -300.0]
    U[1], U[2] = [1.0, 0.0], [-1.0, 1e-7]
    M = U @ U.T
    X = M.copy()
    X[0] = X[:, 0] = np.nan
    X[0, 1] = X[1, 0] = M[0, 1]
    low, high = completed(X, 2, threshold=None).bounds(0, np.arange(1, 20))
    assert ((low <= M[0, 1:]) & (M[0, 1:] <= high)).all()


def test_a_row_of_zeros_is_zero_though_the_fit_has_rounding_there():
    """Without a diagonal no block starts, and what rounding left in row 0 has no bound of its own."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((20, 2))
    U[0] = 0
    X = U @ U.T
    np.fill_diagonal(X, np.nan)
    X[0, 0] = 0
    X[0, 1:4] = X[1:4, 0] = np.nan
    completion = completed(X, 2, threshold=None, start=U)
    factor = completion.factor.copy()
    factor[0] = 1e-20
    low, high = replace(completion, factor=factor).bounds(0, np.arange(20))
    assert (low <= 0).all()
    assert (high >= 0).all()
    assert (high - low).max() < SHARP


def test_bounds_broadcast_and_are_symmetric():
    _, completion, rng = with_undetermined_rows(0, 1)
    i, j = np.arange(3)[:, None], rng.integers(0, 100, 4)
    low, high = completion.bounds(i, j)
    assert low.shape == high.shape == (3, 4)
    back = completion.bounds(j[:, None], i[:, 0])
    assert np.array_equal(low, back[0].T)
    assert np.array_equal(high, back[1].T)
    assert (low <= high).all()


def test_single_precision():
    M, _, rng = with_undetermined_rows(0.85, 1)
    M = M.astype(np.float32)
    tau = float(np.quantile(M, 0.85))
    completion = completed(thresholded(M, tau), 5, threshold=tau)
    i = rng.choice(np.flatnonzero(~completion.determined), 30)
    j = rng.integers(0, 100, 30)
    low, high = completion.bounds(i, j)
    assert ((low <= M[i, j]) & (M[i, j] <= high)).all()


def program(seed):
    """Random constraints that x satisfies, some of them tight, some twice, and a direction to go."""
    rng = np.random.default_rng([seed, 3])
    r, k = int(rng.integers(1, 9)), int(rng.integers(1, 60))
    A = rng.standard_normal((k, r))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    A = A[rng.integers(0, k, k)] if seed % 4 == 0 else A
    x = rng.standard_normal(r)
    b = A @ x + np.where(rng.random(k) < 0.5, 1e-9, rng.random(k))
    equal = int(rng.integers(0, min(r, k) + 1))
    A, b = np.concatenate([A, -A[:equal]]), np.concatenate([b, -A[:equal] @ x + 1e-9])
    c = A[0] if seed % 3 == 0 else rng.standard_normal(r)
    return c / np.linalg.norm(c), A, b, x


@pytest.mark.parametrize("seed", range(200))
def test_programs_are_solved(seed):
    c, A, b, x = program(seed)
    answer = linprog(c, A_ub=A, b_ub=b, bounds=(None, None))
    found = least(c, A, b, 1e4, known=False)
    assert found <= c @ x
    if answer.status == 0:
        assert found == pytest.approx(answer.fun, abs=1e-7)
    else:
        assert found == -np.inf


@pytest.mark.parametrize("steps", [0, 1])
def test_a_program_left_early_gives_a_bound_all_the_same(steps, monkeypatch):
    monkeypatch.setattr(unrelu._old.proofs.programs, "MOST", steps)
    for seed in range(50):
        c, A, b, x = program(seed)
        assert least(c, A, b, float(np.linalg.norm(x))) <= c @ x


def test_contradictory_constraints_say_nothing():
    A = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert least(np.array([1.0, 0.0]), A, np.array([-1.0, -1.0]), 10.0) == -np.inf


def test_programs_write_nothing(capfd):
    """HiGHS printed its doubts about this one to standard output, whatever its options said."""
    rng = np.random.default_rng(3263)
    r, k = int(rng.integers(1, 6)), int(rng.integers(1, 40))
    A = rng.standard_normal((k, r))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    x = rng.standard_normal(r)
    size = 10.0 ** rng.integers(-12, 13)
    b = A @ x * size + rng.choice([0, 1e-12, 1e-9, 1e-3]) * rng.random(k) * size
    equal = int(rng.integers(0, k))
    A, b = np.concatenate([A, -A[:equal]]), np.concatenate([b, -b[:equal] + rng.choice([1e-13, 1e-9]) * size])
    assert least(A[0], A, b, 10 * size) <= A[0] @ x * size
    assert capfd.readouterr() == ("", "")
