"""A picture of a filled matrix or table: what was seen, what was filled in, and where each entry comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.printable import printable
from unrelu._old.results.completion import Completion
from unrelu._old.results.flags import FLAGS, MEASURED, flags_of
from unrelu._old.results.table import TableCompletion
from unrelu._old.show.plots import UNSEEN, angular_order
from unrelu._old.show.rehearsal import plot_rehearsal, plot_tried

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_filled"]

# One colour per flag, of four greys in print.
COLOURS = ("#dddddd", "#0072b2", "#e69f00", "#111111")
# Rows and columns whose names find room beside a picture.
MOST_NAMES = 40
# Letters of a name that are drawn.
LONGEST = 18
# Beyond which quantile of its sizes, or beyond how many standard deviations, a value has the darkest colour.
DARKEST, DEVIATIONS = 0.99, 3.0


def draw_filled(
    completion: Completion | TableCompletion, flags: NDArray[np.uint8] | None = None, filled: Any = None
) -> Figure:
    """What was seen, what was filled in, and which entries were measured, censored, missing or are not determined.

    The rows of a symmetric matrix are sorted by their angle, so that structure shows. A table stays in its order, and
    the colours of a column are those of its own spread, for columns may have units of their own. Where models were
    rehearsed, it is drawn below how well they did.

    Parameters
    ----------
    completion : Completion or TableCompletion
    flags : (m, n) array, optional
        Those of :func:`~unrelu._old.results.flags.flags_of`; found out when not given, but for a TableCompletion.
    filled : (m, n) array, optional
        What was made of it, NaN where it was left empty; by default what the data determine, or what is forecast.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    flags = _flags(completion) if flags is None else flags
    values = np.asarray(_values(completion) if filled is None else filled, dtype=np.float64)
    symmetric = getattr(completion, "symmetric", False)
    factor: Any = getattr(completion, "factor", None)
    order = angular_order(factor) if symmetric else np.arange(completion.shape[0])
    across = order if symmetric else np.arange(completion.shape[1])
    limit, scale = _limit(values), "value"
    if not symmetric:
        values, limit, scale = _standardised(values), DEVIATIONS, "standard deviations from the mean of the column"
    values, flags = values[np.ix_(order, across)], flags[np.ix_(order, across)]
    aspect: Any = "equal" if symmetric else "auto"
    rehearsal: Any = completion.rehearsal
    below = rehearsal is not None and len(getattr(rehearsal, "trials", ()) or getattr(rehearsal, "tried", ())) > 0
    figure = Figure(figsize=(11.5, 9.0 if below else 5.2), layout="constrained")
    grid = figure.add_gridspec(2 if below else 1, 6)
    axes = [figure.add_subplot(grid[0, 2 * k : 2 * k + 2]) for k in range(3)]
    panels = {"seen": np.where(flags == MEASURED, values, np.nan), "filled in": values}
    for ax, (title, shown) in zip(axes, panels.items(), strict=False):
        image = ax.imshow(shown, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest", aspect=aspect)
        ax.set_facecolor(UNSEEN)
        ax.set_title(f"{title} ({np.mean(~np.isnan(shown)):.0%}; grey: none)")
    figure.colorbar(image, ax=axes[:2], location="bottom", shrink=0.5, aspect=40, label=scale)
    _draw_flags(axes[2], flags, aspect)
    for ax in axes:
        _name(ax, completion, order)
    sorted_ = ", sorted by angle" if symmetric else ""
    axes[0].set_ylabel(f"{completion.shape[0]} rows{sorted_}")
    if below and hasattr(rehearsal, "tried"):
        plot_tried(rehearsal, figure.add_subplot(grid[1, :]))
    elif below:
        plot_rehearsal(rehearsal, [figure.add_subplot(grid[1, :3]), figure.add_subplot(grid[1, 3:])])
    return figure


def _flags(completion: Any) -> NDArray[np.uint8]:
    """Where each entry comes from; of a forecast none is left open."""
    known = np.ones(completion.shape, bool) if getattr(completion, "forecasts", False) else None
    return flags_of(completion, known)


def _values(completion: Any) -> Any:
    """What the data determine, or what is forecast."""
    return completion.filled() if getattr(completion, "forecasts", False) else completion.filled(undetermined="nan")


def _limit(values: NDArray[np.float64]) -> float:
    known = np.abs(values[~np.isnan(values)])
    return (float(np.quantile(known, DARKEST)) if known.size else 0.0) or 1.0


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each column in its own standard deviations; one that is the same everywhere is zero."""
    known = ~np.isnan(values)
    count = np.maximum(known.sum(axis=0), 1)
    off = values - np.where(known, values, 0.0).sum(axis=0) / count
    spread = np.sqrt(np.square(np.where(known, off, 0.0)).sum(axis=0) / count)
    return off / np.where(spread > 0, spread, 1.0)


def _draw_flags(ax: Any, flags: NDArray[np.uint8], aspect: Any) -> None:
    """A colour for every flag, and what it stands for in the place of a colour bar."""
    from matplotlib.colors import BoundaryNorm, ListedColormap

    kinds, ends = ListedColormap(list(COLOURS)), np.arange(len(FLAGS) + 1) - 0.5
    image = ax.imshow(flags, cmap=kinds, norm=BoundaryNorm(ends, len(FLAGS)), interpolation="nearest", aspect=aspect)
    ax.set_title("where it comes from")
    shares = np.bincount(flags.ravel(), minlength=len(FLAGS)) / flags.size
    bar = ax.figure.colorbar(image, ax=ax, location="bottom", aspect=20, spacing="uniform")
    words = [f"{flag}\n{share:.1%}" for flag, share in zip(FLAGS, shares, strict=True)]
    bar.set_ticks(range(len(FLAGS)), labels=words, fontsize="x-small")


def _name(ax: Any, completion: Any, order: NDArray[np.intp]) -> None:
    """Names of rows and columns where there is room."""
    rows = completion.labels
    symmetric = getattr(completion, "symmetric", False)
    columns = rows if symmetric else getattr(completion, "column_labels", None)
    for axis, labels, size in zip((ax.yaxis, ax.xaxis), (rows, columns), completion.shape, strict=True):
        if labels is None or size > MOST_NAMES:
            axis.set_ticks([])
            continue
        places = order if symmetric else range(size)
        names = [printable(str(labels[place])) for place in places]
        names = [name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…" for name in names]
        axis.set_ticks(range(size), names, fontsize="xx-small", parse_math=False)
        axis.set_tick_params(length=0)
    ax.tick_params(axis="x", rotation=90)
