"""Tables as they come: limits of detection per column, no rank named."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import truncnorm

import unrelu
from unrelu._old.data.limits import Ends
from unrelu._old.data.sheet import Sheet, within

nan = np.nan


def together(m=150, n=6, noise=0.5, seed=0, hidden=0.4):
    """A table of normal columns that go together, its limits, and what is left of it."""
    rng = np.random.default_rng(seed)
    M = 5 + rng.standard_normal((m, 1)) * rng.uniform(0.7, 1.3, n) + noise * rng.standard_normal((m, n))
    limits = np.quantile(M, hidden, axis=0)
    return M, limits, np.where(limits <= M, M, nan)


def by_itself(M, X, limits):
    """Each column's mean below its limit, of the normal distribution from which it was drawn: the best that is."""
    mean, spread = M.mean(axis=0), M.std(axis=0)
    return np.where(np.isnan(X), truncnorm.mean(-np.inf, (limits - mean) / spread, mean, spread), X)


def error(found, M, X):
    return float(np.sqrt(np.mean(((np.asarray(found) - M) / M.std(axis=0))[np.isnan(X)] ** 2)))


@pytest.mark.parametrize("hidden", [0.2, 0.5])
def test_columns_that_go_together_fill_each_other(hidden):
    M, limits, X = together(hidden=hidden)
    found = unrelu.complete_table(X, threshold=limits, rng=0)
    assert found.verdict.code.value == "predicts"
    assert not found.verdict.converged
    assert error(found.filled(), M, X) < 0.9 * error(by_itself(M, X, limits), M, X)
    i, j = np.nonzero(np.isnan(X))
    low, high = found.predict(i, j)
    assert (high <= limits[j]).all()
    assert 0.9 < np.mean((low <= M[i, j]) & (M[i, j] <= high)) < 0.99
    half_low, half_high = found.predict(i, j, level=0.5)
    assert 0.4 < np.mean((half_low <= M[i, j]) & (M[i, j] <= half_high)) < 0.62
    assert found.rehearsal.gain > 0
    assert {tried.name for tried in found.rehearsal.tried} >= {"each column by itself", "offsets of rows and columns"}
    assert found.sigma.shape == (6,)


def test_columns_with_nothing_in_common_are_no_worse_than_by_themselves():
    rng = np.random.default_rng(1)
    M = rng.standard_normal((200, 5)) * [1, 10, 100, 1, 1] + [0, 5, 1000, -3, 2]
    limits = np.quantile(M, 0.3, axis=0)
    X = np.where(limits <= M, M, nan)
    found = unrelu.complete_table(X, threshold=limits, rng=0)
    assert found.verdict.code.value == "does-not-extrapolate"
    assert "each column by itself" in found.verdict.reason
    assert error(found.filled(), M, X) < 1.03 * error(by_itself(M, X, limits), M, X)


def test_logarithms():
    rng = np.random.default_rng(2)
    M = np.exp(0.8 * rng.standard_normal((200, 1)) + 0.4 * rng.standard_normal((200, 5)))
    limits = np.quantile(M, 0.4, axis=0)
    X = np.where(limits <= M, M, nan)
    logs = unrelu.complete_table(X, threshold=limits, log=True, rng=0)
    plain = unrelu.complete_table(X, threshold=limits, skew=False, rng=0)
    skew = unrelu.complete_table(X, threshold=limits, rng=0)
    assert (np.asarray(logs.filled()) > 0).all()
    assert error(logs.filled(), M, X) < 0.5 * error(plain.filled(), M, X)
    assert error(skew.filled(), M, X) < 0.6 * error(plain.filled(), M, X)
    low, _ = logs.predict(*np.nonzero(np.isnan(X)))
    assert (low > 0).all()


