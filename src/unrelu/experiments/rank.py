"""``figure-rank``: up to which rank gradient descent and the default method complete the matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unrelu.complete import complete
from unrelu.data.observations import Observations
from unrelu.data.sampling import relu
from unrelu.experiments.base import Cell, Experiment, Judgement, Picture, Result, Row, Sizes, Table, Task, numbers
from unrelu.experiments.drawing import LOOKS, figure, legend_below, quartile_line
from unrelu.experiments.judging import compare_number, judge_claim
from unrelu.experiments.solve import descend, instance, off, paper_start

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureRank", "counting_limit"]

RECOVERED = 1e-6
# Below the counting limit the default needs about thirty iterations; past it a perfect fit creeps on and means nothing.
MOST, MOST_PAST_LIMIT = 60, 10
MOST_GD = 5000
# Ranks are tried in steps; so far below the counting limit a recovered one counts as at it.
NEAR_LIMIT = 0.9
METHODS = {"gd": "GD, as in the paper", "default": "unrelu default"}


def counting_limit(n: int, pairs: float) -> float:
    """The rank r at which the nr − r(r−1)/2 unknowns meet the distinct seen entries.

    Examples
    --------
    >>> round(counting_limit(200, 10150), 2)
    59.43
    """
    half = n + 0.5
    return float(half - np.sqrt(half**2 - 2 * pairs))


class FigureRank(Experiment):
    """Completion error against rank: Figure 7's three sizes, both methods, the counting limit drawn in.

    Examples
    --------
    >>> from unrelu.experiments import figure_rank
    >>> result = figure_rank(trials=1, rng=0, ns=[40], shares=[0.05, 0.25, 0.32])
    >>> [(row[1], row[3] < 1e-6) for row in result.tables[0].rows if row[2] == "unrelu default"]
    [(2, True), (10, True), (13, False)]
    """

    name = "figure-rank"
    title = "Completion as the rank grows"
    where = "Figure 7"
    setting = (
        "noiseless, n = 200, 300, 400; median and quartiles of 100 trials; GD to a gradient of 1e-4 or 5000 iterations"
    )
    full: ClassVar[Sizes] = {
        "trials": 100,
        "ns": [200, 300, 400],
        "shares": [0.025, 0.1, 0.175, 0.2, 0.225, 0.25, 0.275, 0.29, 0.325],
        # Around the counting limit, where gradient descent has long failed and takes longest.
        "default_only": [0.275, 0.29, 0.325],
    }
    quick: ClassVar[Sizes] = {
        "trials": 2,
        "ns": [100],
        "shares": [0.05, 0.15, 0.225, 0.25, 0.275, 0.32],
        "default_only": [0.275, 0.32],
    }

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per size, rank, matrix and method; gradient descent not at every rank beyond its reach."""
        return [
            {"n": n, "r": max(1, round(share * n)), "method": method, "seed": sizes["rng"] + trial}
            for n in sizes["ns"]
            for share in sizes["shares"]
            for trial in range(sizes["trials"])
            for method in METHODS
            if method == "default" or share not in sizes["default_only"]
        ]

    def cost(self, task: Task) -> float:
        """Seconds, roughly: grows with size and rank."""
        share = task["r"] / task["n"]
        used = min(1.0, (5 * share) ** 2) if task["method"] == "gd" else min(0.6, 0.1 + 10 * max(0.0, share - 0.25))
        return 1.4 * used * float(task["n"] / 200) ** 2.5

    def trial(self, task: Task) -> Row:
        """One method on one matrix."""
        made = instance(task)
        X = relu(made.matrix)
        seen = ~np.isnan(X)
        pairs = int(np.triu(seen | seen.T).sum())
        if task["method"] == "gd":
            start, _ = paper_start("tailored", X, task["r"], [task["seed"], 7], scaled=True)
            found = descend(Observations.of(X), start, gradient=5e-5, most=MOST_GD)
            return {"error": off(found.factor, made.factor), "pairs": pairs, "iterations": found.iterations}
        past = task["r"] > counting_limit(task["n"], pairs)
        done = complete(X, task["r"], rng=task["seed"], max_iter=MOST_PAST_LIMIT if past else MOST)
        return {
            "error": off(done.factor, made.factor),
            "pairs": pairs,
            "iterations": done.history[-1].iteration,
            "code": done.verdict.code.value,
        }

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """The figure, and where each curve leaves the floor."""
        lines: list[dict[str, Cell]] = []
        judgements: list[Judgement] = []
        for n in sizes["ns"]:
            limit = counting_limit(n, float(np.mean([r["pairs"] for r in rows if r["n"] == n])))
            ends = {}
            for method, label in METHODS.items():
                medians = _medians(rows, n, method)
                ends[method] = _breakdown(medians)
                for r, (low, middle, high) in medians.items():
                    lines.append(
                        {
                            "n": n,
                            "rank": r,
                            "method": label,
                            "median error": middle,
                            "lower quartile": low,
                            "upper quartile": high,
                            "counting limit": limit,
                        }
                    )
            judgements += _judged([r for r in rows if r["n"] == n], n, ends, limit, _medians(rows, n, "default"))
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(Table.of(self.name, "Error ‖UUᵀ − M‖_F/‖M‖_F by rank.", lines),),
            pictures=(
                Picture(
                    self.name,
                    "Completion error against rank: median and quartiles. The dotted line is the counting limit, where "
                    "the nr − r(r−1)/2 unknowns meet the distinct seen entries; past it the default is stopped after "
                    f"{MOST_PAST_LIMIT} iterations. Gradient descent is run up to a quarter of n.",
                    lambda: _draw(sizes, rows),
                ),
            ),
            judgements=(*judgements, _share(rows)),
        )


