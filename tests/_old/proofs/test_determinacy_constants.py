"""Each tolerance behind the four words, from both sides: a thousand times more or less changes an answer here."""

import numpy as np
import pytest

from unrelu._old.certify import _beyond, _contradicts_absence
from unrelu._old.data.observations import Observations
from unrelu._old.proofs import determine as determining
from unrelu._old.proofs import rows_outside
from unrelu._old.proofs.agreement import cleared, fits
from unrelu._old.proofs.determinacy import PROVED, Determinacy
from unrelu._old.proofs.direct import DataError, from_block
from unrelu._old.proofs.elsewhere import RowsOutside, found_elsewhere, parallel_rows
from unrelu._old.proofs.gluing import _Equations, _polar, polar_matrix
from unrelu._old.proofs.stress import Stresses


def rng():
    return np.random.default_rng(0)


def seen(M, pairs=None):
    """Everything, or some pairs, of a matrix; absence says nothing."""
    X = np.array(M, dtype=float)
    if pairs is not None:
        mask = np.zeros(X.shape, dtype=bool)
        for i, j in pairs:
            mask[i, j] = mask[j, i] = True
        X[~mask] = np.nan
    return Observations.of(X, threshold=None)


# --- agreement -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("times", "agrees"), [(10, True), (1e3, False)])
def test_a_fit_agrees_to_a_hundred_times_the_rounding(times, agrees):
    U = np.ones((6, 1))
    error = DataError(0.0, 1e-12)
    off = times * 1e-12 * np.sqrt(2)  # of every entry: ‖gap‖_F of both triangles is six times that
    assert fits(seen(U @ U.T + off), U, error, np.arange(6)) == agrees


@pytest.mark.parametrize(("times", "agrees"), [(1e3, True), (1e5, False)])
def test_one_row_agrees_to_ten_thousand_times_its_own_rounding(times, agrees):
    U = np.array([[1.0], [1.0], [1.0], [1e-7]])
    X = U @ U.T
    X[3, :3] = X[:3, 3] = 1e-7 * (1 + times * 1e-12)  # far below what the other rows leave room for
    assert fits(seen(X), U, DataError(0.0, 1e-12), np.arange(4)) == agrees


@pytest.mark.parametrize(("size", "zero"), [(1e-9, True), (1e-7, False)])
def test_a_row_of_zeros_is_zero_if_the_fit_has_it_nearly_so(size, zero):
    X = np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 0]])
    assert cleared(seen(X), np.array([[1.0], [1], [size]]))[1].tolist() == [False, False, zero]


@pytest.mark.parametrize(("share", "beyond"), [(1e-14, False), (1e-10, True)])
def test_a_seen_block_shows_more_rank_by_its_eigenvalues(share, beyond):
    values = np.array([1.0, 0.7, share, 0])
    Q = np.linalg.qr(rng().standard_normal((4, 4)))[0]
    block = (Q * values) @ Q.T
    observations = seen((block + block.T) / 2)
    error = DataError(0.0, 1e-16)
    assert determining._beyond_the_rank(observations, 2, error, rng()) is beyond


# --- direct --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("error", "counts"), [(1e-4, True), (5e-2, False)])
def test_a_block_counts_if_its_bound_is_a_thousandth_of_it(error, counts):
    group = from_block(seen(np.ones((1, 1))), np.ones((1, 1)), DataError(error, 0.0), np.array([0]))
    assert (group is not None) is counts
    if group is not None:
        assert group.bound[0] == pytest.approx(error / np.sqrt(2 * (np.sqrt(2) - 1)), rel=1e-3)


@pytest.mark.parametrize(("apart", "counts"), [(1e-5, True), (1e-7, False)])
def test_rows_that_are_parallel_to_rounding_are_no_block(apart, counts):
    U = np.array([[1.0, 0], [1, apart]])
    assert (from_block(seen(U @ U.T), U, DataError(0.0, 1e-17), np.arange(2)) is not None) is counts


