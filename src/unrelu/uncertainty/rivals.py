"""Another fit that the data do not tell from this one: with noise, what looks determined may have two places.

Which rows are determined is asked as if the data were as the fit has them. With noise a second minimum may lie nearly
as low as the first, and which of them is the truth is a matter of luck. For small problems dozens of starts side by
side find it; rows whose entries it moves by more than their standard errors allow are not determined.
"""

from __future__ import annotations

import numpy as np

from unrelu.base.arrays import Bools, Floats
from unrelu.base.budget import phase
from unrelu.base.tolerances import RIVALS_APART, RIVALS_NEARLY_AS_LOW
from unrelu.data.observations import Observations
from unrelu.judge.floor import unknowns_and_pairs
from unrelu.model.losses import squared_loss
from unrelu.problems.psd import PSDProblem
from unrelu.proofs.elsewhere import unchanged
from unrelu.proofs.order import canonical_frame, canonical_order
from unrelu.solvers.side_by_side import MOST_UNKNOWNS, all_of_many
from unrelu.uncertainty.error_bars import ErrorBars

__all__ = ["rows_with_rivals"]

# Starts; by how many times σ² the squares of a rival may be higher; standard errors by which it must differ.
STARTS = 48


def rows_with_rivals(
    observations: Observations, factor: Floats, determined: Bools, pairs: str, rng: np.random.Generator
) -> Bools:
    """The determined rows of which some rival changes entries; ``factor`` in units of √``unit``.

    They are put into an order of their own first, so that permuting them permutes the answer.
    """
    if factor.size > MOST_UNKNOWNS or determined.sum() < 2:
        return np.zeros(len(factor), dtype=bool)
    order, _ = canonical_order(observations)
    moving = np.zeros(len(factor), dtype=bool)
    moving[order] = _moving(
        observations.reordered(order), canonical_frame(factor[order]), determined[order], pairs, rng
    )
    return moving


def _moving(
    observations: Observations, factor: Floats, determined: Bools, pairs: str, rng: np.random.Generator
) -> Bools:
    n, rank = factor.shape
    lost = np.zeros(n, dtype=bool)
    problem = PSDProblem(observations, rank, squared_loss(observations.limits))
    unknowns, seen = unknowns_and_pairs(problem)
    if seen <= unknowns:
        return lost
    phase("looking for another fit as good")
    here = 4 * problem.evaluate(factor.astype(problem.dtype)).value
    allowed = here / 2 / (seen - unknowns) * RIVALS_NEARLY_AS_LOW
    others, squares = all_of_many(problem, rng, factor, most=STARTS)
    # Squares of the whole matrix count a pair twice.
    others = others[(squares - here) / 2 <= allowed]
    if len(others) == 0:
        return lost
    everyone = np.arange(n)
    bars = ErrorBars(factor * np.sqrt(observations.unit), observations, pairs=pairs, determined=determined)
    errors = np.asarray(bars.standard_errors(everyone[:, None], everyone), float) / observations.unit
    moved = np.abs(others @ others.transpose(0, 2, 1) - factor @ factor.T).max(axis=0)
    return determined & ~unchanged(np.isfinite(errors) & (moved > RIVALS_APART * errors), determined)
