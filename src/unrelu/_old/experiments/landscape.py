"""``figure-landscape``: gradient descent from a random start, uniform against ReLU sampling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unrelu._old.data.observations import Observations
from unrelu._old.data.sampling import relu, uniform
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
from unrelu._old.experiments.solve import (
    AT_REST,
    RECOVERED,
    STEP,
    STEPS,
    curves,
    descend,
    ending,
    instance,
    over_steps,
    step_name,
    step_setting,
    value_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureLandscape"]

SAMPLINGS = {"uniform": "uniform", "relu": "ReLU"}
# Of the true gradient. The paper states it for Table 1, of the gradient as printed.
STOP = 5e-7


class FigureLandscape(Experiment):
    """Figure 1: benign under uniform sampling, not under ReLU sampling.

    Counts are over all seeds and steps; drawn is the first seed, whatever happens on it.

    Examples
    --------
    >>> from unrelu._old.experiments import figure_landscape
    >>> result = figure_landscape(trials=1, rng=0, n=30, r=2, share=0.6, most=2000)
    >>> [row[:4] for row in result.tables[0].rows if row[1] == 1.0]
    [('uniform', 1.0, '1 of 1', 0), ('ReLU', 1.0, '0 of 1', 1)]
    """

    name = "figure-landscape"
    title = "Random starts: uniform against ReLU sampling"
    where = "Figure 1"
    full: ClassVar[Sizes] = {"trials": 40, "n": 200, "r": 5, "share": 0.2, "most": 5000}
    quick: ClassVar[Sizes] = {"trials": 4, "n": 100, "r": 3, "share": 0.3, "most": 3000}

    def setting(self, sizes: Sizes) -> str:
        """The sizes, of which the paper names p only."""
        return (
            f"noiseless, n = {sizes['n']}, r = {sizes['r']} (the paper names neither), uniform with "
            f"p = {sizes['share']:g} or ReLU, Gaussian start; {sizes['trials']} matrices, each at {len(STEPS)} steps"
        )

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """The paper states p and that the start is Gaussian."""
        return (
            step_setting("GD"),
            Setting("GD", "start", "N(0, 1) entries", "ours", "“Gaussian random”; that is the law of U* too"),
            Setting("GD", "cap", f"{sizes['most']}", "inferred", "not stated here; 5000 is printed for Table 1"),
            Setting(
                "GD",
                "stop",
                f"‖∇F‖_F ≤ {STOP:g}",
                "inferred",
                "not stated here; Table 1 has 1e-6 of twice ∇F",
            ),
            Setting("GD", "at rest", f"≤ {AT_REST:g} ‖M_Ω‖₂^(3/2)", "ours", "runs continued from there stay there"),
            Setting("data", "n, r", f"{sizes['n']}, {sizes['r']}", "ours", "not stated here; 200 and 5 are Table 1's"),
            Setting(
                "data", "p", f"{sizes['share']:g}", "printed" if sizes["share"] == 0.2 else "ours", "0.2 is printed"
            ),
            Setting("data", "pairs", "(i, j) and (j, i) together", "ours", "uniform sampling of a symmetric matrix"),
        )

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per matrix, sampling and step."""
        fixed = {name: sizes[name] for name in ("n", "r", "share", "most")}
        return [
            {**fixed, "sampling": s, "step": step, "seed": sizes["rng"] + k, "drawn": k == 0 and step == STEP}
            for k in range(sizes["trials"])
            for s in SAMPLINGS
            for step in STEPS
        ]

    def cost(self, task: Task) -> float:
        """Seconds, roughly."""
        return task["most"] / 5000 * (0.5 if task["sampling"] == "relu" else 0.15) / max(task["step"], 0.5)

    def trial(self, task: Task) -> Row:
        """One run, with its curves where they are drawn."""
        made = instance(task)
        rng = np.random.default_rng([task["seed"], 11])
        start = rng.standard_normal(made.factor.shape)
        seen = task["sampling"] == "relu"
        X = relu(made.matrix) if seen else uniform(made.matrix, task["share"], rng)
        observations = Observations.of(X, threshold=0.0 if seen else None)
        found = descend(observations, start, truth=made.matrix, step=task["step"], gradient=STOP, most=task["most"])
        row: Row = {
            "gradient": float(found.gradient[-1]),
            "rest": found.rest,
            "gamma": float(found.error[-1]),
            "iterations": found.iterations,
        }
        return {**row, "series": curves(alpha=found.gradient, gamma=found.error)} if task["drawn"] else row

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
        """Each claim at every step."""
        return [over_steps(lambda step: _uniform(_of(rows, step))), over_steps(lambda step: _relu(_of(rows, step)))]

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """The figure, and where the runs of each sampling ended."""
        lines: list[dict[str, Cell]] = []
        for sampling, label in SAMPLINGS.items():
            for step in STEPS:
                group = [r for r in _of(rows, step) if r["sampling"] == sampling]
                ends = Counter(map(_ending, group))
                gammas, iterations = numbers(group, "gamma"), numbers(group, "iterations")
                lines.append(
                    {
                        "sampling": label,
                        "step": step,
                        "planted": f"{ends['planted']} of {len(group)}",
                        "elsewhere": ends["elsewhere"],
                        "cut off": ends["cut off"],
                        "median γ_T": float(np.median(gammas)) if gammas else None,
                        "median iterations": float(np.median(iterations)) if iterations else None,
                    }
                )
        relu_runs = [r for r in _of(rows, STEP) if r["sampling"] == "relu"]
        astray = sum(_ending(r) != "planted" for r in relu_runs)
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(
                Table.of(
                    self.name,
                    f"Where runs from Gaussian random starts end: at the planted matrix (γ_T < {RECOVERED:g}), at rest "
                    f"elsewhere (gradient norm at most {AT_REST:g} ‖M_Ω‖₂^(3/2)), or cut off before either. Steps in "
                    "units of 1/max(‖M_Ω‖₂, ‖U₀‖₂²).",
                    lines,
                ),
            ),
            pictures=(
                Picture(
                    self.name,
                    "Gradient norm and completion error of gradient descent from a Gaussian random start: uniform and "
                    f"ReLU sampling of the first matrix, whatever happens on it, {step_name(STEP)}. With ReLU sampling "
                    f"{astray} of {len(relu_runs)} matrices are not completed.",
                    lambda narrow: _draw([r for r in rows if r.get("series")], narrow=narrow),
                ),
            ),
            judgements=self.judged(sizes, rows),
        )


