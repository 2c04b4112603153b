"""Single looks at a matrix and at its fit, of which a diagnosis is made."""

from __future__ import annotations

from typing import Any

import numpy as np

from unrelu.base.arrays import Array, Floats, Indices
from unrelu.data.labels import label_or_position
from unrelu.data.sheet import Sheet
from unrelu.loop.history import Stop, Verdict
from unrelu.results.diagnosis import Contradicted, Structure

__all__ = [
    "contradicted_by",
    "cutoff_of",
    "distances_in",
    "extrapolating",
    "mirrored",
    "noise_of_fit",
    "roundest",
    "spectrum_of",
    "thin",
    "verdict_of_fit",
]

# Standard deviations from which on a seen entry is called contradicted, and the most that are kept.
CONTRADICTED, MOST = 6.0, 1000
# Triples of a distance matrix that are looked at, and the share of them that may break the triangle inequality.
TRIPLES, BROKEN = 20_000, 0.01
# From the median of sizes to a standard deviation.
MEDIAN = 1.4826


def roundest(low: float, high: float) -> float:
    """The number with fewest digits between two numbers.

    Examples
    --------
    >>> roundest(0.2993, 0.3002), roundest(-0.01, 0.02), roundest(1.23456, 1.23457)
    (0.3, 0.0, 1.23456)
    """
    if low <= 0 <= high:
        return 0.0
    size = max(abs(low), abs(high))
    for digits in range(17):
        step = 10.0 ** (np.floor(np.log10(size)) - digits)
        number = float(np.ceil(low / step) * step)
        if number <= high:
            return float(f"{number:.15g}") if low <= float(f"{number:.15g}") <= high else number
    return high


def mirrored(values: Array) -> bool:
    """Whether both halves of a matrix are alike, gaps too."""
    return bool(np.allclose(values, values.T, equal_nan=True))


def distances_in(values: Array) -> Structure | None:
    """Whether a symmetric matrix holds distances; None where nothing speaks for it."""
    own = np.diagonal(values)
    others = values[~np.eye(len(values), dtype=bool)]
    others = others[~np.isnan(others)]
    if not np.all((own == 0) | np.isnan(own)) or not np.any(own == 0) or np.any(others < 0) or not np.any(others > 0):
        return None
    rng, n = np.random.default_rng(0), len(values)
    i, j, k = rng.integers(0, n, (3, TRIPLES))
    sides = np.sort(np.stack([values[i, j], values[j, k], values[i, k]]), axis=0)
    known = ~np.isnan(sides).any(axis=0) & (i != j) & (j != k) & (i != k)
    if not known.any():
        return Structure("distances", None, "It may hold distances: zeros on the diagonal, and nothing below 0.")
    broken = float(np.mean(sides[2, known] > (sides[0] + sides[1])[known] * (1 + BROKEN)))
    if broken <= BROKEN:
        words = "It looks like distances: zeros on the diagonal, nothing below 0, and triangles hold."
        return Structure("distances", True, words)
    return Structure("distances", False, f"It holds no distances: {broken:.0%} of the seen triangles do not close.")


def cutoff_of(values: Array) -> dict[str, float]:
    """Beyond which distances go unseen, if any do."""
    off = values[~np.eye(len(values), dtype=bool)]
    return {"cutoff": float(np.nanmax(off))} if np.isnan(off).any() else {}


def spectrum_of(completion: Any) -> Floats:
    """Eigenvalues, or singular values, of a fit, largest first; none without one."""
    if completion is None:
        return np.zeros(0)
    left, right = completion.factors.left.astype(np.float64), completion.factors.right.astype(np.float64)
    first, second = np.linalg.qr(left)[1], np.linalg.qr(right)[1]
    found: Floats = np.linalg.svd(first @ second.T, compute_uv=False)
    return found


def noise_of_fit(completion: Any) -> float | None:
    """Of the seen entries around a fit of low rank; 0 for rounding, None where no such fit was found."""
    if completion is None or not completion.verdict.determines:
        return None
    if completion.verdict.code is Stop.FITTED:
        return 0.0
    sigma = float(completion.error_bars().noise.sigma)
    return sigma if np.isfinite(sigma) else None


def verdict_of_fit(completion: Any) -> Verdict:
    """That of a fit, or that there is none."""
    if completion is None:
        return Verdict(Stop.UNDERDETERMINED, "no fit was found")
    found: Verdict = completion.verdict
    return found


def extrapolating(completion: Any) -> bool | None:
    """Whether a rehearsal says so; None where none was held."""
    return None if completion is None or completion.rehearsal is None else bool(completion.rehearsal.extrapolates)


def thin(count: Indices, rank: int | None) -> Indices:
    """Of which no more was seen than their places have numbers."""
    found: Indices = np.flatnonzero(count < max(rank or 1, 1))
    return found


def contradicted_by(completion: Any, sheet: Sheet) -> tuple[Contradicted, ...]:
    """Seen entries far from a fit that meets the others."""
    if completion is None or not completion.verdict.answered:
        return ()
    if completion.distrusted:
        fields = ("row", "column", "value", "expected", "deviations")
        return tuple(Contradicted(*(getattr(one, name) for name in fields)) for one in completion.distrusted[:MOST])
    values = sheet.values[:, sheet.numeric]
    off = values - np.asarray(completion.factors.dense(), np.float64)
    if completion.shape[0] == completion.shape[1] and completion.symmetric:
        off = np.where(np.tri(len(off), k=0, dtype=bool), np.nan, off) if not completion.forecasts else off * np.nan
    sizes = np.abs(off[~np.isnan(off)])
    spread = MEDIAN * float(np.median(sizes)) if sizes.size else 0.0
    if not spread > 0 or completion.verdict.code is Stop.FITTED:
        return ()
    i, j = np.nonzero(np.abs(np.nan_to_num(off)) > CONTRADICTED * spread)
    order = np.argsort(-np.abs(off[i, j]))[:MOST]
    rows, columns = sheet.axes.rows, sheet.axes.columns
    return tuple(
        Contradicted(
            label_or_position(int(a), rows),
            label_or_position(int(sheet.numeric[b]), columns),
            float(values[a, b]),
            float(values[a, b] - off[a, b]),
            float(abs(off[a, b]) / spread),
        )
        for a, b in zip(i[order], j[order], strict=True)
    )
