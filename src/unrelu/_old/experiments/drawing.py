"""How figures look: fit for a paper, a palette that colour-blind readers can tell apart, markers for print in grey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LOOKS", "SEEN", "Look", "figure", "legend_below", "panels", "quartile_line", "readable"]

SEEN = "#e69f00"  # the paper's orange
# Inches. On a phone of 390 px a narrow figure is shown at 1.2 px a point, at 768 px a wide one at 1.25: text of 8
# points is then 9 px or more.
NARROW, WIDE = 3.6, 7.4
SMALLEST = 8


@dataclass(frozen=True)
class Look:
    """Colour, line and marker; each alone tells curves apart."""

    color: str
    linestyle: str
    marker: str

    def line(self, **more: Any) -> dict[str, Any]:
        """Keywords for a plotted line."""
        return {"color": self.color, "linestyle": self.linestyle, "marker": self.marker, "markersize": 4.5, **more}


# Okabe and Ito's palette, dark and light in turn.
LOOKS = (
    Look("#0072b2", "-", "o"),
    Look("#d55e00", "--", "s"),
    Look("#009e73", "-.", "^"),
    Look("#cc79a7", ":", "D"),
    Look("#000000", "-", "v"),
    Look("#e69f00", "--", "P"),
    Look("#56b4e9", "-.", "X"),
)


def figure(width: float = 7.0, height: float = 3.2) -> Figure:
    """An empty figure in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def panels(
    rows: int, columns: int, *, narrow: bool, height: float = 2.9, extra: float = 0.5, **more: Any
) -> tuple[Figure, Any]:
    """A figure and its axes as a rows × columns array; for a phone they stand below each other, in reading order.

    ``height`` is that of one row of panels, ``extra`` that of a legend below them, in inches.

    Examples
    --------
    >>> wide, axes = panels(1, 3, narrow=False)
    >>> narrow, same = panels(1, 3, narrow=True)
    >>> axes.shape == same.shape, float(wide.get_size_inches()[0]), float(narrow.get_size_inches()[0])
    (True, 7.4, 3.6)
    """
    shape = (rows * columns, 1) if narrow else (rows, columns)
    drawn = figure(NARROW if narrow else WIDE, extra + height * shape[0])
    return drawn, drawn.subplots(*shape, squeeze=False, **more).reshape(rows, columns)


def legend_below(drawn: Figure, ax: Any, columns: int) -> None:
    """One legend under all axes, where it covers no data; a narrow figure has room for one or two columns."""
    handles, labels = ax.get_legend_handles_labels()
    if drawn.get_size_inches()[0] <= NARROW:
        columns = 1 if max(map(len, labels), default=0) > 18 else min(columns, 2)
    drawn.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=SMALLEST, frameon=False)


def quartile_line(ax: Any, x: Sequence[float], groups: Sequence[Sequence[float]], look: Look, label: str) -> None:
    """The median as a line, the quartiles as bars."""
    kept = [(place, np.asarray(group)) for place, group in zip(x, groups, strict=True) if len(group)]
    if not kept:
        return
    # What is exactly zero is drawn at rounding, for a logarithmic axis has no zero.
    low, middle, high = np.array([np.quantile(np.maximum(g, 1e-17), [0.25, 0.5, 0.75]) for _, g in kept]).T
    places = [place for place, _ in kept]
    bars = [middle - low, high - middle]
    ax.errorbar(places, middle, yerr=bars, label=label, capsize=2.5, linewidth=1.4, elinewidth=0.9, **look.line())


def readable(axis: Any) -> None:
    """Plain numbers at 1, 2 and 5, for a logarithmic axis with too few powers of ten to read values off."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
