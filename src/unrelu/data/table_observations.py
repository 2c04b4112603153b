"""What was seen of a rectangular matrix: rows and columns with labels of their own."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from unrelu.base.errors import InputError, is_number, unknown_name
from unrelu.data.bipartite import Bipartite, BipartiteLimits
from unrelu.data.checks import Counts, checked
from unrelu.data.inputs import read_table, read_table_mask
from unrelu.data.limits import Limits
from unrelu.data.observations import Observations
from unrelu.data.source import source_of

__all__ = ["table_observations"]


def table_observations(X: Any, *, threshold: Any = 0.0, seen: str = "above", unknown: Any = None) -> Observations:
    """Check the caller's table, and make it part of a symmetric matrix; it is not changed.

    The labels are those of the rows followed by those of the columns, if the table has any.
    """
    if not isinstance(seen, str) or seen not in ("above", "below"):
        raise unknown_name("side seen", seen, ["above", "below"])
    data, rows, columns = read_table(X)
    m, n = data.shape
    source = source_of(data)
    mask = None if unknown is None else read_table_mask(unknown, (m, n))
    limits = Limits.beyond(_threshold(threshold, (m, n)), seen, mask)
    counts = checked(source, limits, None, table=True)
    both = Counts(2 * counts.per_row, 2 * counts.count, sqrt(2) * counts.norm)
    labels = None
    if rows is not None or columns is not None:
        labels = (*(rows or range(m)), *(columns or range(n)))
    found = Observations(Bipartite(source), BipartiteLimits.of_table(limits, (m, n)), labels, False, both)
    if found.dtype == np.float32 and found.unit < float(np.finfo(np.float32).tiny):
        return replace(found, source=found.source.in_dtype(np.float64))
    return found


def _threshold(threshold: Any, shape: tuple[int, int]) -> Any:
    """A number, one per row, one per column (a vector too), one per entry; None if absence says nothing."""
    if threshold is None or is_number(threshold):
        return None if threshold is None else float(threshold)
    m, n = shape
    try:
        array = np.asarray(threshold, np.float64)
    except (TypeError, ValueError):
        array = np.full(0, np.nan)
    if array.ndim == 1 and len(array) == n:
        array = array[None, :]
    if array.ndim != 2 or array.shape[0] not in (1, m) or array.shape[1] not in (1, n) or np.isnan(array).any():
        came = f"shape {array.shape}" if array.size else repr(threshold)
        raise InputError(
            f"threshold must be a finite number, one per column ({n} numbers), one per row (shape ({m}, 1)), one per "
            f"entry (shape ({m}, {n})), or None if absence says nothing; got {came}"
        )
    return array