def test_exact_data_are_completed_exactly_and_nothing_else_is_tried():
    rng = np.random.default_rng(3)
    M = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 40))
    X = np.where(M >= 0, M, nan)
    found = unrelu.complete_table(X, threshold=0.0, rng=0)
    assert (found.rank, found.verdict.code.value, found.rehearsal.tried) == (3, "fitted", ())
    np.testing.assert_allclose(found.filled(), M, atol=1e-8)
    low, high = found.predict(*np.nonzero(np.isnan(X)))
    np.testing.assert_allclose(low, M[np.isnan(X)], atol=1e-6)
    np.testing.assert_allclose(high, M[np.isnan(X)], atol=1e-6)
    np.testing.assert_allclose(found.new_rows(X[:5]), M[:5], atol=1e-8)
    with pytest.raises(unrelu.InputError, match="leaves no noise to score by"):
        found.log_likelihood(X)


@pytest.mark.slow
def test_the_planted_rank_is_found_under_noise():
    rng = np.random.default_rng(4)
    M = rng.standard_normal((80, 3)) @ rng.standard_normal((3, 50)) + 0.1 * rng.standard_normal((80, 50))
    X = np.where(M >= 0, M, nan)
    found = unrelu.complete_table(X, threshold=0.0, rng=0)
    assert (found.rank, found.model) == (3, "rank 3")
    i, j = np.nonzero(np.isnan(X))
    low, high = found.predict(i, j)
    assert 0.9 < np.mean((low <= M[i, j]) & (M[i, j] <= high)) < 0.99


def test_a_rank_that_is_named_is_taken():
    _, limits, X = together(80)
    found = unrelu.complete_table(X, 2, threshold=limits, rng=0)
    assert (found.rank, found.model) == (2, "rank 2")
    assert {tried.name for tried in found.rehearsal.tried} == {"each column by itself", "rank 2"}


@pytest.mark.parametrize("factor", [1e-6, 1e5])
def test_units_do_not_matter(factor):
    _, limits, X = together(90)
    one = unrelu.complete_table(X, threshold=limits, rng=0)
    other = unrelu.complete_table(factor * X, threshold=factor * limits, rng=0)
    assert one.model == other.model
    np.testing.assert_allclose(other.filled(), factor * one.filled(), rtol=1e-4)
    mixed = np.array([1, 10, 0.1, 1e4, 1e-3, 7])
    other = unrelu.complete_table(mixed * X, threshold=mixed * limits, rng=0)
    np.testing.assert_allclose(other.filled(), mixed * one.filled(), rtol=1e-4)


def test_the_order_of_rows_and_columns_does_not_matter():
    _, limits, X = together(90)
    rows, cols = np.random.default_rng(5).permutation(90), np.array([3, 1, 0, 5, 4, 2])
    one = unrelu.complete_table(X, threshold=limits, rng=0)
    other = unrelu.complete_table(X[rows][:, cols], threshold=limits[cols], rng=0)
    np.testing.assert_allclose(other.filled(), one.filled()[rows][:, cols], rtol=1e-5)


def test_hidden_above_is_the_mirror_image():
    _, limits, X = together(90)
    one = unrelu.complete_table(X, threshold=limits, rng=0)
    other = unrelu.complete_table(-X, threshold=-limits, seen="below", rng=0)
    np.testing.assert_allclose(other.filled(), -one.filled(), rtol=1e-4)


def test_a_sensor_with_two_ends():
    M, _, _ = together(200)
    low, high = np.quantile(M, [0.15, 0.85], axis=0)
    X = np.where((low <= M) & (high >= M), M, nan)
    found = unrelu.complete_table(X, threshold=(low, high), seen="between", rng=0)
    i, j = np.nonzero(np.isnan(X))
    least, most = found.predict(i, j)
    assert 0.88 < np.mean((least <= M[i, j]) & (M[i, j] <= most)) < 0.99
    filled = found.filled()[i, j]
    assert ((filled <= low[j]) | (filled >= high[j])).all()  # what lies between would have been seen
    mean = M.mean(axis=0)
    nearer = np.where(np.isnan(X), np.where(mean - low <= high - mean, low, high), X)
    assert error(found.filled(), M, X) < 1.1 * error(nearer, M, X)


