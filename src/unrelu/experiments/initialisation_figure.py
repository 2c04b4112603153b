"""``figure-initialisation``: one run per start and noise level, iteration by iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unrelu.data.observations import Observations
from unrelu.data.sampling import relu
from unrelu.experiments.base import Cell, Picture, Result, Row, Sizes, Table, Task
from unrelu.experiments.drawing import LOOKS, figure, legend_below
from unrelu.experiments.initialisation import START_NAMES, FromStarts
from unrelu.experiments.judging import judge_claim
from unrelu.experiments.solve import curves, descend, instance, paper_start

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureInitialisation"]

# The orthonormal start as printed, beside the three with scaled columns.
CURVES = [*((start, True) for start in START_NAMES), ("tailored", False)]


class FigureInitialisation(FromStarts):
    """Gradient norm and completion error against iterations.

    Examples
    --------
    >>> from unrelu.experiments import figure_initialisation
    >>> result = figure_initialisation(trials=1, rng=0, n=60, r=2, sigmas=[0.0], most=600)
    >>> [(judgement.key, judgement.verdict) for judgement in result.judgements]
    [('init/linear', 'reproduced')]
    >>> result.pictures[0].draw().axes[0].get_title()
    'σ = 0'
    """

    name = "figure-initialisation"
    title = "Convergence from three starts"
    where = "Figure 5"
    setting = "n = 200, r = 5, σ ∈ {0, 1e-4, 1e-2}; one run per start, drawn from the first trial"
    full: ClassVar[Sizes] = {"trials": 5, "n": 200, "r": 5, "sigmas": [0.0, 1e-4, 1e-2], "most": 5000}
    quick: ClassVar[Sizes] = {"trials": 1, "most": 1500}

    runs: ClassVar = CURVES

    def trial(self, task: Task) -> Row:
        """One run with its curves."""
        made = instance(task)
        X = relu(made.matrix)
        start, _ = paper_start(task["start"], X, task["r"], [task["seed"], 7], scaled=task["scaled"])
        found = descend(Observations.of(X), start, truth=made.matrix, most=task["most"])
        alpha = 2 * found.gradient  # of the gradient as printed
        return {
            "iterations": found.iterations,
            "final_gamma": float(found.error[-1]),
            "straightness": _straightness(found.gradient),
            "series": curves(alpha=alpha, gamma=found.error),
        }

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """The figure, and whether the curve is straight on a logarithmic scale."""
        first = [r for r in rows if r["seed"] == sizes["rng"]]
        lines: list[dict[str, Cell]] = [
            {
                "σ": r["sigma"],
                "start": START_NAMES[r["start"]],
                "columns": "scaled" if r["scaled"] else "orthonormal",
                "seed": r["seed"],
                "iterations": r["iterations"],
                "final γ": r["final_gamma"],
            }
            for r in rows
        ]
        straight = [r["straightness"] for r in rows if r["start"] == "tailored" and r["scaled"] and r["sigma"] == 0]
        judgements = []
        if straight:
            judgements.append(
                judge_claim(
                    "init/linear",
                    min(straight) > 0.99,
                    f"log α_t against t over the last half: R² = {min(straight):.4f} at least, {len(straight)} runs",
                    otherwise="on a logarithmic scale the curve of some run bends",
                )
            )
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(Table.of(self.name, "Where each run ended.", lines),),
            pictures=(
                Picture(
                    self.name,
                    "Gradient norm α_t (above, gradient as printed) and completion error γ_t (below) of one run per "
                    "start. Scaled columns, and the tailored start with orthonormal columns as printed.",
                    lambda: _draw(sizes, first),
                ),
            ),
            judgements=tuple(judgements),
        )


def _straightness(gradient: np.ndarray) -> float:
    """R² of a straight line through log α_t over the second half of a run."""
    half = np.log(np.maximum(gradient[len(gradient) // 2 :], 1e-300))
    if len(half) < 3:
        return 1.0
    t = np.arange(len(half))
    rest = half - np.polyval(np.polyfit(t, half, 1), t)
    spread = float(np.sum((half - half.mean()) ** 2))
    return 1 - float(np.sum(rest**2)) / spread if spread else 0.0


def _draw(sizes: Sizes, rows: Sequence[Row]) -> Figure:
    drawn = figure(3.0 * len(sizes["sigmas"]), 5.0)
    axes = drawn.subplots(2, len(sizes["sigmas"]), sharex="col", squeeze=False)
    for column, sigma in enumerate(sizes["sigmas"]):
        for look, (start, scaled) in zip(LOOKS, CURVES, strict=False):
            for row in rows:
                if (row["sigma"], row["start"], row["scaled"]) != (sigma, start, scaled):
                    continue
                label = START_NAMES[start] + ("" if scaled else ", orthonormal")
                series = row["series"]
                style = look.line(markevery=0.17, linewidth=1.3)
                axes[0, column].semilogy(series["iteration"], series["alpha"], label=label, **style)
                axes[1, column].semilogy(series["iteration"], series["gamma"], label=label, **style)
        axes[0, column].set_title(f"σ = {sigma:g}")
        axes[1, column].set_xlabel("iteration t")
        for ax in axes[:, column]:
            ax.grid(alpha=0.3)
    axes[0, 0].set_ylabel("gradient norm α$_t$")
    axes[1, 0].set_ylabel("completion error γ$_t$")
    legend_below(drawn, axes[0, 0], 4)
    return drawn
