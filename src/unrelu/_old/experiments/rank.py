"""``figure-rank``: up to which rank gradient descent completes the matrix, and what it is that ends it there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import process_time
from typing import Any, ClassVar

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.complete import complete
from unrelu._old.data.observations import Observations
from unrelu._old.data.sampling import relu
from unrelu._old.experiments.base import Experiment, Judgement, Picture, Result, Row, Setting, Sizes, Task
from unrelu._old.experiments.rank_figure import draw_rank, iterations_table, rates_table, recovery_table
from unrelu._old.experiments.rank_verdicts import (
    LOOSE,
    NEAR_DEFAULT,
    NEAR_F,
    RECOVERED,
    SOLVERS,
    Reading,
    counting_limit,
    is_recovered,
    limit_of,
    rank_claims,
)
from unrelu._old.experiments.solve import STEPS, instance, off, paper_start, step_setting
from unrelu._old.loop.history import in_units
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers.gauss_newton import GaussNewton
from unrelu._old.solvers.gradient_descent import GradientDescent

__all__ = ["FigureRank", "counting_limit"]

# The norm of the true gradient at which gradient descent stops: Table 1's 1e-6 for the gradient as printed, twice this.
GRADIENT = 5e-7
# The error is measured so often, for it takes as long as two or three iterations.
EVERY = 25
# Below the counting limit Gauss–Newton needs 60 iterations at most; past it a perfect fit creeps on and means nothing.
MOST, MOST_PAST_LIMIT = 100, 10


class FigureRank(Experiment):
    """Completion error and iterations to recovery against rank, Figure 7's three sizes.

    Gradient descent at two steps and two caps, Gauss–Newton on the same F from the same start, and the default.

    Examples
    --------
    >>> from unrelu._old.experiments import figure_rank
    >>> result = figure_rank(trials=1, rng=0, ns=[40], shares=[0.05, 0.25, 0.32], steps=[1.0], caps=[500])
    >>> [(row[1], row[-1]) for row in result.tables[0].rows]
    [(2, '1/1'), (10, '1/1'), (13, '0/1')]
    """

    name = "figure-rank"
    title = "Completion as the rank grows"
    where = "Section 4.4, Figure 7"
    full: ClassVar[Sizes] = {
        "trials": 20,
        "ns": [200, 300, 400],
        # Ranks over n; dense where gradient descent breaks down, and up to and past the counting limit.
        "shares": [
            *(0.025, 0.05, 0.1, 0.15, 0.175, 0.2, 0.205, 0.21, 0.215, 0.22, 0.225, 0.23, 0.235, 0.24, 0.25),
            *(0.265, 0.27, 0.275, 0.28, 0.285, 0.29, 0.31),
        ],
        # At sizes that take longer, fewer ranks and this share of the trials.
        "coarse": {"300": 0.2, "400": 0.1},
        "coarse_shares": [0.05, 0.1, 0.2, 0.225, 0.25, 0.275, 0.285, 0.31],
        "steps": list(STEPS[1:]),
        "caps": [5000, 20000],
        # Gradient descent from the start as printed, at the lowest cap, on this share of the trials.
        "printed_part": 0.3,
        # Gradient descent runs at ranks up to this share of n, and there not at these: it has long failed.
        "gd_most": 0.275,
        "without_gd": [0.27],
    }
    quick: ClassVar[Sizes] = {
        "trials": 2,
        "ns": [100],
        "shares": [0.05, 0.15, 0.2, 0.225, 0.25, 0.27, 0.32],
        "printed_part": 0,
    }

    def setting(self, sizes: Sizes) -> str:
        """What was run, in words."""
        ns = ", ".join(f"{n} ({_trials(sizes, n)} matrices a rank)" for n in sizes["ns"])
        caps = " and ".join(f"{cap:,}" for cap in sizes["caps"])
        return f"noiseless, n = {ns}; GD judged after {caps} iterations"

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """Gradient descent in all its readings, Gauss–Newton, and what is counted as recovered."""
        caps = ", ".join(str(cap) for cap in sizes["caps"])
        counts = ", ".join(str(_trials(sizes, n)) for n in sizes["ns"])
        low, high = (round(f(sizes["shares"]), 3) for f in (min, max))
        tolerance = GaussNewton.default_tol["float64"]
        start = "columns scaled by √eigenvalue" + ("; as printed" if sizes["printed_part"] else "")
        cut = f"{MOST}; {MOST_PAST_LIMIT} past the counting limit"
        why_cut = "below the limit it needs fewer; past it no fit is unique"
        return (
            step_setting("GD", sizes["steps"]),
            Setting("GD", "cap", caps, "inferred", "not stated for Figure 7; 5000 is stated for Table 1"),
            Setting(
                "GD",
                "start",
                start,
                "inferred",
                "eq. (init) prints orthonormal columns; scaled ones make the start a fit of what is seen",
            ),
            Setting("GD", "stop", f"‖(Z+Zᵀ)U‖ ≤ {2 * GRADIENT:g}", "inferred", "not stated for Figure 7; Table 1's"),
            Setting("Gauss–Newton", "loss", "F", "ours", "the paper's, so that only the method differs"),
            Setting("Gauss–Newton", "start", "the same factor as GD", "ours", "so that only the method differs"),
            Setting("Gauss–Newton", "cap", cut, "ours", why_cut),
            Setting("Gauss–Newton", "stop", f"‖∇F‖ ≤ {tolerance:g}·‖M_Ω‖^1.5", "ours", "rounding"),
            Setting("default", "cap", cut, "ours", why_cut),
            Setting(
                "all",
                "recovered",
                f"error < {RECOVERED:g}; {LOOSE:g}",
                "ours",
                "far above GD's floor, far below failures; the larger one for where GD begins to break down",
            ),
            Setting("all", "trials", counts, "ours", "the paper has 100 for each size; ours run to a higher cap"),
            Setting("all", "ranks", f"{low:g}n to {high:g}n", "ours", "the text prints none; dense around r = 45"),
        )

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per size, rank, matrix and method; gradient descent not at every rank beyond its reach."""
        return [task for n in sizes["ns"] for share in _shares(sizes, n) for task in _tasks(sizes, n, share)]

    def cost(self, task: Task) -> float:
        """Seconds, roughly: grows with size, rank and the iterations that the rank needs."""
        share, size = task["r"] / task["n"], float(task["n"] / 200)
        if task["method"] == "gd":
            used = min(max(task["caps"]), 142 * np.exp(18 * max(0.0, share - 0.025)) / task["step"])
            return float(used * (0.07 + 0.6 * share) * 1e-3 * size**2.5)
        return float((0.02 + 70 * share**4 + (1.0 if share > 0.28 else 0.0)) * size**2.5)

    def trial(self, task: Task) -> Row:
        """One method on one matrix."""
        made = instance(task)
        X = relu(made.matrix)
        seen = ~np.isnan(X)
        pairs = int(np.triu(seen | seen.T).sum())
        rank, seed = task["r"], task["seed"]
        if task["method"] == "default":
            start: Any = "auto"
        else:
            start, _ = paper_start("tailored", X, rank, [seed, 7], scaled=task.get("start") != "printed")
        began = process_time()
        if task["method"] == "gd":
            row = _descent(X, start, made.factor, task["step"], task["caps"])
            return {"pairs": pairs, **row, "cpu": process_time() - began}
        past = rank > counting_limit(task["n"], pairs)
        how: dict[str, Any] = {} if task["method"] == "default" else {"method": "gauss-newton", "loss": "observed"}
        done = complete(X, rank, rng=seed, start=start, max_iter=MOST_PAST_LIMIT if past else MOST, **how)
        return {
            "pairs": pairs,
            "error": off(done.factor, made.factor),
            "iterations": done.history[-1].iteration,
            "code": done.verdict.code.value,
            "cpu": process_time() - began,
        }

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
        """How far gradient descent goes, at each reading; whether F is what ends it; how far others go."""
        return rank_claims(sizes, rows)

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """The figure, recovery rates and iterations by rank, and the verdicts."""
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(
                recovery_table(self.name, sizes, rows),
                rates_table(f"{self.name}-rates", sizes, rows),
                iterations_table(f"{self.name}-iterations", sizes, rows),
            ),
            pictures=(
                Picture(
                    self.name,
                    "Above: completion error against rank, median and quartiles; of gradient descent where it stands "
                    f"after each cap. Below: iterations to an error of {RECOVERED:g}, median over all matrices (none "
                    "is drawn as one); a triangle at the cap where the median matrix was not recovered by then. The "
                    "dotted line is the counting limit, where the nr − r(r−1)/2 unknowns meet the distinct seen "
                    f"entries; past it the two others stop after {MOST_PAST_LIMIT} iterations.",
                    lambda narrow: draw_rank(sizes, rows, narrow),
                ),
            ),
            judgements=self.judged(sizes, rows),
            says=tuple(_says(sizes, rows)),
            notes=(
                "A matrix counts as recovered when its error ‖UUᵀ − M‖_F/‖M‖_F is below "
                f"{RECOVERED:g}. The rank at which gradient descent breaks down is, for each seed, the first from "
                "which on no rank tried is recovered. One run to the higher cap tells of both caps. The counting limit "
                "is that of each matrix itself.",
            ),
        )


