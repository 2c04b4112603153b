"""The scikit-learn face of :func:`unrelu.complete_table`: an imputer for tables with limits of detection."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from unrelu._old.complete_table import complete_table
from unrelu._old.estimators.base import LARGEST_SEED, passed_on
from unrelu._old.results.table import TableCompletion

__all__ = ["TableCompleter"]


class TableCompleter(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fill the cells of a table that went unseen because of their values, by :func:`unrelu.complete_table`.

    :meth:`transform` fills new rows from what was seen of them, by the same model and the same limits. :meth:`score` is
    the likelihood of held-out cells, so that ``GridSearchCV`` can choose between ranks, or between ``log`` and not.

    Parameters
    ----------
    rank : int, optional
    threshold : float, vector of n numbers, series, pair, Limits or None, default None
    seen : {"above", "below", "between", "outside"}, default "above"
    entry_range : (least, most), optional
    log : bool, default False
    skew : bool, default True
    loss : {"auto", "huber"}, default "auto"
        All as in :func:`unrelu.complete_table`; limits must not differ from row to row if new rows are to be filled.
    random_state : int, RandomState or None, default None

    Attributes
    ----------
    completion_ : TableCompletion
        What was fitted, with its verdict and its rehearsal.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n,)
        Column names, if X was a data frame with names that are text.

    See Also
    --------
    unrelu.complete_table : The same fit, also with cells missing for other reasons.

    Examples
    --------
    >>> import numpy as np
    >>> from unrelu import TableCompleter
    >>> rng = np.random.default_rng(0)
    >>> M = 5 + rng.standard_normal((200, 1)) + 0.5 * rng.standard_normal((200, 6))
    >>> limits = np.quantile(M, 0.4, axis=0)
    >>> X = np.where(M >= limits, M, np.nan)
    >>> completer = TableCompleter(threshold=limits, random_state=0).fit(X[:150])
    >>> filled = completer.transform(X[150:])
    >>> hidden = np.isnan(X[150:])
    >>> error = np.std((filled - M[150:])[hidden])
    >>> bool(error < 0.8 * np.std(M[150:][hidden] - limits[np.nonzero(hidden)[1]]))
    True
    """

    def __init__(
        self,
        rank: int | None = None,
        *,
        threshold: Any = None,
        seen: str = "above",
        entry_range: Any = None,
        log: bool = False,
        skew: bool = True,
        loss: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.threshold = threshold
        self.seen = seen
        self.entry_range = entry_range
        self.log = log
        self.skew = skew
        self.loss = loss
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> TableCompleter:
        """Choose and fit a model.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (m, n)
            NaN where nothing was seen.
        y : ignored
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and fill the same table."""
        return self._fit(X).filled()

    def transform(self, X: Any) -> Any:
        """Fill rows from what was seen of them: seen cells stay, and no filled one lies beyond its limit."""
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.completion_.new_rows(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of the cells of other rows, each held out in turn; the larger, the better."""
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.completion_.log_likelihood(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _fit(self, X: Any) -> TableCompletion:
        validate_data(self, X, reset=True, skip_check_array=True)
        with passed_on():
            self.completion_ = complete_table(
                X,
                self.rank,
                threshold=self.threshold,
                seen=self.seen,
                entry_range=self.entry_range,
                log=self.log,
                skew=self.skew,
                loss=self.loss,
                rng=int(check_random_state(self.random_state).randint(LARGEST_SEED)),
            )
        return self.completion_