def _medians(rows: Sequence[Row], n: int, method: str) -> dict[int, tuple[float, float, float]]:
    chosen = [r for r in rows if r["n"] == n and r["method"] == method]
    ranks = sorted({r["r"] for r in chosen})
    found: dict[int, tuple[float, float, float]] = {}
    for rank in ranks:
        values: Any = np.quantile(numbers([r for r in chosen if r["r"] == rank], "error"), [0.25, 0.5, 0.75])
        found[rank] = (float(values[0]), float(values[1]), float(values[2]))
    return found


def _breakdown(medians: Mapping[int, tuple[float, float, float]]) -> int | None:
    """The first rank whose median error is not that of a recovered matrix."""
    return next((rank for rank, (_, middle, _) in medians.items() if middle > RECOVERED), None)


def _judged(
    rows: Sequence[Row],
    n: int,
    ends: Mapping[str, int | None],
    limit: float,
    ours: Mapping[int, tuple[float, float, float]],
) -> list[Judgement]:
    bound = 0.5 * float(np.log2(n))
    first, last = ends["gd"], ends["default"]
    good = max((rank for rank in ours if last is None or rank < last), default=0)
    words = "no rank tried" if first is None else f"rank {first}"
    found = [
        judge_claim(
            "rank/far-past",
            first is None or first > 2 * bound,
            f"n = {n}: GD first fails at {words}, while ½ log₂ n = {bound:.1f}",
            otherwise=f"GD fails within twice ½ log₂ n = {bound:.1f}",
        ),
        judge_claim(
            "rank/default",
            good >= NEAR_LIMIT * limit,
            f"n = {n}: recovered up to rank {good}, the counting limit is {limit:.1f}; GD fails from {words} on",
            otherwise=f"the median error is above {RECOVERED:g} from rank {last} on"
            if last is not None
            else f"no rank above {good} was tried",
            better=True,
        ),
    ]
    if n == 200:
        broken = [] if first is None else [float(first)]
        found.append(compare_number("rank/breakdown", broken, _ending(rows, first), what="rank"))
    return found


def _ending(rows: Sequence[Row], rank: int | None) -> str:
    """Whether gradient descent came to rest where it first fails, or ran out of iterations."""
    if rank is None:
        return "GD breaks down at no rank that was tried"
    runs = [r for r in rows if r["method"] == "gd" and r["r"] == rank]
    cut = sum(r["iterations"] >= MOST_GD for r in runs)
    rest = ", and the others come to rest" if cut < len(runs) else ""
    return f"There {cut} of {len(runs)} runs are cut off after {MOST_GD} iterations{rest}"


def _share(rows: Sequence[Row]) -> Judgement:
    """How much of the matrix is seen, whatever its size and rank."""
    shares = {
        (n, r): float(np.mean([row["pairs"] for row in rows if (row["n"], row["r"]) == (n, r)])) / (n * (n + 1) / 2)
        for n, r in sorted({(row["n"], row["r"]) for row in rows})
    }
    low, high = min(shares, key=lambda case: shares[case]), max(shares, key=lambda case: shares[case])
    return judge_claim(
        "rank/share",
        0.4 < shares[low] <= shares[high] < 0.6,
        f"from {shares[low]:.1%} of the distinct entries (n = {low[0]}, r = {low[1]}) to {shares[high]:.1%} "
        f"(n = {high[0]}, r = {high[1]}), threshold 0",
        otherwise="the share depends on size or rank",
    )


def _draw(sizes: Sizes, rows: Sequence[Row]) -> Figure:
    ns = sizes["ns"]
    drawn = figure(max(4.6, 3.1 * len(ns)), 3.5)
    axes = drawn.subplots(1, len(ns), sharey=True, squeeze=False)[0]
    for ax, n in zip(axes, ns, strict=True):
        for look, (method, label) in zip(LOOKS, METHODS.items(), strict=False):
            chosen = [r for r in rows if r["n"] == n and r["method"] == method]
            ranks = sorted({r["r"] for r in chosen})
            quartile_line(ax, ranks, [numbers([r for r in chosen if r["r"] == k], "error") for k in ranks], look, label)
        limit = counting_limit(n, float(np.mean([r["pairs"] for r in rows if r["n"] == n])))
        ax.axvline(limit, color="black", linestyle=":", linewidth=1.3, label="counting limit")
        ax.set_yscale("log")
        ax.set_title(f"n = {n}")
        ax.set_xlabel("rank r")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("completion error")
    legend_below(drawn, axes[0], 3)
    return drawn
