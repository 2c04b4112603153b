"""``figure-landscape``: gradient descent from a random start, uniform against ReLU sampling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unrelu.data.observations import Observations
from unrelu.data.sampling import relu, uniform
from unrelu.experiments.base import Cell, Experiment, Judgement, Picture, Result, Row, Sizes, Table, Task, numbers
from unrelu.experiments.drawing import LOOKS, figure, legend_below
from unrelu.experiments.judging import judge_claim
from unrelu.experiments.solve import curves, descend, instance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureLandscape"]

RECOVERED = 1e-4
# A gradient that begins in the hundreds and ends below this is that of a stationary point.
STATIONARY = 1e-3
SAMPLINGS = {"uniform": "uniform", "relu": "ReLU"}


class FigureLandscape(Experiment):
    """Figure 1: benign under uniform sampling, not under ReLU sampling.

    Counts are over all seeds. Drawn is the first one on which ReLU sampling goes astray, if there is one.

    Examples
    --------
    >>> from unrelu.experiments import figure_landscape
    >>> result = figure_landscape(trials=1, rng=0, n=40, r=2, share=0.5, most=400)
    >>> [row[:3] for row in result.tables[0].rows]
    [('uniform', 1, 1), ('ReLU', 1, 0)]
    """

    name = "figure-landscape"
    title = "Random starts: uniform against ReLU sampling"
    where = "Figure 1"
    setting = "noiseless, n = 200, r = 5 (the paper names no size), uniform p = 0.2 or ReLU, Gaussian random start"
    full: ClassVar[Sizes] = {"trials": 20, "n": 200, "r": 5, "share": 0.2, "most": 5000}
    quick: ClassVar[Sizes] = {"trials": 4, "n": 100, "r": 3, "share": 0.3, "most": 3000}

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per sampling and matrix."""
        fixed = {name: sizes[name] for name in ("n", "r", "share", "most")}
        return [
            {**fixed, "sampling": sampling, "seed": sizes["rng"] + trial}
            for trial in range(sizes["trials"])
            for sampling in SAMPLINGS
        ]

    def cost(self, task: Task) -> float:
        """Seconds, roughly."""
        return 0.5

    def trial(self, task: Task) -> Row:
        """One run with its curves."""
        made = instance(task)
        rng = np.random.default_rng([task["seed"], 11])
        start = rng.standard_normal(made.factor.shape)
        seen = task["sampling"] == "relu"
        X = relu(made.matrix) if seen else uniform(made.matrix, task["share"], rng)
        observations = Observations.of(X, threshold=0.0 if seen else None)
        found = descend(observations, start, truth=made.matrix, most=task["most"], step=1.0)
        return {
            "final_gradient": float(found.gradient[-1]),
            "final_gamma": float(found.error[-1]),
            "iterations": found.iterations,
            "series": curves(alpha=found.gradient, gamma=found.error),
        }

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """The figure, and in how many runs each sampling was completed."""
        lines: list[dict[str, Cell]] = []
        good = {}
        for sampling, label in SAMPLINGS.items():
            group = [r for r in rows if r["sampling"] == sampling]
            good[sampling] = sum(r["final_gamma"] < RECOVERED for r in group)
            lines.append(
                {
                    "sampling": label,
                    "runs": len(group),
                    "recovered": good[sampling],
                    "median γ_T": float(np.median(numbers(group, "final_gamma"))),
                    "median ‖∇F‖": float(np.median(numbers(group, "final_gradient"))),
                    "median iterations": float(np.median(numbers(group, "iterations"))),
                }
            )
        shown = _shown(sizes, rows)
        first = [r for r in rows if r["seed"] == shown]
        chosen = ", on the first matrix with which ReLU sampling goes astray" if _astray(rows) else ""
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(Table.of(self.name, "Runs from Gaussian random starts.", lines),),
            pictures=(
                Picture(
                    self.name,
                    "Gradient norm and completion error of gradient descent from a Gaussian random start, one run "
                    f"each{chosen}: uniform sampling (left) and ReLU sampling (right).",
                    lambda: _draw(first),
                ),
            ),
            judgements=_judged(rows),
        )


def _judged(rows: Sequence[Row]) -> tuple[Judgement, Judgement]:
    uniform = [r for r in rows if r["sampling"] == "uniform"]
    bad = [r for r in uniform if r["final_gamma"] >= RECOVERED]
    relu_runs = [r for r in rows if r["sampling"] == "relu"]
    astray = [r for r in relu_runs if r["final_gamma"] >= RECOVERED]
    still = [r for r in astray if r["final_gradient"] < STATIONARY]
    return (
        judge_claim(
            "landscape/uniform",
            len(bad) <= 0.1 * len(uniform),
            f"{len(uniform) - len(bad)} of {len(uniform)} runs recovered",
            otherwise=f"the others end at an error of {min(numbers(bad, 'final_gamma'), default=0.0):.2g} or more, "
            f"with a gradient norm of {max(numbers(bad, 'final_gradient'), default=0.0):.2g} at most",
        ),
        judge_claim(
            "landscape/relu",
            len(still) > len(relu_runs) / 2,
            f"{len(astray)} of {len(relu_runs)} runs end elsewhere, {len(still)} of them with a gradient norm below "
            f"{STATIONARY:g}",
            otherwise=f"{len(relu_runs) - len(astray)} runs reach the planted matrix and {len(astray) - len(still)} "
            "were cut off before they came to rest",
        ),
    )


def _shown(sizes: Sizes, rows: Sequence[Row]) -> int:
    """The first seed on which ReLU sampling goes astray, which the figure is about; else the first."""
    return int(min(_astray(rows), default=sizes["rng"]))


def _astray(rows: Sequence[Row]) -> list[int]:
    """Seeds on which ReLU sampling does not lead to the planted matrix."""
    return [r["seed"] for r in rows if r["sampling"] == "relu" and r["final_gamma"] >= RECOVERED]


def _draw(rows: Sequence[Row]) -> Figure:
    drawn = figure(7.0, 3.1)
    axes = drawn.subplots(1, 2, sharey=True)
    names = {"alpha": "gradient norm ‖∇F(U)‖$_F$", "gamma": "completion error ‖UUᵀ − M‖$_F$/‖M‖$_F$"}
    for ax, (sampling, label) in zip(axes, SAMPLINGS.items(), strict=True):
        for row in rows:
            if row["sampling"] == sampling:
                for look, (name, words) in zip(LOOKS, names.items(), strict=False):
                    series = row["series"]
                    style = look.line(markevery=0.12, linewidth=1.4)
                    ax.semilogy(series["iteration"], series[name], label=words, **style)
        ax.set_title(f"{label} sampling")
        ax.set_xlabel("iteration t")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("value (log scale)")
    legend_below(drawn, axes[0], 2)
    return drawn
