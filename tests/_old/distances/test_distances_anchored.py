"""Anchors are part of what is fitted: verdict, words and places are those with the anchors where they were given."""

import warnings

import numpy as np
import pytest

import unrelu
from unrelu import InputError, complete_distances
from unrelu._old.distances.handedness import turned_groups
from unrelu._old.distances.refine import refine
from unrelu._old.io.measurements import read_distances
from unrelu._old.problems.distances import DistanceProblem
from unrelu._old.problems.network import Misfit, Network

nan = np.nan
TRIANGLE = np.ones((3, 3)) - np.eye(3)
ROOT = 2**0.5


def apart(points):
    return np.linalg.norm(points[:, None] - points, axis=2)


@pytest.mark.parametrize(
    "anchors",
    [
        {0: (0, 0), 1: (50, 0), 2: (0, 50)},
        {0: (0, 0), 1: (1.01, 0), 2: (0.5, 0.75**0.5)},
        {0: (0, 0), 1: (50, 0)},
    ],
    ids=["far off", "one per cent", "too few for a frame"],
)
def test_anchors_that_contradict_the_distances_are_no_fit(anchors):
    result = complete_distances(TRIANGLE, 2, anchors=anchors, rng=0)
    assert result.verdict.code.value == "stationary"
    assert not result.verdict.converged
    assert "the anchors contradict the distances" in result.explain()
    assert not result.determined.any()
    np.testing.assert_array_equal(result.points[list(anchors)], list(anchors.values()))


def test_wrong_anchors_that_do_not_see_each_other():
    truth = np.random.default_rng(0).random((12, 2))
    D = apart(truth)
    D[:3, :3] = nan
    right = complete_distances(D, 2, anchors={k: truth[k] for k in range(3)}, rng=0)
    assert right.verdict.code.value == "fitted"
    assert right.determined.all()
    wrong = complete_distances(D, 2, anchors={k: truth[k] * 1.01 for k in range(3)}, rng=0)
    assert wrong.verdict.code.value == "stationary"
    assert "anchors that contradict them" in wrong.verdict.reason
    assert not wrong.determined.any()


def test_a_fit_that_the_anchors_break_is_sought_again_with_the_anchors_held():
    points = [[-2.37, 1.04], [-1.21, -0.17], [0.64, 0.14], [-0.86, 1.14], [-0.13, -0.52]]
    points += [[-0.86, -1.41], [1.02, -0.86], [-0.08, -1.58], [-0.31, 1.77]]
    truth = np.array(points)
    D, cutoff = apart(truth), 1.2348721588660274
    anchors = {k: truth[k] for k in (2, 8, 7, 4)}
    result = complete_distances(np.where(cutoff >= D, D, nan), 2, cutoff=cutoff, anchors=anchors, rng=0)
    assert result.verdict.code.value == "fitted"
    assert result.residual < 1e-12
    fixed = result.determined
    np.testing.assert_allclose(result.points[fixed], truth[fixed], rtol=0, atol=1e-9)


def test_a_mirror_image_beyond_the_anchors_is_a_second_place():
    pairs = unrelu.EdgeList([["p", "c"], ["q", "c"], ["q", "r"]], [ROOT] * 3)
    result = complete_distances(pairs, 2, anchors={"p": (3, 2), "q": (1, 2), "r": (0, 3)}, rng=0)
    words = dict(zip(result.names, result.determinacy.tolist(), strict=True))
    assert words == {"p": "proved", "q": "proved", "r": "proved", "c": "local"}


def test_a_mirror_image_on_a_line():
    places = np.array([[1.1266], [0.3625], [-1.5002]])
    D = np.full((3, 3), nan)
    D[0, 1] = D[1, 0] = apart(places)[0, 1]
    result = complete_distances(D, 1, cutoff=1.12, anchors={0: places[0], 2: places[2]}, rng=0)
    assert result.verdict.code.value == "fitted"
    assert result.determinacy.tolist() == ["proved", "local", "proved"]


@pytest.mark.parametrize("seed", range(40))
def test_consistent_anchors_are_met_and_what_is_determined_is_true(seed):
    rng = np.random.default_rng(seed)
    dim, n = int(rng.integers(1, 4)), int(rng.integers(3, 13))
    truth = rng.standard_normal((n, dim))
    D, options = apart(truth), {}
    if rng.random() < 0.5:
        options["cutoff"] = float(rng.uniform(1, 2.5))
        seen = options["cutoff"] >= D
    else:
        seen = np.triu(rng.random((n, n)) < 0.6)
        seen |= seen.T
    if rng.random() < 0.4:
        limited = np.triu(rng.random((n, n)) < 0.3, 1)
        options |= {"lower": np.where(limited, 0.9 * D, nan), "upper": np.where(limited, 1.1 * D, nan)}
    known = rng.choice(n, int(rng.integers(1, n + 1)), replace=False)
    result = complete_distances(
        np.where(seen, D, nan), dim, anchors={int(k): truth[k] for k in known}, rng=0, **options
    )
    assert result.verdict.code.value == "fitted"
    assert result.residual < 1e-8
    np.testing.assert_array_equal(result.points[known], truth[known])
    fixed = np.flatnonzero(result.determined & (result.components == result.components[known[0]]))
    if result.framed:
        np.testing.assert_allclose(result.points[fixed], truth[fixed], rtol=0, atol=1e-6)
    else:
        np.testing.assert_allclose(apart(result.points[fixed]), D[np.ix_(fixed, fixed)], rtol=0, atol=1e-6)


