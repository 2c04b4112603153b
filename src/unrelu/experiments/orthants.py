"""``figure-orthants`` and ``figure-observed``: the rows sorted by orthant, and what is seen of the sorted matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unrelu.experiments.base import Cell, Experiment, Picture, Result, Row, Sizes, Table, Task
from unrelu.experiments.drawing import LOOKS, SEEN, figure
from unrelu.experiments.judging import judge_claim
from unrelu.experiments.solve import instance

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
        return {
            "sizes": [len(block) for block in blocks],
            "ranks": [int(np.linalg.matrix_rank(block)) if len(block) else 0 for block in blocks],
            "seen": seen,
            "spans": [_span(blocks[k + 1], blocks[k]) for k in range(3)],
            "fewest": min(int((blocks[k + 1] @ blocks[k].T >= 0).sum()) for k in range(3)),
        }


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
    >>> from unrelu.experiments import figure_orthants
    >>> figure_orthants(trials=2, rng=0, n=60).judgements[0].measured
    'all four in 2 of 2 factors'
    """

    name = "figure-orthants"
    title = "The rows of U*, partitioned by orthant"
    where = "Figure 2"
    setting = "r = 2, drawn from data"

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
        whole = sum(min(r["ranks"]) == 2 for r in rows)
        U = instance(rows[0]).factor
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(Table.of(self.name, f"Blocks of {len(rows)} Gaussian factors, n = {sizes['n']}.", lines),),
            pictures=(
                Picture(
                    self.name,
                    "Left: the rows of a Gaussian factor in the plane, by quadrant. Right: its two columns with the "
                    "rows sorted into blocks; colour and sign of every entry.",
                    lambda: _draw_orthants(U),
                ),
            ),
            judgements=(
                judge_claim(
                    "orthants/rank",
                    whole >= 0.95 * len(rows),
                    f"all four in {whole} of {len(rows)} factors",
                    otherwise=f"the smallest block has {min(min(r['sizes']) for r in rows)} rows",
                ),
            ),
        )


class FigureObserved(_Sorted):
    """Figure 3: which entries are seen once the rows are sorted.

    Examples
    --------
    >>> from unrelu.experiments import figure_observed
    >>> figure_observed(trials=2, rng=0, n=60).judgements[0].measured
    '100% of every such block'
    """

    name = "figure-observed"
    title = "What is seen of the sorted matrix"
    where = "Figure 3"
    setting = "r = 2, drawn from data; orange is seen"

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
        diagonal = min(r["seen"][f"{k}{k}"] or 0.0 for r in rows for k in range(4))
        fewest = min(r["fewest"] for r in rows)
        spanning = sum(min(r["spans"]) == 4 and r["fewest"] >= 4 for r in rows)
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
                    lambda: _draw_observed(U),
                ),
            ),
            judgements=(
                judge_claim(
                    "observed/diagonal",
                    diagonal == 1.0,
                    f"{diagonal:.0%} of every such block",
                    otherwise="an orthant without rows, or a product of two rows of one orthant below zero",
                ),
                judge_claim(
                    "observed/neighbours",
                    spanning >= 0.95 * len(rows),
                    f"{spanning} of {len(rows)} factors; the poorest block has {fewest} seen entries",
                    otherwise=f"too few rows: in one factor the seen pairs span {min(min(r['spans']) for r in rows)} "
                    "of 4 dimensions",
                ),
                judge_claim(
                    "observed/sixteenth",
                    fewest >= sizes["n"] / 16,
                    f"{fewest} entries in the poorest of {3 * len(rows)} blocks, n/16 = {sizes['n'] / 16:g}",
                    otherwise="too few rows in one of the two orthants",
                ),
            ),
        )


def _order(U: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows by quadrant, then by angle; and where each block begins."""
    of = quadrants(U)
    angle = np.arctan2(U[:, 1], U[:, 0]) % (2 * np.pi)
    return np.lexsort((angle, of)), np.cumsum([0, *np.bincount(of, minlength=4)])


def _draw_orthants(U: NDArray[Any]) -> Figure:
    order, edges = _order(U)
    drawn = figure(7.0, 3.6)
    plane, columns = drawn.subplots(1, 2, width_ratios=[1.2, 1])
    of = quadrants(U)
    for k, look in zip(range(4), LOOKS, strict=False):
        chosen = U[of == k]
        plane.plot(*chosen.T, look.marker, color=look.color, markersize=4, alpha=0.85, label=SIGNS[k])
    plane.axhline(0, color="black", linewidth=0.8)
    plane.axvline(0, color="black", linewidth=0.8)
    plane.set(xlabel="first column of U*", ylabel="second column of U*")
    # The limits give way, not the box: around a box that shrinks the layout leaves too little room for its labels.
    plane.set_aspect("equal", adjustable="datalim")
    drawn.legend(
        fontsize="small", loc="outside lower center", ncols=4, frameon=False, handletextpad=0.2, columnspacing=1.0
    )
    shown = U[order]
    # From dark to light without a turn, so that signs can be told apart in grey too.
    image = columns.imshow(shown, cmap="cividis", vmin=-2.5, vmax=2.5, aspect="auto", interpolation="nearest")
    for k in range(4):
        columns.axhline(edges[k + 1] - 0.5, color="white", linewidth=2)
        middle = (edges[k] + edges[k + 1]) / 2
        mark = columns.text(1.6, middle, SIGNS[k], va="center", fontsize="small", clip_on=False)
        mark.set_in_layout(False)  # it stands in the gap before the colour bar
    columns.set_xticks([0, 1], ["1", "2"])
    columns.set(xlabel="column of U*", ylabel="row of U*, sorted")
    drawn.colorbar(image, ax=columns, label="entry", pad=0.25)
    return drawn


def _draw_observed(U: NDArray[Any]) -> Figure:
    from matplotlib.colors import ListedColormap

    order, edges = _order(U)
    seen = (U @ U.T >= 0)[np.ix_(order, order)]
    drawn = figure(5.0, 4.9)
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
                ax.text(middles[j], middles[i], f"{block.mean():.0%}", ha="center", va="center", fontsize=8, bbox=box)
    ax.set_xticks(middles, SIGNS)
    ax.set_yticks(middles, SIGNS)
    ax.set(xlabel="column, by the quadrant of its row of U*", ylabel="row, by quadrant")
    ax.tick_params(length=0)
    return drawn
