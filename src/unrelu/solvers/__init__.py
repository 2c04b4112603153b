"""One algorithm per file, named as its paper names it."""

from __future__ import annotations

from typing import Any

from unrelu.solvers.base import Iterate, Solver
from unrelu.solvers.gauss_newton import GaussNewton
from unrelu.solvers.gradient_descent import GradientDescent

__all__ = ["METHODS", "GaussNewton", "GradientDescent", "Iterate", "Solver"]

METHODS: dict[str, type[Solver[Any]]] = {solver.name: solver for solver in (GaussNewton, GradientDescent)}
