"""Which ranges of one component are wrong, and what the others fix without them.

Ranges that contradict the places on which the others agree are left out, one after the other, until all that is left
agrees within the noise. A range that nothing else checks cannot be judged. Where another range could be the wrong one
just as well, none of the two is named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unrelu._old.base.arrays import Bools, Floats, Indices
from unrelu._old.base.budget import OutOfTime, phase
from unrelu._old.base.tolerances import CONSENSUS_SAME, CONSENSUS_SHARP
from unrelu._old.distances.consensus import Consensus, Judge, agreed_on, jumps
from unrelu._old.distances.grading import regraded
from unrelu._old.distances.refine import refine
from unrelu._old.distances.reliability import WRONG, Checked, checked, threshold
from unrelu._old.distances.rigidity import GENERIC, LOCAL, Framework, determinacy
from unrelu._old.distances.search import BEYOND, Search
from unrelu._old.distances.second import FLIPPED, LIKELY, still_there
from unrelu._old.distances.solve import Solved, nothing
from unrelu._old.distances.uncertainty import covariances
from unrelu._old.loop.history import Stop
from unrelu._old.problems.distances import DistanceProblem
from unrelu._old.problems.network import Misfit, Network, PairLimits

__all__ = ["Trust", "too_many", "trusted_ranges"]

# So often ranges are left out or taken back before it is left at that.
ROUNDS = 40
# A range that was left out so often is not taken back: it and another take turns.
SECOND_CHANCE = 2
# A point is where several starts have it: so many, the best one counted.
AGREEING = 3
# Another place that costs less than this more, in squares of standard deviations, may be the right one: then nobody
# knows which of the ranges is wrong.
AS_LIKELY = WRONG**2 / 2
# Of an error in a range that holds a determined point at least this share must show.
HELD = 0.15
# Made for a tenth of wrong ranges; where each is wrong with that chance, a network of hundreds has up to this share.
# Places that contradict more are no answer: ranges that chance lets agree are then taken for the right ones.
MOST_WRONG = 0.15
# A start has a point elsewhere if it is off by so many of its standard errors.
ELSEWHERE = 6.0


@dataclass(frozen=True, eq=False)
class Trust:
    """What is believed of the ranges of one component.

    Attributes
    ----------
    search : Search
        On all of them.
    consensus : Consensus
        Where several starts ended.
    kept : boolean ndarray of shape (m,)
        The ranges that agree, or that nothing checks.
    points : ndarray of shape (n, dim)
        The fit of those.
    cut : Stop or None
        What ended the search for them before its time.
    """

    search: Search
    consensus: Consensus
    kept: Bools
    points: Floats
    cut: Stop | None = None

    def part(self, network: Network, wrong: Bools | None = None) -> Network:
        """A network of the same points without the ranges left out, of which absence says nothing either.

        ``wrong``: ranges of that network that are left out too.
        """
        gone = np.isin(_keys(network), _keys(self.search.network)[~self.kept])
        if wrong is not None:
            gone |= wrong
        if not gone.any():
            return network
        limits = network.limits
        count = int(gone.sum())
        vacuous = PairLimits(
            np.r_[limits.first, network.first[gone]],
            np.r_[limits.second, network.second[gone]],
            np.r_[limits.lower, np.zeros(count)],
            np.r_[limits.upper, np.full(count, np.inf)],
        )
        return replace(
            network,
            first=network.first[~gone],
            second=network.second[~gone],
            distance=network.distance[~gone],
            weight=network.weight[~gone],
            limits=vacuous,
        )

    def unfinished(self) -> Solved:
        """The best so far."""
        network = self.search.network
        empty = nothing(network.size, network.dim, self.cut or Stop.INTERRUPTED)
        return replace(empty, points=self.points, start="unfinished")

    def graded(self, one: Solved) -> Solved:
        """The fit with the word taken back from points that starts, or other places, or unchecked ranges leave open.

        Places that contradict too many ranges are no answer at all.
        """
        if too_many(self.kept):
            return replace(
                one, grade=np.minimum(one.grade, LOCAL).astype(np.int8), code=_worse(one.code), why=self._why()
            )
        # Nothing is proved from ranges that may be wrong.
        grade = np.minimum(one.grade, GENERIC).astype(np.int8)
        fixed = np.flatnonzero(grade >= GENERIC)
        if not fixed.size:
            return one
        phase("asking whether the starts agree")
        network, X, sigma = self.part(self.search.network), one.points, self.sigma(one)
        kept = self._agreed(network, X, sigma, fixed)
        kept = np.setdiff1d(kept, self._elsewhere(X, sigma, kept))
        held = self._held(network, X, sigma)
        kept = kept[held[kept]]
        if len(kept) < len(fixed):
            grade[np.setdiff1d(fixed, kept)] = LOCAL
            regraded(network, X, grade, kept, self.search.rng, BEYOND * sigma)
        return replace(one, grade=grade)

    def _why(self) -> str:
        left, dim = int((~self.kept).sum()), self.search.network.dim
        return (
            f"these places contradict {left} of {len(self.kept)} distances, and of more than {MOST_WRONG:.0%} nobody "
            f"knows which are wrong: more than {dim} dimension{'s' * (dim > 1)} may be needed, or a fold was not found"
        )

    def checked(self, one: Solved) -> tuple[Checked, Floats]:
        """How far off every range is at the final places, as the kept ones have it; in standard deviations too."""
        found = checked(self.search.network, one.points, self.kept)
        return found, found.gap / self.sigma(one)

    def named(self, one: Solved, deviations: Floats) -> Bools:
        """The ranges that are wrong: left out, and no other range could be the wrong one instead."""
        network, X = self.search.network, one.points
        if too_many(self.kept):
            return np.zeros(len(self.kept), bool)
        judge = Judge(network, self.search.misfit, self.sigma(one))
        named = ~self.kept & (np.abs(deviations) > WRONG)
        for point in np.unique(np.r_[network.first[named], network.second[named]]):
            places, costs, here = jumps(judge, X, int(point), self.search.rng)
            likely = places[costs < here + AS_LIKELY]
            edges = np.flatnonzero(named & ((network.first == point) | (network.second == point)))
            far = np.where(network.first[edges] == point, network.second[edges], network.first[edges])
            x = np.linalg.norm(likely[:, None] - X[far], axis=2)
            off = np.abs(x - network.distance[edges]) * np.sqrt(network.weight[edges]) / judge.sigma
            named[edges[(off < WRONG).any(axis=0)]] = False
        return named

    def sigma(self, one: Solved) -> float:
        """The standard deviation of a range of weight one: given, or as the fit has it."""
        known = self.search.effort.noise
        return max(one.noise if known is None else known, self.search.floor)

    def _agreed(self, network: Network, X: Floats, sigma: float, fixed: Indices) -> Indices:
        """Those of the fixed points that several starts have here, and none that is nearly as good elsewhere."""
        part = network.part(fixed)
        cov = covariances(part, X[fixed], sigma, np.zeros(0, np.intp), Misfit(absence=False))
        reach = np.zeros(len(X))
        reach[fixed] = ELSEWHERE * np.sqrt(np.trace(cov, axis1=1, axis2=2)) + CONSENSUS_SAME
        agreeing = np.zeros(len(X), np.intp)
        against = np.zeros(len(X), bool)
        judge = Judge(self.search.network, self.search.misfit, self.consensus.sigma)
        here = judge.cost(X)
        for places, cost in zip(self.consensus.places, self.consensus.costs, strict=True):
            there = still_there(X, places, fixed, reach)
            agreeing[there] += 1
            if cost <= here + LIKELY:
                against[np.setdiff1d(fixed, there)] = True
        return fixed[(agreeing[fixed] >= AGREEING) & ~against[fixed]]

    def _elsewhere(self, X: Floats, sigma: float, chosen: Indices) -> Indices:
        """Those of the chosen points that nearly as many of their ranges have at another place."""
        judge = Judge(self.search.network, self.search.misfit, sigma)
        moved = []
        for point in chosen:
            places, costs, here = jumps(judge, X, int(point), self.search.rng)
            away = np.linalg.norm(places - X[point], axis=1) > FLIPPED * sigma + CONSENSUS_SAME
            if (away & (costs < here + LIKELY)).any():
                moved.append(point)
        return np.array(moved, np.intp)

    def _held(self, network: Network, X: Floats, sigma: float) -> Bools:
        """Which points are fixed by the ranges whose errors would show."""
        everything = np.ones(len(network.first), bool)
        shown = checked(network, X, everything).redundancy >= HELD
        part = network.part(np.arange(network.size), keep=shown)
        slack = BEYOND * sigma
        framework = Framework(part, X, slack, seen=network)
        return determinacy(framework, self.search.rng, exact=False).grade >= GENERIC


def too_many(kept: Bools) -> bool:
    """Whether more ranges of a component are left out than may be wrong."""
    return int((~kept).sum()) > MOST_WRONG * len(kept)


def _worse(code: Stop) -> Stop:
    """No answer; what cut a run short stays what it is."""
    return Stop.STATIONARY if code in (Stop.FITTED, Stop.FITTED_TO_NOISE, Stop.BEST_OF_RANK) else code


def trusted_ranges(search: Search, fixed: Indices, given: Floats | None = None) -> Trust:
    """Which ranges of a component agree. Those between ``fixed`` points, whose places are known, always do."""
    network = search.network
    consensus = Consensus([], [], search.floor)
    kept = np.ones(len(network.first), bool)
    held = np.isin(network.first, fixed) & np.isin(network.second, fixed)
    search.journal.left = None
    cut = Stop.INTERRUPTED
    try:
        consensus = agreed_on(search, given)
        points, kept = _left_out(search, consensus, held)
        return Trust(search, consensus, kept, points)
    except OutOfTime:
        cut = Stop.MAX_SECONDS
    except KeyboardInterrupt:
        pass
    return Trust(search, consensus, kept, _so_far(search), cut)


def _so_far(search: Search) -> Floats:
    """Where the last refinement was."""
    left, network = search.journal.left, search.network
    if left is not None and left.shape == (network.size, network.dim):
        return left
    return np.zeros((network.size, network.dim))


def _left_out(search: Search, consensus: Consensus, held: Bools) -> tuple[Floats, Bools]:
    """Places that fit all ranges but those left out, and which are kept."""
    phase("looking for wrong ranges")
    network, X, known = search.network, consensus.places[0], search.effort.noise
    off = np.abs(network.residual(X)) * np.sqrt(network.weight) / consensus.sigma
    kept = _connected(network, (off <= WRONG) | held, off)
    dropped = (~kept).astype(np.intp)  # how often
    for _ in range(ROUNDS):
        trimmed = replace(network, weight=np.where(kept, network.weight, 0.0))
        problem = DistanceProblem(trimmed, search.misfit)
        X = refine(problem, X, tol=CONSENSUS_SHARP, max_iter=search.effort.max_iter, journal=search.journal).points
        found = checked(network, X, kept)
        freedom = float(np.sum(found.redundancy[kept]))
        squares = float(np.sum((network.weight * network.residual(X) ** 2)[kept]))
        sigma = known if known is not None else float(np.sqrt(squares / max(freedom, 1.0)))
        off = np.abs(found.gap) / max(sigma, search.floor)
        limit = threshold(None if known is not None else freedom)
        wrong = kept & ~held & (off > limit)
        wrong &= off >= _largest_beside(network, np.where(wrong, off, 0.0))
        back = ~kept & (off <= limit) & (dropped < SECOND_CHANCE)
        ahead = _connected(network, (kept & ~wrong) | back, off)
        if (ahead == kept).all():
            break
        dropped += kept & ~ahead
        kept = ahead
    return X, kept


def _largest_beside(network: Network, off: Floats) -> Floats:
    """The largest of some numbers among the ranges that share a point with each."""
    most = np.zeros(network.size)
    np.maximum.at(most, network.first, off)
    np.maximum.at(most, network.second, off)
    return np.maximum(most[network.first], most[network.second])


def _connected(network: Network, kept: Bools, off: Floats) -> Bools:
    """The kept ranges, and those of the others that are least off among those that hold the component together."""
    import scipy.sparse as sp
    from scipy.sparse.csgraph import minimum_spanning_tree

    limits = network.limits
    joins = np.isfinite(limits.upper)
    first, second = np.r_[network.first, limits.first[joins]], np.r_[network.second, limits.second[joins]]
    length = np.r_[np.where(kept, 1.0, 2.0 + np.minimum(off, 1e6)), np.ones(int(joins.sum()))]
    shape = (network.size, network.size)
    tree = minimum_spanning_tree(sp.csr_array((length, (first, second)), shape=shape)).tocoo()
    needed = np.isin(
        _keys(network), np.minimum(tree.row, tree.col).astype(np.int64) * network.size + np.maximum(tree.row, tree.col)
    )
    result: Bools = kept | needed
    return result


def _keys(network: Network) -> Indices:
    result: Indices = network.first.astype(np.int64) * network.size + network.second
    return result
