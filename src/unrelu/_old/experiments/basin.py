"""``figure-basin``: how close is close enough, and how fast gradient descent is from there."""

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
from unrelu._old.experiments.drawing import LOOKS, legend_below, panels, quartile_line
from unrelu._old.experiments.solve import (
    LINEAR,
    RECOVERED,
    STEP,
    STEPS,
    descend,
    instance,
    off,
    over_steps,
    steadiness,
    step_name,
    step_setting,
    value_of,
)
from unrelu._old.model.factors import align
from unrelu._old.theory.bounds import convexity_radius
from unrelu._old.theory.geometry import Landscape, curvature

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureBasin"]

# A random direction hardly hides U*; the way to another Gaussian factor leads to a random start.
TOWARDS = {"noise": "random", "factor": "to another factor"}
# Of the true gradient. The paper states it for Table 1, of the gradient as printed.
STOP = 5e-7
# At the nearest distance the curvature is that of U* to within this share.
NEAR = 0.9


class FigureBasin(Experiment):
    """Success and rate of gradient descent against the distance of its start from the planted factor.

    Examples
    --------
    >>> from unrelu._old.experiments import figure_basin
    >>> result = figure_basin(trials=1, rng=0, n=40, r=2, distances=[0.01])
    >>> result.tables[0].rows[0][:3], result.tables[0].rows[1][:3]
    (('random', 0.01, '1 1 1 of 1'), ('to another factor', 0.01, '1 1 1 of 1'))
    """

    name = "figure-basin"
    title = "Close enough, and at a linear rate"
    where = "Sections 1.1 and 4.2, Theorem 2 (no figure in the paper)"
    full: ClassVar[Sizes] = {
        "trials": 40,
        "far": 20,
        "n": 200,
        "r": 5,
        "distances": [0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0],
        "most": 5000,
    }
    quick: ClassVar[Sizes] = {"trials": 3, "n": 100, "r": 3, "distances": [0.001, 0.1, 0.3, 0.5, 0.8, 1.25, 2.0]}

    def setting(self, sizes: Sizes) -> str:
        """The sizes; far from U* fewer matrices are run."""
        far = min(sizes["far"], sizes["trials"])
        return (
            f"noiseless, n = {sizes['n']}, r = {sizes['r']}, start at a given distance from U* in either of two "
            f"directions; {sizes['trials']} matrices at the nearest distance, {far} beyond, each at {len(STEPS)} steps"
        )

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """The paper runs nothing of this kind."""
        return (
            step_setting("GD"),
            Setting("GD", "start", "U* + d ‖U*‖_F × direction", "ours", "how close is close enough is not stated"),
            Setting("Hessian", "bent", f"{NEAR:g} γ/2", "ours", "measured at the nearest start, not at U* itself"),
            Setting("GD", "cap", f"{sizes['most']}", "inferred", "not stated here; 5000 is printed for Table 1"),
            Setting("GD", "stop", f"‖∇F‖_F ≤ {STOP:g}", "inferred", "1e-6 of twice ∇F is printed for Table 1"),
            Setting("GD", "recovered", f"error < {RECOVERED:g}", "ours", "runs that arrive end at about 1e-9"),
            Setting("data", "n, r", f"{sizes['n']}, {sizes['r']}", "ours", "200 and 5 are those of Table 1"),
            Setting(
                "data", "nearest", f"{min(sizes['distances'], default=0):g} ‖U*‖_F", "ours", "the theorems are local"
            ),
        )

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per direction, distance and matrix; every step is run in it."""
        fixed = {name: sizes[name] for name in ("n", "r", "most")}
        return [
            {**fixed, "towards": towards, "distance": distance, "seed": sizes["rng"] + trial}
            for towards in TOWARDS
            for distance in sizes["distances"]
            for trial in range(_matrices(sizes, distance))
        ]

    def cost(self, task: Task) -> float:
        """Seconds, roughly."""
        return 0.25 + 0.7 * float(task["distance"])

    def trial(self, task: Task) -> Row:
        """A run for each step, the curvature at their start, and the neighbourhood of the planted factor."""
        made = instance(task)
        X = relu(made.matrix)
        seen = Observations.of(X)
        direction = np.random.default_rng([task["seed"], 23]).standard_normal(made.factor.shape)
        if task["towards"] == "factor":
            direction = align(direction, made.factor) - made.factor
        size = float(np.linalg.norm(made.factor))
        start = made.factor + task["distance"] * size * direction / np.linalg.norm(direction)
        gamma = curvature(~np.isnan(X), made.factor).gamma
        row: Row = {
            "curvature": Landscape.of(seen, task["r"]).smallest_eigenvalue(start),
            "gamma": gamma,
            "radius": convexity_radius(made.factor, gamma) / size,
        }
        for step in STEPS:
            found = descend(seen, start, truth=made.matrix, step=step, gradient=STOP, most=task["most"])
            row[f"error {step:g}"] = off(found.factor, made.factor)
            row[f"even {step:g}"] = steadiness(found.error)
            row[f"factor {step:g}"] = _factor(found.error)
        return row

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
        """What depends on the step is judged at each."""
        return [
            over_steps(lambda step: _close(sizes, rows, step)),
            over_steps(lambda step: _linear(rows, step)),
            _convex(sizes, rows),
        ]

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """The figure, and up to which distance every run succeeds."""
        lines: list[dict[str, Cell]] = []
        for towards, distance in [(t, d) for t in TOWARDS for d in sizes["distances"]]:
            group = _at(rows, towards, distance)
            counts = " ".join(str(sum(_recovered(r, step) for r in group)) for step in STEPS)
            factors = numbers([r for r in group if _recovered(r, STEP)], f"factor {STEP:g}")
            lines.append(
                {
                    "direction": TOWARDS[towards],
                    "distance": distance,
                    "recovered": f"{counts} of {len(group)}",
                    "factor": float(np.median(factors)) if factors else None,
                    "convex": f"{sum(value_of(r, 'curvature') > 0 for r in group)} of {len(group)}",
                    "curvature": min(numbers(group, "curvature"), default=None),
                }
            )
        steps = ", ".join(f"{step:g}" for step in STEPS)
        radius = _radius(rows)
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(
                Table.of(
                    self.name,
                    f"By the distance of the start from U*, over ‖U*‖_F: runs recovered at the steps {steps}; median "
                    f"factor per iteration by which the error shrinks at {STEP:g}; starts where the Hessian is "
                    "positive definite on the quotient; smallest curvature.",
                    lines,
                ),
            ),
            pictures=(
                Picture(
                    self.name,
                    "First: share of runs that reach the planted matrix, and of starts where the Hessian is positive "
                    "definite on the quotient. The vertical line is the neighbourhood that Theorem 2's γ proves. "
                    "Second: factor by which the error shrinks per iteration, median and quartiles. Drawn is "
                    f"{step_name(STEP)}.",
                    lambda narrow: _draw(sizes, rows, radius, narrow=narrow),
                ),
            ),
            judgements=self.judged(sizes, rows),
        )


def _matrices(sizes: Sizes, distance: float) -> int:
    """All matrices at the nearest distance, on which the claims rest; fewer beyond."""
    nearest = distance == min(sizes["distances"])
    return int(sizes["trials"] if nearest else min(sizes["far"], sizes["trials"]))


def _at(rows: Sequence[Row], towards: str, distance: float) -> list[Row]:
    return [r for r in rows if (r["towards"], r["distance"]) == (towards, distance)]


def _recovered(row: Row, step: float) -> bool:
    return value_of(row, f"error {step:g}") < RECOVERED


def _radius(rows: Sequence[Row]) -> float:
    found = numbers(rows, "radius")
    return float(np.median(found)) if found else float("nan")


def _by_matrix(rows: Sequence[Row]) -> list[list[Row]]:
    """The runs on one matrix are not independent: a matrix counts once."""
    return [[r for r in rows if r["seed"] == seed] for seed in sorted({r["seed"] for r in rows})]


def _nearest(sizes: Sizes, rows: Sequence[Row]) -> list[list[Row]]:
    least = min(sizes["distances"], default=0.0)
    return _by_matrix([r for r in rows if r["distance"] == least])


def _close(sizes: Sizes, rows: Sequence[Row], step: float) -> Judgement:
    matrices = _nearest(sizes, rows)
    good = sum(all(_recovered(r, step) for r in group) for group in matrices)
    reach = min(_reach(sizes, rows, towards, step) for towards in TOWARDS)
    nearest = min(sizes["distances"], default=0.0)
    return rules.always(
        "basin/close",
        good,
        len(matrices),
        f"from {nearest:g} ‖U*‖_F {good} of {len(matrices)} matrices in both directions; every run succeeds up to "
        f"{reach:g} ‖U*‖_F, proved is {_radius(rows):.2g} ‖U*‖_F",
        otherwise=f"some run from {nearest:g} ‖U*‖_F, the nearest tried, goes astray or is cut off",
        rests=("step", "nearest", "recovered", "cap", "stop"),
    )


def _linear(rows: Sequence[Row], step: float) -> Judgement:
    """Of each matrix the geometric mean over its runs that arrive."""
    arrived = [r for r in rows if _recovered(r, step)]
    even = [_geometric_mean([value_of(r, f"even {step:g}") for r in group]) for group in _by_matrix(arrived)]
    factors = numbers(arrived, f"factor {step:g}")
    words = f"factor per iteration {min(factors):.3f} to {max(factors):.3f}, " if factors else ""
    return rules.ratio(
        "basin/linear",
        even,
        *LINEAR,
        f"{words}{len(arrived)} runs; decrease of log error in the third quarter of a run over that in the last",
        otherwise="the decrease slows down",
        why="a power of the iteration would give 1.41",
        rests=("step", "recovered", "cap", "stop"),
    )


def _geometric_mean(values: Sequence[float]) -> float:
    """Not a number if one of the values has no logarithm."""
    return float(np.exp(np.mean(np.log(values)))) if all(v > 0 for v in values) else float("nan")


def _convex(sizes: Sizes, rows: Sequence[Row]) -> Judgement:
    """Theorem 2: the smallest eigenvalue of the Hessian on the quotient at U* is γ/2, and γ > 0."""
    matrices = _nearest(sizes, rows)
    good = sum(
        all(value_of(r, "gamma") > 0 and value_of(r, "curvature") > NEAR * value_of(r, "gamma") / 2 for r in group)
        for group in matrices
    )
    gammas = numbers(rows, "gamma")
    near = [
        value_of(r, "curvature") / (value_of(r, "gamma") / 2) for g in matrices for r in g if value_of(r, "gamma") > 0
    ]
    words = f"γ from {min(gammas):.3g} to {max(gammas):.3g}; " if gammas else ""
    words += f"smallest curvature at the nearest starts {min(near):.3f} to {max(near):.3f} times γ/2; " if near else ""
    return rules.always(
        "basin/convex",
        good,
        len(matrices),
        f"{words}{good} of {len(matrices)} matrices",
        otherwise=f"γ is not positive, or the curvature falls below {NEAR:g} γ/2",
        rests=("nearest", "bent"),
    )


def _factor(error: np.ndarray) -> float | None:
    """The factor per iteration over the last half of a run."""
    last = len(error) - 1
    half = last // 2
    if last < 8 or not error[half] > error[last] > 0:
        return None
    return float((error[last] / error[half]) ** (1 / (last - half)))


def _reach(sizes: Sizes, rows: Sequence[Row], towards: str, step: float) -> float:
    """The largest distance up to which every run succeeds."""
    reach = 0.0
    for distance in sizes["distances"]:
        group = _at(rows, towards, distance)
        if not group or not all(_recovered(r, step) for r in group):
            break
        reach = float(distance)
    return reach


def _draw(sizes: Sizes, rows: Sequence[Row], radius: float, *, narrow: bool) -> Figure:
    drawn, axes = panels(1, 2, narrow=narrow, height=2.7, extra=1.1 if narrow else 0.7)
    left, right = axes[0]
    for k, (towards, words) in enumerate(TOWARDS.items()):
        found = [(d, group) for d in sizes["distances"] if (group := _at(rows, towards, d))]
        x = [d for d, _ in found]
        arrived = [np.mean([_recovered(r, STEP) for r in group]) for _, group in found]
        convex = [np.mean([value_of(r, "curvature") > 0 for r in group]) for _, group in found]
        left.semilogx(x, arrived, label=f"reaches M*, {words}", **LOOKS[2 * k].line())
        left.semilogx(x, convex, label=f"convex at the start, {words}", **LOOKS[2 * k + 1].line(markerfacecolor="none"))
        factors = [numbers([r for r in group if _recovered(r, STEP)], f"factor {STEP:g}") for _, group in found]
        quartile_line(right, x, factors, LOOKS[2 * k], words)
    if np.isfinite(radius):
        left.axvline(radius, color="black", linestyle=":", label="proved neighbourhood")
    left.set(ylabel="share of runs", ylim=(-0.05, 1.05))
    right.set_xscale("log")
    right.set(ylabel="factor per iteration")
    for ax in (left, right):
        ax.set_xlabel("distance of the start, ‖U₀ − U*‖_F/‖U*‖_F")
        ax.grid(alpha=0.3)
    legend_below(drawn, left, 2)
    return drawn
