"""Each step behind the four words by itself, on matrices small enough to see the answer."""

import numpy as np
import pytest
from judging import judged

from unrelu._old.data.observations import Observations
from unrelu._old.proofs import elsewhere, rows_outside
from unrelu._old.proofs.agreement import fitting
from unrelu._old.proofs.determinacy import GENERIC, LOCAL, NO, PROVED, Determinacy
from unrelu._old.proofs.direct import DataError, from_block
from unrelu._old.proofs.movable import Movable


def only(M, pairs):
    """The pairs of a matrix that were seen."""
    X = np.full(M.shape, np.nan)
    for i, j in pairs:
        X[i, j] = X[j, i] = M[i, j]
    return X


def within(rows):
    return [(i, j) for i in rows for j in rows]


def gaussian(n, rank, seed=0):
    return np.random.default_rng(seed).standard_normal((n, rank))


# --- what a stress says --------------------------------------------------------------------------------------------


def test_without_a_block_a_stress_determines_and_a_row_with_two_places_stays_local():
    """No norm was seen but that of row 0, which sees two others at rank 3: there are too many rows to search."""
    U = gaussian(150, 3)
    X = U @ U.T
    np.fill_diagonal(X, np.nan)
    X[0, 3:] = X[3:, 0] = np.nan
    X[0, 0] = U[0] @ U[0]
    found = judged(X, U, threshold=None)
    assert found.rank_of.tolist() == [LOCAL, *[GENERIC] * 149]


def test_beyond_what_can_be_searched_rows_that_repeat_a_direction_are_given_up():
    U = gaussian(150, 3)
    U[7] = -2 * U[11]
    X = U @ U.T
    np.fill_diagonal(X, np.nan)
    X[7, 11] = X[11, 7] = np.nan
    order = np.arange(150)
    wanted = np.ones(150, dtype=bool)
    observations = Observations.of(X, threshold=None)
    rows = elsewhere.RowsOutside(observations, U, order[:0], order)
    lost = elsewhere.found_elsewhere(rows, wanted, np.random.default_rng(0), regular=False)
    assert np.flatnonzero(lost).tolist() == [7, 11]


HINGE = np.array([[1.0, 0], [2, 0], [0, 1], [1, -1]])


@pytest.mark.parametrize(
    ("sees", "absence", "hinged"),
    [
        ((0, 1), {"threshold": None}, True),
        ((0, 1, 2), {"threshold": None}, False),
        ((0, 1), {"threshold": 0.0}, False),
        ((0, 1), {"threshold": 0.0, "unknown": np.arange(16).reshape(4, 4) % 5 != 0}, True),
    ],
    ids=["mirrored", "held", "absence rules it out", "unknown says nothing"],
)
def test_a_row_that_sees_one_direction_of_the_body_hangs_on_a_hinge(sees, absence, hinged):
    """Its entry with row 2 is −1, and 1 if it is mirrored."""
    X = only(HINGE @ HINGE.T, [*within([0, 1, 2]), *((3, j) for j in sees)])
    if "unknown" in absence:
        absence = {**absence, "unknown": absence["unknown"] & np.isnan(X)}
    observations = Observations.of(X, **absence)
    scaled = HINGE / np.sqrt(observations.unit)
    assert rows_outside._hinged(observations, scaled, np.arange(3), np.array([3])).tolist() == [hinged]


def test_rows_that_see_enough_determined_rows_are_determined():
    U = np.array([[1.0, 0], [0, 1], [1, 1], [2, 1], [1, 3]])
    observations = Observations.of(only(U @ U.T, [(0, 0), (2, 0), (2, 1), (3, 2), (3, 0), (4, 0)]), threshold=None)
    words, components = np.array([GENERIC, GENERIC, LOCAL, NO, NO]), np.array([0, 0, 0, -1, -1])
    found = Determinacy(words, components, [], (), agrees=True)
    scaled = U / np.sqrt(observations.unit)
    closed = rows_outside._closed(observations, scaled, found, np.array([2, 3, 4]), rows_outside.ROWS_OUTSIDE_DEFICIENT)
    assert closed.rank_of.tolist() == [GENERIC, GENERIC, GENERIC, GENERIC, NO]
    assert closed.components.tolist() == [0, 0, 0, 0, -1]
    # Rows that differ by no more than the fit leaves open are one direction, and hold nobody.
    alike = np.array([[1.0, 0], [1, 1e-5], [0.4, 0.0], [2, 1], [1, 3]]) / np.sqrt(observations.unit)
    for weak, word in ((1e-6, GENERIC), (1e-4, LOCAL)):
        assert rows_outside._closed(observations, alike, found, np.array([2]), weak).rank_of[2] == word


# --- elsewhere -----------------------------------------------------------------------------------------------------


