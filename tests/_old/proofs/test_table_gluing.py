"""Bodies of a table that become one: by equations that say how one lies to the other, and by nothing less."""

from dataclasses import replace

import numpy as np
import pytest

from soak.answer import solve
from soak.catalogue import drawn
from soak.checks import failed_checks
from unrelu._old.data.table_observations import table_observations
from unrelu._old.placing.table import placed_from
from unrelu._old.proofs.table import determine_table
from unrelu._old.proofs.table_gluing import joined

RANK = 2


def parts(*blocks, rank=RANK):
    """A table with rows and columns in general position, of which these blocks were seen."""
    rng = np.random.default_rng(1)
    m, n = (max(places[-1] for places in side) + 1 for side in zip(*blocks, strict=True))
    L, R = rng.standard_normal((m, rank)), rng.standard_normal((n, rank))
    return L, R, seen_in(L @ R.T, *blocks)


def seen_in(M, *blocks):
    X = np.full_like(M, np.nan)
    for rows, cols in blocks:
        X[np.ix_(rows, cols)] = M[np.ix_(rows, cols)]
    return X


def determined(X, L, R):
    observations = table_observations(X, threshold=None)
    factor = np.vstack([L, R]) / np.sqrt(observations.unit)
    return determine_table(observations, factor, np.random.default_rng(0), at_floor=True, exact=True)


UPPER, LOWER = (range(8), range(7)), (range(8, 16), range(7, 14))


@pytest.mark.parametrize("name", ["indefinite:14000:40", "indefinite:14000:115"])
def test_nothing_is_proved_of_bodies_that_share_rows_of_zeros_only(name):
    """Another completion meets all that was seen there, and the fit had rows of 1e-90 where the data have zeros."""
    instance = drawn(name)
    assert failed_checks(instance, solve(instance)) == {}


@pytest.mark.parametrize("left_over", [0.0, 1e-17])
@pytest.mark.parametrize("rows", [range(16), [*range(4), *range(12, 16)]])
@pytest.mark.parametrize("turned", [False, True])
def test_columns_of_zeros_join_no_bodies(left_over, rows, turned):
    """Also where the zeros are what rounding leaves of them, and whether or not a block begins with them."""
    L, R, X = parts(UPPER, LOWER)
    rng = np.random.default_rng(2)
    zeros = np.full((16, 3), np.nan)
    zeros[rows] = left_over * rng.standard_normal((len(rows), 3))
    X, R = np.hstack([X, zeros]), np.vstack([R, 1e-17 * rng.standard_normal((3, RANK))])
    found = determined(X.T, R, L) if turned else determined(X, L, R)
    assert "gluing" not in found.proofs
    assert 15 <= found.determined.sum() <= 18
    assert (found.level != "no").sum() >= 30


def test_entries_in_rows_of_zeros_join_no_bodies():
    """Rows of zeros in one body that see columns of the other."""
    L, R, X = parts(UPPER, LOWER)
    L[:4] = 1e-17 * np.random.default_rng(2).standard_normal((4, RANK))
    X[:4, :11] = 0
    assert "gluing" not in determined(X, L, R).proofs


@pytest.mark.parametrize("entries", [5, 6])
@pytest.mark.parametrize("size", [1.0, 1e-4])
@pytest.mark.parametrize("turned", [False, True])
def test_a_column_of_both_is_as_many_equations_as_the_rank(entries, size, turned):
    """At rank 3 a frame has nine numbers: a column says three, however short it is beside the others."""
    upper, lower = (UPPER[0], range(8)), (LOWER[0], range(7, 14))
    L, R, _ = parts(upper, lower, rank=3)
    R[7] *= size
    X = seen_in(L @ R.T, upper, lower, *(([k], [8 + k]) for k in range(entries)))
    found = determined(X.T, R, L) if turned else determined(X, L, R)
    assert ("gluing" in found.proofs) == (entries == 6)
    assert found.determined.all() == (entries == 6)


