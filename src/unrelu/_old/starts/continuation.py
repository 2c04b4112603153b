"""Starts that solve smaller or larger problems on the way: one rank up at a time, one down at a time, or both.

Where no fully seen block gives a seed (high rank), following the solution from rank to rank finds what one start from
scratch misses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.base.tolerances import CONTINUATION_LANCZOS_TOL, CONTINUATION_SMALLEST, CONTINUATION_TOL
from unrelu._old.data.observations import Observations
from unrelu._old.loop.run import run
from unrelu._old.loop.stopping import MaxIterations, RelativeGradientNormBelow
from unrelu._old.model.losses import squared_loss
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers.gauss_newton import GaussNewton
from unrelu._old.starts.base import Start
from unrelu._old.starts.spectral import Tailored

__all__ = [
    "RankIncreasing",
    "Shrinking",
    "highest_residual_eigenvalue",
    "lowest_residual_eigenpair",
    "shrunk",
    "staircase",
    "wider",
]

# How far solves on the way go.
ON_THE_WAY = RelativeGradientNormBelow(CONTINUATION_TOL) | MaxIterations(40)
# How far above its rank the staircase climbs.
STEPS_UP = 3


def _problem(observations: Observations, rank: int) -> PSDProblem:
    return PSDProblem(observations, rank, squared_loss(observations.limits))


def _solved(problem: PSDProblem, factor: Array) -> Array:
    return run(problem, GaussNewton(), (factor, factor), ON_THE_WAY, keep=False).point.factor


def lowest_residual_eigenpair(problem: PSDProblem, factor: Array) -> tuple[float, Array]:
    """The most negative eigenvalue of S ∘ (UUᵀ − T) with its vector: the direction in which adding rank helps most.

    ∇F = (S ∘ (UUᵀ − T))U vanishes at a stationary point. If no eigenvalue is negative there either, U is a global
    minimiser over positive semidefinite matrices of every rank, F being convex in UUᵀ. Where columns may have either
    sign, the eigenvalue that is largest in size, as a negative one.
    """
    signed = problem.signs is not None
    values, vectors = _ends(problem, factor, "LM" if signed else "SA")
    return -abs(float(values[0])) if signed else float(values[0]), vectors[:, 0]


def highest_residual_eigenvalue(problem: PSDProblem, factor: Array) -> float:
    """The largest eigenvalue of the same matrix: how much a column with a negative sign would help."""
    return float(_ends(problem, factor, "LA")[0][0])


def _ends(problem: PSDProblem, factor: Array, which: str) -> tuple[Floats, Array]:
    """The eigenpair at one end: SA the lowest, LA the highest, LM the largest in size."""
    n = problem.size

    def times(v: Array) -> Array:
        return problem.kernel.residual_times(factor, np.asarray(v, problem.dtype).reshape(n, -1))

    if n < 50:
        values, vectors = np.linalg.eigh(times(np.eye(n, dtype=problem.dtype)).astype(np.float64))
        k = {"SA": 0, "LA": n - 1, "LM": int(np.argmax(np.abs(values)))}[which]
        return values[k : k + 1], vectors[:, k : k + 1].astype(problem.dtype)
    operator = LinearOperator((n, n), matvec=times, matmat=times, dtype=problem.dtype)
    start = np.random.default_rng(0).standard_normal(n).astype(problem.dtype)
    values, vectors = eigsh(operator, k=1, which=which, v0=start, tol=CONTINUATION_LANCZOS_TOL)
    return values, vectors


def wider(problem: PSDProblem, factor: Array) -> Array:
    """With one column more: the direction in which adding rank helps most."""
    value, vector = lowest_residual_eigenpair(problem, factor)
    size = np.sqrt(max(-value / (2 * problem.stiffness), CONTINUATION_SMALLEST * problem.norm / problem.size))
    return np.hstack([factor, (size * vector[:, None]).astype(problem.dtype)])


def _one_less(factor: Array) -> Array:
    """Without its weakest direction."""
    left, values, _ = np.linalg.svd(factor, full_matrices=False)
    return (left * values)[:, :-1]


def staircase(problem: PSDProblem, factor: Array) -> Array:
    """From a stationary point up by the residual's most negative directions, and back down by the weakest ones."""
    top = min(factor.shape[1] + STEPS_UP, problem.size)
    while factor.shape[1] < top:
        factor = wider(problem, factor)
        factor = _solved(problem.at_rank(factor.shape[1]), factor)
    return shrunk(problem, factor, solved=True)


def shrunk(problem: PSDProblem, factor: Array, *, solved: bool = False) -> Array:
    """Down to the problem's rank by the weakest direction at a time, each rank on the way solved."""
    while factor.shape[1] > problem.rank:
        factor = factor if solved else _solved(problem.at_rank(factor.shape[1]), factor)
        factor, solved = _one_less(factor), False
    return factor


@dataclass(frozen=True)
class RankIncreasing(Start):
    """Solve at rank 1, add the most negative direction of the residual, solve again, up to the rank."""

    name = "rank-increasing"

    def __call__(self, observations: Observations, rank: int, rng: np.random.Generator) -> Array:
        """A factor of shape (n, rank) in the dtype of the data."""
        problem = _problem(observations, rank)
        root = observations.dtype.type(np.sqrt(observations.unit))
        factor = Tailored()(observations, 1, rng) / root
        while True:
            factor = _solved(problem.at_rank(factor.shape[1]), factor)
            if factor.shape[1] == rank:
                return factor * root
            factor = wider(problem, factor)


@dataclass(frozen=True)
class Shrinking(Start):
    """Solve at twice the rank, remove the weakest direction, solve again, down to the rank."""

    name = "shrinking"

    def __call__(self, observations: Observations, rank: int, rng: np.random.Generator) -> Array:
        """A factor of shape (n, rank) in the dtype of the data."""
        problem = _problem(observations, rank)
        root = observations.dtype.type(np.sqrt(observations.unit))
        return shrunk(problem, Tailored()(observations, min(2 * rank, observations.size), rng) / root) * root
