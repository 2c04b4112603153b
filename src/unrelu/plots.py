"""Pictures of a completion. Matplotlib is imported here and only when something is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unrelu.completion import Completion
from unrelu.errors import InputError
from unrelu.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_completion", "save_figure"]

UNSEEN = "#d9d9d9"
LINES = {"gradient norm": "#0072b2", "completion error": "#d55e00"}  # distinguishable without colour vision


def draw_completion(completion: Completion, X: Any = None, *, truth: Any = None) -> Figure:
    """What was seen, what was completed, and how the run went.

    Parameters
    ----------
    completion : Completion
    X : array of shape (n, n), optional
        What was seen; needed only after ``Completion.load``.
    truth : array of shape (n, n), optional
        Drawn beside the completion.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    n = completion.size
    seen = _seen(completion, X)
    fit = np.asarray(completion.matrix())
    order = _angular_order(completion.factor)
    panels: list[tuple[str, NDArray[Any]]] = [("seen", seen), ("completed", fit)]
    if truth is not None:
        panels.append(("planted", np.asarray(truth)))
    figure = Figure(figsize=(3.3 * (len(panels) + 1), 3.4), layout="constrained")
    axes = figure.subplots(1, len(panels) + 1, width_ratios=[1] * len(panels) + [1.15])
    limit = float(np.quantile(np.abs(fit), 0.99)) or 1.0
    for ax, (title, values) in zip(axes, panels, strict=False):
        image = ax.imshow(values[np.ix_(order, order)], cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
        ax.set_facecolor(UNSEEN)
        share = f" ({np.mean(~np.isnan(values)):.0%}; grey: unseen)" if title == "seen" else ""
        ax.set_title(title + share)
        ax.set_xticks([])
        ax.set_yticks([])
    axes[0].set_ylabel(f"{n} rows, sorted by angle")
    figure.colorbar(image, ax=list(axes[: len(panels)]), shrink=0.8, aspect=30, pad=0.01)
    _draw_history(axes[-1], completion)
    return figure


def _draw_history(ax: Any, completion: Completion) -> None:
    steps = completion.history.column("iteration")
    curves = {"gradient norm": "gradient_norm", "completion error": "error"}
    for label, name in curves.items():
        values = completion.history.column(name)
        if np.isfinite(values).any():
            marker = "o" if label == "gradient norm" else "s"
            ax.semilogy(steps, values, marker=marker, markersize=3, color=LINES[label], label=label)
    ax.set_xlabel("iteration")
    ax.set_title(f"{completion.method}, {completion.loss} loss")
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)


def _angular_order(U: NDArray[Any]) -> NDArray[np.intp]:
    """Rows by their angle in the plane of the two leading directions, so that structure shows."""
    left, values, _ = np.linalg.svd(U.astype(np.float64), full_matrices=False)
    plane = left[:, :2] * values[:2]
    if plane.shape[1] < 2:
        return np.argsort(plane[:, 0])
    return np.argsort(np.arctan2(plane[:, 1], plane[:, 0]))


def _seen(completion: Completion, X: Any) -> NDArray[Any]:
    whole = slice(0, completion.size)
    return completion.seen_entries(X).block(whole, whole)


def save_figure(figure: Figure, path: str | Path, *, dpi: int = 150) -> None:
    """Write a figure as PNG, SVG or PDF; an interrupted run leaves the old file untouched."""
    path = Path(path)
    kind = path.suffix.lstrip(".").lower()
    if kind not in ("png", "svg", "pdf"):
        raise InputError(f"a picture is written as .png, .svg or .pdf, got {path.name!r}")
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=dpi, format=kind)
