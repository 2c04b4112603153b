"""Gauss–Newton on a network: directions from its curvature, lengths from the misfit that was met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.base.budget import checkpoint
from unrelu.distances.curvature import solve
from unrelu.distances.network import Forces, Misfit, Network
from unrelu.loop.history import History, Record, in_units

__all__ = ["Journal", "Refined", "concentrated", "refine"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

DEFAULT_TOL = 1e-14
DEFAULT_ITERATIONS = 200
LEAST_DAMPING, MOST_DAMPING = 1e-12, 1e8


class Journal:
    """One history over all refinements of a call, in the caller's units, and the callback that may stop it."""

    def __init__(self, unit: float, callback: Callable[[Record], object] | None = None) -> None:
        self.history = History()
        self.stopped = False
        self.left: Floats | None = None  # where a refinement was when it was cut short
        self._unit, self._callback = unit, callback
        self._wall, self._cpu = perf_counter(), process_time()

    def note(self, objective: float, gradient: float, relative: float, **details: float) -> None:
        """Record one iteration; objective and gradient in units."""
        record = Record(
            len(self.history),
            in_units(objective, self._unit, 2),
            in_units(gradient, self._unit, 1),
            perf_counter() - self._wall,
            process_time() - self._cpu,
            relative,
            None,
            details,
        )
        self.history.append(record)
        answer = None if self._callback is None else self._callback(record)
        if isinstance(answer, bool | np.bool_) and answer:
            self.stopped = True


@dataclass(frozen=True, eq=False)
class Refined:
    """Where a refinement ended."""

    points: Floats
    value: float
    gradient: float  # relative to the weight of the data
    iterations: int
    converged: bool


def refine(
    network: Network,
    start: Floats,
    misfit: Misfit,
    *,
    free: Indices | None = None,
    tol: float = DEFAULT_TOL,
    max_iter: int = DEFAULT_ITERATIONS,
    journal: Journal | None = None,
    damping: float = 1e-3,
    worth: float = 0.0,
) -> Refined:
    """Lower the misfit from a start until its gradient vanishes to ``tol`` of the data, or nothing gets lower.

    Levenberg–Marquardt: (H + λI) p = −∇, λ following how well the quadratic model foretold the decrease. Inner solves
    by conjugate gradients are stopped at a share of the gradient that shrinks with it. With ``worth``, a descent that
    ten iterations have not lowered by that share is given up: without noise, the way to the answer is steep.
    """
    X = start.copy()
    forces = network.forces(X, misfit)
    scale = float(np.sqrt(np.sum(network.weight * network.distance**2))) or 1.0
    gradient = _free(forces.gradient(network.size), free)
    size = float(np.linalg.norm(gradient)) / scale
    flat = 0
    _note(journal, forces, size, scale, damping)
    done, mark = 0, forces.value
    while done < max_iter and size > tol and flat < 3 and not (journal and journal.stopped):
        if journal is not None:
            journal.left = X
        checkpoint()
        step = solve(forces, -gradient, damping, free, tol=min(0.1, max(1e-10, np.sqrt(size) * 0.1)))
        foretold = -float(np.vdot(gradient, step)) - _curved(forces, step) / 2
        trial = X + step
        ahead = network.forces(trial, misfit)
        gain = forces.value - ahead.value
        done += 1
        rounding = 1e-15 * forces.value
        if gain > 0 or abs(gain) <= rounding:
            flat = flat + 1 if gain <= 1e-14 * forces.value else 0
            ratio = gain / foretold if foretold > 0 else 0.0
            X, forces = trial, ahead
            gradient = _free(forces.gradient(network.size), free)
            size = float(np.linalg.norm(gradient)) / scale
            damping = damping * (0.1 if ratio > 0.75 else 1.0 if ratio > 0.25 else 4.0)
            _note(journal, forces, size, scale, damping)
        else:
            damping *= 8.0
            if damping > MOST_DAMPING:
                break
        damping = max(damping, LEAST_DAMPING)
        if worth and done % 10 == 0:
            if forces.value > (1 - worth) * mark:
                break
            mark = forces.value
    return Refined(X, forces.value, size, done, size <= max(tol, 1e-10) or flat >= 3)


def concentrated(network: Network, start: Floats, misfit: Misfit, *, free: Indices | None = None) -> Floats:
    """Places at which few distances carry all of the misfit, and the others none.

    Least squares spreads the misfit of a fold over its surroundings. Weights 1/(1 + (gap/s)²)², with s falling from a
    large share of the gaps to almost nothing, leave it where it comes from.
    """
    X = start
    gaps = np.abs(network.residual(X))
    scale = float(np.quantile(gaps, 0.9)) if gaps.size else 0.0
    for _ in range(14):
        if scale <= 1e-12:
            break
        gaps = network.residual(X)
        weight = network.weight / (1 + (gaps / scale) ** 2) ** 2
        X = refine(replace(network, weight=weight), X, misfit, free=free, max_iter=6, damping=1e-6).points
        scale = min(scale / 2, 4 * float(np.median(np.abs(gaps))))
    return X


def _curved(forces: Forces, step: Floats) -> float:
    """pᵀHp."""
    along = np.einsum("kd,kd->k", forces.along, step[forces.first] - step[forces.second])
    return float(np.sum(forces.curvature * along * along))


def _free(gradient: Floats, free: Indices | None) -> Floats:
    if free is None:
        return gradient
    kept = np.zeros_like(gradient)
    kept[free] = gradient[free]
    return kept


def _note(journal: Any, forces: Forces, size: float, scale: float, damping: float) -> None:
    if journal is not None and not journal.stopped:
        journal.note(forces.value, size * scale, size, damping=damping)
