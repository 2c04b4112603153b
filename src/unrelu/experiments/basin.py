"""``figure-basin``: how close is close enough, and how fast gradient descent is from there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unrelu.data.observations import Observations
from unrelu.data.sampling import relu
from unrelu.experiments.base import Cell, Experiment, Judgement, Picture, Result, Row, Sizes, Table, Task, numbers
from unrelu.experiments.drawing import LOOKS, figure, legend_below, quartile_line
from unrelu.experiments.judging import judge_claim
from unrelu.experiments.solve import descend, instance, off
from unrelu.model.factors import align
from unrelu.theory.bounds import convexity_radius
from unrelu.theory.geometry import Landscape, curvature

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureBasin"]

RECOVERED = 1e-6
# A random direction hardly hides U*; the way to another Gaussian factor leads to a random start.
TOWARDS = {"noise": "random direction", "factor": "towards another factor"}


class FigureBasin(Experiment):
    """Success and rate of gradient descent against the distance of its start from the planted factor.

    Examples
    --------
    >>> from unrelu.experiments import figure_basin
    >>> result = figure_basin(trials=1, rng=0, n=40, r=2, distances=[0.01])
    >>> [(row[0], f"{row[2]} of {row[3]}") for row in result.tables[0].rows]
    [('random direction', '1 of 1'), ('towards another factor', '1 of 1')]
    """

    name = "figure-basin"
    title = "Close enough, and at a linear rate"
    where = "Sections 1.1 and 4.2, Theorem 2 (no figure in the paper)"
    setting = "noiseless, n = 200, r = 5, start at a given distance from U* in either of two directions"
    full: ClassVar[Sizes] = {
        "trials": 20,
        "n": 200,
        "r": 5,
        "distances": [0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0],
        "most": 5000,
    }
    quick: ClassVar[Sizes] = {"trials": 3, "n": 100, "r": 3, "distances": [0.001, 0.1, 0.3, 0.5, 0.8, 1.25, 2.0]}

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per distance and matrix."""
        fixed = {name: sizes[name] for name in ("n", "r", "most")}
        return [
            {**fixed, "distance": distance, "towards": towards, "seed": sizes["rng"] + trial}
            for towards in TOWARDS
            for distance in sizes["distances"]
            for trial in range(sizes["trials"])
        ]

    def cost(self, task: Task) -> float:
        """Seconds, roughly."""
        return 0.2

    def trial(self, task: Task) -> Row:
        """One run, the curvature at its start, and the neighbourhood of its planted factor."""
        made = instance(task)
        X = relu(made.matrix)
        direction = np.random.default_rng([task["seed"], 23]).standard_normal(made.factor.shape)
        if task["towards"] == "factor":
            direction = align(direction, made.factor) - made.factor
        size = float(np.linalg.norm(made.factor))
        start = made.factor + task["distance"] * size * direction / np.linalg.norm(direction)
        found = descend(Observations.of(X), start, truth=made.matrix, most=task["most"], step=1.0)
        gamma = curvature(~np.isnan(X), made.factor).gamma
        return {
            "error": off(found.factor, made.factor),
            "rate": _rate(found.error),
            "iterations": found.iterations,
            "curvature": Landscape.of(Observations.of(X), task["r"]).smallest_eigenvalue(start),
            "gamma": gamma,
            "radius": convexity_radius(made.factor, gamma) / size,
        }

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """The figure, and up to which distance every run succeeds."""
        lines: list[dict[str, Cell]] = []
        for towards, distance in [(t, d) for t in TOWARDS for d in sizes["distances"]]:
            group = [r for r in rows if (r["towards"], r["distance"]) == (towards, distance)]
            good = [r for r in group if r["error"] < RECOVERED]
            lines.append(
                {
                    "direction": TOWARDS[towards],
                    "distance / ‖U*‖_F": distance,
                    "recovered": len(good),
                    "of": len(group),
                    "median rate": float(np.median(numbers(good, "rate"))) if numbers(good, "rate") else None,
                    "median iterations": float(np.median(numbers(group, "iterations"))),
                    "convex at the start": sum(r["curvature"] > 0 for r in group),
                    "smallest curvature": min(r["curvature"] for r in group),
                }
            )
        sure = min(
            _reach([line for line in lines if line["direction"] == name], "recovered") for name in TOWARDS.values()
        )
        radius = float(np.median(numbers(rows, "radius")))
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(Table.of(self.name, "By the distance of the start. A rate is the factor per iteration.", lines),),
            pictures=(
                Picture(
                    self.name,
                    "Left: share of runs that reach the planted matrix, and of starts where the Hessian is positive "
                    "definite on the quotient. The vertical line is the neighbourhood that Theorem 2's γ proves. "
                    "Right: factor by which the error shrinks per iteration, median and quartiles.",
                    lambda: _draw(sizes, rows, radius),
                ),
            ),
            judgements=(
                judge_claim(
                    "basin/close",
                    sure > 0,
                    f"every run succeeds up to a distance of {sure:g} ‖U*‖_F; proved up to {radius:.2g} ‖U*‖_F",
                    otherwise=f"some run from {min(sizes['distances']):g} ‖U*‖_F, the nearest tried, goes astray",
                ),
                _linear(rows),
                _convex(rows),
            ),
        )


