"""``figure-distances``: centred distance matrices of which only the smallest entries are seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unrelu._old.complete import complete
from unrelu._old.complete_distances import complete_distances
from unrelu._old.data.observations import Observations
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
from unrelu._old.experiments.distances_verdicts import (
    BASE,
    ENTRIES,
    READINGS,
    RECOVERED,
    Reading,
    distance_claims,
    fractions_of,
    group,
    is_recovered,
    reading_fractions,
)
from unrelu._old.experiments.drawing import LOOKS, legend_below, panels, quartile_line
from unrelu._old.experiments.solve import descend, off, paper_start, step_setting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureDistances"]

# The norm of the true gradient at which gradient descent stops. Table 1's would leave an error of 5e-7 on a cube.
GRADIENT = 5e-9
# Most iterations without the oracle.
MOST_POINTS = 100
# The paper does not say how its points lie. Those far out of a Gaussian cloud see too few others to be placed.
CLOUDS: dict[str, Callable[[np.random.Generator, tuple[int, int]], NDArray[Any]]] = {
    "cube": lambda rng, shape: rng.uniform(-1, 1, shape),
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
}
METHODS = {
    "gd": "GD, oracle",
    "default": "unrelu, oracle",
    "distances": "unrelu, no oracle",
}


class FigureDistances(Experiment):
    """Figure 8: which fraction of the smallest entries each dimension needs.

    The seen entries are those of the smallest distances; their values are taken from the centred matrix −½JDJ, which
    no one has who has not seen all distances: the paper's oracle. Other readings of the text run at some fractions.

    Examples
    --------
    >>> from unrelu._old.experiments import figure_distances
    >>> result = figure_distances(trials=1, rng=0, n=40, dims=[2], clouds=["cube"], fractions=[0.5, 0.9], most=600)
    >>> result.tables[0].rows
    (('cube', 2, '90%', '50%', '50%'),)
    """

    name = "figure-distances"
    title = "Distance matrices from their smallest entries"
    where = "Section 4.5, Figure 8"
    full: ClassVar[Sizes] = {
        "trials": 8,
        "n": 200,
        "dims": [2, 3, 5, 7],
        "clouds": ["cube", "gaussian"],
        "fractions": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
        # Below these fractions points see too few others: every method fails, and takes longest to.
        "least": {"cube": {"7": 0.2}, "gaussian": {"5": 0.2, "7": 0.4}},
        "most": 5000,
        # Every reading of the text runs in these dimensions, at the largest fraction and each second one below it.
        "reading_dims": [2, 5],
        "reading_every": 2,
    }
    quick: ClassVar[Sizes] = {
        "trials": 2,
        "n": 80,
        "dims": [2, 5],
        "fractions": [0.2, 0.4, 0.6, 0.8],
        "least": {},
        "most": 2000,
    }

    def setting(self, sizes: Sizes) -> str:
        """What was run, in words."""
        dims = ", ".join(str(dim) for dim in sizes["dims"])
        low, high = min(sizes["fractions"]), max(sizes["fractions"])
        return (
            f"{sizes['n']} points in {dims} dimensions, {sizes['trials']} sets of points; "
            f"{low:.0%} to {high:.0%} of the entries seen, the smallest, centred by an oracle"
        )

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """Gradient descent in every reading, and what the other methods know."""
        steps = sorted({reading.step for reading in READINGS.values()})
        caps = ", ".join(str(sizes["most"] * times) for times in sorted({r.caps for r in READINGS.values()}))
        stop = f"‖(Z+Zᵀ)U‖ ≤ {2 * GRADIENT:g}"
        return (
            Setting("all", "points", ", ".join(sizes["clouds"]), "ours", "the paper does not say how points lie"),
            Setting("all", "dimensions", ", ".join(map(str, sizes["dims"])), "ours", "the text prints none"),
            Setting("all", "trials", str(sizes["trials"]), "ours", "the paper has 100; ours run in more readings"),
            Setting("all", "recovered", f"error < {RECOVERED:g}", "ours", "far above GD's floor, far below failures"),
            Setting("all", "values", "−½JDJ, D squared distances", "inferred", "“centered … low-rank and PSD”"),
            Setting(
                "GD",
                "smallest entries",
                ", ".join(ENTRIES.values()),
                "inferred",
                "“the smallest distances in the matrix” and “a fraction of the smallest entries”; those of JDJ are the "
                "largest of −½JDJ, as in ReLU sampling",
            ),
            Setting(
                "GD",
                "Q's scale",
                "unit; the points'",
                "inferred",
                "printed: unit; coordinates uniform in a cube have variance 1/3, so that Q is then too large",
            ),
            Setting(
                "GD",
                "start",
                "columns scaled by √eigenvalue; as printed",
                "inferred",
                "eq. (init) prints orthonormal columns; scaled ones make the start a fit of what is seen",
            ),
            step_setting("GD", steps),
            Setting("GD", "cap", caps, "inferred", "not stated for Figure 8; 5000 is stated for Table 1"),
            Setting(
                "GD", "stop", stop, "ours", "not stated for Figure 8; Table 1's 1e-6 leaves an error of 5e-7 on a cube"
            ),
            Setting("unrelu, oracle", "entries", ENTRIES[BASE.entries], "ours", "as the first reading of GD"),
            Setting(
                "unrelu, no oracle",
                "entries",
                "distances up to the cut-off",
                "ours",
                "that the others are longer is known from how they were chosen",
            ),
            Setting("unrelu, no oracle", "cap", str(MOST_POINTS), "ours", "more than it needs where it succeeds"),
        )

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per dimension, fraction, method and set of points; other readings at some fractions."""
        return [
            {"n": sizes["n"], "cloud": cloud, "dim": dim, "fraction": fraction, "seed": sizes["rng"] + trial, **run}
            for cloud in sizes["clouds"]
            for dim in sizes["dims"]
            for fraction in fractions_of(sizes, cloud, dim)
            for trial in range(sizes["trials"])
            for run in _runs(sizes, cloud, dim, fraction)
        ]

    def cost(self, task: Task) -> float:
        """Seconds, roughly."""
        few = min(1.0, (0.35 / task["fraction"]) ** 3)
        return {"gd": 0.02 + 0.5 * few, "default": 0.1, "distances": 0.2}[task["method"]]

    def trial(self, task: Task) -> Row:
        """One method on one set of points."""
        rng = np.random.default_rng([task["seed"], task["n"], task["dim"]])
        points = CLOUDS[task["cloud"]](rng, (task["n"], task["dim"]))
        points = points - points.mean(axis=0)  # the oracle
        G = points @ points.T
        about = {"negative": float((G < 0).mean())}
        if task["method"] == "distances":
            return {"error": off(_without_oracle(_squares(G), task), points), **about}
        if task["method"] == "default":
            X = _smallest(G, "D", task["fraction"])
            return {"error": off(complete(X, task["dim"], threshold=None, rng=task["seed"]).factor, points), **about}
        reading = READINGS[task["reading"]]
        X = _smallest(G, reading.entries, task["fraction"])
        start = _start(X, points, reading, [task["seed"], 7])
        found = descend(
            Observations.of(X, threshold=None), start, step=reading.step, gradient=GRADIENT, most=task["most"]
        )
        return {"error": off(found.factor, points), **about, "iterations": found.iterations}

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
        """Whether the matrix is recovered, how much of it is negative, and whether the oracle is needed."""
        return distance_claims(sizes, rows)

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """The figure, the smallest fraction that each dimension needs, and recovery in every reading."""
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(
                _needed(self.name, sizes, rows),
                _readings(f"{self.name}-readings", sizes, rows),
                _errors(f"{self.name}-errors", sizes, rows),
            ),
            pictures=(
                Picture(
                    self.name,
                    "Error of the completed centred matrix against the fraction of smallest distances seen, by "
                    "dimension: median and quartiles. GD is Algorithm 1 with "
                    f"step {BASE.step:g}, Q at unit scale and at most {sizes['most']} iterations.",
                    lambda narrow: _draw(sizes, rows, narrow),
                ),
            ),
            judgements=self.judged(sizes, rows),
            says=tuple(_says(sizes, rows)),
            notes=(
                "The paper does not say how points lie: uniform in a cube, or Gaussian. What is seen are the smallest "
                "entries; their centred values are passed to the method. The centring uses all distances, seen or not, "
                "as in the paper. J = I − eeᵀ/n, and D holds squared distances; the smallest entries of JDJ are the "
                "largest of −½JDJ.",
                "Each reading differs from the first in the one thing that its name says.",
            ),
        )


