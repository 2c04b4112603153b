"""What a source may know of all its values without handing them out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Summary"]


@dataclass(frozen=True, eq=False)
class Summary:
    """How many entries of each row and of each column were seen, ‖M_Ω‖_F, and the least and the largest of them."""

    per_row: NDArray[np.int64]
    per_column: NDArray[np.int64]
    norm: float
    low: float
    high: float

    @property
    def count(self) -> int:
        """How many in all."""
        return int(self.per_row.sum())
