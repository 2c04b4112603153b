"""A picture of a filled matrix or table: what was seen, what was filled in, and where each entry comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unrelu.base.printable import printable
from unrelu.results.completion import Completion
from unrelu.results.flags import FLAGS, MEASURED, flags_of
from unrelu.show.plots import UNSEEN, angular_order

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


def draw_filled(completion: Completion, flags: NDArray[np.uint8] | None = None, filled: Any = None) -> Figure:
    """What was seen, what was filled in, and which entries were measured, censored, missing or are not determined.

    The rows of a symmetric matrix are sorted by their angle, so that structure shows. A table stays in its order, and
    the colours of a column are those of its own spread, for columns may have units of their own.

    Parameters
    ----------
    completion : Completion
    flags : (m, n) array, optional
        Those of :func:`~unrelu.results.flags.flags_of`; found out when not given.
    filled : (m, n) array, optional
        What was made of it, NaN where it was left empty; by default what the data determine.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    flags = flags_of(completion) if flags is None else flags
    values = np.asarray(completion.filled(undetermined="nan") if filled is None else filled, dtype=np.float64)
    order = angular_order(completion.factor) if completion.symmetric else np.arange(completion.shape[0])
    across = order if completion.symmetric else np.arange(completion.shape[1])
    limit, scale = _limit(values), "value"
    if not completion.symmetric:
        values, limit, scale = _standardised(values), DEVIATIONS, "standard deviations from the mean of the column"
    values, flags = values[np.ix_(order, across)], flags[np.ix_(order, across)]
    aspect = "equal" if completion.symmetric else "auto"
    figure = Figure(figsize=(11.5, 5.2), layout="constrained")
    axes = figure.subplots(1, 3)
    panels = {"seen": np.where(flags == MEASURED, values, np.nan), "filled in": values}
    for ax, (title, shown) in zip(axes, panels.items(), strict=False):
        image = ax.imshow(shown, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest", aspect=aspect)
        ax.set_facecolor(UNSEEN)
        ax.set_title(f"{title} ({np.mean(~np.isnan(shown)):.0%}; grey: none)")
    figure.colorbar(image, ax=list(axes[:2]), location="bottom", shrink=0.5, aspect=40, label=scale)
    _draw_flags(axes[2], flags, aspect)
    for ax in axes:
        _name(ax, completion, order)
    sorted_ = ", sorted by angle" if completion.symmetric else ""
    axes[0].set_ylabel(f"{completion.shape[0]} rows{sorted_}")
    return figure


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


def _name(ax: Any, completion: Completion, order: NDArray[np.intp]) -> None:
    """Names of rows and columns where there is room."""
    rows = completion.labels
    columns = rows if completion.symmetric else getattr(completion, "column_labels", None)
    for axis, labels, size in zip((ax.yaxis, ax.xaxis), (rows, columns), completion.shape, strict=True):
        if labels is None or size > MOST_NAMES:
            axis.set_ticks([])
            continue
        places = order if completion.symmetric else range(size)
        names = [printable(str(labels[place])) for place in places]
        names = [name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…" for name in names]
        axis.set_ticks(range(size), names, fontsize="xx-small", parse_math=False)
        axis.set_tick_params(length=0)
    ax.tick_params(axis="x", rotation=90)
