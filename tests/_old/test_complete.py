"""The front door: what it takes, what it gives back, what it refuses and in which words."""

import dataclasses
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import unrelu
from helpers import RECOVERED, error, relu_instance
from unrelu import complete
from unrelu._old.data import sampling
from unrelu._old.kernels import memory

nan = np.nan


class TestWhatItTakes:
    def test_array_is_neither_modified_nor_kept_as_a_copy(self):
        _, X = relu_instance()
        before = X.copy()
        X.setflags(write=False)
        completion = complete(X, 3, rng=0)
        np.testing.assert_array_equal(X, before)
        assert completion.source is X

    def test_masked_array(self):
        M, X = relu_instance()
        masked = np.ma.masked_array(M, mask=M < 0)
        completion = complete(masked, 3, rng=0)
        assert completion.factor.tobytes() == complete(X, 3, rng=0).factor.tobytes()
        assert completion.source is masked
        np.testing.assert_array_equal(masked.data, M)

    @pytest.mark.parametrize("kind", [sp.csr_array, sp.coo_array, sp.csc_array, sp.csr_matrix, sp.lil_array])
    def test_sparse_stored_entries_are_the_seen_ones(self, kind):
        _M, X = relu_instance()
        i, j = np.nonzero(~np.isnan(X))
        sparse = kind(sp.coo_array((X[i, j], (i, j)), shape=X.shape))
        completion = complete(sparse, 3, rng=0)
        assert completion.factor.tobytes() == complete(X, 3, rng=0).factor.tobytes()
        np.testing.assert_array_equal(np.where(np.isnan(X), nan, completion.filled()), X)

    def test_sparse_stored_zeros_are_seen(self):
        i, j = np.indices((3, 3)).reshape(2, -1)
        sparse = sp.coo_array((np.array([1.0, 0, 0, 0, 1, 0, 0, 0, 1]), (i, j)), shape=(3, 3))
        completion = complete(sparse, 3, rng=0)
        assert completion.seen == (9, pytest.approx(np.sqrt(3)))
        np.testing.assert_allclose(completion.matrix(), np.eye(3), atol=1e-8)

    def test_sparse_input_is_not_modified(self):
        _, X = relu_instance(20, 2)
        i, j = np.nonzero(~np.isnan(X))
        sparse = sp.csr_array((X[i, j], (i, j)), shape=X.shape)
        before = sparse.copy()
        complete(sparse, 2, rng=0)
        assert (sparse != before).nnz == 0

    def test_data_frame_labels_come_back(self):
        M, X = relu_instance(30, 2)
        names = [f"row {k}" for k in range(30)]
        frame = pd.DataFrame(X, index=names, columns=names)
        completion = complete(frame, 2, rng=0)
        for result in (completion.matrix(), completion.filled()):
            assert isinstance(result, pd.DataFrame)
            assert list(result.index) == list(result.columns) == names
        assert completion.labels == tuple(names)
        np.testing.assert_allclose(completion.matrix().to_numpy(), M, atol=1e-7)

    def test_data_frame_with_nullable_and_float32_columns(self):
        _, X = relu_instance(20, 2)
        frame = pd.DataFrame(X).astype("Float64")
        frame[frame.isna()] = pd.NA
        assert complete(frame, 2, rng=0).factor.dtype == np.float64
        assert complete(pd.DataFrame(X.astype(np.float32)), 2, rng=0).factor.dtype == np.float32

    def test_lists_and_integers(self):
        completion = complete([[1, 2], [2, 4]], 1, rng=0)
        assert completion.factor.dtype == np.float64
        np.testing.assert_allclose(completion.matrix(), [[1, 2], [2, 4]], rtol=1e-6)

    @pytest.mark.parametrize(("threshold", "seen"), [(0.3, "above"), (-0.5, "above"), (1.0, "below"), (0.0, "below")])
    def test_any_threshold_and_side(self, threshold, seen):
        M, _ = relu_instance(120, 3, seed=2)
        X = sampling.thresholded(M, threshold, seen)
        completion = complete(X, 3, threshold=threshold, seen=seen, rng=0)
        assert completion.verdict.converged
        assert error(completion, M) < RECOVERED

    def test_threshold_none_ignores_absence(self):
        M, _ = relu_instance(80, 3)
        X = sampling.uniform(M, 0.6, rng=0)
        completion = complete(X, 3, threshold=None, rng=0)
        assert completion.loss == "observed"
        assert error(completion, M) < RECOVERED

    def test_unknown_entries_say_nothing(self):
        M, X = relu_instance(100, 3)
        unknown = np.random.default_rng(1).random(X.shape) < 0.2
        X[unknown] = nan  # positive entries among them: calling them negative would spoil the fit
        good = complete(X, 3, unknown=unknown, rng=0)
        bad = complete(X, 3, rng=0)
        assert error(good, M) < RECOVERED < error(bad, M)

    def test_everything_works_without_a_diagonal(self):
        M, X = relu_instance(100, 3)
        np.fill_diagonal(X, nan)
        assert error(complete(X, 3, rng=0), M) < RECOVERED
        assert error(complete(X, 3, rng=0, method="gradient-descent"), M) < RECOVERED

    def test_start_from_an_array_or_an_earlier_completion(self):
        M, X = relu_instance(100, 3)
        first = complete(sampling.thresholded(M, 0.1), 3, threshold=0.1, rng=0)
        later = complete(X, 3, start=first)
        assert later.start == "an earlier completion"
        assert later.history[-1].iteration <= 1
        assert complete(X, 3, start=first.factor).factor.tobytes() == later.factor.tobytes()

    def test_progress_changes_nothing(self):
        _, X = relu_instance(40, 2)
        assert complete(X, 2, rng=0, progress=True).factor.tobytes() == complete(X, 2, rng=0).factor.tobytes()

    def test_generators_and_seeds(self):
        _, X = relu_instance(40, 2)
        one = complete(X, 2, rng=np.random.default_rng(3), max_iter=0)
        two = complete(X, 2, rng=np.random.default_rng(3), max_iter=0)
        other = complete(X, 2, rng=np.random.default_rng(4), max_iter=0)
        assert one.factor.tobytes() == two.factor.tobytes() != other.factor.tobytes()

    def test_seed_of_the_data_is_not_an_oracle(self):
        U = np.random.default_rng(5).standard_normal((50, 2))
        completion = complete(sampling.relu(U @ U.T), 2, start="random-spectral", rng=5, max_iter=0)
        assert error(completion, U @ U.T) > 0.1

    def test_stopping_rules_as_tol(self):
        _, X = relu_instance(60, 2)
        rule = unrelu.GradientNormBelow(1e-3) | unrelu.MaxSeconds(60)
        completion = complete(X, 2, tol=rule, rng=0, start="tailored")
        assert completion.history[-1].gradient_norm <= 1e-3 < completion.history[-2].gradient_norm

    def test_all_zero_is_completed_with_zero(self):
        completion = complete(np.zeros((4, 4)), 2, rng=0)
        assert completion.verdict.converged
        assert not completion.matrix().any()

    def test_row_with_nothing_seen_is_completed_with_a_warning_that_names_it(self):
        M, X = relu_instance(40, 2)
        X[7], X[:, 7] = nan, nan
        with pytest.warns(unrelu.CompletionWarning, match=r"nothing was seen of row 7; completed with the least norm"):
            completion = complete(X, 2, rng=0)
        assert not completion.factor[7].any()
        rest = np.delete(np.arange(40), 7)
        assert np.abs(completion.matrix()[np.ix_(rest, rest)] - M[np.ix_(rest, rest)]).max() < 1e-6

    def test_labelled_rows_with_nothing_seen_are_named(self):
        _, X = relu_instance(40, 2)
        X[[1, 2]], X[:, [1, 2]] = nan, nan
        names = [f"r{k}" for k in range(40)]
        with pytest.warns(unrelu.CompletionWarning, match="rows r1, r2; "):
            complete(pd.DataFrame(X, index=names, columns=names), 2, rng=0)

    def test_one_by_one(self):
        assert complete([[4.0]], 1, rng=0).matrix()[0, 0] == pytest.approx(4)

    @pytest.mark.parametrize(("true", "rank"), [(3, 6), (3, 12), (3, 40), (40, 40)])
    def test_a_rank_above_that_of_the_data_still_fits(self, true, rank):
        _, X = relu_instance(40, true)
        completion = complete(X, rank, rng=0)
        assert completion.residual < 1e-6, completion

    def test_spec_7_seeds_and_generators_are_the_same(self):
        _, X = relu_instance(40, 2)
        assert (
            complete(X, 2, rng=3, max_iter=0).factor.tobytes()
            == complete(X, 2, rng=np.random.default_rng(3), max_iter=0).factor.tobytes()
        )

    def test_a_frame_as_start(self):
        _, X = relu_instance(40, 2)
        first = complete(X, 2, rng=0)
        again = complete(X, 2, start=pd.DataFrame(first.factor))
        assert again.history[-1].iteration == 0

    def test_big_endian_and_nullable_single_precision_stay_single(self):
        _, X = relu_instance(20, 2)
        assert complete(X.astype(">f4"), 2, rng=0).factor.dtype == np.float32
        assert complete(pd.DataFrame(X).astype("Float32"), 2, rng=0).factor.dtype == np.float32

    def test_one_triangle_alone_is_fine_where_absence_says_nothing(self):
        M, _ = relu_instance(60, 2)
        X = np.where(np.triu(np.ones((60, 60), bool)), M, nan)
        assert error(complete(X, 2, threshold=None, rng=0), M) < RECOVERED
        X[M < 0] = nan
        below = np.tril(np.ones((60, 60), bool), -1)
        assert error(complete(X, 2, unknown=below, rng=0), M) < RECOVERED


