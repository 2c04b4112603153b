"""How many coordinates the points need: fits in one dimension after the other, compared.

A fit in one more dimension is never worse. What matters is by how much it is better: noise gives every additional
unknown about its share of the misfit, and a little more, for the extra dimension bends to it. How much more is
rehearsed: noise of the same level is drawn around the lower fit, and both dimensions are fitted to that. A dimension
that gains far more than in the rehearsal is there; one that gains no more is not needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.budget import phase
from unrelu._old.base.tolerances import (
    DIMENSION_COMPARED,
    DIMENSION_EXACT,
    DIMENSION_NEARLY,
    DIMENSION_ROUGH,
    EVIDENCE_CHANCE,
)
from unrelu._old.distances.assemble import components, network_of
from unrelu._old.distances.evidence import LIFT, freedom_left, gather
from unrelu._old.distances.order import own_order
from unrelu._old.distances.paths import from_paths
from unrelu._old.distances.ranges import Ranges
from unrelu._old.distances.refine import Journal, refine
from unrelu._old.problems.distances import DistanceProblem
from unrelu._old.problems.network import Misfit, Network

__all__ = ["Gain", "Ladder", "Trial"]

# Gains that are this many times those of the rehearsals, and of chance, are no noise.
BEYOND_NOISE = 2.5
# So many times chance, noise gains in no rehearsal, and none is held. Where chance itself is larger than this, too few
# distances are to spare to tell, and what noise gains as rarely as the second is preferred.
FAR, NOW_AND_THEN = 20.0, 0.05
# How often noise is rehearsed: its gain hardly varies among many points.
REHEARSALS, MANY_POINTS, REHEARSALS_OF_MANY = 3, 500, 1
# Of a descent, and of a further one where the distances look exact.
ITERATIONS, LAST_ITERATIONS = 30, 30
# Up to this many points are put in an order of their own, so that the same data in another order are fitted alike.
ORDERED = 2000
SEEN = Misfit(absence=False)


@dataclass(frozen=True, eq=False)
class Trial:
    """A fit of the seen distances in so many dimensions.

    Attributes
    ----------
    dim : int
    places : tuple of ndarray
        Of each component, in units.
    squares : float
        Σ w gap² over the seen distances.
    freedom : int
        How many distances there are beyond those that the places need.
    largest : float
        The largest gap, in units.
    exact : bool
        Whether all distances are met to rounding.
    """

    dim: int
    places: tuple[Floats, ...]
    squares: float
    freedom: int
    largest: float
    exact: bool


@dataclass(frozen=True)
class Gain:
    """What one more dimension gains per additional unknown, in units of the noise, and what noise alone may gain.

    Attributes
    ----------
    gain : float
    limit : float
        Beyond this it is not noise.
    told : bool
        Whether enough distances are to spare to tell; else the limit is one that noise passes now and then.
    """

    gain: float
    limit: float
    told: bool = True

    @property
    def needed(self) -> bool:
        """Whether the additional dimension is there."""
        return self.gain > self.limit


class Ladder:
    """Fits of the same distances in different dimensions, in units.

    Parameters
    ----------
    ranges : Ranges
        Without anchors.
    rng : Generator
    """

    def __init__(self, ranges: Ranges, rng: np.random.Generator) -> None:
        self.rng = rng
        self.unit = ranges.unit
        self.journal = Journal(ranges.unit)  # the end of the time and Ctrl-C come through it
        self.noise = None if ranges.noise is None else ranges.noise / ranges.unit
        whole = network_of(ranges, 1)
        longest = float(whole.distance.max()) if len(whole.distance) else 1.0
        self.floor = ranges.rounding * longest
        labels = components(whole)
        self.members: list[Indices] = []
        self.parts: list[Network] = []
        for label in range(int(labels.max()) + 1):
            members = np.flatnonzero(labels == label)
            part = whole.part(members)
            if not len(part.first):
                continue
            if part.size <= ORDERED:
                members = members[own_order(part)[0]]
                part = whole.part(members)
            self.members.append(members)
            self.parts.append(part)
        self.size = sum(part.size for part in self.parts)
        self.count = sum(len(part.first) for part in self.parts)

    @property
    def highest(self) -> int:
        """Beyond this many dimensions there is nothing to fit: so many are spanned by the points of a component."""
        return max((part.size - 1 for part in self.parts), default=1)

    def lowest(self) -> tuple[int, bool]:
        """The fewest dimensions that small groups of points do not speak against; and whether they are exact there."""
        phase("looking at small groups for the dimension")
        dim = 1
        while True:
            told = [gather(part, self.rng, self.floor) for part in self._in(dim)]
            if dim >= self.highest or not any(one.higher for one in told):
                return dim, all(one.level <= self.floor for one in told)
            dim += 1

    def fresh(self, dim: int) -> Trial:
        """From shortest paths."""
        return self._best(dim, [self._from_paths(dim)])

    def above(self, below: Trial) -> Trial:
        """One more dimension: from shortest paths, and from the lower fit, each point moved a little off it."""
        phase(f"trying {below.dim + 1} dimensions")
        return self._best(below.dim + 1, [self._lifted(below), self._from_paths(below.dim + 1)])

    def under(self, above: Trial) -> Trial:
        """One dimension less: from the higher fit, flattened."""
        return self._best(above.dim - 1, [tuple(_flat(X) for X in above.places)])

    def found(self, points: Floats) -> Trial:
        """From places that were found elsewhere, in the caller's units."""
        return self._best(points.shape[1], [tuple(points[members] / self.unit for members in self.members)])

    def points(self, trial: Trial, size: int) -> Floats:
        """The places of a trial as the caller has them."""
        points = np.zeros((size, trial.dim))
        for members, X in zip(self.members, trial.places, strict=True):
            points[members] = X * self.unit
        return points

    def gain(self, below: Trial, above: Trial) -> Gain:
        """What the higher dimension gains, and what noise would."""
        from scipy.special import fdtri

        more = below.freedom - above.freedom
        if more < 1 or (above.freedom < 1 and self.noise is None):
            return Gain(0.0, np.inf, told=False)
        known = self.noise is not None
        chance = _chance(more) if known else float(fdtri(more, above.freedom, 1 - EVIDENCE_CHANCE))
        gain = self._gain(below, above, more)
        if gain > FAR * chance:
            return Gain(gain, FAR * chance)
        if chance > FAR:
            return Gain(gain, float(fdtri(more, above.freedom, 1 - NOW_AND_THEN)), told=False)
        return Gain(gain, BEYOND_NOISE * max(self._rehearsed(below, more), 1.0) * chance)

    def _gain(self, below: Trial, above: Trial, more: int) -> float:
        """The fall of the misfit per additional unknown, over the variance of the noise."""
        variance = self.noise**2 if self.noise is not None else above.squares / max(above.freedom, 1)
        return max(below.squares - above.squares, 0.0) / more / max(variance, self.floor**2)

    def _rehearsed(self, below: Trial, more: int) -> float:
        """The mean gain from noise alone, drawn around the lower fit."""
        phase("rehearsing what noise would gain")
        sigma = self.noise if self.noise is not None else float(np.sqrt(below.squares / max(below.freedom, 1)))
        gains = []
        for _ in range(REHEARSALS if self.size <= MANY_POINTS else REHEARSALS_OF_MANY):
            twin = self._noisy(below, sigma)
            again = twin._best(below.dim, [below.places])
            gains.append(twin._gain(again, twin._best(below.dim + 1, [self._lifted(again)]), more))
        return float(np.mean(gains))

    def _lifted(self, below: Trial) -> tuple[Floats, ...]:
        """Each point moved a little off the lower fit."""
        return tuple(np.column_stack([X, LIFT * self.rng.standard_normal(len(X))]) for X in below.places)

    def _noisy(self, trial: Trial, sigma: float) -> Ladder:
        """The same pairs, with the distances of a fit and noise."""
        twin = object.__new__(Ladder)
        twin.__dict__.update(self.__dict__)
        twin.parts = []
        for part, X in zip(self.parts, trial.places, strict=True):
            apart = np.linalg.norm(X[part.first] - X[part.second], axis=1)
            errors = sigma * self.rng.standard_normal(len(apart)) / np.sqrt(part.weight)
            twin.parts.append(replace(part, distance=np.abs(apart + errors)))
        return twin

    def _in(self, dim: int) -> Iterable[Network]:
        return (replace(part, dim=dim) for part in self.parts)

    def _from_paths(self, dim: int) -> tuple[Floats, ...]:
        """Shortest paths and classical scaling, then squared distances and what was not seen: the usual way down."""
        places = []
        for part in self._in(dim):
            X = from_paths(part, self.rng)
            for misfit in (Misfit(squared=True), Misfit()):
                X = refine(
                    DistanceProblem(part, misfit), X, tol=DIMENSION_ROUGH, max_iter=ITERATIONS, journal=self.journal
                ).points
            places.append(X)
        return tuple(places)

    def _best(self, dim: int, starts: list[tuple[Floats, ...]]) -> Trial:
        """The lowest misfit of each component that one of the starts leads to."""
        places, squares, freedom, largest = [], 0.0, 0, 0.0
        for k, part in enumerate(self._in(dim)):
            seen = replace(part, cutoff=None)  # limits stay: they may be all that joins two parts
            problem = DistanceProblem(seen, SEEN)
            ended = [
                refine(problem, start[k], tol=DIMENSION_COMPARED, max_iter=ITERATIONS, journal=self.journal)
                for start in starts
            ]
            X = min(ended, key=lambda one: one.value).points
            gaps = seen.residual(X)
            if np.abs(gaps).max() <= DIMENSION_NEARLY:
                X = refine(problem, X, tol=DIMENSION_EXACT, max_iter=LAST_ITERATIONS, journal=self.journal).points
                gaps = seen.residual(X)
            places.append(X)
            squares += float(np.sum(seen.weight * gaps**2))
            freedom += freedom_left(seen, X)
            largest = max(largest, float(np.abs(gaps).max(initial=0.0)))
        return Trial(dim, tuple(places), squares, freedom, largest, largest <= self.floor)


def _flat(X: Floats) -> Floats:
    """Without the direction in which the points extend least."""
    centred = X - X.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    kept: Floats = centred @ axes[: X.shape[1] - 1].T
    if kept.shape[1] < X.shape[1] - 1:  # fewer points than coordinates span fewer axes
        kept = np.pad(kept, ((0, 0), (0, X.shape[1] - 1 - kept.shape[1])))
    return kept


def _chance(more: int) -> float:
    """The mean of so many squares of standard normal numbers that is exceeded once in ten thousand times."""
    from scipy.special import chdtri

    return float(chdtri(more, EVIDENCE_CHANCE)) / more
