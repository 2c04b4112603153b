"""The scikit-learn face of :func:`unrelu.complete`: it behaves like an imputer, for matrices of similarities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import InputError
from unrelu._old.complete import complete
from unrelu._old.data.measured import Measured, measured
from unrelu._old.data.table import Table
from unrelu._old.data.table_observations import table_observations
from unrelu._old.data.terms import Terms
from unrelu._old.estimators.base import PairwiseCompleter, labels_of_samples, passed_on, refuse_shuffled_labels
from unrelu._old.estimators.held_out import NewRows
from unrelu._old.placing.attach import attach_rows, bands
from unrelu._old.results.completion import Completion

__all__ = ["PSDCompleter"]


class PSDCompleter(OneToOneFeatureMixin, TransformerMixin, PairwiseCompleter):  # type: ignore[misc]
    """Complete a low-rank positive semidefinite matrix of which only entries beyond a threshold were seen.

    :meth:`fit` finds U with M ≈ UUᵀ by :func:`unrelu.complete` (Problem (MC) of the paper). :meth:`transform`
    places new rows, seen against the fitted ones, by least squares: u = argmin Σ_{j seen} (u·u_j − k_j)².
    Both fill gaps only: entries that were seen stay as they were given.

    Like a precomputed kernel, X has one row and one column per sample. Cross-validation slices both (tag ``pairwise``),
    of arrays only: scikit-learn cannot slice a data frame so, and needs ``X.to_numpy()``. :meth:`score` is the
    likelihood of entries that are held out in turn, so that ``GridSearchCV`` can choose a rank; a score of one's own
    must look at entries that were hidden from :meth:`transform`, which gives back those it was given.

    Parameters
    ----------
    rank : int, optional
        Rank of the completed matrix, at most the number of samples. Default: as low as the data ask for, or the model
        that forecasts best what was hidden on purpose; new rows are then placed by how the fitted ones lie, and their
        gaps are filled with forecasts within their limits.
    threshold : "auto", float or None, default "auto"
        Every seen entry of X is on the side ``seen`` of it, every unseen one on the other. None: absence says
        nothing. ``auto``: found from the data, as in :func:`unrelu.complete`; None where there is none. Also an array,
        a pair or Limits as there.
    seen : {"above", "below", "between", "outside"}, default "above"
    gaps : {"censored", "mixed", "curve", "random", "auto"}, default "censored"
    entry_range : (least, most), optional
    weights : array of shape (n, 1), (1, n) or (n, n), optional
    sigma : float or array, optional
        All from ``seen`` on as in :func:`unrelu.complete`.
    loss : {"auto", "observed", "one-sided", "censored", "huber"} or Loss, default "auto"
    method : str, Solver, Strategy or callable, default "auto"
        ``auto`` or a name in :data:`unrelu._old.solvers.METHODS`.
    start : str, Start, array or Completion, default "auto"
        ``auto`` or a name in :data:`unrelu._old.starts.STARTS`.
    tol : float or StoppingRule, optional
    max_iter : int, optional
        All from ``loss`` on as in :func:`unrelu.complete`.
    random_state : int, RandomState or None, default None
        For the start. An integer gives the same answer on every call; None draws from NumPy's global state,
        as everywhere in scikit-learn.
    progress : bool, default False
        Show a progress bar on the terminal.

    Attributes
    ----------
    factor_ : ndarray of shape (n, rank)
        U, determined up to a rotation of its columns.
    completion_ : Completion
        The fit with its verdict and history, without the training data; with the labels of a data frame.
    threshold_ : float or None
        The threshold that was used.
    rank_ : int
        Number of columns of ``factor_``.
    n_iter_ : int
        Number of iterations; 0 if the start was already the answer, as when every entry was seen. At
        least 1 where the rank was found.
    n_features_in_ : int
        n, the number of fitted samples.
    feature_names_in_ : ndarray of shape (n,)
        Column names, if X was a data frame with names that are text.

    See Also
    --------
    unrelu.complete : The same fit, also for sparse input and with entries missing for other reasons.
    unrelu._old.placing.attach.attach_rows : The least-squares placement of new rows.

    Examples
    --------
    >>> import numpy as np
    >>> from unrelu._old.estimators.psd import PSDCompleter
    >>> points = np.random.default_rng(7).standard_normal((80, 2))
    >>> M = points @ points.T
    >>> X = np.where(M >= 0, M, np.nan)          # only the non-negative entries were seen
    >>> completer = PSDCompleter(rank=2, random_state=0).fit(X[:60, :60])
    >>> bool(0 <= completer.threshold_ < 0.01)  # found from the data
    True
    >>> filled = completer.transform(X[60:, :60])
    >>> bool(np.abs(filled - M[60:, :60]).max() < 1e-8)
    True
    """

    def __init__(
        self,
        rank: int | None = None,
        *,
        threshold: Any = "auto",
        seen: str = "above",
        gaps: str = "censored",
        entry_range: Any = None,
        weights: Any = None,
        sigma: Any = None,
        loss: Any = "auto",
        method: Any = "auto",
        start: Any = "auto",
        tol: Any = None,
        max_iter: int | None = None,
        random_state: Any = None,
        progress: bool = False,
    ) -> None:
        self.rank = rank
        self.threshold = threshold
        self.seen = seen
        self.gaps = gaps
        self.entry_range = entry_range
        self.weights = weights
        self.sigma = sigma
        self.loss = loss
        self.method = method
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any = None) -> PSDCompleter:
        """Find the factor of the matrix behind X.

        Parameters
        ----------
        X : array or data frame of shape (n, n)
            NaN where nothing was seen. Neither pattern nor values need be symmetric. float32 stays float32.
        y : ignored

        Returns
        -------
        PSDCompleter
            Itself, fitted.

        Raises
        ------
        InputError
            If X or a parameter cannot be what was meant.

        Warns
        -----
        ConvergenceWarning
            If the run ended for another reason than convergence.
        CompletionWarning
            If there are rows of which nothing was seen.

        Examples
        --------
        >>> X = np.array([[1.0, 2.0], [2.0, np.nan]])
        >>> PSDCompleter(rank=1, random_state=0).fit(X).completion_.matrix().round(6)
        array([[1., 2.],
               [2., 4.]])
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit and return X with its gaps filled from UUᵀ.

        On the rows that were fitted, :meth:`transform` places each row anew, by what was seen of it alone,
        while this method reads the fit, which also listens to the column and to what absence says. The two
        agree where the fit is exact and the row sees at least ``rank`` independent ones.

        Parameters
        ----------
        X : array or data frame of shape (n, n)
            As in :meth:`fit`.
        y : ignored

        Returns
        -------
        ndarray of shape (n, n)
            Or what :meth:`set_output` asked for.

        Examples
        --------
        >>> PSDCompleter(rank=1, random_state=0).fit_transform(np.array([[1.0, 2.0], [2.0, np.nan]])).round(6)
        array([[1., 2.],
               [2., 4.]])
        """
        return self._fit(X).filled()

    def transform(self, K: Any) -> Any:
        """Fill the gaps of new rows.

        Parameters
        ----------
        K : array or data frame of shape (m, n)
            One row per new sample, one column per fitted one; NaN where nothing was seen.

        Returns
        -------
        ndarray of shape (m, n)
            K where it was seen, u·u_j elsewhere; or what :meth:`set_output` asked for.

        Warns
        -----
        CompletionWarning
            If the data do not determine a row: it sees fewer independent fitted rows than there are.

        Examples
        --------
        >>> completer = PSDCompleter(rank=1, random_state=0).fit(np.array([[1.0, 2.0], [2.0, np.nan]]))
        >>> completer.transform(np.array([[np.nan, 6.0]])).round(6)
        array([[3., 6.]])
        """
        check_is_fitted(self)
        if self.completion_.forecasts:
            values = self._dense(K, "K", reset=False)
            return NewRows.of(self.completion_).filled(self._cells(values), values.dtype)
        values, rows = self._attached(K)
        filled = values.copy()
        for band in bands(len(filled), filled.shape[1]):
            part = filled[band]
            np.copyto(part, rows[band] @ self.factor_.T, casting="same_kind", where=np.isnan(part))
        return filled

    def embed(self, K: Any) -> Array:
        """Factor rows of new samples, in the same coordinates as ``factor_``.

        Parameters
        ----------
        K : array or data frame of shape (m, n)
            As in :meth:`transform`.

        Returns
        -------
        ndarray of shape (m, rank)

        Warns
        -----
        CompletionWarning
            As in :meth:`transform`.

        Examples
        --------
        >>> completer = PSDCompleter(rank=1, random_state=0).fit(np.array([[1.0, 2.0], [2.0, np.nan]]))
        >>> np.abs(completer.embed(np.array([[np.nan, 6.0]]))).round(6)
        array([[3.]])
        """
        check_is_fitted(self)
        return self._attached(K)[1]

    def score(self, K: Any, y: Any = None) -> float:
        """Mean log-likelihood of the entries of new rows, each held out in turn; the larger, the better.

        An entry that was seen counts by its density, given the others of its row; one that went unseen because of its
        value, by the probability of that.

        Parameters
        ----------
        K : array or data frame of shape (m, n)
            As in :meth:`transform`.
        y : ignored

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> points = rng.standard_normal((90, 2))
        >>> M = points @ points.T + 0.1 * rng.standard_normal((90, 90))
        >>> X = np.where(M >= 0, M, np.nan)
        >>> right, low = (PSDCompleter(rank, random_state=0).fit(X[:60, :60]) for rank in (2, 1))
        >>> right.score(X[60:, :60]) > low.score(X[60:, :60])
        True
        """
        check_is_fitted(self)
        values = self._dense(K, "K", reset=False)
        return NewRows.of(self.completion_).log_likelihood(self._cells(values))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _fit(self, X: Any) -> Completion:
        """Set the fitted attributes; the completion returned refers to the data, the one kept does not."""
        refuse_shuffled_labels(X)
        values = self._dense(X, "X", reset=True)
        rows, columns = values.shape
        if rows != columns:
            raise InputError(
                f"X must be a square matrix, one row and one column per sample; got a {rows}x{columns} matrix"
            )
        if isinstance(self.rank, (int, np.integer)) and self.rank > rows:
            raise InputError(
                f"rank must be between 1 and n_samples={rows}, the size of the matrix, got {self.rank}; "
                "lower rank, or fit more samples"
            )
        threshold = self._named_threshold()
        with passed_on():
            completion = complete(
                Table(values, labels_of_samples(X)),
                self.rank,
                threshold=threshold,
                seen=self.seen,
                gaps=self.gaps,
                entry_range=self.entry_range,
                weights=self.weights,
                sigma=self.sigma,
                method=self.method,
                **self._run_options(),
            )
        self._warn_unless_converged(completion.verdict)
        curve = completion.detection
        found = None if curve is None or not curve.certain else curve.level
        self.threshold_ = completion.threshold if curve is None else found
        self.completion_ = replace(completion, source=None)
        self.factor_ = completion.factor
        self.rank_ = completion.rank
        # To find a rank counts as one; scikit-learn wants every fit to have taken some.
        self.n_iter_ = max(completion.history[-1].iteration, int(self.rank is None))
        return completion

    def _named_threshold(self) -> Any:
        if not isinstance(self.threshold, str):
            return self.threshold
        if self.threshold != "auto":
            raise InputError(
                f"threshold must be 'auto', a finite number, or None if absence says nothing; got {self.threshold!r}"
            )
        if self.seen in ("between", "outside"):
            raise InputError(f"threshold must be a pair (low, high) for seen={self.seen!r}, got 'auto'")
        return self.threshold

    def _cells(self, values: Array) -> Measured:
        """What is known of the entries of new rows, by the limits of the fitted ones."""
        ends = self.threshold_ if isinstance(self.threshold_, tuple) else (self.threshold_,)
        if any(np.ndim(end) == 2 and np.shape(end)[0] > 1 for end in ends):
            raise InputError("limits of new rows are not known where they differ from row to row; give one per column")
        threshold = self.threshold_
        if self.completion_.detection is not None and threshold is not None and not np.isnan(values).all():
            # A level that was found is no wall for new rows: what was seen of them may lie a little beyond it.
            nearest = float(np.nanmin(values) if self.seen == "above" else np.nanmax(values))
            threshold = min(threshold, nearest) if self.seen == "above" else max(threshold, nearest)
        terms = Terms(threshold, self.seen, entry_range=self.entry_range)
        return measured(table_observations(values, terms))

    def _attached(self, K: Any) -> tuple[Array, Array]:
        """What was seen of new samples, and their factor rows."""
        values = self._dense(K, "K", reset=False)
        names = list(K.index) if hasattr(K, "index") and hasattr(K, "columns") else None
        with passed_on():
            if self.completion_.forecasts:
                return values, NewRows.of(self.completion_).placed(values).astype(values.dtype)
            return values, attach_rows(self.factor_, values, names=names)

    def _dense(self, X: Any, name: str, *, reset: bool) -> Array:
        if sp.issparse(X):
            # scikit-learn would advise .toarray(), which turns what was not seen into zeros.
            raise InputError(
                f"{name} must be a dense array with NaN where nothing was seen, got a sparse matrix; "
                "unrelu.complete takes a square one as it is"
            )
        values: Array = self._validated(X, reset=reset)
        return values