class TestWhatItGives:
    def test_filled_keeps_what_was_given_and_matrix_does_not(self):
        _, X = relu_instance(sigma=0.05)
        completion = complete(X, 3, rng=0)
        seen = ~np.isnan(X)
        np.testing.assert_array_equal(completion.filled()[seen], X[seen])
        one_way, nowhere = seen.T & ~seen, ~seen & ~seen.T
        assert one_way.any()
        np.testing.assert_array_equal(completion.filled()[one_way], X.T[one_way])
        fit, fill = completion.matrix()[nowhere], completion.filled()[nowhere]
        far = fit < -0.5  # ten times the noise below the limit, which says nothing more there
        np.testing.assert_array_equal(fill[far], fit[far])
        assert (fill <= np.minimum(fit, 0)).all()
        assert np.abs(completion.matrix()[seen] - X[seen]).max() > 1e-3

    @pytest.mark.parametrize("marked", [True, False], ids=["unknown", "absent"])
    def test_the_mirror_of_a_seen_entry_is_that_entry(self, marked):
        rng = np.random.default_rng(3)
        U = rng.standard_normal((8, 2))
        X = U @ U.T
        hidden = rng.random((8, 8)) < 0.3
        X[hidden] = np.nan
        completion = complete(X, 2, threshold=-99.0, unknown=hidden if marked else None, rng=0)
        one_way = hidden & ~hidden.T
        assert one_way.any()
        np.testing.assert_array_equal(completion.filled()[one_way], X.T[one_way])
        assert set(completion.entry_determinacy(*np.nonzero(one_way))) == {"proved"}

    def test_matrix_is_exactly_symmetric(self):
        M = complete(relu_instance()[1], 3, rng=0).matrix()
        np.testing.assert_array_equal(M, M.T)

    def test_entries_broadcast(self):
        completion = complete(relu_instance()[1], 3, rng=0)
        rows, cols = np.arange(5)[:, None], np.arange(7)
        np.testing.assert_allclose(completion.entries(rows, cols), completion.matrix()[:5, :7], rtol=1e-12, atol=1e-12)

    def test_nothing_n_by_n_is_kept(self):
        completion = complete(relu_instance(300, 3)[1], 3, rng=0)
        held = [value for name, value in vars(completion).items() if name != "source"]
        assert not any(isinstance(value, np.ndarray) and value.size >= 300 * 300 for value in held)
        assert len(pickle.dumps(dataclasses.replace(completion, source=None))) < 300 * 300

    def test_residual_is_relative_to_the_data(self):
        M, X = relu_instance(sigma=0.1)
        completion = complete(X, 3, rng=0, loss="observed")
        seen = ~np.isnan(X)
        gap = np.linalg.norm((completion.matrix() - M)[seen]) / np.linalg.norm(M[seen])
        assert completion.residual == pytest.approx(gap)

    def test_truth_is_for_the_record_only(self):
        M, X = relu_instance()
        with_truth = complete(X, 3, rng=0, truth=M)
        assert with_truth.factor.tobytes() == complete(X, 3, rng=0).factor.tobytes()
        assert with_truth.history.column("error")[-1] < 1e-8

    def test_filled_refuses_a_matrix_that_has_changed(self):
        _, X = relu_instance(40, 2)
        completion = complete(X, 2, rng=0)
        X[np.isnan(X)] = 0
        with pytest.raises(unrelu.InputError, match="X has changed since it was completed"):
            completion.filled()

    def test_index_names_and_types_come_back(self):
        _, X = relu_instance(4, 1)
        index = pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["site", "depth"])
        frame = pd.DataFrame(X, index=index, columns=index)
        pd.testing.assert_index_equal(complete(frame, 1, rng=0).matrix().index, index)

    def test_summary_tells_of_the_point_that_is_returned(self):
        M, X = relu_instance()
        completion = complete(X, 3, method=unrelu.GradientDescent(step_size=0.2), rng=1, truth=M)
        about = completion.summary()
        assert about["code"] == "diverged"
        assert about["error"] == pytest.approx(error(completion, M))
        json.dumps(about, allow_nan=False)

    def test_entries_refuse_positions_that_are_not_there(self):
        completion = complete([[1.0]], 1, rng=0)
        assert completion.entries([], []).shape == (0,)
        with pytest.raises(unrelu.InputError, match="must be positions below 1, got 1 to 1"):
            completion.entries([1], [0])
        with pytest.raises(unrelu.InputError, match="must be integer positions, got dtype float64"):
            completion.entries([0.0], [0])

    def test_save_and_load(self, tmp_path):
        M, X = relu_instance(40, 2)
        names = [f"r{k}" for k in range(40)]
        completion = complete(pd.DataFrame(X, index=names, columns=names), 2, rng=0, truth=M)
        completion.save(tmp_path / "done.npz")
        loaded = unrelu.Completion.load(tmp_path / "done.npz")
        assert loaded.factor.tobytes() == completion.factor.tobytes()
        assert loaded.verdict == completion.verdict
        assert list(loaded.history) == list(completion.history)
        assert loaded.labels == tuple(names)
        need_the_data = {"determined_share", "largest_misfit"}
        kept = {key: value for key, value in completion.summary().items() if key not in need_the_data}
        assert {key: value for key, value in loaded.summary().items() if key not in need_the_data} == kept
        assert all(loaded.summary()[key] is None for key in need_the_data)
        assert loaded.with_data(X).summary() == completion.summary()
        assert loaded.attempts == completion.attempts
        np.testing.assert_array_equal(loaded.filled(X), completion.filled().to_numpy())
        with pytest.raises(unrelu.InputError, match="pass the matrix that was completed as X"):
            loaded.filled()
        with pytest.raises(unrelu.InputError, match="must have 40 rows like the completed matrix, got 39"):
            loaded.filled(X[:39, :39])

    @pytest.mark.parametrize("factor", [np.ones(4), np.array([["a"]]), np.full((3, 1), np.nan), np.ones((2, 2, 2))])
    def test_loading_factors_that_are_none(self, tmp_path, factor):
        path = tmp_path / "odd.npz"
        complete(np.ones((3, 3)), 1).save(path)
        with np.load(path) as stored:
            about = stored["about"]
        np.savez(path, factor=factor, about=about)
        with pytest.raises(unrelu.InputError, match="must hold factors of two dimensions with finite numbers"):
            unrelu.Completion.load(path)

    def test_loading_something_else(self, tmp_path):
        np.savez(tmp_path / "other.npz", x=np.ones(3))
        with pytest.raises(unrelu.InputError, match=r"other\.npz is not a saved completion"):
            unrelu.Completion.load(tmp_path / "other.npz")
        with pytest.raises(unrelu.InputError, match="no such file"):
            unrelu.Completion.load(tmp_path / "none.npz")
        with pytest.raises(unrelu.InputError, match=r"saved as .npz, got 'a.csv'; write 'a.npz'"):
            complete([[1.0]], 1, rng=0).save(tmp_path / "a.csv")

    def test_half_a_file(self, tmp_path):
        path = tmp_path / "half.npz"
        complete([[1.0]], 1, rng=0).save(path)
        path.write_bytes(path.read_bytes()[:200])
        with pytest.raises(unrelu.InputError, match=r"half\.npz is not a saved completion, or only half of one"):
            unrelu.Completion.load(path)