def test_noise_and_anchors():
    rng = np.random.default_rng(1)
    truth = rng.random((30, 2))
    noise = np.triu(0.01 * rng.standard_normal((30, 30)), 1)
    D = np.abs(apart(truth) + noise + noise.T)
    D = np.where(D <= 0.6, D, nan)
    right = complete_distances(D, 2, cutoff=0.6, sigma=0.01, anchors={k: truth[k] for k in range(4)}, rng=0)
    assert right.verdict.code.value == "fitted-to-noise"
    assert right.determined.all()
    wrong = complete_distances(
        D, 2, cutoff=0.6, sigma=0.01, anchors={k: truth[k] + 0.1 * (k == 0) for k in range(4)}, rng=0
    )
    assert wrong.verdict.code.value == "stationary"
    assert not wrong.determined.any()


def test_bounds_that_cannot_be_met_are_no_fit():
    D = np.array([[0, 1, nan], [1, 0, 1], [nan, 1, 0]])
    lower, upper = np.full((3, 3), nan), np.full((3, 3), nan)
    lower[0, 2], upper[0, 2] = 5.0, 9.0
    result = complete_distances(D, 2, lower=lower, upper=upper, rng=0)
    assert result.verdict.code.value == "stationary"
    assert "bounds are not met" in result.verdict.reason
    assert not result.determined.any()


def test_bounds_that_contradict_what_is_known_are_refused():
    lower, upper = unrelu.EdgeList([[0, 1]], [5.0]), unrelu.EdgeList([[0, 1]], [9.0])
    with pytest.raises(InputError, match=r"not contradict a seen distance, got 1 outside 5 to 9 at \(0, 1\)"):
        complete_distances(TRIANGLE, 2, lower=lower, upper=upper, rng=0)
    unseen = TRIANGLE.copy()
    unseen[0, 1] = unseen[1, 0] = nan
    with pytest.raises(InputError, match=r"bounds must not contradict the anchors, which lie 1 apart, outside 5 to 9"):
        complete_distances(unseen, 2, lower=lower, upper=upper, anchors={0: (0, 0), 1: (1, 0)}, rng=0)
    # Noise may do a little.
    lower, upper = unrelu.EdgeList([[0, 1]], [1.01]), unrelu.EdgeList([[0, 1]], [2.0])
    assert complete_distances(TRIANGLE, 2, sigma=0.01, lower=lower, upper=upper, rng=0).verdict.converged


def test_a_deviation_beyond_all_numbers():
    D = apart(np.random.default_rng(0).random((8, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = complete_distances(D, 2, sigma=1e300, rng=0)
        assert np.isfinite(result.standard_errors).all()
        complete_distances(D, 2, sigma=1.7e308, anchors={0: (0, 0)}, rng=0)


def test_a_matrix_without_a_distance_is_refused(tmp_path):
    path = tmp_path / "empty.csv"
    path.write_text(",a,b\na,0,\nb,,0\n")
    with pytest.raises(
        InputError, match="holds no distance between two points: every entry off the diagonal is missing"
    ):
        read_distances(path)
    path.write_text(",a,b\na,0,\nb,2,0\n")
    assert read_distances(path).names == ("a", "b")


def test_half_a_helix_of_the_wrong_hand_is_turned_back():
    rng = np.random.default_rng(0)
    t = np.arange(80)
    truth = np.column_stack([2.3 * np.cos(1.75 * t), 2.3 * np.sin(1.75 * t), 1.5 * t])
    first, second = np.nonzero(np.triu(apart(truth) <= 7, 1))
    D = apart(truth)[first, second] + 0.3 * rng.standard_normal(len(first))
    network, misfit = Network(80, 3, first, second, D, np.ones(len(first))), Misfit(absence=False)
    problem = DistanceProblem(network, misfit)
    right = refine(problem, truth, max_iter=60, tol=1e-8)
    bent = truth * np.where(t < 40, -1.0, 1.0)[:, None] ** [1, 0, 0]
    wrong = refine(problem, bent, max_iter=60, tol=1e-8)
    assert wrong.value > 1.02 * right.value
    found = turned_groups(network, misfit, wrong.points, rng, 40, allowed=2 * wrong.value)
    assert found.value < 1.005 * right.value
