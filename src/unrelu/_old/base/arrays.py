"""The arrays that all rooms speak of, for type checkers: numbers, double precision, positions, truth values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Bools", "Floats", "Indices"]

# Of single or double precision, as the data came.
Array = NDArray[np.floating[Any]]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]