def _runs(sizes: Sizes, cloud: str, dim: int, fraction: float) -> Iterator[dict[str, Any]]:
    every = fraction in reading_fractions(sizes, cloud, dim)
    for name in READINGS if every else [BASE.name]:
        yield {"method": "gd", "reading": name, "most": sizes["most"] * READINGS[name].caps}
    yield {"method": "default"}
    yield {"method": "distances"}


def _squares(G: NDArray[Any]) -> NDArray[Any]:
    """Squared distances from inner products."""
    return np.diag(G)[:, None] + np.diag(G)[None, :] - 2 * G


def _smallest(G: NDArray[Any], entries: str, fraction: float) -> NDArray[Any]:
    """The centred matrix, NaN outside of the smallest entries of what the reading names."""
    of = {"D": _squares(G), "-JDJ/2": G, "JDJ": -2 * G}[entries]
    return np.where(of <= np.quantile(of, fraction), G, np.nan)


def _start(X: NDArray[Any], points: NDArray[Any], reading: Reading, rng: Sequence[int]) -> NDArray[Any]:
    """The paper's start on centred distances: −|q| where unseen, though here some unseen entries are positive."""
    rank = points.shape[1]
    if reading.start == "printed":
        return paper_start("tailored", X, rank, list(rng), scaled=False)[0]
    Y = np.random.default_rng(list(rng)).standard_normal((len(X), rank))
    if reading.scale == "points":
        Y *= np.sqrt(np.mean(points**2))
    filled = np.where(np.isnan(X), -np.abs(Y @ Y.T), X)
    values, vectors = np.linalg.eigh((filled + filled.T) / 2)
    top = values[::-1][:rank]
    scaled: NDArray[Any] = vectors[:, ::-1][:, :rank] * np.sqrt(np.maximum(top, 1e-4 * max(top[0], 0.0)))
    return scaled


