"""How ``figure-sensitivity`` is drawn: a panel for each loss and statement, a curve for each start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unrelu.experiments.drawing import LOOKS, NARROW, SMALLEST, WIDE, figure, legend_below, quartile_line
from unrelu.experiments.sensitivity_groups import Groups, signed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

REFUSED = "#e9edf1"
YARDSTICK = "#c3c9d2"
# Curves lie on each other where the start does not matter: each is moved aside by this much of the way to the next
# place, so that all of them can be seen.
ASIDE = 0.09
# A logarithmic axis has no zero: that is drawn at rounding.
ROUNDING = 1e-17
# More labels than these stand upright.
MOST_UPRIGHT = 4
LABELS = {
    "threshold": "stated − true, in rms entries",
    "censored": "random gaps, told as censored",
    "unknown": "random gaps, told as unknown",
}


def draw(groups: Groups, sigma: float, narrow: bool) -> Figure:
    """One noise level: threshold above, gaps told as censored below it, then gaps told as unknown and the side."""
    losses = groups.sizes["losses"]
    drawn, panels, (unknown, sides) = _narrow(len(losses)) if narrow else _wide(len(losses))
    for row, told in zip(panels, ("threshold", "censored"), strict=True):
        for ax, loss in zip(row, losses, strict=True):
            _curves(ax, groups, told, sigma, loss)
            ax.set_title(f"loss {loss}", fontsize="medium")
            first = narrow or ax is row[0]
            ax.tick_params(labelleft=first)
            ax.set_ylabel("error against M*" if first else "")
    _curves(unknown, groups, "unknown", sigma, None)
    unknown.set_title("every loss", fontsize="medium")
    unknown.set_ylabel("error against M*")
    _sides(sides, groups, sigma)
    legend_below(drawn, panels[1, 0], 4)
    return drawn


def _wide(losses: int) -> tuple[Figure, Any, Any]:
    """A column for each loss, and a row with two panels of different width below them."""
    drawn = figure(WIDE, 10.2)
    parts: Any = drawn.subfigures(2, 1, height_ratios=[2.0, 1.1])
    return drawn, parts[0].subplots(2, losses, squeeze=False), parts[1].subplots(1, 2, width_ratios=[1.0, 1.1])


def _narrow(losses: int) -> tuple[Figure, Any, Any]:
    """All below each other."""
    count = 2 * losses + 1
    drawn = figure(NARROW, 2.5 * count + 5.0)
    # In a part of its own the long names of the last panel take no width from the others.
    parts: Any = drawn.subfigures(2, 1, height_ratios=[2.5 * count, 4.0])
    axes = parts[0].subplots(count, 1)
    return drawn, axes[:-1].reshape(2, losses), (axes[-1], parts[1].subplots())


def _curves(ax: Any, groups: Groups, told: str, sigma: float, loss: str | None) -> None:
    """A curve for each start, over places that are equally far apart."""
    places = groups.places(told)
    x = np.arange(len(places))
    if told == "threshold" and places[-1] > 0:
        ax.axvspan(places.index(0.0) + 0.5, len(places), color=REFUSED, zorder=0)
    ax.set(yscale="log", ylim=_ends(groups, sigma))
    ax.grid(alpha=0.3)
    starts = groups.sizes["starts"]
    if told == "censored":
        marked = [groups.some("marked", at, sigma, loss, starts[-1]) for at in places]
        line = np.array([(k, some[0].median) for k, some in enumerate(marked) if some and some[0].errors])
        if len(line) > 1:
            heights = np.maximum(line[:, 1], ROUNDING)
            ax.plot(line[:, 0], heights, label="random gaps marked", linewidth=6, color=YARDSTICK, zorder=1)
    for k, start in enumerate(starts):
        some = [groups.some(told, at, sigma, loss, start) for at in places]
        errors = [group[0].errors if group else [] for group in some]
        aside = ASIDE * (k - (len(starts) - 1) / 2)
        quartile_line(ax, list(x + aside), errors, LOOKS[k % len(LOOKS)], start)
    ax.set_xlim(-0.6, len(places) - 0.4)
    names = [signed(at) if told == "threshold" else f"{at:.0%}" for at in places]
    ax.set_xticks(x, names, fontsize=SMALLEST, rotation=90 if len(names) > MOST_UPRIGHT else 0)
    ax.tick_params(axis="y", labelsize=SMALLEST)
    ax.set_xlabel(LABELS[told], fontsize=SMALLEST + 1)


def _ends(groups: Groups, sigma: float) -> tuple[float, float]:
    """One scale for all panels, with room at both ends."""
    errors = [max(error, ROUNDING) for group in groups.some(sigma=sigma) for error in group.errors] or [1.0]
    room = 1.5 if max(errors) < 1e6 * min(errors) else 10.0
    return min(errors) / room, max(errors) * room


def _sides(ax: Any, groups: Groups, sigma: float) -> None:
    """The right side and the wrong one, a line for each loss and start."""
    names: list[str] = []
    for loss in groups.sizes["losses"]:
        for k, start in enumerate(groups.sizes["starts"]):
            wrong = groups.one("side", 0.0, sigma, loss, start)
            right = groups.one("threshold", 0.0, sigma, loss, start)
            if wrong is None or right is None or not (wrong.errors and right.errors):
                continue
            look, place = LOOKS[k % len(LOOKS)], len(names)
            ends = np.maximum([right.median, wrong.median], ROUNDING)
            ax.plot(ends, [place, place], color=look.color, linewidth=1.2)
            ax.plot(ends[1:], [place], look.marker, color=look.color, markersize=5)
            ax.plot(ends[:1], [place], look.marker, color=look.color, markerfacecolor="none", markersize=7)
            names.append(f"{loss}, {start}")
    ax.set_facecolor(REFUSED)
    ax.set_xscale("log")
    ax.set_yticks(range(len(names)), names, fontsize=SMALLEST)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
    ax.set_title("the side misstated", fontsize="medium")
    ax.set_xlabel("error: right ○, wrong ●", fontsize=SMALLEST + 1)
    ax.grid(axis="x", alpha=0.8, color="white")
