"""A plain function as a method: it is called once, and what it returns is judged like any other answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import InputError
from unrelu._old.loop.history import History, Stop, Verdict
from unrelu._old.loop.states import Iterate, PointIterate, TwoFactorIterate
from unrelu._old.loop.stopping import Scaled, StoppingRule
from unrelu._old.model.factors import Factors, Symmetric
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers.base import Solver

__all__ = ["Function"]


@dataclass(frozen=True)
class _Returned(StoppingRule):
    name: str

    def check(self, history: History, problem: Scaled) -> Verdict | None:
        """At once."""
        return Verdict(Stop.CONVERGED, f"{self.name} has returned")


@dataclass(frozen=True)
class Function(Solver[Iterate]):
    """A caller's own method: ``function(problem)`` returns :class:`~unrelu.Factors`, or U, in units of the problem.

    U of a table is [L; R].

    Parameters
    ----------
    function : callable
        From a :class:`~unrelu._old.problems.PSDProblem` to factors.
    stopping : {"relative", "paper"}
        Without meaning here.

    Examples
    --------
    >>> import unrelu
    >>> def top_eigenvectors(problem):
    ...     everyone = np.arange(problem.size)
    ...     values, _ = problem.observations.pairs(everyone, everyone)
    ...     sizes, vectors = np.linalg.eigh(values)
    ...     return vectors[:, -problem.rank :] * np.sqrt(np.maximum(sizes[-problem.rank :], 0))
    >>> X = np.outer([1.0, 2, 3], [1.0, 2, 3])
    >>> found = unrelu.complete(X, rank=1, method=top_eigenvectors)
    >>> found.method, found.verdict.code.value
    ('top_eigenvectors', 'fitted')
    """

    function: Callable[[PSDProblem], Factors | Array]
    stopping: str = "relative"

    squared_only = False
    default_start = None
    takes_start = False
    max_iter = 1
    default_tol: ClassVar = {"float64": 1e-9, "float32": 1e-4}

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the function."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def check(self) -> None:
        """A function can be called."""
        self.need(callable(self.function), "function", "callable")

    def relative_rule(self, tol: float) -> StoppingRule:
        """It has returned."""
        return _Returned(self.name)

    def paper_rule(self) -> StoppingRule:
        """It has returned."""
        return _Returned(self.name)

    def start(self, problem: PSDProblem, left: Array, right: Array) -> Iterate:
        """Everything happens here."""
        found = self.function(problem)
        factors = found if isinstance(found, Factors) else Symmetric(_array(found))
        sides = (problem.size, problem.size) if factors.left is factors.right else problem.bands.shape
        for factor, side in zip((factors.left, factors.right), sides, strict=True):
            wanted = (side, problem.rank)
            came = None if np.shape(factor) == wanted else f"shape {np.shape(factor)}"
            if came is None and np.asarray(factor).dtype.kind not in "fiu":
                came = f"dtype {np.asarray(factor).dtype}"
            if came is None and not np.isfinite(factor).all():
                came = "entries that are not finite"
            if came is not None:
                raise InputError(f"method {self.name!r} must return finite real factors of shape {wanted}, got {came}")
        if factors.left is factors.right:
            return PointIterate(problem.evaluate(factors.left.astype(problem.dtype)))
        value, _, _ = problem.bands.products(factors.left, factors.right, None, None)
        return TwoFactorIterate(factors.left, factors.right, value)

    def step(self, problem: PSDProblem, state: Iterate) -> Iterate:
        """There is no second step."""
        return state


def _array(found: Any) -> Any:
    """What a function returned, as an array; rows of different lengths as one of no shape."""
    try:
        return np.asarray(found)
    except ValueError:
        return np.asarray(None)
