"""``figure-methods``: error and CPU time of every method the paper compares, and of this library's default."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import process_time
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unrelu.auto.by_piece import complete_by_piece
from unrelu.auto.task import Task as Solving
from unrelu.data.observations import Observations
from unrelu.data.planted import Planted
from unrelu.data.sampling import relu
from unrelu.experiments.base import Cell, Experiment, Picture, Result, Row, Sizes, Table, Task, numbers
from unrelu.experiments.drawing import boxes, figure
from unrelu.experiments.methods_verdicts import METHODS, READINGS, group_of, median_of, method_claims
from unrelu.experiments.solve import descend, instance, off, paper_start
from unrelu.loop.history import Record
from unrelu.loop.run import run
from unrelu.loop.stopping import MaxIterations, MaxSeconds
from unrelu.model.factors import relative_error
from unrelu.problems.psd import PSDProblem
from unrelu.solvers import ADMM, GNMR, PAM, GaussNewton, MomentumPAM, ScaledGD, Solver
from unrelu.starts import STARTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureMethods"]

# Seconds of the slow ones at the paper's size, roughly.
COSTS = {"admm": 10.0, "admm-printed": 150.0, "gnmr": 16.0, "pam": 3.0}
BUDGET = 900.0


class FigureMethods(Experiment):
    """Figures 6 and 9: box plots of error and time, each method with its own rule from the appendix.

    Examples
    --------
    >>> from unrelu.experiments import figure_methods
    >>> result = figure_methods(trials=1, rng=0, n=60, r=2, sigmas=[0.0])
    >>> [row[1] for row in result.tables[0].rows]
    ['unrelu default', 'GD', 'GD, inferred step', 'MPAM', 'PAM', 'ScaledGD', 'ADMM', 'GNMR']
    """

    name = "figure-methods"
    title = "Error and CPU time of every method"
    where = "Figures 6 and 9"
    setting = "n = 1000, r = 20, σ ∈ {0, 1e-2}, 10 matrices; each method's own stopping rule from the appendix"
    full: ClassVar[Sizes] = {"trials": 10, "n": 1000, "r": 20, "sigmas": [0.0, 1e-2], "readings": [200, 5]}
    quick: ClassVar[Sizes] = {"trials": 3, "n": 200, "r": 8, "readings": [100, 3]}

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per noise level, matrix and method; the long ones first, so that no core waits in the end."""
        order = sorted(METHODS, key=lambda method: -COSTS.get(method, 1.0))
        paper = [(sizes["n"], sizes["r"], sigma, method) for method in order for sigma in sizes["sigmas"]]
        noisy = [sigma for sigma in sizes["sigmas"] if sigma > 0]
        twice = [(*sizes["readings"], sigma, method) for method in READINGS for sigma in noisy]
        return [
            {"n": n, "r": r, "sigma": sigma, "method": method, "seed": sizes["rng"] + trial}
            for n, r, sigma, method in [*paper, *twice]
            for trial in range(sizes["trials"])
        ]

    def cost(self, task: Task) -> float:
        """Two methods take most of the time."""
        return COSTS.get(task["method"], 0.7) * float(task["n"] / 1000) ** 2

    def trial(self, task: Task) -> Row:
        """One method on one matrix; a few steps on something tiny first, so that first calls are not counted."""
        _solve({**task, "n": 12, "r": 1})
        return _solve(task)

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """Box plots, medians, and the order of the methods."""
        lines: list[dict[str, Cell]] = []
        for sigma in sizes["sigmas"]:
            for method, label in METHODS.items():
                group = group_of(rows, sigma, method)
                low, middle, high = np.quantile(numbers(group, "cpu"), [0.25, 0.5, 0.75])
                lines.append(
                    {
                        "σ": sigma,
                        "method": label,
                        "error against M": float(np.median(numbers(group, "error"))),
                        "error against M*": float(np.median(numbers(group, "clean"))),
                        "CPU s": float(middle),
                        "CPU quartiles": f"{low:.3g}…{high:.3g}",
                        "CPU / default": float(middle) / median_of(rows, sigma, "default", "cpu"),
                        "iterations": float(np.median(numbers(group, "iterations"))),
                        "ended": ", ".join(sorted({r["code"] for r in group})),
                    }
                )
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(
                Table.of(self.name, "Medians over trials; CPU seconds of start and solver, one thread.", lines),
                *_both_readings(sizes, rows),
            ),
            pictures=(
                Picture(
                    self.name,
                    "Completion error against M (left) and CPU seconds of the solver (right), every trial a dot; above "
                    "without noise, below with it. Boxes are quartiles, the thick line is the median.",
                    lambda: _draw(sizes, rows),
                ),
            ),
            judgements=tuple(method_claims(sizes, rows)),
            notes=(
                "CPU seconds of the start and the iterations (of the default: of everything it tries), without making "
                "the data, in a process with one thread. “GD” takes the longest step that is safe; the step that fits "
                "the paper's table is half of it. ADMM is given δ = ‖Δ‖_F², as in the paper, and projects onto "
                "that ball; the X-update as printed has the square of the distance instead, which lands inside.",
            ),
        )