GOOD = [[1.0, nan], [nan, 1.0]]
FRAME = pd.DataFrame(GOOD, index=["a", "b"], columns=["b", "a"])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (dict(X=[1.0, 2.0]), r"X must be a square matrix (2-D), got 1-D data of shape (2,)"),
        (dict(X=np.ones((2, 2, 2))), r"X must be a square matrix (2-D), got 3-D data of shape (2, 2, 2)"),
        (
            dict(X=np.ones((2, 3))),
            r"X must be square, got 2 rows and 3 columns; complete_table, complete_rectangular and",
        ),
        (dict(X=np.ones((0, 0))), r"X must have at least one row, got an empty matrix"),
        (dict(X=[[1.0], [1.0, 2.0]]), r"X must be a matrix of numbers, got rows of different lengths"),
        (dict(X=np.ones((2, 2)) * 1j), r"X must be real, got complex dtype complex128"),
        (dict(X=np.array([["a", "b"], ["c", "d"]])), r"X must hold numbers, got dtype <U1; convert it"),
        (dict(X=np.ones((2, 2), bool)), r"got a boolean array; is this the mask rather than the values?"),
        (dict(X=[[1.0, np.inf], [-np.inf, 1]]), r"got 2 infinite entries, at (0, 1), (1, 0); write NaN"),
        (dict(X=np.full((3, 3), nan)), r"X must have at least one seen entry, got none"),
        (dict(X=GOOD, rank=0), r"rank must be between 1 and 2, the size of the matrix; got 0"),
        (dict(X=GOOD, rank=3), r"rank must be between 1 and 2, the size of the matrix; got 3"),
        (dict(X=GOOD, rank=1.0), r"rank must be an integer between 1 and 2, the size of the matrix; got 1.0"),
        (
            dict(X=GOOD, rank=True),
            r"rank must be an integer between 1 and 2, the size of the matrix; got True",
        ),
        (dict(X=GOOD, rank="2"), r"rank must be an integer between 1 and 2, the size of the matrix; got '2'"),
        (
            dict(X=-np.ones((2, 2))),
            r"every seen entry must be ≥ threshold=0 (seen='above'), but 4 are not, at (0, 0), (0, 1), (1, 0) "
            r"and 1 more, the first being -1; check threshold= and seen= (seen='below' turns the side round), "
            r"or pass threshold=None",
        ),
        (
            dict(X=np.ones((2, 2)), seen="below"),
            r"every seen entry must be ≤ threshold=0 (seen='below'), but 4 are not",
        ),
        (dict(X=sp.csr_array(-np.eye(2))), r"but 2 are not, at (0, 0), (1, 1), the first being -1"),
        (
            dict(X=GOOD, seen="abov"),
            r"unknown side seen 'abov'; did you mean 'above'? accepted: above, below",
        ),
        (
            dict(X=GOOD, threshold=nan),
            r"threshold must be a finite number, or None if absence says nothing; got nan",
        ),
        (
            dict(X=GOOD, threshold="0"),
            r"threshold must be a finite number, or None if absence says nothing; got '0'",
        ),
        (
            dict(X=GOOD, unknown=np.ones((2, 2), bool)),
            r"unknown must mark only unseen entries, but 2 of those it marks were seen, at (0, 0), (1, 1)",
        ),
        (
            dict(X=GOOD, unknown=np.ones((3, 3), bool)),
            r"unknown must have the shape of X, (2, 2), got (3, 3)",
        ),
        (dict(X=GOOD, unknown=np.ones((2, 2))), r"unknown must be a boolean mask, got dtype float64"),
        (
            dict(X=GOOD, method="gaus-newton"),
            r"unknown method 'gaus-newton'; did you mean 'gauss-newton'? accepted: ",
        ),
        (
            dict(X=GOOD, method=7),
            r"or a Solver; got int",
        ),
        (
            dict(X=GOOD, start="tailord"),
            r"unknown start 'tailord'; did you mean 'tailored'? accepted: auto, ",
        ),
        (
            dict(X=GOOD, loss="onesided"),
            r"unknown loss 'onesided'; did you mean 'one-sided'? accepted: auto, censored, huber, observed, one-sided",
        ),
        (dict(X=GOOD, start=np.ones((2, 2))), r"start must have shape (n, rank) = (2, 1), got (2, 2)"),
        (dict(X=GOOD, start=np.full((2, 1), nan)), r"start must be finite and real, got NaN"),
        (
            dict(X=GOOD, tol=-1),
            r"tol must be a number ≥ 0, or a stopping rule such as GradientNormBelow(1e-6); got -1",
        ),
        (dict(X=GOOD, max_iter=-1), r"max_iter must be an integer ≥ 0, got -1"),
        (dict(X=GOOD, max_iter=2.5), r"max_iter must be an integer ≥ 0, got 2.5"),
        (dict(X=GOOD, truth=np.ones((3, 3))), r"truth must have the shape of X, (2, 2), got (3, 3)"),
        (dict(X=GOOD, truth=GOOD), r"truth must be complete and finite, got gaps at (0, 1), (1, 0)"),
        (dict(X=GOOD, truth=[["a", "b"], ["c", "d"]]), r"truth must hold real numbers, got dtype <U1"),
        (dict(X=GOOD, rng="seed"), r"rng must be an integer ≥ 0, a numpy Generator or None, got 'seed'"),
        (dict(X=GOOD, rng=-1), r"rng must be an integer ≥ 0, a numpy Generator or None, got -1"),
        (dict(X=GOOD, callback=3), r"callback must be callable, got int"),
        (
            dict(X=FRAME),
            r"index and columns of X must carry the same labels in the same order, but label 0 is 'a' in the index "
            r"and 'b' in the columns (the same labels in another order); use X.loc[labels, labels]",
        ),
        (
            dict(X=FRAME.T.T.set_axis(["a", "b"], axis=1), truth=FRAME),
            r"truth must carry the labels of X in the same order",
        ),
        (
            dict(X=FRAME.set_axis(["a", "b"], axis=1), unknown=FRAME.isna()),
            r"unknown must carry the labels of X in the same order, but its columns differs from label 0 on",
        ),
        (dict(X=pd.DataFrame(GOOD).astype(complex)), r"X must hold numbers, but column 0 has dtype complex128"),
        (dict(X=pd.DataFrame(GOOD).astype(str)), r"X must hold numbers, but column 0 has dtype"),
        (dict(X=pd.DataFrame(GOOD) > 0), r"X must hold numbers, but column 0 has dtype bool"),
        (
            dict(X=[[1.0, 2.0], [nan, 1.0]]),
            r"only the upper triangle of X holds seen entries, which with a threshold says",
        ),
        (dict(X=sp.csr_array(np.tril(np.ones((2, 2))))), r"only the lower triangle of X holds seen entries"),
        (dict(X=GOOD, start=np.zeros((2, 1))), r"start must have no zero column, which no gradient method ever leaves"),
        (dict(X=GOOD, start=(1, 2)), r"an array of shape (n, rank), a Completion, or a Start; got tuple"),
        (dict(X=GOOD, start=[[1.0], [1.0, 2.0]]), r"got rows of different lengths"),
        (
            dict(X=GOOD, unknown=[[True], [True, False]]),
            r"unknown must be a boolean mask, got rows of different lengths",
        ),
        (
            dict(X=GOOD, truth=[[1.0], [1.0, 2.0]]),
            r"truth must be a matrix of numbers, got rows of different lengths",
        ),
        (dict(X=GOOD, method=unrelu.GaussNewton), r"write GaussNewton() instead of the class"),
        (
            dict(X=GOOD, loss=np.ones(2)),
            r"loss must be one of auto, observed, one-sided, censored, huber, or a Loss; got ndarray",
        ),
        (dict(X=GOOD, seen=np.ones(2)), r"unknown side seen"),
        (dict(X=GOOD, rng=True), r"rng must be an integer ≥ 0, a numpy Generator or None, got True"),
        (
            dict(X=FRAME.iloc[:1]),
            r"X must be square, got 1 rows and 2 columns; complete_table, complete_rectangular and",
        ),
        (
            dict(X=pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}, index=["a", "b"])),
            r"X must hold numbers, but column 'a' has dtype",
        ),
    ],
)
def test_bad_input_gets_one_clear_sentence(arguments, text):
    arguments = {"rank": 1, **arguments}
    with pytest.raises(unrelu.InputError) as caught, warnings.catch_warnings():
        complete(arguments.pop("X"), arguments.pop("rank"), **arguments)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore::unrelu.CompletionWarning")
def test_a_sparse_matrix_too_large_for_memory_is_refused_at_once(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2**33)
    huge = sp.coo_array((np.ones(3), (np.arange(3), np.arange(3))), shape=(10**6, 10**6))
    text = r"a 1000000×1000000 matrix needs about \d+.\d GiB of memory and 8.0 GiB are available"
    with pytest.raises(unrelu.InputError, match=text):
        complete(huge, 2)
