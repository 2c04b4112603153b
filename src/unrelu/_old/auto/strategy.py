"""How a task is solved: one method from one start, or a plan of several; an object that can be printed and replaced."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

from unrelu._old.auto.solving import escalated, run_once
from unrelu._old.auto.task import Attempts, Plan, Task
from unrelu._old.base.errors import InputError, is_integer, is_number, unknown_name
from unrelu._old.data.observations import Observations
from unrelu._old.loop.stopping import MaxSeconds, StoppingRule
from unrelu._old.model.losses import Censored, Loss
from unrelu._old.solvers import GaussNewton, Solver

__all__ = ["Auto", "Once", "Strategy"]

Own = TypeVar("Own", bound="Strategy")


class Strategy:
    """What finds the answer to a task; ``solver`` runs its attempts and says which loss and which tolerance are meant.

    Examples
    --------
    A strategy of one's own: three random starts, the best of which is returned.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class BestOfThree(Strategy):
    ...     name = "best-of-three"
    ...
    ...     def find(self, task):
    ...         n, r = task.problem.size, task.problem.rank
    ...         tried = [task.attempt("random", task.rng.standard_normal((n, r))) for _ in range(3)]
    ...         return task.answer(min(tried, key=lambda outcome: outcome.point.value))
    >>> import numpy as np, unrelu
    >>> X = np.outer([1.0, 2, 3, 4], [1.0, 2, 3, 4])
    >>> found = unrelu.complete(X, rank=1, method=BestOfThree(), rng=0)
    >>> found.method, len(found.attempts), found.verdict.code.value
    ('best-of-three', 3, 'fitted')
    """

    name: ClassVar[str]
    # Whether it rests on what is known of positive semidefinite matrices, and can do nothing for other problems.
    psd_only: ClassVar[bool] = False
    solver: Solver[Any] = GaussNewton()

    @property
    def method(self) -> str:
        """What a completion calls its method."""
        return self.name

    def find(self, task: Task) -> Attempts:
        """Solve the task, and say what was tried."""
        raise NotImplementedError

    def default_loss(self, observations: Observations) -> tuple[Loss, bool]:
        """The loss that is minimised when none is named, and whether its squares may do instead, by the noise found."""
        return self.solver.default_loss(observations), False

    def limited(self, stopping: StoppingRule) -> StoppingRule:
        """A caller's stopping rule with this strategy's own limits."""
        return stopping

    def told(self: Own, diagonal: str, pairs: str) -> Own:
        """The same with what the caller says of the diagonal and of pairs, where that matters to it."""
        return self

    @property
    def samples(self) -> bool:
        """Whether it draws from a posterior."""
        return self.solver.samples

    def stopping_as(self: Own, stopping: str) -> Own:
        """The same with its method's rule relative to the data, or the paper's absolute one."""
        changed: Any = replace(self.solver, stopping=stopping)  # type: ignore[type-var]
        return dataclasses.replace(self, solver=changed)  # type: ignore[type-var]


@dataclass(frozen=True)
class Once(Strategy):
    """One method from one start."""

    solver: Solver[Any]
    start: Any = "auto"

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the method."""
        return self.solver.name

    def find(self, task: Task) -> Attempts:
        """One run."""
        return run_once(task, self.start)


@dataclass(frozen=True)
class Auto(Strategy):
    """What ``method="auto"`` does: one start after the other, the cheapest first, until the fit is at its floor.

    Parameters
    ----------
    starts : tuple of str
        Which starts: those that are printed below, or some of them. They are tried in that order, the cheapest first,
        whatever order they are given in.
    passes : int, default 20,000
        Passes over the matrix (evaluations and products with the curvature) after which no further start is tried.
    seconds : float, optional
        The most that a call may take by the clock; the best so far is returned then.
    solver : Solver, default GaussNewton()
        What runs every attempt.

    Examples
    --------
    >>> print(Auto(starts=("clique", "tailored"), seconds=60))
    auto: gauss-newton from one start after the other, until the fit is at its floor
      1. clique: rows placed by linear equations from a block that was seen in full
      2. tailored: top eigenvectors, with unseen entries drawn on the side where they lie
    at most 20000 passes over the matrix and 60 seconds; pieces that never see each other are solved one by one
    """

    starts: tuple[str, ...] = tuple(Plan.KNOWN)
    passes: int = Plan.passes
    seconds: float | None = None
    solver: Solver[Any] = field(default_factory=GaussNewton)

    name = "auto"
    psd_only = True

    @property
    def method(self) -> str:
        """That of its solver."""
        return self.solver.name

    def __post_init__(self) -> None:
        if not isinstance(self.starts, (tuple, list)) or not self.starts:
            raise InputError(f"starts of auto must be names such as ('clique', 'tailored'), got {self.starts!r}")
        for name in self.starts:
            if not isinstance(name, str) or name not in Plan.KNOWN:
                raise unknown_name("start of auto", name, Plan.KNOWN)
        object.__setattr__(self, "starts", tuple(name for name in Plan.KNOWN if name in self.starts))
        if not (is_integer(self.passes) and self.passes > 0):
            raise InputError(f"passes of auto must be an integer ≥ 1, got {self.passes!r}")
        if not isinstance(self.solver, Solver):
            raise InputError(f"solver of auto must be a Solver such as GaussNewton(), got {self.solver!r}")
        if self.seconds is not None and not (is_number(self.seconds) and self.seconds > 0):
            raise InputError(f"seconds of auto must be a number above 0, or None for no limit; got {self.seconds!r}")

    def default_loss(self, observations: Observations) -> tuple[Loss, bool]:
        """Where absence says something, by likelihood if there is noise, and by squares if there is none."""
        likely = Censored()
        if observations.limits.nothing or not self.solver.accepts(likely):
            return super().default_loss(observations)
        return likely, True

    def find(self, task: Task) -> Attempts:
        """Follow the plan."""
        return escalated(replace(task, plan=Plan(self.starts, self.passes)))

    def limited(self, stopping: StoppingRule) -> StoppingRule:
        """With the seconds of the plan."""
        return stopping if self.seconds is None else stopping | MaxSeconds(self.seconds)

    def __str__(self) -> str:
        lines = [f"  {k}. {name}: {Plan.KNOWN[name]}" for k, name in enumerate(self.starts, 1)]
        most = f"at most {self.passes} passes over the matrix"
        most += "" if self.seconds is None else f" and {self.seconds:g} seconds"
        head = f"auto: {self.solver.name} from one start after the other, until the fit is at its floor"
        return "\n".join([head, *lines, f"{most}; pieces that never see each other are solved one by one"])
