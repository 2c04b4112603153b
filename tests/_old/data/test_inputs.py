"""What a caller may hand over in memory."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from helpers import relu_instance
from unrelu import Completion, InputError, Limits, complete
from unrelu._old.data.checks import checked
from unrelu._old.data.inputs import read_values
from unrelu._old.data.labels import Axes
from unrelu._old.data.observations import Observations
from unrelu._old.data.source import source_of


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
@pytest.mark.parametrize("second", [1.0, 5.0])
def test_a_position_stored_twice_is_refused_rather_than_added_up(form, second):
    values, i, j = np.array([1.0, 1.0, second, 1.0, 1.0]), [0, 0, 0, 1, 2], [0, 1, 1, 1, 2]
    if form == "coo":
        twice = sp.coo_array((values, (i, j)), shape=(3, 3))
    else:  # as a program may build one by hand
        kind = {"csr": sp.csr_array, "csc": sp.csc_array}[form]
        twice = kind((values, j, [0, 3, 4, 5]), shape=(3, 3))
    where = r"\(1, 0\)" if form == "csc" else r"\(0, 1\)"
    with pytest.raises(InputError, match=rf"must store every entry once, got two or more values at {where}; keep one"):
        read_values(twice)
    assert twice.nnz == 5  # the caller's matrix is as it was


def test_entries_in_any_order_and_zeros_that_are_stored_are_no_repetition():
    stored = sp.csr_array((np.array([2.0, 0.0, 3.0]), [1, 0, 1], [0, 2, 3]), shape=(2, 2))
    data, labels = read_values(stored)
    assert labels is None
    assert data.nnz == 3
    np.testing.assert_array_equal(data.toarray(), [[0.0, 2.0], [0.0, 3.0]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1e30, 1e39, 1e154, 1e200, 1e308])
@pytest.mark.parametrize(("sign", "seen"), [(-1, "above"), (1, "below")])
@pytest.mark.filterwarnings("error")
def test_a_threshold_beyond_the_digits_of_the_data_is_refused(dtype, size, sign, seen):
    X = relu_instance(12, 2)[1].astype(dtype)
    with pytest.raises(
        InputError, match=r"^threshold=\S+ is too far from the seen entries, of size \S+, to say anything"
    ):
        complete(X, 2, threshold=sign * size, seen=seen)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.filterwarnings("error")
def test_a_threshold_that_nothing_is_beyond_may_be_anywhere(dtype):
    M = relu_instance(12, 2)[0].astype(dtype)
    assert complete(M, 2, threshold=-1e308).verdict.answered
    assert Observations.of(np.zeros((2, 2)), threshold=-1e307).unit > 0


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("size", [1e-45, 1e-41, 1e-38, 1e38])
def test_single_precision_at_the_ends_of_its_range(size):
    X = relu_instance(12, 2, seed=1)[1]
    X = (X / np.nanmax(X) * (3 if size < 1 else 1) * size).astype(np.float32)
    completion = complete(X, 2, rng=1)
    assert np.isfinite(completion.matrix()).all()
    if size > 1e-39:
        assert completion.verdict.answered


@pytest.mark.parametrize("index", [[np.nan, 1.0], [float("nan"), "b"], [("a", np.nan), ("b", 1)], [pd.NaT, pd.NaT]])
def test_missing_labels_are_labels_like_any_other(index):
    def frame(values):
        axis = pd.MultiIndex.from_tuples(index) if isinstance(index[0], tuple) else pd.Index(list(index))
        return pd.DataFrame(values, index=axis, columns=axis.copy())

    X = frame([[1.0, 0.5], [0.5, 1.0]])
    unknown = frame(np.zeros((2, 2), bool))
    assert Observations.of(X, unknown=unknown).size == 2
    assert complete(X, 1, truth=frame(np.ones((2, 2))), unknown=unknown).filled().shape == (2, 2)
    unknown.index = ["p", "q"]
    with pytest.raises(InputError, match="unknown must carry the labels of X in the same order, but its index differs"):
        Observations.of(X, unknown=unknown)


def test_text_in_a_frame_is_told_before_its_labels():
    frame = pd.DataFrame({"name": ["a", "b"], "a": [1.0, 2.0], "b": [2.0, 4.0]})
    with pytest.raises(
        InputError, match=r"column 'name' has dtype .*, or make it the index with X.set_index\('name'\)"
    ):
        read_values(frame)


def test_what_is_no_completion_is_not_to_be_unpickled(tmp_path):
    (tmp_path / "corr.csv").write_text("1,2\n2,1\n")
    with pytest.raises(InputError, match=r"corr.csv is not a saved completion, nor any NumPy file; name one") as caught:
        Completion.load(tmp_path / "corr.csv")
    assert "pickle" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (-1.0, r"but 2 are not, at \(a, b\), \(b, a\), the first being -1"),
        (np.inf, r"got 2 infinite entries, at \(a, b\), \(b, a\);"),
    ],
)
def test_entries_that_break_a_rule_go_by_their_labels(value, words):
    X = np.array([[1.0, value], [value, 1.0]])
    with pytest.raises(InputError, match=words):
        checked(source_of(X), Limits.beyond(0.0, "above", None), Axes.square(2, ("a", "b")))


def test_of_many_entries_the_first_are_named():
    with pytest.raises(InputError, match=r"at \(a, a\), \(a, b\), \(a, c\) and 6 more, the first"):
        checked(source_of(-np.ones((3, 3))), Limits.beyond(0.0, "above", None), Axes.square(3, tuple("abc")))
