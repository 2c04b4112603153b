"""Pictures of a completion. Matplotlib is imported here and only when something is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.errors import InputError
from unrelu._old.io.disk import replacing
from unrelu._old.results.comparison import CONVERGED, Comparison
from unrelu._old.results.completion import Completion

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["angular_order", "draw_beside", "draw_comparison", "draw_completion", "save_figure"]

UNSEEN = "#d9d9d9"
BOX, MEDIAN, TRIAL = "#9ecae1", "#d55e00", "#222222"  # light, middle, dark: three greys in print
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
    order = angular_order(completion.factor)
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


def draw_beside(X: Any, completions: Mapping[str, Completion], *, truth: Any) -> Figure:
    """What was seen, what several completions made of it, and the truth, rows sorted by angle in the truth.

    Parameters
    ----------
    X : array of shape (n, n)
        NaN where nothing was seen.
    completions : mapping of str to Completion
        Titles and completions.
    truth : array of shape (n, n)

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    M = np.asarray(truth, dtype=float)
    values, vectors = np.linalg.eigh(M)
    order = angular_order(vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0)))
    size = np.linalg.norm(M)
    panels = [(f"seen ({np.mean(~np.isnan(np.asarray(X))):.0%}; grey: unseen)", np.asarray(X, dtype=float))]
    for title, completion in completions.items():
        fit = np.asarray(completion.matrix())
        panels.append((f"{title}: error {np.linalg.norm(fit - M) / size:.0e}", fit))
    panels.append(("planted", M))
    figure = Figure(figsize=(3.3 * len(panels), 3.4), layout="constrained")
    limit = float(np.quantile(np.abs(M), 0.99)) or 1.0
    axes = figure.subplots(1, len(panels))
    for ax, (title, shown) in zip(axes, panels, strict=True):
        image = ax.imshow(shown[np.ix_(order, order)], cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
        ax.set_facecolor(UNSEEN)
        ax.set_title(title)
        ax.set_xticks([])
        ax.set_yticks([])
    axes[0].set_ylabel(f"{len(M)} rows, sorted by angle")
    figure.colorbar(image, ax=list(axes), shrink=0.8, aspect=30, pad=0.01)
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


def draw_comparison(comparison: Comparison) -> Figure:
    """Completion error and CPU time of each method: the paper's box plots, but horizontal, so that names can be read.

    Boxes reach from quartile to quartile, whiskers to the extremes, and every trial is a dot; methods are in the order
    of the summary, the best on top. Without a truth the relative residual takes the place of the error.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    lines = comparison.summary()
    if not lines:
        raise InputError("this comparison has no rows to draw; let at least one run end")
    known = any(row.error is not None for row in comparison.rows)
    panels = {
        "completion error" if known else "relative residual (no truth given)": "error" if known else "residual",
        "CPU time in seconds": "cpu_seconds",
    }
    figure = Figure(figsize=(10, 1.3 + 0.42 * len(lines)), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (title, name) in zip(axes, panels.items(), strict=True):
        trials = [[getattr(row, name) for row in comparison.rows if row.method == line["method"]] for line in lines]
        _draw_boxes(ax, [_drawable(values) for values in trials])
        ax.set_xlabel(title)
    verdicts = ["" if line["code"] in CONVERGED else f"\n({line['code']})" for line in lines]
    names = [line["method"] + verdict for line, verdict in zip(lines, verdicts, strict=True)]
    axes[0].set_yticks(range(len(lines)), names)
    axes[0].set_ylim(len(lines) - 0.5, -0.5)
    about = comparison.about
    noise = "" if about["sigma"] is None else f", noise {about['sigma']:g}"
    trials_ = f"{about['trials']} trial" + ("s" if about["trials"] > 1 else "")
    figure.suptitle(
        f"{about['size']}×{about['size']} matrix, rank {about['rank']}{noise}, {trials_}", fontsize="medium"
    )
    return figure


def _drawable(values: list[float | None]) -> NDArray[np.float64]:
    """What a logarithmic axis can show."""
    numbers = np.array([np.nan if value is None else value for value in values])
    return numbers[np.isfinite(numbers) & (numbers > 0)]


def _draw_boxes(ax: Any, trials: list[NDArray[np.float64]]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    for place, values in enumerate(trials):
        if values.size > 1:
            low, left, middle, right, high = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
            ax.plot([low, high], [place, place], color=TRIAL, linewidth=1, zorder=1)
            ax.barh(place, right - left, left=left, height=0.56, color=BOX, edgecolor=TRIAL, linewidth=1, zorder=2)
            ax.plot([middle, middle], [place - 0.28, place + 0.28], color=MEDIAN, linewidth=2.5, zorder=3)
        if values.size:
            # Beside each other rather than on top of each other, always in the same way.
            spread = np.linspace(-0.16, 0.16, values.size) if values.size > 1 else np.zeros(1)
            ax.plot(values, place + spread, "o", color=TRIAL, markersize=3 if values.size > 1 else 6, zorder=4)
    shown = np.concatenate(trials)
    if shown.size:
        low, high = float(shown.min()), float(shown.max())
        margin = max(1.5, np.sqrt(10 * low / high))  # a decade at least, so that noise in the last digit looks like it
        ax.set_xlim(low / margin, high * margin)
        ax.xaxis.set_minor_formatter(NullFormatter())
        if high * margin**2 < 100 * low:  # too few powers of ten to read values off
            ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.grid(axis="x", alpha=0.3)


def angular_order(U: NDArray[Any]) -> NDArray[np.intp]:
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
