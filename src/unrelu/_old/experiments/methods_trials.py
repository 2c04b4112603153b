"""One trial of ``figure-methods``: a method on a matrix, its CPU seconds, and its matrix compared in four ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np

from unrelu._old.auto.by_piece import complete_by_piece
from unrelu._old.auto.task import Task as Solving
from unrelu._old.base.arrays import Array
from unrelu._old.data.observations import Observations
from unrelu._old.data.planted import Planted
from unrelu._old.data.sampling import relu
from unrelu._old.experiments.base import Row, Task
from unrelu._old.experiments.methods_readings import VARIANTS, RandomADMM, Variant, bound
from unrelu._old.experiments.solve import descend, instance, paper_start
from unrelu._old.loop.history import Record
from unrelu._old.loop.run import run
from unrelu._old.loop.stopping import MaxIterations
from unrelu._old.model.factors import nearest_psd, relative_error
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers import ADMM, GNMR, GaussNewton, GradientDescent, Solver
from unrelu._old.starts import STARTS

__all__ = ["solve"]

# LRᵀ, the nearest positive semidefinite matrix of the rank, and how the run went.
Found = tuple[tuple[Array, Array], Array, Row]


def solve(task: Task, most: int | None = None) -> Row:
    """Run what a task names, for at most so many iterations.

    Examples
    --------
    Without noise M and M* are the same matrix, and a method's errors against both are the same number.

    >>> row = solve({"n": 40, "r": 2, "sigma": 0.0, "method": "pam 0", "seed": 0})
    >>> row["own_m"] == row["own_clean"], row["psd_m"] == row["psd_clean"], row["psd_m"] < row["own_m"] < 1e-3
    (True, True, True)
    """
    made, variant = instance(task), VARIANTS[task["method"]]
    X = relu(made.matrix)
    seed = [task["seed"], 7, *([variant.draw] if variant.draw else [])]
    if variant.step is not None:
        (left, right), factor, about = _descent(variant, X, task["r"], seed, most or GradientDescent.max_iter)
    elif variant.solver is None:
        (left, right), factor, about = _default(X, task["r"], seed, made.truth)
    else:
        (left, right), factor, about = _named(replace(variant, cap=most or variant.cap), variant.solver, made, X, seed)
    return {
        **about,
        "own_m": relative_error(left, made.matrix, right),
        "own_clean": relative_error(left, made.truth, right),
        "psd_m": relative_error(factor, made.matrix),
        "psd_clean": relative_error(factor, made.truth),
    }


def _descent(variant: Variant, X: Array, rank: int, seed: Any, most: int) -> Found:
    """Gradient descent; it stops on the gradient as the paper prints it, twice the true one."""
    start, cpu = paper_start("tailored", X, rank, seed, scaled=variant.scaled)
    assert variant.step is not None
    found = descend(
        Observations.of(X),
        start,
        gradient=bound(GradientDescent(stopping="paper").paper_rule()) / 2,
        step=variant.step,
        most=most,
    )
    about = {"cpu": cpu + found.cpu, "iterations": found.iterations, "code": found.verdict.code.value}
    return (found.factor, found.factor), found.factor, about


def _default(X: Array, rank: int, seed: Any, truth: Array) -> Found:
    """What ``complete`` does when nothing is named, timed as a whole and after each iteration."""
    observations = Observations.of(X)
    solver = GaussNewton()
    problem = PSDProblem(observations, rank, solver.default_loss(observations))
    rule = solver.rule(None, observations.dtype) | MaxIterations(solver.max_iter)
    times: list[float] = []
    began = process_time()

    def timed(_: Record) -> None:
        times.append(process_time() - began)

    found = complete_by_piece(Solving(problem, solver, rule, np.random.default_rng(seed), callback=timed))
    cpu = process_time() - began
    # The same run again, not timed, for the error at each of those times.
    errors: list[float] = []

    def measured(record: Record) -> None:
        errors.append(np.nan if record.error is None else record.error)

    complete_by_piece(Solving(problem, solver, rule, np.random.default_rng(seed), truth, measured))
    outcome = found.outcome
    factor = outcome.point.factor * np.sqrt(problem.unit)
    about: Row = {"cpu": cpu, "iterations": outcome.history[-1].iteration, "code": outcome.verdict.code.value}
    about["path"] = {"cpu": times, "clean": errors}
    return (factor, factor), factor, about


class _Last:
    """A solver of which the last state is kept: what a run that was cut off has come to, not its best point.

    Nothing is recorded beside what the stopping rules ask for. The objective of GNMR may rise by ten decades on its way
    and comes down again; the loop is told no more than the first one, for it would call that divergence.
    """

    def __init__(self, solver: Solver[Any]) -> None:
        self.solver = solver
        self.units = solver.units
        self.state: Any = None

    def start(self, problem: Any, left: Array, right: Array) -> Any:
        self.state = self.solver.start(problem, left, right)
        return self.state

    def step(self, problem: Any, state: Any) -> Any:
        self.state = self.solver.step(problem, state)
        if isinstance(self.solver, GNMR) and np.isfinite(self.state.objective):
            return replace(self.state, objective=min(self.state.objective, state.objective))
        return self.state

    def diagnostics(self, problem: Any, state: Any) -> Mapping[str, float]:
        return {}


def _named(variant: Variant, solver: Solver[Any], made: Planted, X: Array, seed: Any) -> Found:
    """A method from its own start."""
    rank = made.factor.shape[1]
    observations = Observations.of(X)
    if isinstance(solver, ADMM):
        solver = replace(solver, delta=float(np.sum((made.matrix - made.truth) ** 2)))
    problem = PSDProblem(observations, rank, solver.default_loss(observations))
    root = np.sqrt(problem.unit)
    began = process_time()
    left, right = _start(solver, observations, rank, np.random.default_rng(seed))
    cpu = process_time() - began
    rule = solver.rule(None, observations.dtype) if variant.rule is None else variant.rule
    last = _Last(solver)
    outcome = run(problem, last, (left / root, right / root), rule | MaxIterations(variant.cap or solver.max_iter))
    record, factors = outcome.history[-1], last.state.factors
    own = factors.left * root, factors.right * root
    finite = all(np.isfinite(part).all() for part in own)
    factor = nearest_psd(*own, rank)[0] if finite else np.full((len(X), rank), np.inf)
    about = {"cpu": cpu + record.cpu_seconds, "iterations": record.iteration, "code": outcome.verdict.code.value}
    return own, factor, about


def _start(solver: Solver[Any], observations: Observations, rank: int, rng: np.random.Generator) -> tuple[Array, Array]:
    n, root = observations.size, np.sqrt(observations.unit)
    if isinstance(solver, RandomADMM):
        first, multipliers = rng.standard_normal((2, n, n))
        assert solver.rho is not None
        moved = multipliers / solver.rho
        return (first + moved) / root, moved / root  # not factors: each is a matrix, and is divided by the root again
    if solver.default_start is None:
        zero = np.zeros((n, rank), observations.dtype)
        return zero, zero
    return STARTS[solver.default_start]().pair(observations, rank, rng)
