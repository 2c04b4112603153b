"""The parts that places are found with, each against a few plain lines."""

import numpy as np
import pytest

from unrelu import InputError
from unrelu._old.distances.alignment import align, deviation
from unrelu._old.distances.noise import noise_of_cliques
from unrelu._old.distances.paths import from_paths, scaling
from unrelu._old.distances.ranges import Ranges
from unrelu._old.distances.refine import refine
from unrelu._old.distances.rigidity import Framework, determinacy
from unrelu._old.distances.trilateration import best_body, grow, seed_body
from unrelu._old.problems.distances import DistanceProblem
from unrelu._old.problems.laplacian import conjugate_gradients, dense_matrix, rigidity_rows, sparse_matrix
from unrelu._old.problems.network import Misfit, Network, PairLimits
from unrelu.datasets import chain, points_in_cube, within


def network_of(points, cutoff, *, limits=None, pairs=None, seed=0):
    points = np.asarray(points, float)
    gaps = np.linalg.norm(points[:, None] - points, axis=2)
    first, second = np.nonzero(np.triu(gaps <= cutoff, 1)) if pairs is None else np.array(sorted(pairs)).T
    weight = np.random.default_rng(seed).uniform(0.5, 1.5, len(first))
    more = () if limits is None else (limits,)
    return Network(len(points), points.shape[1], first, second, gaps[first, second], weight, cutoff, *more)


def plain_value(network, X, misfit):
    """The misfit, pair by pair."""
    total = 0.0
    columns = (network.first, network.second, network.distance, network.weight)
    seen = {(i, j): (d, w) for i, j, d, w in zip(*columns, strict=True)}
    limits = {
        (i, j): (low, high)
        for i, j, low, high in zip(
            network.limits.first, network.limits.second, network.limits.lower, network.limits.upper, strict=True
        )
    }
    c = network.cutoff
    for i in range(network.size):
        for j in range(i + 1, network.size):
            x = np.sqrt(np.sum((X[i] - X[j]) ** 2))
            if (i, j) in seen:
                d, w = seen[i, j]
                total += w * ((x * x - d * d) ** 2 / 8 if misfit.squared else (x - d) ** 2 / 2)
            elif (i, j) in limits:
                low, high = limits[i, j]
                total += max(low - x, x - high, 0) ** 2 / 2
            elif misfit.absence:
                total += max(c * c - x * x, 0) ** 2 / 8 if misfit.squared else max(c - x, 0) ** 2 / 2
    return total


MISFITS = [Misfit(), Misfit(absence=False), Misfit(squared=True), Misfit(squared=True, absence=False)]


@pytest.mark.parametrize("misfit", MISFITS, ids=str)
def test_value_is_the_plain_sum(misfit):
    limits = PairLimits(np.array([0, 1]), np.array([5, 7]), np.array([0.9, 0.0]), np.array([2.0, 0.3]))
    network = network_of(points_in_cube(25, 2, rng=1), 0.35)
    taken = np.isin(limits.first * 25 + limits.second, network.keys)
    assert not taken.any()
    network = network_of(points_in_cube(25, 2, rng=1), 0.35, limits=limits)
    X = points_in_cube(25, 2, rng=2)
    assert network.forces(X, misfit).value == pytest.approx(plain_value(network, X, misfit), rel=1e-12)


@pytest.mark.parametrize("misfit", [*MISFITS[1::2], Misfit(noise=0.1)], ids=str)
def test_gradient_leaves_a_remainder_of_second_order(misfit):
    network = network_of(points_in_cube(30, 3, rng=3), 0.5)
    X, direction = points_in_cube(30, 3, rng=4), np.random.default_rng(5).standard_normal((30, 3))
    forces = network.forces(X, misfit)
    slope = np.vdot(forces.gradient(30), direction)
    steps = np.array([1e-2, 1e-3, 1e-4]) if misfit.noise == 0 else np.array([1e-3, 1e-4])
    left = [abs(network.forces(X + t * direction, misfit).value - forces.value - t * slope) for t in steps]
    orders = np.diff(np.log(left)) / np.diff(np.log(steps))
    assert orders == pytest.approx(np.full(len(orders), 2.0), abs=0.1)


