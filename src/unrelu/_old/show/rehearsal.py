"""Pictures of a rehearsal: what was forecast against what was hidden on purpose, and how well every model did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unrelu._old.auto.rehearsed import Rehearsal, Trial
from unrelu._old.auto.table_choice import TableRehearsal

__all__ = ["plot_rehearsal", "plot_tried"]

# One colour per raised threshold, and one per way to take the diagonal; told apart in print too.
LEVELS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")
DIAGONALS = {"data": "o", "limit": "s", "unknown": "^"}
RANKS, PENALTIES = "#d55e00", "#0072b2"
# Models that are this many times as far below no structure as the best is above it are left out of the picture.
DEEPEST = 2.0
# What is taken for the best where it gains next to nothing.
LEAST_SHOWN = 0.05
# Letters of the name of a model that are drawn.
LONGEST = 60


def plot_rehearsal(rehearsal: Rehearsal, axes: Sequence[Any]) -> None:
    """Draw a rehearsal into two axes.

    Into the first, what the chosen model forecast against what was hidden on purpose, level by level. Into the second,
    the curve: what every model gained over no structure, against its trace penalty, and against its rank on top.

    Parameters
    ----------
    rehearsal : Rehearsal
    axes : two matplotlib axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from unrelu._old.auto.no_structure import NoStructure
    >>> from unrelu._old.auto.rehearsed import RehearsedLevel
    >>> trials = tuple(Trial(rank, 0.0, "data", (gain,), (0.1,)) for rank, gain in ((1, 0.1), (2, 0.4), (3, 0.3)))
    >>> level = RehearsedLevel(0.25, 0.5, (0.2, 0.4), (0.25, 0.45))
    >>> shown = Rehearsal(trials, 1, (level,), 0.1, 0.1, 1.0, 0.4, NoStructure(0.0, 1.0), "below", True)
    >>> both = Figure().subplots(1, 2)
    >>> plot_rehearsal(shown, both)
    >>> both[1].lines[0].get_xydata().tolist()
    [[1.0, 0.1], [2.0, 0.4], [3.0, 0.3]]
    """
    _draw_forecasts(rehearsal, axes[0])
    _draw_curve(rehearsal, axes[1])


def _draw_forecasts(rehearsal: Rehearsal, ax: Any) -> None:
    ends = [np.inf, -np.inf]
    for colour, level in zip(LEVELS, rehearsal.levels, strict=False):
        how = f"{level.share:.0%} hidden" + ("" if level.limit is None else f" below {level.limit:.3g}")
        how = how.replace("below", "above") if rehearsal.side == "above" else how
        ax.plot(level.hidden, level.forecast, ".", color=colour, alpha=0.5, markersize=4, label=how)
        both = [*level.hidden, *level.forecast]
        ends = [min([ends[0], *both]), max([ends[1], *both])]
    if ends[0] <= ends[1]:
        ax.plot(ends, ends, "-", color="black", linewidth=0.8, label="forecast = hidden")
        ax.legend(fontsize="small")
    ax.set_xlabel("hidden on purpose")
    ax.set_ylabel("forecast")
    trusted = "" if rehearsal.extrapolates else "; not better than simple filling"
    ax.set_title(f"rehearsal: error {rehearsal.sigma:.3g}{trusted}")


def _draw_curve(rehearsal: Rehearsal, ax: Any) -> None:
    families = {True: [], False: []}  # type: dict[bool, list[Trial]]
    for trial in rehearsal.trials:
        families[bool(trial.shrinkage)].append(trial)
    shrunk, plain = families[True], families[False]
    if shrunk:
        _draw_family(ax, shrunk, [trial.shrinkage for trial in shrunk], PENALTIES, "penalty")
        ax.set_xscale("log")
        ax.set_xlabel("trace penalty")
    if plain:
        across = ax.twiny() if shrunk else ax
        _draw_family(across, plain, [float(trial.rank) for trial in plain], RANKS, "rank")
        across.set_xlabel("rank", color=RANKS if shrunk else "black")
    best = rehearsal.best
    there = across if plain and not best.shrinkage else ax
    place = best.shrinkage if best.shrinkage else float(best.rank)
    there.plot([place], [best.gain], "*", color="black", markersize=12, label="forecasts best")
    ax.axhline(0.0, color="black", linewidth=0.8, linestyle="--", label="one distribution for all entries")
    ax.set_ylabel("log-likelihood per pair\nabove no structure, all levels")
    gains = np.array([trial.gain for trial in rehearsal.trials])
    gains = gains[np.isfinite(gains)]
    reach = max(float(np.abs(best.gain)), LEAST_SHOWN)
    ax.set_ylim(
        max(float(gains.min(initial=0.0)), -DEEPEST * reach) - 0.1 * reach, float(gains.max(initial=0.0)) + 0.2 * reach
    )
    drawn = {
        label: handle for one in {ax, there} for handle, label in zip(*one.get_legend_handles_labels(), strict=True)
    }
    drawn |= {} if not (shrunk and plain) else dict(zip(*reversed(across.get_legend_handles_labels()), strict=True))
    ax.legend(list(drawn.values()), list(drawn), fontsize="small")


def _draw_family(ax: Any, trials: Sequence[Trial], places: Sequence[float], colour: str, what: str) -> None:
    """Models of one kind, those with the diagonal taken alike in one line."""
    for diagonal, marker in DIAGONALS.items():
        points = sorted((x, trial.gain) for x, trial in zip(places, trials, strict=True) if trial.diagonal == diagonal)
        if points:
            how = what if diagonal == "data" else f"{what}, diagonal as {diagonal}"
            ax.plot(*zip(*points, strict=True), f"{marker}-", color=colour, markersize=4, linewidth=1, label=how)


def plot_tried(rehearsal: TableRehearsal, ax: Any) -> None:
    """Draw what every model of a table gained over each column by itself, the one that was taken in full colour.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from unrelu._old.auto.table_choice import Tried
    >>> tried = Tried("each column by itself", None, 0.0), Tried("rank 2", 2, 0.5)
    >>> ax = Figure().subplots()
    >>> plot_tried(TableRehearsal((0.2,), 50, tried, "rank 2", 25.0), ax)
    >>> [float(bar.get_width()) for bar in ax.patches]
    [0.0, 0.5]
    """
    scores = [one.score if np.isfinite(one.score) else np.nan for one in rehearsal.tried]
    colours = [PENALTIES if one.name == rehearsal.chosen else "#bbbbbb" for one in rehearsal.tried]
    ax.barh(range(len(scores)), scores, color=colours)
    reach = max(np.nanmax(scores, initial=0.0), LEAST_SHOWN)
    ax.set_xlim(-DEEPEST * reach, 1.1 * reach)
    names = [one.name if len(one.name) <= LONGEST else f"{one.name[: LONGEST - 1]}…" for one in rehearsal.tried]
    names = [f"{name} ({one.score:+.2g})" for name, one in zip(names, rehearsal.tried, strict=True)]
    # Inside, where bars to the left are few: names beside the axes would leave no room for the pictures above.
    ax.set_yticks(range(len(names)), names, fontsize="small", parse_math=False, horizontalalignment="left")
    ax.tick_params(axis="y", length=0, pad=-8)
    ax.invert_yaxis()
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.set_xlabel("log score per cell above each column by itself")
    ax.set_title(f"rehearsal: {rehearsal.cells} cells hidden on purpose or beyond their limits")