def three_bodies(last):
    """The first two have one frame by four entries; the third has two entries with each, and ``last`` more or less."""
    L, R, _ = parts(*(blocks := (UPPER, LOWER, (range(16, 24), range(14, 21)))))
    between = [(k, 7 + k) for k in range(4)] + [(16, 0), (17, 1), (18, 7), (19, 8)][:last]
    return L, R, seen_in(L @ R.T, *blocks, *(([i], [j]) for i, j in between))


@pytest.mark.parametrize("last", [3, 4])
def test_a_third_body_is_joined_by_what_it_sees_of_the_first_two(last):
    L, R, X = three_bodies(last)
    assert determined(X, L, R).determined.sum() == (45 if last == 4 else 30)


@pytest.mark.parametrize("seed", range(4))
def test_joined_bodies_are_in_one_frame_and_within_their_bounds(seed):
    """With data that are off by as much as they may be."""
    L, R, X = three_bodies(4)
    M, eps = L @ R.T, 1e-11
    X = X * (1 + eps * np.random.default_rng(seed).choice([-1, 1], X.shape))
    blocks = [UPPER, LOWER, (range(16, 24), range(14, 21))]
    bodies = [placed_from(X, RANK, (np.array(rows), np.array(cols)), eps) for rows, cols in blocks]
    (whole,), glued = joined(X, bodies, eps)
    assert glued
    assert whole.placed.all()
    rows, cols = whole.factor[:24], whole.factor[24:]
    sizes, bounds = np.linalg.norm(whole.factor, axis=1), whole.bound
    room = np.outer(sizes[:24], bounds[24:]) + np.outer(bounds[:24], sizes[24:])
    assert (np.abs(rows @ cols.T - M) <= room).all()
    assert room.max() < 1e-4


def nearly_dependent(apart):
    """Four entries between two bodies, two of them in rows and columns that differ by so much."""
    L, R, _ = parts(UPPER, LOWER)
    L[1], R[8] = L[0] + apart * L[1], R[7] + apart * R[8]
    return L, R, seen_in(L @ R.T, UPPER, LOWER, *(([k], [7 + k]) for k in range(4)))


def of_blocks(X, eps):
    return [placed_from(X, RANK, (np.array(rows), np.array(cols)), eps) for rows, cols in (UPPER, LOWER)]


@pytest.mark.parametrize("seed", range(4))
def test_bounds_know_how_well_one_body_is_known_to_lie_to_the_other(seed):
    """Rounding moves the frame by a thousand times what it does to the rows of either body."""
    L, R, X = nearly_dependent(1e-3)
    eps = 1e-11
    X = X * (1 + eps * np.random.default_rng(seed).choice([-1, 1], X.shape))
    (whole,), _ = joined(X, of_blocks(X, eps), eps)
    sizes = np.linalg.norm(whole.factor, axis=1)
    off = np.abs(whole.factor[:16] @ whole.factor[16:].T - L @ R.T)
    room = np.outer(sizes[:16], whole.bound[16:]) + np.outer(whole.bound[:16], sizes[16:])
    assert (off <= room).all()
    assert off.max() > 100 * eps


@pytest.mark.parametrize(("known_to", "glued"), [(1e-15, True), (1e-8, True), (3e-7, False), (9e-7, False)])
def test_equations_join_bodies_if_no_direction_of_them_is_rounding(known_to, glued):
    """The weakest direction is a few millionths of the strongest; the last two are near it, and beyond it."""
    _, _, X = nearly_dependent(8e-6)
    bodies = [replace(body, bound=known_to * np.linalg.norm(body.factor, axis=1)) for body in of_blocks(X, 1e-15)]
    assert joined(X, bodies, 1e-15)[1] == glued


def test_equations_that_are_nearly_dependent_join_nothing():
    L, R, X = nearly_dependent(1e-8)
    assert "gluing" not in determined(X, L, R).proofs


def test_a_fit_that_has_two_bodies_right_and_not_how_they_lie_determines_nothing():
    L, R, X = parts(UPPER, LOWER)
    X = seen_in(L @ R.T, UPPER, LOWER, *(([k], [7 + k]) for k in range(4)))
    assert determined(X, L, R).determined.all()
    L[8:], R[7:] = 2 * L[8:], R[7:] / 2
    assert not determined(X, L, R).determined.any()