def test_sparse_and_dense_curvature_are_the_same_and_made_of_rigidity_rows():
    network = network_of(points_in_cube(30, 3, rng=6), 0.6)
    forces = network.forces(points_in_cube(30, 3, rng=7), Misfit())
    dense = dense_matrix(forces, 30)
    np.testing.assert_allclose(sparse_matrix(forces, 30).toarray(), dense, atol=1e-14)
    rows = rigidity_rows(forces, 30).toarray()
    np.testing.assert_allclose(rows.T @ (forces.curvature[:, None] * rows), dense, atol=1e-13)


def test_conjugate_gradients_solve_on_the_free_points():
    network = network_of(points_in_cube(30, 2, rng=8), 0.6)
    forces = network.forces(points_in_cube(30, 2, rng=9), Misfit(absence=False))
    right = np.random.default_rng(1).standard_normal((30, 2))
    free = np.arange(4, 30)
    step = conjugate_gradients(sparse_matrix(forces, 30), right, 1e-14, free, 1e-13)
    inside = (free[:, None] * 2 + np.arange(2)).ravel()
    exact = np.linalg.solve(dense_matrix(forces, 30)[np.ix_(inside, inside)], right.ravel()[inside])
    np.testing.assert_allclose(step[free].ravel(), exact, atol=1e-8 * np.abs(exact).max())
    assert not step[:4].any()


def test_neighbour_search_finds_the_unseen_pairs_that_are_too_close():
    network = network_of(points_in_cube(50, 2, rng=1), 0.2)
    X = points_in_cube(50, 2, rng=2)
    gaps = np.linalg.norm(X[:, None] - X, axis=2)
    seen = np.zeros((50, 50), bool)
    seen[network.first, network.second] = True
    expected = np.argwhere(np.triu((gaps <= 0.2) & ~seen, 1))
    np.testing.assert_array_equal(np.column_stack(network.too_close(X, 0.2)), expected)


def test_classical_scaling_gives_back_the_points():
    points = points_in_cube(20, 3, rng=0)
    squares = np.sum((points[:, None] - points) ** 2, axis=2)
    assert deviation(scaling(squares, 3), points).max() < 1e-12


def test_landmark_start_resembles_the_points():
    points = points_in_cube(900, 2, rng=0)
    start = from_paths(network_of(points, 0.1), np.random.default_rng(0))
    assert np.median(deviation(start, points)) < 0.1


def test_refinement_with_conjugate_gradients_is_exact():
    points = points_in_cube(900, 2, rng=1)  # more unknowns than are solved densely
    network = network_of(points, 0.12)
    rng = np.random.default_rng(0)
    ended = refine(DistanceProblem(network, Misfit()), points + 0.003 * rng.standard_normal(points.shape))
    assert deviation(ended.points, points).max() < 1e-10


def test_alignment_turns_and_mirrors():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((10, 3))
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    turn *= -np.sign(np.linalg.det(turn))  # a mirror image in three dimensions
    moved = points @ turn + [1.0, 2.0, 3.0]
    np.testing.assert_allclose(align(points, moved)(points), moved, atol=1e-13)
    assert np.abs(align(points, moved, mirror=False)(points) - moved).max() > 0.1
    with pytest.raises(InputError, match="the same shape"):
        align(points, moved[:3])


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_trilateration_is_exact_within_its_bound(dim):
    points = points_in_cube(120, dim, rng=dim)
    network = network_of(points, {1: 0.2, 2: 0.3, 3: 0.45}[dim])
    body = best_body(network, np.random.default_rng(0))
    assert body.count > 100
    error = deviation(body.points[body.placed], points[body.placed])
    proved = np.isfinite(body.bound[body.placed])
    assert proved.sum() > 20
    assert error.max() < 1e-9
    assert (body.bound[body.placed][proved] > 0).all()