def test_gaps_without_a_limit():
    M, _, _ = together(200)
    X = np.where(np.random.default_rng(6).random(M.shape) < 0.8, M, nan)
    found = unrelu.complete_table(X, rng=0)
    assert error(found.filled(), M, X) < 0.75  # the column's mean: 1
    assert (found.status()[np.isnan(X)] == "missing").all()
    again = unrelu.complete_table(X, rng=0)
    np.testing.assert_array_equal(found.filled(), again.filled())


@pytest.mark.parametrize(("mean", "size"), [(5.0, 0.1), (100.0, 1.0)])
def test_exact_tables_with_a_mean_are_of_one_more_rank(mean, size):
    rng = np.random.default_rng(0)
    M = mean + size * rng.standard_normal((60, 2)) @ rng.standard_normal((2, 20))
    limits = np.quantile(M, 0.3, axis=0)
    found = unrelu.complete_table(np.where(limits <= M, M, nan), threshold=limits, rng=0)
    assert found.verdict.code.value == "fitted"
    assert found.rank == 3
    np.testing.assert_allclose(found.filled(), M, atol=1e-9 * mean)


def test_a_rank_that_was_named_is_filled_in_and_the_verdict_says_so():
    M = np.random.default_rng(0).standard_normal((100, 6))
    limits = np.quantile(M, 0.4, axis=0)
    X = np.where(limits <= M, M, nan)
    found = unrelu.complete_table(X, 3, threshold=limits, rng=0)
    assert found.verdict.code.value == "does-not-extrapolate"
    assert "rank 3 foretold" in found.verdict.reason
    assert "it was named, and is what is filled in: name none" in found.verdict.reason
    assert len(np.unique(found.filled()[np.isnan(X[:, 0]), 0])) > 10


def test_limits_by_the_names_of_columns():
    _, limits, X = together(60)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    found = unrelu.complete_table(frame, threshold={"a": limits[0], "c": limits[2]}, rng=0)
    everywhere = np.where(np.isin(np.arange(6), [0, 2]), limits, np.inf)
    np.testing.assert_array_equal(found.filled(), unrelu.complete_table(frame, threshold=everywhere, rng=0).filled())
    for wrong, words in (
        ({"b ": 1.0}, "unknown column in threshold 'b '; did you mean 'b'?"),
        ({"a": "low"}, "threshold must be a number for each column, got 'low' for 'a'"),
        ([1.0, 2.0], r"or one threshold, of shape \(60, 1\) for one per row, \(1, 6\) for one per column"),
    ):
        with pytest.raises(unrelu.InputError, match=words):
            unrelu.complete_table(frame, threshold=wrong)
    with pytest.raises(unrelu.InputError, match="X came without names"):
        unrelu.complete_table(X, threshold={"a": 1.0})
    with pytest.raises(unrelu.InputError, match="the same names on both sides"):
        unrelu.complete(np.eye(3), threshold={"a": 1.0})


def test_unknown_cells_have_no_limit():
    M, limits, X = together(120)
    unknown = np.zeros(M.shape, bool)
    i = np.argmax(M[:, 0])
    X[i, 0], unknown[i, 0] = nan, True
    found = unrelu.complete_table(X, threshold=limits, unknown=unknown, rng=0)
    assert found.filled()[i, 0] > limits[0]
    assert found.status()[i, 0] == "missing"
    assert set(found.status()[np.isnan(X) & ~unknown]) == {"censored"}
    with pytest.raises(unrelu.InputError, match="differ from row to row"):
        found.new_rows(X)


def test_a_range_is_kept():
    _M, limits, X = together(120)
    found = unrelu.complete_table(X, threshold=limits, entry_range=(0.0, np.inf), rng=0)
    low, _ = found.predict(*np.nonzero(np.isnan(X)))
    assert (low >= 0).all()
    tight = unrelu.complete_table(X, threshold=limits, entry_range=(float(limits.min()) - 0.1, np.inf), rng=0)
    assert (tight.filled() >= limits.min() - 0.1).all()


