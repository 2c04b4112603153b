"""The scikit-learn face: its manners, and that new rows are completed as exactly as fitted ones."""

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
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import unrelu
import unrelu._old.solvers
import unrelu._old.starts
from unrelu import CompletionWarning, InputError, PSDCompleter, Stop, Verdict

NAN = np.nan
# The default tolerance leaves about 1e-11 of the fitted entries; attaching rows may enlarge that a little.
EXACT = 1e-8


def positive_part(M: np.ndarray) -> np.ndarray:
    return np.where(M >= 0, M, NAN)


def planted(n: int = 60, r: int = 3, seed: int = 21) -> np.ndarray:
    U = np.random.default_rng(seed).standard_normal((n, r))
    return U @ U.T


@pytest.fixture(scope="module")
def split() -> tuple[np.ndarray, np.ndarray, PSDCompleter]:
    """M, what was seen of it, and a completer fitted to its first 150 rows."""
    M = planted(200, 5)
    X = positive_part(M)
    return M, X, PSDCompleter(rank=5, random_state=0).fit(X[:150, :150])


# --- what it computes --------------------------------------------------------------------------------------


def test_held_out_rows_are_exact(split):
    M, X, completer = split
    K = X[150:, :150]
    assert np.isnan(K).any(axis=1).all()
    before = K.copy()
    filled = completer.transform(K)
    np.testing.assert_allclose(filled, M[150:, :150], rtol=0, atol=EXACT)
    np.testing.assert_array_equal(filled[~np.isnan(K)], K[~np.isnan(K)])
    np.testing.assert_array_equal(K, before)


def test_embedding_is_what_transform_reads(split):
    M, X, completer = split
    rows = completer.embed(X[150:, :150])
    assert rows.shape == (50, 5)
    K = X[150:, :150]
    gaps = np.isnan(K)
    np.testing.assert_allclose(completer.transform(K)[gaps], (rows @ completer.factor_.T)[gaps], rtol=0, atol=1e-12)
    # The new rows also agree among each other, of which nothing was shown.
    np.testing.assert_allclose(rows @ rows.T, M[150:, 150:], rtol=0, atol=EXACT)


def test_seen_entries_stay_as_given_even_where_the_fit_disagrees(split):
    _, X, completer = split
    K = X[150:, :150] + 0.1
    filled = completer.transform(K)
    np.testing.assert_array_equal(filled[~np.isnan(K)], K[~np.isnan(K)])
    assert np.isfinite(filled).all()


def test_fit_transform_fills_and_agrees_with_transform():
    M = planted()
    X = positive_part(M)
    completer = PSDCompleter(rank=3, random_state=0)
    filled = completer.fit_transform(X)
    np.testing.assert_allclose(filled, M, rtol=0, atol=EXACT)
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    np.testing.assert_allclose(completer.transform(X), filled, rtol=0, atol=EXACT)


def test_fitted_attributes():
    X = positive_part(planted())
    completer = PSDCompleter(rank=3, random_state=0)
    assert completer.fit(X) is completer
    assert completer.factor_.shape == (60, 3)
    assert completer.rank_ == 3
    assert completer.n_features_in_ == 60
    assert completer.n_iter_ == len(completer.completion_.history) - 1
    assert completer.completion_.verdict.converged
    assert completer.factor_ is completer.completion_.factor
    assert not hasattr(completer, "feature_names_in_")


def test_parameters_reach_the_fit():
    X = positive_part(planted())
    completer = PSDCompleter(
        rank=3,
        loss="observed",
        method="gradient-descent",
        start="spectral",
        tol=1e-3,
        max_iter=7,
        random_state=0,
    )
    with pytest.warns(ConvergenceWarning, match="after 7 iterations"):
        completer.fit(X)
    completion = completer.completion_
    assert (completion.method, completion.start, completion.loss) == (
        "gradient-descent",
        "spectral",
        "observed",
    )
    assert PSDCompleter(rank=3, loss="observed", random_state=0).fit(X).completion_.loss == "observed"
    assert completer.n_iter_ == 7


def test_progress_reaches_the_fit(capsys):
    PSDCompleter(rank=3, random_state=0).fit(positive_part(planted()))
    assert capsys.readouterr() == ("", "")
    PSDCompleter(rank=3, random_state=0, progress=True).fit(positive_part(planted()))
    assert "".join(capsys.readouterr()) != ""


