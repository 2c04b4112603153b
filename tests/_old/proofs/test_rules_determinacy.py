"""Rules behind the four words that could be loosened unseen: each on rows whose answer is plain."""

import numpy as np
import pytest
from judging import judged

import unrelu
from soak.catalogue import drawn
from unrelu._old.data.canonical import canonical_order as whole_order
from unrelu._old.data.observations import Observations
from unrelu._old.proofs import rows_outside
from unrelu._old.proofs.agreement import cleared
from unrelu._old.proofs.bodies import _mirror
from unrelu._old.proofs.determinacy import GENERIC, PROVED, Determinacy
from unrelu._old.proofs.determine import prove_by_stress
from unrelu._old.proofs.direct import DataError, Group, _bounds, attach_all, from_block
from unrelu._old.proofs.elsewhere import RowsOutside
from unrelu._old.proofs.gluing import _Equations, _polar, _refined, _reflection, ruled_out
from unrelu._old.proofs.movable import Movable
from unrelu._old.proofs.order import canonical_order
from unrelu._old.proofs.rows_outside import _hinged


def seen(X, **absence):
    return Observations.of(np.array(X, float), **{"threshold": None, **absence})


# --- rows that are zero ---------------------------------------------------------------------------------------------


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


# --- the fit and the data -------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("sigma", [0.0, 0.01])
def test_other_places_are_looked_for_to_the_noise_of_the_data(monkeypatch, sigma):
    """Rows 10 to 13 of the case above, with noise: a second place may miss the entries as the first does."""
    asked = []

    def spy(rows, *rest, **options):
        asked.append(rows.noise * rows.observations.unit)
        return found_elsewhere(rows, *rest, **options)

    found_elsewhere = rows_outside.found_elsewhere
    monkeypatch.setattr(rows_outside, "found_elsewhere", spy)
    U = gaussian(14, 2)
    X = noisy(U, sigma)
    X[10:, :10] = X[:10, 10:] = np.nan
    for i in range(10, 14):
        X[i, i - 10] = X[i - 10, i] = U[i] @ U[i - 10]
        X[i, i] = np.nan
    judged(X, U, misfit=100 * sigma, threshold=None)
    assert asked == [pytest.approx(sigma * np.sqrt(2), rel=0.4)]


def test_where_noise_took_the_fit_beyond_the_threshold_other_places_may_go_as_far():
    """Pairs (0, 1) and (0, 2) are below 0.5; the fit has 1 and 0.2 there, for rows of length 1, 1 and 0.2."""
    X = np.ones((3, 3))
    X[0, 1:] = X[1:, 0] = np.nan
    U = np.array([[1.0], [1], [0.2]])
    rows = Movable.of(seen(X, threshold=0.5), U, np.arange(0), np.arange(3), 0.1)
    assert rows.bounds[1][0, 1:].tolist() == [1.0, 2.5]


def test_one_row_alone_has_no_place():
    """Of two rows whose norms were seen, and not their entry, either may be turned round: none of them is left."""
    X, both = np.array([[1, np.nan], [np.nan, 1]]), np.array([True, True])
    rows = RowsOutside(seen(X), np.ones((2, 1)), np.arange(0), np.arange(2))
    lost = rows_outside.found_elsewhere(rows, both, np.random.default_rng(0), regular=True)
    assert lost.tolist() == [True, True]


def test_a_second_body_that_is_only_held_locally_keeps_what_was_proved_of_it():
    """One entry between two bodies in the plane leaves four turns: the second stays a component of its own."""
    U = gaussian(11, 2)
    X = U @ U.T
    X[:6, 6:] = X[6:, :6] = np.nan
    X[0, 6] = X[6, 0] = U[0] @ U[6]
    found = judged(X, U, threshold=None)
    assert found.level.tolist() == ["proved"] * 11
    assert found.components.tolist() == [0] * 6 + [1] * 5


def test_a_row_that_may_turn_about_an_axis_is_hinged_though_half_a_turn_is_ruled_out():
    """Row 3 sees e₁ of three axes, and itself; that it is below zero with e₂ and e₃ forbids half a turn, not less."""
    U = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, -1, -1]])
    X = np.where(U @ U.T >= 0, U @ U.T, np.nan)
    assert _hinged(seen(X, threshold=0.0), U, np.arange(3), np.array([3])).tolist() == [True]


# --- the first block ------------------------------------------------------------------------------------------------


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


# --- error bounds that are carried on -------------------------------------------------------------------------------


@pytest.mark.parametrize(("data", "expected"), [(0.0, 0.1 / 0.9), (0.05, 0.15 / 0.9)])
def test_a_bound_holds_in_the_worst_case(data, expected):
    """u₀ = 1 may be 0.9 in truth, and m₁₀ = 1 may be 1 + data: then u₁ = (1 + data)/0.9, which is not 1."""
    U = np.ones((2, 1))
    left, anchors = np.array([1]), np.array([0])
    bound = _bounds(seen(np.ones((2, 2))), U, DataError(data, 0.0), np.array([0.1, np.inf]), left, anchors)
    assert bound == pytest.approx(expected, rel=1e-6)


