"""``figure-orthants`` and ``figure-observed``: the rows sorted by orthant, and what is seen of the sorted matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

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
from unrelu._old.experiments.drawing import LOOKS, SEEN, SMALLEST, figure, legend_below, panels
from unrelu._old.experiments.rules import always
from unrelu._old.experiments.solve import instance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureObserved", "FigureOrthants"]

# Signs of the four quadrants in the paper's order: neighbours differ in one sign.
QUADRANTS = ((1, 1), (-1, 1), (-1, -1), (1, -1))
SIGNS = ("(+, +)", "(−, +)", "(−, −)", "(+, −)")


def quadrants(U: NDArray[Any]) -> NDArray[np.intp]:
    """For each row of an n×2 factor which of the four it belongs to."""
    signs = np.where(U >= 0, 1, -1)
    return np.array([QUADRANTS.index((int(a), int(b))) for a, b in signs])


class _Sorted(Experiment):
    """What both figures measure."""

    full: ClassVar[Sizes] = {"trials": 100, "n": 200}
    quick: ClassVar[Sizes] = {"trials": 10, "n": 100}

    def setting(self, sizes: Sizes) -> str:
        """The size and how many factors."""
        return f"Gaussian factors, no noise, n = {sizes['n']}, r = 2; {sizes['trials']} factors, the first is drawn"

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """The size, of which the paper says nothing."""
        return (Setting("factor", "size", f"n = {sizes['n']}, r = 2", "ours", "the figure illustrates r = 2"),)

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per factor."""
        return [{"n": sizes["n"], "r": 2, "seed": sizes["rng"] + trial} for trial in range(sizes["trials"])]

    def cost(self, task: Task) -> float:
        """Seconds, roughly."""
        return 0.01

    def trial(self, task: Task) -> Row:
        """Sizes, ranks and shares of the blocks; in the first trial the factor itself is drawn again from its seed."""
        U = instance(task).factor
        of = quadrants(U)
        blocks = [U[of == k] for k in range(4)]
        seen = {}
        for pair in ((i, j) for i in range(4) for j in range(i + 1)):
            i, j = pair
            product = blocks[i] @ blocks[j].T
            seen[f"{i}{j}"] = float((product >= 0).mean()) if product.size else None
        ranks = [int(np.linalg.matrix_rank(block)) if len(block) else 0 for block in blocks]
        spans = [_span(blocks[k + 1], blocks[k]) for k in range(3)]
        fewest = min(int((blocks[k + 1] @ blocks[k].T >= 0).sum()) for k in range(3))
        return {
            "sizes": [len(block) for block in blocks],
            "ranks": ranks,
            "seen": seen,
            "spans": spans,
            "fewest": fewest,
            "full rank": min(ranks) == 2,
            "diagonal": all(seen[f"{k}{k}"] in (None, 1.0) for k in range(4)),
            "spanning": min(spans) == 4 and fewest >= 4,
        }


def _with(rows: Sequence[Row], name: str) -> int:
    return sum(row.get(name) is True for row in rows)


def _span(A: NDArray[Any], B: NDArray[Any]) -> int:
    """Dimension of the span of a bᵀ over the seen pairs."""
    i, j = np.nonzero(A @ B.T >= 0)
    if not len(i):
        return 0
    products = np.einsum("pk,pl->pkl", A[i], B[j]).reshape(len(i), -1)
    return int(np.linalg.matrix_rank(products.T @ products))


class FigureOrthants(_Sorted):
    """Figure 2: rows of U* partitioned by quadrant.

    Examples
    --------
    >>> from unrelu._old.experiments import figure_orthants
    >>> figure_orthants(trials=2, rng=0, n=60).judgements[0].measured
    'all four in 2 of 2 factors (rate 16% to 100%)'
    """

    name = "figure-orthants"
    title = "The rows of U*, partitioned by orthant"
    where = "Figure 2"

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
        """Whether every quadrant has rows of rank 2."""
        whole = _with(rows, "full rank")
        return [
            always(
                "orthants/rank",
                whole,
                len(rows),
                f"all four in {whole} of {len(rows)} factors",
                otherwise="a quadrant has fewer than two rows",
                rests=("size",),
            )
        ]

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """The picture, and how large the blocks are."""
        lines: list[dict[str, Cell]] = [
            {
                "quadrant": SIGNS[k],
                "rows, first trial": rows[0]["sizes"][k],
                "fewest rows": min(r["sizes"][k] for r in rows),
                "mean rows": float(np.mean([r["sizes"][k] for r in rows])),
                "full rank": f"{sum(r['ranks'][k] == 2 for r in rows)} of {len(rows)}",
            }
            for k in range(4)
        ]
        U = instance(rows[0]).factor
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(Table.of(self.name, f"Blocks of {len(rows)} Gaussian factors, n = {sizes['n']}.", lines),),
            pictures=(
                Picture(
                    self.name,
                    "First: the rows of a Gaussian factor in the plane, by quadrant. Second: its two columns with the "
                    "rows sorted into blocks; colour and sign of every entry.",
                    lambda narrow: _draw_orthants(U, narrow),
                ),
            ),
            judgements=self.judged(sizes, rows),
        )