def _trials(sizes: Sizes, n: int) -> int:
    return max(1, round(sizes["trials"] * sizes["coarse"].get(str(n), 1)))


def _shares(sizes: Sizes, n: int) -> list[float]:
    return list(sizes["coarse_shares"] if str(n) in sizes["coarse"] else sizes["shares"])


def _tasks(sizes: Sizes, n: int, share: float) -> Iterator[Task]:
    """Every method on the matrices of one size and rank."""
    starts = {"scaled": _trials(sizes, n)}
    if sizes["printed_part"] and str(n) not in sizes["coarse"]:
        starts["printed"] = max(1, round(sizes["printed_part"] * sizes["trials"]))
    caps = list(sizes["caps"])
    for trial in range(_trials(sizes, n)):
        about = {"n": n, "r": max(1, round(share * n)), "seed": sizes["rng"] + trial}
        if share <= sizes["gd_most"] and share not in sizes["without_gd"]:
            for start, count in starts.items():
                until = caps if start == "scaled" else [min(caps)]
                for step in sizes["steps"] if trial < count else ():
                    yield {**about, "method": "gd", "start": start, "step": step, "caps": until}
        yield from ({**about, "method": method} for method in SOLVERS)


def _descent(X: Array, start: Array, truth: Array, step: float, caps: Sequence[int]) -> Row:
    """Algorithm 1 up to the highest cap, with the error now and then and where it stands at each cap."""
    problem = PSDProblem(Observations.of(X), start.shape[1])
    root = np.sqrt(problem.unit)
    norm = max(problem.spectral_norm, float(np.linalg.norm(start, 2)) ** 2 / problem.unit)
    solver = GradientDescent(step_size=step / (norm * problem.unit))
    state = solver.start(problem, start / root, start / root)
    row: Row = {"recovered_at": None}
    for iteration in range(max(caps) + 1):
        gradient = in_units(state.point.gradient_norm, problem.unit, problem.gradient_power)
        ended = gradient <= GRADIENT or iteration == max(caps) or not np.isfinite(gradient)
        if iteration % EVERY == 0 or iteration in caps or ended:
            error = off(state.point.factor * root, truth) if np.isfinite(gradient) else float("inf")
            if row["recovered_at"] is None and error < RECOVERED:
                row["recovered_at"] = iteration
            row |= {f"error_{cap}": error for cap in caps if iteration <= cap}
        if ended:
            break
        with np.errstate(all="ignore"):  # a run that diverges overflows before it is stopped
            state = solver.step(problem, state)
    return {**row, "error": error, "iterations": iteration, "gradient": gradient}


