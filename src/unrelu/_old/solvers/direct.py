"""No search at all: one fully seen block, and linear least squares for every other row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import InputError, is_integer
from unrelu._old.loop.stopping import DetailBelow, StoppingRule
from unrelu._old.placing.direct import direct_placement
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers.base import PointIterate, Solver

__all__ = ["Direct"]


@dataclass(frozen=True)
class Direct(Solver[PointIterate]):
    """Factor a fully seen block of rank r, attach every row that sees r independent placed ones, the best first.

    Without noise it recovers the planted matrix to rounding wherever the data fix it from one block, in any family of
    factors, and each step has at most one answer. In a table columns are attached as rows are. With noise the
    attachments amplify it: use ``auto``, which goes on from here by Gauss–Newton. Rows that cannot be attached are
    completed with the least norm.

    Parameters
    ----------
    seed : int, default 0
        Of the search for the block.
    stopping : {"relative", "paper"}
        The same rule for both: converged if the relative residual is at most 1e-9 (float32: 1e-4).

    References
    ----------
    This library's own; the paper proves uniqueness from such blocks (Theorem 1) but does not compute with them.
    """

    seed: int = 0
    stopping: str = "relative"

    name = "direct"
    weighs = False
    max_iter = 2
    default_start = None
    takes_start = False
    default_tol: ClassVar = {"float64": 1e-9, "float32": 1e-4}
    units: ClassVar = {"residual": 1.0, "bound": 0.5}

    def check(self) -> None:
        """A seed is an integer."""
        self.need(is_integer(self.seed) and self.seed >= 0, "seed", "an integer ≥ 0")

    def relative_rule(self, tol: float) -> StoppingRule:
        """A residual at rounding level."""
        return DetailBelow("residual", tol, relative=True)

    def paper_rule(self) -> StoppingRule:
        """The same: the paper has no such method."""
        return self.relative_rule(1e-9)

    def start(self, problem: PSDProblem, left: Array, right: Array) -> PointIterate:
        """Everything happens here."""
        placement = direct_placement(problem.observations, problem.rank, np.random.default_rng(self.seed))
        if placement is None:
            raise InputError(
                f"method 'direct' needs a fully seen block of rank {problem.rank}, and none was found; "
                "use method='auto'"
            )
        point = problem.evaluate(placement.completed(problem.observations).astype(problem.dtype))
        residual = problem.over_entries(problem.misfit(point.value))
        return PointIterate(point, {"residual": residual, **placement.details})

    def step(self, problem: PSDProblem, state: PointIterate) -> PointIterate:
        """There is no second step."""
        share = problem.misfit(state.point.value) / problem.norm if problem.norm else 0.0
        words = (
            f"the placed rows leave a relative residual of {share:.2g}: noise, a wrong rank, or rows without a place"
        )
        return replace(state, stuck=f"{words}; use method='auto', which goes on from here")
