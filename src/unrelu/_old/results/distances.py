"""What comes out: places, which of them the data fix, how sure they are, and distances when asked for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unrelu._old.auto.dimension import DimensionChoice
from unrelu._old.base.arrays import Array
from unrelu._old.base.units import power_of_two
from unrelu._old.data.labels import as_positions, label_or_position
from unrelu._old.distances.edges import named
from unrelu._old.distances.uncertainty import covariances
from unrelu._old.kernels.memory import require_memory
from unrelu._old.loop.history import History, Stop, Verdict, finite
from unrelu._old.model.factors import positions_checked, together
from unrelu._old.problems.network import Misfit, Network
from unrelu._old.results.distrusted import Distrusted
from unrelu._old.results.words import explanation

__all__ = ["DistanceCompletion", "widening"]


@dataclass(frozen=True, eq=False)
class DistanceCompletion:
    """Points found from some of their distances.

    Attributes
    ----------
    points : ndarray of shape (n, dim)
        Where the points lie: in the frame of the anchors if there are enough, else each component about its own centre
        in a frame of its own, and in one of two mirror images.
    verdict : Verdict
        How the run ended.
    history : History
        One record per iteration, over all starts that were tried.
    determinacy : ndarray of str, shape (n,)
        ``proved``, ``generic``, ``local`` or ``no``: how sure it is that no other place of the point, relative to the
        rest of its component, fits the distances. See :mod:`unrelu._old.distances.rigidity`.
    components : int ndarray of shape (n,)
        Which component each point lies in; 0 is the largest.
    pairs : int ndarray of shape (m, 2), measured : ndarray of shape (m,)
        Seen pairs, first < second, and their distances.
    cutoff : float or None
    anchors : int ndarray
        Points whose place was given.
    names : tuple or None
        Names of the points, by which they can be asked for. Integers are positions.
    sigma : float
        Standard deviation of a distance, given or estimated from the misfit.
    residual : float
        Root-mean-square misfit of the seen distances over their root-mean-square.
    start, loss : str
        What was used.
    framed : bool
        Whether the anchors fix frame and mirror image.
    notes : tuple of str
        What a person should know about the input, in sentences.
    weights : ndarray of shape (m,)
        1/variance of each seen distance over that of a distance with standard deviation ``sigma``.
    freedom : int or None
        How many distances there are beyond those that the places need, from which ``sigma`` was estimated; None if
        that was given.
    seconds : float
        Wall-clock time of the call.
    dimension : DimensionChoice or None
        Why the points have so many coordinates; None if the caller said how many.
    distrusted : list of Distrusted
        Under ``loss="huber"``: the distances that the others contradict, the farthest off first. They were not fitted.
    unchecked : list of pairs
        Under ``loss="huber"``: pairs, by name if there are any, whose distance cannot be judged: nothing else checks
        it, or another one may be the wrong one just as well.
    censored : bool
        Whether the likelihood of not having been seen was used.
    """

    points: Array
    verdict: Verdict
    history: History
    determinacy: NDArray[np.str_]
    components: NDArray[np.intp]
    pairs: NDArray[np.intp]
    measured: Array
    cutoff: float | None = None
    anchors: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))
    names: tuple[Any, ...] | None = None
    sigma: float = 0.0
    residual: float = 0.0
    start: str = "paths"
    loss: str = "one-sided"
    framed: bool = False
    notes: tuple[str, ...] = ()
    weights: Array = field(default_factory=lambda: np.zeros(0))
    freedom: int | None = None
    seconds: float = 0.0
    dimension: DimensionChoice | None = None
    distrusted: list[Distrusted] = field(default_factory=list)
    unchecked: list[tuple[Any, Any]] = field(default_factory=list)
    censored: bool = False

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return int(self.points.shape[1])

    @property
    def size(self) -> int:
        """Number of points."""
        return int(self.points.shape[0])

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Which points the data fix within their component: proved, or so for all but exceptional places."""
        return np.isin(self.determinacy, ("proved", "generic"))

    @property
    def fitted(self) -> NDArray[np.bool_]:
        """Which of the seen distances were fitted: all but those that ``loss="huber"`` left out."""
        return self.weights > 0 if len(self.weights) else np.ones(len(self.pairs), bool)

    @cached_property
    def largest_misfit(self) -> tuple[float, int, int] | None:
        """By how much the worst fitted distance is missed, and between which two points; None if there is none."""
        if not self.fitted.any():
            return None
        gaps = np.abs(self.entries(self.pairs[:, 0], self.pairs[:, 1]) - self.measured) * self.fitted
        worst = int(np.argmax(gaps))
        return float(gaps[worst]), int(self.pairs[worst, 0]), int(self.pairs[worst, 1])

    def distances(self) -> Array:
        """All n×n distances between the places found; between components they mean nothing."""
        require_memory(2 * self.size**2 * 8, f"a {self.size}×{self.size} matrix of distances")
        from scipy.spatial.distance import pdist, squareform

        unit = self.unit
        result: Array = squareform(pdist(self.points.astype(np.float64) / unit) * unit).astype(self.points.dtype)
        return result

    def entries(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        """Distances between points, by positions or names that broadcast against each other."""
        unit, dtype = self.unit, self.points.dtype
        i, j = together(*(positions_checked(as_positions(index, self.names), self.size) for index in (rows, cols)))
        gaps = (self.points[i] - self.points[j]).astype(np.float64) / unit
        return np.asarray(np.linalg.norm(gaps, axis=-1) * unit, dtype)

    @property
    def unit(self) -> float:
        """A power of two near the typical distance: in units of it squares of distances neither overflow nor vanish."""
        known = self.measured[self.measured > 0].astype(np.float64)
        size = float(np.median(known)) if known.size else 1.0
        return power_of_two(size)

    @property
    def covariances(self) -> Array:
        """Covariance of each point's place, shape (n, dim, dim); inf where the data do not fix it.

        To first order in the noise, in the frame of the anchors, or in that of the best alignment with the truth. Where
        the noise was estimated from few spare distances they are wider by as much as that estimate is uncertain; from
        none, they are infinite.
        """
        unit = self.unit
        with np.errstate(over="ignore", under="ignore"):
            return self._covariances * unit * unit

    @cached_property
    def _covariances(self) -> Array:
        """The same in units."""
        unit = self.unit
        widened = widening(self.freedom)
        result = np.full((self.size, self.dim, self.dim), np.inf)
        for label in np.unique(self.components[self.determined]):
            members = np.flatnonzero(self.determined & (self.components == label))
            place = np.full(self.size, -1, np.intp)
            place[members] = np.arange(len(members))
            inside = (place[self.pairs] >= 0).all(axis=1)
            first, second = place[self.pairs[inside, 0]], place[self.pairs[inside, 1]]
            values = self.measured[inside].astype(np.float64) / unit, self.weights[inside].astype(np.float64)
            cutoff = None if self.cutoff is None else self.cutoff / unit
            network = Network(len(members), self.dim, first, second, *values, cutoff)
            fixed = place[self.anchors]
            noise = self.sigma / unit if self.censored else 0.0
            misfit = Misfit(absence=noise > 0, noise=noise)
            places = self.points[members].astype(np.float64) / unit
            found = covariances(network, places, self.sigma / unit, fixed[fixed >= 0], misfit)
            result[members] = found * widened if np.isfinite(widened) else np.inf
        return result

    @property
    def standard_errors(self) -> Array:
        """Standard error of each coordinate, shape (n, dim); inf where the data do not fix the point."""
        result: Array = np.sqrt(np.diagonal(self._covariances, axis1=1, axis2=2)) * self.unit
        return result

    def ended_as(self, code: Stop) -> DistanceCompletion:
        """The same, cut short: nothing is called determined."""
        verdict = Verdict(code, "these are the best places so far, and no point is called determined")
        return replace(self, verdict=verdict, determinacy=np.full(self.size, "no"))

    def explain(self) -> str:
        """In plain sentences: what the data fix, which points may flip, hinge or float, and what would help most."""
        return explanation(self)

    def summary(self) -> dict[str, Any]:
        """What a person or a program wants to know at a glance, ready for JSON; points go by their names."""
        words, counts = np.unique(self.determinacy, return_counts=True)
        found = dict(zip(words.tolist(), counts.tolist(), strict=True))
        last = self.history[-1] if len(self.history) else None
        worst = self.largest_misfit
        about = {
            "size": self.size,
            "dim": self.dim,
            "pairs": len(self.pairs),
            "cutoff": self.cutoff,
            "converged": self.verdict.converged,
            "code": self.verdict.code.value,
            "reason": self.verdict.reason,
            "components": int(self.components.max()) + 1,
            "determined": int(self.determined.sum()),
            "determined_share": float(self.determined.mean()),
            "not_determined": [label_or_position(point, self.names) for point in np.flatnonzero(~self.determined)],
            "determinacy": {word: found.get(word, 0) for word in ("proved", "generic", "local", "no")},
            "anchors": len(self.anchors),
            "framed": self.framed,
            "sigma": self.sigma,
            "residual": self.residual,
            "largest_misfit": None if worst is None else worst[0],
            "largest_misfit_between": None if worst is None else [named(point, self.names) for point in worst[1:]],
            "start": self.start,
            "loss": self.loss,
            "iterations": last.iteration if last else 0,
            "seconds": self.seconds,
            "notes": list(self.notes),
            "dimension": None if self.dimension is None else self.dimension.summary(),
            "distrusted": [vars(one) for one in self.distrusted],
            "unchecked": [list(pair) for pair in self.unchecked],
        }
        return finite(about)

    def __repr__(self) -> str:
        what = f"{self.size} points, dim {self.dim}"
        return f"DistanceCompletion({what}, {self.verdict.code.value}, residual {self.residual:.2g})"

    def __str__(self) -> str:
        parts = int(self.components.max()) + 1
        worst = self.largest_misfit
        return (
            f"{self.size} points in {self.dim} dimensions from {len(self.pairs)} distances"
            f"{f' in {parts} components' if parts > 1 else ''}, {int(self.determined.sum())} determined, relative "
            f"residual {self.residual:.2g}{'' if worst is None else f', largest misfit {worst[0]:.2g}'}; {self.verdict}"
        )


def widening(freedom: int | None) -> float:
    """By what factor variances grow when σ is an estimate from so many spare distances, as Student's law is wider.

    The larger of two factors: at 95 %, and at six standard errors, beyond which one value in ten thousand may lie.
    """
    from scipy.special import stdtrit

    if freedom is None:
        return 1.0
    if freedom < 1:
        return float("inf")
    usual, rare = (float(stdtrit(freedom, share)) for share in (0.975, 1 - 5e-5))
    return max(usual / 1.959964, rare / 6, 1.0) ** 2
