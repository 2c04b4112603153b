"""The strategy that a caller names: by the name of a method, or by an object."""

from __future__ import annotations

from typing import Any

from unrelu._old.auto.choices import DEFAULT_METHOD, choose
from unrelu._old.auto.sampled import Sampled
from unrelu._old.auto.strategy import Auto, Once, Strategy
from unrelu._old.base.errors import InputError
from unrelu._old.solvers import METHODS, SAMPLERS, Solver
from unrelu._old.solvers.function import Function

__all__ = ["strategy_of"]


def strategy_of(method: Any, start: Any = "auto") -> Strategy:
    """The strategy for the method and the start that a caller names.

    ``auto`` with a named start is one run of its method. A sampler begins at a fit of its own.
    """
    named = not (isinstance(start, str) and start == "auto")
    if isinstance(method, str) and method == "auto":
        return Once(METHODS[DEFAULT_METHOD](), start) if named else Auto()
    if isinstance(method, Strategy):
        if named:
            raise InputError(f"strategy {method.name!r} has starts of its own; drop start=, or name a method instead")
        return method
    if callable(method) and not isinstance(method, (Solver, type)):
        return Once(Function(method), start)
    solver = choose("method", method, METHODS | SAMPLERS, Solver, DEFAULT_METHOD)
    if not solver.samples:
        return Once(solver, start)
    if named:
        raise InputError(f"method {solver.name!r} begins at the fit of method 'auto'; drop start=")
    return Sampled(solver)