def frame():
    _M, limits, X = together(60, 4)
    table = pd.DataFrame(X, columns=["iron", "lead", "zinc", "tin"], index=[f"s{k}" for k in range(60)])
    table["site"] = ["north", "south"] * 30
    table["batch"] = 7.0
    table["lead"] = table["lead"].astype("float32")
    table["count"] = pd.array([None if k % 9 == 0 else (5 * k) % 17 for k in range(60)], dtype="Int64")
    named = pd.Series([*limits, np.inf, np.inf, np.inf], index=[*table.columns])
    return table, named


def test_a_frame_comes_back_as_it_was():
    table, limits = frame()
    table.loc["s3", "batch"] = nan
    kept = table.copy(deep=True)
    with pytest.warns(unrelu.CompletionWarning) as told:
        found = unrelu.complete_table(table, threshold=limits, rng=0)
    said = " ".join(str(warning.message) for warning in told)
    assert "column 'site' holds no numbers" in said
    assert "column 'batch' shows one value only" in said
    assert "columns of integers stay such, what is filled in is rounded: 'count'" in said
    assert all(warning.filename == __file__ for warning in told)
    filled = found.filled()
    pd.testing.assert_frame_equal(table, kept)
    assert list(filled.columns) == list(table.columns)
    assert list(filled.index) == list(table.index)
    assert (filled.dtypes == table.dtypes).all()
    pd.testing.assert_series_equal(filled["site"], table["site"])
    assert np.isnan(filled.loc["s3", "batch"])
    assert filled[["iron", "lead", "zinc", "tin", "count"]].notna().all().all()
    seen = table["iron"].notna()
    pd.testing.assert_series_equal(filled["iron"][seen], table["iron"][seen])
    assert (filled["lead"][table["lead"].isna()].astype(float) <= limits["lead"]).all()
    low, high = found.predict("s0", ["iron", "lead"])
    assert low.shape == high.shape == (2,)
    assert found.predict("s3", "batch") == (-np.inf, np.inf)
    assert found.untouched.keys() == {4, 5}
    with pytest.raises(unrelu.InputError, match="got 'site', which holds none; name others"):
        found.predict(0, "site")
    with pytest.raises(unrelu.InputError, match="but column 0 is 'tin' instead of 'iron'"):
        found.new_rows(table[["tin", "iron", "zinc", "lead", "site", "batch", "count"]])
    with pytest.raises(unrelu.InputError, match="column 'tin' of X must hold numbers, as in the completed table"):
        found.new_rows(table.assign(tin="none"))
    later = found.new_rows(table.iloc[:7])
    assert (later.dtypes == table.dtypes).all()
    assert later["iron"].notna().all()


def test_rows_that_come_later():
    M, limits, X = together(200)
    found = unrelu.complete_table(X[:150], threshold=limits, rng=0)
    later = found.new_rows(X[150:])
    seen = ~np.isnan(X[150:])
    assert np.array_equal(later[seen], X[150:][seen])
    assert error(later, M[150:], X[150:]) < 0.9 * error(by_itself(M, X, limits)[150:], M[150:], X[150:])
    np.testing.assert_allclose(found.new_rows(X[:20]), found.filled()[:20], atol=5e-3)
    good, bad = found.log_likelihood(X[150:]), found.log_likelihood(X[150:][:, ::-1][:, [0, 1, 2, 3, 4, 5]] + 2)
    assert good > bad
    with pytest.raises(unrelu.InputError, match="must have the 6 columns of the completed table, got 5"):
        found.new_rows(X[:, :5])


