"""A completion from what chains have drawn: in the caller's units, with a verdict on how far they agree."""

from __future__ import annotations

import numpy as np

from unrelu.auto.task import Attempts, Task
from unrelu.base.tolerances import SAMPLED_AGREE
from unrelu.loop.chains import Draws
from unrelu.loop.history import Stop, Verdict, in_units
from unrelu.results.completion import Completion
from unrelu.results.witnesses import Sampling
from unrelu.solvers.gibbs import agreement

__all__ = ["completion_of_draws"]


def completion_of_draws(task: Task, attempts: Attempts) -> Completion:
    """The answer to a task that was sampled."""
    problem, outcome = task.problem, attempts.outcome
    observations, unit, point = problem.observations, problem.unit, outcome.point
    drawn: Draws = outcome.gathered.mapped(slice(None), unit)
    misfit = problem.misfit_at(point)
    sigma = np.stack(drawn.sigmas, axis=1)
    return Completion(
        factor=point.factor * observations.dtype.type(np.sqrt(unit)),
        verdict=_verdict(outcome.verdict, drawn),
        history=outcome.history,
        objective=in_units(point.value, unit, problem.value_power),
        residual=misfit / problem.norm,
        method=task.solver.name,
        start=attempts.start,
        loss=problem.loss.name,
        seen=(observations.count, observations.norm),
        iteration=outcome.iteration,
        labels=observations.labels,
        sigma=float(np.sqrt(np.mean(sigma**2))),
        sigma_given=problem.loss.noise_given,
        witnesses=Sampling(),
        drawn=drawn,
    )


def _verdict(ended: Verdict, drawn: Draws) -> Verdict:
    """Whether the chains agree, whatever ended them; one that was cut short says so."""
    worst, least = agreement(drawn)
    chains, count = len(drawn.sigmas[0]), len(drawn.numbers)
    words = (
        f"{chains} chains of {drawn.sweeps} sweeps, of which {chains * count} draws are kept; R̂ of entries is at most "
        f"{worst:.3f}, and the draws of each are worth at least {least:.0f} independent ones"
    )
    if ended.code in (Stop.CONVERGED, Stop.MAX_ITERATIONS) and worst < SAMPLED_AGREE:
        return Verdict(Stop.SAMPLED, words)
    apart = f"the chains do not agree yet (R̂ must be below {SAMPLED_AGREE:g})" if worst >= SAMPLED_AGREE else ""
    advice = "raise max_iter, lower the rank, or take intervals for too narrow"
    if ended.code in (Stop.CONVERGED, Stop.MAX_ITERATIONS):
        return Verdict(Stop.MAX_ITERATIONS, f"{apart}: {words}; {advice}")
    reason = ended.reason.replace("; this is the best point so far", "")
    return Verdict(ended.code, "; ".join(part for part in (reason, words, apart) if part))