def test_float32_stays_float32():
    M = planted(100)
    X = positive_part(M).astype(np.float32)
    completer = PSDCompleter(rank=3, random_state=0)
    assert completer.fit_transform(X[:80, :80]).dtype == np.float32
    assert completer.factor_.dtype == np.float32
    filled = completer.transform(X[80:, :80])
    assert filled.dtype == completer.embed(X[80:, :80]).dtype == np.float32
    np.testing.assert_allclose(filled, M[80:, :80], rtol=0, atol=1e-3)
    assert completer.transform(X[80:, :80].astype(np.float64)).dtype == np.float64


def test_masked_arrays_hide_what_they_mask():
    M = planted()
    values = np.where(M >= 0, M, 99.0)
    completer = PSDCompleter(rank=3, random_state=0)
    filled = completer.fit_transform(np.ma.MaskedArray(values, mask=M < 0))
    np.testing.assert_allclose(filled, M, rtol=0, atol=EXACT)
    np.testing.assert_allclose(completer.transform(np.ma.MaskedArray(values, mask=M < 0)), M, rtol=0, atol=EXACT)


# --- the threshold -----------------------------------------------------------------------------------------


def scattered(M: np.ndarray) -> np.ndarray:
    """Entries missing at random, whatever their sign."""
    hide = np.triu(np.random.default_rng(4).random(M.shape) < 0.3)
    return np.where(hide | hide.T, NAN, M)


def test_threshold_auto_is_found_from_what_was_seen():
    M = planted()
    completer = PSDCompleter(rank=3, random_state=0).fit(positive_part(M))
    assert completer.threshold_ == M[M >= 0].min()  # everything unseen lies below, and nothing seen does
    assert completer.completion_.loss == "one-sided"


def test_threshold_auto_is_none_where_gaps_are_random():
    M = planted()
    completer = PSDCompleter(rank=3, random_state=0)
    np.testing.assert_allclose(completer.fit_transform(scattered(M)), M, rtol=0, atol=EXACT)
    assert completer.threshold_ is None
    assert completer.completion_.loss == "observed"


def test_threshold_auto_looks_at_the_side_seen():
    M = planted()
    hidden_diagonal = np.where(M <= 0, M, NAN)
    completer = PSDCompleter(rank=3, seen="below", random_state=0).fit(hidden_diagonal)
    assert completer.threshold_ == M[M <= 0].max()
    assert PSDCompleter(rank=3, seen="below", random_state=0).fit(scattered(M)).threshold_ is None


def test_a_threshold_of_ones_own():
    M = planted()
    completer = PSDCompleter(rank=3, threshold=-0.5, random_state=0).fit(np.where(M >= -0.5, M, NAN))
    assert completer.threshold_ == -0.5
    assert PSDCompleter(rank=3, threshold=None, tol=1e-6, random_state=0).fit(positive_part(M)).threshold_ is None
    with pytest.raises(InputError, match="every seen entry must be ≥ threshold=0"):
        PSDCompleter(rank=3, threshold=0.0).fit(M)


# --- random numbers ----------------------------------------------------------------------------------------


def coarse(random_state: object) -> np.ndarray:
    """A fit that is stopped early, so that it shows where it started."""
    completer = PSDCompleter(rank=3, start="random-spectral", max_iter=0, random_state=random_state)
    with pytest.warns(ConvergenceWarning):
        return completer.fit(positive_part(planted())).factor_


def test_the_same_random_state_gives_the_same_answer():
    np.testing.assert_array_equal(coarse(3), coarse(3))
    assert np.abs(coarse(3) - coarse(4)).max() > 1e-3
    np.testing.assert_array_equal(coarse(np.random.RandomState(3)), coarse(3))
    state = np.random.RandomState(3)
    assert np.abs(coarse(state) - coarse(state)).max() > 1e-3  # it has moved on


def test_none_follows_the_global_state_as_everywhere_in_scikit_learn():
    kept = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(5)  # noqa: NPY002
        first = coarse(None)
        np.testing.assert_array_equal(first, coarse(5))
        assert np.abs(coarse(None) - first).max() > 1e-3
    finally:
        np.random.set_state(kept)  # noqa: NPY002


# --- warnings ----------------------------------------------------------------------------------------------


