"""What a run that ended may be called: at its floor, the best fit there is, underdetermined, or only stationary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from unrelu.continuation import lowest_residual_eigenpair
from unrelu.floor import Floor, noiseless, unknowns_and_pairs
from unrelu.history import Stop, Verdict
from unrelu.problems.psd import PSDProblem
from unrelu.remarks import contradiction
from unrelu.run import Outcome
from unrelu.solvers import Solver

__all__ = ["judged", "verdict_on_best"]

# A residual matrix whose lowest eigenvalue is above this share of its norm, below zero, counts as semidefinite.
OPTIMAL = 1e-6


def judged(problem: PSDProblem, outcome: Outcome, solver: Solver[Any], rng: np.random.Generator) -> Outcome:
    """One run with a named method or start: a point that met its rule above the floor is only stationary.

    A convex program that is solved is solved; and a method with two factors is judged by its own estimate, which need
    not be near a positive semidefinite one.
    """
    if solver.convex:
        return outcome
    counted = _underdetermined(problem, outcome, f"{problem.loss.name} loss")
    if counted is not None:
        return replace(outcome, verdict=counted)
    if not outcome.verdict.converged or noiseless(problem, outcome.objective, loosely=True):
        return outcome
    if Floor.of(problem.observations, problem.rank, rng).reached(problem, outcome.objective):
        return outcome
    return replace(outcome, verdict=_stationary(problem, outcome, f"{problem.loss.name} loss"))


def verdict_on_best(
    problem: PSDProblem, outcome: Outcome, tried: list[str], floor: Floor | None, *, agreed: bool
) -> Verdict:
    """On the best of several starts: ``floor`` where it was asked for, ``agreed`` if two starts ended at this one."""
    words = f"{problem.loss.name} loss, tried {', '.join(tried)}"
    counted = _underdetermined(problem, outcome, words)
    if counted is not None:
        return counted
    contradicted = contradiction(problem.rank, _residual(problem, outcome))
    if contradicted is not None:
        code = Stop.STATIONARY if outcome.verdict.converged else outcome.verdict.code
        return Verdict(code, f"{outcome.verdict.reason}, but {contradicted} ({words})")
    if not outcome.verdict.converged:
        return Verdict(outcome.verdict.code, f"{outcome.verdict.reason} ({words})")
    if noiseless(problem, outcome.point.value):
        return Verdict(Stop.CONVERGED, f"{outcome.verdict.reason}; the data are fitted to rounding ({words})")
    if floor is not None and floor.reached(problem, outcome.point.value):
        return Verdict(Stop.CONVERGED, f"{outcome.verdict.reason}; the data are fitted to their noise ({words})")
    if _globally_optimal(problem, outcome):
        return Verdict(
            Stop.CONVERGED,
            f"{outcome.verdict.reason}; the residual matrix is positive semidefinite, which proves this the best fit "
            f"over all positive semidefinite matrices ({words})",
        )
    if agreed:
        return Verdict(
            Stop.CONVERGED, f"{outcome.verdict.reason}; no start found a lower objective, two this one ({words})"
        )
    return _stationary(problem, outcome, words)


def _underdetermined(problem: PSDProblem, outcome: Outcome, words: str) -> Verdict | None:
    """Past the counting limit a perfect fit is one of many."""
    unknowns, pairs = unknowns_and_pairs(problem)
    # A fit that is still creeping is no better determined: more iterations would be the wrong advice.
    creeping = outcome.verdict.code in (Stop.MAX_ITERATIONS, Stop.STALLED)
    if unknowns <= pairs or not (outcome.verdict.converged or creeping):
        return None
    ended = outcome.verdict.reason if outcome.verdict.converged else f"stopped after {outcome.iteration} iterations"
    return Verdict(
        Stop.UNDERDETERMINED,
        f"{ended}, but rank {problem.rank} leaves {unknowns} numbers free and only {pairs} distinct "
        f"entries were seen, so many matrices fit as well ({words}); lower the rank, or see more entries",
    )


def _stationary(problem: PSDProblem, outcome: Outcome, words: str) -> Verdict:
    residual = _residual(problem, outcome)
    contradicted = contradiction(problem.rank, residual)
    if contradicted is not None:
        return Verdict(Stop.STATIONARY, f"{outcome.verdict.reason}, but {contradicted} ({words})")
    return Verdict(
        Stop.STATIONARY,
        f"{outcome.verdict.reason}, but the relative residual {residual:.2g} is above rounding and above the noise "
        f"that fully seen blocks show, if any ({words}); try another start, a higher rank, or look for outliers",
    )


def _globally_optimal(problem: PSDProblem, outcome: Outcome) -> bool:
    lowest, _ = lowest_residual_eigenpair(problem, outcome.point.factor)
    return lowest >= -OPTIMAL * float(np.sqrt(4 * outcome.point.value))


def _residual(problem: PSDProblem, outcome: Outcome) -> float:
    return float(np.sqrt(4 * outcome.point.value)) / problem.norm
