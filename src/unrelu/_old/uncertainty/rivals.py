"""Another fit that the data do not tell from this one: with noise, what looks determined may have two places.

Which rows are determined is asked as if the data were as the fit has them. With noise a second minimum may lie nearly
as low as the first, and which of them is the truth is a matter of luck. For small problems dozens of starts side by
side find it; rows whose entries it moves by more than their standard errors allow are not determined.
"""

from __future__ import annotations

import numpy as np

from unrelu._old.base.arrays import Bools, Floats
from unrelu._old.base.budget import phase
from unrelu._old.base.tolerances import RIVALS_APART, RIVALS_NEARLY_AS_LOW, RIVALS_SAME_END, RIVALS_WORTH_FOLLOWING
from unrelu._old.data.observations import Observations
from unrelu._old.judge.floor import unknowns_and_pairs
from unrelu._old.loop.run import run
from unrelu._old.loop.stopping import MaxIterations, RelativeGradientNormBelow
from unrelu._old.model.losses import Loss, squared_loss
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.proofs.elsewhere import unchanged
from unrelu._old.proofs.order import canonical_frame, canonical_order
from unrelu._old.solvers import GaussNewton
from unrelu._old.solvers.side_by_side import MOST_UNKNOWNS, all_of_many, squares_of
from unrelu._old.uncertainty.error_bars import EXACT
from unrelu._old.uncertainty.likelihood import bars_of

__all__ = ["rows_with_rivals"]

# Starts; of a likelihood, how many different ends are followed, and how far.
STARTS, FOLLOWED = 48, 6
FOLLOW = RelativeGradientNormBelow(1e-8) | MaxIterations(20)


def rows_with_rivals(
    observations: Observations, factor: Floats, known: tuple[Bools, str], loss: Loss | None, rng: np.random.Generator
) -> Bools:
    """The determined rows of which some rival changes entries; ``factor`` in units of √``unit``.

    They are put into an order of their own first, so that permuting them permutes the answer. ``known`` are the
    determined rows and whether pairs carry one noise or two; ``loss`` is the likelihood of the fit, None for squares.
    """
    determined, pairs = known
    if factor.size > MOST_UNKNOWNS or determined.sum() < 2:
        return np.zeros(len(factor), dtype=bool)
    order, _ = canonical_order(observations)
    moving = np.zeros(len(factor), dtype=bool)
    inner = observations.reordered(order)
    turned, known = canonical_frame(factor[order]), (determined[order], pairs)
    moving[order] = _moving(inner, turned, known, loss, rng)
    return moving


def _moving(
    observations: Observations, factor: Floats, known: tuple[Bools, str], loss: Loss | None, rng: np.random.Generator
) -> Bools:
    n, rank = factor.shape
    determined, pairs = known
    problem = PSDProblem(observations, rank, squared_loss(observations.limits))
    unknowns, seen = unknowns_and_pairs(problem)
    if seen <= unknowns:
        return np.zeros(n, dtype=bool)
    phase("looking for another fit as good")
    others, squares = all_of_many(problem, rng, factor, most=STARTS)
    # Squares of the whole matrix count a pair twice.
    here = squares_of(problem, factor)
    allowed = here / 2 / (seen - unknowns) * RIVALS_NEARLY_AS_LOW
    if loss is None:
        others = others[(squares - here) / 2 <= allowed]
    else:
        # What is likely is low in squares as well, but for what selection bends.
        others = others[(squares - here) / 2 <= RIVALS_WORTH_FOLLOWING * allowed]
        others = _as_likely(PSDProblem(observations, rank, loss), factor, others)
    if len(others) == 0:
        return np.zeros(n, dtype=bool)
    everyone = np.arange(n)
    bars = bars_of(factor * np.sqrt(observations.unit), observations, loss, pairs=pairs, determined=determined)
    errors = np.asarray(bars.standard_errors(everyone[:, None], everyone, method=EXACT), float) / observations.unit
    moved = np.abs(others @ others.transpose(0, 2, 1) - factor @ factor.T).max(axis=0)
    return determined & ~unchanged(np.isfinite(errors) & (moved > RIVALS_APART * errors), determined)


def _as_likely(problem: PSDProblem, factor: Floats, ends: Floats) -> Floats:
    """Of the ends of many descents in squares, those from which a fit leads that is nearly as likely as this one."""
    here = problem.evaluate(factor.astype(problem.dtype)).value
    found: list[Floats] = []
    matrices, fit = ends @ ends.transpose(0, 2, 1), factor @ factor.T
    apart = np.linalg.norm(matrices - fit, axis=(1, 2))
    for _ in range(min(FOLLOWED, len(ends))):
        # The one that is furthest from all that were followed: many ends lie in one valley.
        k = int(np.argmax(apart))
        if apart[k] < RIVALS_SAME_END * np.linalg.norm(fit):
            break
        apart = np.minimum(apart, np.linalg.norm(matrices - matrices[k], axis=(1, 2)))
        start = ends[k].astype(problem.dtype)
        point = run(problem, GaussNewton(), (start, start), FOLLOW, keep=False).point
        # F counts a pair twice, and −2 log of the likelihood is to be compared.
        if point.value - here <= RIVALS_NEARLY_AS_LOW:
            found.append(point.factor.astype(np.float64))
    return np.array(found).reshape(-1, *factor.shape)
