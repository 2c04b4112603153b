"""The scikit-learn face of tables."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from unrelu import InputError, TableCompleter

nan = np.nan


def lognormal(seed=0, m=120):
    rng = np.random.default_rng(seed)
    M = np.exp(rng.standard_normal((m, 1)) + 0.3 * rng.standard_normal((m, 4)))
    limits = np.quantile(M, 0.3, axis=0)
    return M, limits, np.where(limits <= M, M, nan)


def test_it_fills_what_it_was_fitted_to_and_what_comes_later():
    _, limits, X = lognormal()
    completer = TableCompleter(threshold=limits, log=True, random_state=0)
    filled = completer.fit_transform(X[:90])
    np.testing.assert_array_equal(filled, completer.completion_.filled())
    later = completer.transform(X[90:])
    assert not np.isnan(later).any()
    assert (later[np.isnan(X[90:])] <= np.broadcast_to(limits, later.shape)[np.isnan(X[90:])]).all()
    assert completer.n_features_in_ == 4
    again = clone(completer).fit(X[:90])
    np.testing.assert_array_equal(again.transform(X[90:]), later)


def test_a_search_chooses_by_the_likelihood_of_held_out_cells():
    _, limits, X = lognormal()
    completer = TableCompleter(threshold=limits, skew=False, random_state=0)
    search = GridSearchCV(completer, {"log": [False, True]}, cv=2, error_score="raise").fit(X)
    assert search.best_params_ == {"log": True}
    scores = search.cv_results_["mean_test_score"]
    assert scores[1] > scores[0] + 0.3


def test_a_frame_in_a_frame_out():
    _, limits, X = lognormal()
    frame = pd.DataFrame(X, columns=list("abcd"))
    completer = TableCompleter(threshold=pd.Series(limits, index=list("abcd")), log=True, random_state=0).fit(frame)
    found = completer.transform(frame.iloc[:10])
    assert list(found.columns) == list("abcd")
    assert list(completer.get_feature_names_out()) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        completer.transform(frame[list("bacd")])


def test_it_stands_in_a_pipeline():
    M, limits, X = lognormal()
    y = np.log(M).sum(axis=1)
    line = make_pipeline(TableCompleter(threshold=limits, log=True, random_state=0), LinearRegression())
    assert line.fit(X, y).score(X, y) > 0.6


def test_what_it_refuses():
    _, limits, X = lognormal()
    with pytest.raises(InputError, match="rank must be between 1 and 4"):
        TableCompleter(rank=9, threshold=limits).fit(X)
    with pytest.raises(ValueError, match="not fitted"):
        TableCompleter().transform(X)
