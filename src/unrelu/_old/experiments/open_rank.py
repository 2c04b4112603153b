"""Two more open problems: a rank that is not known, and matrices that are not square."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from unrelu._old.base.arrays import Bools
from unrelu._old.complete import complete
from unrelu._old.complete_rectangular import complete_rectangular
from unrelu._old.data.planted import planted
from unrelu._old.experiments.base import Cell, Judgement, Picture, Row, Setting, Sizes, Table, Task, numbers
from unrelu._old.experiments.drawing import LOOKS, legend_below, panels
from unrelu._old.experiments.rules import always, generally, rate_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["core", "counting_limit", "judge", "ledger", "pictures", "says", "tables", "tasks", "trial"]

UNKNOWN, TABLE = "unknown rank", "rectangular"
# An exact completion has a smaller error than this.
RECOVERED = 1e-6
# Up to this share of the counting limit recovery is claimed.
UP_TO = 0.9
# With noise a trial takes a hundred times as long, and there are so many times fewer.
FEWER = 2


def counting_limit(m: int, n: int) -> float:
    """The rank at which the (m + n − r)r unknowns of an m×n matrix are as many as the mn/2 entries that are seen.

    Examples
    --------
    >>> r = counting_limit(300, 200)
    >>> round(r, 1), round((500 - r) * r)
    (69.7, 30000)
    """
    return (m + n - sqrt((m + n) ** 2 - 2 * m * n)) / 2


def core(seen: Bools, rank: int) -> tuple[Bools, Bools]:
    """Rows and columns that see at least ``rank`` of each other when all others are taken away, again and again.

    Of the others the seen entries say too little, whatever the method.

    Examples
    --------
    >>> seen = np.ones((3, 4), bool)
    >>> seen[0, 1:] = False
    >>> [kept.tolist() for kept in core(seen, 2)]
    [[False, True, True], [True, True, True, True]]
    """
    rows, cols = (np.ones(size, bool) for size in seen.shape)
    while True:
        few = rows & (np.count_nonzero(seen[:, cols], axis=1) < rank)
        less = cols & (np.count_nonzero(seen[rows], axis=0) < rank)
        if not (few.any() or less.any()):
            return rows, cols
        rows, cols = rows & ~few, cols & ~less


def tasks(sizes: Sizes) -> list[Task]:
    """One per size, rank, noise level and matrix."""
    seeds = [sizes["rng"] + k for k in range(sizes["trials"])]
    asked = sizes["unknown"]
    found: list[Task] = [
        {"part": UNKNOWN, "n": n, "r": r, "sigma": sigma, "seed": seed}
        for sigma in asked["sigmas"]
        for n in asked["ns"]
        for r in asked["ranks"]
        for seed in (seeds if sigma == 0 else seeds[: -(-len(seeds) // FEWER)])
    ]
    return found + [
        {"part": TABLE, "m": m, "n": n, "r": r, "seed": seed}
        for m, n, ranks in sizes["tables"]
        for r in ranks
        for seed in seeds
    ]


def trial(task: Task) -> Row:
    """The rank that is found, or the error of a table."""
    if task["part"] == UNKNOWN:
        made = planted(task["n"], task["r"], sigma=task["sigma"], symmetric_noise=True, rng=[task["seed"], 37])
        found = complete(np.where(made.matrix >= 0, made.matrix, np.nan), rng=task["seed"])
        return {"rank": found.rank, "code": found.verdict.code.value}
    m, n, r = task["m"], task["n"], task["r"]
    rng = np.random.default_rng([task["seed"], m, n, r])
    M = rng.standard_normal((m, r)) @ rng.standard_normal((n, r)).T
    X = np.where(M >= 0, M, np.nan)
    how: dict[str, Any] = {"loss": "observed", "method": "gauss-newton", "start": "tailored"}
    ours = complete_rectangular(X, r, rng=task["seed"])
    paper = complete_rectangular(X, r, rng=task["seed"], **how)
    rows, cols = core(M >= 0, r)
    part = np.ix_(rows, cols)
    size = float(np.linalg.norm(M[part]))
    return {
        "error": float(np.linalg.norm((ours.matrix() - M)[part])) / size,
        "tailored": float(np.linalg.norm((paper.matrix() - M)[part])) / size,
        "left out": int(np.count_nonzero(~rows) + np.count_nonzero(~cols)),
        "spare": int(np.count_nonzero(M >= 0)) - (m + n - r) * r,
        "code": ours.verdict.code.value,
    }


def ledger(sizes: Sizes) -> tuple[Setting, ...]:
    """What is asked of the library."""
    return (
        Setting("complete", "rank", "not told", "ours", "what is asked"),
        Setting("complete", "noise", "one per pair", "ours", "with two the true rank is seen more easily"),
        Setting(
            "rectangular", "tailored start", "loss F, Gauss–Newton", "ours", "the paper's start on the padded matrix"
        ),
    )


def _unknown(rows: Sequence[Row], sigma: float, n: int | None = None, r: int | None = None) -> list[Row]:
    own = [row for row in rows if row.get("part") == UNKNOWN and row["sigma"] == sigma]
    return [row for row in own if n in (None, row["n"]) and r in (None, row["r"])]


def _right(rows: Sequence[Row]) -> int:
    return sum(row.get("rank") == row["r"] for row in rows)


def _tables(rows: Sequence[Row], m: int, n: int, r: int) -> list[Row]:
    return [row for row in rows if row.get("part") == TABLE and (row["m"], row["n"], row["r"]) == (m, n, r)]


def _recovered(rows: Sequence[Row], name: str = "error") -> int:
    return sum(error < RECOVERED for error in numbers(rows, name))


def judge(sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
    """The rank without noise and with it, and tables up to nine tenths of the counting limit."""
    found = []
    for sigma in sizes["unknown"]["sigmas"]:
        own = _unknown(rows, sigma)
        right, told = _right(own), f"σ = {sigma:g}"
        measured = f"{right} of {len(own)} matrices"
        if sigma == 0:
            found.append(
                always("open/unknown-rank", right, len(own), measured, otherwise="another rank fits as well", case=told)
            )
        else:
            words = "the noise is taken for one more dimension, or hides one"
            found.append(generally("open/noisy-rank", right, len(own), measured, otherwise=words, case=told))
    shapes = [(m, n, r) for m, n, ranks in sizes["tables"] for r in ranks if r <= UP_TO * counting_limit(m, n)]
    within = [row for shape in shapes for row in _tables(rows, *shape)]
    good = _recovered(within)
    measured = f"{good} of {len(within)} tables with r up to {UP_TO:.0%} of the counting limit"
    return [*found, always("open/rectangular", good, len(within), measured, otherwise="an error above 1e-6")]


def tables(name: str, sizes: Sizes, rows: Sequence[Row]) -> list[Table]:
    """How often the rank is found, and how often a table is."""
    asked = sizes["unknown"]
    ranks: list[dict[str, Cell]] = [
        _rank_line(sigma, n, r, rows) for r in asked["ranks"] for n in asked["ns"] for sigma in asked["sigmas"]
    ]
    shapes = [(m, n, r) for m, n, every in sizes["tables"] for r in every]
    found = (
        Table.of(f"{name}-rank", "How often complete(X), without a rank, finds the planted one.", ranks),
        Table.of(
            f"{name}-rectangular",
            "Tables M = LRᵀ of which the entries ≥ 0 are seen: recovered by complete_rectangular, and by Gauss–Newton "
            "from the tailored start with the paper's loss. “of the limit” is the rank over the one at which there are "
            "as many unknowns as seen entries; “spare” the median of seen entries beyond the unknowns.",
            [_table_line(*shape, rows) for shape in shapes],
        ),
    )
    return [table for table in found if table.rows]


def _rank_line(sigma: float, n: int, r: int, rows: Sequence[Row]) -> dict[str, Cell]:
    own = _unknown(rows, sigma, n, r)
    low, high = rate_interval(_right(own), len(own))
    others = sorted({row["rank"] for row in own if row["rank"] != r})
    return {
        "r": r,
        "n": n,
        "σ": sigma,
        "found": f"{_right(own)} of {len(own)}",
        "rate": f"{low:.0%} to {high:.0%}",
        "else": ", ".join(map(str, others)),
    }


def _table_line(m: int, n: int, r: int, rows: Sequence[Row]) -> dict[str, Cell]:
    own = _tables(rows, m, n, r)
    low, high = rate_interval(_recovered(own), len(own))
    return {
        "table": f"{m}×{n}",
        "r": r,
        "of the limit": r / counting_limit(m, n),
        "spare": float(np.median(numbers(own, "spare"))) if own else None,
        "recovered": f"{_recovered(own)} of {len(own)}",
        "rate": f"{low:.0%} to {high:.0%}",
        "tailored start": f"{_recovered(own, 'tailored')} of {len(own)}",
    }


def pictures(name: str, sizes: Sizes, rows: Sequence[Row]) -> list[Picture]:
    """Recovery against the rank in units of the counting limit."""
    if not sizes["tables"]:
        return []
    caption = (
        "Rectangular matrices: share of tables recovered against the rank, in units of the counting limit, at which "
        "there are as many unknowns as seen entries. Bars are 95 % intervals."
    )
    return [Picture(f"{name}-rectangular", caption, lambda narrow: _draw(sizes, rows, narrow))]


def _draw(sizes: Sizes, rows: Sequence[Row], narrow: bool) -> Figure:
    drawn, axes = panels(1, 1, narrow=narrow, height=2.8, extra=0.9 if narrow else 0.5)
    ax = axes[0, 0]
    ways = [(m, n, ranks, what) for m, n, ranks in sizes["tables"] for what in ("error", "tailored")]
    for look, (m, n, ranks, what) in zip(LOOKS, ways, strict=False):
        groups = [_tables(rows, m, n, r) for r in ranks]
        shares = np.array([_recovered(own, what) / max(len(own), 1) for own in groups])
        ends = np.array([rate_interval(_recovered(own, what), len(own)) for own in groups])
        bars = np.maximum([shares - ends[:, 0], ends[:, 1] - shares], 0)
        x = np.array(ranks) / counting_limit(m, n)
        label = f"{m}×{n}, {'default' if what == 'error' else 'tailored start'}"
        ax.errorbar(x, shares, yerr=bars, label=label, capsize=2, elinewidth=0.8, **look.line())
    ax.axvline(1, color="black", linewidth=0.8)
    ax.set(xlabel="rank over the counting limit", ylabel="share recovered", ylim=(-0.03, 1.03))
    ax.grid(alpha=0.3)
    legend_below(drawn, ax, 2)
    return drawn


def _all(rows: Sequence[Row]) -> bool:
    return bool(rows) and _recovered(rows) == len(rows)


def says(sizes: Sizes, rows: Sequence[Row]) -> list[str]:
    """Up to which rank all tables were recovered."""
    parts = []
    for m, n, ranks in sizes["tables"]:
        whole = list(takewhile(lambda r: _all(_tables(rows, m, n, r)), ranks))  # noqa: B023
        if whole:
            parts.append(f"{m}×{n}: all up to r = {max(whole)}, {max(whole) / counting_limit(m, n):.0%} of the limit")
    own = [row for row in rows if row.get("part") == TABLE]
    enough, short = ([row for row in own if (row["spare"] >= 0) is more] for more in (True, False))
    counts = (
        f"Of {len(enough)} tables with at least as many seen entries as unknowns {_recovered(enough)} are recovered, "
        f"of {len(short)} with fewer {_recovered(short)}."
    )
    return [f"Rectangular matrices. {'; '.join(parts)}. {counts}"] if parts else []