def test_sparse_masked_and_single_precision():
    _, limits, X = together(80)
    limits = np.float32(limits).astype(float)
    single = np.where(np.float32(X) >= limits, np.float32(X), np.float32(nan)).astype(np.float32)
    found = unrelu.complete_table(single, threshold=limits, rng=0).filled()
    assert found.dtype == np.float32
    assert (found[np.isnan(single)] <= np.broadcast_to(limits, X.shape)[np.isnan(single)]).all()
    rows, cols = np.nonzero(~np.isnan(X))
    stored = sp.csr_array((X[rows, cols], (rows, cols)), shape=X.shape)
    dense = unrelu.complete_table(X, threshold=0.9 * limits, rng=0).filled()
    np.testing.assert_array_equal(unrelu.complete_table(stored, threshold=0.9 * limits, rng=0).filled(), dense)
    masked = np.ma.masked_invalid(X)
    np.testing.assert_array_equal(unrelu.complete_table(masked, threshold=0.9 * limits, rng=0).filled(), dense)


def test_nothing_to_complete():
    with pytest.warns(unrelu.CompletionWarning, match="left as they were: column 0 shows two different values only"):
        found = unrelu.complete_table(np.array([[1.0], [2.0], [nan]]), threshold=0.5)
    assert np.array_equal(found.filled(), [[1.0], [2.0], [nan]], equal_nan=True)
    assert found.verdict.code.value == "does-not-extrapolate"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = np.random.default_rng(0).standard_normal((30, 3))
        assert np.array_equal(unrelu.complete_table(whole).filled(), whole)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (dict(rank=0), "rank must be between 1 and 6, the smaller side of what can be completed, or None; got 0"),
        (dict(rank=2.5), "got 2.5"),
        (dict(threshold=9.0), "every seen entry must be ≥ threshold"),
        (dict(log=True, threshold=0.0), r"log=True needs values and limits above 0, got a limit of 0 in column 0"),
        (dict(seen="abvoe"), "unknown side seen 'abvoe'; did you mean 'above'"),
        (dict(rng="seed"), "rng must be an integer"),
    ],
)
def test_errors_are_sentences(said, sentence):
    _, _, X = together(40)
    with pytest.raises(unrelu.InputError, match=sentence):
        unrelu.complete_table(X, **{"threshold": 0.0, **said})


def test_a_table_of_words_is_refused():
    with pytest.raises(unrelu.InputError, match="X must hold at least one column of numbers, got none"):
        unrelu.complete_table(pd.DataFrame({"a": ["x", "y"]}))


def test_rounding_does_not_lead_beyond_an_end():
    rng = np.random.default_rng(7)
    ends = rng.standard_normal(200)
    assert (within(ends, Ends((-np.inf, ends)), np.float32).astype(float) <= ends).all()
    assert (within(ends, Ends((ends, np.inf)), np.float32).astype(float) >= ends).all()


def test_integers_stay_inside_their_limits():
    table = pd.DataFrame({"n": pd.array([None, 5, 6], dtype="Int64")})
    ends = Ends((np.full((3, 1), -np.inf), np.full((3, 1), 5.0)))
    filled = Sheet.of(table).filled(np.array([0]), np.array([[4.9], [nan], [nan]]), ends)
    assert filled["n"].tolist() == [4, 5, 6]
    assert filled["n"].dtype == "Int64"


def test_counts_are_never_filled_below_zero():
    """Integers from 0 on, of which the small ones went unseen: half of them are zero."""
    rng = np.random.default_rng(3)
    mean = 2.0 * np.exp(0.8 * rng.standard_normal((120, 1)))
    M = rng.poisson(mean * rng.uniform(0.5, 2.0, 5)).astype(float)
    X = np.where(M >= 3, M, nan)
    found = unrelu.complete_table(X, threshold=3.0, rng=0)
    filled = found.filled()
    assert found.counts.all()
    assert "5 columns hold counts, and nothing below 0 is filled in there" in found.verdict.reason
    assert filled.min() >= 0
    low, high = found.predict(*np.nonzero(np.isnan(X)))
    assert low.min() >= 0
    assert high.max() <= 3
    anything = unrelu.complete_table(X, threshold=3.0, entry_range=(-np.inf, np.inf), rng=0)
    assert not anything.counts.any()
    low, _ = anything.predict(*np.nonzero(np.isnan(X)))
    assert (low % 1 != 0).any()
    other = unrelu.complete_table(X, threshold=3.0, entry_range=(-10.0, np.inf), rng=0)
    assert not other.counts.any()
    assert error(filled, M, X) < error(other.filled(), M, X)
    assert found.new_rows(X[:4]).min() >= 0


