"""Fits among which one chooses where no rank is named: so many columns, or as many as a price on size leaves.

Neighbours on a path begin where the last one ended: with Y = UUᵀ − R/2k, R the slopes of F at UUᵀ and k the curvature
of an entry that is met, the top eigenvectors of Y are a step of expectation and maximisation for any number of columns,
and with a price of λ its eigenvalues are shrunk by λ as they should be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from unrelu._old.base.arrays import Array, Floats, Indices
from unrelu._old.base.tolerances import CANDIDATES_FITTED, CANDIDATES_LANCZOS, CANDIDATES_SMALLEST
from unrelu._old.data.observations import Observations
from unrelu._old.kernels import kernel_for
from unrelu._old.kernels.penalised import Penalised
from unrelu._old.loop.run import run
from unrelu._old.loop.stopping import MaxIterations, RelativeGradientNormBelow
from unrelu._old.model.losses import Censored
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers import GaussNewton

__all__ = ["Candidate", "Fitted", "fitted", "next_factor"]

# How far a fit goes: what is left is far below what choices differ by.
FAR = RelativeGradientNormBelow(CANDIDATES_FITTED) | MaxIterations(60)
# Up to so many rows eigenvectors are found all at once.
FEW_ROWS = 200


@dataclass(frozen=True)
class Candidate:
    """A model: how many columns at most, what a size costs, and what the diagonal is.

    Attributes
    ----------
    rank : int
    shrinkage : float
        λ of the trace, in the units of the data; 0 for none.
    diagonal : {"data", "unknown", "limit"}
        As in :meth:`unrelu._old.data.observations.Observations.with_diagonal`.
    """

    rank: int
    shrinkage: float = 0.0
    diagonal: str = "data"

    def __str__(self) -> str:
        model = f"a trace penalty of {self.shrinkage:.3g}" if self.shrinkage else f"rank {self.rank}"
        return model if self.diagonal == "data" else f"{model}, diagonal as {self.diagonal}"

    def problem(self, observations: Observations, sigma: float | None = None) -> PSDProblem:
        """By likelihood, with the noise estimated, from ``sigma`` on if that is given."""
        seen = observations.with_diagonal(self.diagonal)
        kernel = Penalised(self.shrinkage) if self.shrinkage else kernel_for
        return PSDProblem(seen, self.rank, Censored(level=sigma) if sigma else Censored(), kernel)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A candidate and its fit, in the units of the data."""

    candidate: Candidate
    factor: Array
    sigma: float
    iterations: int = 0
    value: float = np.inf  # of the objective, in units

    def entries(self, rows: Indices, cols: Indices) -> Floats:
        """Of UUᵀ at (rows[k], cols[k])."""
        found: Floats = np.einsum("ek,ek->e", self.factor[rows], self.factor[cols], dtype=np.float64)
        return found


def fitted(observations: Observations, candidate: Candidate, before: Fitted | None = None) -> Fitted:
    """The fit of a candidate, from that of a neighbour if there is one."""
    problem = candidate.problem(observations, None if before is None else before.sigma)
    root = problem.dtype.type(np.sqrt(problem.unit))
    here = (
        np.zeros((problem.size, 1), problem.dtype) if before is None else (before.factor / root).astype(problem.dtype)
    )
    start = next_factor(problem, here)
    found = run(problem.at_rank(start.shape[1]), GaussNewton(), (start, start), FAR, keep=False)
    loss = found.point.loss or problem.loss
    assert loss.noise is not None
    return Fitted(candidate, found.point.factor * root, float(loss.noise), len(found.history), found.point.value)


def next_factor(problem: PSDProblem, factor: Array) -> Array:
    """Top eigenvectors of Y with their positive eigenvalues: as many as the rank of the problem, one at least."""
    n, most = problem.size, min(problem.rank, problem.size)
    stiff = 2 * problem.stiffness

    def times(v: Array) -> Array:
        v = np.asarray(v, problem.dtype).reshape(n, -1)
        product: Array = factor @ (factor.T @ v) - problem.kernel.residual_times(factor, v) / problem.dtype.type(stiff)
        return product

    if n <= FEW_ROWS or most > n // 3:
        values, vectors = np.linalg.eigh(times(np.eye(n, dtype=problem.dtype)).astype(np.float64))
        values, vectors = values[::-1][:most], vectors[:, ::-1][:, :most]
    else:
        operator = LinearOperator((n, n), matvec=times, matmat=times, dtype=problem.dtype)
        start = np.random.default_rng(0).standard_normal(n).astype(problem.dtype)
        values, vectors = eigsh(operator, k=most, which="LA", v0=start, tol=CANDIDATES_LANCZOS)
        order = np.argsort(values)[::-1]
        values, vectors = values[order], vectors[:, order]
    floor = CANDIDATES_SMALLEST * max(float(values[0]), problem.norm / n)
    kept = values > floor if problem.kernel_maker is not kernel_for else np.ones(len(values), dtype=bool)
    kept[0] = True
    return (vectors[:, kept] * np.sqrt(np.maximum(values[kept], floor))).astype(problem.dtype)
