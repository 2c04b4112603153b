"""Tables and figure of ``figure-rank``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unrelu._old.experiments.base import Cell, Row, Sizes, Table, numbers
from unrelu._old.experiments.drawing import LOOKS, Look, legend_below, panels, quartile_line
from unrelu._old.experiments.rank_verdicts import SOLVERS, Reading, counting_limit, is_recovered, readings
from unrelu._old.experiments.rules import rate_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_rank", "iterations_table", "rates_table", "recovery_table"]


def _scaled(sizes: Sizes) -> list[Reading]:
    return [reading for reading in readings(sizes) if reading.start == "scaled"]


def _of(rows: Sequence[Row], method: str, n: int) -> list[Row]:
    return [r for r in rows if r["method"] == method and r["n"] == n]


def _ranks(rows: Sequence[Row], n: int) -> list[int]:
    return sorted({r["r"] for r in rows if r["n"] == n})


def _cases(sizes: Sizes, rows: Sequence[Row]) -> list[tuple[int, int]]:
    return [(n, rank) for n in sizes["ns"] for rank in _ranks(rows, n)]


def _limit(rows: Sequence[Row], n: int) -> float:
    """The mean of the matrices' counting limits."""
    return float(np.mean([counting_limit(n, r["pairs"]) for r in rows if r["n"] == n]))


def _groups(sizes: Sizes, rows: Sequence[Row]) -> dict[str, list[bool]]:
    """Whether each matrix was recovered, by what recovered it."""
    found = {f"GD, {reading.name}": [reading.recovers(r) for r in reading.of(rows)] for reading in readings(sizes)}
    solved = {label: [r for r in rows if r["method"] == method] for method, label in SOLVERS.items()}
    return {**found, **{label: [is_recovered(r) for r in runs] for label, runs in solved.items()}}


def _count(good: Sequence[bool]) -> Cell:
    return f"{sum(good)}/{len(good)}" if good else "–"


def recovery_table(name: str, sizes: Sizes, rows: Sequence[Row]) -> Table:
    """How many matrices each method recovered, a line for each size and rank."""
    lines: list[dict[str, Cell]] = []
    for n, rank in _cases(sizes, rows):
        here = [r for r in rows if (r["n"], r["r"]) == (n, rank)]
        good = _groups(sizes, here)
        line: dict[str, Cell] = {"n": n, "rank": rank}
        line |= {_short(reading): _count(good[f"GD, {reading.name}"]) for reading in _scaled(sizes)}
        lines.append({**line, **{label: _count(good[label]) for label in SOLVERS.values()}})
    return Table.of(name, "Matrices recovered, of those tried; for GD by step and cap.", lines)


def rates_table(name: str, sizes: Sizes, rows: Sequence[Row]) -> Table:
    """The rate of recovery with its interval, wherever some matrices were recovered and others not."""
    lines: list[dict[str, Cell]] = []
    totals: set[int] = set()
    for n, rank in _cases(sizes, rows):
        here = [r for r in rows if (r["n"], r["r"]) == (n, rank)]
        for label, good in _groups(sizes, here).items():
            totals |= {len(good)} - {0}
            if 0 < sum(good) < len(good):
                low, high = rate_interval(sum(good), len(good))
                about: dict[str, Cell] = {"n": n, "rank": rank, "method": label, "recovered": _count(good)}
                lines.append({**about, "interval": f"{low:.0%} to {high:.0%}"})
    ends = ", ".join(
        f"{rate_interval(total, total)[0]:.0%} for {total}/{total}" for total in sorted(totals, reverse=True)
    )
    caption = (
        "The rate of recovery with its 95 % interval (Clopper and Pearson), wherever some matrices were recovered and "
        f"others not. Where all were, the interval reaches from 100 % down to {ends or 'nothing'}; where none was, as "
        "far up from 0 %."
    )
    nothing: list[dict[str, Cell]] = [{"n": "–", "rank": "–", "method": "–", "recovered": "–", "interval": "–"}]
    return Table.of(name, caption, lines or nothing)


def _short(reading: Reading) -> str:
    return f"GD {reading.step:g}, {_thousands(reading.cap)}"


def _thousands(count: int) -> str:
    return f"{count // 1000}k" if count % 1000 == 0 else str(count)


def iterations_table(name: str, sizes: Sizes, rows: Sequence[Row]) -> Table:
    """Median iterations to recovery, over all matrices of a size and rank."""
    top = max(sizes["caps"])
    lines: list[dict[str, Cell]] = []
    for n, rank in _cases(sizes, rows):
        here = [r for r in rows if (r["n"], r["r"]) == (n, rank)]
        line: dict[str, Cell] = {"n": n, "rank": rank, "of the limit": round(rank / _limit(here, n), 3)}
        for step in sizes["steps"]:
            line[f"GD {step:g}"] = _median(Reading("scaled", step, top).of(here), top)
        line |= {SOLVERS[method]: _median(_of(here, method, n), None) for method in SOLVERS}
        lines.append(line)
    caption = (
        "Median number of iterations to recovery, and the rank as a share of the mean counting limit. Where half of "
        "the matrices or more were not recovered there is none. The default often needs no iterations at low ranks: it "
        "solves without them."
    )
    return Table.of(name, caption, lines)


