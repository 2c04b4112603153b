"""What a solver is: hyperparameters, and one step at a time. It owns no loop, no clock, no printing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.base.errors import InputError, unknown_name
from unrelu._old.data.limits import Limits
from unrelu._old.data.observations import Observations
from unrelu._old.loop.states import Iterate, PointIterate, TwoFactorIterate
from unrelu._old.loop.stopping import RelativeGradientNormBelow, StoppingRule
from unrelu._old.model.losses import Loss, squared_loss
from unrelu._old.problems.psd import PSDProblem

__all__ = ["Iterate", "PointIterate", "Solver", "TwoFactorIterate"]

STOPPING = ("relative", "paper")
# A loss that makes nothing of this makes nothing of any limit.
ANY_LIMIT = Limits(high=0.0)


State = TypeVar("State", bound=Iterate)


class Solver(Generic[State]):
    """A frozen dataclass of hyperparameters with ``start`` and ``step``; its state travels.

    Class attributes say what it can do: whether the loss must be a square (``squared_only``), and whether it
    ``hears_limits`` of unseen entries; the ``default_start`` (None: it starts from zero); whether it ``takes_start`` at
    all; whether it ``weighs`` entries, by weights and by noise of their own; whether it solves a ``convex`` program,
    which has no wrong stationary points; why it is ``not_for_tables``, if it is not; what it ``needs`` of a problem
    beside what every problem has; whether it ``samples`` a posterior instead of looking for a point; how many
    iterations it takes at most (``max_iter``) and how far it goes (``default_tol``).

    Examples
    --------
    Steepest descent with an exact line search, in ten lines.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class SteepestDescent(Solver):
    ...     stopping: str = "relative"
    ...     name, max_iter = "steepest-descent", 2000
    ...
    ...     def start(self, problem, left, right):
    ...         return PointIterate(problem.evaluate(left))
    ...
    ...     def step(self, problem, state):
    ...         point, D = state.point, -state.point.gradient
    ...         return PointIterate(problem.evaluate(point.factor + problem.line(point, D).lowest() * D))
    >>> import unrelu
    >>> X = np.outer([1.0, 2, 3, 4], [1.0, 2, 3, 4])
    >>> unrelu.complete(X, rank=1, method=SteepestDescent(), tol=1e-8, rng=0).verdict.code.value
    'fitted'
    """

    name: ClassVar[str]
    squared_only: ClassVar[bool] = True
    hears_limits: ClassVar[bool] = True
    default_start: ClassVar[str | None] = "tailored"
    takes_start: ClassVar[bool] = True
    weighs: ClassVar[bool] = True
    convex: ClassVar[bool] = False
    not_for_tables: str | None = None
    max_iter: ClassVar[int] = 1000
    needs: ClassVar[tuple[str, ...]] = ()
    samples: ClassVar[bool] = False
    # Relative gradient norms that the arithmetic can reach with a margin.
    default_tol: ClassVar[Mapping[str, float]] = {"float64": 1e-11, "float32": 2e-7}
    # Which power of the data's unit a detail carries, for those that have one.
    units: ClassVar[Mapping[str, float]] = {}
    stopping: str

    def __post_init__(self) -> None:
        if self.stopping not in STOPPING:
            raise unknown_name(f"stopping of {self.name}", self.stopping, STOPPING)
        self.check()

    def check(self) -> None:
        """Raise :class:`InputError` for hyperparameters out of range."""

    def need(self, condition: bool, parameter: str, range_: str) -> None:
        """Raise the error that names a parameter's range, unless the condition holds."""
        if not condition:
            raise InputError(f"{parameter} of {self.name} must be {range_}, got {getattr(self, parameter)!r}")

    def default_loss(self, observations: Observations) -> Loss:
        """The loss this method minimises when none is named: with what absence says, if it says something.

        Gaps alone are no help on the way, for an entry on the wrong side of one stays there.
        """
        return squared_loss(observations.limits.apart_from_gaps() if self.hears_limits else None)

    def accepts(self, loss: Loss) -> bool:
        """Whether this method can minimise a loss."""
        return (loss.squared or not self.squared_only) and (self.hears_limits or loss.heard(ANY_LIMIT).nothing)

    def rule(self, tol: float | None, dtype: np.dtype[Any]) -> StoppingRule:
        """When this method has converged: the paper's absolute rule if asked for, else one relative to the data."""
        if tol is None and self.stopping == "paper":
            return self.paper_rule()
        return self.relative_rule(self.default_tol[dtype.name] if tol is None else tol)

    def relative_rule(self, tol: float) -> StoppingRule:
        """Converged to a relative ``tol``."""
        return RelativeGradientNormBelow(tol)

    def paper_rule(self) -> StoppingRule:
        """The rule of the paper's appendix."""
        raise NotImplementedError

    def start(self, problem: PSDProblem, left: Array, right: Array) -> State:
        """The state at the starting factors (the same one twice, unless the start has two)."""
        raise NotImplementedError

    def step(self, problem: PSDProblem, state: State) -> State:
        """The state one iteration later; the old one stays as it is."""
        raise NotImplementedError

    def diagnostics(self, problem: PSDProblem, state: State) -> Mapping[str, float]:
        """What is worth recording but not part of the method; its time does not count."""
        return {}
