"""``figure-distances``: centred distance matrices of which only the smallest entries are seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unrelu.complete import complete
from unrelu.experiments.base import Cell, Experiment, Judgement, Picture, Result, Row, Sizes, Table, Task, numbers
from unrelu.experiments.drawing import LOOKS, figure, quartile_line
from unrelu.experiments.judging import compare_number, judge_claim
from unrelu.experiments.solve import descend, off

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureDistances"]

RECOVERED = 1e-6
METHODS = {"gd": "GD, oracle centring", "default": "unrelu default, oracle centring"}


class FigureDistances(Experiment):
    """Figure 8: which fraction of the smallest distances each dimension needs.

    The seen entries are those of the smallest distances; their values are taken from the centred matrix −½JD²J, which
    no one has who has not seen all distances: the paper's oracle.
    """

    name = "figure-distances"
    title = "Distance matrices from their smallest entries"
    where = "Figure 8"
    setting = "200 Gaussian points, the smallest entries of the distance matrix seen, values centred by an oracle"
    full: ClassVar[Sizes] = {
        "trials": 100,
        "n": 200,
        "dims": [2, 3, 5, 10],
        "fractions": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
        "most": 5000,
    }
    quick: ClassVar[Sizes] = {"trials": 3, "n": 80, "dims": [2, 5], "fractions": [0.2, 0.4, 0.6, 0.8], "most": 2000}

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per dimension, fraction, method and set of points."""
        return [
            {
                "n": sizes["n"],
                "dim": dim,
                "fraction": fraction,
                "method": method,
                "most": sizes["most"],
                "seed": sizes["rng"] + trial,
            }
            for dim in sizes["dims"]
            for fraction in sizes["fractions"]
            for trial in range(sizes["trials"])
            for method in METHODS
        ]

    def trial(self, task: Task) -> Row:
        """One method on one set of points."""
        points = np.random.default_rng([task["seed"], task["n"], task["dim"]]).standard_normal((task["n"], task["dim"]))
        points = points - points.mean(axis=0)  # the oracle
        G = points @ points.T
        squares = np.diag(G)[:, None] + np.diag(G)[None, :] - 2 * G
        X = np.where(squares <= np.quantile(squares, task["fraction"]), G, np.nan)
        factor = METHODS_RUN[task["method"]](X, task)
        return {"error": off(factor, points), "negative": float((G < 0).mean())}

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """The figure, and the smallest fraction that each dimension needs."""
        lines: list[dict[str, Cell]] = []
        needed: list[dict[str, Cell]] = []
        for dim in sizes["dims"]:
            for method, label in METHODS.items():
                least = None
                for fraction in reversed(sizes["fractions"]):
                    values = numbers(_group(rows, dim, fraction, method), "error")
                    low, middle, high = (float(v) for v in np.quantile(values, [0.25, 0.5, 0.75]))
                    lines.append(
                        {
                            "dimension": dim,
                            "fraction seen": fraction,
                            "method": label,
                            "median error": middle,
                            "lower quartile": low,
                            "upper quartile": high,
                            "recovered": f"{sum(v < RECOVERED for v in values)} of {len(values)}",
                        }
                    )
                    if middle < RECOVERED and (least is None or _next(sizes, fraction) == least):
                        least = fraction
                needed.append({"dimension": dim, "method": label, "smallest fraction recovered": least})
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(
                Table.of(self.name, "Smallest fraction from which on the median error is below 1e-6.", needed),
                Table.of(f"{self.name}-errors", "Error of the centred matrix.", lines),
            ),
            pictures=(
                Picture(
                    self.name,
                    "Error of the completed centred matrix against the fraction of smallest distances seen, by "
                    "dimension: median and quartiles.",
                    lambda: _draw(sizes, rows),
                ),
            ),
            judgements=_judged(sizes, rows, needed),
            notes=(
                "A reading: “smallest entries” are the smallest distances, whose centred values are passed to the "
                "method. The centring uses all distances, seen or not, as in the paper.",
            ),
        )


def _tailored(X: NDArray[Any], rank: int, rng: np.random.Generator) -> NDArray[Any]:
    """The paper's start on centred distances: −|q| where unseen, though here some unseen entries are positive."""
    Y = rng.standard_normal((len(X), rank))
    seen = ~np.isnan(X)
    Q = Y @ Y.T
    filled = np.where(seen, X, -np.abs(Q))
    values, vectors = np.linalg.eigh((filled + filled.T) / 2)
    top = values[::-1][:rank]
    return vectors[:, ::-1][:, :rank] * np.sqrt(np.maximum(top, 1e-4 * max(top[0], 0.0)))


def _gd(X: NDArray[Any], task: Task) -> NDArray[Any]:
    start = _tailored(X, task["dim"], np.random.default_rng([task["seed"], 7]))
    return descend(X, start, threshold=None, most=task["most"]).factor


def _default(X: NDArray[Any], task: Task) -> NDArray[Any]:
    return complete(X, task["dim"], threshold=None, rng=task["seed"]).factor


METHODS_RUN = {"gd": _gd, "default": _default}


def _group(rows: Sequence[Row], dim: int, fraction: float, method: str) -> list[Row]:
    return [r for r in rows if (r["dim"], r["fraction"], r["method"]) == (dim, fraction, method)]


def _next(sizes: Sizes, fraction: float) -> float | None:
    larger = [f for f in sizes["fractions"] if f > fraction]
    return min(larger, default=None)


def _judged(sizes: Sizes, rows: Sequence[Row], needed: Sequence[Mapping[str, Cell]]) -> tuple[Judgement, ...]:
    gd = {line["dimension"]: line["smallest fraction recovered"] for line in needed if line["method"] == METHODS["gd"]}
    words = ", ".join(
        f"dimension {dim} from {'no fraction tried' if least is None else f'{least:.0%}'}" for dim, least in gd.items()
    )
    return (
        judge_claim("distances/exact", any(least is not None for least in gd.values()), f"exact: {words}"),
        compare_number("distances/negative", numbers(rows, "negative"), what="share"),
    )


def _draw(sizes: Sizes, rows: Sequence[Row]) -> Figure:
    drawn = figure(3.6 * len(METHODS), 3.6)
    axes = drawn.subplots(1, len(METHODS), sharey=True, squeeze=False)[0]
    for ax, (method, label) in zip(axes, METHODS.items(), strict=True):
        for look, dim in zip(LOOKS, sizes["dims"], strict=False):
            groups = [numbers(_group(rows, dim, f, method), "error") for f in sizes["fractions"]]
            quartile_line(ax, [100 * f for f in sizes["fractions"]], groups, look, f"dimension {dim}")
        ax.set_yscale("log")
        ax.set_title(label, fontsize="medium")
        ax.set_xlabel("smallest distances seen (%)")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("error of the completed matrix")
    handles, labels = axes[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small", frameon=False)
    return drawn