# --- gluing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("least", "there"), [(1e-4, True), (1e-8, False)])
def test_a_positive_definite_matrix_must_be_so_by_a_millionth(least, there):
    assert (polar_matrix(np.array([np.diag([1.0, least])])) is not None) is there


@pytest.mark.parametrize(("skew", "there"), [(1e-11, True), (1e-7, False)])
def test_a_matrix_in_the_span_must_be_symmetric_to_a_billionth(skew, there):
    assert (polar_matrix(np.array([[[1.0, skew], [0.0, 1.0]]])) is not None) is there


@pytest.mark.parametrize(("error", "known"), [(1e-5, True), (1e-2, False)])
def test_groups_are_joined_if_their_rotation_is_known_to_a_thousandth(error, known):
    matrices = np.eye(4).reshape(4, 2, 2)
    assert (_polar(_Equations(matrices, np.full(4, error)), 2) is not None) is known


# --- stresses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("weak", "deficient"), [(1e-5, False), (1e-7, True)])
def test_a_direction_of_a_millionth_is_none(weak, deficient):
    assert (
        rows_outside._deficient(np.array([[1.0, weak], [1.0, -weak]]), rows_outside.ROWS_OUTSIDE_DEFICIENT) is deficient
    )


@pytest.mark.parametrize(("moved", "fixed"), [(1e-7, True), (1e-5, False)])
def test_a_row_is_fixed_if_no_kernel_vector_moves_it_by_a_millionth(moved, fixed):
    kernel = np.array([[1.0, 0], [0.5, 0], [0.2, moved], [0.1, 1.0]])
    assert rows_outside._fixed_with(kernel, np.array([0, 1]), 1).tolist() == [True, True, fixed, False]


def test_the_kernel_of_a_stress_is_where_it_is_below_a_tenth_of_a_millionth(monkeypatch):
    stresses = Stresses(np.ones((4, 4), dtype=bool), np.ones((4, 1)))
    monkeypatch.setattr(stresses, "project", lambda S: (np.diag([1.0, 0.5, 1e-5, 1e-9]), None))
    kernel = stresses.kernel(rng())
    assert np.abs(kernel).tolist() == [[0], [0], [0], [1]]


@pytest.mark.parametrize(("moved", "still"), [(1e-7, True), (1e-3, False)])
def test_a_row_is_still_if_a_motion_leaves_it_to_a_hundred_thousandth(monkeypatch, moved, still):
    stresses = Stresses(np.ones((4, 4), dtype=bool), np.ones((4, 1)))
    direction = np.array([[0.0], [0], [0], [moved * 0.25]])
    monkeypatch.setattr(stresses, "motion", lambda rng: direction)
    known = np.array([True, True, True, False])
    assert rows_outside._still(stresses, known, rng())[3] == still


def checked(monkeypatch, least, error=0.0):
    """A stress with eigenvalues 0, least, 1 and 1, put to the last test."""
    stresses = Stresses(np.ones((4, 4), dtype=bool), np.ones((4, 1)))
    Q = np.linalg.qr(np.column_stack([np.ones(4), rng().standard_normal((4, 3))]))[0]
    S = (Q * [0, least, 1, 1]) @ Q.T
    monkeypatch.setattr(stresses, "project", lambda S: (S, None))
    return stresses._checked(S, 0, np.full((4, 4), error), rng())


@pytest.mark.parametrize(("least", "positive"), [(5e-3, True), (5e-5, False)])
def test_a_stress_must_be_positive_by_a_two_thousandth(monkeypatch, least, positive):
    assert (checked(monkeypatch, least) is not None) is positive


@pytest.mark.parametrize(("error", "certain"), [(1e-12, True), (1e-2, False)])
def test_a_stress_must_hold_the_rows_to_a_hundredth(monkeypatch, error, certain):
    assert (checked(monkeypatch, 0.5, error) is not None) is certain