def test_of_changed_entries_the_rows_with_most_are_given_up():
    changed = np.zeros((5, 5), dtype=bool)
    for i, j in [(0, 1), (0, 2), (0, 3), (4, 4)]:
        changed[i, j] = changed[j, i] = True
    every = np.ones(5, dtype=bool)
    assert elsewhere.unchanged(changed, every).tolist() == [False, True, True, True, False]
    assert elsewhere.unchanged(changed, np.arange(5) < 4).tolist() == [False, True, True, True, False]


def test_a_mirror_image_keeps_what_was_seen():
    """Rows 2 and 3 hang on rows 0 and 1, which are parallel: mirrored together they fit as well."""
    U = np.array([[1.0, 0], [-1, 0], [0.6, 0.8], [0.8, 0.6]])
    observations = Observations.of(U @ U.T, threshold=None)
    rows = Movable.of(observations, U, np.arange(2), np.arange(2, 4), 0.0)
    rng = np.random.default_rng(0)
    images = [elsewhere._mirrored(rows, rows.here, np.arange(2), rng) for _ in range(40)]
    assert any(np.allclose(image, U[2:] * [1, -1]) for image in images)
    assert np.allclose(rows.coordinates(rows.here)[:, 0] ** 2, [0.64, 0.36])


def test_an_entry_is_pulled_away_where_it_was_not_seen():
    U = np.array([[1.0, 0], [0, 1], [0.6, 0.8], [0.8, 0.6]])
    X = only(U @ U.T, [*within([0, 1]), (2, 0), (3, 1), (2, 3)])
    observations, rng = Observations.of(X, threshold=None), np.random.default_rng(0)
    rows = Movable.of(observations, U, np.arange(2), np.arange(2, 4), 0.0)
    pulled = [elsewhere._pulled_away(rows, np.arange(2), rng) for _ in range(20)]
    assert {tuple(np.argwhere(~np.isnan(entries))[0].tolist()) for entries in pulled} == {(0, 3), (1, 2)}
    assert all(np.nanmin(np.abs(entries[:, 2:] - U[2:] @ U[:2].T)) >= 0.05 for entries in pulled)
    alone = Movable.of(observations, U, np.arange(0), np.arange(4), 0.0)
    entries = elsewhere._pulled_away(alone, np.array([0, 3]), rng)
    assert np.argwhere(~np.isnan(entries)).tolist() in ([[0, 3], [3, 0]], [[3, 3]])


# --- agreement and proofs ------------------------------------------------------------------------------------------


def test_rows_that_do_not_fit_are_left_out():
    U = np.ones((5, 1))
    X = U @ U.T
    X[2, 0] = X[0, 2] = 1.5  # against the body
    X[3, 4] = X[4, 3] = 0.5  # against each other
    kept = fitting(Observations.of(X, threshold=None), U, DataError(0.0, 1e-12), np.arange(2), np.arange(2, 5))
    assert kept.tolist() in ([3], [4])


def test_a_row_with_a_zero_on_the_diagonal_is_zero():
    U = np.array([[1.0], [2], [0]])
    found = judged(only(U @ U.T, [*within([0, 1]), (2, 2)]), U, threshold=None)
    assert found.rank_of.tolist() == [PROVED] * 3
    assert found.determined.all()
    assert "zero" in found.proofs


@pytest.mark.parametrize("body", [(0, 1, 2), (3, 4, 5)])
def test_other_rows_are_tested_against_the_body_that_holds_most_of_them(body):
    """Two blocks of three rows; five other rows see each other and one row each of one of the blocks."""
    U = gaussian(11, 2)
    among = [(i, j) for i in range(6, 11) for j in range(6, i)]
    ties = [(i, body[i % 3]) for i in range(6, 11)]
    found = judged(only(U @ U.T, [*within(range(3)), *within(range(3, 6)), *among, *ties]), U, threshold=None)
    assert np.flatnonzero(found.determined).tolist() == [*body, *range(6, 11)]


def test_rows_that_only_rows_that_can_move_hold_are_not_determined_in_special_position():
    """Row 3 equals row 0 and sees rows 0 and 4 at rank 3: it may leave row 0 once row 4 is at right angles to that way.

    Rows 0, 1 and 2 are a block; row 4 sees its norm and row 0.
    """
    U = np.array([[1.0, 0, 0], [0.5, 1, 0], [0.2, 0.3, 1], [1, 0, 0], [0.6, 0.5, 0.4]])
    X = only(U @ U.T, [*within(range(3)), (3, 0), (3, 1), (3, 4), (4, 4), (4, 0)])
    V = U.copy()
    V[4, 1:] = np.linalg.norm(U[4, 1:]) * np.array([1.0, 0])
    V[3] += [0, 0, 0.7]
    assert np.nanmax(np.abs(X - V @ V.T)) < 1e-12
    found = judged(X, U, threshold=None)
    assert found.determined.tolist() == [True, True, True, False, False]
    known = np.arange(5) < 3
    held = rows_outside._held_alone(~np.isnan(X), U, known, np.arange(5) < 4, np.random.default_rng(0))
    assert held.tolist() == [True, True, True, False, False]
    X[2, 3], X[3, 2], X[3, 3] = U[3] @ U[2], U[3] @ U[2], U[3] @ U[3]
    held = rows_outside._held_alone(~np.isnan(X), U, known, np.arange(5) < 4, np.random.default_rng(0))
    assert held.tolist() == [True, True, True, True, False]


