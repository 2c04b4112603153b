"""One algorithm per file, named as its paper names it."""

from __future__ import annotations

from typing import Any

from unrelu._old.solvers.admm import ADMM
from unrelu._old.solvers.base import Iterate, PointIterate, Solver, TwoFactorIterate
from unrelu._old.solvers.direct import Direct
from unrelu._old.solvers.gauss_newton import GaussNewton
from unrelu._old.solvers.gibbs import Gibbs
from unrelu._old.solvers.gnmr import GNMR
from unrelu._old.solvers.gradient_descent import GradientDescent
from unrelu._old.solvers.momentum_pam import MomentumPAM
from unrelu._old.solvers.pam import PAM
from unrelu._old.solvers.scaled_gd import ScaledGD
from unrelu._old.solvers.sdp import SDP

__all__ = [
    "ADMM",
    "GNMR",
    "METHODS",
    "PAM",
    "SAMPLERS",
    "SDP",
    "Direct",
    "GaussNewton",
    "Gibbs",
    "GradientDescent",
    "Iterate",
    "MomentumPAM",
    "PointIterate",
    "ScaledGD",
    "Solver",
    "TwoFactorIterate",
]

METHODS: dict[str, type[Solver[Any]]] = {
    solver.name: solver
    for solver in (GaussNewton, Direct, GradientDescent, ScaledGD, PAM, MomentumPAM, GNMR, ADMM, SDP)
}
# What draws from a posterior instead of looking for one point.
SAMPLERS: dict[str, type[Solver[Any]]] = {Gibbs.name: Gibbs}
