"""What complete_distances accepts, and what it says about what it does not."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import unrelu
from unrelu import EdgeList, InputError, complete_distances
from unrelu._old.distances.alignment import deviation
from unrelu.datasets import points_in_cube, within

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.3, 0.6]])


def distances(points=CORNERS):
    return np.linalg.norm(points[:, None] - points, axis=2)


def changed(i, j, value, both=True):
    D = distances()
    D[i, j] = value
    if both:
        D[j, i] = value
    return D


def edges(*more, points=CORNERS):
    i, j = np.triu_indices(len(points), 1)
    table = np.column_stack([i, j, distances(points)[i, j]])
    return np.vstack([table, *more]) if more else table


def spread(points):
    """A set with one pair missing, so that something is to be found."""
    D = distances(points)
    D[0, 1] = D[1, 0] = np.nan
    return D


FORMS = {
    "matrix": lambda D: D,
    "list": lambda D: D.tolist(),
    "masked": lambda D: np.ma.masked_invalid(D),
    "upper triangle": lambda D: np.where(np.triu(np.ones(D.shape), 1) > 0, D, np.nan),
    "frame": lambda D: pd.DataFrame(D, index=list("abcdefghijkl"), columns=list("abcdefghijkl")),
    "sparse": lambda D: sp.csr_array(np.nan_to_num(D)),
    "sparse matrix": lambda D: sp.coo_matrix(np.triu(np.nan_to_num(D))),
    "edge list": lambda D: EdgeList(np.argwhere(np.triu(~np.isnan(D), 1)), D[np.triu(~np.isnan(D), 1)]),
    "edge table": lambda D: np.column_stack([np.argwhere(np.triu(~np.isnan(D), 1)), D[np.triu(~np.isnan(D), 1)]]),
    "edge frame": lambda D: pd.DataFrame(FORMS["edge table"](D), columns=["i", "j", "distance"]).astype({"i": int}),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_points(form):
    truth = points_in_cube(12, 2, rng=0)
    D = spread(truth)
    given = FORMS[form](D)
    before = given.copy() if hasattr(given, "copy") else None
    result = complete_distances(given, 2, rng=0)
    assert deviation(result.points, truth).max() < 1e-12
    assert result.determined.all()
    if isinstance(given, np.ndarray):
        np.testing.assert_array_equal(given, before)
    assert result.names == (tuple("abcdefghijkl") if form == "frame" else None)


def test_names_in_an_edge_list_are_numbered_as_they_appear():
    i, j = np.triu_indices(5, 1)
    names = ["e", "d", "c", "b", "a"]
    named = [(names[a], names[b]) for a, b in zip(i, j, strict=True)]
    result = complete_distances(EdgeList(named, distances()[i, j]), 2)
    assert result.names == ("e", "d", "c", "b", "a")
    assert deviation(result.points, CORNERS).max() < 1e-12


def test_squared_distances():
    np.testing.assert_allclose(
        complete_distances(distances() ** 2, 2, squared=True).distances(), distances(), atol=1e-12
    )


def test_scaling_the_data_scales_the_answer_exactly():
    truth = points_in_cube(40, 2, rng=3)
    D = within(truth, 0.4)
    one = complete_distances(D, 2, cutoff=0.4, rng=0)
    other = complete_distances(1024 * D, 2, cutoff=0.4 * 1024, rng=0)
    np.testing.assert_array_equal(other.points, 1024 * one.points)
    assert (other.determinacy == one.determinacy).all()


def test_float32_in_float32_out():
    truth = points_in_cube(40, 2, rng=4)
    D = within(truth, 0.5).astype(np.float32)
    result = complete_distances(D, 2, cutoff=0.5, rng=0)
    assert result.points.dtype == np.float32
    assert result.distances().dtype == np.float32
    assert deviation(result.points, truth).max() < 1e-4


BAD = {
    "negative": (lambda: changed(0, 1, -2.0), {}, r"a distance must not be negative, got -2 at \(0, 1\)"),
    "negative square": (
        lambda: changed(0, 1, -2.0),
        {"squared": True},
        r"a squared distance must not be negative, got -2 at \(0, 1\)",
    ),
    "asymmetric": (
        lambda: changed(1, 3, 1.9, both=False),
        {},
        r"D must be symmetric, got entries that differ by up to 0\.486, at \(1, 3\): 1\.41421 and 1\.9; average them",
    ),
    "infinite": (lambda: changed(2, 4, np.inf), {}, r"a distance must be finite, got inf at \(2, 4\); write NaN"),
    "diagonal": (lambda: changed(2, 2, 1.0), {}, r"the diagonal of D must be zero or unseen, got 1 at \(2, 2\)"),
    "triangle": (
        lambda: changed(0, 1, 9.0),
        {},
        r"the triangle inequality is broken beyond the noise, worst by 7\.41 in the triangle \(0, 4, 1\): 9 between "
        r"0 and 1, but 0\.67082 \+ 0\.921954 by way of 4; correct that distance, or pass a larger sigma=",
    ),
    "triangle with sigma": (
        lambda: changed(0, 1, 1.9),
        {"sigma": 0.01},
        r"worst by \d+ σ in the triangle \(0, 4, 1\): 1\.9 between 0 and 1",
    ),
    "beyond the cut-off": (
        lambda: distances(),
        {"cutoff": 1.2},
        r"a seen distance must not exceed cutoff=1\.2, got 1\.41421 at \(0, 2\) and 1 more; raise the cut-off",
    ),
    "cutoff": (lambda: distances(), {"cutoff": -1}, r"cutoff must be a positive number, or None .* got -1"),
    "crossing": (
        lambda: distances(),
        {"lower": EdgeList([(0, 1)], [3.0], size=5), "upper": EdgeList([(1, 0)], [2.0], size=5)},
        r"lower must not exceed upper, got 3 above 2 at \(0, 1\)",
    ),
    "limits of another size": (
        lambda: distances(),
        {"lower": np.zeros((4, 4))},
        r"lower must be about the same 5 points as D, got 4",
    ),
    "duplicate": (
        lambda: edges([[1, 0, 1.7]]),
        {},
        r"the pair \(0, 1\) is given 2 times with distances from 1 to 1\.7; keep one",
    ),
    "self": (
        lambda: edges([[3, 3, 0.5]]),
        {},
        r"an edge joins two different points, got 3 with itself in row 10; drop such",
    ),
    "gap in ids": (
        lambda: edges([[0, 9, 0.5]]),
        {},
        r"ids must run from 0 to n−1 without gaps, got 6 different ids up to 9, and 5 is missing; pass names=",
    ),
    "fraction as id": (
        lambda: edges([[0, 1.5, 0.5]]),
        {},
        r"first two columns of an edge list must be positions, got 1\.5",
    ),
    "unknown name": (
        lambda: EdgeList([("a", "b"), ("a", "sensr1")], [1.0, 1.0], names=["a", "b", "sensor1"]),
        {},
        r"unknown point 'sensr1'; did you mean 'sensor1'\?",
    ),
    "names twice": (lambda: distances(), {"names": list("abcda")}, "names must all be different, got 'a' twice"),
    "too few names": (lambda: distances(), {"names": list("abc")}, "names must be one per point, 5, got 3"),
    "unknown anchor": (
        lambda: distances(),
        {"names": list("abcde"), "anchors": {"x": (0, 0)}},
        "unknown anchor 'x'.*accepted: a, b, c",
    ),
    "anchor index": (
        lambda: distances(),
        {"anchors": {7: (0, 0)}},
        "an anchor must be the index of a point, 0 to 4, got 7",
    ),
    "anchor coordinates": (
        lambda: distances(),
        {"anchors": {1: (0, 0, 1)}},
        "an anchor's position must have 2 coordinates, got 3",
    ),
    "anchor not finite": (
        lambda: distances(),
        {"anchors": {1: (0, np.nan)}},
        r"must be finite, got NaN .* at \(1, 1\)",
    ),
    "anchor table": (
        lambda: distances(),
        {"anchors": np.zeros((4, 2))},
        r"anchors must be a dictionary .* got \(4, 2\)",
    ),
    "text": (lambda: np.array([["a", "b"], ["c", "d"]]), {}, "D must be real numbers, got dtype <U1"),
    "shape": (lambda: np.zeros((5, 2)), {}, r"D must be a square matrix .* got shape \(5, 2\)"),
    "sigma": (lambda: distances(), {"sigma": -1.0}, "sigma must be finite and at least 0"),
    "sigma shape": (lambda: distances(), {"sigma": np.ones(3)}, r"sigma must be one number, .* got shape \(3,\)"),
    "loss": (lambda: distances(), {"loss": "onesided"}, "unknown loss 'onesided'; did you mean 'one-sided'"),
    "loss without cut-off": (lambda: distances(), {"loss": "censored"}, "listens to absence and needs cutoff="),
    "start": (lambda: distances(), {"start": "path"}, "unknown start 'path'; did you mean 'paths'"),
    "start shape": (
        lambda: distances(),
        {"start": np.zeros((3, 2))},
        r"start must be finite points of shape .*\(5, 2\)",
    ),
    "tol": (lambda: distances(), {"tol": -1}, "tol must be a number ≥ 0, or a stopping rule"),
    "max_iter": (lambda: distances(), {"max_iter": 1.5}, r"max_iter must be an integer ≥ 0, got 1\.5"),
    "rng": (lambda: distances(), {"rng": "x"}, "rng must be an integer"),
    "callback": (lambda: distances(), {"callback": 3}, "callback must be callable, got int"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    make, options, message = BAD[case]
    with pytest.raises(InputError, match=message):
        complete_distances(make(), 2, **options)


@pytest.mark.parametrize("dim", [0, 1.5, "two", True])
def test_dim_is_a_positive_integer(dim):
    with pytest.raises(InputError, match="dim must be an integer of at least 1"):
        complete_distances(distances(), dim)


def test_zero_between_different_points_is_allowed_and_reported():
    points = np.vstack([CORNERS, CORNERS[4]])
    result = complete_distances(distances(points), 2, rng=0)
    assert deviation(result.points, points).max() < 1e-10
    assert "(4, 5) have distance zero: different points at one place" in result.explain()


def test_duplicates_that_agree_are_one():
    result = complete_distances(edges([[1, 0, 1.0]]), 2)
    assert len(result.pairs) == 10


def test_two_noisy_measurements_of_a_pair_are_averaged():
    table = EdgeList([(0, 1), (1, 0), (0, 2), (1, 2)], [1.0, 1.2, 1.0, 1.0], sigma=0.1)
    assert complete_distances(table, 2).measured[0] == pytest.approx(1.1)


def test_seen_beyond_the_cutoff_by_noise_is_allowed_with_sigma():
    result = complete_distances(distances(), 2, cutoff=1.4, sigma=0.02, rng=0)
    assert result.size == 5


def test_gaps_in_ids_can_be_names_or_isolated_points():
    table = edges([[0, 9, 0.5]])
    as_names = complete_distances(table, 2, names=[0, 1, 2, 3, 4, 9])
    assert as_names.names == (0, 1, 2, 3, 4, 9)
    alone = complete_distances(EdgeList(table[:, :2].astype(int), table[:, 2], size=10), 2)
    assert alone.size == 10
    assert (alone.determinacy[5:9] == "no").all()


def test_public_names():
    assert unrelu.EdgeList is EdgeList
    assert isinstance(complete_distances(distances(), 2), unrelu.DistanceCompletion)


def test_a_lone_triangle_that_cannot_close_is_named():
    D = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
    with pytest.raises(unrelu.InputError, match=r"by 3 in the triangle \(0, 1, 2\): 5 between 0 and 2, but 1 \+ 1"):
        unrelu.complete_distances(D, 2)


def test_more_dimensions_than_points_are_refused():
    D = np.linalg.norm(np.eye(5)[:, None] - np.eye(5)[None], axis=2)
    with pytest.raises(unrelu.InputError, match=r"dim must be at most 5, the number of points, .* got 6"):
        unrelu.complete_distances(D, 6)
    assert unrelu.complete_distances(D[:2, :2], 3).points.shape == (2, 3)


# --- rounding ----------------------------------------------------------------------------------------------------


def usual(points, dtype=np.float64, squared=False):
    """‖x‖² + ‖y‖² − 2xy, as most people compute it: neither zero on the diagonal nor quite symmetric."""
    points = points.astype(dtype)
    square = np.sum(points**2, axis=1)[:, None] + np.sum(points**2, axis=1) - 2 * (points @ points.T)
    return square if squared else np.sqrt(np.abs(square))


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_rounding_of_the_usual_formula_is_accepted(dtype, squared):
    truth = points_in_cube(40, 3, rng=0)
    truth[7] = truth[3]  # at one place: their distance is what the diagonal is
    D = usual(truth, dtype, squared)
    assert np.diag(D).any()
    D[3, 7] = D[7, 3] = np.abs(np.diag(D)).max()
    if squared:
        assert D.min() < 0
    result = complete_distances(D, 3, squared=squared, rng=0)
    assert result.determined.all()
    assert deviation(result.points, truth).max() < (1e-6 if dtype is np.float64 else 1e-2)
    assert np.linalg.norm(result.points[3] - result.points[7]) < (1e-9 if dtype is np.float64 else 1e-4)


def test_more_than_rounding_is_refused():
    D = distances()
    np.fill_diagonal(D, 1e-7)
    assert complete_distances(D, 2, rng=0).determined.all()
    np.fill_diagonal(D, 1e-5)
    with pytest.raises(InputError, match=r"the diagonal of D must be zero or unseen, got 1e-05 at \(0, 0\)"):
        complete_distances(D, 2)
    D = distances() ** 2
    D[0, 1] = D[1, 0] = -1e-14
    assert complete_distances(D, 2, squared=True, rng=0).notes
    D[0, 1] = D[1, 0] = -1e-9
    with pytest.raises(InputError, match=r"a squared distance must not be negative, got -1e-09 at \(0, 1\)"):
        complete_distances(D, 2, squared=True)
    points = np.vstack([CORNERS, CORNERS[:1] + 1e-8])
    D = distances(points)
    D[0, 5] = 0.0  # half of a pair whose squared distance is lost in rounding
    assert complete_distances(D, 2, rng=0).size == 6
    D[0, 5] = 1e-4
    with pytest.raises(InputError, match=r"D must be symmetric, got entries that differ by up to 0\.0001"):
        complete_distances(D, 2)


def test_noise_between_points_at_one_place_is_no_broken_triangle():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truth = np.repeat(points_in_cube(4, 2, rng=1), 3, axis=0)
        error = np.triu(0.02 * rng.standard_normal((12, 12)), 1)
        D = np.abs(distances(truth) + error + error.T)
        np.fill_diagonal(D, 0)
        assert complete_distances(np.where(D < 0.5, D, np.nan), 2, rng=0).size == 12
    D[0, 2] = D[2, 0] = 5.0
    with pytest.raises(InputError, match="the triangle inequality is broken beyond the noise"):
        complete_distances(D, 2)


def test_a_time_limit_in_a_stopping_rule_holds_for_the_whole_call():
    rng = np.random.default_rng(0)
    points = rng.random((60, 2))
    D = np.linalg.norm(points[:, None] - points, axis=2)
    noise = 0.02 * rng.standard_normal(D.shape)
    D = np.abs(D + noise + noise.T) * (1 - np.eye(60))
    X = np.where(D <= 0.3, D, np.nan)
    found = unrelu.complete_distances(X, 2, cutoff=0.3, tol=unrelu.MaxSeconds(1e-6), rng=0)
    assert found.verdict.code.value == "max-seconds", found.verdict