def test_a_run_cut_short_warns_with_its_reason():
    completer = PSDCompleter(rank=3, max_iter=1, start="tailored", random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        completer.fit(positive_part(planted()))
    assert str(caught[0].message) == (
        f"PSDCompleter did not converge (max-iterations): {completer.completion_.verdict.reason}"
    )
    assert "raise max_iter, or tol" in str(caught[0].message)
    assert caught[0].filename == __file__  # it points at the caller's line, not into the library
    assert completer.n_iter_ == 1
    with pytest.warns(ConvergenceWarning, match=r"max-iterations"):
        completer.fit_transform(positive_part(planted()))


def test_a_converged_run_is_silent(split):
    _, X, _ = split
    with warnings.catch_warnings(action="error"):
        completer = PSDCompleter(rank=5, random_state=1).fit(X[:150, :150])
        completer.transform(X[150:, :150])


def test_rows_the_data_do_not_determine_are_named(split):
    _, X, completer = split
    K = X[150:155, :150].copy()
    K[1] = NAN
    K[3, np.flatnonzero(~np.isnan(K[3]))[4:]] = NAN
    for method in (completer.transform, completer.embed):
        with pytest.warns(CompletionWarning) as caught:
            result = method(K)
        assert [str(w.message).partition(";")[0] for w in caught] == [
            "nothing was seen of row 1 of K",
            "row 3 of K sees fewer than 5 independent fitted rows",
        ]
        assert not result[1].any()


def test_an_empty_row_in_fit_is_named():
    X = positive_part(planted())
    X[7] = X[:, 7] = NAN
    with pytest.warns(CompletionWarning, match=r"nothing was seen of row 7;"):
        PSDCompleter(rank=3, random_state=0).fit(X)


# --- manners -----------------------------------------------------------------------------------------------


@parametrize_with_checks(
    [
        PSDCompleter(),
        PSDCompleter(rank=1, threshold=None, method="gradient-descent", start="random-spectral"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        check(estimator)


def test_tags():
    tags = get_tags(PSDCompleter())
    assert tags.input_tags.pairwise
    assert tags.input_tags.allow_nan
    assert not tags.input_tags.sparse
    assert tags.transformer_tags.preserves_dtype == ["float64", "float32"]


def test_constructor_only_stores_and_clone_copies_every_parameter():
    given = {
        "rank": 4,
        "threshold": 1.5,
        "seen": "below",
        "gaps": "mixed",
        "entry_range": (0, 2),
        "weights": None,
        "sigma": 0.5,
        "loss": unrelu.Observed(),
        "method": unrelu.GaussNewton(forcing=0.2),
        "start": "random-spectral",
        "tol": unrelu.GradientNormBelow(1e-6),
        "max_iter": 7,
        "random_state": 3,
        "progress": True,
    }
    completer = PSDCompleter(**given)
    assert completer.get_params() == given
    assert all(getattr(completer, name) is value for name, value in given.items())
    assert clone(completer).get_params() == given


def test_clone_is_unfitted(split):
    _, X, completer = split
    copy = clone(completer)
    assert copy.get_params() == completer.get_params()
    with pytest.raises(NotFittedError, match="PSDCompleter"):
        copy.transform(X[150:, :150])
    with pytest.raises(NotFittedError, match="PSDCompleter"):
        copy.embed(X[150:, :150])


def test_pickle_round_trip_without_the_training_data(split):
    _, X, completer = split
    stream = io.BytesIO()
    pickle.dump(completer, stream)
    assert len(stream.getvalue()) < X[:150, :150].nbytes / 4
    stream.seek(0)
    copy = pickle.load(stream)
    np.testing.assert_array_equal(copy.transform(X[150:, :150]), completer.transform(X[150:, :150]))
    assert str(copy.completion_) == str(completer.completion_)


@pytest.mark.parametrize("method", ["fit", "fit_transform"])
def test_the_training_data_are_let_go(method):
    completer = PSDCompleter(rank=3, random_state=0)
    X = positive_part(planted())
    getattr(completer, method)(X)
    assert completer.completion_.source is None
    np.testing.assert_allclose(completer.completion_.filled(X), planted(), rtol=0, atol=EXACT)


# --- data frames -------------------------------------------------------------------------------------------


def test_data_frames_keep_their_names():
    M = planted(40)
    names = [f"city {i}" for i in range(40)]
    frame = pd.DataFrame(positive_part(M), index=names, columns=names)
    completer = PSDCompleter(rank=3, random_state=0).set_output(transform="pandas")
    head = completer.fit_transform(frame.iloc[:30, :30])
    tail = completer.transform(frame.iloc[30:, :30])
    for result, rows in ((head, names[:30]), (tail, names[30:])):
        assert isinstance(result, pd.DataFrame)
        assert list(result.index) == rows
        assert list(result.columns) == names[:30]
    np.testing.assert_allclose(tail, M[30:, :30], rtol=0, atol=EXACT)
    assert list(completer.feature_names_in_) == list(completer.get_feature_names_out()) == names[:30]
    assert isinstance(completer.embed(frame.iloc[30:, :30]), np.ndarray)


def test_data_frames_give_arrays_unless_asked_otherwise():
    frame = pd.DataFrame(positive_part(planted()), columns=[f"k{i}" for i in range(60)])  # any index will do
    completer = PSDCompleter(rank=3, random_state=0)
    assert isinstance(completer.fit_transform(frame), np.ndarray)
    with pytest.raises(ValueError, match="feature names should match"):
        completer.transform(frame[frame.columns[::-1]])


@pytest.mark.parametrize("method", ["fit", "fit_transform"])
def test_a_fitted_frame_gives_its_labels_to_the_completion_and_to_warnings(method):
    names = [f"city {i}" for i in range(40)]
    X = positive_part(planted(40))
    X[7] = X[:, 7] = np.nan
    completer = PSDCompleter(rank=3, random_state=0)
    with pytest.warns(CompletionWarning, match="nothing was seen of row city 7;") as caught:
        getattr(completer, method)(pd.DataFrame(X, names, names))
    assert [warning.filename for warning in caught] == [__file__]
    assert completer.completion_.labels == tuple(names)
    assert completer.completion_.entries("city 1", "city 2") == completer.completion_.entries(1, 2)


@pytest.mark.parametrize("method", ["transform", "embed"])
def test_new_rows_of_a_frame_go_by_their_labels(method):
    names = [f"city {i}" for i in range(40)]
    frame = pd.DataFrame(positive_part(planted(40)), names, names)
    completer = PSDCompleter(rank=3, random_state=0).fit(frame.iloc[:30, :30])
    new = frame.iloc[30:, :30].copy()
    new.iloc[2] = np.nan
    new.iloc[4, 1:] = np.nan
    new.iloc[4, 0] = 1.0
    with pytest.warns(CompletionWarning) as caught:
        getattr(completer, method)(new)
    assert [str(warning.message).split(" of K")[0] for warning in caught] == [
        "nothing was seen of row city 32",
        "row city 34",
    ]
    assert {warning.filename for warning in caught} == {__file__}


def test_shuffled_labels_are_refused():
    names = list("abcd")
    frame = pd.DataFrame(planted(4, 2), index=names, columns=names)
    with pytest.raises(InputError) as caught:
        PSDCompleter().fit(frame[["a", "c", "b", "d"]])
    assert str(caught.value) == (
        "index and columns of X must carry their labels in the same order, but label 1 is 'b' in the index "
        "and 'c' in the columns; use X.loc[labels, labels], or X.to_numpy() to drop the labels"
    )


# --- with others -------------------------------------------------------------------------------------------


def test_pipeline_with_kernel_pca():
    M = planted()
    X = positive_part(M)
    pipeline = make_pipeline(PSDCompleter(rank=3, random_state=0), KernelPCA(3, kernel="precomputed"))
    truth = KernelPCA(3, kernel="precomputed")
    assert get_tags(pipeline).input_tags.pairwise
    scores, expected = pipeline.fit_transform(X[:50, :50]), truth.fit_transform(M[:50, :50])
    np.testing.assert_allclose(np.abs(scores), np.abs(expected), rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        np.abs(pipeline.transform(X[50:, :50])), np.abs(truth.transform(M[50:, :50])), rtol=0, atol=1e-6
    )


def test_cross_validation_slices_rows_and_columns():
    rng = np.random.default_rng(13)
    U = rng.standard_normal((90, 3))
    y = U @ [1.0, -2.0, 0.5]
    X = positive_part(U @ U.T)
    folds = KFold(3, shuffle=True, random_state=0)
    ridge = KernelRidge(alpha=1e-3, kernel="precomputed")
    scores = cross_val_score(make_pipeline(PSDCompleter(rank=3, random_state=0), ridge), X, y, cv=folds)
    np.testing.assert_allclose(scores, cross_val_score(ridge, U @ U.T, y, cv=folds), rtol=0, atol=1e-8)
    assert scores.min() > 0.999


def test_a_grid_search_finds_the_rank():
    rng = np.random.default_rng(14)
    U = rng.standard_normal((90, 3))
    # Completed at too low a rank, X is no kernel: its rows serve as plain features.
    pipeline = make_pipeline(PSDCompleter(random_state=0), Ridge(alpha=1e-3))
    search = GridSearchCV(pipeline, {"psdcompleter__rank": [1, 2, 3]}, cv=3)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        search.fit(positive_part(U @ U.T), U @ [1.0, -2.0, 0.5])
    assert search.best_params_ == {"psdcompleter__rank": 3}


# --- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "X", "expected"),
    [
        (
            {},
            np.ones((3, 4)),
            "X must be a square matrix, one row and one column per sample; got a 3x4 matrix",
        ),
        (
            {"rank": 5},
            np.ones((4, 4)),
            "rank must be between 1 and n_samples=4, the size of the matrix, got 5; lower rank, or fit more samples",
        ),
        ({"rank": 0}, np.ones((4, 4)), "rank must be between 1 and 4, the size of the matrix; got 0"),
        (
            {"rank": "2"},
            np.ones((4, 4)),
            "rank must be an integer between 1 and 4, the size of the matrix; got '2'",
        ),
        (
            {"threshold": "Auto"},
            np.ones((4, 4)),
            "threshold must be 'auto', a finite number, or None if absence says nothing; got 'Auto'",
        ),
        (
            {"seen": "over"},
            np.ones((4, 4)),
            "unknown side seen 'over'; did you mean 'above'? accepted: above, below, between, outside",
        ),
        (
            {},
            np.full((4, 4), NAN),
            "X must have at least one seen entry, got none; there is nothing to complete from",
        ),
        (
            {},
            scipy.sparse.eye_array(4).tocsr(),
            "X must be a dense array with NaN where nothing was seen, got a sparse matrix; "
            "unrelu.complete takes a square one as it is",
        ),
    ],
)
def test_refusals_of_fit(options, X, expected):
    with pytest.raises(InputError) as caught:
        PSDCompleter(**options).fit(X)
    assert str(caught.value) == expected


def test_refusals_of_transform(split):
    _, X, completer = split
    with pytest.raises(ValueError, match="X has 10 features, but PSDCompleter is expecting 150 features"):
        completer.transform(X[150:, :10])
    with pytest.raises(ValueError, match="contains infinity"):
        completer.transform(np.full((1, 150), np.inf))
    with pytest.raises(InputError, match=re.escape("K must be a dense array with NaN where nothing was seen")):
        completer.embed(scipy.sparse.csr_array(np.ones((1, 150))))


def test_a_rank_that_the_data_exceed_is_no_failure_to_converge():
    """filterwarnings turns a warning into an error here."""
    PSDCompleter()._warn_unless_converged(Verdict(Stop.BEST_OF_RANK, "real data are never of a rank"))
    with pytest.warns(ConvergenceWarning, match=r"did not converge \(stationary\)"):
        PSDCompleter()._warn_unless_converged(Verdict(Stop.STATIONARY, "no step helps"))


def test_the_docstring_names_where_all_methods_and_starts_are_listed():
    text = PSDCompleter.__doc__
    assert "``auto`` or a name in :data:`unrelu._old.solvers.METHODS`" in text
    assert "``auto`` or a name in :data:`unrelu._old.starts.STARTS`" in text


def test_limits_a_range_and_weights_are_those_of_complete():
    U = np.random.default_rng(3).standard_normal((30, 2))
    M = U @ U.T
    threshold = np.quantile(M, 0.4, axis=0, keepdims=True)
    X = np.where(threshold <= M, M, np.nan)
    weights = np.linspace(1, 2, 30)[:, None]
    completer = PSDCompleter(2, threshold=threshold, entry_range=(-50, 50), weights=weights, random_state=0)
    again = clone(completer).fit(X)
    assert np.abs(again.completion_.matrix() - M).max() < 1e-8
    np.testing.assert_array_equal(again.threshold_, threshold)
    with pytest.raises(InputError, match=r"^weights must be finite numbers above 0, got 0"):
        PSDCompleter(2, threshold=threshold, weights=0 * weights).fit(X)


def test_sigma_is_that_of_complete():
    rng = np.random.default_rng(3)
    U, E = rng.standard_normal((30, 2)), rng.standard_normal((30, 30))
    sigma = np.where(np.arange(30) < 10, 0.5, 0.1)[None, :]
    Y = U @ U.T + sigma * E
    X = np.where(Y >= 0, Y, np.nan)
    completer = PSDCompleter(2, sigma=sigma, random_state=0).fit(X)
    assert completer.completion_.loss == "censored"
    assert completer.completion_.sigma == pytest.approx(np.sqrt(np.mean(sigma**2)))
    with pytest.raises(
        InputError, match=r"^sigma must be finite numbers above 0, or None to estimate the noise; got 0"
    ):
        PSDCompleter(2, sigma=0 * sigma).fit(X)
    with pytest.raises(InputError, match=r"^threshold must be a pair \(low, high\) for seen='outside', got 'auto'$"):
        PSDCompleter(2, seen="outside").fit(X)
