"""``figure-distances``: centred distance matrices of which only the smallest entries are seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unrelu.complete import complete
from unrelu.complete_distances import complete_distances
from unrelu.data.observations import Observations
from unrelu.experiments.base import Cell, Experiment, Judgement, Picture, Result, Row, Sizes, Table, Task, numbers
from unrelu.experiments.drawing import LOOKS, figure, legend_below, quartile_line
from unrelu.experiments.judging import compare_number, judge_claim
from unrelu.experiments.solve import descend, off

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureDistances"]

RECOVERED = 1e-6
# The paper does not say how its points lie. Those far out of a Gaussian cloud see too few others to be placed.
CLOUDS: dict[str, Callable[[np.random.Generator, tuple[int, int]], NDArray[Any]]] = {
    "cube": lambda rng, shape: rng.uniform(-1, 1, shape),
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
}
METHODS = {
    "gd": "GD, oracle centring",
    "default": "unrelu, oracle centring",
    "distances": "unrelu, no oracle",
}


class FigureDistances(Experiment):
    """Figure 8: which fraction of the smallest distances each dimension needs.

    The seen entries are those of the smallest distances; their values are taken from the centred matrix −½JD²J, which
    no one has who has not seen all distances: the paper's oracle.

    Examples
    --------
    >>> from unrelu.experiments import figure_distances
    >>> result = figure_distances(trials=1, rng=0, n=40, dims=[2], clouds=["cube"], fractions=[0.5, 0.9], most=600)
    >>> [row[2:] for row in result.tables[0].rows]
    [('GD, oracle centring', 0.9), ('unrelu, oracle centring', 0.5), ('unrelu, no oracle', 0.5)]
    """

    name = "figure-distances"
    title = "Distance matrices from their smallest entries"
    where = "Figure 8"
    setting = "200 points, the smallest entries of the distance matrix seen, values centred by an oracle"
    full: ClassVar[Sizes] = {
        "trials": 100,
        "n": 200,
        "dims": [2, 3, 5, 7],
        "clouds": ["cube", "gaussian"],
        "fractions": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
        # Below these fractions points see too few others: every method fails, and takes longest to.
        "least": {"cube": {"7": 0.2}, "gaussian": {"5": 0.2, "7": 0.4}},
        "most": 5000,
    }
    quick: ClassVar[Sizes] = {
        "trials": 3,
        "n": 80,
        "dims": [2, 5],
        "clouds": ["cube", "gaussian"],
        "fractions": [0.2, 0.4, 0.6, 0.8],
        "least": {},
        "most": 2000,
    }

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per dimension, fraction, method and set of points."""
        return [
            {
                "n": sizes["n"],
                "dim": dim,
                "fraction": fraction,
                "method": method,
                "cloud": cloud,
                "most": sizes["most"],
                "seed": sizes["rng"] + trial,
            }
            for cloud in sizes["clouds"]
            for dim in sizes["dims"]
            for fraction in _fractions(sizes, cloud, dim)
            for trial in range(sizes["trials"])
            for method in METHODS
        ]

    def cost(self, task: Task) -> float:
        """Seconds, roughly."""
        return {"gd": 0.3, "default": 0.1, "distances": 0.2}[task["method"]]

    def trial(self, task: Task) -> Row:
        """One method on one set of points."""
        rng = np.random.default_rng([task["seed"], task["n"], task["dim"]])
        points = CLOUDS[task["cloud"]](rng, (task["n"], task["dim"]))
        points = points - points.mean(axis=0)  # the oracle
        G = points @ points.T
        squares = np.diag(G)[:, None] + np.diag(G)[None, :] - 2 * G
        X = np.where(squares <= np.quantile(squares, task["fraction"]), G, np.nan)
        if task["method"] == "distances":
            factor = _without_oracle(squares, task)
        else:
            factor = _gd(X, task) if task["method"] == "gd" else _default(X, task)
        return {"error": off(factor, points), "negative": float((G < 0).mean())}

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """The figure, and the smallest fraction that each dimension needs."""
        lines: list[dict[str, Cell]] = []
        needed: list[dict[str, Cell]] = []
        for cloud, dim in [(cloud, dim) for cloud in sizes["clouds"] for dim in sizes["dims"]]:
            for method, label in METHODS.items():
                least = None
                for fraction in reversed(_fractions(sizes, cloud, dim)):
                    values = numbers(_group(rows, cloud, dim, fraction, method), "error")
                    low, middle, high = (float(v) for v in np.quantile(values, [0.25, 0.5, 0.75]))
                    lines.append(
                        {
                            "points": cloud,
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
                needed.append(
                    {"points": cloud, "dimension": dim, "method": label, "smallest fraction recovered": least}
                )
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
                    "dimension: median and quartiles. Above each panel the fraction from which on the median is "
                    "below 1e-6.",
                    lambda: _draw(sizes, rows, needed),
                ),
            ),
            judgements=_judged(sizes, rows, needed),
            notes=(
                "Two readings of how points lie, uniform in a cube or Gaussian: the paper does not say. What is seen "
                "are the smallest distances; their centred values are passed to the method. The centring uses all "
                "distances, seen or not, as in the paper.",
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
    return descend(Observations.of(X, threshold=None), start, most=task["most"]).factor


def _default(X: NDArray[Any], task: Task) -> NDArray[Any]:
    return complete(X, task["dim"], threshold=None, rng=task["seed"]).factor


def _without_oracle(squares: NDArray[Any], task: Task) -> NDArray[Any]:
    """The distances themselves, those not seen known to be longer; the answer is centred only to be compared."""
    distances = np.sqrt(np.maximum(squares, 0.0))
    np.fill_diagonal(distances, 0.0)
    cutoff = float(np.quantile(distances, task["fraction"]))
    seen = np.where(distances <= cutoff, distances, np.nan)
    found = complete_distances(seen, task["dim"], cutoff=cutoff, rng=task["seed"], max_iter=100).points
    centred: NDArray[Any] = found - found.mean(axis=0)
    return centred


def _fractions(sizes: Sizes, cloud: str, dim: int) -> list[float]:
    """Those tried on points of one kind in one dimension."""
    least = sizes["least"].get(cloud, {}).get(str(dim), 0.0)
    return [fraction for fraction in sizes["fractions"] if fraction >= least]


def _group(rows: Sequence[Row], cloud: str, dim: int, fraction: float, method: str) -> list[Row]:
    wanted = (cloud, dim, fraction, method)
    return [r for r in rows if (r["cloud"], r["dim"], r["fraction"], r["method"]) == wanted]


def _next(sizes: Sizes, fraction: float) -> float | None:
    larger = [f for f in sizes["fractions"] if f > fraction]
    return min(larger, default=None)


def _at_most(first: Cell, second: Cell) -> bool:
    """Whether the first fraction is no larger; None is none at all."""
    return second is None or (first is not None and float(first) <= float(second))


def _needs(needed: Sequence[Mapping[str, Cell]], method: str) -> dict[tuple[Cell, Cell], Cell]:
    chosen = [line for line in needed if line["method"] == METHODS[method]]
    return {(line["points"], line["dimension"]): line["smallest fraction recovered"] for line in chosen}


def _words(fractions: Mapping[tuple[Cell, Cell], Cell]) -> str:
    return ", ".join(
        f"{cloud}, dimension {dim}: from {'none tried' if least is None else f'{least:.0%}'}"
        for (cloud, dim), least in fractions.items()
    )


def _judged(sizes: Sizes, rows: Sequence[Row], needed: Sequence[Mapping[str, Cell]]) -> tuple[Judgement, ...]:
    gd, bare = _needs(needed, "gd"), _needs(needed, "distances")
    return (
        judge_claim(
            "distances/exact",
            any(least is not None for least in gd.values()),
            f"exact: {_words(gd)}",
            otherwise="at no fraction and in no dimension tried is the median error below 1e-6",
        ),
        judge_claim(
            "distances/no-oracle",
            all(_at_most(bare[case], least) for case, least in gd.items()),
            f"exact without centring: {_words(bare)}",
            otherwise="with the oracle gradient descent needs less: "
            + _words({case: least for case, least in gd.items() if not _at_most(bare[case], least)}),
            better=True,
        ),
        compare_number("distances/negative", numbers(rows, "negative"), what="share"),
    )


def _draw(sizes: Sizes, rows: Sequence[Row], needed: Sequence[Mapping[str, Cell]]) -> Figure:
    clouds = sizes["clouds"]
    drawn = figure(2.9 * len(METHODS), 0.6 + 2.9 * len(clouds))
    axes = drawn.subplots(len(clouds), len(METHODS), sharey=True, sharex=True, squeeze=False)
    for line, cloud in zip(axes, clouds, strict=True):
        for ax, (method, label) in zip(line, METHODS.items(), strict=True):
            for look, dim in zip(LOOKS, sizes["dims"], strict=False):
                groups = [numbers(_group(rows, cloud, dim, f, method), "error") for f in sizes["fractions"]]
                quartile_line(ax, [100 * f for f in sizes["fractions"]], groups, look, f"dimension {dim}")
            ax.set_yscale("log")
            least = {dim: _needs(needed, method)[cloud, dim] for dim in sizes["dims"]}
            fractions = ", ".join(f"{dim}: {'none' if f is None else f'{f:.0%}'}" for dim, f in least.items())
            ax.set_title(f"{label} ({cloud})\n", fontsize="medium")
            ax.text(0.5, 1.02, f"dimension {fractions}", transform=ax.transAxes, ha="center", fontsize="x-small")
            ax.grid(alpha=0.3)
        line[0].set_ylabel("error of the completed matrix")
    for ax in axes[-1]:
        ax.set_xlabel("smallest distances seen (%)")
    legend_below(drawn, axes[0, 0], 4)
    return drawn
