"""The pictures of ``figure-methods``: errors and times, how much they vary, and their ratios to gradient descent."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unrelu._old.experiments.base import Picture
from unrelu._old.experiments.drawing import LOOKS, SMALLEST, legend_below, panels, readable
from unrelu._old.experiments.methods_readings import VARIANTS
from unrelu._old.experiments.methods_sample import Trials
from unrelu._old.experiments.methods_verdicts import ALIKE, SUBSTANTIAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["methods_pictures"]

# What the two panels of a noise level show.
QUANTITIES = {"own_m": "error ‖M̂ − M‖/‖M‖", "cpu": "CPU time (s)"}
# Rows are this high, in inches.
ROW = 0.235
# Numbers below this are written with a power of ten.
PLAIN = 1e-2
BOX = {"color": "#cfe3f1", "edgecolor": "#333333", "linewidth": 0.8}


def methods_pictures(name: str, paper: Sequence[Trials]) -> tuple[Picture, ...]:
    """For every noise level a panel of errors and one of times; boxes; and ratios."""
    return (
        Picture(
            name,
            "Completion error of the method's own matrix against M, and CPU seconds; the median of each in numbers. "
            "Every matrix is a dot.",
            lambda narrow: _each(paper, narrow, _level),
        ),
        Picture(
            f"{name}-spread",
            "The same runs, each divided by the median of its method: boxes are quartiles, whiskers reach to the ends, "
            "an arrow beyond the panel, to the number beside it.",
            lambda narrow: _each(paper, narrow, _spread),
        ),
        Picture(
            f"{name}-ratios",
            "CPU time over that of gradient descent on the same matrix, for each step of gradient descent and for its "
            f"start as printed; a dot is a geometric mean, a bar the range. Shaded: slightly slower (1 to {ALIKE:g} "
            f"times) and substantially slower ({SUBSTANTIAL:g} times and more).",
            lambda narrow: _draw_ratios(paper, narrow),
        ),
    )


def _rows(ax: Any, names: Sequence[str]) -> None:
    """One line for each variant, from above."""
    ax.set_yticks(range(len(names)), [VARIANTS[name].label for name in names], fontsize=SMALLEST)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="x", labelsize=SMALLEST)
    ax.grid(axis="x", alpha=0.3)
    for place in range(0, len(names), 2):
        ax.axhspan(place - 0.5, place + 0.5, color="#000000", alpha=0.035, linewidth=0)


def _each(paper: Sequence[Trials], narrow: bool, panel: Callable[[Any, Trials, str], None]) -> Figure:
    """A panel of errors and one of times for every noise level."""
    count = max((len(at.names) for at in paper), default=1)
    drawn, axes = panels(max(len(paper), 1), len(QUANTITIES), narrow=narrow, height=0.85 + ROW * count, extra=0.1)
    for line, at in zip(axes, paper, strict=False):
        for ax, quantity in zip(line, QUANTITIES, strict=True):
            _rows(ax, at.names)
            panel(ax, at, quantity)
            ax.set_title(f"σ = {at.sigma:g}", fontsize=9)
        if not narrow:
            line[1].set_yticklabels([])
    return drawn


def _level(ax: Any, at: Trials, quantity: str) -> None:
    """Every matrix a dot, the median a line, and as a number beside the panel."""
    every = [1.0]
    for place, name in enumerate(at.names):
        values = _drawable(at, name, quantity)
        if not values.size:
            continue
        every = [*(every if len(every) > 1 else []), *values]
        look, middle = LOOKS[_look(name)], float(np.median(values))
        spread = np.linspace(-0.22, 0.22, values.size) if values.size > 1 else np.zeros(1)
        ax.plot(values, place + spread, look.marker, color=look.color, markersize=3, alpha=0.75)
        ax.plot([middle, middle], [place - 0.36, place + 0.36], color="#000000", linewidth=1.6, zorder=4)
        ax.text(1.015, place, _number(middle), **_beside(ax))
    ax.set_xscale("log")
    ax.set_xlim(min(every) / 1.5, 1.5 * max(every))
    if max(every) < 30 * min(every):
        readable(ax.xaxis)
    ax.set_xlabel(QUANTITIES[quantity], fontsize=9)


def _beside(ax: Any) -> dict[str, Any]:
    """Text to the right of a panel, where it covers nothing."""
    return {"transform": ax.get_yaxis_transform(), "fontsize": SMALLEST, "va": "center", "ha": "left"}


def _number(value: float) -> str:
    return f"{value:.2g}" if value >= PLAIN else f"{value:.1e}".replace("e-0", "e-")


def _spread(ax: Any, at: Trials, quantity: str) -> None:
    """A box for each method, of its runs over their median; an arrow where one reaches out of the panel."""
    found = {name: _drawable(at, name, quantity) for name in at.names}
    boxes = {name: np.quantile(v / np.median(v), [0, 0.25, 0.5, 0.75, 1]) for name, v in found.items() if v.size}
    # All but the widest eighth of the methods fit; with room for the arrows.
    reach = np.quantile([max(box[4] - 1, 1 - box[0]) for box in boxes.values()] or [1.0], 0.875) * 1.15 + 1e-3
    left, right = max(1 - reach, 0.0), 1 + reach
    for place, name in enumerate(at.names):
        if name not in boxes:
            continue
        low, first, middle, last, high = boxes[name]
        ax.plot([max(low, left), min(high, right)], [place, place], color="#333333", linewidth=1, zorder=1)
        ends = max(first, left), min(last, right)
        ax.barh(place, ends[1] - ends[0], left=ends[0], height=0.6, zorder=2, **BOX)
        ax.plot([middle, middle], [place - 0.3, place + 0.3], color="#d55e00", linewidth=2, zorder=3)
        if high > right:
            ax.plot([right], [place], ">", color="#333333", markersize=5, clip_on=False, zorder=4)
            ax.text(1.025, place, f"{high:.3g}", **_beside(ax))
    ax.set_xlim(left, right)
    ax.set_xlabel(f"{QUANTITIES[quantity].split(' (')[0].split(' ‖')[0]} over its median", fontsize=9)


def _draw_ratios(paper: Sequence[Trials], narrow: bool) -> Figure:
    count = max((len(at.names) for at in paper), default=1)
    drawn, axes = panels(1, max(len(paper), 1), narrow=narrow, height=0.9 + 1.25 * ROW * count, extra=0.7)
    line = axes[0]
    for ax, at in zip(line, paper, strict=False):
        names = [name for name in at.names if VARIANTS[name].method != "GD"]
        _rows(ax, names)
        descents = at.variants("GD")
        ends = [1.0]
        for shift, (descent, variant) in enumerate(descents.items()):
            look = LOOKS[shift]
            for place, name in enumerate(names):
                ratios = at.over(name, descent)
                if not ratios:
                    continue
                y = place + 0.2 * (shift - (len(descents) - 1) / 2)
                middle = math.exp(float(np.mean(np.log(ratios))))
                ends += [min(ratios), max(ratios)]
                ax.plot([min(ratios), max(ratios)], [y, y], color=look.color, linewidth=1.4)
                label = variant.setting if place == 0 else None
                ax.plot([middle], [y], look.marker, color=look.color, markersize=4.5, label=label)
        right = 1.6 * max(*ends, 2 * SUBSTANTIAL)
        ax.axvspan(1, ALIKE, color="#e69f00", alpha=0.16, linewidth=0)
        ax.axvspan(SUBSTANTIAL, right, color="#0072b2", alpha=0.1, linewidth=0)
        ax.axvline(1, color="#333333", linewidth=0.8)
        ax.set_xscale("log")
        ax.set_xlim(min(ends) / 1.6, right)
        ax.set_title(f"σ = {at.sigma:g}", fontsize=9)
        ax.set_xlabel("CPU time over that of GD", fontsize=9)
    if not narrow:
        for ax in line[1:]:
            ax.set_yticklabels([])
    legend_below(drawn, line[0], 2)
    return drawn


def _drawable(at: Trials, name: str, quantity: str) -> Any:
    """What a logarithmic axis can show; exactly zero is drawn at rounding."""
    values = np.array(list(at.values(name, quantity).values()))
    return np.maximum(values[np.isfinite(values)], 1e-17)


def _look(name: str) -> int:
    """Variants of a method look alike."""
    methods = list(dict.fromkeys(variant.method for variant in VARIANTS.values()))
    return methods.index(VARIANTS[name].method) % len(LOOKS)
