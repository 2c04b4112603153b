"""Completions from files, and rows by their labels: frames come back as frames, and what is missing is asked for."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import unrelu
from helpers import relu_instance
from unrelu import InputError
from unrelu._old.data.labels import as_positions
from unrelu._old.results.data_again import refuse_another_mask

N = 30
IDS = [1000 + k for k in range(N)]


def reloaded(completion, folder):
    completion.save(folder / "saved.npz")
    return unrelu.Completion.load(folder / "saved.npz")


@pytest.mark.parametrize("names", [IDS, [f"s{k}" for k in range(N)], pd.date_range("2024-01-01", periods=N)])
def test_frames_come_back_as_frames(tmp_path, names):
    frame = pd.DataFrame(relu_instance(N, 2)[1], names, names)
    completion = unrelu.complete(frame, 2, rng=0)
    loaded = reloaded(completion, tmp_path)
    fit = loaded.matrix()
    assert isinstance(fit, pd.DataFrame)
    assert list(map(str, fit.index)) == list(map(str, fit.columns)) == list(map(str, names))
    np.testing.assert_array_equal(fit, completion.matrix())
    pd.testing.assert_frame_equal(loaded.filled(frame), completion.filled())
    pd.testing.assert_frame_equal(loaded.with_data(frame).matrix(), completion.matrix())
    assert isinstance(loaded.filled(frame.to_numpy()), pd.DataFrame)


def test_integers_as_labels_come_back_as_integers(tmp_path):
    frame = pd.DataFrame(relu_instance(N, 2)[1], IDS, IDS)
    assert reloaded(unrelu.complete(frame, 2, rng=0), tmp_path).labels == tuple(IDS)


def test_arrays_stay_arrays(tmp_path):
    X = relu_instance(N, 2)[1]
    assert isinstance(reloaded(unrelu.complete(X, 2, rng=0), tmp_path).filled(X), np.ndarray)


def test_what_needs_the_data_names_with_data(tmp_path):
    loaded = reloaded(unrelu.complete(relu_instance(N, 2)[1], 2, rng=0), tmp_path)
    with pytest.raises(InputError, match=r"give it back once and for all: completion = completion\.with_data\(X\)"):
        _ = loaded.determinacy
    with pytest.raises(InputError, match=r"with_data\(X\)"):
        unrelu.certify(loaded)


def test_other_labels_are_said_to_differ_from_those_of_the_completed_matrix(tmp_path):
    X = relu_instance(N, 2)[1]
    loaded = reloaded(unrelu.complete(pd.DataFrame(X, IDS, IDS), 2, rng=0), tmp_path)
    others = [*IDS[:3], *IDS[4:], 7]
    with pytest.raises(InputError) as caught:
        loaded.with_data(pd.DataFrame(X, others, others))
    assert str(caught.value) == (
        "X must carry the labels of the completed matrix in the same order, but its index differs from label 3 on; "
        "use X.loc[labels, labels] with its labels"
    )
    with pytest.raises(InputError, match=f"differs from label {N - 1} on"):
        loaded.with_data(pd.DataFrame(X[:-1, :-1], IDS[:-1], IDS[:-1]))


def test_certify_takes_no_matrix_for_the_rank():
    frame = pd.DataFrame(relu_instance(N, 2)[1])
    completion = unrelu.complete(frame, 2, rng=0)
    with pytest.raises(InputError, match=r"got DataFrame; to give the matrix back .* certify\(completion\.with_data"):
        unrelu.certify(completion, frame)


def test_the_mask_is_asked_for_again(tmp_path):
    X = relu_instance(N, 2)[1]
    unknown = np.zeros((N, N), bool)
    unknown[0, :5] = unknown[:5, 0] = True
    X[unknown] = np.nan
    completion = unrelu.complete(X, 2, unknown=unknown, rng=0)
    loaded = reloaded(completion, tmp_path)
    for one in (loaded, completion, reloaded(loaded, tmp_path)):
        with pytest.raises(InputError, match=r"made with 9 entries marked as unknown; give the same mask again"):
            one.with_data(X)
    with pytest.raises(InputError, match="unknown must mark the 9 entries that the completion was made with, got 0"):
        loaded.with_data(X, unknown=np.zeros_like(unknown))
    assert (loaded.with_data(X, unknown=unknown).determinacy == completion.determinacy).all()


def test_a_file_from_before_masks_were_counted_asks_for_none():
    refuse_another_mask(None, 3, expected=None)


def test_the_largest_misfit_shows_labels():
    X = np.outer(np.arange(1.0, 6), np.arange(1.0, 6))
    X[1, 1] = 9.0
    names = list("abcde")
    found = unrelu.complete(pd.DataFrame(X, names, names), 1, rng=0).largest_misfit
    assert (found.row, found.column) == (1, 1)
    assert repr(found).endswith("row=1 ('b'), column=1 ('b'))")
    assert "'" not in repr(unrelu.complete(X, 1, rng=0).largest_misfit)


@pytest.mark.parametrize("rows", [1005, [0, 1005], np.array([[1005]]), pd.Index([1005])])
def test_integers_are_positions_and_a_label_is_looked_up(rows):
    completion = unrelu.complete(pd.DataFrame(relu_instance(N, 2)[1], IDS, IDS), 2, rng=0)
    with pytest.raises(InputError) as caught:
        completion.entries(rows, 0)
    assert str(caught.value) == (
        "integers are positions, 0 to 29, also where labels are integers; got 1005, which is the label of row 5: "
        "completion.labels.index(1005) finds it"
    )
    assert completion.entries(completion.labels.index(1005), 0) == completion.entries(5, 0)
    with pytest.raises(InputError, match="must be positions below 30, got 77 to 77"):
        completion.entries(77, 0)


def test_labels_of_several_levels_beside_integers():
    labels = (("a", 1), ("b", 2), 5)
    assert as_positions([("b", 2), 0], labels).tolist() == [1, 0]


@pytest.mark.parametrize("path", ["lab.csv", Path("lab.csv")])
def test_a_path_is_no_matrix(path):
    with pytest.raises(InputError, match=r"X must be a matrix, got the path 'lab\.csv'; read it first, as with pandas"):
        unrelu.complete(path, 2)


def test_lists_with_none_are_told_how_to_become_numbers():
    with pytest.raises(InputError, match=r"numpy\.array\(X, dtype=float\) makes them of .*, and NaN of None"):
        unrelu.complete([[1, 2], [2, None]], 1)
    assert unrelu.complete(np.array([[1, 2], [2, None]], dtype=float), 1).verdict.converged


def test_a_mask_of_another_shape_is_told_its_shape_first():
    frame = pd.DataFrame(relu_instance(N, 2)[1], IDS, IDS)
    mask = pd.DataFrame(np.zeros((N - 1, N - 1), bool), IDS[1:], IDS[1:])
    with pytest.raises(InputError, match=r"unknown must have the shape of X, \(30, 30\), got \(29, 29\)"):
        unrelu.complete(frame, 2, unknown=mask)