def _without_oracle(squares: NDArray[Any], task: Task) -> NDArray[Any]:
    """The distances themselves, those not seen known to be longer; the answer is centred only to be compared."""
    distances = np.sqrt(np.maximum(squares, 0.0))
    np.fill_diagonal(distances, 0.0)
    cutoff = float(np.quantile(distances, task["fraction"]))
    seen = np.where(distances <= cutoff, distances, np.nan)
    found = complete_distances(seen, task["dim"], cutoff=cutoff, rng=task["seed"], max_iter=MOST_POINTS).points
    centred: NDArray[Any] = found - found.mean(axis=0)
    return centred


def _cases(sizes: Sizes) -> list[tuple[str, int]]:
    return [(cloud, dim) for cloud in sizes["clouds"] for dim in sizes["dims"]]


def _count(runs: Sequence[Row]) -> str:
    return f"{sum(map(is_recovered, runs))}/{len(runs)}" if runs else "–"


def _needed(name: str, sizes: Sizes, rows: Sequence[Row]) -> Table:
    """The fraction from which on the median error is that of a recovered matrix, a line for each dimension."""
    lines: list[dict[str, Cell]] = []
    for cloud, dim in _cases(sizes):
        line: dict[str, Cell] = {"points": cloud, "dimension": dim}
        for method, label in METHODS.items():
            least = None
            for fraction in reversed(fractions_of(sizes, cloud, dim)):
                errors = numbers(group(rows, method, cloud=cloud, dim=dim, fraction=fraction), "error")
                if not errors or np.median(errors) >= RECOVERED:
                    break
                least = fraction
            line[label] = "none" if least is None else f"{least:.0%}"
        lines.append(line)
    caption = f"Smallest fraction from which on the median error is below {RECOVERED:g}; GD in its first reading."
    return Table.of(name, caption, lines)


