"""Limits entry by entry: what a caller may say of them, what is refused, and what absence then says of a pair."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from unrelu import InputError, complete
from unrelu._old.data.labels import Axes
from unrelu._old.data.limits import Ends, Limits
from unrelu._old.data.observations import Observations
from unrelu._old.data.terms import Terms, kept_terms, settled

nan, inf = np.nan, np.inf
X = np.array([[4.0, 2.0, nan], [2.0, 5.0, nan], [nan, nan, 9.0]])
FRAME = pd.DataFrame(X, index=list("abc"), columns=list("abc"))


def low_and_high(observations):
    everyone = np.arange(observations.size)
    return tuple(end * observations.unit for end in observations.bounds(everyone, everyone))


# --- what may be said -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "low", "high"),
    [
        (dict(threshold=1.0), -inf, 1.0),
        (dict(threshold=[[1.0, 1.5, 2.0]]), -inf, 1.0),  # of a pair the smaller of both
        (dict(threshold=[[1.0], [1.5], [2.0]]), -inf, 1.0),
        (dict(threshold=np.array([[1.0, 1.0, 2.0], [1.0, 1.0, 1.0], [1.5, 1.0, 1.0]])), -inf, 1.5),
        (dict(threshold=10.0, seen="below"), 10.0, inf),
        (dict(threshold=[[10.0, 10.0, 9.0]], seen="below"), 10.0, inf),
        (dict(threshold=(-1.0, 1.0), seen="outside"), -1.0, 1.0),
        (dict(threshold=(-1.0, [[1.0, 1.0, 0.5]]), seen="outside"), -1.0, 0.5),
        (dict(threshold=(2.0, 9.0), seen="between"), -inf, inf),  # below 2 or above 9: no interval
        (dict(threshold=Limits(low=-3.0, high=0.25)), -3.0, 0.25),
        (dict(threshold=1.0, entry_range=(-2.0, 9.0)), -2.0, 1.0),
        (dict(threshold=None, entry_range=(-2.0, 9.0)), -2.0, 9.0),
        (dict(threshold=None), -inf, inf),
        (dict(threshold=[[inf, 1.0, inf]]), -inf, inf),
    ],
)
def test_an_unseen_pair_lies_where_both_of_its_entries_may(said, low, high):
    found = low_and_high(Observations.of(X, **said))
    assert [float(end[0, 2]) for end in found] == [low, high]
    assert [float(end[0, 1]) for end in found] == [-inf, inf]  # which was seen


def test_of_a_pair_that_is_unknown_one_way_round_the_other_way_counts():
    unknown = np.zeros((3, 3), bool)
    unknown[0, 2] = True
    threshold = np.array([[1.0, 1.0, 0.5], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    _, high = low_and_high(Observations.of(X, threshold=threshold, unknown=unknown))
    assert high[0, 2] == high[2, 0] == 1.0  # and not 0.5, which is the limit of the entry that is unknown
    with_range = Observations.of(X, threshold=threshold, unknown=unknown, entry_range=(-9.0, 9.0))
    low, high = low_and_high(with_range)
    assert (low[0, 2], high[0, 2]) == (-9.0, 1.0)


def test_a_diagonal_entry_below_zero_is_unknown_by_itself_where_its_own_limit_says_so():
    values = np.array([[nan, 2.0], [2.0, nan]])
    values = np.block([[values, np.full((2, 1), 3.0)], [np.full((1, 2), 3.0), np.full((1, 1), 4.0)]])
    _, high = low_and_high(Observations.of(values, threshold=[[0.0, 1.0, 1.0]]))
    assert np.diag(high).tolist() == [inf, 1.0, inf]
    no_diagonal = np.where(np.eye(3, dtype=bool), nan, values)
    _, high = low_and_high(Observations.of(no_diagonal, threshold=[[0.0, 1.0, 1.0]]))
    assert np.diag(high).tolist() == [inf, inf, inf]  # of a matrix with entries of 3 some of them would be seen
    low, high = low_and_high(Observations.of(no_diagonal, threshold=None, entry_range=(0.0, 5.0)))
    assert (np.diag(low).tolist(), np.diag(high).tolist()) == ([0.0] * 3, [5.0] * 3)  # a range holds for all


def test_how_often_a_pair_is_told_of():
    rows, cols = np.array([0, 0, 1, 2]), np.array([1, 2, 2, 2])
    assert Observations.of(X, threshold=1.0).times_told(rows, cols).tolist() == [2, 2, 2, 1]
    one_way = np.array([[1.0, 1.0, inf], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    assert Observations.of(X, threshold=one_way).times_told(rows, cols).tolist() == [2, 1, 2, 1]
    assert Observations.of(X, threshold=None).times_told(rows, cols).tolist() == [2, 0, 0, 1]


def test_a_range_where_a_limit_leaves_no_room_is_all_that_is_known():
    values = np.array([[0.5, nan], [nan, 0.5]])
    found = Observations.of(values, threshold=[[0.0, 0.25]], entry_range=(0.0, 1.0))
    low, high = found.limits.of(slice(0, 2), slice(0, 2))
    assert np.broadcast_to(low, (2, 2)).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert np.broadcast_to(high, (2, 2)).tolist() == [[1.0, 0.25], [1.0, 0.25]]
    assert np.broadcast_to(found.limits.chance, (2, 2)).tolist() == [[True, False], [True, False]]


def test_a_gap_that_reaches_to_an_end_of_the_range_moves_that_end():
    seen_inside = Limits(gap=(0.2, 0.7))
    found = seen_inside.within(0.2, 1.0)
    assert (found.low, found.high, found.gap) == (0.7, 1.0, None)
    whole = seen_inside.within(0.0, 1.0)
    assert (whole.low, whole.high, whole.gap) == (0.0, 1.0, (0.2, 0.7))


def test_the_nearest_place_and_the_mirror_image_keep_out_of_the_gap():
    ends = Ends((np.array([0.0]), np.array([10.0])), (np.array([4.0]), np.array([6.0])))
    values = np.array([[-1.0], [4.5], [5.5], [7.0], [11.0]])
    assert ends.nearest(values).ravel().tolist() == [0.0, 4.0, 6.0, 7.0, 10.0]
    assert ends.mirrored(values).ravel().tolist() == [1.0, 3.5, 6.5, 7.0, 9.0]


def test_parts_and_orders_carry_limits_weights_and_noise():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((6, 6))
    threshold, weights, spread = M + 1, rng.uniform(1, 2, (6, 6)), rng.uniform(1, 2, (1, 6))
    whole = Observations.of(M, threshold=threshold, seen="below", weights=weights, spread=spread)
    rows = np.array([4, 1, 3])
    part = whole.restricted(rows)
    np.testing.assert_array_equal(part.limits.low, threshold[np.ix_(rows, rows)])
    np.testing.assert_allclose(part.weights, weights[np.ix_(rows, rows)] / weights.mean(), rtol=1e-14)
    np.testing.assert_array_equal(part.spread, spread[:, rows])
    fewer = whole.without(np.array([0]), np.array([1]))
    np.testing.assert_array_equal(fewer.weights, whole.weights)
    np.testing.assert_array_equal(fewer.spread, spread)
    assert whole.reordered(rng.permutation(6)).count == 36


def test_labels_are_forgotten_once_they_were_compared():
    threshold = pd.DataFrame([[1.0, 1.0, 2.0]], columns=list("abc"))
    kept = kept_terms(settled(Terms(threshold=threshold, weights=FRAME.fillna(1.0)), Axes.square(3, tuple("abc"))))
    assert type(kept["threshold"]) is type(kept["weights"]) is np.ndarray
    assert Observations.of(FRAME, threshold=threshold).limits.high.tolist() == [[1.0, 1.0, 2.0]]


def test_sparse_matrices_have_limits_too():
    stored = sp.csr_array(np.nan_to_num(X))
    _, high = low_and_high(Observations.of(stored, threshold=[[1.0, 1.5, 2.0]]))
    assert high[0, 2] == 1.0
    with pytest.raises(InputError, match=r"but 2 do not, at \(0, 1\), \(1, 0\), the first being 2 although"):
        Observations.of(stored, threshold=np.full((3, 3), 3.0))


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            dict(threshold=np.full((3, 3), 3.0)),
            r"^every seen entry must lie where it would have been seen, but 2 do not, at \(0, 1\), \(1, 0\), the first "
            r"being 2 although entries below 3 go unseen there; check threshold= and seen=, or mark entries without a "
            r"limit with inf$",
        ),
        (dict(threshold=[[3.0, 3.0, 3.0]], seen="below"), r"the first being 4 although entries above 3 go unseen"),
        (dict(threshold=(1.0, 3.0), seen="outside"), r"the first being 2 although entries between 1 and 3 go unseen"),
        (dict(threshold=(3.0, 9.0), seen="between"), r"the first being 2 although entries outside 3 to 9 go unseen"),
        (
            dict(threshold=(1.0, -1.0), seen="outside"),
            r"^threshold must be a pair \(low, high\), and low is above high; swap the two$",
        ),
        (
            dict(threshold=(1.0, -1.0)),
            r"^threshold is a pair, which needs seen='between' .* or seen='outside' .*; pass one of them, or one",
        ),
        (dict(threshold=1.0, seen="outside"), r"^threshold must be a pair \(low, high\) for seen='outside'.*got 1.0$"),
        (
            dict(threshold=[1.0, 1.0, 1.0]),
            r"^threshold is a vector of 3 numbers, which for a square matrix may be one per row or one per column; "
            r"pass shape \(3, 1\) for rows or \(1, 3\) for columns$",
        ),
        (
            dict(threshold=np.ones((3, 2))),
            r"^threshold must be a number or have shape \(n, 1\).*n = 3; got shape \(3, 2",
        ),
        (dict(threshold=np.ones((2, 2, 2))), r"^threshold must be a number or have shape .*; got shape \(2, 2, 2\)$"),
        (
            dict(threshold=[[1.0, nan, 1.0]]),
            r"^threshold must not be NaN, as it is for column 1; write inf where an entry has no limit$",
        ),
        (dict(threshold=[["a", "b", "c"]]), r"^threshold must hold numbers, got list that does not; convert it first$"),
        (dict(threshold=inf), r"^threshold must be a finite number, or None if absence says nothing; got inf$"),
        (dict(seen="inside"), r"^unknown side seen 'inside'; .*accepted: above, below, between, outside$"),
        (
            dict(threshold=Limits(high=np.ones((4, 1)))),
            r"^high of Limits must be a number or have shape .*shape \(4, 1\)$",
        ),
        (dict(threshold=Limits(high=1.0), seen="below"), r"^Limits say themselves where unseen entries lie, got seen="),
        (
            dict(threshold=Limits(unknown=np.zeros((2, 2), bool))),
            r"^unknown of Limits must have the shape of X, \(3, 3\), got \(2, 2\)$",
        ),
        (dict(entry_range=(1.0, 0.0)), r"^entry_range must be \(least, most\), got 1 and 0; swap the two$"),
        (dict(entry_range=3.0), r"^entry_range must be a pair of numbers such as \(0, 1\), got 3.0$"),
        (dict(entry_range=(-inf, inf)), r"^entry_range must be a pair of numbers such as \(0, 1\), got"),
        (
            dict(entry_range=(0.0, 4.5)),
            r"^every seen entry must lie in entry_range=\(0, 4.5\), but 2 do not, at \(1, 1\), \(2, 2\), the first "
            r"being 5; widen entry_range, or leave it out$",
        ),
        (
            dict(weights=np.zeros((3, 1))),
            r"^weights must be finite numbers above 0, got 0 for row 0 and 2 more; mark entries to be left out "
            r"with NaN in X, and as unknown=, for absence says something$",
        ),
        (
            dict(weights=-np.ones((3, 3))),
            r"^weights must be finite numbers above 0, got -1 for entry \(0, 0\) and 8 more; mark",
        ),
        (dict(weights=[[1.0, inf, 1.0]]), r"^weights must be finite numbers above 0, got inf for column 1; mark"),
        (dict(weights=np.ones(3)), r"^weights is a vector of 3 numbers, which for a square matrix may be one per row"),
        (dict(weights=np.ones((2, 3))), r"^weights must be a number or have shape .*; got shape \(2, 3\)$"),
        (dict(sigma=0.0), r"^sigma must be finite numbers above 0, or None to estimate the noise; got 0.0$"),
        (dict(sigma=[[1.0, -2.0, 1.0]]), r"^sigma must be finite numbers above 0, or None .*; got -2 at \(0, 1\)$"),
        (dict(sigma="large"), r"^sigma must be finite numbers above 0, or None .*; got 'large'$"),
        (dict(sigma=np.ones((3, 2)) + np.eye(3, 2)), r"^sigma must be a number or have shape .*; got shape \(3, 2\)$"),
        (
            dict(sigma=1.0, loss="one-sided"),
            r"^sigma is the noise of loss='censored', got loss='one-sided' besides; drop",
        ),
        (
            dict(weights=[[1.0, 2.0, 1.0]], method="pam"),
            r"^weights can be used by gauss-newton and gradient-descent, not by method 'pam'; choose one of them, or",
        ),
        (
            dict(sigma=[[1.0, 2.0, 1.0]], method="scaled-gd"),
            r"^a sigma for each entry can be used by .*not by method 'scaled-gd'",
        ),
        (
            dict(threshold=np.array([[1, 1, 1e300], [1, 1, 1], [1, 1, 1]])),
            r"^a limit of 1e\+300 is too far from the seen entries, of size",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(said, sentence):
    with pytest.raises(InputError, match=sentence) as raised:
        complete(X, 1, **said)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["threshold", "weights", "sigma"])
@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            pd.DataFrame(np.ones((3, 3)) + np.eye(3), index=list("abd"), columns=list("abd")),
            r"carry the labels of X in the same order, but label 2 of its index is 'd' and that of X is 'c'",
        ),
        (
            pd.DataFrame([[1.0, 1.0, 0.5]], columns=list("acb")),
            r"but label 1 of its columns is 'c' and that of X is 'b'",
        ),
        (pd.Series([1.0, 1.0, 0.5], index=list("abd")), r"but label 2 of its index is 'd' and that of X is 'c'"),
        (pd.Series([1.0, 1.0, 0.5], index=list("abc")), r"is a vector of 3 numbers, which for a square matrix may be"),
    ],
)
def test_labels_of_limits_are_those_of_the_matrix(name, values, sentence):
    with pytest.raises(InputError, match=f"^{name} .*{sentence}"):
        complete(FRAME, 1, **{name: values})


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (dict(gap=1.0), r"^gap of Limits must be a pair \(from, to\), got 1.0$"),
        (dict(gap=(1.0, 0.0)), r"^the first of gap of Limits must not be above the second.*; swap the two$"),
        (dict(gap=(np.ones(3), 2.0)), r"^the first of gap of Limits must be a number, or numbers of shape .*\(3,\)$"),
        (dict(low=np.ones((3, 1)), high=np.ones((1, 3)) - 2), r"^low of Limits must not be above high"),
        (
            dict(low=np.zeros((3, 1)), high=np.ones((4, 1))),
            r"^low and high of Limits must broadcast against each other",
        ),
        (dict(unknown=np.zeros((3, 3))), r"^unknown of Limits must be a boolean array"),
    ],
)
def test_limits_of_ones_own_are_looked_at_when_they_are_made(made, sentence):
    with pytest.raises(InputError, match=sentence):
        Limits(**made)


def test_one_triangle_is_refused_where_its_limits_contradict_it_and_taken_where_they_do_not():
    M = np.outer([1.0, 2, 3], [1.0, 2, 3])
    upper = np.where(np.triu(np.ones((3, 3), bool)), M, nan)
    with pytest.raises(InputError, match=r"^only the upper triangle of X holds seen entries"):
        Observations.of(upper, threshold=np.full((3, 3), 0.5) * np.eye(3) + 0.25)
    only_upper = np.where(np.triu(np.ones((3, 3), bool)), 0.5, inf)
    assert Observations.of(upper, threshold=only_upper).count == 6


def test_a_threshold_may_be_infinite_where_there_is_none():
    threshold = np.array([[-inf, inf, 1.0]])
    found = Observations.of(X, threshold=threshold)
    assert found.limits.high.tolist() == [[inf, inf, 1.0]]
    assert found.absent(slice(0, 3), slice(0, 3), X).tolist() == [
        [False, False, True],
        [False, False, True],
        [False] * 3,
    ]
