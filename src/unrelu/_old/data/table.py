"""A matrix with the names of its rows and columns, as a file brings it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

__all__ = ["Labels", "Table"]

Labels = tuple[str, ...] | None


@dataclass(frozen=True, eq=False)
class Table:
    """A matrix read from a file, with the labels that came with it.

    Parameters
    ----------
    values : (m, n) array or sparse array
        NaN where nothing was seen; in a sparse array the stored entries are the seen ones, zeros included.
    rows, columns : tuple of str, or None
        Labels, when the file had them.
    """

    values: NDArray[np.floating[Any]] | scipy.sparse.sparray
    rows: Labels = None
    columns: Labels = None
