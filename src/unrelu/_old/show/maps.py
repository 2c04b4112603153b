"""A map of points found from distances: where they lie, how sure that is, and which the data leave open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.arrays import Floats
from unrelu._old.base.errors import InputError
from unrelu._old.base.printable import printable
from unrelu._old.results.distances import DistanceCompletion

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_map"]

# Blue circles against vermilion triangles: apart in hue for every kind of colour vision, in lightness, and in shape.
DETERMINED, UNDETERMINED, ANCHOR, PAIR = "#0072b2", "#d55e00", "#111111", "#8c8c8c"
# Squared radius that holds 95 % of a normal distribution, by the number of dimensions (χ² quantiles).
RADIUS_95 = {1: 3.841, 2: 5.991, 3: 7.815}
MOST_NAMES = 30
# Side of the map in points of print, of which dots have so and so many.
MAP_SIDE = 480.0


def draw_map(completion: DistanceCompletion, *, title: str | None = None) -> Figure:
    """Points, measured pairs and 95 % error ellipses, in one, two or three dimensions.

    Points that the data do not determine have another colour and another marker, anchors a third. Parts that no
    measurement joins have frames of their own and are drawn beside each other. Names are written up to 30 points. In
    three dimensions an ellipsoid is drawn by its three axes.

    Parameters
    ----------
    completion : DistanceCompletion
    title : str, optional
        What is written above; by default how many points the data determine.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the points have more than three dimensions.
    """
    from matplotlib.figure import Figure

    dim = completion.dim
    if dim > 3:
        raise InputError(f"a map shows up to three dimensions, got {dim}; draw some columns of the points instead")
    points = _side_by_side(np.asarray(completion.points, dtype=float), completion.components, completion.anchors)
    points = np.pad(points, ((0, 0), (0, max(0, 2 - dim))))
    reach = _reach(completion, points)
    width, height = np.ptp(np.concatenate([points - reach, points + reach])[:, :2], axis=0) + 1e-300
    tall = {1: 1.0, 2: float(np.clip(7.4 * height / width, 3.0, 10.0)), 3: 7.0}[dim]
    figure = Figure(figsize=(8, tall + 1.4), layout="constrained")  # below and above: the legend and the title
    ax = figure.add_subplot(projection="3d") if dim == 3 else figure.add_subplot()
    _equal_axes(ax, points, reach)
    _draw_pairs(ax, points, completion.pairs)
    hidden = _draw_ellipses(ax, points, completion)
    _draw_points(ax, points, completion)
    if completion.names is not None and completion.size <= MOST_NAMES:
        _write_names(ax, points, completion.names)
    _write_legend(figure, ax, hidden)
    ax.set_title(title or _title(completion), fontsize="medium")
    return figure


def _title(completion: DistanceCompletion) -> str:
    known, n = int(np.count_nonzero(completion.determined)), completion.size
    text = f"{n} points from {len(completion.pairs)} distances; the data determine {known}"
    parts = int(np.max(completion.components, initial=0)) + 1
    if parts > 1:
        text += f"\n{parts} parts that no distance joins, drawn beside each other"
    return text


def _side_by_side(points: Floats, components: NDArray[Any], anchors: NDArray[Any]) -> Floats:
    """Move parts with frames of their own to the right of those that anchors hold, single points into a column."""
    placed = points.copy()
    parts = [np.flatnonzero(components == k) for k in range(int(np.max(components, initial=0)) + 1)]
    if len(parts) < 2:
        return placed
    held = {int(components[k]) for k in np.asarray(anchors, dtype=int)} or {0}
    fixed = np.isin(components, list(held))
    low, high = points[fixed].min(axis=0), points[fixed].max(axis=0)
    widest = max(float(np.ptp(points[part], axis=0).max()) for part in parts) or 1.0
    gap = 0.12 * widest
    edge, middle, lone = high[0] + gap, (low + high) / 2, 0
    for k, part in enumerate(parts):
        if k in held:
            continue
        here = points[part]
        corner, size = here.min(axis=0), np.ptp(here, axis=0)
        shift = middle - (corner + size / 2)
        shift[0] = edge - corner[0]
        if len(part) == 1 and points.shape[1] > 1:  # a column of singles, upwards from below
            shift[1] = low[1] + lone * gap - corner[1]
            lone += 1
        else:
            edge += size[0] + gap
        placed[part] = here + shift
    return placed


def _covariances(completion: DistanceCompletion) -> tuple[NDArray[np.intp], Floats]:
    """Which points have an error that can be drawn, and the axes of its 95 % ellipse, longest last."""
    covariances = np.asarray(completion.covariances, dtype=float)
    shown = np.flatnonzero(completion.determined & np.isfinite(covariances).all(axis=(1, 2)))
    lengths, directions = np.linalg.eigh(covariances[shown])
    axes = directions * np.sqrt(np.maximum(lengths, 0) * RADIUS_95[completion.dim])[:, None, :]
    return shown, axes


def _reach(completion: DistanceCompletion, points: Floats) -> Floats:
    """The corners of what is to be seen: points and, unless they dwarf the map, their ellipses."""
    shown, axes = _covariances(completion)
    reach = np.zeros_like(points)
    if shown.size:
        half = np.sqrt((axes**2).sum(axis=2))
        reach[shown, : half.shape[1]] = np.minimum(half, 0.25 * np.ptp(points, axis=0).max())
    return reach


def _equal_axes(ax: Any, points: Floats, reach: Floats) -> None:
    low, high = (points - reach).min(axis=0), (points + reach).max(axis=0)
    size = float((high - low).max()) or 1.0
    middle = (low + high) / 2
    half = np.maximum((high - low) / 2 + 0.05 * size, 0.02 * size)
    setters = (ax.set_xlim, ax.set_ylim, *([ax.set_zlim] if points.shape[1] == 3 else []))
    for setter, centre, width in zip(setters, middle, half, strict=True):
        setter(centre - width, centre + width)
    if points.shape[1] == 3:
        ax.set_box_aspect(tuple(half / half.max()))
    else:
        ax.set_aspect("equal")
    if not points[:, 1].any() and points.shape[1] == 2:
        ax.set_yticks([])
    ax.grid(alpha=0.25)


def _draw_pairs(ax: Any, points: Floats, pairs: NDArray[Any]) -> None:
    from matplotlib.collections import LineCollection

    lines = points[np.asarray(pairs, dtype=int)]
    crowd = max(1.0, len(pairs) / 500)
    style: dict[str, Any] = {
        "colors": PAIR,
        "linewidths": max(0.4, 0.9 / crowd**0.25),
        "alpha": max(0.22, 0.65 / crowd**0.25),
        "rasterized": len(lines) > 5000,  # a hundred thousand lines make a vector file no viewer opens
        "zorder": 1,
    }
    if points.shape[1] == 3:
        from mpl_toolkits.mplot3d.art3d import Line3DCollection

        ax.add_collection3d(Line3DCollection(lines, **style), autolim=False)
    else:
        ax.add_collection(LineCollection(lines, **style), autolim=False)
    if len(lines):
        ax.plot([], [], color=PAIR, linewidth=0.9, label=f"measured pair ({len(lines)})")


def _draw_ellipses(ax: Any, points: Floats, completion: DistanceCompletion) -> bool:
    """Draw the errors that can be seen; return whether there are smaller ones."""
    shown, axes = _covariances(completion)
    if not shown.size:
        return False
    span = float(np.ptp(points, axis=0).max()) or 1.0
    free = ~np.isin(shown, completion.anchors)
    shown, axes = shown[free], axes[free]
    dot = np.sqrt(_dot_area(completion.size)) / 2
    large = np.sqrt((axes**2).sum(axis=1)).max(axis=1, initial=0.0) > 1.3 * dot / MAP_SIDE * span
    shown, axes = shown[large], axes[large]
    if shown.size:
        label = f"95 % error {'ellipse' if completion.dim == 2 else 'interval' if completion.dim == 1 else 'axes'}"
        _ELLIPSES[completion.dim](ax, points[shown], axes, label)
    return not large.all()


def _ellipses(ax: Any, centres: Floats, axes: Floats, label: str) -> None:
    from matplotlib.collections import PolyCollection

    angle = np.linspace(0, 2 * np.pi, 49)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    outlines = centres[:, None, :] + np.swapaxes(axes @ circle, 1, 2)
    ax.add_collection(
        PolyCollection(outlines, facecolors=DETERMINED, edgecolors=DETERMINED, alpha=0.22, zorder=2, label=label),
        autolim=False,
    )


def _segments(ax: Any, centres: Floats, axes: Floats, label: str) -> None:
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    ends = np.swapaxes(axes, 1, 2)  # [point, axis, coordinate]
    lines = np.stack([centres[:, None] - ends, centres[:, None] + ends], axis=2).reshape(-1, 2, 3)
    ax.add_collection3d(Line3DCollection(lines, colors=DETERMINED, linewidths=1.4, alpha=0.45), autolim=False)
    ax.plot([], [], color=DETERMINED, linewidth=1.4, alpha=0.45, label=label)


def _intervals(ax: Any, centres: Floats, axes: Floats, label: str) -> None:
    ax.errorbar(
        centres[:, 0], centres[:, 1], xerr=np.abs(axes[:, 0, 0]), fmt="none", ecolor=DETERMINED, alpha=0.45, label=label
    )


_ELLIPSES = {1: _intervals, 2: _ellipses, 3: _segments}


def _dot_area(count: int) -> float:
    return float(np.clip(4200 / max(count, 1), 3.0, 42.0))


def _draw_points(ax: Any, points: Floats, completion: DistanceCompletion) -> None:
    anchored = np.zeros(completion.size, dtype=bool)
    anchored[np.asarray(completion.anchors, dtype=int)] = True
    known = np.asarray(completion.determined, dtype=bool)
    size = _dot_area(completion.size)
    kinds = [
        (known & ~anchored, DETERMINED, "o", size, "determined"),
        (~known & ~anchored, UNDETERMINED, "^", max(1.6 * size, 14), "not determined by the data"),
        (anchored, ANCHOR, "s", max(1.3 * size, 26), "anchor"),
    ]
    for order, (mask, colour, marker, area, label) in enumerate(kinds, 3):
        if mask.any():
            style = dict(depthshade=False) if points.shape[1] == 3 else {}
            edge = "white" if size > 8 else "none"
            ax.scatter(
                *points[mask].T,
                s=area,
                c=colour,
                marker=marker,
                label=f"{label} ({int(mask.sum())})",
                zorder=order,
                edgecolors=edge,
                linewidths=0.5,
                **style,
            )


def _write_names(ax: Any, points: Floats, names: Sequence[object]) -> None:
    """Names as they are: a dollar begins no formula, and what is no letter is escaped (SVG must not hold it)."""
    style: dict[str, Any] = dict(fontsize=8, color="#333333", parse_math=False)
    for point, name in zip(points, map(printable, names), strict=True):
        if points.shape[1] == 3:
            ax.text(*point, f" {name}", **style)
        else:
            ax.annotate(name, point, xytext=(5, 5), textcoords="offset points", zorder=9, **style)


def _write_legend(figure: Figure, ax: Any, hidden: bool) -> None:
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        title="95 % errors not drawn are smaller than the dots" if hidden else None,
        title_fontsize="small",
        fontsize="small",
        ncols=2,
        frameon=False,
        loc="outside lower center",
    )
