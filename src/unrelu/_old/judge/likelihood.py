"""What may be said of a fit by likelihood: whether what it leaves of the data looks like noise, and nothing else.

At the right matrix the slopes of −log likelihood, one per entry, are independent with mean zero, whatever was seen. A
symmetric matrix of such numbers has no eigenvalue beyond 2√n times their root mean square, but for a few per cent
(Wigner's semicircle). Rank that the fit lacks, or a place that is not the best, leaves a direction in which all of them
point the same way, and so an eigenvalue that grows with n: this is the score test for one more column of U, and needs
no further fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaincinv

from unrelu._old.base.arrays import Array
from unrelu._old.base.budget import phase
from unrelu._old.base.tolerances import (
    FLOOR_NOISELESS,
    LIKELIHOOD_ALL_NOISE,
    LIKELIHOOD_ALONE,
    LIKELIHOOD_BY_CHANCE,
    LIKELIHOOD_LEFT,
    LIKELIHOOD_LEFT_OF_FEW,
    LIKELIHOOD_MISSING,
    LIKELIHOOD_MUCH,
    LIKELIHOOD_NEXT_TO_NOTHING,
    LIKELIHOOD_SELECTED,
    LIKELIHOOD_SPARE,
    REFINED_NOISE_MATTERS,
)
from unrelu._old.data.limits import part_of
from unrelu._old.judge.counting import underdetermined
from unrelu._old.judge.floor import unknowns_and_pairs
from unrelu._old.judge.runaway import unless_runaway
from unrelu._old.loop.history import Stop, Verdict
from unrelu._old.loop.run import Outcome, run
from unrelu._old.loop.stopping import MaxIterations, RelativeGradientNormBelow
from unrelu._old.model.losses import Censored
from unrelu._old.placing.attach import bands
from unrelu._old.placing.placement import best_placement
from unrelu._old.placing.table import table_placement
from unrelu._old.problems.psd import Point, PSDProblem
from unrelu._old.solvers import GaussNewton
from unrelu._old.starts.continuation import highest_residual_eigenvalue, lowest_residual_eigenpair

__all__ = ["Fits", "Leftover", "bent_by_selection", "noise_of", "on_likelihood"]

# Up to so many rows the seen entries are fitted alone too, and how far that goes.
FEW_ROWS, ALONE = 200, RelativeGradientNormBelow(LIKELIHOOD_ALONE) | MaxIterations(60)
# With fewer rows an eigenvalue tells too little of itself.
MANY_ROWS = 30
# Standard deviations beyond its limits at which an entry is sure to be seen; so many missing ones are chance.
FAR, FEW_MISSING = 4.0, 3
# Random vectors by which the sum of squares of a large matrix is estimated.
PROBES = 16
# Up to so many rows each has its sum of squares worked out, where entries differ in their noise.
MOST_ROWS_EACH = 1000


@dataclass(frozen=True)
class Fits:
    """What else speaks for a fit: whether two starts ended here, and whether squares were fitted to their noise."""

    agreed: bool
    plain: bool
    tried: tuple[str, ...] = ()


@dataclass(frozen=True)
class Leftover:
    """The eigenvalue of the matrix of slopes that asks most for another column, over the most that noise leaves.

    ``against`` is that on the other side: it asks for a column with a negative sign, which a positive semidefinite
    matrix cannot have. ``rows`` says how many there are to tell by.
    """

    times: float
    rows: int
    against: float = 0.0

    @classmethod
    def of(cls, problem: PSDProblem, point: Point) -> Leftover:
        """At a point."""
        posed, factor, n = problem.at(point), point.factor, problem.size
        value, _ = lowest_residual_eigenpair(posed, factor)
        highest = highest_residual_eigenvalue(posed, factor) if problem.psd else 0.0
        uneven = not problem.observations.plain
        whole = n <= (MOST_ROWS_EACH if uneven else 2 * PROBES)
        probes = np.eye(n) if whole else np.random.default_rng(0).choice([-1.0, 1.0], (n, PROBES))
        seen = posed.kernel.residual_times(factor, probes.astype(problem.dtype)).astype(np.float64)
        rows = np.sum(seen * seen, axis=1) / (1 if whole else PROBES)
        # Where entries have noises or weights of their own, the row with most of it sets the edge.
        squares = float(n * rows.max()) if uneven else float(rows.sum())
        cut = problem.observations.source.cut
        if cut is None:
            most = 2 * float(np.sqrt(squares / n))
        else:  # of an m×n table √m + √n times the root mean square; its entries stand here twice
            most = float((np.sqrt(cut) + np.sqrt(n - cut)) * np.sqrt(squares / 2 / (cut * (n - cut))))
        few = n if cut is None else 2 * min(cut, n - cut)
        if not most > 0:
            return cls(0.0, few)
        return cls(max(-value, 0.0) / most, few, max(highest, 0.0) / most)

    @property
    def most(self) -> float:
        """What noise leaves at most: 1 for many rows, a little more for few."""
        return LIKELIHOOD_LEFT + LIKELIHOOD_LEFT_OF_FEW / self.rows ** (2 / 3)

    @property
    def complete(self) -> bool:
        """Whether no further column is asked for."""
        return self.times <= self.most

    @property
    def noise_only(self) -> bool:
        """Whether nothing but noise is left, on either side."""
        return self.complete and self.against <= self.most


def noise_of(problem: PSDProblem, point: Point) -> float:
    """The noise of a fit in the units of the data: that of its likelihood, or what squares leave per seen entry."""
    noise = problem.loss.noise if point.loss is None else point.loss.noise
    if noise is not None:
        return float(noise)
    return problem.misfit_at(point) / float(np.sqrt(problem.observations.count)) * problem.unit


def on_likelihood(problem: PSDProblem, outcome: Outcome, evidence: Fits, words: str) -> Verdict:
    """The verdict on the best of the fits that were tried."""
    return unless_runaway(problem, outcome.point, _on_fits(problem, outcome, evidence, words))


def _on_fits(problem: PSDProblem, outcome: Outcome, evidence: Fits, words: str) -> Verdict:
    said, ended = outcome.verdict.reason, outcome.verdict
    counted = underdetermined(problem, outcome, words)
    if counted is not None:
        return counted
    if not (ended.converged or ended.code is Stop.STALLED):
        return Verdict(ended.code, f"{said} ({words})")
    point = outcome.point
    residual = problem.misfit_at(point) / problem.norm if problem.norm else 0.0
    if residual <= FLOOR_NOISELESS[problem.dtype.name]:
        return Verdict(Stop.FITTED, f"{said}; the data are fitted to rounding, and no noise is left ({words})")
    noise = noise_of(problem, point)
    level = f"noise of {noise:.3g}"
    left = Leftover.of(problem, point)
    told = evidence.plain or problem.size >= MANY_ROWS
    odd = (
        _nothing_explained(problem, residual)
        or _absence_contradicts(problem, outcome)
        or _better_without_absence(problem, point, noise)
        or _hardly_more_than_unknowns(problem, residual)
    )
    if odd is not None:
        return Verdict(Stop.STATIONARY, f"{said}, but {odd} ({words})")
    if left.noise_only and told:
        return Verdict(
            Stop.FITTED_TO_NOISE,
            f"{said}; the data are fitted to {level}: what is left has no direction in it, its largest eigenvalue is "
            f"{left.times:.2g} times what noise leaves ({words})",
        )
    if left.complete and not left.noise_only:
        return Verdict(
            Stop.STATIONARY,
            f"{said}, but what is left has an eigenvalue {left.against:.2g} times what noise leaves on the side that "
            "no positive semidefinite matrix reaches, so this matrix is not one; structure='indefinite' allows for "
            f"that ({words})",
        )
    little = residual <= LIKELIHOOD_NEXT_TO_NOTHING and not told
    if not left.noise_only and evidence.agreed and not little:
        return Verdict(
            Stop.BEST_OF_RANK,
            f"{said}; what is left has an eigenvalue {left.times:.2g} times what noise leaves, so the data are not of "
            f"rank {problem.rank}, as real data seldom are; this is the likeliest fit of that rank that was found, "
            f"with {level} ({words})",
        )
    why = (
        f"only {residual:.1g} of the data is left, and it is no noise: another fit may well meet them"
        if not left.noise_only and little
        else f"what is left has an eigenvalue {left.times:.2g} times what noise leaves"
        if not left.noise_only
        else f"{problem.size} rows are too few to tell noise from a wrong fit by likelihood alone"
    )
    advice = "try another start, a higher rank, or look for outliers"
    return Verdict(Stop.STATIONARY, f"{said}, but {why} ({words}); {advice}")


def _nothing_explained(problem: PSDProblem, residual: float) -> str | None:
    """What to say of a fit that leaves nearly all of the data to the noise."""
    if residual <= LIKELIHOOD_ALL_NOISE:
        return None
    return (
        f"the seen entries contradict rank {problem.rank} by far: the fit leaves {residual:.0%} of their size to "
        "noise; try a higher rank, or check threshold= and the data"
    )


def _absence_contradicts(problem: PSDProblem, outcome: Outcome) -> str | None:
    """What to say where entries are absent that the fit puts far on the side where they would have been seen."""
    observations, point = problem.observations, outcome.point
    loss = problem.loss if point.loss is None else point.loss
    limits = loss.heard(observations.limits)
    if limits.nothing or loss.noise is None or not loss.sure:
        return None
    sigma, U, n = loss.noise / problem.unit, point.factor.astype(np.float64), problem.size
    sure = missing = 0
    for rows in bands(n, n):
        values = observations.block(rows, slice(0, n))
        fit = U[rows] @ problem.second(U).T
        off = np.abs(fit - limits.of(rows, slice(0, n)).over(problem.unit).nearest(fit))
        noise = 1.0 if observations.spread is None else part_of(observations.spread, rows, slice(0, n))
        far = off > FAR * sigma * noise
        absent = observations.absent(rows, slice(0, n), values)
        missing += int(np.count_nonzero(far & absent))
        sure += int(np.count_nonzero(far & (absent | ~np.isnan(values))))
    if missing <= max(FEW_MISSING, LIKELIHOOD_MISSING * sure):
        return None
    return (
        f"{missing} of {sure} entries that the fit puts {FAR:g} standard deviations of the noise beyond their limits "
        "were not seen: they are missing for another reason than their value; mark them as unknown=, or pass "
        "threshold=None"
    )


def _better_without_absence(problem: PSDProblem, point: Point, noise: float) -> str | None:
    """What to say where another matrix of this rank meets the seen entries far better: then absence contradicts them.

    At the right matrix the squares that a fit to the seen entries alone leaves are σ² times a χ² variable, or somewhat
    less for what was seen because of its noise. Of many rows the test above tells as much.
    """
    plain = problem.simpler
    if problem.size > FEW_ROWS or plain is None or not plain.bounded:
        return None
    alone = plain.seen_only
    unknowns, pairs = unknowns_and_pairs(alone)
    if pairs <= unknowns:
        return None
    phase("fitting without absence")
    find = best_placement if problem.observations.source.cut is None else table_placement
    placed = find(alone.observations, problem.rank, np.random.default_rng(0))
    starts = [point.factor] if placed is None else [placed.completed(alone.observations), point.factor]
    least = 2 * float(gammaincinv((pairs - unknowns) / 2, LIKELIHOOD_BY_CHANCE))  # a quantile of χ²
    room = (
        LIKELIHOOD_SELECTED * least * (noise / problem.unit) ** 2
        + (FLOOR_NOISELESS[problem.dtype.name] * alone.norm) ** 2
    )
    left = min(_misfit_from(alone, start) for start in starts)
    if left**2 / 2 > room:  # it counts a pair twice
        return None
    told = float(np.sqrt(left**2 / 2 / (pairs - unknowns))) * problem.unit
    return (
        f"another matrix of rank {problem.rank} meets the {pairs} seen pairs to {told:.1g}: noise of {noise:.3g} is "
        "only what absence leaves, and entries are missing for another reason than their value; mark them as unknown=, "
        "or pass threshold=None"
    )


def _hardly_more_than_unknowns(problem: PSDProblem, residual: float) -> str | None:
    """What to say where what was seen could be met by some matrix of this rank, and absence alone leaves a misfit.

    With so few equations to spare a fit without absence has many false minima: that none was found that meets what was
    seen says nothing, and so noise cannot be told from absence that contradicts it.
    """
    plain = problem.simpler
    if problem.size > FEW_ROWS or plain is None or not plain.bounded or problem.loss.noise_given:
        return None
    if residual <= LIKELIHOOD_MUCH:  # a contradiction leaves more
        return None
    unknowns, pairs = unknowns_and_pairs(plain.seen_only)
    if unknowns < LIKELIHOOD_SPARE * pairs:
        return None
    return (
        f"the {pairs} seen pairs are hardly more than the {unknowns} unknowns of rank {problem.rank}, so that noise "
        "cannot be told from absence that contradicts them; try a lower rank, or pass sigma= if it is known"
    )


def _misfit_from(problem: PSDProblem, start: Array) -> float:
    """Of where Gauss–Newton goes from there."""
    start = start.astype(problem.dtype)
    return problem.misfit(run(problem, GaussNewton(), (start, start), ALONE, keep=False).point.value)


def bent_by_selection(problem: PSDProblem, point: Point) -> str | None:
    """What to say of a fit of squares to data whose noise decided which of them were seen.

    The likelihood knows of that: where its slopes at the fit have an eigenvalue that noise does not leave, the fit is
    not the likeliest one, nor near it.
    """
    observations = problem.observations
    share = problem.misfit_at(point) / problem.norm if problem.norm else 0.0
    if observations.limits.nothing or problem.size < MANY_ROWS or share <= REFINED_NOISE_MATTERS:
        return None
    likely = Censored(level=share * observations.norm / float(np.sqrt(observations.count)))
    left = Leftover.of(problem.under_likelihood(likely), replace(point, kept=None))
    if left.complete:
        return None
    return (
        f"noise of {share:.0%} of the seen entries decided which of them were seen, and bends this fit: what it leaves "
        f"has an eigenvalue {left.times:.2g} times what noise leaves; use loss='censored', which knows of it"
    )