def _median(runs: Sequence[Row], cap: int | None) -> Cell:
    """The median iteration of recovery, those not recovered counted as later than all others."""
    counts = sorted(_iterations(r, cap) for r in runs)
    middle = float(np.median(counts)) if counts else np.inf
    return "–" if not runs else round(middle) if np.isfinite(middle) else f"> {cap}" if cap else "none"


def _iterations(row: Row, cap: int | None) -> float:
    """When a run had recovered its matrix; gradient descent is watched on its way, the others count to their end."""
    if not is_recovered(row):
        return float("inf")
    return float(row["iterations"] if cap is None else row["recovered_at"])


def draw_rank(sizes: Sizes, rows: Sequence[Row], narrow: bool) -> Figure:
    """Errors above, iterations below, a column for each size."""
    ns = sizes["ns"]
    drawn, axes = panels(
        2, len(ns), narrow=narrow, height=2.5, extra=0.9, sharex=False, sharey="row" if not narrow else False
    )
    looks = _looks(sizes)
    for column, n in enumerate(ns):
        above, below = axes[0, column], axes[1, column]
        _errors(above, sizes, rows, n, looks)
        _counts(below, sizes, rows, n, looks)
        for ax in (above, below):
            ax.axvline(_limit(rows, n), color="black", linestyle=":", linewidth=1.3, label="counting limit")
            ax.set_yscale("log")
            ax.set_xlim(0, 1.03 * max(_ranks(rows, n)))
            ax.set_title(f"n = {n}", fontsize="medium")
            ax.set_xlabel("rank r")
            ax.grid(alpha=0.3)
        if narrow or column == 0:
            above.set_ylabel("completion error")
            below.set_ylabel("iterations to recovery")
    legend_below(drawn, axes[0, 0], 3)
    return drawn


def _looks(sizes: Sizes) -> dict[str, Look]:
    """One colour for a step; the lower cap dashed."""
    found = {}
    for place, step in enumerate(sizes["steps"]):
        for cap in sizes["caps"]:
            low = cap < max(sizes["caps"])
            found[_label(step, cap)] = replace(LOOKS[place], linestyle="--" if low else "-", marker="os"[place % 2])
    for look, label in zip((LOOKS[2], LOOKS[3]), SOLVERS.values(), strict=True):
        found[label] = look
    return found


def _label(step: float, cap: int) -> str:
    return f"GD, step {step:g}, {cap:,}"


def _errors(ax: Any, sizes: Sizes, rows: Sequence[Row], n: int, looks: dict[str, Look]) -> None:
    for reading in _scaled(sizes):
        label = _label(reading.step, reading.cap)
        _line(ax, reading.of(rows, n), f"error_{reading.cap}", looks[label], label)
    for method, label in SOLVERS.items():
        _line(ax, _of(rows, method, n), "error", looks[label], label)


def _line(ax: Any, runs: Sequence[Row], name: str, look: Look, label: str) -> None:
    ranks = sorted({r["r"] for r in runs})
    quartile_line(ax, ranks, [numbers([r for r in runs if r["r"] == rank], name) for rank in ranks], look, label)


def _counts(ax: Any, sizes: Sizes, rows: Sequence[Row], n: int, looks: dict[str, Look]) -> None:
    """Iterations to recovery; an arrow at the cap where the median matrix was not recovered by then."""
    top = max(sizes["caps"])
    lines = [(_label(step, top), Reading("scaled", step, top).of(rows, n), top) for step in sizes["steps"]]
    lines += [(label, _of(rows, method, n), None) for method, label in SOLVERS.items()]
    for label, runs, cap in lines:
        places: list[float] = []
        middles: list[float] = []
        for rank in sorted({r["r"] for r in runs}):
            middle = float(np.median([_iterations(r, cap) for r in runs if r["r"] == rank]))
            if np.isfinite(middle):
                places.append(rank)
                middles.append(max(1.0, middle))
            elif cap is not None:
                ax.plot([rank], [cap], marker=(3, 0, 0), color=looks[label].color, markersize=7, linestyle="none")
        ax.plot(places, middles, linewidth=1.4, **looks[label].line())
    for cap in sizes["caps"]:
        ax.axhline(cap, color="#777777", linewidth=0.9, linestyle=(0, (1, 2)))
