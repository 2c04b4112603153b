"""The first open problem: how much hangs on the start fitting the sampling. A matrix of recovery rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unrelu._old.base.arrays import Array, Bools
from unrelu._old.base.errors import InputError
from unrelu._old.complete import complete
from unrelu._old.data.observations import Observations
from unrelu._old.data.planted import Planted
from unrelu._old.data.terms import Terms
from unrelu._old.experiments.base import Cell, Judgement, Picture, Row, Setting, Sizes, Table, Task
from unrelu._old.experiments.drawing import SMALLEST, panels
from unrelu._old.experiments.rules import always, rate_interval
from unrelu._old.experiments.solve import STEP, descend, instance, off
from unrelu._old.starts import STARTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SAMPLINGS", "core", "judge", "ledger", "pictures", "sampled", "says", "tables", "tasks", "trial"]

PART = "sampling"
# By the name in tables and figures: what is seen, in words.
SAMPLINGS = {
    "ReLU": "entries ≥ 0",
    "above": "entries above their 65 % quantile",
    "below": "entries below their median",
    "between": "entries between their quartiles",
    "outside": "entries outside of their quartiles",
    "mixed": "a quarter lies below a threshold, a third of the others is missing by chance",
    "random": "half of the entries, by chance",
}
TAILORED, TOLD, AUTO = "tailored", "tailored, told", "auto"
BEGINNINGS = (TAILORED, TOLD, "random-imputation", "random-spectral", "rank-increasing", "clique", AUTO)
# How they are called where there is little room.
SHORT = {"random-imputation": "RI", "random-spectral": "RS", "rank-increasing": "rank by rank"}
NEWTON, DESCENT = "Gauss–Newton", "GD"
# A matrix is recovered if the error on its core is below this.
RECOVERED = 1e-3
# Gradient descent is run with the inferred step, and if that fails with a fifth of it: at other samplings than the
# paper's ‖M_Ω‖₂ says little of the curvature, and what failed would be the step.
STEPS = (STEP, STEP / 5)
MOST_DESCENT, GRADIENT, MOST_NEWTON = 3000, 1e-6, 150


def tasks(sizes: Sizes) -> list[Task]:
    """One per sampling, start and matrix."""
    return [
        {"part": PART, "n": sizes["n"], "r": sizes["r"], "sampling": sampling, "start": start, "seed": sizes["rng"] + k}
        for sampling in sizes["samplings"]
        for start in BEGINNINGS
        for k in range(sizes["trials"])
    ]


def sampled(M: Array, sampling: str, seed: int) -> tuple[Bools, dict[str, Any]]:
    """Which entries are seen, and what a caller may say of the others.

    Examples
    --------
    >>> seen, said = sampled(np.arange(9.0).reshape(3, 3), "below", 0)
    >>> int(seen.sum()), said
    (5, {'threshold': 4.0, 'seen': 'below'})
    """
    low, middle, high, upper = (float(q) for q in np.quantile(M, [0.25, 0.5, 0.65, 0.75]))
    drawn = np.random.default_rng([seed, 29]).random(M.shape)
    chance = np.triu(drawn) + np.triu(drawn, 1).T
    gaps = (chance < 1 / 3) & (low <= M)
    ways: dict[str, tuple[Bools, dict[str, Any]]] = {
        "ReLU": (M >= 0, {"threshold": 0.0}),
        "above": (high <= M, {"threshold": high}),
        "below": (middle >= M, {"threshold": middle, "seen": "below"}),
        "between": ((low <= M) & (upper >= M), {"threshold": (low, upper), "seen": "between"}),
        "outside": ((low >= M) | (upper <= M), {"threshold": (low, upper), "seen": "outside"}),
        "mixed": ((low <= M) & ~gaps, {"threshold": low, "unknown": gaps}),
        "random": (chance >= 0.5, {"threshold": None}),
    }
    return ways[sampling]


def core(seen: Bools, rank: int) -> Bools:
    """The rows that see at least ``rank`` rows of those that are left when all others are taken away, again and again.

    Of the others the seen entries say too little, whatever the method.

    Examples
    --------
    >>> seen = np.ones((4, 4), bool)
    >>> seen[0, 1:] = seen[1:, 0] = False
    >>> core(seen, 2).tolist()
    [False, True, True, True]
    """
    kept = np.ones(len(seen), bool)
    while (few := kept & (np.count_nonzero(seen[:, kept], axis=1) < rank)).any():
        kept &= ~few
    return kept


def trial(task: Task) -> Row:
    """One start, from which Gauss–Newton and gradient descent minimise the paper's loss."""
    made, r = instance(task), task["r"]
    seen, said = sampled(made.matrix, task["sampling"], task["seed"])
    X = np.where(seen, made.matrix, np.nan)
    rows = core(seen, r)
    none: Row = {"core": int(rows.sum()), NEWTON: None, DESCENT: None, "error": None, "GD error": None, "cut off": None}
    if task["start"] == AUTO:
        found = complete(X, r, loss="observed", rng=task["seed"], **said)
        error = _off(found.factor, made, rows)
        return {**none, NEWTON: error < RECOVERED, "error": error}
    try:
        start = _start(task, X, said)
    except InputError:  # a matrix without a fully seen block has no clique to begin with
        return none
    how: dict[str, Any] = {"threshold": None, "loss": "observed", "method": "gauss-newton", "max_iter": MOST_NEWTON}
    error = _off(complete(X, r, start=start, **how).factor, made, rows)
    bare = Observations.of(X, threshold=None)
    for step in STEPS:
        run = descend(bare, start, step=step, gradient=GRADIENT, most=MOST_DESCENT)
        other = _off(run.factor, made, rows)
        if other < RECOVERED:
            break
    done = {NEWTON: error < RECOVERED, DESCENT: other < RECOVERED, "error": error, "GD error": other}
    return {**none, **done, "cut off": bool(run.gradient[-1] > GRADIENT)}