def test_growth_needs_neighbours_that_span_the_space():
    points = np.array([[0.0, 0], [1, 0], [0, 1], [2, 0], [3, 0], [1, 5]])
    # The last point sees three points of one line only.
    pairs = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3), (0, 4), (1, 4), (2, 4), (0, 5), (1, 5), (3, 5)]
    network = network_of(points, 9.0, pairs=pairs)
    body = grow(network, seed_body(network, np.array([0, 1, 2])))
    assert body.placed.tolist() == [True] * 5 + [False]


GRAPHS = {
    # name: points, pairs, the grade of each point
    "triangle": ([[0, 0], [1, 0], [0, 1]], [(0, 1), (0, 2), (1, 2)], ["proved"] * 3),
    "kite that may fold": (
        [[0, 0], [1, 0.1], [0.4, 0.9], [0.6, -1.2]],
        [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3)],
        {"proved": 3, "local": 1},
    ),
    "hinge": (
        [[0, 0], [1, 0.1], [0.4, 0.9], [1.6, -1.2]], [(0, 1), (0, 2), (1, 2), (1, 3)], ["proved"] * 3 + ["no"],
    ),
    "complete": (
        [[0, 0], [1, 0.1], [0.4, 0.9], [1.6, -1.2]], [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], ["proved"] * 4,
    ),
    # K(4,4) less nothing is globally rigid in the plane, has no triangle, and so no seed.
    "bipartite": (
        [[0, 0], [1.3, 0.2], [0.5, 1.7], [1.9, 1.1], [0.3, 0.8], [1.1, 0.9], [2.3, 0.1], [0.9, 2.2]],
        [(i, j) for i in range(4) for j in range(4, 8)],
        ["generic"] * 8,
    ),
    # Two triangles joined by three bars: rigid, but with more than one shape (the Desargues graph).
    "prism": (
        [[0, 0], [1.2, 0.1], [0.5, 1.1], [2.9, 0.4], [3.8, 1.7], [2.5, 2.2]],
        [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (0, 3), (1, 4), (2, 5)],
        {"proved": 3, "local": 3},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_known_graphs_get_their_word(name):
    points, pairs, expected = GRAPHS[name]
    points = np.array(points, float)
    first, second = np.array(sorted(pairs)).T
    lengths = np.linalg.norm(points[first] - points[second], axis=1)
    network = Network(len(points), 2, first, second, lengths, np.ones(len(first)))
    grade = determinacy(Framework(network, points), np.random.default_rng(0), exact=True).grade
    words = np.array(["no", "local", "generic", "proved"])[grade].tolist()
    if isinstance(expected, dict):  # which of the two triangles comes first is not said
        assert {word: words.count(word) for word in words} == expected
    else:
        assert words == expected


@pytest.mark.parametrize("sigma", [0.01, 0.05])
def test_cliques_tell_the_noise(sigma):
    points = points_in_cube(200, 2, rng=0)
    D = within(points, 0.2, noise=sigma * 0.2, rng=1)
    ranges = Ranges.of(D)
    network = Network(200, 2, ranges.first, ranges.second, ranges.distance, np.ones(len(ranges.first)))
    assert noise_of_cliques(network, np.random.default_rng(0)) == pytest.approx(sigma * 0.2, rel=0.5)


def test_chain_keeps_its_promises():
    points = chain(300, rng=3)
    gaps = np.linalg.norm(points[:, None] - points, axis=2)
    np.testing.assert_allclose(np.diag(gaps, 1), 3.8, rtol=1e-12)
    assert gaps[~np.eye(300, dtype=bool)].min() >= 3.0
    assert np.linalg.norm(points, axis=1).max() <= 3.8 * 0.72 * 300 ** (1 / 3)
    np.testing.assert_array_equal(points, chain(300, rng=3))
