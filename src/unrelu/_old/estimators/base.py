"""What the scikit-learn faces share: a square matrix with gaps in, one row and one column per sample."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from unrelu._old.base.errors import CompletionWarning, InputError, outside
from unrelu._old.loop.history import Verdict

__all__ = ["PairwiseCompleter", "labels_of_samples", "passed_on", "refuse_shuffled_labels"]

# Seeds that every generator of scikit-learn and NumPy accepts.
LARGEST_SEED = np.iinfo(np.int32).max


class PairwiseCompleter(BaseEstimator):  # type: ignore[misc]
    """Base of estimators whose X is like a precomputed kernel, with NaN where nothing was seen.

    A subclass stores, in its own ``__init__`` as scikit-learn wants it, at least the parameters that are named below.
    """

    loss: Any
    start: Any
    tol: Any
    max_iter: int | None
    random_state: Any
    progress: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.allow_nan = True
        return tags

    def _run_options(self) -> dict[str, Any]:
        """Parameters that go to the run as they are, and a seed from ``random_state``."""
        return {
            "loss": self.loss,
            "start": self.start,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "rng": int(check_random_state(self.random_state).randint(LARGEST_SEED)),
            "progress": self.progress,
        }

    def _validated(self, X: Any, **options: Any) -> Any:
        """What scikit-learn accepts as a matrix, with NaN where nothing was seen."""
        if isinstance(X, np.ma.MaskedArray):  # scikit-learn would drop the mask
            X = np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)
        return validate_data(self, X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", **options)

    def _warn_unless_converged(self, verdict: Verdict) -> None:
        """Warn as scikit-learn does."""
        if not verdict.answered:
            warnings.warn(
                f"{type(self).__name__} did not converge ({verdict.code.value}): {verdict.reason}",
                ConvergenceWarning,
                stacklevel=outside(),
            )


@contextmanager
def passed_on() -> Iterator[None]:
    """Warnings of the block point at the line that called the estimator, whatever scikit-learn puts in between."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CompletionWarning)
        yield
    for warning in caught:
        warnings.warn(warning.message, stacklevel=outside())


def labels_of_samples(X: Any) -> tuple[Any, ...] | None:
    """What the samples of a square data frame are called: as its columns are. None for an array."""
    return tuple(X.columns) if hasattr(X, "index") and hasattr(X, "columns") else None


def refuse_shuffled_labels(X: Any) -> None:
    """Refuse a data frame whose index has the columns' labels in another order; any other index will do."""
    if not (hasattr(X, "index") and hasattr(X, "columns")):
        return
    rows, columns = list(X.index), list(X.columns)
    if rows != columns and len(rows) == len(columns) and set(rows) == set(columns):
        k = next(k for k, (row, column) in enumerate(zip(rows, columns, strict=True)) if row != column)
        raise InputError(
            f"index and columns of X must carry their labels in the same order, but label {k} is {rows[k]!r} "
            f"in the index and {columns[k]!r} in the columns; use X.loc[labels, labels], or X.to_numpy() to "
            "drop the labels"
        )