def _start(task: Task, X: Array, said: Mapping[str, Any]) -> Array:
    """The factor to begin with; the tailored one as if the sampling were ReLU, or told what it is."""
    kind = TAILORED if task["start"] == TOLD else task["start"]
    terms = Terms(threshold=None)
    if task["start"] == TOLD:
        terms = Terms(**said)
    elif kind == TAILORED:
        # Said of the unseen entries alone, for many a seen one contradicts it.
        terms = Terms(threshold=np.where(np.isnan(X), 0.0, -np.inf))
    return STARTS[kind]()(Observations.of(X, terms), task["r"], np.random.default_rng([task["seed"], 5]))


def _off(factor: Array, made: Planted, rows: Bools) -> float:
    error = off(factor[rows], made.factor[rows]) if rows.any() else float("inf")
    return error if np.isfinite(error) else float("inf")


def ledger(sizes: Sizes) -> tuple[Setting, ...]:
    """How the two methods run, from which starts."""
    both = "the same starts and loss for both methods"
    return (
        Setting(
            DESCENT, "step", ", then ".join(f"{step:g}/‖M_Ω‖₂" for step in STEPS), "ours", "the first that succeeds"
        ),
        Setting(DESCENT, "cap", str(MOST_DESCENT), "ours", "enough where it succeeds"),
        Setting(DESCENT, "stop", f"‖∇F‖ ≤ {GRADIENT:g}", "ours", "twice Table 1's; enough where it succeeds"),
        Setting(NEWTON, "cap", str(MOST_NEWTON), "ours", "it ends long before"),
        Setting("both", "loss", "F, of seen entries", "printed"),
        Setting(
            "both", "start", "columns scaled by √eigenvalue", "ours", f"reaches the planted matrix more often; {both}"
        ),
        Setting("all", "sampling", f"{len(sizes['samplings'])} ways, about half seen", "ours", "the paper names none"),
    )


def _own(rows: Sequence[Row], sampling: str, start: str) -> list[Row]:
    return [row for row in rows if (row.get("part"), row.get("sampling"), row.get("start")) == (PART, sampling, start)]


def _rate(own: Sequence[Row], name: str) -> tuple[int, int]:
    """How many were recovered, of those that could be run."""
    known = [row[name] for row in own if isinstance(row.get(name), bool)]
    return sum(known), len(known)