def _says(sizes: Sizes, rows: Sequence[Row]) -> Iterator[str]:
    """What follows beyond the claims: what ends gradient descent, and what absence adds near the limit."""
    n, top = sizes["ns"][0], max(sizes["caps"])
    for step in sizes["steps"]:
        runs = Reading("scaled", step, top).of(rows, n)
        by_rank = {r: [row for row in runs if row["r"] == r] for r in sorted({row["r"] for row in runs})}
        counts = {
            r: float(np.median([row["recovered_at"] for row in group]))
            for r, group in by_rank.items()
            if group and all(map(is_recovered, group))
        }
        shown = [f"{count:.0f} at r = {r}" for r, count in counts.items()]
        if shown:
            words = ", ".join(shown[:: max(1, len(shown) // 4)][:4] + ([shown[-1]] if len(shown) > 4 else []))
            yield f"Iterations to recovery at n = {n} with step {step:g}, median: {words}."
    failed = [r for r in rows if r["method"] == "gd" and top in r["caps"] and not is_recovered(r)]
    if failed:
        rest = sum(r["iterations"] < top for r in failed)
        fall = [r[f"error_{min(sizes['caps'])}"] / r["error"] for r in failed if 0 < r["error"] < float("inf")]
        words = "none had come to rest" if not rest else f"{rest} had come to rest"
        yield (
            f"Of the {len(failed)} runs of gradient descent that had not recovered after {top:,} iterations, {words}; "
            f"since iteration {min(sizes['caps']):,} their error had fallen {np.median(fall):.2g} times (median)."
        )
    between = (NEAR_F[1], NEAR_DEFAULT[1])
    close = [r for r in rows if (limit := limit_of(r)) and between[0] < r["r"] / limit <= between[1]]
    groups = {label: [r for r in close if r["method"] == method] for method, label in SOLVERS.items()}
    if all(groups.values()):
        words = ", ".join(f"{label} {sum(map(is_recovered, g))} of {len(g)}" for label, g in groups.items())
        plain, ours = (sum(map(is_recovered, g)) / len(g) for g in groups.values())
        more = " So close to the limit it helps to use what absence says as well." if ours > plain else ""
        yield f"Matrices of rank {between[0]:.0%} to {between[1]:.0%} of the counting limit recovered: {words}.{more}"