class FigureObserved(_Sorted):
    """Figure 3: which entries are seen once the rows are sorted.

    Examples
    --------
    >>> from unrelu._old.experiments import figure_observed
    >>> figure_observed(trials=2, rng=0, n=60).judgements[0].measured
    '2 of 2 factors (rate 16% to 100%)'
    """

    name = "figure-observed"
    title = "What is seen of the sorted matrix"
    where = "Figure 3"

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
        """Whether the blocks are seen as the figure shows them."""
        total, sixteenth = len(rows), sizes["n"] / 16
        whole, spanning = _with(rows, "diagonal"), _with(rows, "spanning")
        counts = numbers(rows, "fewest")
        poorest = f"; the poorest block has {min(counts):g} seen entries" if counts else ""
        many = sum(count >= sixteenth for count in counts)
        return [
            always(
                "observed/diagonal",
                whole,
                total,
                f"{whole} of {total} factors",
                otherwise="a product of two rows of one orthant below zero",
                rests=("size",),
            ),
            always(
                "observed/neighbours",
                spanning,
                total,
                f"{spanning} of {total} factors{poorest}",
                otherwise="too few rows: the seen pairs do not span the 2×2 matrices",
                rests=("size",),
            ),
            always(
                "observed/sixteenth",
                many,
                total,
                f"{many} of {total} factors, n/16 = {sixteenth:g}{poorest}",
                otherwise="too few rows in one of the two orthants",
                rests=("size",),
            ),
        ]

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """The picture, and how much of each block is seen."""
        lines: list[dict[str, Cell]] = []
        for i in range(4):
            for j in range(i + 1):
                shares = [s for r in rows if (s := r["seen"][f"{i}{j}"]) is not None]
                lines.append(
                    {
                        "block": f"{SIGNS[i]} × {SIGNS[j]}",
                        "signs that differ": sum(a != b for a, b in zip(QUADRANTS[i], QUADRANTS[j], strict=True)),
                        "least seen": min(shares),
                        "mean seen": float(np.mean(shares)),
                    }
                )
        U = instance(rows[0]).factor
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(Table.of(self.name, f"Share of entries seen, {len(rows)} factors, n = {sizes['n']}.", lines),),
            pictures=(
                Picture(
                    self.name,
                    "Rows and columns sorted by quadrant (and by angle within): orange entries are seen, white ones "
                    "are not. Each block shows the share that is seen.",
                    lambda narrow: _draw_observed(U, narrow),
                ),
            ),
            judgements=self.judged(sizes, rows),
        )


def _order(U: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows by quadrant, then by angle; and where each block begins."""
    of = quadrants(U)
    angle = np.arctan2(U[:, 1], U[:, 0]) % (2 * np.pi)
    return np.lexsort((angle, of)), np.cumsum([0, *np.bincount(of, minlength=4)])


def _draw_orthants(U: NDArray[Any], narrow: bool) -> Figure:
    order, edges = _order(U)
    drawn, axes = panels(1, 2, narrow=narrow, height=3.1)
    plane, columns = axes[0]
    of = quadrants(U)
    for k, look in zip(range(4), LOOKS, strict=False):
        chosen = U[of == k]
        plane.plot(*chosen.T, look.marker, color=look.color, markersize=4, alpha=0.85, label=SIGNS[k])
    plane.axhline(0, color="black", linewidth=0.8)
    plane.axvline(0, color="black", linewidth=0.8)
    plane.set(xlabel="first column of U*", ylabel="second column of U*")
    # The limits give way, not the box: around a box that shrinks the layout leaves too little room for its labels.
    plane.set_aspect("equal", adjustable="datalim")
    shown = U[order]
    # From dark to light without a turn, so that signs can be told apart in grey too.
    image = columns.imshow(shown, cmap="cividis", vmin=-2.5, vmax=2.5, aspect="auto", interpolation="nearest")
    for k in range(4):
        columns.axhline(edges[k + 1] - 0.5, color="white", linewidth=2)
        middle = (edges[k] + edges[k + 1]) / 2
        mark = columns.text(1.6, middle, SIGNS[k], va="center", fontsize=SMALLEST, clip_on=False)
        mark.set_in_layout(narrow)  # in a wide figure it stands in the gap before the colour bar
    columns.set_xticks([0, 1], ["1", "2"])
    columns.set(xlabel="column of U*", ylabel="row of U*, sorted")
    if narrow:
        drawn.colorbar(image, ax=columns, label="entry", orientation="horizontal")
    else:
        drawn.colorbar(image, ax=columns, label="entry", pad=0.25)
    legend_below(drawn, plane, 4)
    return drawn


def _draw_observed(U: NDArray[Any], narrow: bool) -> Figure:
    from matplotlib.colors import ListedColormap

    order, edges = _order(U)
    seen = (U @ U.T >= 0)[np.ix_(order, order)]
    drawn = figure(3.6, 3.7) if narrow else figure(5.0, 4.9)
    ax = drawn.subplots()
    ax.imshow(seen, cmap=ListedColormap(["white", SEEN]), interpolation="nearest", vmin=0, vmax=1)
    for edge in edges[1:-1]:
        ax.axhline(edge - 0.5, color="black", linewidth=1)
        ax.axvline(edge - 0.5, color="black", linewidth=1)
    middles = (edges[:-1] + edges[1:]) / 2
    for i in range(4):
        for j in range(4):
            block = seen[edges[i] : edges[i + 1], edges[j] : edges[j + 1]]
            if block.size:
                box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
                told = f"{block.mean():.0%}"
                ax.text(middles[j], middles[i], told, ha="center", va="center", fontsize=SMALLEST, bbox=box)
    ax.set_xticks(middles, SIGNS, fontsize=SMALLEST)
    ax.set_yticks(middles, SIGNS, fontsize=SMALLEST)
    ax.set(xlabel="column, by the quadrant of its row of U*", ylabel="row, by quadrant")
    ax.tick_params(length=0)
    return drawn
