"""One algorithm per file, named as its paper names it."""

from __future__ import annotations

from typing import Any

from unrelu.solvers.admm import ADMM
from unrelu.solvers.base import Iterate, PointIterate, Solver, TwoFactorIterate
from unrelu.solvers.direct import Direct
from unrelu.solvers.gauss_newton import GaussNewton
from unrelu.solvers.gibbs import Gibbs
from unrelu.solvers.gnmr import GNMR
from unrelu.solvers.gradient_descent import GradientDescent
from unrelu.solvers.momentum_pam import MomentumPAM
from unrelu.solvers.pam import PAM
from unrelu.solvers.scaled_gd import ScaledGD
from unrelu.solvers.sdp import SDP

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
