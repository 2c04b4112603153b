"""Other fits that the data do not tell from one: chains of draws begin there too, for they do not travel so far."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from unrelu._old.base.arrays import Array, Bools, Floats
from unrelu._old.base.budget import checkpoint, phase
from unrelu._old.base.tolerances import (
    GIBBS_COLUMN,
    GIBBS_NOISE,
    OTHER_FITS_APART,
    OTHER_FITS_FOLLOWED,
    RIVALS_NEARLY_AS_LOW,
)
from unrelu._old.data.observations import Observations
from unrelu._old.judge.floor import unknowns_and_pairs
from unrelu._old.loop.run import run
from unrelu._old.loop.stopping import MaxIterations, RelativeGradientNormBelow
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers import GaussNewton
from unrelu._old.solvers.side_by_side import MOST_UNKNOWNS, all_of_many

__all__ = ["other_fits"]

# Starts of a small problem, and how many ends, the furthest first, are followed; fits that are returned at most.
STARTS, FOLLOWED, MOST = 48, 6, 3
FOLLOW = RelativeGradientNormBelow(OTHER_FITS_FOLLOWED) | MaxIterations(20)
# Unseen entries between whose rows a hinge is looked for, and groups that are mirrored in theirs.
LOOKS, GROUPS = 32, 6


def other_fits(problem: PSDProblem, factor: Array, rng: np.random.Generator) -> list[Array]:
    """Fits in squares with rows at other places, nearly as likely as ``factor`` (in units): a few, or none.

    A group of rows that hangs on the others by rows near a plane is mirrored in it; where there are few unknowns,
    dozens of starts are tried as well. Each is followed to its end, and so is the factor, which may be the fit of
    another loss.

    Examples
    --------
    >>> u = np.array([1.0, 2.0, 1.5, 0.5])
    >>> X = np.outer(u, u)
    >>> X[:2, 2:] = X[2:, :2] = np.nan  # nothing between two pairs of rows
    >>> problem = PSDProblem(Observations.of(X, threshold=None), rank=1)
    >>> factor = u[:, None] / np.sqrt(problem.unit)
    >>> other, = other_fits(problem, factor, np.random.default_rng(0))
    >>> bool((other @ other.T)[0, 2] < 0)
    True
    """
    phase("looking for another fit as good")
    plain = problem.simpler or problem
    starts = [factor, *(start.astype(factor.dtype) for start in _candidates(plain, factor.astype(np.float64), rng))]
    points = [run(plain, GaussNewton(), (start, start), FOLLOW, keep=False).point for start in starts]
    variance = _variance(problem, plain, min(point.value for point in points))
    # F is a quarter of the squares, of which a pair has two.
    costs = np.array([2 * point.value / variance + _unlikely(plain, point.factor) for point in points])
    ends = [point.factor for point in np.array(points, dtype=object)[costs - costs.min() <= RIVALS_NEARLY_AS_LOW]]
    return _furthest(ends, points[0].factor, MOST)


def _unlikely(plain: PSDProblem, factor: Array) -> float:
    """−2 log of the prior of the rows, but for a constant: a fit that runs away is as good in squares alone."""
    rows = factor.astype(np.float64)
    n, rank = rows.shape
    total = rows.sum(axis=0)
    small = GIBBS_COLUMN * plain.norm / np.sqrt(max(plain.observations.count, 1))
    spread = rows.T @ rows - np.outer(total, total) / (n + 1) + small * np.eye(rank)
    return (n + 1) * float(np.linalg.slogdet(spread)[1])


def _variance(problem: PSDProblem, plain: PSDProblem, value: float) -> float:
    """σ², as it is given or as the fit shows it; as much as a sampler allows at least."""
    if problem.loss.noise_given:
        return float((problem.loss.noise or 0.0) / problem.unit) ** 2
    unknowns, pairs = unknowns_and_pairs(plain)
    least = (GIBBS_NOISE * plain.norm) ** 2 / max(plain.observations.count, 1)
    return max(2 * value / (pairs - unknowns), least) if pairs > unknowns else least


def _candidates(plain: PSDProblem, factor: Floats, rng: np.random.Generator) -> Iterator[Array]:
    """Where to look."""
    yield from _mirrored(plain.observations, factor, rng)
    if factor.size <= MOST_UNKNOWNS:
        ends, values = all_of_many(plain, rng, factor, most=STARTS)
        # Descents side by side end early; what is twice as high as the lowest leads nowhere.
        yield from _furthest(list(ends[values <= 2 * values.min() + np.finfo(float).tiny]), factor, FOLLOWED)


def _furthest(ends: list[Array], factor: Array, most: int) -> list[Array]:
    """Of many ends, each the one furthest from all before and from ``factor``; those that are one are left out."""
    found: list[Array] = []
    if not ends:
        return found
    fit = factor @ factor.T
    typical = float(np.sqrt(np.mean(np.sum(fit * fit, axis=1))))
    apart = np.array([_of_rows(end, factor) for end in ends])
    while len(found) < most and apart.max() > OTHER_FITS_APART * typical:
        found.append(ends[int(np.argmax(apart))])
        apart = np.minimum(apart, [_of_rows(end, found[-1]) for end in ends])
    return found


def _of_rows(one: Array, other: Array) -> float:
    """How far the row that differs most differs between two fits."""
    return float(np.sqrt(np.max(np.sum((one @ one.T - other @ other.T) ** 2, axis=1))))


def _mirrored(observations: Observations, factor: Floats, rng: np.random.Generator) -> Iterator[Floats]:
    """The fit with one group of rows mirrored in the plane nearest to the rows by which alone it hangs on others.

    Two rows whose entry was not seen are looked at; what both see is the hinge if without it nothing joins them.
    """
    n, everyone = observations.size, np.arange(observations.size)
    _, seen = observations.pairs(everyone, everyone)
    rows, cols = np.nonzero(np.triu(~seen, 1))
    groups: set[bytes] = set()
    for k in rng.permutation(len(rows))[:LOOKS]:
        checkpoint()
        hinge = seen[rows[k]] & seen[cols[k]]
        group = _beside(seen, hinge, int(rows[k]), int(cols[k]))
        if group is None or group.tobytes() in groups:
            continue
        groups.add(group.tobytes())
        held = np.vstack([factor[hinge], np.zeros((1, factor.shape[1]))])
        normal = np.linalg.svd(held, full_matrices=True)[2][-1]
        yield np.where(group[:, None], factor - 2 * np.outer(factor @ normal, normal), factor)
        if len(groups) == min(GROUPS, n):
            return


def _beside(seen: Bools, hinge: Bools, one: int, other: int) -> Bools | None:
    """The rows that hang together with one of two rows without the hinge, the fewer; None if both hang together."""
    outside = ~hinge
    outside[[one, other]] = True
    rest = np.flatnonzero(outside)
    _, label = connected_components(csr_array(seen[np.ix_(rest, rest)]), directed=False)
    whole = np.full(len(seen), -1)
    whole[rest] = label
    if whole[one] == whole[other]:
        return None
    first, second = whole == whole[one], whole == whole[other]
    return first if first.sum() < second.sum() else second