def judge(sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
    """Whether the default goes with every sampling."""
    own = [row for row in rows if row.get("part") == PART and row.get("start") == AUTO]
    good = sum(row.get(NEWTON) is True for row in own)
    return [
        always(
            "open/any-sampling",
            good,
            len(own),
            f"{good} of {len(own)} matrices, {len(sizes['samplings'])} ways of sampling",
            otherwise="with the paper's loss no start that it tries leads to the planted matrix",
            rests=("sampling",),
        )
    ]


def tables(name: str, sizes: Sizes, rows: Sequence[Row]) -> list[Table]:
    """Every cell with its interval."""
    lines: list[dict[str, Cell]] = []
    for sampling in sizes["samplings"]:
        for start in BEGINNINGS:
            own = _own(rows, sampling, start)
            line: dict[str, Cell] = {"sampling": sampling, "start": start}
            for method in (NEWTON, DESCENT):
                good, total = _rate(own, method)
                low, high = rate_interval(good, total)
                line[method] = f"{good} of {total}" if total else None
                line[f"{method} rate"] = f"{low:.0%} to {high:.0%}" if total else None
            lines.append(line)
    words = "; ".join(f"{short}: {SAMPLINGS[short]}" for short in sizes["samplings"])
    caption = f"Recovered with the paper's loss, by sampling and start, n = {sizes['n']}, r = {sizes['r']}. {words}."
    return [Table.of(f"{name}-sampling", caption, lines)] if lines else []


def pictures(name: str, sizes: Sizes, rows: Sequence[Row]) -> list[Picture]:
    """The same as two heat maps."""
    if not sizes["samplings"]:
        return []
    caption = (
        f"How many of {sizes['trials']} matrices are recovered with the paper's loss from each start (rows) under each "
        "sampling (columns), by Gauss–Newton and by gradient descent; a dash where there is no such start. “tailored” "
        "fills unseen entries with −|q| as if the sampling were ReLU, “tailored, told” is told where they lie."
    )
    return [Picture(f"{name}-sampling", caption, lambda narrow: _draw(sizes, rows, narrow))]


def _draw(sizes: Sizes, rows: Sequence[Row], narrow: bool) -> Figure:
    drawn, axes = panels(1, 2, narrow=narrow, height=3.3, extra=0.3)
    ways = sizes["samplings"]
    for ax, method in zip(axes[0], (NEWTON, DESCENT), strict=True):
        counts = [[_rate(_own(rows, way, start), method) for way in ways] for start in BEGINNINGS]
        shares = np.array([[good / total if total else np.nan for good, total in line] for line in counts])
        ax.imshow(np.ma.masked_invalid(shares), cmap="cividis", vmin=0, vmax=1, aspect="auto")
        for i, line in enumerate(counts):
            for j, (good, total) in enumerate(line):
                dark = total and good < 0.55 * total
                told = str(good) if total else "–"
                ax.text(j, i, told, ha="center", va="center", fontsize=SMALLEST, color="white" if dark else "black")
        ax.set_xticks(range(len(ways)), ways, rotation=90, fontsize=SMALLEST)
        first = narrow or ax is axes[0][0]
        names = [SHORT.get(start, start) if narrow else start for start in BEGINNINGS]
        ax.set_yticks(range(len(names)), names if first else [], fontsize=SMALLEST)
        ax.set_title(f"{method}: of {sizes['trials']}", fontsize="medium")
        ax.tick_params(length=0)
    return drawn


def says(sizes: Sizes, rows: Sequence[Row]) -> list[str]:
    """Which starts hang on the sampling."""
    found = []
    for start in BEGINNINGS:
        rates = {way: _rate(_own(rows, way, start), NEWTON) for way in sizes["samplings"]}
        run = {way: (good, total) for way, (good, total) in rates.items() if total}
        always_there = [way for way, (good, total) in run.items() if good == total]
        never = [way for way, (good, _) in run.items() if good == 0]
        if run:
            words = f"every matrix under {_and(always_there)}" if always_there else "under no sampling every matrix"
            found.append(f"{start}: {words}" + (f", none under {_and(never)}" if never else ""))
    if not found:
        return []
    return [f"Start and sampling, with the paper's loss and Gauss–Newton. {'; '.join(found)}."]


def _and(names: Sequence[str]) -> str:
    quoted = [f"“{name}”" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
