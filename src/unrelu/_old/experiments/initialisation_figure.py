"""``figure-initialisation``: one run per start and noise level, iteration by iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unrelu._old.data.observations import Observations
from unrelu._old.data.sampling import relu
from unrelu._old.experiments import rules
from unrelu._old.experiments.base import (
    Cell,
    Experiment,
    Judgement,
    Picture,
    Result,
    Row,
    Setting,
    Sizes,
    Table,
    Task,
    numbers,
)
from unrelu._old.experiments.drawing import LOOKS, legend_below, panels
from unrelu._old.experiments.initialisation import common_settings
from unrelu._old.experiments.initialisation_verdicts import START_NAMES
from unrelu._old.experiments.solve import (
    AT_REST,
    LINEAR,
    RECOVERED,
    STEP,
    STEPS,
    STOP,
    curves,
    descend,
    ending,
    instance,
    off,
    over_steps,
    paper_start,
    steadiness,
    step_name,
    value_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureInitialisation"]

# The orthonormal start as printed, beside the three with scaled columns.
CURVES = [*((start, True) for start in START_NAMES), ("tailored", False)]


class FigureInitialisation(Experiment):
    """Gradient norm and completion error against iterations, and the rate of many runs at every step.

    Examples
    --------
    >>> from unrelu._old.experiments import figure_initialisation
    >>> result = figure_initialisation(trials=1, rng=0, n=40, r=2, sigmas=[0.0], most=300)
    >>> [(judgement.key, judgement.verdict) for judgement in result.judgements]
    [('init/linear', 'not tested')]
    >>> result.pictures[0].draw(True).axes[0].get_title()
    'σ = 0'
    """

    name = "figure-initialisation"
    title = "Convergence from three starts"
    where = "Figure 5"
    full: ClassVar[Sizes] = {"trials": 40, "n": 200, "r": 5, "sigmas": [0.0, 1e-4, 1e-2], "most": 5000}
    quick: ClassVar[Sizes] = {"trials": 2, "sigmas": [0.0, 1e-2], "most": 1000}

    def setting(self, sizes: Sizes) -> str:
        """The sizes, and which runs are drawn."""
        return (
            f"n = {sizes['n']}, r = {sizes['r']}, σ ∈ {{{', '.join(f'{s:g}' for s in sizes['sigmas'])}}}; one run per "
            f"start on the first matrix is drawn, {step_name(STEP)}; rates from {sizes['trials']} matrices without "
            f"noise, each at {len(STEPS)} steps"
        )

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """As in Tables 1 and 2."""
        drawn = "the paper draws one run of twenty and does not say which"
        return (
            *common_settings(sizes),
            Setting("GD", "recovered", f"error < {RECOVERED:g}", "ours", "runs that arrive end at about 1e-9"),
            Setting("GD", "at rest", f"≤ {AT_REST:g} ‖M_Ω‖₂^(3/2)", "ours", "runs continued from there stay there"),
            Setting("data", "drawn", f"first matrix, step {STEP:g}", "ours", drawn),
        )

    def tasks(self, sizes: Sizes) -> list[Task]:
        """What is drawn, and the tailored start without noise on every matrix at every step."""
        fixed = {name: sizes[name] for name in ("n", "r", "most")}
        drawn = [
            {
                **fixed,
                "sigma": sigma,
                "start": start,
                "scaled": scaled,
                "step": STEP,
                "seed": sizes["rng"],
                "drawn": True,
            }
            for sigma in sizes["sigmas"]
            for start, scaled in CURVES
        ]
        rates: list[Task] = [
            {**fixed, "sigma": 0.0, "start": "tailored", "scaled": True, "step": step, "seed": sizes["rng"] + trial}
            for trial in range(sizes["trials"])
            for step in STEPS
        ]
        return [*drawn, *({**task, "drawn": False} for task in rates)]

    def cost(self, task: Task) -> float:
        """The other starts rarely converge early."""
        return 0.04 / task["step"] if task["start"] == "tailored" else task["most"] / 6000

    def trial(self, task: Task) -> Row:
        """One run, with its curves where they are drawn."""
        made = instance(task)
        X = relu(made.matrix)
        start, _ = paper_start(task["start"], X, task["r"], [task["seed"], 7], scaled=task["scaled"])
        found = descend(
            Observations.of(X), start, truth=made.matrix, step=task["step"], gradient=STOP / 2, most=task["most"]
        )
        error = found.error
        half = (len(error) - 1) // 2
        row: Row = {
            "iterations": found.iterations,
            "gamma": float(error[-1]),
            "gamma_clean": off(found.factor, made.factor),
            "rest": found.rest,
            "even": steadiness(error),
            "factor": float((error[-1] / error[half]) ** (1 / max(len(error) - 1 - half, 1)))
            if error[half] > 0
            else None,
        }
        # α of the gradient as printed
        return {**row, "series": curves(alpha=2 * found.gradient, gamma=error)} if task["drawn"] else row

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
        """Whether the error falls at a linear rate, at every step."""
        return [over_steps(lambda step: _linear(_rated(rows, step)))]

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """The figure, where its runs ended, and the rates."""
        ends: list[dict[str, Cell]] = [
            {
                "σ": r["sigma"],
                "start": START_NAMES[r["start"]],
                "columns": "scaled" if r["scaled"] else "orthonormal",
                "ends": ending(value_of(r, "gamma_clean"), value_of(r, "rest"), r["sigma"]),
                "iterations": r["iterations"],
                "γ_T": r["gamma"],
            }
            for r in rows
            if r["drawn"]
        ]
        rates: list[dict[str, Cell]] = []
        for step in STEPS:
            runs = _rated(rows, step)
            factors, even = numbers(runs, "factor"), numbers(runs, "even")
            rates.append(
                {
                    "step": step,
                    "recovered": f"{sum(map(_recovered, runs))} of {len(runs)}",
                    "median factor": float(np.median(factors)) if factors else None,
                    "largest factor": max(factors, default=None),
                    "evenness": f"{min(even):.3f} to {max(even):.3f}" if even else "–",
                }
            )
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(
                Table.of(self.name, f"Where the runs that are drawn ended: first matrix, {step_name(STEP)}.", ends),
                Table.of(
                    f"{self.name}-rates",
                    "The tailored start with scaled columns, without noise: factor per iteration by which the error "
                    "shrinks over the last half of a run; decrease of log γ_t in the third quarter of a run over that "
                    "in the last (1 at a linear rate, 1.41 for a power of t).",
                    rates,
                ),
            ),
            pictures=(
                Picture(
                    self.name,
                    "Gradient norm α_t (gradient as printed) and completion error γ_t of one run per start, on the "
                    f"first matrix and at the inferred step, {step_name(STEP)}. Scaled columns, and the tailored start "
                    "with orthonormal columns as printed.",
                    lambda narrow: _draw(sizes, [r for r in rows if r.get("series")], narrow=narrow),
                ),
            ),
            judgements=self.judged(sizes, rows),
        )


def _rated(rows: Sequence[Row], step: float) -> list[Row]:
    return [r for r in rows if not r["drawn"] and r["step"] == step]


def _recovered(row: Row) -> bool:
    return value_of(row, "gamma_clean") < RECOVERED


def _linear(runs: Sequence[Row]) -> Judgement:
    """A run that does not arrive has no rate, which is against the claim."""
    even = [value_of(r, "even") if _recovered(r) else float("nan") for r in runs]
    factors = numbers(runs, "factor")
    words = f"factor per iteration {min(factors):.3f} to {max(factors):.3f}; " if factors else ""
    return rules.ratio(
        "init/linear",
        even,
        *LINEAR,
        f"{words}{sum(map(_recovered, runs))} of {len(runs)} runs arrive; decrease of log γ_t in the third quarter "
        "of a run over that in the last",
        otherwise="the decrease slows down, or a run does not arrive",
        why="a power of t would give 1.41",
        rests=("start", "recovered"),
    )


def _draw(sizes: Sizes, rows: Sequence[Row], *, narrow: bool) -> Figure:
    count = len(sizes["sigmas"])
    drawn, axes = panels(2, count, narrow=narrow, height=2.2, sharex=False)
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
        for ax, name in zip(axes[:, column], ("gradient norm α_t", "completion error γ_t"), strict=True):
            ax.grid(alpha=0.3)
            if narrow or ax is axes[0, column]:
                ax.set_title(f"σ = {sigma:g}", fontsize=10)
            if narrow or column == 0:
                ax.set_ylabel(name)
            if narrow or ax is axes[1, column]:
                ax.set_xlabel("iteration t")
    legend_below(drawn, axes[0, 0], 4)
    return drawn
