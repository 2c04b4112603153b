"""The quotient of factors by rotations, and the curvature of the paper's theorems."""

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import ROUNDING, asymmetric_instance, remainder_order
from unrelu import InputError
from unrelu._old.data.observations import Observations
from unrelu._old.theory.geometry import (
    Landscape,
    aligned_direction,
    curvature,
    horizontal_part,
    lift,
    quotient_distance,
    vertical_basis,
    vertical_part,
    vertical_rotation,
)
from unrelu._old.theory.pattern import Pattern

# The iteration stops at a residual of 1e-8 of the operator's size; eigenvalues are then right to its square over a gap.
EIGENVALUE = 1e-7


def gaussian(n, r, seed=0, scales=1.0):
    return np.random.default_rng([seed, n, r]).standard_normal((n, r)) * scales


def dense_gamma(mask, U):
    """γ from the n²×nr matrix of φ, written out: its smallest singular value off the rotations, squared."""
    n, r = U.shape
    columns = []
    for i in range(n):
        for a in range(r):
            D = np.zeros((n, r))
            D[i, a] = 1
            columns.append(np.where(mask, U @ D.T + D @ U.T, 0).ravel())
    values = np.linalg.svd(np.array(columns).T, compute_uv=False)
    return np.sort(values)[r * (r - 1) // 2] ** 2


@pytest.mark.parametrize(("n", "r"), [(5, 1), (8, 2), (20, 4), (6, 6)])
def test_projections_split_a_direction(n, r):
    U, D = gaussian(n, r), gaussian(n, r, 1)
    R, vertical, horizontal = vertical_rotation(U, D), vertical_part(U, D), horizontal_part(U, D)
    np.testing.assert_allclose(R, -R.T, atol=ROUNDING)
    np.testing.assert_allclose(vertical, U @ R, atol=ROUNDING)
    np.testing.assert_allclose(vertical + horizontal, D, atol=ROUNDING)
    np.testing.assert_allclose(U.T @ horizontal, horizontal.T @ U, atol=1e-11)
    assert abs(np.vdot(vertical, horizontal)) < 1e-10


def test_the_closed_form_is_the_least_squares_projection():
    U, D = gaussian(9, 3), gaussian(9, 3, 1)
    skew = []
    for i in range(3):
        for j in range(i):
            R = np.zeros((3, 3))
            R[i, j], R[j, i] = 1, -1
            skew.append((U @ R).ravel())
    A = np.array(skew).T
    nearest = A @ np.linalg.lstsq(A, D.ravel(), rcond=None)[0]
    np.testing.assert_allclose(vertical_part(U, D).ravel(), nearest, atol=1e-12)


def test_a_rank_deficient_factor_still_has_projections_but_no_manifold():
    U = gaussian(9, 3)
    U[:, 2] = 0
    D = gaussian(9, 3, 1)
    np.testing.assert_allclose(vertical_part(U, vertical_part(U, D)), vertical_part(U, D), atol=1e-12)
    with pytest.raises(InputError, match="full rank 3 for its class to lie on a manifold"):
        lift(U, D)
    with pytest.raises(InputError, match="full rank 3"):
        curvature(np.ones((9, 9), bool), U)


def test_vertical_basis_is_orthonormal_and_vertical():
    U = gaussian(12, 4, scales=[1, 2, 0.1, 3])
    basis = vertical_basis(U)
    flat = basis.reshape(6, -1)
    np.testing.assert_allclose(flat @ flat.T, np.eye(6), atol=1e-12)
    for member in basis:
        np.testing.assert_allclose(vertical_part(U, member), member, atol=1e-12)


def test_lift_does_not_depend_on_the_representative():
    U, D = gaussian(10, 3), gaussian(10, 3, 1)
    Q = np.linalg.qr(gaussian(3, 3, 2))[0]
    expected = lift(U, D)
    np.testing.assert_allclose(lift(U, D @ Q, at=U @ Q), expected, atol=1e-12)
    np.testing.assert_allclose(lift(U, D + vertical_part(U, gaussian(10, 3, 3))), expected, atol=1e-12)
    # Lifted at another member of the class it is the same vector, rotated.
    np.testing.assert_allclose(lift(U @ Q, D, at=U), expected @ Q, atol=1e-12)
    with pytest.raises(InputError, match="at must be U times an orthogonal matrix"):
        lift(U, D, at=D)


def test_aligned_direction_is_horizontal_and_shortest():
    U, V = gaussian(10, 3), gaussian(10, 3, 1)
    D = aligned_direction(U, V)
    np.testing.assert_allclose(horizontal_part(U, D), D, atol=1e-12)
    assert quotient_distance(U, V) == pytest.approx(np.linalg.norm(D))
    rng = np.random.default_rng(0)
    for _ in range(200):
        Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        assert np.linalg.norm(U - V @ Q) >= np.linalg.norm(D)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_gradient_and_hessian_are_those_of_the_objective(scale):
    X, unknown = asymmetric_instance()
    observations = Observations.of(scale * X, unknown=unknown)
    landscape = Landscape.of(observations, 3)
    U, D = np.sqrt(scale) * gaussian(30, 3), np.sqrt(scale) * gaussian(30, 3, 1)
    seen = ~np.isnan(X)
    assert landscape.value(U) == pytest.approx(0.25 * np.sum((U @ U.T - scale * X)[seen] ** 2))
    gradient = landscape.gradient(U)
    Z = np.where(seen, U @ U.T - scale * X, 0)
    np.testing.assert_allclose(gradient, 0.5 * (Z + Z.T) @ U, rtol=1e-10)
    np.testing.assert_allclose(U.T @ gradient, gradient.T @ U, rtol=1e-9)
    slope = np.vdot(gradient, D)
    bend = np.vdot(D, landscape.euclidean_hessian(U, D))
    # Small steps: further out the t³ and t⁴ of the quartic show.
    steps = (1e-3, 1e-4, 1e-5)
    start = landscape.value(U)
    order = remainder_order(lambda t: landscape.value(U + t * D), lambda t: start + t * slope, steps)
    assert order == pytest.approx(2, abs=0.1)
    order = remainder_order(lambda t: np.vdot(landscape.gradient(U + t * D), D), lambda t: slope + t * bend, steps)
    assert order == pytest.approx(2, abs=0.1)
    assert landscape.steepness(U, D) == pytest.approx(bend / np.vdot(D, D))


def test_riemannian_hessian_sees_only_the_horizontal_part():
    X, unknown = asymmetric_instance()
    landscape = Landscape.of(Observations.of(X, unknown=unknown), 3)
    U, D = gaussian(30, 3), gaussian(30, 3, 1)
    product = landscape.hessian(U, D)
    np.testing.assert_allclose(U.T @ product, product.T @ U, atol=1e-9)
    np.testing.assert_allclose(landscape.hessian(U, horizontal_part(U, D)), product, atol=1e-9)
    other = gaussian(30, 3, 2)
    assert np.vdot(other, product) == pytest.approx(np.vdot(D, landscape.hessian(U, other)))
    with pytest.raises(InputError, match="must not be zero"):
        landscape.steepness(U, 0 * D)


@pytest.mark.parametrize(("n", "r", "scales"), [(1, 1, 1), (3, 1, 1), (7, 2, 1), (25, 2, 1), (30, 3, [1, 0.1, 0.01])])
def test_gamma_is_the_smallest_singular_value_off_the_rotations(n, r, scales):
    U = gaussian(n, r, scales=scales)
    mask = U @ U.T >= 0
    expected = dense_gamma(mask, U)
    assert curvature(mask, U).gamma == pytest.approx(expected, rel=EIGENVALUE, abs=1e-12)


def test_gamma_of_an_asymmetric_pattern():
    X, _ = asymmetric_instance()
    U, mask = gaussian(30, 3), ~np.isnan(X)
    assert not Pattern.of(mask).symmetric
    assert curvature(mask, U).gamma == pytest.approx(dense_gamma(mask, U), rel=EIGENVALUE)


def test_no_direction_is_flatter_than_gamma():
    U = gaussian(120, 4)
    pattern = Pattern.of(U @ U.T >= 0)
    found = curvature(pattern, U)
    assert found.positive
    assert found.residual < 1e-6 * found.gamma
    assert pattern.image(U, found.direction) == pytest.approx(found.gamma)
    assert np.linalg.norm(found.direction) == pytest.approx(1)
    rng = np.random.default_rng(0)
    flattest = found.direction
    for _ in range(300):
        # Directions near the flattest one are the hardest test.
        D = horizontal_part(U, flattest + 10 ** rng.uniform(-3, 1) * rng.standard_normal(U.shape))
        assert pattern.image(U, D) >= found.gamma * np.vdot(D, D) * (1 - 1e-9)


def test_gamma_is_zero_where_the_seen_entries_leave_something_free():
    U = gaussian(40, 3)
    mask = U @ U.T >= 0
    # A row of three numbers that sees two others: one number is free.
    mask[0], mask[:, 0] = False, False
    mask[0, [1, 2]] = mask[[1, 2], 0] = True
    found = curvature(mask, U)
    assert not found.positive
    assert found.gamma < 1e-9
    assert np.linalg.norm(found.direction[0]) > 0.9
    pieces = np.zeros((40, 40), bool)
    pieces[:20, :20] = pieces[20:, 20:] = True
    assert not curvature(pieces, U).positive


@pytest.mark.parametrize("n", [100, 240, 700])
def test_gamma_grows_like_n(n):
    # The paper prints O(√n); measured: 0.24 n to 0.42 n at rank 2.
    U = gaussian(n, 2, 3)
    assert 0.2 < curvature(U @ U.T >= 0, U).gamma / n < 0.45


def test_every_kind_of_pattern_gives_the_same_gamma():
    U = gaussian(60, 2)
    M = U @ U.T
    mask = M >= 0
    X = np.where(mask, M, np.nan)
    expected = curvature(mask, U).gamma
    rows, cols = np.nonzero(mask)
    sparse = sp.csr_array((M[mask], (rows, cols)), shape=M.shape)
    for source in (X, X.astype(np.float32), sparse):
        pattern = Pattern.of(Observations.of(source))
        assert curvature(pattern, U).gamma == pytest.approx(expected, rel=EIGENVALUE)
        np.testing.assert_array_equal(pattern.mask, mask)
        np.testing.assert_array_equal(pattern.diagonal, np.ones(60))


def test_theorem_2_the_hessian_at_the_planted_factor():
    U = gaussian(80, 3)
    M = U @ U.T
    observations = Observations.of(np.where(M >= 0, M, np.nan))
    landscape = Landscape.of(observations, 3)
    gamma = curvature(observations, U).gamma
    assert landscape.smallest_eigenvalue(U) == pytest.approx(gamma / 2, rel=EIGENVALUE)
    for seed in range(30):
        V = gaussian(80, 3, seed + 1)
        # Euclidean strong convexity along the Procrustes-aligned direction, eq. (strongconvex-euclidean).
        assert landscape.steepness(U, aligned_direction(U, V)) >= gamma / 2
        assert landscape.steepness(U, horizontal_part(U, V)) >= gamma / 2
    # Along a rotation nothing bends: the inequality needs the horizontal space.
    assert abs(landscape.steepness(U, vertical_part(U, V))) < 1e-9


def test_single_precision_data_are_judged_in_double():
    U = gaussian(40, 2).astype(np.float32).astype(np.float64)
    X = np.where(U @ U.T >= 0, U @ U.T, np.nan).astype(np.float32)
    landscape = Landscape.of(Observations.of(X), 2)
    assert landscape.gradient(U).dtype == np.float64
    expected = Landscape.of(Observations.of(X.astype(np.float64)), 2).smallest_eigenvalue(U)
    assert landscape.smallest_eigenvalue(U) == pytest.approx(expected, rel=1e-12)


def test_the_hessian_away_from_the_solution_may_be_indefinite():
    U = gaussian(40, 2)
    M = U @ U.T
    observations = Observations.of(np.where(M >= 0, M, np.nan))
    landscape = Landscape.of(observations, 2)
    V = 0.2 * gaussian(40, 2, 1)
    H = np.array([landscape.hessian(V, D.reshape(40, 2)).ravel() for D in np.eye(80)])
    values = np.linalg.eigvalsh((H + H.T) / 2)
    assert values[0] < 0
    assert landscape.smallest_eigenvalue(V) == pytest.approx(values[0], rel=EIGENVALUE)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Pattern.of(np.ones((3, 3))), "boolean array .* got an array of float64; pass ~np.isnan"),
        (lambda: curvature(np.ones((4, 4), bool), np.ones((3, 1))), "U must have 4 rows, one per row of the matrix"),
        (lambda: curvature(np.ones((2, 2), bool), np.ones((2, 3))), r"1 ≤ r ≤ n, got shape \(2, 3\)"),
        (lambda: horizontal_part(np.eye(3, 2), np.eye(3)), r"D must have the shape of U, \(3, 2\), got \(3, 3\)"),
        (lambda: horizontal_part([[np.nan], [1.0]], [[1.0], [1.0]]), r"U must be finite, got nan at \(0, 0\)"),
        (lambda: vertical_basis(np.zeros((4, 3))), "rank at least r − 1 = 2"),
    ],
)
def test_bad_input_is_a_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()
