"""The scikit-learn face of distances: an embedding like ``MDS``, from the distances that were measured alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import InputError, is_integer
from unrelu._old.complete_distances import complete_distances
from unrelu._old.estimators.base import PairwiseCompleter, refuse_shuffled_labels

__all__ = ["DistanceCompleter"]


class DistanceCompleter(PairwiseCompleter):
    """Find points from some of their distances, as ``sklearn.manifold.MDS`` does from all of them.

    :meth:`fit` calls :func:`unrelu.complete_distances`: X is a matrix of distances with NaN where none was measured
    (``MDS`` refuses that), and with ``cutoff`` an unmeasured distance is known to be at least that long. There is no
    ``transform``, as in ``MDS``: a new point is fitted together with the others.

    Like a precomputed kernel, X has one row and one column per sample. Cross-validation slices both (tag ``pairwise``),
    of arrays only: scikit-learn cannot slice a data frame so, and needs ``X.to_numpy()``.

    Parameters
    ----------
    dim : int or "auto", default 2
        Number of coordinates of a point, less than the number of samples unless that is 1. ``auto``: the smallest that
        explains the distances; ``completion_.dimension`` says why.
    metric : {"precomputed"}, default "precomputed"
        X holds distances. For other metrics, compute them first.
    cutoff : float or None, default None
        Every unmeasured distance is at least this. None: absence says nothing.
    squared : bool, default False
        Whether X holds squared distances.
    sigma : float, array of shape (n, n) or None, default None
        Standard deviation of the distances, if known.
    anchors : dict or array of shape (n, dim), optional
        Known positions, by index or (data frames) by name; NaN rows of an array are free.
    loss, start, tol, max_iter
        As in :func:`unrelu.complete_distances`; with ``loss="huber"`` some distances may be grossly wrong, and
        ``completion_.distrusted`` lists them.
    random_state : int, RandomState or None, default None
        An integer gives the same answer on every call; None draws from NumPy's global state, as everywhere in
        scikit-learn.
    progress : bool, default False
        Show a progress bar on the terminal.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, dim)
        The points. Without anchors their frame is arbitrary and their mirror image would do as well.
    determined_ : boolean ndarray of shape (n,)
        Whether the data fix a point among the others of its component.
    determinacy_ : ndarray of str of shape (n,)
        How surely: ``proved``, ``generic``, ``local`` or ``no``.
    components_ : int ndarray of shape (n,)
        Which connected part each point lies in; parts have frames of their own.
    standard_errors_ : ndarray of shape (n, dim)
    completion_ : DistanceCompletion
        All of that with verdict, history and ``explain()``.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        n, the number of fitted samples.
    feature_names_in_ : ndarray of shape (n,)
        Column names, if X was a data frame with names that are text.

    See Also
    --------
    unrelu.complete_distances : The same fit, also for edge lists and with bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics import pairwise_distances
    >>> from unrelu import DistanceCompleter
    >>> points = np.random.default_rng(0).uniform(size=(60, 2))
    >>> D = pairwise_distances(points)
    >>> X = np.where(D <= 0.4, D, np.nan)        # only the short ones were measured
    >>> completer = DistanceCompleter(dim=2, cutoff=0.4, random_state=0).fit(X)
    >>> bool(completer.determined_.all())
    True
    >>> bool(np.abs(pairwise_distances(completer.embedding_) - D).max() < 1e-8)
    True
    """

    def __init__(
        self,
        dim: int | str = 2,
        *,
        metric: str = "precomputed",
        cutoff: float | None = None,
        squared: bool = False,
        sigma: Any = None,
        anchors: Any = None,
        loss: Any = "auto",
        start: Any = "auto",
        tol: Any = None,
        max_iter: int | None = None,
        random_state: Any = None,
        progress: bool = False,
    ) -> None:
        self.dim = dim
        self.metric = metric
        self.cutoff = cutoff
        self.squared = squared
        self.sigma = sigma
        self.anchors = anchors
        self.loss = loss
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any = None) -> DistanceCompleter:
        """Find the points behind the distances.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n)
            NaN where nothing was measured; of a sparse matrix, such as a graph of neighbours, what is not stored. It is
            enough to tell a distance once, in one of the triangles.
        y : ignored

        Returns
        -------
        DistanceCompleter
            Itself, fitted.

        Raises
        ------
        InputError
            If X or a parameter cannot be what was meant.

        Warns
        -----
        ConvergenceWarning
            If the run ended for another reason than convergence.

        Examples
        --------
        >>> X = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, np.nan], [4.0, np.nan, 0.0]])
        >>> DistanceCompleter(dim=2, random_state=0).fit(X).determined_.shape
        (3,)
        """
        values = self._distances(X)
        names = getattr(self, "feature_names_in_", None)
        completion = complete_distances(
            values,
            self.dim,
            cutoff=self.cutoff,
            squared=self.squared,
            sigma=self.sigma,
            anchors=self.anchors,
            names=None if names is None else tuple(names.tolist()),
            **self._run_options(),
        )
        self._warn_unless_converged(completion.verdict)
        self.completion_ = completion
        self.embedding_ = completion.points
        self.determinacy_ = completion.determinacy
        self.determined_ = completion.determined
        self.components_ = completion.components
        self.n_iter_ = completion.history[-1].iteration if len(completion.history) else 0
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit and return ``embedding_``.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, n)
            As in :meth:`fit`.
        y : ignored

        Returns
        -------
        ndarray of shape (n, dim)

        Examples
        --------
        >>> X = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
        >>> x = DistanceCompleter(dim=2, random_state=0).fit_transform(X)
        >>> round(float(np.linalg.norm(x[1] - x[2])), 6)
        5.0
        """
        self.fit(X)
        return self.embedding_

    @property
    def standard_errors_(self) -> Array:
        """Standard errors of the coordinates; infinite where the data do not fix a point."""
        return self.completion_.standard_errors

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _distances(self, X: Any) -> Any:
        """X as a square matrix of distances, with NaN where nothing was measured."""
        if self.metric != "precomputed":
            raise InputError(
                f"metric must be 'precomputed', got {self.metric!r}; compute the distances first, for instance by "
                "sklearn.metrics.pairwise_distances"
            )
        refuse_shuffled_labels(X)
        values = self._validated(X, accept_sparse=("csr", "csc", "coo"))
        stored = values.data if sp.issparse(values) else values
        if np.nanmin(stored, initial=0.0) < 0:
            # The first four words are those that scikit-learn looks for.
            raise InputError(
                f"Negative values in data passed to {type(self).__name__}: a distance is at least 0, got "
                f"{np.nanmin(stored):g}; give NaN where nothing was measured"
            )
        rows, columns = values.shape
        if rows != columns:
            raise InputError(
                f"X must be a square matrix of distances, a row and a column per sample; got {rows}x{columns}"
            )
        if is_integer(self.dim) and self.dim > max(1, rows - 1):
            raise InputError(
                f"dim must be less than n_samples={rows}, for fewer points lie in fewer dimensions, got {self.dim}; "
                "lower dim, or fit more samples"
            )
        return sp.csr_array(values) if sp.issparse(values) else values
