"""What a source may know of all its values without handing them out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from unrelu._old.base.arrays import Array

__all__ = ["Summary"]


@dataclass(frozen=True, eq=False)
class Summary:
    """How many entries of each row and of each column were seen, ‖M_Ω‖_F, and the least and the largest of them."""

    per_row: NDArray[np.int64]
    per_column: NDArray[np.int64]
    norm: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Array) -> Summary:
        """Of an array, NaN where nothing was seen.

        Examples
        --------
        >>> told = Summary.of(np.array([[3.0, np.nan], [-4.0, np.nan]]))
        >>> told.per_row.tolist(), told.per_column.tolist(), told.norm, told.low, told.high
        ([1, 1], [2, 0], 5.0, -4.0, 3.0)
        """
        seen = ~np.isnan(values)
        low, high = np.min(values, where=seen, initial=np.inf), np.max(values, where=seen, initial=-np.inf)
        known = np.where(seen, values, 0).astype(np.float64, copy=False)
        norm = scipy.linalg.norm(known.ravel(), check_finite=False)  # neither overflows nor underflows on the way
        return cls(seen.sum(axis=1), seen.sum(axis=0), float(norm), float(low), float(high))

    @property
    def count(self) -> int:
        """How many in all."""
        return int(self.per_row.sum())
