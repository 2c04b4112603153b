"""``table-scaling``: the discussion of γ and λ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

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
from unrelu._old.experiments.drawing import LOOKS, SMALLEST, panels, quartile_line, readable
from unrelu._old.experiments.groups import COLLECTION, best_bounds
from unrelu._old.experiments.judging import spread_text
from unrelu._old.experiments.rules import always, bounded, fitted, no_evidence
from unrelu._old.experiments.solve import instance
from unrelu._old.theory.geometry import curvature
from unrelu._old.theory.partition import orthant_partition
from unrelu._old.theory.propositions import cone_probability, cone_second_moment, orthant_second_moment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TableScaling"]

# At fixed r all of γ, λ and ‖U*‖² grow like n, and with them the noise of which Theorem 4 speaks. A power well above 1
# is that of sizes at which the groups are still poor, and says nothing of large n.
LASTING = 1.5
# Mean products of a sample are within so many standard errors of what they estimate: by chance all but once in 16,000.
ERRORS = 4.0
# Cliques are searched for up to this size; beyond it only sectors are used, and of higher ranks no limit is given.
MOST_SEARCHED = 1600


class TableScaling(Experiment):
    """How λ and γ grow with n, second moments in orthants and cones, and the noise of which Theorem 4 speaks.

    Examples
    --------
    >>> from unrelu._old.experiments import table_scaling
    >>> result = table_scaling(trials=2, rng=0, ns=[100, 400], ranks=[2])
    >>> [row[1] for row in result.tables[1].rows]
    ['γ', '√γ', 'λ', 'λ, of the smallest block', 'largest ‖Δ‖_F']
    """

    name = "table-scaling"
    title = "Growth of λ and γ"
    where = "Discussion of γ and λ (appendix A.2)"
    full: ClassVar[Sizes] = {
        "trials": 20,
        "ns": [200, 400, 800, 1600, 3200],
        "ranks": [2, 3],
        "cone_ranks": list(range(2, 51)),
    }
    quick: ClassVar[Sizes] = {"trials": 3, "ns": [200, 400, 800]}

    def setting(self, sizes: Sizes) -> str:
        """Sizes of this run."""
        return (
            f"noiseless Gaussian factors, ReLU sampling, n = {', '.join(map(str, sizes['ns']))}, "
            f"r = {', '.join(map(str, sizes['ranks']))}; {sizes['trials']} factors each; cones up to r = "
            f"{max(sizes['cone_ranks'], default=0)} by quadrature"
        )

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """The theory has no settings but the groups."""
        how = "Assumption 3 asks for some; those that let Theorem 4 speak of most noise"
        return (
            Setting("Theorem 4", "collection", COLLECTION, "ours", how),
            Setting(
                "Theorem 4", "K", "longest path for its steps", "inferred", "the proof sums over a path, of K at most"
            ),
            Setting("powers", "largest that lasts", f"{LASTING:g}", "ours", "γ, λ and ‖U*‖² grow like n at fixed r"),
        )

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per rank, size and factor, and one per cone."""
        return [
            *(
                {"of": "growth", "n": n, "r": r, "seed": sizes["rng"] + trial}
                for r in sizes["ranks"]
                for n in sizes["ns"]
                for trial in range(sizes["trials"])
            ),
            *({"of": "cone", "r": r} for r in sizes["cone_ranks"]),
        ]

    def cost(self, task: Task) -> float:
        """Grows with the size of the matrix."""
        return 0.001 if task["of"] == "cone" else 0.03 + 0.35 * (float(task["n"]) / 1600) ** 2

    def trial(self, task: Task) -> Row:
        """λ of the orthants, γ, the second moments, and the limit of Theorem 4; or the moments in a cone."""
        if task["of"] == "cone":
            along, across = cone_second_moment(task["r"])
            return {"along": along, "across": across, "chance": cone_probability(task["r"])}
        U = instance(task).factor
        seen = U @ U.T >= 0
        orthants = orthant_partition(U)
        gamma = curvature(seen, U).gamma
        searched = task["n"] <= MOST_SEARCHED
        found = best_bounds(U, seen, gamma, 0.0, task["seed"], search=searched) if searched or task["r"] == 2 else None
        # With its signs taken off every orthant is the first one.
        folded = np.abs(U)
        return {
            "lambda": float(orthants.eigenvalues.min()),
            "smallest": int(orthants.counts.min()),
            "gamma": gamma,
            "groups_lambda": found[1].lambda_ if found else None,
            "groups": len(found[1].groups) if found else None,
            "limit": found[0].noise_limit if found else None,
            "moments": (folded.T @ folded / len(U)).ravel().tolist(),
        }

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
        """Powers of n from each seed, and what holds of every factor."""
        growth = [row for row in rows if row.get("of") == "growth"]
        apart = [a for r in sizes["ranks"] for own in _by_seed(growth, r) if (a := _apart(own, r)) is not None]
        near = sum(a <= ERRORS for a in apart)
        words = f"{near} of {len(apart)} samples within {ERRORS:g} standard errors"
        found = [always("scaling/moments", near, len(apart), words, otherwise="a mean product is too far away")]
        for r in sizes["ranks"]:
            own = [row for row in growth if row["r"] == r]
            found += [
                fitted("scaling/gamma-root", [p / 2 for p in _powers(own, r, "gamma")], case=f"r = {r}", what="power"),
                fitted("scaling/gamma-power", _powers(own, r, "gamma"), case=f"r = {r}", what="power"),
                fitted("scaling/lambda-power", _powers_of_block(own, r), case=f"r = {r}", what="power"),
                _noise_level(own, r),
                _blocks(own, r),
            ]
        cones = [row for row in rows if row.get("of") == "cone"]
        return [*found, _cones(cones)]

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """Medians by n, the powers of n that fit them, and the cones."""
        growth = [row for row in rows if row["of"] == "growth"]
        cones = [row for row in rows if row["of"] == "cone"]
        shown = [row for row in cones if row["r"] in (2, 3, 4, 5, 10, 20, 30, 40, 50)]
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(
                Table.of(self.name, "Medians over factors.", list(_lines(sizes, growth))),
                Table.of(
                    f"{self.name}-powers",
                    "Powers of n (or of the size of the smallest block), fitted to each seed; mean and deviation.",
                    list(_power_lines(sizes, growth)),
                ),
                Table.of(
                    f"{self.name}-cones",
                    "E[uuᵀ | u ∈ C_k] for cones of half-opening π/12: its eigenvalue along the axis, the smallest one, "
                    "and the probability of the cone.",
                    [
                        {"r": r["r"], "along": r["along"], "smallest": r["across"], "P(u ∈ C_k)": r["chance"]}
                        for r in shown
                    ],
                ),
            ),
            pictures=(
                Picture(
                    self.name,
                    "Growth of λ (orthants) and of the theorem's γ with n, median and quartiles, on logarithmic axes; "
                    "and the least eigenvalue of E[uuᵀ | u ∈ C_k] for cones against the rank.",
                    lambda narrow: _draw(sizes, growth, cones, narrow),
                ),
            ),
            judgements=self.judged(sizes, rows),
            notes=(
                "Printed with the all-one vector for every orthant; that is right for the first, and for the others "
                "with their signs, which are taken off here before averaging.",
                "The least eigenvalue in a cone is not the same for every r, but lies between its value at r = 2 and "
                "sin²(π/12) = 0.067: independent of r in the sense that the discussion needs.",
            ),
        )


