"""A certificate that says ``unique`` is never wrong, and planted instances get one.

Every instance with two completions is built with both of them in hand, and both are shown to agree with what was seen.
"""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unrelu
from unrelu import CompletionWarning, InputError

GENERIC = ("proved", "generic")
SEEDS = st.integers(0, 2**32 - 1)
# Seen values of the two completions agree to this share of the largest: rounding of products of a few terms.
SAME = 1e-14
# Two completions differ in an entry if it is off by this share of the largest.
DIFFERENT = 1e-6


def quick(test):
    return settings(max_examples=12, deadline=None, derandomize=True)(test)


def hidden(M, seen):
    return np.where(seen, M, np.nan)


def completed(X, rank, start=None, **absence):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompletionWarning)
        kind = {} if start is None else {"start": start}
        return unrelu.complete(X, rank, threshold=absence.pop("threshold", None), **kind, **absence)


def full_pattern(*groups):
    """Seen: everything within each group."""
    n = max(max(group) for group in groups) + 1
    seen = np.zeros((n, n), dtype=bool)
    for group in groups:
        seen[np.ix_(group, group)] = True
    return seen


def reflected(U, rows, normal):
    V = U.copy()
    V[rows] -= 2 * np.outer(V[rows] @ normal, normal) / (normal @ normal)
    return V


def never_joined(found, differ):
    """No two rows with different entries between them are both called proved or generic in one component."""
    called = np.isin(found.level, GENERIC)
    together = np.equal.outer(found.components, found.components) & (found.components >= 0)[:, None]
    return not (differ & together & np.outer(called, called)).any()


def refuses(X, first, second, rank, *, same=SAME, starts="all", **absence):
    """Both factors agree with what was seen, and no certificate calls one of them unique."""
    A, B = first @ first.T, second @ second.T
    seen, largest = ~np.isnan(X), np.abs(A).max()
    for M in (A, B):
        assert np.abs(M - X)[seen].max() <= same * largest
    tau = absence.get("threshold")
    if tau is not None:
        assert max(A[~seen].max(), B[~seen].max()) <= tau
    differ = np.abs(A - B) > DIFFERENT * largest
    assert differ.any()
    for start in (None, first, second) if starts == "all" else (first, second):
        completion = completed(X, rank, start, **absence)
        certificate = unrelu.certify(completion)
        assert not certificate.unique
        assert certificate.failed, "a certificate that proves nothing must name what fails"
        assert never_joined(certificate.determinacy, differ)
        assert never_joined(completion._rows.determinacy, differ)
        blank = completion.matrix(undetermined="nan")
        assert np.isnan(blank[differ & ~seen]).all() or np.isnan(blank[differ]).all()
        assert (completion.entry_determinacy(*np.nonzero(differ & ~seen)) != "proved").all()
    return certificate


# --- instances with two completions ------------------------------------------------------------------------------


@quick
@given(seed=SEEDS, n=st.integers(4, 30))
def test_rank_one_with_mixed_signs_has_two_completions(seed, n):
    rng = np.random.default_rng(seed)
    u = rng.uniform(0.5, 2, (n, 1)) * np.where(np.arange(n) % 2, 1, -1)[:, None]
    M = u @ u.T
    refuses(hidden(M, M >= 0), u, np.abs(u), 1)
    # What absence says tells them apart.
    certificate = unrelu.certify(hidden(M, M >= 0), 1)
    assert certificate.unique
    assert certificate.uses_absence
    assert certificate.kind == "reflection"
    assert not certificate.any_rank
    assert "with what absence says" in certificate.explain()
    assert "Places that differ by a reflection were told apart by what absence says." in certificate.explain()