def _linear(rows: Sequence[Row]) -> Judgement:
    """At a linear rate the second half of the iterations shrinks the error as the first does; a power of t does not."""
    good = [r for r in rows if r["error"] < RECOVERED and r["rate"] is not None]
    rates = numbers(good, "rate")
    worst = max((r["rate"] ** (r["iterations"] / 2) for r in good), default=1.0)
    low, high = min(rates, default=np.nan), max(rates, default=np.nan)
    return judge_claim(
        "basin/linear",
        worst < 0.1,
        f"factor per iteration {low:.3f} to {high:.3f} in {len(good)} runs; over the second half of its iterations "
        f"every run shrinks its error to {worst:.2g} of what it was, or less",
        otherwise="no run succeeded" if not good else "the second half of the iterations of some run gains little",
    )


def _convex(rows: Sequence[Row]) -> Judgement:
    """Theorem 2: the smallest eigenvalue of the Hessian on the quotient at U* is γ/2, and γ > 0."""
    gammas = numbers(rows, "gamma")
    nearest = min(r["distance"] for r in rows)
    near = [r["curvature"] / (r["gamma"] / 2) for r in rows if r["distance"] == nearest and r["gamma"] > 0]
    return judge_claim(
        "basin/convex",
        min(gammas) > 0 and min(near, default=0.0) > 0.9,
        f"γ from {min(gammas):.3g} to {max(gammas):.3g}; at {nearest:g} ‖U*‖_F the smallest curvature is "
        f"{min(near, default=np.nan):.3f} to {max(near, default=np.nan):.3f} times γ/2",
        otherwise="γ = 0 for some factor" if min(gammas) <= 0 else f"it changes much within {nearest:g} ‖U*‖_F",
    )


def _rate(error: np.ndarray) -> float | None:
    """The factor per iteration over the last half of a run that went down to rounding."""
    useful = error[error > 1e-13]
    half = useful[len(useful) // 2 :]
    return float(np.exp(np.polyfit(np.arange(len(half)), np.log(half), 1)[0])) if len(half) > 2 else None


def _reach(lines: Sequence[Mapping[str, Cell]], name: str) -> float:
    """The largest distance up to which every run has the property."""
    reach = 0.0
    for line in lines:
        if line[name] != line["of"]:
            break
        reach = float(line["distance / ‖U*‖_F"] or 0.0)
    return reach


def _draw(sizes: Sizes, rows: Sequence[Row], radius: float) -> Figure:
    drawn = figure(7.6, 4.0)
    left, right = drawn.subplots(1, 2)
    x = sizes["distances"]
    for k, (towards, words) in enumerate(TOWARDS.items()):
        groups = [[r for r in rows if (r["towards"], r["distance"]) == (towards, d)] for d in x]
        recovered = [np.mean([r["error"] < RECOVERED for r in group]) for group in groups]
        convex = [np.mean([r["curvature"] > 0 for r in group]) for group in groups]
        left.semilogx(x, recovered, label=f"GD reaches M*, {words}", **LOOKS[2 * k].line())
        left.semilogx(x, convex, label=f"convex at the start, {words}", **LOOKS[2 * k + 1].line(markerfacecolor="none"))
        rates = [numbers([r for r in group if r["error"] < RECOVERED], "rate") for group in groups]
        quartile_line(right, x, rates, LOOKS[2 * k], words)
    left.axvline(radius, color="black", linestyle=":", label="proved neighbourhood")
    left.set(xlabel="distance of the start, ‖U₀ − U*‖$_F$/‖U*‖$_F$", ylabel="share of runs", ylim=(-0.05, 1.05))
    legend_below(drawn, left, 2)
    right.set_xscale("log")
    right.set(xlabel="distance of the start, ‖U₀ − U*‖$_F$/‖U*‖$_F$", ylabel="factor per iteration")
    for ax in (left, right):
        ax.grid(alpha=0.3)
    return drawn