@pytest.mark.parametrize(("weak", "strong"), [(1e-5, True), (1e-7, False)])
def test_conic_equations_are_singular_below_a_millionth(weak, strong):
    stresses = Stresses(np.eye(3, dtype=bool), np.array([[1.0, 0], [0, 1], [1, weak]]))
    assert (stresses.conic_strength(rng()) > 0) == strong


@pytest.mark.parametrize(("apart", "regular"), [(1e-5, True), (1e-9, False)])
def test_a_row_held_by_parallel_rows_is_not_in_regular_position(apart, regular):
    mask = np.ones((4, 4), dtype=bool)
    mask[3, 2:] = mask[2:, 3] = False  # the last row sees only the first two
    assert Stresses(mask, np.array([[1.0, 0], [1, apart], [0, 1], [0.6, 0.8]])).regular(rng()) is regular


# --- elsewhere -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("angle", "parallel"), [(1e-7, True), (1e-5, False)])
def test_rows_are_parallel_to_a_millionth(angle, parallel):
    assert parallel_rows(np.array([[1.0, 0], [-3, 3 * angle], [0, 1]])).tolist() == [parallel, parallel, False]


def mirrored(height, tilt, noise=0.0):
    """Whether row 2 is found below the line of rows 0 and 1, which differ by ``tilt``; it is ``height`` above."""
    U = np.array([[1.0, 0], [np.cos(tilt), np.sin(tilt)], [np.sqrt(1 - height**2), height]])
    observations = seen(U @ U.T)
    U = U / np.sqrt(observations.unit)
    rows = RowsOutside(observations, U, np.array([0, 1]), np.array([2]), noise / observations.unit)
    return found_elsewhere(rows, np.array([True]), rng(), regular=True)[0]


@pytest.mark.parametrize(("height", "tilt", "found"), [(0.5, 1e-9, True), (0.5, 1e-6, False), (0.05, 3e-8, True)])
def test_another_place_must_fit_to_a_hundred_millionth(height, tilt, found):
    assert mirrored(height, tilt) == found


@pytest.mark.parametrize(("height", "found"), [(0.05, True), (2e-5, False)])
def test_another_place_is_a_thousandth_away(height, found):
    assert mirrored(height, 0.0) == found


@pytest.mark.parametrize(("noise", "found"), [(4e-3, True), (5e-4, False)])
def test_with_noise_another_place_may_miss_by_five_standard_deviations(noise, found):
    assert mirrored(0.5, 0.01, noise) == found  # it misses by 0.01


@pytest.mark.parametrize(("height", "found"), [(0.5, True), (0.005, False)])
def test_with_noise_another_place_is_a_twentieth_away(height, found):
    assert mirrored(height, 0.0, 1e-3) == found


# --- certify -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "named"), [(1e-4, True), (1e-8, False)])
def test_a_block_of_higher_rank_is_named_if_no_rounding_explains_it(share, named):
    block = np.diag([1.0, share]) + 0.0
    Q = np.array([[0.8, -0.6], [0.6, 0.8]])
    assert (_beyond(seen(Q @ block @ Q.T), 1, rng()) is not None) is named


@pytest.mark.parametrize(("times", "contradicts"), [(10, False), (1e5, True)])
def test_absent_entries_may_be_on_the_wrong_side_by_rounding(times, contradicts):
    U = np.array([[1.0], [1.0], [1e-3]])
    X = U @ U.T
    tau = 1 - times * 1e-12 * 2
    X[2], X[:, 2] = np.nan, np.nan
    X[0, 1] = X[1, 0] = np.nan  # it is 1, and said to be below the threshold
    observations = Observations.of(X, threshold=tau)
    found = Determinacy(np.array([PROVED, PROVED, 0]), np.array([0, 0, -1]), [], (), agrees=True)
    scaled = U / np.sqrt(observations.unit)
    assert _contradicts_absence(observations, scaled, found, DataError(0.0, 1e-12)) == contradicts