@quick
@given(seed=SEEDS, rank=st.integers(2, 5), extra=st.integers(0, 4))
def test_two_groups_that_share_a_hyperplane_can_be_reflected(seed, rank, extra):
    """Groups A|S|B, S spanning r − 1 directions: with more than r − 1 rows in S a random stress is deceived."""
    rng = np.random.default_rng(seed)
    m = rank - 1 + extra
    U = rng.standard_normal((m + 2 * (rank + 3), rank))
    normal = np.linalg.qr(rng.standard_normal((rank, 1)))[0][:, 0]
    U[:m] -= np.outer(U[:m] @ normal, normal)
    S, A, B = np.split(np.arange(len(U)), [m, m + rank + 3])
    X = hidden(U @ U.T, full_pattern(np.r_[S, A], np.r_[S, B]))
    certificate = refuses(X, U, reflected(U, B, normal), rank)
    assert "gluing" in certificate.failed or "attachment" in certificate.failed
    assert set(certificate.determinacy.level) <= {"proved", "local"}
    assert (certificate.determinacy.level == "proved").sum() >= m + rank + 3


@quick
@given(seed=SEEDS, rank=st.integers(1, 4))
def test_absence_settles_the_reflection_of_a_group(seed, rank):
    rng = np.random.default_rng(seed)
    normal = np.eye(rank)[-1]
    U = np.abs(rng.standard_normal((40, rank))) + 0.1
    S, A, B = np.split(np.arange(40), [20, 30])
    U[S, -1] = 0
    U[B, -1] *= -1
    U[A, :-1] *= 0.05 / rank  # entries between A and B are negative, those of the mirrored one positive
    U[B, :-1] *= 0.05 / rank
    M = U @ U.T
    mirrored = reflected(U, B, normal)
    seen = full_pattern(np.r_[S, A], np.r_[S, B])
    assert (M[np.ix_(A, B)] < 0).all()
    assert ((mirrored @ mirrored.T)[np.ix_(A, B)] > 0).all()
    certificate = unrelu.certify(completed(hidden(M, seen), rank, U, threshold=0.0))
    assert certificate.unique
    assert certificate.uses_absence
    refuses(hidden(M, seen), U, mirrored, rank, starts="both")
    # Entries that are missing for another reason say nothing.
    unknown = np.zeros_like(seen)
    unknown[np.ix_(A, B)] = unknown[np.ix_(B, A)] = True
    assert not unrelu.certify(completed(hidden(M, seen), rank, U, threshold=0.0, unknown=unknown)).unique


def test_absence_settles_it_where_small_entries_were_seen():
    """Entries up to 1 were seen. Large rows D meet C above 1; the mirror image of D and its group meets them below."""
    rng = np.random.default_rng(4)
    S, C, E, D = np.split(np.arange(26), [6, 12, 18])
    U = rng.uniform(0.1, 0.3, (26, 2))
    U[S, 1] = 0
    U[C, 1], U[E, 1], U[D, 1] = rng.uniform(0.5, 0.8, 6), -rng.uniform(0.5, 0.8, 6), 10
    M = U @ U.T
    seen = M <= 1
    unknown = np.zeros_like(seen)
    unknown[np.ix_(C, E)] = unknown[np.ix_(E, C)] = True
    seen &= ~unknown
    X = hidden(M, seen)
    mirrored = reflected(U, np.r_[E, D], np.array([0.0, 1.0]))
    assert (M[~seen & ~unknown] > 1).all()
    assert ((mirrored @ mirrored.T)[np.ix_(C, D)] < 1).all()
    refuses(X, U, mirrored, 2, starts="both")
    certificate = unrelu.certify(completed(X, 2, U, threshold=1.0, seen="below", unknown=unknown))
    assert certificate.unique, certificate.explain()
    assert certificate.uses_absence
    other = unrelu.certify(completed(X, 2, mirrored, threshold=1.0, seen="below", unknown=unknown))
    assert not other.unique or np.abs(other.factor @ other.factor.T - M).max() < 1e-8


