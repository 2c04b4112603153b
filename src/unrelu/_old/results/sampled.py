"""A completion from what chains have drawn: in the caller's units, with a verdict on how far they agree."""

from __future__ import annotations

import numpy as np

from unrelu._old.auto.task import Attempts, Task
from unrelu._old.base.arrays import Indices
from unrelu._old.base.budget import checkpoint, unlimited
from unrelu._old.base.tolerances import SAMPLED_AGREE, SAMPLED_EFFECTIVE
from unrelu._old.data.labels import listed_rows
from unrelu._old.loop.chains import Draws, r_hat, root_mean_square
from unrelu._old.loop.history import Stop, Verdict, in_units
from unrelu._old.proofs.elsewhere import unchanged
from unrelu._old.results.completion import Completion
from unrelu._old.results.witnesses import Sampling
from unrelu._old.solvers.gibbs import agreement, agreement_by_place

__all__ = ["completion_of_draws"]

# Entries by which the rows are found in which chains differ, at most, and how many at once.
LOOKED_AT, TOGETHER = 5000, 500
# Means of chains that are further apart than this times the noise are what nobody would call the same.
FAR = 2.0


def completion_of_draws(task: Task, attempts: Attempts) -> Completion:
    """The answer to a task that was sampled."""
    problem, outcome = task.problem, attempts.outcome
    observations, unit, point = problem.observations, problem.unit, outcome.point
    drawn: Draws = outcome.gathered.mapped(slice(None), unit)
    misfit = problem.misfit_at(point)
    places = len(attempts.tried)
    with unlimited():  # the time may be over, and what was drawn is not lost
        apart = _apart(drawn) if places > 1 else np.zeros(0, np.intp)
        named = listed_rows(apart, observations.labels) if apart.size else ""
        verdict = _verdict(outcome.verdict, drawn, places, named)
    return Completion(
        factor=point.factor * observations.dtype.type(np.sqrt(unit)),
        verdict=verdict,
        history=outcome.history,
        objective=in_units(point.value, unit, problem.value_power),
        residual=misfit / problem.norm,
        method=task.solver.name,
        start=attempts.start,
        loss=problem.loss.name,
        seen=(observations.count, observations.norm),
        iteration=outcome.iteration,
        undetermined_rows=apart if not verdict.answered else np.zeros(0, np.intp),
        labels=observations.labels,
        sigma=root_mean_square(np.stack(drawn.sigmas)),
        sigma_given=problem.loss.noise_given,
        witnesses=Sampling(),
        drawn=drawn,
    )


def _verdict(ended: Verdict, drawn: Draws, places: int = 1, named: str = "") -> Verdict:
    """Whether the chains agree, whatever ended them; one that was cut short says so.

    ``places``: at how many fits they began; ``named``: the rows in which chains from several of them differ.
    """
    worst, least = agreement(drawn)
    chains, count = len(drawn.sigmas[0]), len(drawn.numbers)
    words = (
        f"{chains} chains of {drawn.sweeps} sweeps, of which {chains * count} draws are kept; R̂ of entries is at most "
        f"{worst:.3f}, and the draws of each are worth at least {least:.0f} independent ones"
    )
    doubt = _doubt(worst, least)
    whole = ended.code in (Stop.CONVERGED, Stop.MAX_ITERATIONS)
    if whole and not doubt:
        return Verdict(Stop.SAMPLED, words)
    several = (
        f"the chains began at {places} fits that the data do not tell apart, which differ most in {named}"
        if named
        else ""
    )
    if whole and named and agreement_by_place(drawn, places)[0] < SAMPLED_AGREE:
        fact = f"{several}, and chains do not travel from one to another"
        advice = "intervals cover all of these places, but do not weigh them; see more entries of these rows"
        return Verdict(Stop.UNDERDETERMINED, f"{fact}: {words}; {advice}")
    if whole:
        advice = "raise max_iter, lower the rank, or take intervals for too narrow"
        return Verdict(Stop.MAX_ITERATIONS, "; ".join(part for part in (f"{doubt}: {words}", several, advice) if part))
    reason = ended.reason.replace("; this is the best point so far", "")
    return Verdict(ended.code, "; ".join(part for part in (reason, words, doubt, several) if part))


def _doubt(worst: float, least: float) -> str:
    """Why draws are no posterior yet, if they are none."""
    if not worst < SAMPLED_AGREE:
        return f"the chains do not agree yet (R̂ must be below {SAMPLED_AGREE:g})"
    if not least >= SAMPLED_EFFECTIVE:
        return f"there are too few draws yet (they must be worth {SAMPLED_EFFECTIVE:g} independent ones)"
    return ""


def _apart(drawn: Draws) -> Indices:
    """The fewest rows without which chains agree: those of entries whose R̂ is too large, the worst row first.

    Rows by which others hang differ too, but by less than the noise; they are named only if all differ by that little.
    """
    factors, sigmas = drawn.stacked()
    n = factors.shape[2]
    i, j = np.triu_indices(n)
    some = np.random.default_rng(n).permutation(len(i))[:LOOKED_AT]
    differs, far = np.zeros((2, n, n), bool)
    noise = FAR * root_mean_square(sigmas)
    for k in np.array_split(some, max(len(some) // TOGETHER, 1)):
        checkpoint()
        entries = np.einsum("cskr,cskr->csk", factors[:, :, i[k]], factors[:, :, j[k]], dtype=np.float64)
        differs[i[k], j[k]] = differs[j[k], i[k]] = r_hat(entries) >= SAMPLED_AGREE
        far[i[k], j[k]] = far[j[k], i[k]] = np.ptp(entries.mean(axis=1), axis=0) > noise
    far &= differs
    return np.flatnonzero(~unchanged(far if far.any() else differs, np.ones(n, bool)))