def test_two_blocks_with_an_entry_per_row_between_them_are_glued():
    U = gaussian(8, 2)
    pairs = [*within(range(4)), *within(range(4, 8)), *((i, i + 4) for i in range(4))]
    found = judged(only(U @ U.T, pairs), U, threshold=None)
    assert found.determined.all()
    assert set(found.level) == {"proved"}
    assert "polar" in found.proofs
    apart = judged(only(U @ U.T, pairs[:-3]), U, threshold=None)
    assert apart.determined.sum() == 4


def test_absence_tells_a_row_from_its_mirror_image():
    """Row 3 sees its norm and row 0; mirrored it would be seen by row 2 or by none."""
    U = np.array([[1.0, 0], [1, 1], [0.1, 1], [1, -1]])
    X = only(U @ U.T, [*within(range(3)), (3, 3), (3, 0)])
    X[1, 3] = X[3, 1] = np.nan
    unknown = np.isnan(X)
    unknown[2, 3] = unknown[3, 2] = False  # −0.9, and 1.1 if mirrored
    found = judged(X, U, threshold=0.0, unknown=unknown)
    assert set(found.level) == {"proved"}
    assert "reflection" in found.proofs
    both = judged(X, U, threshold=0.0, unknown=np.isnan(X))
    assert both.level[3] == "local"


def test_a_row_is_told_from_its_mirror_image_though_the_rows_it_sees_do_not_see_each_other():
    """Row 5 sees its norm and rows 0 and 1, whose own entry was not seen: the three are no block."""
    U = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 2, 1], [0.1, 0.1, 1], [1, 1, -1]])
    X = only(U @ U.T, [*within(range(5)), (5, 5), (5, 0), (5, 1)])
    X[0, 1] = X[1, 0] = np.nan
    unknown = np.isnan(X)
    unknown[4, 5] = unknown[5, 4] = False  # −0.8, and 1.2 if mirrored
    assert judged(X, U, threshold=0.0, unknown=unknown).level[5] == "proved"
    assert judged(X, U, threshold=0.0, unknown=np.isnan(X)).level[5] == "local"


def absent_pairs(observations, rows):
    return observations.absent_pairs(rows, rows, observations.pairs(rows, rows)[1])


def test_pairs_are_absent_unless_seen_or_unknown_both_ways():
    nan = np.nan
    X = np.array([[nan, 2, nan, nan], [nan, 3, nan, nan], [nan, nan, nan, nan], [nan, nan, 4, nan]])
    unknown = np.zeros((4, 4), dtype=bool)
    unknown[0, 2] = unknown[2, 0] = unknown[0, 3] = unknown[1, 0] = True
    rows = np.arange(4)
    absent = absent_pairs(Observations.of(X, threshold=1.0, unknown=unknown), rows)
    assert [tuple(pair) for pair in np.argwhere(np.triu(absent)).tolist()] == [
        (0, 0),
        (0, 3),
        (1, 2),
        (1, 3),
        (2, 2),
        (3, 3),
    ]
    assert (absent == absent.T).all()
    at_zero = absent_pairs(Observations.of(X, threshold=0.0, unknown=unknown), rows)
    assert not np.diag(at_zero).any()
    assert not absent_pairs(Observations.of(X, threshold=None), rows).any()


def test_an_entry_is_as_sure_as_the_weaker_of_its_rows_and_only_within_a_component():
    found = Determinacy(np.array([PROVED, GENERIC, LOCAL, PROVED]), np.array([0, 0, 0, 1]), [], (), agrees=True)
    rows, cols = np.array([0, 0, 0, 0, 1]), np.array([1, 2, 3, 0, 2])
    nothing = np.zeros(5, dtype=bool)
    assert found.of_entries(rows, cols, nothing).tolist() == [GENERIC, LOCAL, NO, PROVED, LOCAL]
    assert found.of_entries(rows, cols, ~nothing).tolist() == [PROVED] * 5


def test_with_noise_the_fit_stands_for_the_data():
    U = np.ones((2, 1))
    observations = Observations.of(np.full((2, 2), 1.01), threshold=None)
    assert from_block(observations, U, DataError(0.0, 1e-12), np.arange(2)) is None
    assert from_block(observations, U, DataError(0.0, 1e-12, as_fitted=True), np.arange(2)) is not None
