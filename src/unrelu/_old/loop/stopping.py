"""When to stop: rules are values, joined with ``|``.

>>> rule = GradientNormBelow(1e-6) | MaxIterations(5000)
>>> rule
GradientNormBelow(1e-06) | MaxIterations(5000)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from unrelu._old.base.errors import InputError, is_integer, is_number
from unrelu._old.loop.history import History, Stop, Verdict

__all__ = [
    "AnyOf",
    "DetailBelow",
    "GradientNormBelow",
    "MaxIterations",
    "MaxSeconds",
    "ObjectiveBelow",
    "RelativeGradientNormBelow",
    "Stagnation",
    "StoppingRule",
]


class Scaled(Protocol):
    """What a relative rule needs to know of a problem."""

    @property
    def scale(self) -> float:
        """The unit of the data, ‖M_Ω‖_F."""


class StoppingRule:
    """Looks at the history after each iteration and returns a verdict, or None to go on."""

    def check(self, history: History, problem: Scaled) -> Verdict | None:
        """The verdict, if this rule says stop."""
        raise NotImplementedError

    @property
    def time_limit(self) -> float | None:
        """The most seconds that a call with this rule may take; None: it sets no limit."""
        return None

    def __or__(self, other: object) -> AnyOf:
        if not isinstance(other, StoppingRule):
            raise InputError(
                f"stopping rules are joined with | to other rules, such as MaxIterations(100) or MaxSeconds(60); got "
                f"{other!r} beside {self!r}"
            )
        mine = self.rules if isinstance(self, AnyOf) else (self,)
        theirs = other.rules if isinstance(other, AnyOf) else (other,)
        return AnyOf(mine + theirs)

    def __rand__(self, other: object) -> AnyOf:
        return self.__and__(other)

    def __ror__(self, other: object) -> AnyOf:
        return self.__or__(other)

    def __and__(self, other: object) -> AnyOf:
        raise InputError(
            f"stopping rules are joined with |, and the first that says stop ends the run; got {self!r} & {other!r}"
        )


def _number(name: str, value: float) -> str:
    return f"{name}({value:g})"


def _positive(rule: StoppingRule, what: str, value: float, *, zero: bool = False) -> None:
    if not (is_number(value) and (value > 0 or (zero and value == 0))):
        least = "a finite number ≥ 0" if zero else "a finite positive number"
        raise InputError(f"{what} of {type(rule).__name__} must be {least}, got {value!r}")


@dataclass(frozen=True, repr=False)
class AnyOf(StoppingRule):
    """Stop as soon as one of the rules says so; the first in order gives the verdict."""

    rules: tuple[StoppingRule, ...]

    def check(self, history: History, problem: Scaled) -> Verdict | None:
        """The verdict of the first rule that stops."""
        return next((v for rule in self.rules if (v := rule.check(history, problem)) is not None), None)

    @property
    def time_limit(self) -> float | None:
        """The least of the limits."""
        return min((rule.time_limit for rule in self.rules if rule.time_limit is not None), default=None)

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.rules))


@dataclass(frozen=True, repr=False)
class GradientNormBelow(StoppingRule):
    """Converged when ‖∇F(U)‖_F ≤ ``bound``: the paper's absolute rule, in the units of the data to the power 3/2."""

    bound: float

    def __post_init__(self) -> None:
        _positive(self, "bound", self.bound, zero=True)

    def check(self, history: History, problem: Scaled) -> Verdict | None:
        """Converged, if the gradient is small enough."""
        last = history[-1]
        if last.gradient_norm is not None and last.gradient_norm <= self.bound:
            return Verdict(
                Stop.CONVERGED,
                f"gradient norm {last.gradient_norm:.2g} is at most {self.bound:g} after {_iterations(last.iteration)}",
            )
        return None

    def __repr__(self) -> str:
        return _number("GradientNormBelow", self.bound)


@dataclass(frozen=True, repr=False)
class RelativeGradientNormBelow(StoppingRule):
    """Converged when ‖∇F(U)‖_F ≤ ``tol`` · ‖M_Ω‖_F^{3/2}: scaling the data changes nothing."""

    tol: float

    def __post_init__(self) -> None:
        _positive(self, "tol", self.tol, zero=True)

    def check(self, history: History, problem: Scaled) -> Verdict | None:
        """Converged, if the gradient is small enough for these data."""
        last = history[-1]
        if last.relative_gradient_norm is not None and last.relative_gradient_norm <= self.tol:
            return Verdict(
                Stop.CONVERGED,
                f"relative gradient norm {last.relative_gradient_norm:.2g} is at most {self.tol:g} "
                f"after {_iterations(last.iteration)}",
            )
        return None

    def __repr__(self) -> str:
        return _number("RelativeGradientNormBelow", self.tol)


