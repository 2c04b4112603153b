"""What experiments share: gradient descent as the paper runs it, its starts in both readings, CPU times."""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np

from unrelu.base.arrays import Array
from unrelu.data.observations import Observations
from unrelu.data.planted import Planted, planted
from unrelu.loop.run import Outcome, Watch, run
from unrelu.loop.stopping import GradientNormBelow, MaxIterations
from unrelu.model.factors import distance
from unrelu.problems.psd import PSDProblem
from unrelu.solvers.gradient_descent import GradientDescent
from unrelu.starts import STARTS

__all__ = ["STEP", "Descent", "curves", "descend", "instance", "off", "paper_start"]

# The paper does not state its step. With the gradient as printed, (Z + Zᵀ)U, its α_T = (9.7 ± 0.16)·10⁻⁷ fits about
# 0.25/‖M_Ω‖₂; with the true gradient, half of that one, the same step is 0.5/‖M_Ω‖₂.
STEP = 0.5


def instance(task: dict[str, Any]) -> Planted:
    """The planted matrix of a task with n, r, sigma and seed."""
    return planted(task["n"], task["r"], sigma=task.get("sigma", 0.0), rng=[task["seed"], task["n"], task["r"]])


class Descent:
    """A run of gradient descent: the factor, and what the history says in the caller's units."""

    def __init__(self, problem: PSDProblem, outcome: Outcome) -> None:
        self.factor: Array = outcome.point.factor * np.sqrt(problem.unit)
        self.verdict = outcome.verdict
        self.gradient = outcome.history.column("gradient_norm")  # of the true gradient
        self.objective = outcome.history.column("objective")
        self.error = outcome.history.column("error")
        self.iterations = outcome.history[-1].iteration
        self.cpu = outcome.history[-1].cpu_seconds  # without the start


def descend(
    observations: Observations,
    start: Array,
    *,
    truth: Array | None = None,
    step: float = STEP,
    gradient: float = 5e-7,
    most: int = 5000,
) -> Descent:
    """Algorithm 1 from a given factor, with the step ``step``/max(‖M_Ω‖₂, ‖U₀‖₂²) for the true gradient.

    It stops when the norm of the true gradient is at most ``gradient``: 5e-7 is the paper's 1e-6 for the gradient as it
    prints it.
    """
    problem = PSDProblem(observations, start.shape[1])
    unit = problem.unit
    norm = max(problem.spectral_norm, float(np.linalg.norm(start, 2)) ** 2 / unit)
    solver = GradientDescent(step_size=step / (norm * unit))
    scaled = start / np.sqrt(unit)
    rule = GradientNormBelow(gradient) | MaxIterations(most)
    return Descent(problem, run(problem, solver, (scaled, scaled), rule, watch=Watch(truth)))


def paper_start(
    kind: str, X: Array, rank: int, rng: Any, *, scaled: bool, threshold: float | None = 0.0
) -> tuple[Array, float]:
    """A start of the paper, and the CPU seconds it took.

    ``scaled``: this library's, columns scaled by the roots of the top algebraic eigenvalues. Otherwise as printed: the
    right singular vectors of the filled matrix, orthonormal.
    """
    began = process_time()
    generator = np.random.default_rng(rng)
    if scaled:
        factor = STARTS[kind]()(Observations.of(X, threshold=threshold), rank, generator)
    else:
        Y = generator.standard_normal((len(X), rank))
        Q = Y @ Y.T
        unseen = np.isnan(X)
        fill = {"tailored": -np.abs(Q), "random-imputation": Q, "random-spectral": Q}[kind]
        filled = Q if kind == "random-spectral" else np.where(unseen, fill, X)
        factor = np.linalg.svd(filled)[2][:rank].T
    return factor, process_time() - began


def off(factor: Array, truth: Array) -> float:
    """‖UUᵀ − VVᵀ‖_F / ‖VVᵀ‖_F for factors U and V."""
    return distance(factor, truth) / float(np.linalg.norm(truth.T @ truth))


def curves(most: int = 250, **columns: Array) -> dict[str, list[float]]:
    """Columns of a history at no more than so many iterations, first and last included, denser at the beginning.

    Examples
    --------
    >>> found = curves(most=3, gamma=np.arange(100.0) / 2)
    >>> found["iteration"][-3:], found["gamma"][-1]
    ([39, 50, 99], 49.5)
    """
    count = min(map(len, columns.values()))
    places = np.unique(np.concatenate([np.arange(min(count, 40)), np.linspace(0, count - 1, most).round().astype(int)]))
    return {"iteration": places.tolist(), **{name: values[places].tolist() for name, values in columns.items()}}
