"""Single looks at a matrix and at its fit, of which a diagnosis is made."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Bools, Floats, Indices
from unrelu._old.base.errors import InputError
from unrelu._old.data.labels import label_or_position
from unrelu._old.data.observations import Observations
from unrelu._old.data.sheet import Sheet
from unrelu._old.detection.chosen import KINDS, Detection, enough_to_tell
from unrelu._old.detection.edge import Edge
from unrelu._old.detection.evidence import Evidence
from unrelu._old.judge.likelihood import MANY_ROWS
from unrelu._old.loop.history import Stop, Verdict
from unrelu._old.results.diagnosis import Contradicted, Counted, Structure
from unrelu._old.results.gaps import Said, evidence_of, found_gaps, wall_at

__all__ = [
    "at_the_edge",
    "beyond",
    "contradicted_by",
    "counted_in",
    "cutoff_of",
    "distances_in",
    "extrapolating",
    "fewer",
    "gaps_in",
    "mirrored",
    "noise_of_fit",
    "nothing_told",
    "objection_to",
    "require_ordinary",
    "roundest",
    "some_rows",
    "spectrum_of",
    "structures_of",
    "thin",
    "verdict_of_fit",
]

# Standard deviations from which on a seen entry is called contradicted, and the most that are kept.
CONTRADICTED, MOST = 6.0, 1000
# Triples of a distance matrix that are looked at, and the share of them that may break the triangle inequality.
TRIPLES, BROKEN = 20_000, 0.01
# Entries by which ways to go unseen are compared, at most: more would say the same at their price.
COMPARED = 20_000
# Rows that are asked first, where there are more: a part of a matrix of low rank is of low rank.
ASKED_FIRST = 400
# Beyond these sizes squares are no numbers any more, or zero.
SMALLEST, LARGEST = 1e-100, 1e100
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


def counted_in(sheet: Sheet, unknown: Bools | None) -> Counted:
    """How many entries were seen, and how many not."""
    present = ~np.isnan(sheet.values)
    mask = np.zeros(present.shape, bool) if unknown is None else unknown
    unseen = ~present & ~mask
    unseen[:, np.setdiff1d(np.arange(present.shape[1]), sheet.numeric)] = False
    known = int((mask & ~present).sum())
    return Counted(int(present.sum()), int(unseen.sum()), known, present.sum(axis=1), present.sum(axis=0))


def nothing_told(sheet: Sheet, counted: Counted, completion: Any) -> str:
    """Why nothing can be told of how entries go unseen; nothing where it may be."""
    values = sheet.values[~np.isnan(sheet.values)]
    if not counted.unseen:
        words = "All seen values are 0. " if not values.any() else ""
        return f"{words}Everything was seen: nothing can be told of why entries would be missing."
    if values.size > 1 and values.min() == values.max():
        return f"All seen values are {values[0]:g}: they show no threshold, and nothing of the others."
    if min(sheet.axes.shape) == 1:
        return "There is one row or column only: nothing says what its entries have in common."
    if completion is None:
        return "No fit of the seen entries was found, so that nothing can be told of the others."
    return ""


def beyond(sheet: Sheet, level: float, seen: str) -> int:
    """Seen entries on the unseen side of a level."""
    values = sheet.values[~np.isnan(sheet.values)]
    return int(np.sum(values < level) if seen == "above" else np.sum(values > level))


def objection_to(named: Any, wrong_side: int, detection: Detection | None) -> str:
    """What the data say against a threshold that was named.

    Examples
    --------
    >>> print(objection_to(5.0, 3, None))
    3 seen entries lie on the unseen side of threshold 5, so that it cannot be that, and the data were asked for one.
    """
    if wrong_side:
        lie = "entry lies" if wrong_side == 1 else "entries lie"
        instead = "so that it cannot be that, and the data were asked for one"
        return f"{wrong_side} seen {lie} on the unseen side of threshold {named:g}, {instead}."
    level = -np.inf if detection is None else detection.curve.level
    told = f"a level of {level:.4g}" if np.isfinite(level) else "gaps without a level"
    return f"The data speak for {told}, not for the named {named:g}."


def compared(completion: Any, observations: Observations) -> Evidence:
    """Entries by which ways to go unseen are compared: some, where there are many.

    Where a model only forecasts, all are as sure as the rehearsal says; errors of its many columns would cost their
    squares for every entry.
    """
    if not completion.forecasts:
        return fewer(evidence_of(completion, observations))
    unknown = observations.limits.unknown
    asked = np.triu(np.ones((observations.size, observations.size), bool), 1)
    asked &= (observations.seen_per_row > 0)[:, None] & (observations.seen_per_row > 0)[None, :]
    i, j = np.nonzero(asked if unknown is None else asked & ~unknown)
    some = np.sort(np.random.default_rng(0).permutation(len(i))[:COMPARED])
    i, j = i[some], j[some]
    left, right = completion.factors.left, completion.factors.right
    fit = np.einsum("kr,kr->k", left[i].astype(np.float64), right[j].astype(np.float64))
    count, norm = completion.seen
    sigma = float(completion.sigma or completion.residual * norm / np.sqrt(count))
    value = observations.source.at(i, j).astype(np.float64)
    return Evidence(fit, np.full(len(i), float(completion.rehearsal.sigma)), value, sigma, j)


def fewer(evidence: Evidence) -> Evidence:
    """Of many entries some, drawn at random."""
    count = evidence.fit.size
    if count <= COMPARED:
        return evidence
    some = np.zeros(count, bool)
    some[np.random.default_rng(0).choice(count, COMPARED, replace=False)] = True
    return evidence.among(some)


def gaps_in(
    completion: Any, observations: Observations, side: str, level: float | None, edge: Edge | None
) -> Detection | None:
    """How entries go unseen, by a fit and by where seen values begin; None where that cannot be told."""
    evidence, sharp = compared(completion, observations), edge is not None and edge.sharp
    if enough_to_tell(evidence):
        return found_gaps(completion, observations, evidence, KINDS, Said(side, level, sharp))
    return Detection.of_wall(wall_at(edge, side)) if sharp and edge is not None else None


def at_the_edge(found: Detection, edge: Edge | None) -> Detection:
    """A wall that shows in the seen values is where they begin: all of them, not only those that were compared."""
    curve = found.curve
    if edge is None or not edge.sharp or found.kind not in ("censored", "mixed") or curve.stray or curve.before_noise:
        return found
    low, high = edge.interval
    above = curve.side == "above"
    level, ends = (edge.level, (low, high)) if above else (-edge.level, (-high, -low))
    return replace(found, best=replace(found.best, curve=replace(curve, level=level, level_interval=ends)))


def some_rows(observations: Observations) -> Indices:
    """All rows of a matrix, or of a large one some, drawn at random; of a table also columns."""
    size, cut = observations.size, observations.source.cut
    rng, ends = np.random.default_rng(0), [0, size] if cut is None else [0, cut, size]
    sides = [np.arange(a, b) for a, b in pairwise(ends)]
    return np.concatenate([np.sort(rng.permutation(side)[:ASKED_FIRST]) for side in sides])


def require_ordinary(sheet: Sheet) -> None:
    """Refuse sizes whose squares are no numbers any more."""
    largest = float(np.nanmax(np.abs(sheet.values)))
    if largest and not SMALLEST <= largest <= LARGEST:
        raise InputError(
            f"the largest entry of X must be between {SMALLEST:g} and {LARGEST:g} in size to be looked at, got "
            f"{largest:.3g}; multiply X by {10.0 ** -np.floor(np.log10(largest)):.0e}, and the threshold with it"
        )


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


def structures_of(
    completion: Any, square: bool, negative: str | None, distances: Structure | None, rehearsed: bool
) -> tuple[Structure, ...]:
    """What fits and what does not; ``negative`` says why no positive semidefinite matrix does."""
    answered = completion is not None and completion.verdict.determines
    name = "psd" if square else "rectangular"
    called = "A positive semidefinite matrix" if square else "A table"
    if answered and negative is None:
        words = f"{called} of rank {completion.rank} fits what was seen."
        if rehearsed:
            words += (
                " So few rows cannot tell noise from structure: that rank forecasts best what was hidden on purpose."
            )
    elif completion is None:
        words = f"No {called[2:]} of low rank was found that fits what was seen."
    elif negative is None and min(completion.shape) < MANY_ROWS:
        words = f"So few rows cannot tell whether {called[0].lower()}{called[1:]} of low rank fits what was seen."
    else:
        words = f"No {called[2:]} of low rank was found that fits what was seen; if the rank is known, name it."
    few = completion is not None and words.startswith("So few")
    found = [Structure(name, None if few else answered and negative is None, words)]
    if negative is not None:
        fits = "" if not answered else f" A symmetric matrix of rank {completion.rank} with both signs does fit."
        found.append(Structure("indefinite", answered, f"{negative[0].upper()}{negative[1:]}.{fits}"))
    if distances is not None:
        found.insert(0 if distances.fits else len(found), distances)
    return tuple(found)


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