def _both_readings(sizes: Sizes, rows: Sequence[Row]) -> list[Table]:
    n, r = sizes["readings"]
    lines: list[dict[str, Cell]] = [
        {
            "σ": sigma,
            "X-update": label,
            "error against M": median_of(rows, sigma, method, "error"),
            "error against M*": median_of(rows, sigma, method, "clean"),
            "CPU s": median_of(rows, sigma, method, "cpu"),
            "iterations": median_of(rows, sigma, method, "iterations"),
        }
        for sigma in sizes["sigmas"]
        if sigma > 0
        for method, label in READINGS.items()
    ]
    return (
        [Table.of("figure-methods-admm", f"ADMM in both readings, n = {n}, r = {r}: medians.", lines)] if lines else []
    )


def _solver(method: str, made: Planted) -> Solver[Any]:
    delta = float(np.sum((made.matrix - made.truth) ** 2))
    table: dict[str, Callable[[], Solver[Any]]] = {
        "momentum-pam": lambda: MomentumPAM(stopping="paper"),
        "pam": lambda: PAM(stopping="paper"),
        "scaled-gd": lambda: ScaledGD(stopping="paper"),
        "admm": lambda: ADMM(delta=delta, stopping="paper"),
        "admm-ball": lambda: ADMM(delta=delta, stopping="paper"),
        "admm-printed": lambda: ADMM(delta=delta, projection="printed", stopping="paper"),
        "gnmr": lambda: GNMR(stopping="paper"),
    }
    return table[method]()


def _solve(task: Task) -> Row:
    made = instance(task)
    X = relu(made.matrix)
    seed, method = [task["seed"], 7], task["method"]
    if method in ("gd", "gd-slow"):
        start, cpu = paper_start("tailored", X, task["r"], seed, scaled=True)
        step = 1.0 if method == "gd" else 0.5
        found = descend(Observations.of(X), start, gradient=5e-5, step=step)
        left, right, factor = found.factor, None, found.factor
        about: Row = {"cpu": cpu + found.cpu, "iterations": found.iterations, "code": found.verdict.code.value}
    elif method == "default":
        left, right, factor, about = _default(X, task["r"], seed, made.truth)
    else:
        left, right, factor, about = _named(_solver(method, made), X, task["r"], seed)
    return {
        **about,
        "error": relative_error(left, made.matrix, right),
        "clean": off(factor, made.factor),
    }


def _default(X: Any, rank: int, seed: Any, truth: Any) -> tuple[Any, Any, Any, Row]:
    """What ``complete`` does when nothing is named, timed as a whole and after each iteration."""
    observations = Observations.of(X)
    solver = GaussNewton()
    problem = PSDProblem(observations, rank, solver.default_loss(observations))
    rule = solver.rule(None, observations.dtype) | MaxIterations(solver.max_iter)
    times: list[float] = []
    began = process_time()

    def timed(_: Record) -> None:
        times.append(process_time() - began)

    found = complete_by_piece(Solving(problem, solver, rule, np.random.default_rng(seed), callback=timed))
    cpu = process_time() - began
    # The same run again, not timed, for the error at each of those times.
    errors: list[float] = []

    def measured(record: Record) -> None:
        errors.append(np.nan if record.error is None else record.error)

    complete_by_piece(Solving(problem, solver, rule, np.random.default_rng(seed), truth, measured))
    factor = found.outcome.point.factor * np.sqrt(problem.unit)
    outcome = found.outcome
    about: Row = {"cpu": cpu, "iterations": outcome.history[-1].iteration, "code": outcome.verdict.code.value}
    about["path"] = {"cpu": times, "clean": errors}
    return factor, None, factor, about


def _named(solver: Solver[Any], X: Any, rank: int, seed: Any) -> tuple[Any, Any, Any, Row]:
    """A method from its own start, with the paper's rule."""
    observations = Observations.of(X)
    problem = PSDProblem(observations, rank, solver.default_loss(observations))
    root = np.sqrt(problem.unit)
    began = process_time()
    if solver.default_start is None:
        left = right = np.zeros((len(X), rank), observations.dtype)
    else:
        left, right = STARTS[solver.default_start]().pair(observations, rank, np.random.default_rng(seed))
    cpu = process_time() - began
    rule = solver.rule(None, observations.dtype) | MaxIterations(solver.max_iter) | MaxSeconds(BUDGET)
    outcome = run(problem, solver, (left / root, right / root), rule)
    last = outcome.history[-1]
    factor = outcome.point.factor * root
    own = (factor, None) if outcome.own is None else (outcome.own.left * root, outcome.own.right * root)
    about = {"cpu": cpu + last.cpu_seconds, "iterations": last.iteration, "code": outcome.verdict.code.value}
    return *own, factor, about


def _draw(sizes: Sizes, rows: Sequence[Row]) -> Figure:
    sigmas = sizes["sigmas"]
    drawn = figure(7.4, 0.7 + 2.5 * len(sigmas))
    axes = drawn.subplots(len(sigmas), 2, squeeze=False)
    for line, sigma in zip(axes, sigmas, strict=True):
        for ax, quantity in zip(line, ("error", "cpu"), strict=True):
            boxes(ax, [numbers(group_of(rows, sigma, m), quantity) for m in METHODS], list(METHODS.values()), ours=0)
            ax.set_title(f"σ = {sigma:g}", fontsize="medium")
        line[1].set_yticklabels([])
        line[0].set_xlabel(r"completion error ‖$\hat{\mathrm{M}}$ − M‖$_F$/‖M‖$_F$")
        line[1].set_xlabel("CPU time (s)")
    return drawn
