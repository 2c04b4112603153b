"""One algorithm per file, named as its paper names it."""

from __future__ import annotations

from typing import Any

from unrelu.solvers.base import Iterate, PointIterate, Solver, TwoFactorIterate
from unrelu.solvers.gauss_newton import GaussNewton
from unrelu.solvers.gradient_descent import GradientDescent

__all__ = ["METHODS", "GaussNewton", "GradientDescent", "Iterate", "PointIterate", "Solver", "TwoFactorIterate"]

METHODS: dict[str, type[Solver[Any]]] = {solver.name: solver for solver in (GaussNewton, GradientDescent)}
