"""What experiments share: gradient descent as the paper runs it, its starts in both readings, CPU times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.data.observations import Observations
from unrelu._old.data.planted import Planted, planted
from unrelu._old.experiments.base import Judgement, Row, Setting
from unrelu._old.experiments.rules import across
from unrelu._old.loop.run import Outcome, Watch, run
from unrelu._old.loop.stopping import GradientNormBelow, MaxIterations
from unrelu._old.model.factors import distance
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers.gradient_descent import GradientDescent
from unrelu._old.starts import STARTS

__all__ = [
    "AT_REST",
    "FITTED",
    "LINEAR",
    "RECOVERED",
    "STEP",
    "STEPS",
    "STOP",
    "Descent",
    "curves",
    "descend",
    "ending",
    "instance",
    "off",
    "over_steps",
    "paper_start",
    "steadiness",
    "step_name",
    "step_setting",
    "value_of",
]

# The paper does not state its step. With the gradient as printed, (Z + Zᵀ)U, its α_T = (9.7 ± 0.16)·10⁻⁷ fits about
# 0.25/‖M_Ω‖₂; with the true gradient, half of that one, the same step is 0.5/‖M_Ω‖₂.
STEP = 0.5
# Steps that someone would plausibly take: the inferred one, half of it, and the longest that is safe.
STEPS = (0.25, 0.5, 1.0)
# A run has come to rest, at a critical point, if its gradient norm is below this share of ‖M_Ω‖₂^{3/2}, the unit of a
# gradient. Runs that were cut off below it and then continued until the gradient was 1e-9 changed their completion
# error by 1e-5 at most; one that was cut off at 1.7e-3 of the unit went on from 0.55 to 0.51.
AT_REST = 1e-6
# An objective at rounding, without noise: at other critical points it is in the hundreds.
FITTED = 1e-9
# The steadiness of a run whose rate is linear.
LINEAR = (0.8, 1.25)
# The gradient norm at which the paper ends a run, in Tables 1 and 2.
STOP = 1e-6
# The planted matrix is found if the relative error is below this; where the gradient ends a run it is about 1e-9.
RECOVERED = 1e-6


def instance(task: dict[str, Any]) -> Planted:
    """The planted matrix of a task with n, r, sigma and seed."""
    return planted(task["n"], task["r"], sigma=task.get("sigma", 0.0), rng=[task["seed"], task["n"], task["r"]])


def step_name(step: float) -> str:
    """A step as tables and verdicts name it.

    Examples
    --------
    >>> step_name(0.5)
    'step 0.5/‖M‖'
    """
    return f"step {step:g}/‖M‖"


def step_setting(method: str, steps: Sequence[float] = STEPS) -> Setting:
    """The ledger's line for the step of gradient descent, the same in every experiment."""
    values = ", ".join(f"{step:g}" for step in steps)
    how = (
        f"not stated; {STEP:g} fits the printed α_T of Table 1 ({STEP / 2:g} for the gradient as printed, twice the "
        "true one), 1 is the longest that is safe; in units of 1/max(‖M_Ω‖₂, ‖U₀‖₂²)"
    )
    return Setting(method, "step", values, "inferred", how)


def over_steps(judged: Callable[[float], Judgement]) -> Judgement:
    """A claim judged at each of the plausible steps; shown is the inferred one where all agree."""
    return across({step_name(step): judged(step) for step in STEPS}, ["step"], chosen=step_name(STEP))


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
        # The last gradient norm over its unit, for AT_REST.
        unit = (problem.spectral_norm * problem.unit) ** 1.5
        self.rest = float(self.gradient[-1]) / unit if unit > 0 else float("inf")


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


def value_of(row: Row, name: str) -> float:
    """A number that a trial found; not a number where it found none.

    Examples
    --------
    >>> value_of({"gamma": 0.5}, "gamma"), value_of({"gamma": None}, "gamma"), value_of({}, "gamma")
    (0.5, nan, nan)
    """
    found = row.get(name)
    return float("nan") if found is None else float(found)


def ending(error: float, rest: float, sigma: float = 0.0) -> str:
    """Where a run ended, by its error against M* and its last gradient norm over the unit of a gradient.

    ``planted``: it found M*, exactly or to what the noise leaves of it. ``elsewhere``: it came to rest at another
    critical point. ``cut off``: it did neither before its iterations were used up.

    Examples
    --------
    >>> ending(1e-9, 1e-10), ending(0.5, 1e-8), ending(0.5, 1e-3), ending(1e-3, 1e-10, sigma=1e-2)
    ('planted', 'elsewhere', 'cut off', 'planted')
    """
    if error < max(RECOVERED, sigma):
        return "planted"
    return "elsewhere" if rest <= AT_REST else "cut off"


def steadiness(error: Array) -> float | None:
    """How often the third quarter of a run divides the error as the last quarter does: the ratio of the logarithms.

    It is 1 at a linear rate and log 1.5 / log 4/3 = 1.41 where the error falls like a power of the iteration. None for
    a run that is too short or does not decrease.

    Examples
    --------
    >>> t = np.arange(1.0, 401.0)
    >>> round(steadiness(0.9**t), 2), round(steadiness(1 / t**2), 2), steadiness(np.ones(100))
    (1.0, 1.41, None)
    """
    last = len(error) - 1
    if last < 8:
        return None
    half, third, end = (float(error[last * quarter // 4]) for quarter in (2, 3, 4))
    if not (np.isfinite(half) and half > third > end > 0):
        return None
    return float(np.log(half / third) / np.log(third / end))