def _of(rows: Sequence[Row], step: float) -> list[Row]:
    return [r for r in rows if r["step"] == step]


def _ending(row: Row) -> str:
    return ending(value_of(row, "gamma"), value_of(row, "rest"))


def _uniform(rows: Sequence[Row]) -> Judgement:
    runs = [r for r in rows if r["sampling"] == "uniform"]
    bad = [r for r in runs if _ending(r) != "planted"]
    return rules.always(
        "landscape/uniform",
        len(runs) - len(bad),
        len(runs),
        f"{len(runs) - len(bad)} of {len(runs)} runs",
        otherwise=f"of the others {sum(_ending(r) == 'cut off' for r in bad)} were cut off before they came to rest",
        rests=("step", "start", "cap", "stop", "n, r"),
    )


def _relu(rows: Sequence[Row]) -> Judgement:
    """Runs that were cut off say nothing of where they would have ended, and are not counted."""
    ends = Counter(_ending(r) for r in rows if r["sampling"] == "relu")
    return rules.generally(
        "landscape/relu",
        ends["elsewhere"],
        ends["elsewhere"] + ends["planted"],
        f"{ends['elsewhere']} runs come to rest elsewhere, {ends['planted']} at the planted matrix; "
        f"{ends['cut off']} cut off before and not counted",
        otherwise="most runs reach the planted matrix",
        rests=("step", "start", "cap", "n, r", "at rest"),
    )


def _draw(rows: Sequence[Row], *, narrow: bool) -> Figure:
    drawn, axes = panels(1, 2, narrow=narrow, height=2.6, sharey=True)
    names = {"alpha": "gradient norm ‖∇F(U)‖_F", "gamma": "completion error ‖UUᵀ − M‖_F/‖M‖_F"}
    for ax, (sampling, label) in zip(axes[0], SAMPLINGS.items(), strict=True):
        for row in rows:
            if row["sampling"] == sampling:
                for look, (name, words) in zip(LOOKS, names.items(), strict=False):
                    series = row["series"]
                    style = look.line(markevery=0.12, linewidth=1.4)
                    ax.semilogy(series["iteration"], series[name], label=words, **style)
        ax.set_title(f"{label} sampling", fontsize=10)
        ax.set_xlabel("iteration t")
        ax.grid(alpha=0.3)
        if narrow or ax is axes[0, 0]:
            ax.set_ylabel("value (log scale)")
    legend_below(drawn, axes[0, 0], 2)
    return drawn