def test_rows_that_are_held_badly_wait_for_those_that_hold_them_better():
    """Row 4 sees two rows a millionth apart in direction, and row 3, which itself sees all three of the block."""
    angle = 1e-6
    U = np.array([[1.0, 0], [np.cos(angle), np.sin(angle)], [0, 1], [1, 2], [2, 1]])
    X = U @ U.T
    X[4, 2] = X[2, 4] = X[4, 4] = np.nan
    X[3, 3] = np.nan
    error = DataError(0.0, 1e-15)
    block = from_block(seen(X), U, error, np.arange(3))
    assert block.rows.tolist() == [0, 1, 2]
    found = attach_all(seen(X), U, error, block)
    assert found.wave[4] > found.wave[3] > 0
    assert found.bound[4] < 1e-12


@pytest.mark.parametrize(("own", "known"), [(True, True), (False, False)])
def test_a_row_has_a_mirror_image_only_if_its_norm_was_seen(own, known):
    """Row 4 sees one direction of two: without its norm it has a line of places, though the fit stands for the data."""
    U = gaussian(5, 2)
    X = U @ U.T
    X[4, 1:4] = X[1:4, 4] = np.nan
    if not own:
        X[4, 4] = np.nan
    error = DataError(0.0, 1e-15, as_fitted=True)
    body = from_block(seen(X), U, error, np.arange(4))
    mirror = _mirror(seen(X), U, np.linalg.norm(U, axis=1), error, body, np.intp(4))
    assert (mirror is not None) is known


def group(n, rows, bound):
    """Rows that are known to this bound."""
    inside = np.isin(np.arange(n), rows)
    return Group(np.where(inside, bound, np.inf), np.where(inside, 0, -1), np.array(rows))


@pytest.mark.parametrize(("height", "known"), [(0.5, True), (1e-13, False)])
def test_a_row_near_its_mirror_is_in_neither_of_two_places(height, known):
    """The norm tells the height above the mirror by its square: at 1e-13 rounding alone is more than that."""
    U = np.array([[1.0, 0], [0, 1], [1, 1], [1, height]])
    X = U @ U.T
    X[3, 1:3] = X[1:3, 3] = np.nan
    sizes = np.linalg.norm(U, axis=1)
    mirror = _mirror(seen(X), U, sizes, DataError(0.0, 1e-15), group(4, [0, 1, 2], 1e-15), np.intp(3))
    assert (mirror is not None) is known


