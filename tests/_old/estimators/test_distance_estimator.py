"""DistanceCompleter: scikit-learn's manners, and the points behind a matrix that MDS refuses."""

from __future__ import annotations

import io
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import MDS
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import radius_neighbors_graph
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import unrelu
from unrelu import DistanceCompleter, InputError

NAN = np.nan
CUTOFF = 0.4
# Distances are met to rounding, and rounding is enlarged a little by the shape of the network.
EXACT = 1e-9


def scattered(n: int = 60, dim: int = 2, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(size=(n, dim))


def short(points: np.ndarray, cutoff: float = CUTOFF) -> np.ndarray:
    D = pairwise_distances(points)
    np.fill_diagonal(D, 0.0)
    return np.where(cutoff >= D, D, NAN)


# --- what it computes --------------------------------------------------------------------------------------


def test_points_that_mds_refuses_to_find():
    points = scattered()
    X = short(points)
    before = X.copy()
    with pytest.raises(ValueError, match="NaN"):
        MDS(2, metric="precomputed", init="random", n_init=1).fit(X)
    completer = DistanceCompleter(cutoff=CUTOFF, random_state=0)
    assert completer.fit(X) is completer
    assert completer.determined_.all()
    np.testing.assert_allclose(pairwise_distances(completer.embedding_), pairwise_distances(points), rtol=0, atol=EXACT)
    np.testing.assert_array_equal(X, before)


def test_fitted_attributes():
    X = short(scattered())
    completer = DistanceCompleter(cutoff=CUTOFF, random_state=0).fit(X)
    assert completer.embedding_.shape == (60, 2)
    assert completer.n_features_in_ == 60
    assert completer.embedding_ is completer.completion_.points
    assert set(completer.determinacy_) <= {"proved", "generic", "local", "no"}
    assert completer.components_.tolist() == [0] * 60
    assert completer.standard_errors_.shape == (60, 2)
    assert completer.n_iter_ == completer.completion_.history[-1].iteration
    assert not hasattr(completer, "feature_names_in_")


def test_fit_transform_is_the_embedding():
    X = short(scattered())
    completer = DistanceCompleter(cutoff=CUTOFF, random_state=0)
    embedding = completer.fit_transform(X)
    np.testing.assert_array_equal(embedding, completer.embedding_)
    np.testing.assert_array_equal(embedding, DistanceCompleter(cutoff=CUTOFF, random_state=0).fit(X).embedding_)


def test_a_point_seen_once_is_not_determined():
    X = short(scattered())
    near = np.flatnonzero(~np.isnan(X[5]) & (np.arange(60) != 5))
    X[5, near[1:]] = X[near[1:], 5] = NAN
    completer = DistanceCompleter(random_state=0).fit(X)
    assert not completer.determined_[5]
    assert completer.determined_.sum() == 59
    assert np.isinf(completer.standard_errors_[5]).all()


def test_a_graph_of_neighbours_is_a_matrix_of_short_distances():
    points = scattered()
    graph = radius_neighbors_graph(points, CUTOFF, mode="distance")
    for X in (graph, scipy.sparse.coo_array(graph), scipy.sparse.triu(graph)):
        completer = DistanceCompleter(cutoff=CUTOFF, random_state=0).fit(X)
        np.testing.assert_allclose(
            pairwise_distances(completer.embedding_), pairwise_distances(points), rtol=0, atol=EXACT
        )


def test_parameters_reach_the_fit():
    points = scattered()
    X = short(points)
    squares = DistanceCompleter(squared=True, cutoff=CUTOFF, random_state=0).fit(X**2)
    np.testing.assert_allclose(pairwise_distances(squares.embedding_), pairwise_distances(points), atol=EXACT)
    anchored = DistanceCompleter(cutoff=CUTOFF, anchors={k: points[k] for k in range(4)}, random_state=0).fit(X)
    np.testing.assert_allclose(anchored.embedding_, points, rtol=0, atol=EXACT)
    noisy = DistanceCompleter(sigma=0.125, random_state=0).fit(X)
    assert noisy.completion_.sigma == 0.125
    with pytest.warns(ConvergenceWarning, match=r"DistanceCompleter did not converge \(") as caught:
        DistanceCompleter(start="paths", max_iter=1, random_state=0).fit(X)
    assert caught[0].filename == __file__  # it points at the caller's line, not into the library


@pytest.mark.parametrize("progress", [False, True])
def test_progress_reaches_the_fit(monkeypatch, capsys, progress):
    heard = []

    def listening(*arguments, **options):
        heard.append(options["progress"])
        return unrelu.complete_distances(*arguments, **options)

    monkeypatch.setattr("unrelu._old.estimators.distances.complete_distances", listening)
    DistanceCompleter(cutoff=CUTOFF, random_state=0, progress=progress).fit(short(scattered()))
    assert heard == [progress]
    assert capsys.readouterr().out == ""


def test_float32_stays_float32():
    points = scattered()
    completer = DistanceCompleter(cutoff=CUTOFF, random_state=0)
    assert completer.fit_transform(short(points).astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(pairwise_distances(completer.embedding_), pairwise_distances(points), atol=1e-4)


def test_masked_arrays_hide_what_they_mask():
    points = scattered()
    D = pairwise_distances(points)
    hidden = np.ma.MaskedArray(np.where(D <= CUTOFF, D, 99.0), mask=D > CUTOFF)
    completer = DistanceCompleter(cutoff=CUTOFF, random_state=0).fit(hidden)
    np.testing.assert_allclose(pairwise_distances(completer.embedding_), D, rtol=0, atol=EXACT)


def test_names_of_a_data_frame_name_the_anchors():
    points = scattered()
    names = [f"s{k}" for k in range(60)]
    X = pd.DataFrame(short(points), index=names, columns=names)
    completer = DistanceCompleter(cutoff=CUTOFF, anchors={f"s{k}": points[k] for k in (3, 7, 20)}, random_state=0)
    np.testing.assert_allclose(completer.fit_transform(X), points, rtol=0, atol=EXACT)
    assert list(completer.feature_names_in_) == names
    with pytest.raises(InputError, match="index and columns of X must carry their labels in the same order"):
        completer.fit(X[names[::-1]])


def test_the_embedding_serves_others():
    rng = np.random.default_rng(3)
    points = np.concatenate([rng.normal(centre, 0.2, size=(20, 2)) for centre in ((0, 0), (2, 0))])
    embedding = DistanceCompleter(cutoff=1.7, random_state=0).fit_transform(short(points, 1.7))
    groups = KMeans(2, n_init=1, random_state=0).fit_predict(embedding)
    assert len(set(groups[:20])) == len(set(groups[20:])) == 1
    assert groups[0] != groups[-1]


# --- manners -----------------------------------------------------------------------------------------------


# The checks feed it numbers that are no distances, on which a run goes on for as long as it may.
@parametrize_with_checks([DistanceCompleter(max_iter=10), DistanceCompleter(dim=1, start="paths", max_iter=10)])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        check(estimator)


def test_tags():
    tags = get_tags(DistanceCompleter()).input_tags
    assert tags.pairwise
    assert tags.allow_nan
    assert tags.sparse


def test_constructor_only_stores_and_clone_copies_every_parameter():
    given = {
        "dim": 3,
        "metric": "precomputed",
        "cutoff": 2.5,
        "squared": True,
        "sigma": 0.1,
        "anchors": {0: [0.0, 0.0, 0.0]},
        "loss": "distances",
        "start": "paths",
        "tol": 1e-6,
        "max_iter": 9,
        "random_state": 4,
        "progress": True,
    }
    completer = DistanceCompleter(**given)
    assert completer.get_params() == given
    assert clone(completer).get_params() == given
    assert DistanceCompleter(dim="two").dim == "two"


def test_pickled_and_exported_lazily():
    assert unrelu.DistanceCompleter is DistanceCompleter
    completer = DistanceCompleter(cutoff=CUTOFF, random_state=0).fit(short(scattered()))
    copy = pickle.load(io.BytesIO(pickle.dumps(completer)))
    np.testing.assert_array_equal(copy.embedding_, completer.embedding_)
    assert copy.completion_.explain() == completer.completion_.explain()


def test_random_state():
    X = short(scattered())
    first = DistanceCompleter(random_state=3, cutoff=CUTOFF).fit_transform(X)
    np.testing.assert_array_equal(first, DistanceCompleter(random_state=3, cutoff=CUTOFF).fit_transform(X))
    state = np.random.RandomState(3)
    np.testing.assert_array_equal(first, DistanceCompleter(random_state=state, cutoff=CUTOFF).fit_transform(X))


# --- refusals ----------------------------------------------------------------------------------------------

SQUARE = pairwise_distances(scattered(4))
CROOKED = SQUARE.copy()
CROOKED[1, 2] += 0.5


@pytest.mark.parametrize(
    ("options", "X", "expected"),
    [
        ({}, np.ones((3, 4)), "X must be a square matrix of distances, a row and a column per sample; got 3x4"),
        (
            {"metric": "euclidean"},
            SQUARE,
            "metric must be 'precomputed', got 'euclidean'; compute the distances first, for instance by "
            "sklearn.metrics.pairwise_distances",
        ),
        (
            {"dim": 4},
            SQUARE,
            "dim must be less than n_samples=4, for fewer points lie in fewer dimensions, got 4; lower dim, or fit "
            "more samples",
        ),
        ({"dim": 0}, SQUARE, "dim must be an integer of at least 1, or 'auto' to have it found, got 0"),
        ({"dim": "2"}, SQUARE, "dim must be an integer of at least 1, or 'auto' to have it found, got '2'"),
        ({"cutoff": -1}, SQUARE, "cutoff must be a positive number, or None if absence says nothing; got -1"),
        ({"loss": "stress"}, SQUARE, "unknown loss 'stress'"),
        (
            {},
            -np.ones((3, 3)),
            "Negative values in data passed to DistanceCompleter: a distance is at least 0, got -1; give NaN where "
            "nothing was measured",
        ),
        ({}, CROOKED, "D must be symmetric, got entries that differ by up to 0.5, at (1, 2)"),
    ],
)
def test_refusals(options, X, expected):
    with pytest.raises(InputError, match=re.escape(expected)):
        DistanceCompleter(**options).fit(X)
