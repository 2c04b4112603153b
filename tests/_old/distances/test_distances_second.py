"""Before a point is called determined, a second answer is looked for; and the order of the points does not matter."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unrelu import Stop, complete_distances
from unrelu._old.distances.advance import advanced
from unrelu._old.distances.alignment import deviation
from unrelu._old.distances.careful import carefully_grown, worst_gap
from unrelu._old.distances.order import own_order
from unrelu._old.distances.patches import Patch, other_place
from unrelu._old.distances.rigidity import Framework, determinacy, patch_grades
from unrelu._old.distances.second import flippable, not_a_bowl, same_in_both, searched, special, still_there
from unrelu._old.distances.starts import explored, folds
from unrelu._old.distances.swarm import Springs, descend, flattened
from unrelu._old.distances.trilateration import Body, joined
from unrelu._old.problems.network import Misfit, Network
from unrelu.datasets import points_in_cube, within

WORDS = np.array(["no", "local", "generic", "proved"])


def distances(points):
    return np.linalg.norm(points[:, None] - points, axis=2)


def network_of(points, seen, cutoff=None):
    first, second = np.nonzero(np.triu(seen, 1))
    d = np.linalg.norm(points[first] - points[second], axis=1)
    return Network(len(points), points.shape[1], first, second, d, np.ones(len(first)), cutoff)


def worst(result, truth):
    """The largest error of a distance between determined points, component by component."""
    errors = [0.0]
    for label in np.unique(result.components):
        fixed = np.flatnonzero(result.determined & (result.components == label))
        errors.append(np.abs(distances(result.points[fixed]) - distances(truth[fixed])).max(initial=0.0))
    return max(errors)


def special_places(seed):
    """Small integers, or points in two parallel planes: repeated, in line, at equal distances."""
    rng = np.random.default_rng(seed)
    n, dim = int(rng.integers(6, 16)), int(rng.integers(1, 4))
    if seed % 2:
        points = rng.integers(0, 3, (n, dim)).astype(float)
    else:
        points = np.column_stack([rng.random((n, dim - 1)), rng.integers(0, 2, n)])
    gone = np.triu(rng.random((n, n)) < 0.45, 1)
    return points, np.where(gone | gone.T, np.nan, distances(points)), dim


# --- exact data -----------------------------------------------------------------------------------------------

# Seeds at which a random stress is wrong about special places; at the last four NumPy warned.
SPECIAL = [0, 5, 16, 96, 178, 180, 190, 204, 220, 248, 262, 278, 302, 378, 390, 2, 32, 199, 386]


@pytest.mark.parametrize("seed", SPECIAL)
def test_special_places_are_not_called_determined_wrongly(seed):
    truth, D, dim = special_places(seed)
    result = complete_distances(D, dim, rng=seed)
    assert result.verdict.code is Stop.FITTED
    assert worst(result, truth) < 1e-7


def test_a_stress_is_believed_in_general_position_and_not_for_a_mirror():
    # Two K(4,4), which have no triangle, share three points: in general position nothing flips; in line one half may.
    rng = np.random.default_rng(0)
    for in_line in (False, True):
        points = rng.random((13, 2))
        if in_line:
            points[:3] = [[0.2, 0.5], [0.5, 0.5], [0.9, 0.5]]
            points[3:8, 1] *= 0.4
            points[8:, 1] = 0.6 + 0.4 * points[8:, 1]
        seen = np.zeros((13, 13), bool)
        for one, other in (([0, 1, 2, 3], [4, 5, 6, 7]), ([0, 1, 2, 8], [9, 10, 11, 12])):
            seen[np.ix_(one, other)] = seen[np.ix_(other, one)] = True
        network = network_of(points, seen)
        word = WORDS[determinacy(Framework(network, points, 1e-9), rng, exact=True, misfit=Misfit()).grade]
        if in_line:
            assert {"local"} == set(word[3:8]) or {"local"} == set(word[8:])
        else:
            assert set(word) == {"generic"}


def test_not_a_bowl_without_a_distance():
    points = np.random.default_rng(0).random((4, 2))
    network = network_of(points, np.eye(4) > 0)
    assert not not_a_bowl(network, points, Misfit(absence=False), 0.1, np.arange(4)).size


def test_special_places_are_recognised():
    rng = np.random.default_rng(0)
    points = rng.random((20, 2))
    seen = distances(points) < 0.5
    assert not special(network_of(points, seen), points)
    for change in (lambda p: p.__setitem__(3, p[4]), lambda p: np.round(4 * p, out=p)):
        other = points.copy()
        change(other)
        assert special(network_of(other, distances(other) < 0.5), other)
    line = points.copy()
    line[:5, 1] = 0.3
    seen = np.ones((20, 20), bool)
    seen[4, 5:] = seen[5:, 4] = False  # sees points of one line only
    assert special(network_of(line, seen), line)
    line[4, 1] = line[3, 1] = 0.35
    assert not special(network_of(line, seen), line)


def test_many_points_in_special_places_are_not_vouched_for_by_a_stress(monkeypatch):
    # K(40,40) on a grid: too many to search, no seed to grow from.
    side = np.stack(np.meshgrid(np.arange(10), np.arange(8)), -1).reshape(-1, 2).astype(float)
    half = np.arange(80) % 2
    network = network_of(side, half[:, None] != half)
    grade = determinacy(Framework(network, side, 1e-9), np.random.default_rng(0), exact=True, misfit=Misfit()).grade
    assert set(WORDS[grade]) == {"local"}
    general = side + np.random.default_rng(1).uniform(-0.3, 0.3, side.shape)
    network = network_of(general, half[:, None] != half)
    grade = determinacy(Framework(network, general, 1e-9), np.random.default_rng(0), exact=True, misfit=Misfit()).grade
    assert set(WORDS[grade]) == {"generic"}


def test_points_that_lie_alike_are_found_whatever_the_motion():
    rng = np.random.default_rng(0)
    points = rng.random((12, 3))
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    moved = points @ turn + 5
    moved[[2, 7]] += 0.1
    np.testing.assert_array_equal(same_in_both(points, moved, np.arange(12), 1e-6), np.delete(np.arange(12), [2, 7]))
    np.testing.assert_array_equal(same_in_both(points, moved, np.array([1, 2, 5]), 1e-6), [1, 5])


def test_a_flip_across_a_line_shows_in_the_places():
    rng = np.random.default_rng(0)
    points = np.column_stack([rng.random(20), 1e-3 * rng.standard_normal(20)])
    points[[7, 12, 15], 1] = 0.1
    flipped = points.copy()
    flipped[7, 1] = -0.1
    everything = np.arange(20)
    assert len(same_in_both(points, flipped, np.delete(everything, [12, 15]), 0.01)) == 18
    np.testing.assert_array_equal(still_there(points, flipped, everything, np.full(20, 0.02)), np.delete(everything, 7))
    assert len(still_there(points, flipped, everything, np.full(20, 0.5))) == 20


def test_folds_reflect_what_hangs_on_a_line():
    # Ten points above a line and ten below see each other only within their half and on the line.
    rng = np.random.default_rng(0)
    halves = rng.random((2, 10, 2)) + np.array([[[0, 0.1]], [[0, -1.1]]])
    points = np.vstack([[[0, 0], [1, 0], [2, 0]], *halves])
    side = np.r_[np.zeros(3), np.ones(10), -np.ones(10)]
    seen = side[:, None] * side >= 0
    network = network_of(points, seen)
    trials = folds(network, points, np.arange(23), rng, 24)
    exact = Springs.of(network, Misfit(), 1e-9).worst(trials) < 1e-9
    new = np.abs(distances(points)[3, 13] - np.linalg.norm(trials[:, 3] - trials[:, 13], axis=1)) > 0.1
    assert (exact & new).any()


def test_a_second_answer_is_found_behind_a_first(monkeypatch):
    monkeypatch.setattr("unrelu._old.distances.second.explored", lambda *_args, **_options: (points[None], np.zeros(1)))
    # Three bars in a row: the last has two places for each of the two of the one before.
    points = np.array([[0.0], [1.0], [3.0], [4.5]])
    seen = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) <= 1
    springs = Springs.of(network_of(points, seen), Misfit(), 1e-9)
    others = searched(springs, points, np.random.default_rng(0)).places
    spans = {round(float(abs(one[3, 0] - one[0, 0])), 6) for one in others}
    assert spans >= {1.5, 0.5, 2.5}  # 1 + 2 − 1.5, 1 − 2 + 1.5, 1 − 2 − 1.5, in size


def test_a_group_without_a_distance_has_no_grade():
    X = np.random.default_rng(0).random((3, 2))
    patch = Patch(network_of(X, np.eye(3) > 0), np.arange(3), np.zeros(3, bool))
    assert not patch_grades(patch, X, np.random.default_rng(0)).any()


def test_a_point_that_misses_a_distance_is_not_settled_by_the_others():
    X = np.random.default_rng(6).random((7, 2))
    seen = np.ones((7, 7), bool)
    seen[:2, 6] = seen[6, :2] = False
    network = network_of(X, seen)
    settled = np.arange(7) < 6
    rng = np.random.default_rng(0)
    places = np.where(settled[:, None], X, 0.0)
    assert advanced(network, places, settled, Misfit(), 0.03, rng)[1].all()
    wrong = (network.first == 5) & (network.second == 6)
    network = replace(network, distance=network.distance + 0.1 * wrong)
    # Least squares spreads the error: three gaps are below 0.03, which would be enough to fix the point, one is not.
    assert not advanced(network, places, settled, Misfit(), 0.03, rng)[1][6]


def test_two_bodies_are_not_joined_at_one_place():
    def body(places, placed):
        return Body(np.array(places, float), np.array(placed), np.zeros(len(placed)))

    shared = [[0.0], [1e-17]]
    one = body([*shared, [1.0], [0.0]], [True, True, True, False])
    other = body([*shared, [0.0], [2.0]], [True, True, False, True])
    assert joined(one, other) is None
    apart = [[0.0], [0.5]]
    assert joined(
        body([*apart, [1.0], [0.0]], [True, True, True, False]), body([*apart, [0.0], [2.0]], [True, True, False, True])
    )


def test_a_mirror_needs_points_that_span_it():
    X = np.array([[0.0, 0.0], [1e-17, 0.0], [2e-17, 0.0], [1.0, 0.0], [0.3, 0.8]])
    assert other_place(X, 4, np.array([0, 1, 2])) is None  # at one place: a circle
    np.testing.assert_allclose(other_place(X, 4, np.array([0, 3])), [0.3, -0.8])


# --- noise ------------------------------------------------------------------------------------------------------


def test_a_flip_that_the_noise_hides_is_seen():
    # The last point sees three others almost in line: how much it is above that line the noise does not say.
    rng = np.random.default_rng(0)
    points = np.vstack([rng.random((30, 2)), [[0.5, 0.9]]])
    points[:3] = [[0.1, 0.5], [0.5, 0.502], [0.9, 0.499]]
    seen = np.ones((31, 31), bool)
    seen[30, 3:] = seen[3:, 30] = False
    network = network_of(points, seen)
    everything = np.arange(31)
    assert flippable(network, points, Misfit(), 0.01, everything).tolist() == [30]
    assert not flippable(network, points, Misfit(), 1e-5, everything).size
    # With a cut-off the place below the line is too close to points that it does not see.
    short = network_of(points, seen, cutoff=0.6)
    assert not flippable(short, points, Misfit(), 0.01, everything).size


@pytest.mark.parametrize("seed", range(4))
def test_a_second_answer_within_the_noise_takes_the_word_away(seed):
    rng = np.random.default_rng(seed)
    points = np.vstack([rng.random((15, 2)), [[0.5, 0.9]]])
    points[:3] = [[0.1, 0.5], [0.5, 0.502], [0.9, 0.499]]
    error = np.triu(0.01 * rng.standard_normal((16, 16)), 1)
    D = np.abs(distances(points) + error + error.T) * (1 - np.eye(16))
    D[15, 3:15] = D[3:15, 15] = np.nan
    result = complete_distances(D, 2, rng=seed)
    assert result.verdict.code is Stop.FITTED_TO_NOISE
    assert result.determinacy.tolist() == ["generic"] * 15 + ["local"]


def test_points_at_one_place_flip_together():
    rng = np.random.default_rng(0)
    points = np.vstack([rng.random((30, 2)), [[0.5, 0.9], [0.5, 0.9001]]])
    points[:2] = [[0.1, 0.5], [0.9, 0.5]]
    seen = np.ones((32, 32), bool)
    seen[30:, 2:30] = seen[2:30, 30:] = False
    found = flippable(network_of(points, seen), points, Misfit(), 0.01, np.arange(32))
    assert found.tolist() == [30, 31]


def test_a_place_along_which_the_misfit_is_flat_is_no_bowl():
    # It hangs on two others, a little above their line; its image below is four standard deviations away.
    points = np.vstack([np.random.default_rng(0).random((12, 2)), [[0.5, 0.6]]])
    points[:2] = [[0.0, 0.5], [1.0, 0.5]]
    seen = np.ones((13, 13), bool)
    seen[12, 2:] = seen[2:, 12] = False
    network = network_of(points, seen)
    plain = Misfit(absence=False)
    assert not_a_bowl(network, points, plain, 0.0139, np.arange(13)).tolist() == [12]
    assert not not_a_bowl(network, points, plain, 0.002, np.arange(13)).size


@pytest.mark.parametrize("seed", range(6))
def test_with_noise_determined_points_are_within_six_standard_errors(seed):
    rng = np.random.default_rng(seed)
    truth = rng.random((6, 2))[rng.integers(0, 6, 14)] if seed % 2 else rng.random((14, 2))
    error = np.triu(0.02 * rng.standard_normal((14, 14)), 1)
    gone = np.triu(rng.random((14, 14)) < 0.45, 1)
    D = np.where(gone | gone.T, np.nan, np.abs(distances(truth) + error + error.T) * (1 - np.eye(14)))
    result = complete_distances(D, 2, rng=seed)
    fixed = result.determined & (result.components == 0)
    if fixed.any():
        bars = np.sqrt(np.trace(result.covariances[fixed], axis1=1, axis2=2))
        assert (deviation(result.points[fixed], truth[fixed]) < 6 * bars).all()


PROTEIN = np.loadtxt(Path(__file__).parents[2] / "files" / "calpha.csv", delimiter=",", skiprows=2)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_protein_from_rounded_distances(seed):
    # The first release called one residue determined to 0.04 Å that was 3.7 Å off.
    D = within(PROTEIN, 8.0)
    result = complete_distances(np.round(D, 3), 3, cutoff=8.0, rng=seed)
    fixed = result.determined & (result.components == 0)
    assert result.verdict.code is Stop.FITTED_TO_NOISE
    assert result.sigma == pytest.approx(1e-3 / np.sqrt(12), rel=0.2)
    assert fixed.sum() > 110
    assert deviation(result.points[fixed], PROTEIN[fixed]).max() < 0.05


def test_careful_growth_keeps_the_errors_at_the_size_of_the_noise():
    D = np.round(within(PROTEIN, 8.0), 2)
    first, second = np.nonzero(np.triu(np.isfinite(D), 1))
    network = Network(160, 3, first, second, D[first, second], np.ones(len(first)), 8.0)
    body = carefully_grown(network, Misfit(), 0.003, np.random.default_rng(0))
    assert body.count > 100
    assert worst_gap(network, body) < 8 * 0.003
    assert deviation(body.points[body.placed], PROTEIN[body.placed]).max() < 0.2


# --- many starts ------------------------------------------------------------------------------------------------


def test_stacks_descend_to_the_plain_sum_of_squares():
    points = points_in_cube(12, 2, rng=0)
    network = network_of(points, distances(points) < 0.6, cutoff=0.6)
    springs = Springs.of(network, Misfit(), 1e-12)
    X = points + 0.1 * np.random.default_rng(1).standard_normal((5, 12, 2))
    for k in range(5):
        assert springs.values(X)[k] == pytest.approx(network.forces(X[k], Misfit()).value, rel=1e-12)
    places, values = descend(springs, X)
    assert values.min() < 1e-20
    for place, value in zip(places, values, strict=True):
        assert value == pytest.approx(network.forces(place, Misfit()).value, rel=1e-12, abs=1e-24)
    held = np.arange(4, 12)
    kept, _ = descend(springs, X, free=held, iterations=5)
    np.testing.assert_array_equal(kept[:, :4], X[:, :4])


def test_starts_in_more_dimensions_find_what_others_do_not():
    rng = np.random.default_rng(390)  # a set at which most plain descents end in local minima
    n, dim = int(rng.integers(10, 24)), int(rng.integers(2, 4))
    points = rng.standard_normal((n, dim))
    gone = np.triu(rng.random((n, n)) < 0.55, 1)
    network = network_of(points, ~(gone | gone.T))
    springs = Springs.of(network, Misfit(), 1e-9)
    for seed in range(3):
        assert explored(springs, np.random.default_rng(seed), 64)[1][0] < 1e-18


def test_flattening_keeps_the_widest_directions():
    rng = np.random.default_rng(0)
    flat = np.column_stack([3 * rng.standard_normal(20), rng.standard_normal(20), np.zeros(20)])
    turned = flat @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
    np.testing.assert_allclose(distances(flattened(turned[None], 2)[0]), distances(flat), atol=1e-12)


# --- order ------------------------------------------------------------------------------------------------------


def test_the_own_order_does_not_depend_on_the_given_one():
    points = points_in_cube(30, 2, rng=0)
    seen = distances(points) < 0.4
    order = np.random.default_rng(1).permutation(30)
    one, alike = own_order(network_of(points, seen))
    other, _ = own_order(network_of(points[order], seen[np.ix_(order, order)]))
    np.testing.assert_array_equal(order[other], one)
    assert len(set(alike.tolist())) == 30


@pytest.mark.parametrize("seed", range(8))
def test_permuting_the_points_permutes_the_answer(seed):
    rng = np.random.default_rng(seed)
    truth = rng.random((18, 2))
    error = np.triu((0.02 if seed % 2 else 0.0) * rng.standard_normal((18, 18)), 1)
    gone = np.triu(rng.random((18, 18)) < (0.6 if seed % 2 else 0.72), 1)  # points that flip come out alike too
    D = np.where(gone | gone.T, np.nan, np.abs(distances(truth) + error + error.T) * (1 - np.eye(18)))
    order = rng.permutation(18)
    one = complete_distances(D, 2, rng=3)
    other = complete_distances(D[np.ix_(order, order)], 2, rng=3)
    assert one.verdict.code is other.verdict.code
    np.testing.assert_array_equal(other.determinacy, one.determinacy[order])
    np.testing.assert_allclose(distances(other.points), distances(one.points)[np.ix_(order, order)], atol=1e-6)