@quick
@given(seed=SEEDS, rank=st.integers(2, 5), diagonal=st.booleans())
def test_a_row_that_sees_too_little_has_another_place(seed, rank, diagonal):
    rng = np.random.default_rng(seed)
    n = 3 * rank + 8
    U = rng.standard_normal((n, rank))
    seen = np.ones((n, n), dtype=bool)
    seen[0, rank:] = seen[rank:, 0] = False
    seen[0, 0] = diagonal
    normal = np.linalg.svd(U[1:rank])[2][-1]
    second = U.copy()
    second[0] += (-2 * (U[0] @ normal) if diagonal else 1.0) * normal
    certificate = refuses(hidden(U @ U.T, seen), U, second, rank)
    assert certificate.determined.sum() == n - 1
    assert not certificate.determined[0]
    assert certificate.determinacy.level[0] == ("local" if diagonal else "no")
    assert [shortage.row for shortage in certificate.shortages] == [0]
    (shortage,) = certificate.shortages
    assert (shortage.seen, shortage.independent, shortage.needed) == (rank - 1, rank - 1, rank)
    assert len(shortage.ask_for) == 1
    assert f"rank {rank} needs {rank} (ask for" in certificate.explain()
    # The entry asked for is what was missing.
    seen[0, shortage.ask_for[0]] = seen[shortage.ask_for[0], 0] = True
    assert unrelu.certify(hidden(U @ U.T, seen), rank, threshold=None).unique


@quick
@given(seed=SEEDS, rank=st.integers(2, 5))
def test_pieces_can_be_turned(seed, rank):
    rng = np.random.default_rng(seed)
    sizes = [rank + 5, rank + 3, 1]
    parts = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    U = rng.standard_normal((sum(sizes), rank))
    second = U.copy()
    for rows in parts[1:]:
        second[rows] = second[rows] @ np.linalg.qr(rng.standard_normal((rank, rank)))[0]
    certificate = refuses(hidden(U @ U.T, full_pattern(*parts)), U, second, rank)
    assert certificate.determined.tolist() == [True] * sizes[0] + [False] * (sizes[1] + 1)
    assert len(set(certificate.determinacy.components[:-1].tolist())) == 2
    assert len(certificate.groups) == 2
    assert "gluing" in certificate.failed
    assert f"{rank**2} entries between two groups" in certificate.explain()


@settings(max_examples=3, deadline=None, derandomize=True)
@given(seed=SEEDS)
def test_past_the_counting_limit_many_matrices_fit(seed):
    rng = np.random.default_rng(seed)
    n, rank = 24, 10
    U = rng.standard_normal((n, rank))
    M = U @ U.T
    X = hidden(M, M >= 0)
    pairs = np.count_nonzero(np.triu(M >= 0))
    assert n * rank - rank * (rank - 1) // 2 > pairs
    second = completed(X, rank, U + 0.3 * rng.standard_normal(U.shape), loss="observed").factor
    certificate = refuses(X, U, second, rank, same=1e-9)
    assert "counting" in certificate.failed
    assert not certificate.determined.any()


# --- to the edge of floating point -------------------------------------------------------------------------------


@quick
@given(seed=SEEDS, exponent=st.floats(-18, -15.5), rank=st.integers(2, 4))
def test_a_shared_direction_lost_in_rounding_proves_nothing(seed, exponent, rank):
    """The r-th direction of the shared rows is so weak that the mirror image agrees to rounding."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((rank + 20, rank))
    S, A, B = np.split(np.arange(len(U)), [rank, rank + 10])
    U[S, -1] *= 10**exponent
    X = hidden(U @ U.T, full_pattern(np.r_[S, A], np.r_[S, B]))
    second = reflected(U, B, np.eye(rank)[-1])
    refuses(X, U, second, rank)


def aligned(completion, group, U):
    """Distances of the rows of a group from the truth after the best rotation, each over its bound."""
    rows = group.rows
    F, V = completion.factor[rows].astype(float), U[rows]
    weights = 1 / group.bound[rows]
    left, _, right = np.linalg.svd((F * weights[:, None] ** 2).T @ V)
    return np.linalg.norm(F @ (left @ right) - V, axis=1) * weights


@quick
@given(seed=SEEDS, exponent=st.floats(-14, -6), rank=st.integers(2, 4))
def test_bounds_of_weakly_attached_rows_hold(seed, exponent, rank):
    """Rows and groups attached through a weak direction are off by what their bounds say at most."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((rank + 20, rank))
    S, A, B = np.split(np.arange(len(U)), [rank, rank + 10])
    U[S, -1] *= 10**exponent
    X = hidden(U @ U.T, full_pattern(np.r_[S, A], np.r_[S, B]))
    for start in (None, U, reflected(U, B, np.eye(rank)[-1])):
        completion = completed(X, rank, start)
        observations, found = completion._rows.observations, completion._rows.determinacy
        for group in found.groups:
            scaled = replace(group, bound=group.bound * np.sqrt(observations.unit))
            if found.agrees:
                assert aligned(completion, scaled, U).max() <= 1
        certificate = unrelu.certify(completion)
        if certificate.unique:
            M = U @ U.T
            largest = np.linalg.norm(completion.factor, axis=1).max()
            assert np.abs(completion.matrix() - M).max() <= 3 * certificate.bound * largest**2