def test_a_column_of_integers_may_be_filled_with_zero():
    frame = pd.DataFrame({"a": pd.array([5, 3, None, 4, 7, None, 3, 9], "Int64"), "b": np.linspace(1, 2, 8)})
    with pytest.warns(unrelu.CompletionWarning, match="columns of integers stay such"):
        found = unrelu.complete_table(frame, threshold=pd.Series({"a": 1.0, "b": 0.5}), rng=0)
    assert found.filled()["a"].tolist() == [5, 3, 0, 4, 7, 0, 3, 9]  # all that a count below 1 can be


def test_the_time_is_obeyed_and_the_best_so_far_is_taken():
    M, limits, X = together()
    found = unrelu.complete_table(X, threshold=limits, max_seconds=1e-6, rng=0)
    assert found.verdict.code.value == "max-seconds"
    assert "the time was over with 1 model rehearsed" in found.verdict.reason
    assert found.model == "each column by itself"
    assert error(found.filled(), M, X) < 1.1 * error(by_itself(M, X, limits), M, X)
    with pytest.raises(unrelu.InputError, match="max_seconds must be a positive number"):
        unrelu.complete_table(X, threshold=limits, max_seconds=0)


def test_an_interrupt_leaves_the_best_so_far(monkeypatch):
    from unrelu._old.auto import table_choice

    calls = []

    def interrupted(name):
        calls.append(name)
        if len(calls) == 12:
            raise KeyboardInterrupt

    monkeypatch.setattr(table_choice, "phase", interrupted)
    _, limits, X = together()
    found = unrelu.complete_table(X, threshold=limits, rng=0)
    assert found.verdict.code.value == "interrupted"
    assert 1 < len(found.rehearsal.tried) < 12
    assert np.isfinite(found.filled()).all()


def test_what_is_rehearsed_is_told(monkeypatch):
    from unrelu._old.loop.progress import Spinner

    said = []
    monkeypatch.setattr(Spinner, "phase", lambda self, name: said.append(name))
    _, limits, X = together()
    unrelu.complete_table(X, threshold=limits, rng=0, progress=True)
    assert "rehearsing each column by itself" in said


def test_columns_that_could_not_be_completed_keep_their_limits():
    X = np.array([[5.0, 1], [nan, 2], [6, nan], [nan, 4], [nan, 5], [nan, 3]])
    with pytest.warns(unrelu.CompletionWarning, match="left as they were"):
        found = unrelu.complete_table(X, threshold=np.array([4.0, 0.5]), rng=0)
    assert found.predict(1, 0) == (-np.inf, 4.0)
    assert found.status()[1].tolist() == ["censored", "measured"]


def test_new_rows_of_which_nothing_was_seen_are_filled():
    _, limits, X = together()
    found = unrelu.complete_table(X, threshold=limits, rng=0)
    alone = found.new_rows(np.full((1, 6), nan))
    assert (alone < limits).all()
    np.testing.assert_allclose(alone, found.new_rows(np.vstack([np.full(6, nan), X[:2]]))[:1])


def test_a_whole_table_has_nothing_to_fill_in():
    M, limits, _ = together()
    found = unrelu.complete_table(M, threshold=limits - 100, rng=0)
    assert "every cell was seen" in found.verdict.reason
    np.testing.assert_array_equal(found.filled(), M)


@pytest.mark.parametrize("scale", [2.0**660, 2.0**-660])
def test_values_whose_squares_are_no_numbers(scale):
    _, limits, X = together(40, 4)
    plain = unrelu.complete_table(X, threshold=limits, rng=0)
    scaled = unrelu.complete_table(X * scale, threshold=limits * scale, rng=0)
    assert scaled.model == plain.model
    np.testing.assert_allclose(scaled.filled() / scale, plain.filled(), rtol=1e-9)
