"""How a posterior is sampled: chains that begin around the fit which ``auto`` finds, and around others as good."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unrelu._old.auto.other_fits import other_fits
from unrelu._old.auto.solving import CANONICAL, cut_short
from unrelu._old.auto.strategy import Auto, Strategy
from unrelu._old.auto.task import CUT_SHORT, Attempts, Journal, Task
from unrelu._old.base.arrays import Floats
from unrelu._old.base.budget import OutOfTime, phase, unlimited
from unrelu._old.base.errors import InputError
from unrelu._old.data.canonical import canonical_order
from unrelu._old.data.observations import Observations
from unrelu._old.loop.chains import Draws
from unrelu._old.loop.history import Stop, Verdict
from unrelu._old.loop.run import Outcome, Watch, run
from unrelu._old.loop.stopping import MaxIterations, MaxSeconds
from unrelu._old.model.losses import Censored, Loss
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers import Gibbs, Solver

__all__ = ["Sampled", "mean_factor"]


@dataclass(frozen=True)
class Sampled(Strategy):
    """What ``method="gibbs"`` does: the fit of ``auto``, and chains from around it and around others as good.

    Parameters
    ----------
    solver : Gibbs
        What draws.
    diagonal : {"auto", "data", "limit", "unknown"}
        What the diagonal is: entries like the others, upper limits of ‖u_i‖², or nothing. ``auto``: nothing, for n of
        n² entries say little, and those of a correlation or kernel matrix would bend the fit.
    """

    solver: Solver[Any] = field(default_factory=Gibbs)
    diagonal: str = "auto"

    psd_only = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the sampler."""
        return self.solver.name

    def told(self, diagonal: str, pairs: str) -> Sampled:
        """The same with what the caller says of the diagonal and of pairs."""
        asked: Any = self.solver
        solver = asked if pairs == "auto" else replace(asked, pairs=pairs)
        return replace(self, solver=solver, diagonal=self.diagonal if diagonal == "auto" else diagonal)

    def default_loss(self, observations: Observations) -> tuple[Loss, bool]:
        """The likelihood, whatever absence says."""
        return Censored(), False

    def find(self, task: Task) -> Attempts:
        """A start, the chains from there, and the best factor of what they say on average."""
        sampler: Any = self.solver
        problem = task.problem
        sampler.require_size(problem.size)
        if not problem.norm > 0:
            raise InputError("method 'gibbs' needs seen entries other than zero, and got none; use method='auto'")
        order = canonical_order(problem.observations) if problem.size <= CANONICAL else np.arange(problem.size)
        among = problem.observations.reordered(order) if problem.size <= CANONICAL else problem.observations
        posed = problem.among(among.with_diagonal("unknown" if self.diagonal == "auto" else self.diagonal))
        begun, places = self._places(task, posed, order)
        if begun.outcome.verdict.code in CUT_SHORT:
            words = "that was before the first draw, and there is no posterior"
            return replace(begun, outcome=_said(begun.outcome, words), problem=problem)
        phase("sampling")
        truth = None if task.truth is None else task.truth[np.ix_(order, order)]
        sampler = replace(sampler, seed=int(task.rng.integers(2**63)))
        outcome = run(posed, sampler, (places, places), task.stopping, watch=Watch(truth, task.callback))
        tried = ("auto", *["another fit"] * (min(len(places), sampler.chains) - 1))
        with unlimited():  # the time may be over, and what was drawn is not lost
            found = self._answer(problem, outcome, np.argsort(order), posed.unit / problem.unit)
        return replace(found, tried=tried)

    def _places(self, task: Task, posed: PSDProblem, order: Any) -> tuple[Attempts, Any]:
        """The fit of ``auto``, by likelihood or by squares; and where chains begin: there, and at fits as good."""
        auto = Auto()
        rule = auto.solver.rule(None, task.problem.dtype) | MaxIterations(auto.solver.max_iter)
        limit = task.stopping.time_limit
        rule = rule if limit is None else rule | MaxSeconds(limit)
        either = not task.problem.loss.noise_given
        inner = replace(task, solver=auto.solver, stopping=rule, callback=None, journal=Journal(), either=either)
        try:
            phase("fitting")
            begun = auto.find(inner)
            # The unit of a part of the data need not be that of all of them.
            first = begun.outcome.point.factor[order] * np.sqrt(task.problem.unit / posed.unit)
            first = first.astype(task.problem.dtype)
            if begun.outcome.verdict.code in CUT_SHORT:
                return begun, first[None]
            rng = np.random.default_rng(first.shape)  # the same question, the same answer
            return begun, np.stack([first, *other_fits(posed, first, rng)])
        except (KeyboardInterrupt, OutOfTime) as end:
            return cut_short(inner, end), None

    def _answer(self, problem: PSDProblem, outcome: Outcome, back: Any, ratio: float) -> Attempts:
        """The draws in the caller's order of rows, and the factor that is nearest to their mean."""
        none = np.zeros(0, np.intp)
        draws: Draws = outcome.gathered
        if draws is None or not draws.enough:
            words = "that was before the chains had drawn anything, and there is no posterior"
            ended = replace(_said(outcome, words), gathered=None)
            point = problem.evaluate(outcome.point.factor[back] * problem.dtype.type(np.sqrt(ratio)))
            return Attempts(replace(ended, point=point, objective=point.value), "auto", ("auto",), none, problem)
        draws = draws.mapped(back, ratio)
        point = problem.evaluate(mean_factor(draws.stacked()[0], problem.rank).astype(problem.dtype))
        last = len(outcome.history) - 1
        ended = replace(outcome, point=point, objective=point.value, own=None, apart=0.0, iteration=last)
        return Attempts(replace(ended, gathered=draws), "auto", ("auto",), none, problem)


def mean_factor(draws: Any, rank: int) -> Floats:
    """U of the rank with UUᵀ nearest to the mean of the products of many factors, of shape (…, n, r).

    Examples
    --------
    >>> turned = np.array([[[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [2.0, 0.0]]])  # one matrix, drawn twice
    >>> U = mean_factor(turned, 2)
    >>> (U @ U.T).round(6).tolist()
    [[1.0, 0.0], [0.0, 4.0]]
    """
    n, r = draws.shape[-2:]
    each = draws.reshape(-1, n, r).astype(np.float64)
    mean = np.zeros((n, n))
    for factor in each:
        mean += factor @ factor.T
    sizes, vectors = np.linalg.eigh(mean / len(each))
    found: Floats = (vectors[:, ::-1] * np.sqrt(np.maximum(sizes[::-1], 0.0)))[:, :rank]
    return found


def _said(outcome: Outcome, words: str) -> Outcome:
    verdict = outcome.verdict
    return replace(outcome, verdict=Verdict(Stop(verdict.code), f"{verdict.reason}; {words}"))