@quick
@given(seed=SEEDS, exponent=st.floats(-13, -4), rank=st.integers(1, 6))
def test_bounds_hold_for_errors_as_large_as_allowed(seed, exponent, rank):
    """Every seen entry is off by the given error, with random signs: the factor is off by its bound at most."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((60, rank)) * rng.uniform(0.1, 10, (60, 1))
    M = U @ U.T
    data_error = 10**exponent * np.abs(M).max()
    signs = np.triu(rng.choice([-1.0, 1.0], M.shape))
    noisy = M + data_error * (signs + np.triu(signs, 1).T) * (1 - 1e-9)
    completion = completed(hidden(noisy, M >= 0), rank, U)
    certificate = unrelu.certify(completion, data_error=data_error)
    unit = certificate.observations.unit
    if certificate.determinacy.agrees:
        for group in certificate.determinacy.groups:
            assert aligned(completion, replace(group, bound=group.bound * np.sqrt(unit)), U).max() <= 1
    if certificate.unique:
        assert f"errors of up to {data_error:g}" in certificate.explain()
        assert certificate.bound < 1e-2


def test_the_given_error_decides_between_proof_and_stability():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((80, 3))
    M = U @ U.T
    noise = np.triu(rng.uniform(-1e-7, 1e-7, M.shape))
    X = hidden(M + noise + np.triu(noise, 1).T, M >= 0)
    told, untold = unrelu.certify(X, 3, data_error=1e-7), unrelu.certify(X, 3)
    assert told.unique
    assert told.bound < 1e-3
    assert not untold.unique
    assert untold.kind == "stability"
    assert "agreement" in untold.failed
    assert untold.explain().startswith("Nothing is proved to be unique, for the fit does not agree with the data")
    assert not unrelu.certify(X, 3, data_error=0.5).unique


# --- wording of the claims ---------------------------------------------------------------------------------------


def test_a_polar_proof_speaks_of_symmetric_matrices_only():
    """Two groups joined by entries between equal rows: a rotation is ruled out, a shear is not.

    With Q = [[1, a], [0, 1]] the matrix [[AAᵀ, AQ⁻ᵀ…]] is not symmetric, has rank 2 and the same seen entries.
    """
    rng = np.random.default_rng(0)
    A, B = (np.vstack([np.eye(2), rng.standard_normal((4, 2))]) for _ in range(2))
    U = np.vstack([A, B])
    seen = full_pattern(np.arange(6), np.arange(6, 12))
    seen[[0, 6, 1, 7], [6, 0, 7, 1]] = True
    X = hidden(U @ U.T, seen)
    shear = np.array([[1.0, 0.7], [0.0, 1.0]])
    left, right = np.vstack([A, B @ shear]), np.vstack([A, B @ np.linalg.inv(shear).T])
    other = left @ right.T
    assert np.abs(other - X)[seen].max() < 1e-14
    assert np.abs(other - U @ U.T).max() > 0.5
    certificate = unrelu.certify(completed(X, 2, U))
    assert certificate.unique
    assert certificate.kind == "gluing"
    assert certificate.any_rank
    assert certificate.explain().startswith("Proved: exactly one symmetric matrix of rank at most 2 agrees")


@pytest.mark.parametrize("triangle", [True, False])
def test_an_asymmetric_pattern_is_proved_among_symmetric_matrices(triangle):
    """Of every pair one entry was seen, of some both."""
    rng = np.random.default_rng(1)
    U = rng.standard_normal((50, 3))
    M = U @ U.T
    seen = np.triu(np.ones_like(M, dtype=bool)) if triangle else rng.random(M.shape) < 0.5
    certificate = unrelu.certify(hidden(M, seen), 3, threshold=None)
    if triangle:
        assert certificate.unique
        assert not certificate.symmetric
        assert certificate.explain().startswith("Proved: exactly one symmetric matrix of rank at most 3")
    assert certificate.determined.all()
    assert np.abs(certificate.factor @ certificate.factor.T - M).max() < 1e-10


def test_entries_that_differ_between_the_triangles_are_not_agreed_with():
    """The mean of (i, j) and (j, i) has rank 2, the data have not."""
    rng = np.random.default_rng(3)
    U = rng.standard_normal((40, 2))
    K = rng.standard_normal((40, 40))
    certificate = unrelu.certify(U @ U.T + 1e-6 * (K - K.T), 2, threshold=None)
    assert not certificate.unique
    assert not (certificate.determinacy.level == "proved").any()
    assert "agreement" in certificate.failed
    assert certificate.kind == "stability"


def test_a_diagonal_that_was_not_seen_leaves_higher_ranks_open():
    rng = np.random.default_rng(1)
    U = rng.standard_normal((50, 3))
    M = U @ U.T
    seen = M >= 0
    first = unrelu.certify(hidden(M, seen), 3)
    assert first.any_rank
    assert "the only positive semidefinite matrix of any rank" in first.explain()
    row = int(np.setdiff1d(np.arange(50), first.determinacy.groups[0].seed)[0])
    seen[row, row] = False
    second = unrelu.certify(hidden(M, seen), 3)
    assert second.unique
    assert not second.any_rank
    # Indeed: one more column for that row changes nothing that was seen.
    V = np.hstack([U, 5.0 * np.eye(50)[:, [row]]])
    assert np.abs(V @ V.T - M)[seen].max() < 1e-14
    assert "any rank" not in second.explain()


def test_a_stress_speaks_of_semidefinite_matrices_and_of_zero_rows_by_their_diagonal():
    rng = np.random.default_rng(7)
    U = rng.standard_normal((151, 18))
    U[150] = 0
    M = U @ U.T
    certificate = unrelu.certify(hidden(M, M >= 0), 18)
    assert certificate.unique
    assert certificate.kind == "stress"
    assert certificate.any_rank
    assert certificate.explain().startswith("Proved: exactly one positive semidefinite matrix of any rank agrees")
    assert "within" in certificate.explain()


# --- planted instances are certified -----------------------------------------------------------------------------


def gaussian_is_proved(n, rank, seed):
    U = np.random.default_rng([seed, rank]).standard_normal((n, rank))
    M = U @ U.T
    certificate = unrelu.certify(hidden(M, M >= 0), rank, rng=seed)
    fit = certificate.factor @ certificate.factor.T
    assert np.linalg.norm(fit - M) <= 1e-9 * np.linalg.norm(M)
    return certificate.unique


@pytest.mark.parametrize("rank", [2, 5, 10, 15, 20])
def test_gaussian_matrices_are_proved_unique(rank):
    assert all(gaussian_is_proved(200, rank, seed) for seed in range(2))


@pytest.mark.slow
@pytest.mark.parametrize("rank", [2, 5, 10, 15, 20])
def test_gaussian_matrices_are_proved_unique_in_nineteen_of_twenty(rank):
    assert sum(gaussian_is_proved(200, rank, seed) for seed in range(20)) >= 19


@pytest.mark.slow
def test_large_gaussian_matrices_are_proved_unique_in_nineteen_of_twenty():
    assert sum(gaussian_is_proved(1000, 20, seed) for seed in range(20)) >= 19


@settings(max_examples=2, deadline=None, derandomize=True)  # four certificates each
@given(seed=SEEDS, rank=st.integers(1, 5), log_scale=st.integers(-200, 150))
def test_certificates_do_not_depend_on_units_or_order(seed, rank, log_scale):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((40, rank))
    M = U @ U.T
    X = hidden(M, M >= 0)
    X[0, 1:] = X[1:, 0] = np.nan
    reference = unrelu.certify(X, rank, rng=1)
    scaled = unrelu.certify(X * 4.0 ** round(log_scale * 1.66), rank, rng=1)
    assert (scaled.unique, scaled.kind, scaled.failed) == (reference.unique, reference.kind, reference.failed)
    assert (scaled.determinacy.level == reference.determinacy.level).all()
    order = rng.permutation(40)
    permuted = unrelu.certify(X[np.ix_(order, order)], rank, rng=1)
    assert permuted.unique == reference.unique
    assert (permuted.determinacy.level == reference.determinacy.level[order]).all()
    again = unrelu.certify(X, rank, rng=1)
    assert again.summary() == reference.summary()
    assert again.explain() == reference.explain()


@pytest.mark.parametrize("scale", [2.0**-700, 1.0, 2.0**400])
def test_small_noise_shows_at_any_scale(scale):
    """The square of the misfit is below the smallest number, or above the largest."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((40, 2))
    M = U @ U.T
    noise = np.triu(1e-9 * rng.standard_normal(M.shape))
    X = scale * hidden(M + noise + np.triu(noise, 1).T, M >= 0)
    X[3, 4:] = X[4:, 3] = np.nan
    completion = completed(X, 2)
    assert not (completion.determinacy == "proved").any()
    assert unrelu.certify(completion).kind == "stability"
    exact = completed(scale * hidden(M, M >= 0), 2)
    assert (exact.determinacy == "proved").all()
    assert unrelu.certify(exact).unique


