"""Places that most ranges agree on, though some of them are grossly wrong.

Least squares is bent by a wrong range. Here a range that is off by far more than a scale counts for nothing, by the
weights of Geman and McClure, and the scale falls from that of the largest misfits to that of the noise. Such a misfit
has many local minima; so there are several starts, and single points are tried at other places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unrelu._old.base.arrays import Floats, Indices
from unrelu._old.base.budget import checkpoint, phase
from unrelu._old.base.tolerances import CONSENSUS_DAMPED, CONSENSUS_SHARP, CONSENSUS_STILL, CONSENSUS_TOL
from unrelu._old.distances.paths import from_paths
from unrelu._old.distances.refine import refine
from unrelu._old.distances.reliability import WRONG
from unrelu._old.distances.search import Search
from unrelu._old.problems.distances import DistanceProblem
from unrelu._old.problems.network import Misfit, Network

__all__ = ["Consensus", "Judge", "agreed_on", "jumps"]

# Starts of up to so many points, and of more.
FEW, STARTS, STARTS_OF_MANY = 300, 8, 4
# The scale falls by this factor, in so many steps at most, down to so many standard deviations of the noise.
FALLING, STEPS, LAST = 0.6, 60, 2.0
# Ranges within so many times the scale agree: they keep a twelfth of their weight or more.
WITHIN = 1.5
# Iterations at each scale, and at the last.
SHORT, LONG = 6, 40
# Places at which a single point is tried, steps of each, and rounds of tries over all points.
TRIED, DESCENT, ROUNDS = 40, 16, 3
# Steps of those at the last scale.
AT_LAST = 4
# Points moved in a round go on from this many standard deviations.
AGAIN = 8.0
# A place is better if it costs less by this much, in squares of standard deviations.
BETTER = 1.0


@dataclass(frozen=True, eq=False)
class Judge:
    """What places cost: squares of misfits in standard deviations, each at most that of a wrong range.

    Attributes
    ----------
    network : Network
    misfit : Misfit
        What absence costs.
    sigma : float
        Standard deviation of a range of weight one, in units.
    """

    network: Network
    misfit: Misfit
    sigma: float

    def cost(self, X: Floats) -> float:
        """Of all ranges, and of unseen pairs that are too close."""
        gap = self.network.residual(X) / self.sigma
        absent = replace(self.network, weight=np.zeros(len(gap))).forces(X, self.misfit).value
        return float(np.sum(np.minimum(self.network.weight * gap**2, WRONG**2))) + 2 * absent / self.sigma**2


@dataclass(frozen=True, eq=False)
class Consensus:
    """The places of several starts, the best first, and what they cost.

    Attributes
    ----------
    places : list of ndarray of shape (n, dim)
    costs : list of float
    sigma : float
        Standard deviation of a range of weight one, given or as the best places have it.
    """

    places: list[Floats]
    costs: list[float]
    sigma: float


def agreed_on(search: Search, given: Floats | None = None) -> Consensus:
    """Several starts, each followed down to the ranges that agree, and the best of them mended point by point."""
    network = search.network
    count = STARTS if network.size <= FEW else STARTS_OF_MANY
    ends: list[End] = []
    for number in range(count):
        phase(f"robust start {number + 1} of {count}")
        X = given if given is not None and number == 0 else _started(search, number)
        ends.append(_graduated(search, X))
        search.journal.left = ends[-1].points
    sigma = min(ends, key=lambda end: end.merit).sigma
    judge = Judge(network, search.misfit, sigma)
    places = sorted((_mended(search, judge, end.points) for end in ends), key=judge.cost)
    return Consensus(places, [judge.cost(X) for X in places], sigma)


def _started(search: Search, number: int) -> Floats:
    """From shortest paths; all but the first three shaken, and with a fifth of the ranges left out at first."""
    network, rng = search.network, search.rng
    share = (0.8, 1.0, 0.6)[number] if number < 3 else float(rng.uniform(0.5, 1.1))
    X = from_paths(network, rng, share=share)
    smooth = network
    if number >= 3:
        X = X + 0.3 * rng.standard_normal(X.shape)
        smooth = replace(network, weight=network.weight * (rng.random(len(network.weight)) < 0.8))
    rough = Misfit(squared=True, absence=search.misfit.absence)
    return refine(DistanceProblem(smooth, rough), X, tol=CONSENSUS_TOL, max_iter=LONG, journal=search.journal).points


@dataclass(frozen=True, eq=False)
class End:
    """Where one start ended: places, the noise of the ranges that agree there, and how much they say together.

    ``merit`` is minus twice the logarithm of the likelihood of those ranges beyond what the places need, in units:
    many that agree closely are better than all that agree badly. Ranges that do not agree could be anything.
    """

    points: Floats
    sigma: float
    merit: float


def _end(search: Search, X: Floats, scale: float) -> End:
    """The ranges within a scale, judged together."""
    network = search.network
    gap = np.abs(network.residual(X)) * np.sqrt(network.weight)
    agree = gap <= scale
    spare = int(agree.sum()) - _needed(network)
    if spare < 1:
        return End(X, max(scale, search.floor), np.inf)
    squares = float(np.sum(gap[agree] ** 2)) / spare
    if search.effort.noise is not None:
        sigma = max(search.effort.noise, search.floor)
        return End(X, sigma, spare * (2 * np.log(sigma) + squares / sigma**2))
    sigma = max(float(np.sqrt(squares)), search.floor)
    return End(X, sigma, spare * (2 * np.log(sigma) + 1))


def _needed(network: Network) -> int:
    """How many distances the places need."""
    return network.size * network.dim - network.dim * (network.dim + 1) // 2


def _graduated(search: Search, X: Floats, scale: float | None = None) -> End:
    """Lower and lower scales, until fewer than half of the spare ranges agree; the best on the way."""
    network, known = search.network, search.effort.noise
    if scale is None:
        scale = float(np.quantile(np.abs(network.residual(X)) * np.sqrt(network.weight), 0.95))
    enough = max((len(network.first) - _needed(network)) / 2, 1)
    last = LAST * search.floor if known is None else LAST * max(known, search.floor)
    best: End | None = None
    for _ in range(STEPS):
        scale = max(scale, last)
        X = _weighted(search, X, scale, SHORT)
        end = _end(search, X, WITHIN * scale)
        if best is None or end.merit < best.merit:
            best = end
        gap = np.abs(network.residual(X)) * np.sqrt(network.weight)
        if scale <= last or int((gap <= WITHIN * scale).sum()) - _needed(network) < enough:
            break
        far = LAST * end.sigma < scale / 30  # exact, but for what is wrong: no need to go slowly
        scale *= FALLING / 6 if far else FALLING
    assert best is not None
    X = _weighted(search, best.points, max(LAST * best.sigma, last), LONG, CONSENSUS_SHARP)
    end = _end(search, X, WRONG * best.sigma)
    return end if end.merit <= best.merit else best


def _weighted(search: Search, X: Floats, scale: float, iterations: int, tol: float = CONSENSUS_TOL) -> Floats:
    """Least squares with weights 1/(1 + (gap/scale)²)² as they are at X, twice."""
    network = search.network
    for _ in range(2):
        gap = network.residual(X) * np.sqrt(network.weight) / scale
        trimmed = replace(network, weight=network.weight / (1 + gap**2) ** 2)
        problem = DistanceProblem(trimmed, search.misfit)
        X = refine(problem, X, tol=tol, max_iter=iterations, journal=search.journal).points
    return X


def _mended(search: Search, judge: Judge, X: Floats) -> Floats:
    """Points moved to where more of their ranges agree, as long as that costs less on the whole."""
    phase("trying single points elsewhere")
    cost = judge.cost(X)
    for _ in range(ROUNDS):
        trial = X.copy()
        for point in range(len(X)):
            places, costs, here = jumps(judge, trial, point, search.rng)
            if len(costs) and costs[0] < here - BETTER:
                trial[point] = places[0]
        if (trial == X).all():
            break
        trial = _graduated(search, trial, AGAIN * judge.sigma).points
        ahead = judge.cost(trial)
        if ahead >= cost - BETTER:
            break
        X, cost = trial, ahead
    return X


def jumps(judge: Judge, X: Floats, point: int, rng: np.random.Generator) -> tuple[Floats, Floats, float]:
    """Places of one point at which some of its ranges agree, what they cost, the lowest first, and what it costs at X.

    The others stay. Each start lies at the measured distance from one that the point sees.
    """
    checkpoint()
    network, graph = judge.network, judge.network.graph
    row = slice(graph.indptr[point], graph.indptr[point + 1])
    near, edge = graph.indices[row], graph.data[row] - 1
    if not len(near):
        return np.zeros((0, X.shape[1])), np.zeros(0), 0.0
    ranges = Rays(X[near], network.distance[edge], network.weight[edge])
    chosen = np.arange(TRIED) % len(near)
    turn = rng.standard_normal((TRIED, X.shape[1]))
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    places = ranges.there[chosen] + ranges.distance[chosen, None] * turn
    last = LAST * judge.sigma
    scale = max(float(np.median(ranges.distance)) / 2, AGAIN * judge.sigma)
    falling = min(FALLING, (last / scale) ** (1 / (DESCENT - AT_LAST)))
    for _ in range(DESCENT):
        places = places + ranges.step(places, scale)
        scale = max(falling * scale, last)
    unseen = X[_unseen(judge, point)]
    costs = ranges.costs(judge, places, unseen)
    here = float(ranges.costs(judge, X[point][None], unseen)[0])
    order = np.argsort(costs, kind="stable")
    return places[order], costs[order], here


def _unseen(judge: Judge, point: int) -> Indices:
    """The points that must not be closer to it than the cut-off."""
    network = judge.network
    if not judge.misfit.absence or network.cutoff is None:
        return np.zeros(0, np.intp)
    return np.setdiff1d(np.arange(network.size), np.r_[network.heard(point), point])


@dataclass(frozen=True, eq=False)
class Rays:
    """The ranges of one point: to where they go, how long they are, and what they weigh."""

    there: Floats
    distance: Floats
    weight: Floats

    def step(self, places: Floats, scale: float) -> Floats:
        """One step of Gauss and Newton for every place, at a scale."""
        apart = places[:, None] - self.there
        x = np.maximum(np.linalg.norm(apart, axis=2), 1e-300)
        gap = x - self.distance
        trust = self.weight / (1 + self.weight * (gap / scale) ** 2) ** 2
        along = apart / x[:, :, None]
        dim = places.shape[1]
        matrix = np.einsum("sk,ski,skj->sij", trust, along, along)
        stiffness = np.trace(matrix, axis1=1, axis2=2) / dim
        matrix += (CONSENSUS_DAMPED * stiffness[:, None, None] + CONSENSUS_STILL) * np.eye(dim)
        pull = np.einsum("sk,ski->si", trust * gap, along)
        step: Floats = -np.linalg.solve(matrix, pull[:, :, None])[:, :, 0]
        limit = float(self.distance.max()) / np.maximum(np.linalg.norm(step, axis=1), 1e-300)
        return step * np.minimum(1.0, limit)[:, None]

    def costs(self, judge: Judge, places: Floats, unseen: Floats) -> Floats:
        """What they cost at some places, with the unseen points that are then too close."""
        gap = np.linalg.norm(places[:, None] - self.there, axis=2) - self.distance
        result: Floats = np.minimum(self.weight * (gap / judge.sigma) ** 2, WRONG**2).sum(axis=1)
        if len(unseen):
            close = float(judge.network.cutoff or 0.0) - np.linalg.norm(places[:, None] - unseen, axis=2)
            result = result + np.sum((np.maximum(close, 0.0) / judge.sigma) ** 2, axis=1)
        return result
