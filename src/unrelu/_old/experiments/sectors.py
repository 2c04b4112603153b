"""``figure-sectors``: twelve sectors of the plane, and up to which threshold the Example's conditions hold."""

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
from unrelu._old.experiments.drawing import LOOKS, legend_below, panels
from unrelu._old.experiments.rules import always
from unrelu._old.experiments.solve import instance
from unrelu._old.theory.partition import sector_partition
from unrelu._old.theory.thresholds import check_threshold, threshold_limits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureSectors"]

CONDITIONS = ("3(a)", "3(b)", "3(c)", "3(d)")
NAMES = {"3(a)": "(a) covers", "3(b)": "(b) seen within", "3(c)": "(c) full rank", "3(d)": "(d) connected"}


class FigureSectors(Experiment):
    """Figure 4 and the Example (Positive-Threshold Mask).

    Thresholds are given as multiples of the largest η at which conditions (b) and (d) hold for the sample, so that the
    figure shows where they stop holding; the sufficient η that the Example states is drawn beside it.

    Examples
    --------
    >>> from unrelu._old.experiments import figure_sectors
    >>> result = figure_sectors(trials=2, rng=0, n=200, multiples=[0.5, 1.5])
    >>> result.tables[0].columns[2:], result.tables[0].rows[1][2:]
    (('(a) covers', '(b) seen within', '(c) full rank', '(d) connected'), (1.0, 0.0, 1.0, 1.0))
    """

    name = "figure-sectors"
    title = "Twelve sectors and a positive threshold"
    where = "Figure 4 and the Example"
    full: ClassVar[Sizes] = {
        "trials": 50,
        "n": 400,
        "multiples": [0.0, 0.1, 0.25, 0.5, 0.75, 0.99, 1.01, 1.5, 2.0, 4.0, 10.0, 100.0],
    }
    quick: ClassVar[Sizes] = {"trials": 10, "n": 300}

    def setting(self, sizes: Sizes) -> str:
        """Sizes of this run."""
        return (
            f"noiseless, r = 2, n = {sizes['n']}, entries at or above η seen; conditions (a) to (d) of Assumption 3 at "
            f"{len(sizes['multiples'])} thresholds; {sizes['trials']} Gaussian factors"
        )

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """The Example states its own; the other thresholds are ours."""
        shown = f"{min(sizes['multiples']):g} to {max(sizes['multiples']):g} times the largest"
        return (
            Setting("Example", "sectors", "12", "printed"),
            Setting("Example", "η", "√3‖u_i‖‖u_j‖/2 within, ‖u_i‖‖u_j‖/2 between neighbours, the least", "printed"),
            Setting("figure", "η", shown, "ours", "around the largest with which all four conditions hold"),
        )

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per factor."""
        return [
            {"n": sizes["n"], "r": 2, "multiples": sizes["multiples"], "seed": sizes["rng"] + trial}
            for trial in range(sizes["trials"])
        ]

    def cost(self, task: Task) -> float:
        """Seconds, roughly."""
        return 0.05

    def trial(self, task: Task) -> Row:
        """The limits of one factor, and which conditions fail at each threshold."""
        U = instance(task).factor
        partition = sector_partition(U)
        limits = threshold_limits(partition)
        failed = [list(check_threshold(U, multiple * limits.limit, partition).failed) for multiple in task["multiples"]]
        return {
            "inside": limits.inside,
            "linked": limits.linked,
            "limit": limits.limit,
            "printed": min(limits.printed_inside, limits.printed_linked),
            "printed_holds": check_threshold(U, min(limits.printed_inside, limits.printed_linked), partition).holds,
            "smallest": int(partition.counts.min()),
            "failed": failed,
        }

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
        """Whether all conditions hold at the threshold that the Example states, where its condition (c) is met."""
        good = [row for row in rows if (row.get("smallest") or 0) >= 2]
        held = sum(row.get("printed_holds") is True for row in good)
        words = (
            f"all four hold at the stated η for {held} of the {len(good)} factors with two rows or more in every sector"
        )
        further = [row["limit"] / row["printed"] for row in good if numbers([row], "limit") and _positive(row)]
        if further:
            words += f"; they go on holding up to {float(np.median(further)):.3g} times that η (median)"
        why = "the stated η is larger than the largest that the sample allows"
        return [always("sectors/holds", held, len(good), words, otherwise=why)]

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """The sectors, and the share of factors for which each condition holds."""
        shares = _shares(sizes, rows)
        lines: list[dict[str, Cell]] = [
            {
                "η / largest η": multiple,
                "median η": float(np.median([multiple * row["limit"] for row in rows])),
                **{NAMES[condition]: float(shares[condition][k]) for condition in CONDITIONS},
            }
            for k, multiple in enumerate(sizes["multiples"])
        ]
        about: list[dict[str, Cell]] = [
            {
                "quantity": words,
                "median": float(np.median(numbers(rows, name))),
                "smallest": min(numbers(rows, name)),
                "largest": max(numbers(rows, name)),
            }
            for name, words in {
                "inside": "largest η with (b)",
                "linked": "largest η with (d)",
                "limit": "largest η with both",
                "printed": "η that the Example states",
                "smallest": "rows in the smallest sector",
            }.items()
        ]
        U = instance(rows[0]).factor
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(
                Table.of(self.name, f"Share of {len(rows)} factors for which each condition holds.", lines),
                Table.of(f"{self.name}-limits", "The thresholds themselves.", about),
            ),
            pictures=(
                Picture(
                    self.name,
                    "First: a Gaussian factor in the plane cut into twelve sectors. Then: share of factors for which "
                    "each  condition of Assumption 3 holds, against the threshold over the largest that satisfies all.",
                    lambda narrow: _draw(sizes, rows, U, narrow),
                ),
            ),
            judgements=self.judged(sizes, rows),
            notes=("Rows near the origin set the limit: the threshold is bounded by products of their lengths.",),
        )


def _positive(row: Row) -> bool:
    return any(value > 0 for value in numbers([row], "printed"))


def _shares(sizes: Sizes, rows: Sequence[Row]) -> dict[str, list[float]]:
    return {
        condition: [
            float(np.mean([condition not in row["failed"][k] for row in rows])) for k in range(len(sizes["multiples"]))
        ]
        for condition in CONDITIONS
    }


def _draw(sizes: Sizes, rows: Sequence[Row], U: NDArray[Any], narrow: bool) -> Figure:
    drawn, axes = panels(1, 2, narrow=narrow, height=3.3, extra=0.7 if narrow else 0.5)
    plane, right = axes[0]
    partition = sector_partition(U)
    reach = float(np.linalg.norm(U, axis=1).max()) * 1.15
    for k, group in enumerate(partition.groups):
        look = LOOKS[(0, 1, 2)[k % 3]]
        plane.plot(*U[group].T, look.marker, color=look.color, markersize=3)
        angle = 2 * np.pi * k / 12
        plane.plot([0, reach * np.cos(angle)], [0, reach * np.sin(angle)], color="#555555", linewidth=0.8)
        middle = angle + np.pi / 12
        plane.text(0.95 * reach * np.cos(middle), 0.95 * reach * np.sin(middle), str(k + 1), ha="center", va="center")
    plane.set_aspect("equal")
    plane.set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel="first column of U*", ylabel="second column of U*")
    multiples = sizes["multiples"]
    shares = _shares(sizes, rows)
    for look, condition in zip(LOOKS, CONDITIONS, strict=False):
        right.plot(multiples, shares[condition], label=NAMES[condition], **look.line())
    printed = float(np.median([row["printed"] / row["limit"] for row in rows]))
    right.axvline(printed, color="black", linestyle=":", label="η of the Example")
    right.set_xscale("symlog", linthresh=0.1)
    right.set_xlim(-0.01, max(multiples) * 1.3)
    right.set(xlabel="threshold η / largest η with all four", ylabel="share of factors", ylim=(-0.05, 1.05))
    right.grid(alpha=0.3)
    legend_below(drawn, right, 5)
    return drawn