@dataclass(frozen=True, repr=False)
class ObjectiveBelow(StoppingRule):
    """Converged when the objective is at most ``bound``."""

    bound: float

    def __post_init__(self) -> None:
        _positive(self, "bound", self.bound, zero=True)

    def check(self, history: History, problem: Scaled) -> Verdict | None:
        """Converged, if the objective is small enough."""
        last = history[-1]
        if last.objective <= self.bound:
            return Verdict(
                Stop.CONVERGED,
                f"objective {last.objective:.2g} is at most {self.bound:g} after {_iterations(last.iteration)}",
            )
        return None

    def __repr__(self) -> str:
        return _number("ObjectiveBelow", self.bound)


@dataclass(frozen=True, repr=False)
class MaxIterations(StoppingRule):
    """Not converged after ``count`` iterations."""

    count: int

    def __post_init__(self) -> None:
        if not is_integer(self.count) or self.count < 0:
            raise InputError(f"max_iter must be an integer ≥ 0, got {self.count!r}")

    def check(self, history: History, problem: Scaled) -> Verdict | None:
        """Stop after ``count`` iterations."""
        if history[-1].iteration >= self.count:
            return Verdict(
                Stop.MAX_ITERATIONS,
                f"not converged after {_iterations(self.count)}: {_still(history)}; raise max_iter, or tol",
            )
        return None

    def __repr__(self) -> str:
        return _number("MaxIterations", self.count)


@dataclass(frozen=True, repr=False)
class MaxSeconds(StoppingRule):
    """Not converged after ``seconds``: of the method's own time in one loop, of the clock for a call as a whole."""

    seconds: float

    def __post_init__(self) -> None:
        _positive(self, "seconds", self.seconds)

    @property
    def time_limit(self) -> float | None:
        """The seconds allowed."""
        return self.seconds

    def check(self, history: History, problem: Scaled) -> Verdict | None:
        """Stop when the time is over."""
        last = history[-1]
        if last.seconds >= self.seconds:
            return Verdict(
                Stop.MAX_SECONDS,
                f"not converged within {self.seconds:g} s, after {_iterations(last.iteration)}: {_still(history)}",
            )
        return None

    def __repr__(self) -> str:
        return _number("MaxSeconds", self.seconds)


@dataclass(frozen=True, repr=False)
class Stagnation(StoppingRule):
    """Stalled when the objective fell by less than a relative ``rtol`` over the last ``window`` iterations."""

    rtol: float = 1e-12
    window: int = 10

    def __post_init__(self) -> None:
        _positive(self, "rtol", self.rtol, zero=True)
        if not is_integer(self.window) or self.window < 1:
            raise InputError(f"window of Stagnation must be an integer ≥ 1, got {self.window!r}")

    def check(self, history: History, problem: Scaled) -> Verdict | None:
        """Stop when nothing moves."""
        if len(history) <= self.window:
            return None
        before, now = history[-1 - self.window].objective, history[-1].objective
        if before - now <= self.rtol * abs(before):
            return Verdict(
                Stop.STALLED,
                f"the objective fell by less than a relative {self.rtol:g} over the last {self.window} iterations: "
                f"{_still(history)}",
            )
        return None

    def __repr__(self) -> str:
        return f"Stagnation({self.rtol:g}, {self.window})"


@dataclass(frozen=True, repr=False)
class DetailBelow(StoppingRule):
    """Converged when a detail that the method records is at most ``bound`` (times ‖M_Ω‖_F, if ``relative``)."""

    name: str
    bound: float
    relative: bool = False

    def __post_init__(self) -> None:
        _positive(self, "bound", self.bound, zero=True)

    def check(self, history: History, problem: Scaled) -> Verdict | None:
        """Converged, if the detail is small enough."""
        last = history[-1]
        value = last.details.get(self.name)
        unit = problem.scale if self.relative else 1.0
        if value is None or not value <= self.bound * unit:
            return None
        shown = value / unit if unit else 0.0
        kind = "relative " if self.relative else ""
        return Verdict(
            Stop.CONVERGED,
            f"{kind}{self.name} {shown:.2g} is at most {self.bound:g} after {_iterations(last.iteration)}",
        )

    def __repr__(self) -> str:
        return f"DetailBelow({self.name!r}, {self.bound:g}{', relative=True' if self.relative else ''})"


def _still(history: History) -> str:
    last = history[-1]
    if last.gradient_norm is None:
        return f"objective is still {last.objective:.2g}"
    return f"gradient norm is still {last.gradient_norm:.2g}"


def _iterations(count: int) -> str:
    return f"{count} iteration" + ("" if count == 1 else "s")