def test_single_precision_is_judged_by_its_own_rounding():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((80, 2))
    M = U @ U.T
    X = hidden(M, M >= 0)
    single = unrelu.certify(X.astype(np.float32), 2)
    assert single.unique
    assert 1e-9 < single.bound < 1e-2
    # The same values as doubles have errors that rounding of doubles does not explain.
    double = unrelu.certify(X.astype(np.float32).astype(np.float64), 2)
    assert not double.unique
    assert double.kind == "stability"


def test_sparse_input_gets_the_same_certificate():
    import scipy.sparse as sp

    rng = np.random.default_rng(2)
    U = rng.standard_normal((60, 2))
    M = U @ U.T
    rows, cols = np.nonzero(M >= 0)
    sparse = sp.csr_array((M[rows, cols], (rows, cols)), shape=M.shape)
    dense = unrelu.certify(hidden(M, M >= 0), 2)
    certificate = unrelu.certify(sparse, 2)
    assert certificate.unique
    assert (certificate.kind, certificate.any_rank) == (dense.kind, dense.any_rank)


@quick
@given(seed=SEEDS, rank=st.integers(1, 4), kind=st.integers(0, 3), absence=st.booleans())
def test_what_is_proved_is_right_on_odd_factors(seed, rank, kind, absence):
    """Integers, rows of very different size, copies of rows: patterns and factors in no general position."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(rank + 2, 14))
    U = rng.standard_normal((n, rank))
    some = rng.integers(0, n, (2, n // 2))
    U = [U, np.round(U), U * 10.0 ** rng.integers(-6, 3, (n, 1)), U.copy()][kind]
    if kind == 3:
        U[some[0]] = -2 * U[some[1]]
    M = U @ U.T
    seen = np.triu(rng.random((n, n)) < rng.uniform(0.3, 1))
    seen = (M >= 0) if absence else seen | seen.T
    if not (seen & (M != 0)).any():
        return
    certificate = unrelu.certify(hidden(M, seen), rank, threshold=0.0 if absence else None)
    fit, found = certificate.factor @ certificate.factor.T, certificate.determinacy
    proved = found.level == "proved"
    together = np.outer(proved, proved) & np.equal.outer(found.components, found.components)
    sizes = np.sqrt(np.diag(M))
    assert not (together & (np.abs(fit - M) > 2e-3 * np.outer(sizes, sizes) + 1e-9 * M.max())).any()
    assert certificate.explain()


# --- bad input ---------------------------------------------------------------------------------------------------


def test_a_rank_that_the_seen_blocks_contradict_is_named():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((60, 4))
    M = U @ U.T
    certificate = unrelu.certify(hidden(M, M >= 0), 2)
    assert not certificate.unique
    assert {"agreement", "rank"} <= set(certificate.failed)
    assert "has an eigenvalue beyond the 2 largest" in certificate.explain()


def test_a_rank_that_is_too_high_is_not_proved():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((60, 2))
    M = U @ U.T
    certificate = unrelu.certify(hidden(M, M >= 0), 4)
    assert not certificate.unique
    assert not certificate.determined.any()
    assert "block" in certificate.failed
    certificate = unrelu.certify(M, 4, threshold=None)
    assert "the fit has rank 2 to rounding; a proof at rank 4 is out of reach, ask for rank=2" in certificate.explain()


def test_a_pattern_without_a_block_names_it():
    """A tridiagonal pattern of rank 3 has blocks of two rows only."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((30, 3))
    seen = np.abs(np.subtract.outer(np.arange(30), np.arange(30))) <= 1
    certificate = unrelu.certify(hidden(U @ U.T, seen), 3, threshold=None)
    assert not certificate.unique
    assert {"counting", "block"} <= set(certificate.failed)
    assert certificate.kind == "none"
    assert "no fully seen block of rank 3" in certificate.explain()
    assert certificate.explain().startswith("Uniqueness of the whole matrix is not proved: no row is")