@pytest.mark.parametrize(("angle", "known"), [(0.5, True), (1e-7, False)])
def test_a_mirror_needs_rows_that_span_it_beyond_their_error(angle, known):
    """Row 4 sees two rows of three, known to 1e-6, in space: what lies 1e-7 apart spans no plane."""
    U = np.array([[1.0, 0, 0], [np.cos(angle), np.sin(angle), 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])
    X = U @ U.T
    X[4, 2:4] = X[2:4, 4] = np.nan
    sizes = np.linalg.norm(U, axis=1)
    mirror = _mirror(seen(X), U, sizes, DataError(0.0, 1e-15), group(5, [0, 1, 2, 3], 1e-6), np.intp(4))
    assert (mirror is not None) is known


@pytest.mark.parametrize(
    ("size", "bound", "glued"),
    [(1.0, 1e-6, True), (1.0, 4e-4, False), (1e-7, 1e-6, False)],
)
def test_two_groups_turn_about_a_shared_row_that_is_not_known_well_enough(size, bound, glued):
    """They share a row of this size, each to this bound, and an entry of 3 that the mirror image would have at −1."""
    U = np.array([[1.0, 1], [2, -1], [size, 0], [1, 2], [0.5, 1.5]])
    X = U @ U.T
    X[:2, 3:] = X[3:, :2] = np.nan
    X[0, 3] = X[3, 0] = 3
    observations = seen(X)
    scaled = U / np.sqrt(observations.unit)
    first, second = group(5, [0, 1, 2], bound), group(5, [2, 3, 4], bound)
    assert (_reflection(observations, scaled, DataError(0.0, 1e-15), first, second) is not None) is glued


@pytest.mark.parametrize(("error", "turned"), [(0.1, 0.0), (1.0, None)])
def test_of_two_signs_one_is_left_if_the_equations_are_off_by_less_than_half(error, turned):
    """At rank 1 the other turn is −1, for which x·y = 1 would be off by 2: half of that leaves both."""
    assert _polar(_Equations(np.ones((1, 1, 1)), np.array([error])), 1) == turned


@pytest.mark.parametrize(("distance", "refined"), [(0.2, True), (0.4, False)])
def test_a_turn_is_told_by_its_first_order_only_if_it_is_small(distance, refined):
    basis = np.eye(4).reshape(4, 2, 2)
    found = _refined(distance, _Equations(basis, np.full(4, 1e-6)))
    assert (found < distance) is refined


@pytest.mark.parametrize(("mirrored", "out"), [(1.6, False), (1.8, True)])
def test_what_the_fit_itself_misses_is_no_argument_against_a_mirror_image(mirrored, out):
    """Seen: 1. The fit has 1.5 there, and either may be off by a tenth."""
    pair, places = np.array([0]), (np.array([[1.5]]), np.array([[mirrored]]))
    assert ruled_out(seen(np.ones((2, 2))), pair, np.array([1]), *places, np.array([[0.1]])) is out


@pytest.mark.parametrize(("mirrored", "out"), [(0.65, False), (0.75, True)])
def test_absence_rules_a_mirror_image_out_only_beyond_its_error(mirrored, out):
    """The pair is below 0.5; both places may be off by a tenth."""
    X = [[1.0, np.nan], [np.nan, 1]]
    pair, places = np.array([0]), (np.array([[0.4]]), np.array([[mirrored]]))
    assert ruled_out(seen(X, threshold=0.5), pair, np.array([1]), *places, np.array([[0.1]])) is out


# --- proofs by a stress ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("agrees", "off", "proved"), [(True, 0.0, True), (False, 0.0, False), (True, 1e-10, False)])
def test_a_stress_proves_only_what_agrees(agrees, off, proved):
    U = gaussian(12, 2)
    rows = np.arange(12)
    generic = Determinacy(np.full(12, GENERIC), np.zeros(12, int), [], (), agrees)
    factor = U + off * gaussian(12, 2, 1)
    found = prove_by_stress(seen(U @ U.T), factor, DataError(0.0, 1e-15), generic, np.random.default_rng(0))
    assert (found.rank_of[rows] == (PROVED if proved else GENERIC)).all()


# --- fits that are not finished -------------------------------------------------------------------------------------


def test_a_fit_called_exact_is_never_taken_for_one_to_noise():
    """A residual of 7e-7, and of 1e-6 counted in pairs: three dimensions fitted to data that nearly have two."""
    case = drawn("nearly-dependent:3400:136")
    found = unrelu.complete(case.data, rng=0, **case.options)
    rows = np.flatnonzero(found.determined)
    off = np.abs(found.matrix() - case.truth)[np.ix_(rows, rows)]
    assert off.max(initial=0.0) <= 1e-6 * np.abs(case.truth).max()


def test_two_bodies_of_an_unfinished_fit_have_no_common_frame():
    """Rows within 2e-6 of a plane join two bodies: turned over, one of them misses the seen entries by 1e-11 only."""
    case = drawn("nearly-dependent:3100:14")
    found = unrelu.complete(case.data, rng=0, **case.options)
    rows = np.flatnonzero(found.determined)
    assert len(rows) > 15
    off = np.abs(found.matrix() - case.truth)[np.ix_(rows, rows)]
    assert off.max() <= 1e-6 * np.abs(case.truth).max()


# --- rows and points that nothing tells apart -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["distances-repeated:3200:32", "distances-repeated:3200:111"])
def test_points_that_nothing_tells_apart_share_one_word(name):
    """Points that repeat each other and see alike: which of them were called determined hung on their numbers."""
    case = drawn(name)
    D, n = np.where(case.seen, case.truth, np.nan), case.size
    words = unrelu.complete_distances(D, rng=0, **case.options).determined
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(n)
        turned = unrelu.complete_distances(D[np.ix_(order, order)], rng=0, **case.options).determined
        assert turned.tolist() == words[order].tolist()


def test_rows_that_nothing_tells_apart_share_one_word():
    """Two pairs of twins: each row sees both rows of the other pair, and no row its own twin."""
    X = np.array([[1.0, np.nan, 2, 2], [np.nan, 1, 2, 2], [2, 2, 4, np.nan], [2, 2, np.nan, 4]])
    order, alike = canonical_order(seen(X))
    assert sorted(order) == [0, 1, 2, 3]
    assert alike[0] == alike[1] != alike[2] == alike[3]


def test_twins_are_followed_by_those_they_see():
    """Rows 0 and 1 look alike, and so do 2 and 3, but 0 sees 2 and 1 sees 3: one order up to the names of the pairs."""
    X = np.full((4, 4), np.nan)
    for i, j in ((0, 2), (1, 3)):
        X[i, i], X[j, j], X[i, j], X[j, i] = 1.0, 4.0, 2.0, 2.0
    for turn in ([0, 1, 2, 3], [1, 0, 2, 3], [3, 0, 1, 2], [2, 1, 3, 0]):
        here = X[np.ix_(turn, turn)]
        for order in (canonical_order(seen(here))[0], whole_order(seen(here))):
            sorted_ = here[np.ix_(order, order)]
            assert np.isfinite(sorted_[[0, 1], [2, 3]]).all(), "who comes first of one pair comes first of the other"