def _by_seed(rows: Sequence[Row], r: int) -> list[list[Row]]:
    own = [row for row in rows if row["r"] == r]
    return [[row for row in own if row["seed"] == seed] for seed in sorted({row["seed"] for row in own})]


def _apart(rows: Sequence[Row], r: int) -> float | None:
    """The largest difference between the mean of uuᵀ and the stated matrix, in standard errors of that mean."""
    known = [row for row in rows if len(row.get("moments") or ()) == r * r and None not in row["moments"]]
    if not known:
        return None
    weights = np.array([row["n"] for row in known], dtype=float)
    moments = np.average([row["moments"] for row in known], axis=0, weights=weights).reshape(r, r)
    # Var(u²) = 2 and Var(|u||v|) = 1 − 4/π² for independent standard normal u and v.
    variance = np.where(np.eye(r, dtype=bool), 2.0, 1 - 4 / np.pi**2)
    gaps = np.abs(moments - orthant_second_moment([1] * r)) / np.sqrt(variance / weights.sum())
    return float(gaps.max())


def _slope(x: Sequence[float], y: Sequence[float]) -> float | None:
    """The slope of log y against log x; None if two points or more are not to be had."""
    points = [(np.log(a), np.log(b)) for a, b in zip(x, y, strict=True) if a > 0 and b > 0]
    if len({a for a, _ in points}) < 2:
        return None
    first, second = np.array(points).T
    return float(np.polyfit(first, second, 1)[0])