def test_empty_rows_are_named_and_the_others_proved():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((40, 2))
    M = U @ U.T
    X = hidden(M, M >= 0)
    X[3] = X[:, 3] = np.nan
    certificate = unrelu.certify(X, 2)
    assert not certificate.unique
    assert certificate.failed == ("empty rows",)
    assert certificate.determined.sum() == 39
    assert "nothing was seen of row 3" in certificate.explain()
    assert certificate.shortages[0].row == 3


@pytest.mark.parametrize("rank", [2, 12])
def test_zero_and_duplicated_rows_are_rows_like_others(rank):
    rng = np.random.default_rng(rank)
    U = rng.standard_normal((122, rank))
    U[0] = 0
    U[1] = U[2]
    U[3] = -2 * U[2]
    M = U @ U.T
    certificate = unrelu.certify(hidden(M, M >= 0), rank)
    assert certificate.unique, certificate.explain()
    assert np.abs(certificate.factor @ certificate.factor.T - M).max() < 1e-8


def test_zeros_on_the_diagonal_settle_their_rows():
    """All of it is zero, though only the diagonal was seen: the only semidefinite matrix, but not the only one."""
    X = np.where(np.eye(4, dtype=bool), 0.0, np.nan)
    certificate = unrelu.certify(X, 2, threshold=None)
    assert certificate.unique
    assert certificate.explain().startswith("Proved: exactly one positive semidefinite matrix of any rank agrees")


