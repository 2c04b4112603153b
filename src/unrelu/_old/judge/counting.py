"""Past the counting limit: fewer entries were seen than there are numbers to find."""

from __future__ import annotations

from unrelu._old.judge.floor import unknowns_and_pairs
from unrelu._old.loop.history import Stop, Verdict
from unrelu._old.loop.run import Outcome
from unrelu._old.problems.psd import PSDProblem

__all__ = ["underdetermined"]


def underdetermined(problem: PSDProblem, outcome: Outcome, words: str) -> Verdict | None:
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