def _powers(rows: Sequence[Row], r: int, name: str) -> list[float]:
    """The power of n with which a quantity grows, of each seed."""
    found = []
    for own in _by_seed(rows, r):
        known = [row for row in own if numbers([row], name)]
        slope = _slope([row["n"] for row in known], numbers(known, name))
        found += [] if slope is None else [slope]
    return found


def _powers_of_block(rows: Sequence[Row], r: int) -> list[float]:
    """The power of the smallest block's size with which λ grows, over the larger half of the sizes, of each seed."""
    ns = sorted({row["n"] for row in rows})
    large = ns[len(ns) // 2 - (len(ns) < 4) :] if len(ns) > 1 else ns
    found = []
    for own in _by_seed([row for row in rows if row["n"] in large], r):
        known = [row for row in own if numbers([row], "lambda")]
        slope = _slope([float(row["smallest"]) for row in known], numbers(known, "lambda"))
        found += [] if slope is None else [slope]
    return found


def _noise_level(rows: Sequence[Row], r: int) -> Judgement:
    """Whether the noise of which Theorem 4 speaks grows at least like n^(1/4), and so that it can last."""
    powers, case, rests = _powers(rows, r, "limit"), f"r = {r}", ("collection", "largest that lasts")
    if not powers:
        why = "Assumption 3 was found at fewer than two sizes"
        return no_evidence("scaling/noise-level", why, case=case, rests=rests)
    n = max(row["n"] for row in rows if numbers([row], "limit"))
    largest = float(np.median(numbers([row for row in rows if row["n"] == n], "limit")))
    words = f"the largest ‖Δ‖_F grows like n^{np.mean(powers):.2f}; at n = {n} it is {largest:.2g}"
    if np.mean(powers) > LASTING:
        why = "more than n cannot last: at these sizes the groups are still poor"
        return no_evidence("scaling/noise-level", why, measured=words, case=case, rests=rests)
    why = (
        f"With its constants the theorem still speaks of little: n^(1/4) is {n**0.25:.2g} there. At fixed r, λ and γ "
        "grow like n, not √n; with r of the order log n the number of groups takes the growth away (table-errata)"
    )
    return bounded(
        "scaling/noise-level",
        powers,
        0.25,
        LASTING,
        words,
        otherwise="it grows more slowly" if np.mean(powers) < 0.25 else "",
        why=why,
        case=case,
        rests=rests,
    )


def _blocks(rows: Sequence[Row], r: int) -> Judgement:
    covered = [row for row in rows if r <= np.log2(row["n"]) / 2 and row.get("smallest") is not None]
    shares = [row["smallest"] / np.sqrt(row["n"]) for row in covered]
    good = sum(share >= 0.5 for share in shares)
    words = f"{good} of {len(covered)} factors"
    words += f"; {min(shares):.3g} √n rows in the poorest orthant" if shares else ""
    return always("scaling/blocks", good, len(covered), words, otherwise="an orthant has fewer", case=f"r = {r}")


def _cones(rows: Sequence[Row]) -> Judgement:
    """Whether the least eigenvalue in a cone stays above its value at the lowest rank, and below the limit."""
    known = {row["r"]: value for row in rows for value in numbers([row], "across")}
    low, high = known.get(min(known, default=0), np.inf), np.sin(np.pi / 12) ** 2
    good = sum(low <= value <= high for value in known.values())
    words = f"{good} of {len(known)} ranks"
    if known:
        words += f": {known[min(known)]:.3g} at r = {min(known)}, {known[max(known)]:.3g} at r = {max(known)}"
    return always("scaling/cones", good, len(known), words, otherwise="it leaves the interval from r = 2 to sin²(π/12)")


def _lines(sizes: Sizes, rows: Sequence[Row]) -> Iterator[dict[str, Cell]]:
    for r in sizes["ranks"]:
        for n in sizes["ns"]:
            group = [row for row in rows if (row["r"], row["n"]) == (r, n)]
            limits = numbers(group, "limit")
            yield {
                "r": r,
                "n": n,
                "λ of the orthants": float(np.median(numbers(group, "lambda"))),
                "0.363 n/2^r": (1 - 2 / np.pi) * n / 2**r,
                "γ/n": float(np.median(numbers(group, "gamma"))) / n,
                "largest ‖Δ‖_F of Theorem 4": float(np.median(limits)) if limits else None,
                "as a noise level": float(np.median(limits)) / n if limits else None,
                "Assumption 3 found": f"{len(limits)} of {len(group)}" if _searched(r, n) else "not searched",
            }


def _searched(r: int, n: int) -> bool:
    return r == 2 or n <= MOST_SEARCHED


def _power_lines(sizes: Sizes, rows: Sequence[Row]) -> Iterator[dict[str, Cell]]:
    for r in sizes["ranks"]:
        fits = {
            "γ": _powers(rows, r, "gamma"),
            "√γ": [p / 2 for p in _powers(rows, r, "gamma")],
            "λ": _powers(rows, r, "lambda"),
            "λ, of the smallest block": _powers_of_block([row for row in rows if row["r"] == r], r),
            "largest ‖Δ‖_F": _powers(rows, r, "limit"),
        }
        for name, powers in fits.items():
            yield {"r": r, "quantity": name, "power": spread_text(powers), "seeds": len(powers)}


def _draw(sizes: Sizes, rows: Sequence[Row], cones: Sequence[Row], narrow: bool) -> Figure:
    drawn, axes = panels(1, 3, narrow=narrow, height=2.8, extra=0.0)
    names = {"lambda": "λ of the orthants", "gamma": "γ"}
    for ax, (name, label) in zip(axes[0, :2], names.items(), strict=True):
        for look, r in zip(LOOKS, sizes["ranks"], strict=False):
            own = [row for row in rows if row["r"] == r]
            groups = [numbers([row for row in own if row["n"] == n], name) for n in sizes["ns"]]
            powers = _powers(own, r, name)
            words = f"r = {r}" if not powers else f"r = {r}: power {np.mean(powers):.2f}"
            quartile_line(ax, sizes["ns"], groups, look, words)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks(sizes["ns"], [str(n) for n in sizes["ns"]], minor=False)
        ax.minorticks_off()
        readable(ax.yaxis)
        ax.set(xlabel="n", ylabel=label)
        ax.grid(alpha=0.3)
        ax.tick_params(axis="x", labelsize=SMALLEST)
        ax.legend(fontsize=SMALLEST, loc="lower right", handlelength=1.6)
    last = axes[0, 2]
    last.plot([row["r"] for row in cones], [row["across"] for row in cones], color=LOOKS[0].color, linewidth=1.6)
    last.axhline(np.sin(np.pi / 12) ** 2, color="black", linestyle=":", linewidth=1, label="sin²(π/12)")
    last.set(xlabel="r", ylabel="least eigenvalue in a cone", ylim=(0, 0.08))
    last.grid(alpha=0.3)
    last.legend(fontsize=SMALLEST, loc="lower right")
    return drawn