def test_a_zero_diagonal_beside_other_entries_is_a_contradiction():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((30, 2))
    M = U @ U.T
    M[5, 5] = 0
    certificate = unrelu.certify(M, 2, threshold=None)
    assert not certificate.unique
    assert "agreement" in certificate.failed


def test_nan_on_the_whole_diagonal_leaves_no_block():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((60, 2))
    M = U @ U.T
    X = hidden(M, (M >= 0) & ~np.eye(60, dtype=bool))
    certificate = unrelu.certify(X, 2)
    assert not certificate.any_rank
    assert "block" in certificate.failed or certificate.unique
    assert certificate.determined.all(), "60 rows of rank 2 are determined without their diagonal"
    assert np.abs(certificate.factor @ certificate.factor.T - M).max() < 1e-8


def test_one_outlier_is_not_agreed_with():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((60, 2))
    M = U @ U.T
    X = hidden(M, M >= 0)
    i, j = np.argwhere(np.triu(M > 0.5, 1))[0]
    X[i, j] = X[j, i] = M[i, j] + 1e-3
    certificate = unrelu.certify(X, 2)
    assert not certificate.unique
    assert "agreement" in certificate.failed


def test_a_small_row_must_agree_at_its_own_scale():
    """Off by a thousandth of itself, which beside the other rows looks like rounding."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((60, 2))
    U[7] *= 1e-11
    M = U @ U.T
    assert unrelu.certify(M, 2, threshold=None).unique
    M[7, 20:40] *= 1 + 1e-3 * rng.standard_normal(20)
    M[20:40, 7] = M[7, 20:40]
    certificate = unrelu.certify(completed(M, 2, U), data_error=None)
    assert not certificate.unique


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(rank=None), "certify needs the rank of the matrix; pass rank="),
        (dict(rank=2, data_error=-1), "data_error must be a number ≥ 0"),
        (dict(rank=2, data_error="small"), "data_error must be a number ≥ 0"),
        (dict(rank=2, planted=np.zeros((3, 2))), "planted"),
        (dict(rank=0), "rank must be between 1 and"),
    ],
)
def test_bad_arguments_get_a_sentence(arguments, words):
    with pytest.raises(InputError, match=words):
        unrelu.certify(np.eye(8), **arguments)


def test_a_completion_knows_its_rank():
    completion = completed(np.ones((5, 5)), 1)
    assert unrelu.certify(completion).unique
    with pytest.raises(InputError, match="rank must be that of the completion, 1, or left out; got 3"):
        unrelu.certify(completion, 3)


@pytest.mark.parametrize("data_error", [1e-12, 0.5])
def test_a_zero_on_the_diagonal_that_may_be_more_proves_nothing(data_error):
    X = np.array([[0.0, np.nan], [np.nan, 0.0]])
    assert unrelu.certify(X, 1, threshold=None).unique
    found = unrelu.certify(X, 1, threshold=None, data_error=data_error)
    assert not found.unique
    assert not found.any_rank
    assert not found.determined.any()
    assert found.failed[-1] == "zeros"
    assert f"rows 0, 1 have zero on the diagonal, which may be as much as {data_error:g}" in found.explain()


def test_a_row_of_zeros_is_proved_by_steps_from_others_whatever_its_diagonal():
    X = np.array([[4.0, 0.0, 2.0], [0.0, 0.0, np.nan], [2.0, np.nan, 1.0]])
    error = 1e-5
    found = unrelu.certify(X, 1, threshold=None, data_error=error)
    assert found.unique
    assert found.bound >= error / 2 / 2  # its entry with row 0, of size 2, beside the largest row
    X[0, 1] = X[1, 0] = np.nan
    assert not unrelu.certify(X, 1, threshold=None, data_error=error).unique
    assert unrelu.certify(X, 1, threshold=None).unique


@pytest.mark.parametrize("X", [[[4.0]], [[0.0]], [[4.0, 2.0], [2.0, 1.0]]])
def test_where_all_is_seen_nothing_is_left_to_prove(X):
    found = unrelu.certify(np.array(X), 1, data_error=0.5)
    assert found.unique
    assert found.any_rank
    assert found.kind == "direct"
    assert found.explain().startswith(
        "Proved, whatever the errors of up to 0.5 in the seen entries: exactly one matrix"
    )


def test_a_certificate_is_shown_in_one_line():
    assert repr(unrelu.certify(np.outer([1.0, 2, 3], [1.0, 2, 3]), 1)) == (
        "Certificate(3×3, rank 1, unique, direct, 3 of 3 rows proved)"
    )
