"""Tables: two factors, labels of rows and of columns, and the words that are said of both."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import unrelu
from unrelu import Limits
from unrelu._old.data.bipartite import Bipartite
from unrelu._old.data.source import ArraySource
from unrelu._old.data.table_observations import table_observations
from unrelu._old.model.losses import Censored, Huber, Observed, OneSided
from unrelu._old.placing.table import table_placement
from unrelu._old.problems.rectangular import RectangularProblem, balanced
from unrelu._old.proofs.table import determine_table


def planted(m=40, n=25, rank=2, seed=0, noise=0.0, tau=0.0):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((m, rank)) @ rng.standard_normal((n, rank)).T
    Y = M + noise * rng.standard_normal(M.shape)
    return M, np.where(tau <= Y, Y, np.nan)


# --- the table in a symmetric matrix --------------------------------------------------------------------------------


def whole_of(X):
    m, n = X.shape
    whole = np.full((m + n, m + n), np.nan)
    whole[:m, m:], whole[m:, :m] = X, X.T
    return whole


@pytest.mark.parametrize("rows", [slice(0, 4), slice(4, 7), slice(2, 6), np.array([5, 0, 6, 1])])
@pytest.mark.parametrize("cols", [slice(0, 4), slice(4, 7), slice(1, 7), np.array([6, 2])])
def test_blocks_are_those_of_the_symmetric_matrix(rows, cols):
    X = np.random.default_rng(0).standard_normal((4, 3))
    X[1, 2] = np.nan
    source, whole = Bipartite(ArraySource(X)), whole_of(X)
    np.testing.assert_array_equal(source.block(rows, cols), whole[rows][:, cols])
    exists = np.add.outer(np.arange(7) < 4, np.arange(7) < 4) == 1
    assert source.exists(rows, cols).shape == whole[rows][:, cols].shape
    i, j = (np.arange(7)[place] for place in (rows, cols))
    expected = (i[:, None] < 4) != (j[None, :] < 4)
    np.testing.assert_array_equal(source.exists(rows, cols), expected)
    assert exists.shape == (7, 7)


@pytest.mark.parametrize("loss", [Observed(), OneSided(), Censored(0.3), Huber(sigma=0.3)])
def test_f_is_that_of_the_table_entry_by_entry(loss):
    _, X = planted(9, 6, noise=0.2)
    observations = table_observations(X)
    problem = RectangularProblem(observations, 2, loss)
    rng = np.random.default_rng(1)
    U, D = rng.standard_normal((2, 15, 2))
    fit, unit = U[:9] @ U[9:].T, problem.unit
    seen = ~np.isnan(X)
    cost = np.zeros(X.shape)
    scratch = np.empty((2, *X.shape))
    own = loss.in_units(unit)
    own.seen(fit, np.where(seen, X, 0) / unit, cost, *scratch)
    total = cost[seen].sum()
    own.unseen(fit, (-np.inf, 0.0), cost, *scratch)
    total += cost[~seen].sum() if not own.heard(Limits(high=0.0)).nothing else 0.0
    point = problem.evaluate(U)
    assert point.value == pytest.approx(2 * total, rel=1e-12)  # each entry stands there twice
    steps = np.array([1e-3, 1e-4, 1e-5])
    slope = np.vdot(point.gradient, D)
    gaps = [abs(problem.evaluate(U + t * D).value - point.value - t * slope) for t in steps]
    assert np.polyfit(np.log(steps), np.log(gaps), 1)[0] == pytest.approx(2, abs=0.1)


def test_no_turn_changes_an_entry():
    _, X = planted(9, 6)
    problem = RectangularProblem(table_observations(X), 2)
    U = np.random.default_rng(1).standard_normal((15, 2))
    turns = problem.turns(U)
    assert turns.shape == (15, 2, 4)
    for k in range(4):
        moved = turns[:9, :, k] @ U[9:].T + U[:9] @ turns[9:, :, k].T
        np.testing.assert_allclose(moved, 0, atol=1e-12)
    assert np.linalg.matrix_rank(turns.reshape(30, 4)) == 4


def test_balanced_factors_are_the_same_matrix():
    rng = np.random.default_rng(0)
    for m, n, r in ((8, 5, 3), (2, 6, 3), (5, 5, 5)):
        U = rng.standard_normal((m + n, r)) * [1e3, 1.0, 1e-3, 5.0, 7.0][:r]
        V = balanced(U, m)
        np.testing.assert_allclose(V[:m] @ V[m:].T, U[:m] @ U[m:].T, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(V[:m].T @ V[:m], V[m:].T @ V[m:], rtol=1e-6, atol=1e-6 * np.abs(V).max() ** 2)


# --- exact data -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(40, 25), (25, 40), (60, 9), (20, 20)])
@pytest.mark.parametrize("rank", [1, 3])
def test_exact_data_give_the_exact_table(shape, rank):
    M, X = planted(*shape, rank)
    found = unrelu.complete_rectangular(X, rank, rng=0)
    both = found.determined[:, None] & found.columns_determined
    assert found.verdict.code.value == "fitted", found.verdict
    np.testing.assert_allclose(found.matrix()[both], M[both], atol=1e-8)
    if rank > 1:  # at rank 1 rows of one sign never see columns of the other
        assert both.mean() > 0.8
    assert found.left.shape == (shape[0], rank)
    assert found.right.shape == (shape[1], rank)


@pytest.mark.parametrize("method", ["gauss-newton", "gradient-descent"])
def test_named_methods(method):
    M, X = planted(rank=2)
    found = unrelu.complete_rectangular(X, 2, method=method, loss="one-sided", max_iter=5000, tol=1e-9, rng=0, truth=M)
    assert (found.method, found.verdict.code.value) == (method, "fitted")
    np.testing.assert_allclose(found.matrix(), M, atol=1e-4)
    assert found.history[-1].error < 1e-5


def test_high_rank_up_to_near_the_counting_limit():
    M, X = planted(90, 60, 18)  # 2,376 unknowns, 2,700 entries
    found = unrelu.complete_rectangular(X, 18, rng=0)
    assert found.verdict.code.value == "fitted", found.verdict
    np.testing.assert_allclose(found.matrix(), M, atol=1e-6)


def test_past_the_counting_limit_is_said():
    _, X = planted(30, 20, 3)
    found = unrelu.complete_rectangular(X, 14, rng=0)
    assert found.verdict.code.value == "underdetermined"


def test_rows_of_another_piece_are_not_determined():
    rng = np.random.default_rng(0)
    L, R = rng.standard_normal((40, 2)), rng.standard_normal((30, 2))
    M = L @ R.T
    X = M.copy()
    X[:25, 20:] = X[25:, :20] = np.nan  # two tables that share nothing
    found = unrelu.complete_rectangular(X, 2, threshold=None, rng=0)
    assert found.verdict.code.value == "fitted"
    assert found.determined.tolist() == [True] * 25 + [False] * 15
    assert found.columns_determined.tolist() == [True] * 20 + [False] * 10
    assert set(found.components) == {0, 1}
    assert found.entry_determinacy(30, 25) == "proved"
    assert found.entry_determinacy(0, 25) == "no"
    assert np.isnan(found.matrix("nan")[0, 25])
    np.testing.assert_allclose(found.matrix("nan")[30, 25], M[30, 25])
    low, high = found.bounds([0, 30], [25, 25])
    assert low[0] == -np.inf
    assert low[1] == pytest.approx(M[30, 25])
    assert high[1] == pytest.approx(M[30, 25])


@pytest.mark.parametrize("extra", [3, 4])
def test_two_bodies_are_joined_by_as_many_entries_as_a_frame_has_numbers(extra):
    """At rank 2 a frame has four numbers: three entries between two tables leave one open, four do not."""
    rng = np.random.default_rng(1)
    L, R = rng.standard_normal((20, 2)), rng.standard_normal((16, 2))
    M = L @ R.T
    X = M.copy()
    X[:10, 8:] = X[10:, :8] = np.nan
    for k in range(extra):
        X[k, 8 + k] = M[k, 8 + k]  # no two in one row or column
    observations = table_observations(X, threshold=None)
    factor = np.vstack([L, R]) / np.sqrt(observations.unit)
    found = determine_table(observations, factor, np.random.default_rng(0), at_floor=True, exact=True)
    assert bool(found.determined.all()) == (extra == 4)
    assert ("gluing" in found.proofs) == (extra == 4)


def test_a_placement_is_the_answer_without_noise():
    M, X = planted(50, 30, 3)
    observations = table_observations(X)
    placement = table_placement(observations, 3, np.random.default_rng(0))
    assert placement.placed.all()
    found = placement.factor[:50] @ placement.factor[50:].T * observations.unit
    np.testing.assert_allclose(found, M, atol=1e-10)
    assert placement.bound.max() < 1e-9


# --- noise ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[0.1, 1.0])
def noisy(request):
    M, X = planted(120, 80, 3, noise=request.param)
    return request.param, M, X, unrelu.complete_rectangular(X, 3, rng=0)


def test_noise_is_fitted_by_likelihood(noisy):
    sigma, M, X, found = noisy
    assert (found.loss, found.verdict.code.value) == ("censored", "fitted-to-noise"), found.verdict
    plain = unrelu.complete_rectangular(X, 3, loss="observed", rng=0)
    off = [np.linalg.norm(other.matrix() - M) for other in (found, plain)]
    assert off[0] < {0.1: 1.05, 1.0: 0.9}[sigma] * off[1]
    assert found.noise.sigma == pytest.approx(sigma, rel=0.05)


def test_intervals_cover(noisy):
    _, M, _, found = noisy
    i, j = np.arange(120)[:, None], np.arange(80)
    low, high = found.interval(i, j)
    assert np.isfinite(low).all()
    assert 0.92 < np.mean((low < M) & (high > M)) < 0.98


def test_a_rank_too_low_is_told(noisy):
    _, _, X, _ = noisy
    found = unrelu.complete_rectangular(X, 2, rng=0)
    assert found.verdict.code.value == "best-of-rank", found.verdict
    assert not found.verdict.converged


# --- what callers bring ---------------------------------------------------------------------------------------------


def test_labels_of_rows_and_columns():
    M, X = planted(20, 12, 2)
    rows, cols = [f"r{k}" for k in range(20)], [f"c{k}" for k in range(12)]
    frame = pd.DataFrame(X, rows, cols)
    found = unrelu.complete_rectangular(frame, 2, rng=0)
    assert found.entries("r3", "c5") == pytest.approx(M[3, 5])
    assert list(found.matrix().index) == rows
    assert list(found.filled().columns) == cols
    assert found.filled().loc["r3", "c5"] == pytest.approx(M[3, 5])
    with pytest.raises(unrelu.InputError, match="unknown label 'c5'"):
        found.entries("c5", "c5")


def test_sparse_masked_and_float32_are_taken():
    M, X = planted(30, 20, 2)
    plain = unrelu.complete_rectangular(X, 2, rng=0)
    i, j = np.nonzero(~np.isnan(X))
    sparse = unrelu.complete_rectangular(sp.coo_array((X[i, j], (i, j)), shape=X.shape), 2, rng=0)
    masked = unrelu.complete_rectangular(np.ma.masked_invalid(X), 2, rng=0)
    for other in (sparse, masked):
        np.testing.assert_allclose(other.matrix(), plain.matrix(), atol=1e-10)
    single = unrelu.complete_rectangular(X.astype(np.float32), 2, rng=0)
    assert single.matrix().dtype == np.float32
    np.testing.assert_allclose(single.matrix(), M, atol=1e-3)


def test_scaling_scales_and_the_input_is_not_touched():
    _, X = planted(30, 20, 2, noise=0.3)
    before = X.copy()
    one = unrelu.complete_rectangular(X, 2, rng=0)
    other = unrelu.complete_rectangular(1024 * X, 2, rng=0)
    np.testing.assert_allclose(other.matrix(), 1024 * one.matrix(), rtol=1e-9)
    assert other.verdict.code == one.verdict.code
    np.testing.assert_array_equal(X, before)


def test_new_rows_are_completed_against_the_columns():
    rng = np.random.default_rng(0)
    R = rng.standard_normal((20, 2))
    M = rng.standard_normal((40, 2)) @ R.T
    found = unrelu.complete_rectangular(np.where(M >= 0, M, np.nan), 2, rng=0)
    more = rng.standard_normal((3, 2)) @ R.T
    np.testing.assert_allclose(found.new_rows(np.where(more >= 0, more, np.nan)), more, atol=1e-8)


def test_a_start_that_is_none_is_told_of_pairs():
    _, X = planted(12, 9, 2)
    square = unrelu.complete(np.eye(3), 1, rng=0)
    for start in (square, np.ones((21, 2))):
        words = rf"a pair \(L, R\) of arrays, a RectangularCompletion, or a Start; got {type(start).__name__}$"
        with pytest.raises(unrelu.InputError, match=words):
            unrelu.complete_rectangular(X, 2, method="gauss-newton", start=start)


def test_a_column_by_its_integer_label_is_told_where_it_is():
    found, _ = columns_found((2001, 2002, 2003, 2004))
    with pytest.raises(unrelu.InputError, match=r"of column 1: completion.column_labels.index\(2002\) finds it$"):
        found.entries(0, 2002)


def test_positions_that_do_not_belong_together_are_told_their_shapes():
    square = unrelu.complete(np.ones((3, 3)), 1, rng=0)
    sentence = r"^rows and cols must have shapes that broadcast against each other, got \(3,\) and \(2,\); write"
    for ask in (columns_found()[0].entries, square.entries, square.factors.entries, square.bounds):
        with pytest.raises(unrelu.InputError, match=sentence):
            ask([0, 1, 2], [0, 1])


def test_a_source_brings_the_labels_of_rows_and_of_columns():
    M, X = planted(12, 9, 2)
    source = ArraySource(X)
    source.labels, source.column_labels = tuple(f"s{k}" for k in range(12)), tuple(f"c{k}" for k in range(9))
    found = unrelu.complete_rectangular(source, 2, rng=0)
    assert (found.labels, found.column_labels) == (source.labels, source.column_labels)
    np.testing.assert_allclose(found.entries("s3", ["c8", "c0"]), M[3, [8, 0]], atol=1e-8)
    source.column_labels = ("c0",)
    with pytest.raises(unrelu.InputError, match=r"^column_labels of X must name each of its 9 columns, got 1 names$"):
        unrelu.complete_rectangular(source, 2, rng=0)


def test_the_truth_may_be_sparse():
    M, X = planted(12, 9, 2)
    found = unrelu.complete_rectangular(X, 2, truth=sp.csr_array(M), rng=0)
    assert found.summary()["error"] < 1e-8


def columns_found(columns=("a", "b", "c", "d")):
    rng = np.random.default_rng(0)
    R = rng.standard_normal((4, 2))
    frame = pd.DataFrame(rng.standard_normal((30, 2)) @ R.T, columns=list(columns))
    return unrelu.complete_rectangular(frame, 2, threshold=None, rng=0), rng.standard_normal((4, 2)) @ R.T


def test_new_rows_go_by_the_labels_of_the_columns():
    found, more = columns_found()
    frame = pd.DataFrame(more, columns=list("abcd"), index=list("wxyz"))
    pd.testing.assert_frame_equal(found.new_rows(frame), frame, atol=1e-8)
    for other, column in ((frame[list("abdc")], 2), (frame.rename(columns={"b": "d"}), 1)):
        sentence = (
            f"^X must have the columns of the completed table in the same order, but column {column} is 'd' instead of "
            rf"'{'abcd'[column]}'; pass X\[list\(completion.column_labels\)\]$"
        )
        with pytest.raises(unrelu.InputError, match=sentence):
            found.new_rows(other)
    years, more = columns_found((2001, 2002, 2003, 2004))
    from_file = pd.DataFrame(more, columns=[2001, 2002, 2003, 2004])
    np.testing.assert_allclose(years.new_rows(from_file), more, atol=1e-8)


def test_new_rows_that_are_guesses_are_named():
    found, more = columns_found()
    more[1], more[2, 1:] = np.nan, np.nan
    frame = pd.DataFrame(more, columns=list("abcd"), index=list("wxyz"))
    sentence = (
        "^nothing was seen of row x, completed with zeros; row y sees fewer than 2 independent columns, completed with "
        "the least norm: the data do not determine what was not seen there$"
    )
    with pytest.warns(unrelu.CompletionWarning, match=sentence) as caught:
        found.new_rows(frame)
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(unrelu.CompletionWarning, match="of row 1, .* row 2 sees"):
        found.new_rows(more)


def test_new_rows_are_read_as_the_table_was():
    found, more = columns_found()
    sparse = sp.coo_array((more[:, 1:].ravel(), (np.repeat(np.arange(4), 3), np.tile([1, 2, 3], 4))), shape=(4, 4))
    np.testing.assert_allclose(found.new_rows(sparse), more, atol=1e-8)
    assert found.new_rows(np.empty((0, 4))).shape == (0, 4)


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (np.ones((2, 5)), "^X must have the 4 columns of the completed table, got 5$"),
        (np.ones(4), r"^X must be a table with rows and columns \(2-D\), got data of shape \(4,\)$"),
        ([[1.0, np.inf, 0.0, 1.0]], r"^X must be finite where it was seen, got inf at \(0, 1\); write NaN where"),
    ],
)
def test_new_rows_that_cannot_be_meant_get_one_sentence(X, sentence):
    with pytest.raises(unrelu.InputError, match=sentence):
        columns_found()[0].new_rows(X)


def test_unknown_entries_say_nothing():
    M, X = planted(40, 25, 2)
    unknown = (M >= 0) & (np.random.default_rng(1).random(M.shape) < 0.2)
    X[unknown] = np.nan
    found = unrelu.complete_rectangular(X, 2, unknown=unknown, rng=0)
    np.testing.assert_allclose(found.matrix(), M, atol=1e-8)
    assert found.observed().times_told(np.zeros(25, int), 40 + np.arange(25)).tolist() == (2 - 2 * unknown[0]).tolist()


def test_nothing_is_certain_of_an_unknown_entry():
    M, X = planted(8, 3, 2)
    unknown = np.zeros(M.shape, bool)
    unknown[0] = True
    X[0] = np.nan
    with pytest.warns(unrelu.CompletionWarning, match=r"^nothing was seen of row 0; completed as well as may be"):
        found = unrelu.complete_rectangular(X, 2, unknown=unknown, rng=0)
    low, high = found.bounds(np.zeros(3, int), np.arange(3))
    assert (low == -np.inf).all()
    assert (high == np.inf).all()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (dict(rank=0), r"rank must be between 1 and 7, the smaller side of the table; got 0"),
        (dict(rank=8), r"rank must be between 1 and 7, the smaller side of the table; got 8"),
        (dict(X=np.ones(5)), r"X must be a table with rows and columns \(2-D\), got data of shape \(5,\)"),
        (dict(X=np.full((4, 3), np.nan)), "X must have at least one seen entry"),
        (dict(X=-np.ones((9, 7))), "every seen entry must be ≥ threshold=0"),
        (dict(unknown=np.zeros((7, 9), bool)), r"unknown must have the shape of X, \(9, 7\), got \(7, 9\)"),
        (dict(truth=np.ones((2, 2))), r"^truth must have the shape of X, \(9, 7\), got \(2, 2\)$"),
        (dict(truth=[[1.0], [1.0, 2.0]]), "^truth must be a matrix of numbers, got rows of different lengths$"),
        (dict(truth=np.ones((9, 7), bool)), "^truth must hold real numbers, got dtype bool$"),
        (
            dict(truth=np.ma.masked_array(np.ones((9, 7)), np.arange(63).reshape(9, 7) == 9)),
            r"^truth must be complete and finite, got gaps at \(1, 2\)$",
        ),
        (
            dict(
                X=pd.DataFrame(np.ones((9, 7)), columns=list("abcdefg")),
                truth=np.where(np.arange(7) < 2, np.nan, np.ones((9, 7))),
            ),
            r"^truth must be complete and finite, got gaps at \(0, a\), \(0, b\), \(1, a\), .* and 13 more$",
        ),
        (dict(seen="up"), "side seen"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, sentence):
    options = {"X": np.abs(planted(9, 7, 1)[0]), "rank": 1, **arguments}
    with pytest.raises(unrelu.InputError, match=sentence):
        unrelu.complete_rectangular(options.pop("X"), options.pop("rank"), **options)


@pytest.fixture(scope="module")
def labelled():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(4)
    M = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 20))
    frame = pd.DataFrame(np.where(M >= 0, M, np.nan), [f"wine{i}" for i in range(30)], [f"acid{j}" for j in range(20)])
    return frame, unrelu.complete_rectangular(frame, 2, rng=0)


def test_a_table_comes_back_from_its_file(labelled, tmp_path):
    frame, completion = labelled
    completion.save(tmp_path / "table.npz")
    again = unrelu.RectangularCompletion.load(tmp_path / "table.npz")
    assert type(again) is unrelu.RectangularCompletion
    assert again.shape == (30, 20)
    assert again.column_labels == completion.column_labels
    assert list(again.matrix().columns) == list(frame.columns)
    assert list(again.matrix().index) == list(frame.index)
    np.testing.assert_array_equal(again.matrix(), completion.matrix())
    assert again.entries("wine3", "acid4") == completion.entries(3, 4)
    given = again.with_data(frame)
    np.testing.assert_array_equal(given.filled(), completion.filled())
    np.testing.assert_array_equal(given.columns_determined, completion.columns_determined)


def test_files_of_tables_and_of_matrices_are_told_apart(labelled, tmp_path):
    _, completion = labelled
    completion.save(tmp_path / "table.npz")
    with pytest.raises(unrelu.InputError, match=r"table.npz holds a completed table.* call RectangularCompletion.load"):
        unrelu.Completion.load(tmp_path / "table.npz")
    unrelu.complete(np.ones((3, 3)), 1, rng=0).save(tmp_path / "matrix.npz")
    with pytest.raises(
        unrelu.InputError, match=r"matrix.npz holds a completed symmetric matrix.* call Completion.load"
    ):
        unrelu.RectangularCompletion.load(tmp_path / "matrix.npz")


def test_other_data_are_not_taken_for_those_of_a_table(labelled, tmp_path):
    frame, completion = labelled
    completion.save(tmp_path / "table.npz")
    again = unrelu.RectangularCompletion.load(tmp_path / "table.npz")
    with pytest.raises(unrelu.InputError, match="labels"):
        again.with_data(frame.iloc[::-1])
    with pytest.raises(unrelu.InputError, match="labels"):
        again.with_data(frame.iloc[:, ::-1])
    with pytest.raises(unrelu.InputError, match="changed"):
        again.with_data(2 * frame)
    with pytest.raises(unrelu.InputError, match="must mark the 0 entries"):
        again.with_data(frame, unknown=np.eye(30, 20, dtype=bool))


def test_a_table_of_zeros_is_completed_with_zeros():
    X = np.zeros((4, 3))
    X[1, 2] = np.nan
    completion = unrelu.complete_rectangular(X, 1, rng=0)
    assert completion.verdict.code.value == "fitted"
    np.testing.assert_array_equal(completion.matrix(), np.zeros((4, 3)))


def test_intervals_of_a_fit_below_the_rank_say_so():
    rng = np.random.default_rng(1)
    M = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 40))
    completion = unrelu.complete_rectangular(np.where(M >= 0, M, np.nan), 2, rng=0)
    assert completion.verdict.code.value == "best-of-rank"
    with pytest.warns(unrelu.CompletionWarning, match="not of rank 2"):
        completion.interval(0, 0)


def test_bounds_have_room_for_rounding():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 25))
    completion = unrelu.complete_rectangular(np.where(M >= 0, M, np.nan), 2, rng=0)
    low, high = completion.bounds(np.arange(40)[:, None], np.arange(25))
    assert ((low <= M) & (high >= M)).all()
    assert (high - low).max() < 1e-6
    seen = M >= 0
    np.testing.assert_array_equal(low[seen], M[seen])


def test_a_table_begins_from_a_block_that_was_seen_in_full():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 25))
    completion = unrelu.complete_rectangular(np.where(M >= 0, M, np.nan), 2, start="clique", rng=0)
    assert completion.start == "clique"
    assert completion.verdict.code.value == "fitted"
    assert len(completion.history) <= 3


def test_a_fit_that_is_not_finished_determines_nothing():
    from unrelu._old.data.table_observations import table_observations
    from unrelu._old.proofs.table import determine_table

    rng = np.random.default_rng(0)
    L, R = rng.standard_normal((20, 2)), rng.standard_normal((15, 2))
    seen = table_observations(L @ R.T, threshold=None)
    factor = np.vstack([L, R]) / np.sqrt(seen.unit)
    found = determine_table(seen, factor, rng, at_floor=True, exact=True)
    assert (found.level == "proved").all()
    factor[3] *= 1 + 1e-7  # met to 1e-7 only: nothing is proved of the fit
    assert (determine_table(seen, factor, rng, at_floor=True, exact=True).level == "generic").all()
    factor[3] *= 1.01  # the data place its entries elsewhere
    assert (determine_table(seen, factor, rng, at_floor=True, exact=True).level == "no").all()


@pytest.mark.parametrize("sigma", [0.0, 0.1])
def test_the_rank_is_found_where_none_is_named(sigma):
    rng = np.random.default_rng(5)
    M = rng.standard_normal((70, 3)) @ rng.standard_normal((3, 50))
    noisy = M + sigma * rng.standard_normal(M.shape)
    found = unrelu.complete_rectangular(np.where(noisy >= 0, noisy, np.nan), rng=0)
    assert found.rank == 3
    assert found.verdict.converged
    assert np.linalg.norm(found.matrix() - M) <= (1e-9 if sigma == 0 else 0.1) * np.linalg.norm(M)


def test_a_table_of_no_rank_is_told_where_to_go():
    X = np.random.default_rng(0).standard_cauchy((40, 30))
    with pytest.raises(
        unrelu.InputError, match=r"rank must be named: of those that were tried \(1, 2, .* complete_table"
    ):
        unrelu.complete_rectangular(np.where(X >= 0, X, np.nan), rng=0)


@pytest.mark.parametrize(
    ("options", "words"), [({"method": "pam"}, "drop method="), ({"start": "tailored"}, "drop start=")]
)
def test_a_rank_must_be_named_where_a_method_or_a_start_is(options, words):
    with pytest.raises(unrelu.InputError, match=words):
        unrelu.complete_rectangular(np.ones((5, 4)), **options)


def test_the_time_is_obeyed_while_the_rank_is_looked_for():
    rng = np.random.default_rng(5)
    M = rng.standard_normal((70, 3)) @ rng.standard_normal((3, 50))
    found = unrelu.complete_rectangular(np.where(M >= 0, M, np.nan), tol=unrelu.MaxSeconds(1e-6), rng=0)
    assert found.verdict.code.value == "max-seconds"
    assert np.isfinite(found.matrix()).all()


@pytest.mark.parametrize(("seed", "options"), [(0, {"seen": "above"}), (6, {"seen": "between"})])
def test_the_smallest_exact_rank_is_found_though_a_climb_misses_it(seed, options):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((24, 1)) @ rng.standard_normal((1, 8))
    low, high = np.quantile(M, 0.3 if seed == 0 else 0.15), np.quantile(M, 0.85)
    threshold = low if seed == 0 else (low, high)
    X = np.where((low <= M) & ((high >= M) | (seed == 0)), M, np.nan)
    for complete in (unrelu.complete_rectangular, unrelu.complete_table):
        found = complete(X, threshold=threshold, rng=0, **options)
        assert found.rank == 1
        np.testing.assert_allclose(found.filled(), M, atol=1e-9)


def test_too_little_to_look_for_a_rank_is_said():
    X = np.full((5, 4), np.nan)
    X[0, 0] = X[1, 1] = 1.0
    with pytest.raises(unrelu.InputError, match="too little was seen to look for one"):
        unrelu.complete_rectangular(X, rng=0)
