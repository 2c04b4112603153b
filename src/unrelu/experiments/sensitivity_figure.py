"""How ``figure-sensitivity`` is drawn: a panel for each loss and statement, a curve for each start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unrelu.experiments.drawing import LOOKS, Look, figure, legend_below, quartile_line
from unrelu.experiments.sensitivity_groups import Groups

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

REFUSED = "#eceff2"
YARDSTICK = Look("#8a8f98", "-", "")
# Offsets below this are drawn on a linear scale, so that 0 has a place between small ones of either sign.
LINEAR = 0.03


def draw(groups: Groups, sigma: float) -> Figure:
    """One noise level: threshold above, gaps told as censored below it, then gaps told as unknown and the side."""
    losses = groups.sizes["losses"]
    drawn = figure(3.2 * max(len(losses), 2), 9.0)
    grid = drawn.add_gridspec(3, max(len(losses), 2))
    first = None
    for row, told in enumerate(("threshold", "censored")):
        for column, loss in enumerate(losses):
            first = drawn.add_subplot(grid[row, column], sharey=first)
            _curves(first, groups, told, sigma, loss)
            first.set_title(f"loss {loss}", fontsize="medium")
            if column == 0:
                first.set_ylabel("error against M*")
    unknown = drawn.add_subplot(grid[2, 0], sharey=first)
    _curves(unknown, groups, "unknown", sigma, None)
    unknown.set_title("every loss", fontsize="medium")
    unknown.set_ylabel("error against M*")
    _sides(drawn.add_subplot(grid[2, 1:]), groups, sigma)
    if first is not None:
        legend_below(drawn, first, 4)
    return drawn


def _curves(ax: Any, groups: Groups, told: str, sigma: float, loss: str | None) -> None:
    """A curve for each start."""
    places = groups.places(told)
    ax.set_yscale("log")
    ax.grid(alpha=0.3)
    if told == "threshold":
        _offsets(ax, places)
    else:
        ax.set_xlabel(f"share of random gaps, told as {told}")
    if told == "censored" and loss is not None:
        marked = [groups.some("marked", at, sigma, loss) for at in places]
        known = [(at, some[-1].median) for at, some in zip(places, marked, strict=True) if some and some[-1].errors]
        if known:
            ax.plot(*np.maximum(np.array(known).T, 1e-17), label="random gaps marked", linewidth=5, color="#c9ced6")
    for look, start in zip(LOOKS, groups.sizes["starts"], strict=False):
        some = [groups.some(told, at, sigma, loss, start) for at in places]
        errors = [group[0].errors if group else [] for group in some]
        quartile_line(ax, places, errors, look, start)


def _offsets(ax: Any, places: list[float]) -> None:
    ax.set_xscale("symlog", linthresh=LINEAR, linscale=0.6)
    ax.set_xticks(places, [f"{at:g}".replace("-", "−") for at in places], fontsize="small", rotation=45)
    ax.set_xticks([], minor=True)
    ax.set_xlabel("stated − true threshold, in rms entries")
    above = [at for at in places if at > 0]
    if above:
        low, high = ax.get_xlim()
        edge = min(above) / 2
        ax.axvspan(edge, 2 * max(above), color=REFUSED, zorder=0)
        ax.set_xlim(min(low, 1.4 * min(places)), min(2 * max(above), max(high, 1.4 * max(above))))


def _sides(ax: Any, groups: Groups, sigma: float) -> None:
    """The right side and the wrong one, a line for each loss and start."""
    losses, starts = groups.sizes["losses"], groups.sizes["starts"]
    names, place = [], 0
    ax.set_facecolor(REFUSED)
    for loss in losses:
        for look, start in zip(LOOKS, starts, strict=False):
            wrong = groups.one("side", 0.0, sigma, loss, start)
            right = groups.one("threshold", 0.0, sigma, loss, start)
            if wrong is None or right is None or not (wrong.errors and right.errors):
                continue
            ends = np.maximum([right.median, wrong.median], 1e-17)
            ax.plot(ends, [place, place], color=look.color, linewidth=1.2)
            ax.plot(ends[:1], [place], look.marker, color=look.color, markerfacecolor="white", markersize=5)
            ax.plot(ends[1:], [place], look.marker, color=look.color, markersize=5)
            names.append(f"{loss}, {start}")
            place += 1
    ax.set_xscale("log")
    ax.set_yticks(range(len(names)), names, fontsize="x-small")
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel("error against M*: right side (hollow), wrong side (filled)")
    ax.grid(axis="x", alpha=0.5, color="white")
