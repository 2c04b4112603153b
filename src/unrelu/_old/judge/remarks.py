"""What is odd about the data, in sentences that the verdict adds however the run ended."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.tolerances import REMARKS_CONTRADICTED, REMARKS_IDLE
from unrelu._old.data.observations import Observations
from unrelu._old.data.pieces import named_rows

__all__ = ["beyond_rank", "contradiction", "remarks"]


def contradiction(rank: int, residual: float) -> str | None:
    """What to say of a fit that leaves most of the data unexplained."""
    if not residual > REMARKS_CONTRADICTED:
        return None
    return (
        f"the seen entries contradict rank {rank} by far (the best fit found leaves {residual:.0%} of their size "
        "unexplained); try a higher rank, or check threshold= and the data"
    )


# Rows that are asked for one by one where they are elsewhere.
MOST_ASKED = 20


def beyond_rank(rank: int) -> str:
    """What the intervals of a ``best-of-rank`` fit leave out."""
    return (
        f"the data are not of rank {rank}: these intervals speak of noise around the best fit of that rank, and what "
        "further rank adds is not in them"
    )


def remarks(observations: Observations, factor: NDArray[np.floating[Any]], residual: float) -> list[str]:
    """Zero rows, a diagonal that was not seen, rows all alike, a fit of lower rank than was asked for."""
    said: list[str] = []
    n, rank = factor.shape
    small = REMARKS_IDLE[observations.dtype.name]
    sizes = np.linalg.norm(factor.astype(np.float64), axis=1)
    largest = float(sizes.max(initial=0.0))
    if observations.norm == 0:
        said.append("every seen entry is zero")
    else:
        zero = _zero_rows(observations, np.flatnonzero(sizes <= small * largest))
        said += [f"all that was seen of {named_rows(zero, observations.labels)} is zero"] if zero.size else []
    if not observations.diagonal_seen:
        said.append("nothing of the diagonal was seen: it comes from the fit alone")
    if n > 1 and largest > 0 and residual < small:
        if float(np.abs(factor - factor[0]).max()) <= small * largest:
            said.append("all rows are alike")
        whole = factor.astype(np.float64) / largest
        values = np.sqrt(np.maximum(np.linalg.eigvalsh(whole.T @ whole)[::-1], 0))  # no n×r decomposition for r numbers
        true_rank = int(np.sum(values > small * values[0]))
        if true_rank < rank:
            said.append(f"rank {true_rank} is enough for the seen entries")
    return said


def _zero_rows(observations: Observations, candidates: NDArray[np.intp]) -> NDArray[np.intp]:
    if observations.source.elsewhere and len(candidates) > MOST_ASKED:
        return candidates[:0]  # each would be a question to another machine
    everyone = np.arange(observations.size)
    found = []
    for i in candidates:
        values, seen = observations.pairs(np.array([i]), everyone)
        if seen.any() and not values[seen].any():
            found.append(i)
    return np.array(found, np.intp)
