"""``figure-threshold``: how strong convexity fades and ends as the threshold rises, and how much is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unrelu._old.data.planted import FAMILIES
from unrelu._old.experiments.base import (
    Cell,
    Experiment,
    Judgement,
    Picture,
    Result,
    Row,
    Setting,
    Sizes,
    Table,
    Task,
    numbers,
)
from unrelu._old.experiments.drawing import LOOKS, legend_below, panels
from unrelu._old.experiments.rules import across, always, generally
from unrelu._old.experiments.solve import instance, value_of
from unrelu._old.theory.geometry import curvature
from unrelu._old.theory.partition import sector_partition
from unrelu._old.theory.thresholds import convexity_limit, threshold_limits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureThreshold"]

# A share of the entries is constant if it changes by no more than this factor while n grows eightfold.
CONSTANT = 1.2
# Above this quantile of a matrix whose entries are as often negative as positive a threshold is positive.
HALF = 0.5
# A threshold that does not grow with the entries.
FIXED = 1.0
UNTOLD = "in the others γ is too small there to be told from zero"
OTHERWISE = "some row sees fewer than r entries, and can be moved"


class FigureThreshold(Experiment):
    """γ against the threshold, where it becomes zero for each factor, and the share of entries that are seen.

    Examples
    --------
    >>> from unrelu._old.experiments import figure_threshold
    >>> result = figure_threshold(
    ...     trials=2, rng=0, ns=[60], large=[], ranks=[3], quantiles=[0.5, 0.9], families=["gaussian"], share_ranks=[3]
    ... )
    >>> result.tables[0].rows  # rank, quantile, the median of γ/n and of how many factors γ > 0
    ((3, 0.5, '0.218 (2 of 2)'), (3, 0.9, '0.000 (0 of 2)'))
    """

    name = "figure-threshold"
    title = "Positive thresholds: where strong convexity ends"
    where = "Sections 1.1 and 3.2"
    full: ClassVar[Sizes] = {
        "trials": 40,
        "ns": [100, 200, 400, 800],
        "large": [1600],  # for the end alone
        "ranks": [2, 5, 10],
        "quantiles": [0.0, 0.3, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9],
        "families": ["gaussian", "student-t", "uniform", "sphere", "log-normal", "sparse"],
        "share_ns": [200, 400, 800, 1600],
        "share_ranks": [2, 5, 20, 50],
        "shares": [0.0, 0.25, 0.5, 1.0],  # thresholds in units of the rms entry
    }
    quick: ClassVar[Sizes] = {
        "trials": 3,
        "ns": [100, 200],
        "large": [],
        "share_ns": [100, 200, 400],
        "share_ranks": [2, 20],
        "families": ["gaussian", "log-normal"],
    }

    def setting(self, sizes: Sizes) -> str:
        """Sizes of this run."""
        ns = ", ".join(map(str, [*sizes["ns"], *sizes["large"]]))
        return (
            f"noiseless Gaussian factors, n = {ns}, r = {', '.join(map(str, sizes['ranks']))}; {sizes['trials']} each; "
            f"shares of {len(sizes['families'])} kinds of factors"
        )

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """Thresholds are ours: the paper says only that they are positive."""
        above = ", ".join(f"{100 * q:g}" for q in _positive(sizes))
        return (
            Setting("sampling", "threshold", f"{above} % quantile", "ours", "“a positive threshold”, without its size"),
            Setting("sampling", "unit", f"{', '.join(f'{t:g}' for t in sizes['shares'])} rms", "ours", "as above"),
            Setting(
                "shares", "constant", f"within {CONSTANT:g} times", "ours", "“a constant fraction”, without a bound"
            ),
        )

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per size, rank and factor; and one per kind of factor for the shares."""
        seeds = [sizes["rng"] + trial for trial in range(sizes["trials"])]
        shared = {"ns": sizes["share_ns"], "etas": sizes["shares"]}
        return [
            *(
                {
                    "of": "gamma",
                    "n": n,
                    "r": r,
                    "quantiles": sizes["quantiles"] if n in sizes["ns"] else [],
                    "seed": seed,
                }
                for r in sizes["ranks"]
                for n in [*sizes["ns"], *sizes["large"]]
                for seed in seeds
            ),
            *(
                {"of": "share", "family": family, "r": r, **shared, "seed": seed}
                for family in sizes["families"]
                for r in sizes["share_ranks"]
                for seed in seeds[: max(3, len(seeds) // 2)]
            ),
        ]

    def cost(self, task: Task) -> float:
        """Seconds, roughly: grows with the square of n."""
        if task["of"] == "share":
            return 0.1 * (max(task["ns"]) / 1600) ** 2
        return (0.05 + 0.06 * len(task["quantiles"]) * task["r"] / 10) * (task["n"] / 800) ** 1.5

    def trial(self, task: Task) -> Row:
        """One factor."""
        return _shares(task) if task["of"] == "share" else _curvatures(task)

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
        """Whether γ is positive above zero, up to the Example's threshold, and whether shares are constant."""
        own = [row for row in rows if row.get("of") == "gamma"]
        found = [_convex(sizes, own, r) for r in sizes["ranks"]]
        within = [row for row in own if row.get("within") is not None]
        good = sum(row["within"] is True for row in within)
        found.append(always("threshold/within", good, len(within), otherwise="γ is zero although Assumption 3 holds"))
        ends = [row for row in own if row.get("by_rows") is not None]
        ended = sum(row["by_rows"] is True for row in ends)
        why = UNTOLD if ended < len(ends) else ""
        found.append(generally("threshold/rows", ended, len(ends), otherwise="it ends before that", why=why))
        shares = [row for row in rows if row.get("of") == "share"]
        gaussian = [row for row in shares if row["family"] == "gaussian"]
        others = [family for family in sizes["families"] if family != "gaussian"]
        found.append(_steady(sizes, gaussian, "Gaussian factors"))
        found += [_steady(sizes, [r for r in shares if r["family"] == f], f"{f} factors") for f in others]
        return found

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """γ by threshold, the ends, and the shares."""
        own = [row for row in rows if row["of"] == "gamma"]
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(
                Table.of(
                    self.name,
                    "Median of γ/n where the threshold is a quantile of the entries (0: everything is seen, 0.5: about "
                    "ReLU sampling), and of how many factors γ > 0.",
                    _gamma_lines(sizes, own),
                ),
                Table.of(
                    f"{self.name}-ends",
                    "The largest threshold at which γ > 0, in units of the rms entry and as a quantile; and the "
                    "largest with which the twelve sectors of the Example satisfy Assumption 3.",
                    _end_lines(sizes, own),
                ),
                Table.of(
                    f"{self.name}-shares",
                    f"Share of entries at or above the threshold at n = {sizes['share_ns'][-1]}; how many times it "
                    f"changes, at most, from n = {sizes['share_ns'][0]} on (median over factors).",
                    _share_lines(sizes, [row for row in rows if row["of"] == "share"]),
                ),
            ),
            pictures=(
                Picture(
                    self.name,
                    "Above: γ/n against the threshold as a quantile of the entries, medians. Below: the quantile at "
                    "which γ becomes zero, a dot for each factor and a line through the medians; above one half the "
                    "threshold is positive.",
                    lambda narrow: _draw(sizes, own, narrow),
                ),
            ),
            judgements=self.judged(sizes, rows),
            notes=(
                "γ falls with every entry that is taken away, so that for each factor there is one threshold at which "
                "it becomes zero; it is found by bisection.",
                "Shares at several n are those of the leading blocks of one matrix.",
            ),
            says=(*_says(sizes, own), *_says_of_shares(sizes, [row for row in rows if row["of"] == "share"])),
        )


def _positive(sizes: Sizes) -> list[float]:
    return [q for q in sizes["quantiles"] if q > HALF]


def _curvatures(task: Task) -> Row:
    made = instance(task)
    U = made.factor
    M = (made.truth + made.truth.T) / 2
    rms = float(np.sqrt(np.mean(M**2)))
    gammas, positive = [], []
    for q in task["quantiles"]:
        found = curvature(np.quantile(M, q) <= M, U)
        gammas.append(found.gamma)
        positive.append(found.positive)
    limit = convexity_limit(U)
    row: Row = {
        "gammas": gammas,
        "positive": positive,
        "end": limit.threshold / rms,
        "quantile": float(np.mean(limit.threshold > M)),
        "by_rows": limit.by_rows,
    }
    if task["r"] == 2:
        sectors = sector_partition(U)
        eta = threshold_limits(sectors).limit
        if sectors.full_rank.all() and eta > 0:
            row |= {"example": eta / rms, "within": curvature(eta <= M, U).positive}
    return row


def _shares(task: Task) -> Row:
    rng = np.random.default_rng([task["seed"], task["r"], len(task["family"])])
    U = FAMILIES[task["family"]](rng, max(task["ns"]), task["r"])
    M = U @ U.T
    rms = float(np.sqrt(np.mean(M**2)))
    shares = [[float(np.mean(eta * rms <= M[:n, :n])) for eta in task["etas"]] for n in task["ns"]]
    return {"shares": shares, "fixed": float(np.mean(M >= FIXED)), "change": _change(shares)}


def _change(shares: Sequence[Sequence[float]]) -> float:
    """The largest ratio of the share at one size to that at the last, or of that to it, over thresholds and sizes."""
    values = np.array(shares)
    if (values <= 0).any():
        return float("inf")
    return float(np.exp(np.abs(np.log(values / values[-1])).max()))


def _steady(sizes: Sizes, rows: Sequence[Row], case: str) -> Judgement:
    """Whether the shares stay as they are while n grows."""
    steady = sum(1 <= change <= CONSTANT for change in numbers(rows, "change"))
    words = f"{steady} of {len(rows)} factors: no share changes by more than {CONSTANT:g} times from n = "
    words += f"{sizes['share_ns'][0]} to {sizes['share_ns'][-1]}"
    about: dict[str, Any] = {"case": case, "rests": ("unit", "constant")}
    return generally("threshold/share", steady, len(rows), words, otherwise="the share changes with n", **about)


def _convex(sizes: Sizes, rows: Sequence[Row], r: int) -> Judgement:
    """Whether γ > 0 at each threshold above zero; why it is not is said once."""
    found, case = {}, f"r = {r}"
    ends = [value_of(row, "end") for row in rows if row["r"] == r and row.get("end") is not None]
    small = sum(end > 0 for end in ends)
    words = f"γ > 0 at some positive threshold of its own for {small} of {len(ends)} factors"
    found["small enough"] = always("threshold/convex", small, len(ends), words, otherwise=OTHERWISE, case=case)
    for q in _positive(sizes) or [HALF]:
        told = [bool(flag) for row in rows if row["r"] == r and (flag := _at(row, "positive", q)) is not None]
        words = f"γ > 0 for {sum(told)} of {len(told)} factors at the {100 * q:g} % quantile"
        why = "" if any(j.why == OTHERWISE for j in found.values()) else OTHERWISE
        found[f"{100 * q:g} %"] = always("threshold/convex", sum(told), len(told), words, otherwise=why, case=case)
    return across(found, ["threshold"])


def _at(row: Row, name: str, q: float) -> bool | float | None:
    values, quantiles = row.get(name) or [], row.get("quantiles") or []
    return values[quantiles.index(q)] if q in quantiles and len(values) == len(quantiles) else None


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None


def _gamma_lines(sizes: Sizes, rows: Sequence[Row]) -> list[dict[str, Cell]]:
    lines: list[dict[str, Cell]] = []
    for r, q in product(sizes["ranks"], sizes["quantiles"]):
        line: dict[str, Cell] = {"r": r, "quantile": q}
        for n in sizes["ns"]:
            group = [row for row in rows if (row["r"], row["n"]) == (r, n)]
            gammas = [float(g) for row in group if (g := _at(row, "gammas", q)) is not None]
            positive = sum(bool(_at(row, "positive", q)) for row in group)
            middle = float(np.median(gammas)) / n if 2 * positive > len(gammas) else 0.0
            line[f"n = {n}"] = f"{middle:.3f} ({positive} of {len(gammas)})"
        lines.append(line)
    return lines


def _end_lines(sizes: Sizes, rows: Sequence[Row]) -> list[dict[str, Cell]]:
    lines: list[dict[str, Cell]] = []
    for r in sizes["ranks"]:
        for n in [*sizes["ns"], *sizes["large"]]:
            group = [row for row in rows if (row["r"], row["n"]) == (r, n)]
            ends, quantiles = numbers(group, "end"), numbers(group, "quantile")
            lines.append(
                {
                    "r": r,
                    "n": n,
                    "median end": _median(ends),
                    "smallest": min(ends, default=None),
                    "quantile": _median(quantiles),
                    "lowest": min(quantiles, default=None),
                    "by a row": f"{sum(row.get('by_rows') is True for row in group)} of {len(group)}",
                    "η of sectors": _median(numbers(group, "example")),
                }
            )
    return lines


def _share_lines(sizes: Sizes, rows: Sequence[Row]) -> list[dict[str, Cell]]:
    lines: list[dict[str, Cell]] = []
    for family in sizes["families"]:
        for r in sizes["share_ranks"]:
            group = [row for row in rows if (row["family"], row["r"]) == (family, r)]
            shares = [row["shares"][-1] for row in group]
            lines.append(
                {
                    "factors": family,
                    "r": r,
                    **{f"{t:g} rms": _median([share[k] for share in shares]) for k, t in enumerate(sizes["shares"])},
                    f"η = {FIXED:g}": _median(numbers(group, "fixed")),
                    "change": _median(numbers(group, "change")),
                }
            )
    return lines


def _says(sizes: Sizes, rows: Sequence[Row]) -> tuple[str, ...]:
    sizes_run, said = [*sizes["ns"], *sizes["large"]], []
    for r in sizes["ranks"]:
        ends = numbers([row for row in rows if row["r"] == r], "quantile")
        if ends:
            said.append(f"r = {r}: between the {min(ends):.1%} and the {max(ends):.1%} quantile")
    ended, known = sum(row.get("by_rows") is True for row in rows), sum(row.get("by_rows") is not None for row in rows)
    others = "" if ended == known else f"; {UNTOLD}"
    found = [
        "Strong convexity ends at a positive threshold that differs from factor to factor ("
        + "; ".join(said)
        + f"). It ends where some row sees fewer than r entries for {ended} of {known} factors{others}."
    ]
    low = [_median(numbers([row for row in rows if (row["r"], row["n"]) == (2, n)], "end")) for n in sizes_run]
    if len(low) > 1 and low[0] is not None and low[-1] is not None and low[-1] < low[0]:
        found.append(
            f"No fixed threshold will do for every n: at r = 2 the median end falls from {low[0]:.2g} of the rms entry "
            f"at n = {sizes_run[0]} to {low[-1]:.2g} at n = {sizes_run[-1]}. Among many Gaussian rows some are so "
            "short that they see nothing above any η > 0; at higher rank such rows are rarer, and larger n are needed."
        )
    return tuple(found)


def _says_of_shares(sizes: Sizes, rows: Sequence[Row]) -> tuple[str, ...]:
    """How the share changes with the rank."""
    ranks = (min(sizes["share_ranks"]), max(sizes["share_ranks"]))
    groups = [[row for row in rows if (row["family"], row["r"]) == ("gaussian", r)] for r in ranks]
    if not all(groups):
        return ()
    fixed = [_median(numbers(group, "fixed")) or 0.0 for group in groups]
    last = [_median([row["shares"][-1][-1] for row in group]) or 0.0 for group in groups]
    return (
        "As r grows the share is constant only if the threshold grows with the entries: for Gaussian factors it goes "
        f"from {fixed[0]:.2g} at r = {ranks[0]} to {fixed[1]:.2g} at r = {ranks[1]} where η = {FIXED:g}, and from "
        f"{last[0]:.2g} to {last[1]:.2g} where η is {sizes['shares'][-1]:g} times the rms entry.",
    )


def _draw(sizes: Sizes, rows: Sequence[Row], narrow: bool) -> Figure:
    ranks, ns = sizes["ranks"], sizes["ns"]
    drawn, axes = panels(2, len(ranks), narrow=narrow, height=2.4)
    places = {n: k for k, n in enumerate([*ns, *sizes["large"]])}
    for upper, lower, r in zip(axes[0], axes[1], ranks, strict=True):
        for look, n in zip(LOOKS, ns, strict=False):
            group = [row for row in rows if (row["r"], row["n"]) == (r, n)]
            middles = [
                (_median([g for row in group if (g := _at(row, "gammas", q)) is not None]) or 0.0) / n
                for q in sizes["quantiles"]
            ]
            upper.plot(sizes["quantiles"], middles, label=f"n = {n}", linewidth=1.3, **look.line())
        upper.set(title=f"r = {r}", xlabel="threshold (quantile)", ylabel="γ/n" if narrow or r == ranks[0] else "")
        upper.set_ylim(bottom=-0.05)
        upper.grid(alpha=0.3)
        middles = []
        for n, place in places.items():
            ends = numbers([row for row in rows if (row["r"], row["n"]) == (r, n)], "quantile")
            middles.append(_median(ends) if ends else np.nan)
            spread = np.linspace(-0.22, 0.22, len(ends)) if len(ends) > 1 else np.zeros(len(ends))
            lower.plot(place + spread, ends, "o", color="#555555", markersize=2.4, alpha=0.7)
        lower.plot(list(places.values()), middles, color=LOOKS[1].color, linewidth=1.4)
        lower.axhline(HALF, color="black", linestyle=":", linewidth=1)
        lower.set_xticks(list(places.values()), [str(n) for n in places])
        lower.set(xlabel="n", ylabel="γ = 0 from quantile" if narrow or r == ranks[0] else "", ylim=(0.45, 0.95))
        lower.set_title(f"r = {r}" if narrow else "")
        lower.grid(axis="y", alpha=0.3)
    legend_below(drawn, axes[0, 0], len(ns))
    return drawn