def _readings(name: str, sizes: Sizes, rows: Sequence[Row]) -> Table:
    """How many matrices gradient descent recovers in each reading."""
    cases = [(cloud, dim) for cloud, dim in _cases(sizes) if reading_fractions(sizes, cloud, dim)]
    fractions = sorted({fraction for cloud, dim in cases for fraction in reading_fractions(sizes, cloud, dim)})
    lines: list[dict[str, Cell]] = [
        {
            "points": cloud,
            "dimension": dim,
            "reading": "the first" if reading == BASE.name else reading,
            **{f"{f:.0%}": _count(group(rows, "gd", reading, cloud=cloud, dim=dim, fraction=f)) for f in fractions},
        }
        for cloud, dim in cases
        for reading in READINGS
    ]
    first = f"smallest entries {ENTRIES[BASE.entries]}, Q at unit scale, step {BASE.step:g}, scaled columns"
    return Table.of(name, f"Matrices recovered by GD at each fraction. The first reading: {first}.", lines)


def _errors(name: str, sizes: Sizes, rows: Sequence[Row]) -> Table:
    lines: list[dict[str, Cell]] = []
    for cloud, dim in _cases(sizes):
        for fraction in fractions_of(sizes, cloud, dim):
            runs = {m: group(rows, m, cloud=cloud, dim=dim, fraction=fraction) for m in METHODS}
            errors = numbers(runs["gd"], "error")
            lines.append(
                {
                    "points": cloud,
                    "dimension": dim,
                    "fraction": f"{fraction:.0%}",
                    "GD, median error": float(np.median(errors)) if errors else None,
                    **{label: _count(runs[method]) for method, label in METHODS.items()},
                }
            )
    return Table.of(name, "Matrices recovered of those tried, GD in its first reading, and its median error.", lines)


def _says(sizes: Sizes, rows: Sequence[Row]) -> Iterator[str]:
    """What ends gradient descent where it fails."""
    failed = [row for row in group(rows, "gd") if not is_recovered(row)]
    if failed:
        rest = sum(row["iterations"] < sizes["most"] for row in failed)
        words = f"{rest} of these runs had come to rest, the others were" if rest else "all of these runs were"
        yield (
            f"In its first reading gradient descent left {len(failed)} matrices incomplete; {words} cut off after "
            f"{sizes['most']:,} iterations."
        )


def _draw(sizes: Sizes, rows: Sequence[Row], narrow: bool) -> Figure:
    clouds = sizes["clouds"]
    drawn, axes = panels(len(clouds), len(METHODS), narrow=narrow, height=2.5, sharex=not narrow, sharey=True)
    for line, cloud in zip(axes, clouds, strict=True):
        for ax, (method, label) in zip(line, METHODS.items(), strict=True):
            for look, dim in zip(LOOKS, sizes["dims"], strict=False):
                groups = [
                    numbers(group(rows, method, cloud=cloud, dim=dim, fraction=f), "error") for f in sizes["fractions"]
                ]
                quartile_line(ax, [100 * f for f in sizes["fractions"]], groups, look, f"dimension {dim}")
            ax.set_yscale("log")
            ax.set_title(f"{label} ({cloud})", fontsize="medium")
            ax.grid(alpha=0.3)
            if narrow or ax is line[0]:
                ax.set_ylabel("error")
            if narrow or cloud == clouds[-1]:
                ax.set_xlabel("smallest distances seen (%)")
    legend_below(drawn, axes[0, 0], 4)
    return drawn
