"""``figure-methods``: error and CPU time of every method the paper compares, and of this library's default."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import process_time
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unrelu.datasets import Planted
from unrelu.escalate import escalate
from unrelu.experiments.base import Cell, Experiment, Judgement, Picture, Result, Row, Sizes, Table, Task, numbers
from unrelu.experiments.drawing import boxes, figure
from unrelu.experiments.judging import judge_claim
from unrelu.experiments.solve import descend, instance, off, paper_start
from unrelu.factors import relative_error
from unrelu.initialise import STARTS
from unrelu.observations import Observations
from unrelu.problems.psd import PSDProblem
from unrelu.run import run
from unrelu.sampling import relu
from unrelu.solvers import ADMM, GNMR, PAM, GaussNewton, MomentumPAM, ScaledGD, Solver
from unrelu.stopping import MaxIterations, MaxSeconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureMethods"]

# Names on the figure; gradient descent with the step that fits the paper's table, and with the longest safe one; ADMM
# with the projection, and with the X-update as printed.
METHODS = {
    "default": "unrelu default",
    "gd": "GD",
    "gd-slow": "GD, inferred step",
    "momentum-pam": "MPAM",
    "pam": "PAM",
    "scaled-gd": "ScaledGD",
    "admm": "ADMM",
    "admm-printed": "ADMM, printed step",
    "gnmr": "GNMR",
}
# Seconds of the slow ones at the paper's size, roughly.
COSTS = {"admm": 10.0, "admm-printed": 10.0, "gnmr": 16.0, "pam": 3.0}
# Second readings, which stand in the table but not for the paper's methods in its claims.
SECOND = ("gd-slow", "admm-printed")
# "As fast", "slightly faster" and "substantially faster", as ratios of CPU times.
ALIKE, SUBSTANTIAL = 2.0, 5.0
# Up to this relative error a completion counts as reasonable.
REASONABLE = 1e-2
# Relative errors below this are rounding, and none is better than another.
ROUNDING = 1e-12
BUDGET = 900.0


class FigureMethods(Experiment):
    """Figures 6 and 9: box plots of error and time, each method with its own rule from the appendix.

    Examples
    --------
    >>> from unrelu.experiments import figure_methods
    >>> result = figure_methods(trials=1, rng=0, n=60, r=2, sigmas=[0.0])
    >>> [row[1] for row in result.tables[0].rows]
    ['unrelu default', 'GD', 'GD, inferred step', 'MPAM', 'PAM', 'ScaledGD', 'ADMM', 'GNMR']
    """

    name = "figure-methods"
    title = "Error and CPU time of every method"
    where = "Figures 6 and 9"
    setting = "n = 1000, r = 20, σ ∈ {0, 1e-2}, 10 matrices; each method's own stopping rule from the appendix"
    full: ClassVar[Sizes] = {"trials": 10, "n": 1000, "r": 20, "sigmas": [0.0, 1e-2]}
    quick: ClassVar[Sizes] = {"trials": 3, "n": 200, "r": 8}

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per noise level, matrix and method; the long ones first, so that no core waits in the end."""
        order = sorted(METHODS, key=lambda method: -COSTS.get(method, 1.0))
        return [
            {"n": sizes["n"], "r": sizes["r"], "sigma": sigma, "method": method, "seed": sizes["rng"] + trial}
            for method in order
            for sigma in sizes["sigmas"]
            if method in _methods(sigma)
            for trial in range(sizes["trials"])
        ]

    def cost(self, task: Task) -> float:
        """Two methods take most of the time."""
        return COSTS.get(task["method"], 0.7) * float(task["n"] / 1000) ** 2

    def trial(self, task: Task) -> Row:
        """One method on one matrix; a few steps on something tiny first, so that first calls are not counted."""
        _solve({**task, "n": 12, "r": 1})
        return _solve(task)

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """Box plots, medians, and the order of the methods."""
        lines: list[dict[str, Cell]] = []
        for sigma in sizes["sigmas"]:
            for method, label in _methods(sigma).items():
                group = _group(rows, sigma, method)
                low, middle, high = np.quantile(numbers(group, "cpu"), [0.25, 0.5, 0.75])
                lines.append(
                    {
                        "σ": sigma,
                        "method": label,
                        "error against M": float(np.median(numbers(group, "error"))),
                        "error against M*": float(np.median(numbers(group, "clean"))),
                        "CPU s": float(middle),
                        "CPU quartiles": f"{low:.3g}…{high:.3g}",
                        "CPU / default": float(middle) / _median(rows, sigma, "default", "cpu"),
                        "iterations": float(np.median(numbers(group, "iterations"))),
                        "ended": ", ".join(sorted({r["code"] for r in group})),
                    }
                )
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(Table.of(self.name, "Medians over trials; CPU seconds of start and solver, one thread.", lines),),
            pictures=(
                Picture(
                    self.name,
                    "Completion error against M (left) and CPU seconds of the solver (right), every trial a dot; above "
                    "without noise, below with it. Boxes are quartiles, the thick line is the median.",
                    lambda: _draw(sizes, rows),
                ),
            ),
            judgements=tuple(_claims(sizes, rows)),
            notes=(
                "CPU seconds of the start and the iterations (of the default: of everything it tries), without making "
                "the data, in a process with one thread. “GD” takes the longest step that is safe; the step that fits "
                "the paper's table is half of it. ADMM is given δ = ‖Δ‖_F², as in the paper; “printed step” has the "
                "square of the distance in its X-update, as the paper prints it, and is the same without noise.",
            ),
        )


def _solver(method: str, made: Planted) -> Solver[Any]:
    delta = float(np.sum((made.matrix - made.truth) ** 2))
    table: dict[str, Callable[[], Solver[Any]]] = {
        "momentum-pam": lambda: MomentumPAM(stopping="paper"),
        "pam": lambda: PAM(stopping="paper"),
        "scaled-gd": lambda: ScaledGD(stopping="paper"),
        "admm": lambda: ADMM(delta=delta, stopping="paper"),
        "admm-printed": lambda: ADMM(delta=delta, projection="printed", stopping="paper"),
        "gnmr": lambda: GNMR(stopping="paper"),
    }
    return table[method]()


def _methods(sigma: float) -> dict[str, str]:
    """Those that are run at a noise level: without noise both readings of ADMM are one."""
    return {method: label for method, label in METHODS.items() if sigma > 0 or method != "admm-printed"}


def _solve(task: Task) -> Row:
    made = instance(task)
    X = relu(made.matrix)
    seed, method = [task["seed"], 7], task["method"]
    if method in ("gd", "gd-slow"):
        start, cpu = paper_start("tailored", X, task["r"], seed, scaled=True)
        step = 1.0 if method == "gd" else 0.5
        found = descend(X, start, gradient=5e-5, step=step, start_cpu=cpu)
        left, right, factor = found.factor, None, found.factor
        about: Row = {"cpu": found.cpu, "iterations": found.iterations, "code": found.verdict.code.value}
    elif method == "default":
        left, right, factor, about = _default(X, task["r"], seed, made.truth)
    else:
        left, right, factor, about = _named(_solver(method, made), X, task["r"], seed)
    return {
        **about,
        "error": relative_error(left, made.matrix, right),
        "clean": off(factor, made.factor),
    }


def _default(X: Any, rank: int, seed: Any, truth: Any) -> tuple[Any, Any, Any, Row]:
    """What ``complete`` does when nothing is named, timed as a whole and after each iteration."""
    observations = Observations.of(X)
    solver = GaussNewton()
    problem = PSDProblem(observations, rank, solver.default_loss(observations))
    rule = solver.rule(None, observations.dtype) | MaxIterations(solver.max_iter)
    times: list[float] = []
    began = process_time()
    found = escalate(
        problem,
        solver,
        rule,
        np.random.default_rng(seed),
        truth=None,
        callback=lambda _: times.append(process_time() - began),
    )
    cpu = process_time() - began
    # The same run again, not timed, for the error at each of those times.
    errors: list[float] = []
    escalate(
        problem,
        solver,
        rule,
        np.random.default_rng(seed),
        truth=truth,
        callback=lambda record: errors.append(np.nan if record.error is None else record.error),
    )
    factor = found.outcome.point.factor * np.sqrt(problem.unit)
    outcome = found.outcome
    about: Row = {"cpu": cpu, "iterations": outcome.history[-1].iteration, "code": outcome.verdict.code.value}
    about["path"] = {"cpu": times, "clean": errors}
    return factor, None, factor, about


def _named(solver: Solver[Any], X: Any, rank: int, seed: Any) -> tuple[Any, Any, Any, Row]:
    """A method from its own start, with the paper's rule."""
    observations = Observations.of(X)
    problem = PSDProblem(observations, rank, solver.default_loss(observations))
    root = np.sqrt(problem.unit)
    began = process_time()
    if solver.default_start is None:
        left = right = np.zeros((len(X), rank), observations.dtype)
    else:
        left, right = STARTS[solver.default_start]().pair(observations, rank, np.random.default_rng(seed))
    cpu = process_time() - began
    rule = solver.rule(None, observations.dtype) | MaxIterations(solver.max_iter) | MaxSeconds(BUDGET)
    outcome = run(problem, solver, (left / root, right / root), rule)
    last = outcome.history[-1]
    factor = outcome.point.factor * root
    own = (
        (factor, None) if outcome.left is None or outcome.right is None else (outcome.left * root, outcome.right * root)
    )
    about = {"cpu": cpu + last.cpu_seconds, "iterations": last.iteration, "code": outcome.verdict.code.value}
    return *own, factor, about


def _group(rows: Sequence[Row], sigma: float, method: str) -> list[Row]:
    return [r for r in rows if r["sigma"] == sigma and r["method"] == method]


def _median(rows: Sequence[Row], sigma: float, method: str, name: str) -> float:
    return float(np.median(numbers(_group(rows, sigma, method), name)))


def _claims(sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
    sigmas = sizes["sigmas"]
    theirs = [method for method in METHODS if method != "default" and method not in SECOND]
    errors = {(m, s): _median(rows, s, m, "error") for m in theirs for s in sigmas}
    found = [
        _speed("methods/as-mpam", "momentum-pam", sigmas, rows, least=1 / ALIKE, most=ALIKE),
        _speed("methods/pam", "pam", sigmas, rows, least=1.0),
        _speed("methods/scaled-gd", "scaled-gd", sigmas, rows, least=1.0),
        _scaled_gd(sigmas, rows),
        _speed("methods/admm", "admm", sigmas, rows, least=SUBSTANTIAL),
        _speed("methods/gnmr", "gnmr", sigmas, rows, least=SUBSTANTIAL),
        *_error_claims(sigmas, theirs, errors),
    ]
    noisy = max(sigmas)
    if noisy > 0:
        found += _noisy_claims(noisy, theirs, rows, errors)
    found.append(_ours(sigmas, theirs, rows))
    return found


def _speed(
    key: str, method: str, sigmas: Sequence[float], rows: Sequence[Row], *, least: float, most: float = np.inf
) -> Judgement:
    """Whether a method's CPU time over that of gradient descent is between two bounds at every noise level."""
    ratios = {s: _median(rows, s, method, "cpu") / _median(rows, s, "gd", "cpu") for s in sigmas}
    slightly = least == 1.0 and min(ratios.values()) > SUBSTANTIAL
    return judge_claim(
        key,
        all(least < ratio <= most for ratio in ratios.values()),
        f"{METHODS[method]} takes " + ", ".join(f"{r:.2g} times as long as GD at σ = {s:g}" for s, r in ratios.items()),
        otherwise="; ".join(
            f"σ = {s:g}: {_effort(rows, s, method)}, {_effort(rows, s, 'gd')}"
            for s, ratio in ratios.items()
            if not least < ratio <= most
        ),
        why=f"by more than slightly: {SUBSTANTIAL:g} times and more" if slightly else "",
    )


def _effort(rows: Sequence[Row], sigma: float, method: str) -> str:
    """Why a method takes the time it takes: iterations, the time of one, and how far its rule makes it go."""
    count = _median(rows, sigma, method, "iterations")
    each = 1000 * _median(rows, sigma, method, "cpu") / max(count, 1.0)
    error = _median(rows, sigma, method, "error")
    return f"{METHODS[method]} stops after {count:.0f} iterations of {each:.2g} ms at an error of {error:.2g}"


def _scaled_gd(sigmas: Sequence[float], rows: Sequence[Row]) -> Judgement:
    """Every run, not the median: one that goes astray is what the start is to prevent."""
    worst = max(r["error"] for s in sigmas for r in _group(rows, s, "scaled-gd"))
    codes = {r["code"] for s in sigmas for r in _group(rows, s, "scaled-gd")}
    return judge_claim(
        "methods/scaled-gd-start",
        worst < REASONABLE,
        f"largest error of all runs {worst:.2g}; ended: {', '.join(sorted(codes))}",
        otherwise=f"a run ends at an error of {worst:.2g}",
    )


def _error_claims(
    sigmas: Sequence[float], theirs: Sequence[str], errors: Mapping[tuple[str, float], float]
) -> list[Judgement]:
    worst = max(errors, key=lambda pair: errors[pair])
    others = [m for m in theirs if m != "gd"]
    middle = {s: float(np.median([errors[m, s] for m in others])) for s in sigmas}
    beaten = [s for s in sigmas if errors["gd", s] > 10 * middle[s]]
    return [
        judge_claim(
            "methods/reasonable",
            errors[worst] < REASONABLE,
            f"largest median error {errors[worst]:.2g} ({METHODS[worst[0]]}, σ = {worst[1]:g})",
            otherwise=f"{METHODS[worst[0]]} stays above {REASONABLE:g}",
        ),
        judge_claim(
            "methods/comparable",
            not beaten,
            "; ".join(
                f"σ = {s:g}: GD {errors['gd', s]:.2g}, others {min(errors[m, s] for m in others):.2g} to "
                f"{max(errors[m, s] for m in others):.2g}"
                for s in sigmas
            ),
            otherwise="; ".join(
                f"at σ = {s:g} GD has {errors['gd', s] / middle[s]:.2g} times the error of the others' median"
                for s in beaten
            ),
        ),
    ]


def _noisy_claims(
    noisy: float, theirs: Sequence[str], rows: Sequence[Row], errors: Mapping[tuple[str, float], float]
) -> list[Judgement]:
    spread = {m: errors[m, noisy] for m in theirs}
    high, low = max(spread, key=lambda m: spread[m]), min(spread, key=lambda m: spread[m])
    clean = {m: _median(rows, noisy, m, "clean") for m in theirs}
    nonconvex = max(value for m, value in clean.items() if m != "admm")
    printed, as_printed = (_median(rows, noisy, "admm-printed", name) for name in ("clean", "error"))
    found = [
        judge_claim(
            "methods/noisy-error",
            spread[high] / spread[low] < 2,
            f"from {spread[low]:.3g} ({METHODS[low]}) to {spread[high]:.3g} ({METHODS[high]}), against the noisy M",
            otherwise=f"without {METHODS[high]} the largest is {max(v for m, v in spread.items() if m != high):.3g}; "
            f"with its step as printed ADMM ends at {as_printed:.3g}, {as_printed / spread[low]:.2g} times the smallest",
        ),
        judge_claim(
            "convex/worse",
            min(clean["admm"], printed) > 1.2 * nonconvex,
            f"error against M* at σ = {noisy:g}: ADMM {clean['admm']:.2g}, with its step as printed {printed:.2g}, the "
            f"worst of the others {nonconvex:.2g}",
            otherwise=f"the better reading of ADMM is within 1.2 times of {nonconvex:.2g}",
            why=_without_noise(theirs, errors),
        ),
    ]
    if ("gd", 0.0) in errors:
        found.insert(1, _noisy_time(noisy, theirs, rows))
    return found


def _without_noise(theirs: Sequence[str], errors: Mapping[tuple[str, float], float]) -> str:
    """What a reader must know beside the noisy comparison: exact data are another matter."""
    if ("admm", 0.0) not in errors:
        return ""
    others = [errors[m, 0.0] for m in theirs if m != "admm"]
    place = sum(error < errors["admm", 0.0] for error in others)
    return (
        f"without noise ADMM ends at {errors['admm', 0.0]:.2g}, and {place} of the other {len(others)} methods at a "
        "smaller error"
    )


def _noisy_time(noisy: float, theirs: Sequence[str], rows: Sequence[Row]) -> Judgement:
    times = {m: _median(rows, noisy, m, "cpu") / _median(rows, 0.0, m, "cpu") for m in theirs}
    off_by = max(times, key=lambda m: abs(np.log(times[m])))
    with_noise, without = (_median(rows, s, off_by, "iterations") for s in (noisy, 0.0))
    return judge_claim(
        "methods/noisy-time",
        1 / 3 < times[off_by] < 3,
        ", ".join(f"{METHODS[m]} {value:.2g} times" for m, value in times.items()),
        otherwise=f"{METHODS[off_by]} takes {with_noise:.0f} iterations with noise and {without:.0f} without",
    )


def _reached(row: Row, error: float) -> float:
    """When the default's error against M* was as small as another method's in the end, to two per cent.

    Errors at rounding are all the same. A default that never gets there takes for ever.
    """
    wanted = max(1.02 * error, ROUNDING)
    pairs = zip(row["path"]["cpu"], row["path"]["clean"], strict=True)
    ended = float(row["cpu"]) if row["clean"] <= wanted else np.inf
    return next((cpu for cpu, own in pairs if own <= wanted), ended)


def _ours(sigmas: Sequence[float], theirs: Sequence[str], rows: Sequence[Row]) -> Judgement:
    """Whether a method ends before the default has reached the same error, in the median of the trials."""
    ratios: dict[tuple[str, float], list[float]] = {}
    for sigma in sigmas:
        own = {row["seed"]: row for row in _group(rows, sigma, "default")}
        for method in theirs:
            pairs = [(r, own[r["seed"]]) for r in _group(rows, sigma, method) if r["seed"] in own]
            ratios[method, sigma] = [r["cpu"] / _reached(ours, r["clean"]) for r, ours in pairs]
    middle = {case: float(np.median(values)) for case, values in ratios.items() if values}
    faster = [
        f"{METHODS[method]} at σ = {sigma:g}: {ratio:.2g} of the time"
        for (method, sigma), ratio in middle.items()
        if ratio < 1
    ]
    method, sigma = closest = min(middle, key=lambda case: middle[case])
    wins = sum(ratio < 1 for ratio in ratios[closest])
    return judge_claim(
        "methods/default",
        not faster,
        f"the quickest, {METHODS[method]} at σ = {sigma:g}, takes {middle[closest]:.2g} times as long to the error at "
        f"which it stops (median; on {wins} of {len(ratios[closest])} matrices it is there before the default)",
        otherwise="; ".join(faster),
        better=True,
    )


def _draw(sizes: Sizes, rows: Sequence[Row]) -> Figure:
    sigmas = sizes["sigmas"]
    drawn = figure(7.4, 0.7 + 2.5 * len(sigmas))
    axes = drawn.subplots(len(sigmas), 2, squeeze=False)
    for line, sigma in zip(axes, sigmas, strict=True):
        methods = _methods(sigma)
        for ax, quantity in zip(line, ("error", "cpu"), strict=True):
            boxes(ax, [numbers(_group(rows, sigma, m), quantity) for m in methods], list(methods.values()), ours=0)
            ax.set_title(f"σ = {sigma:g}", fontsize="medium")
        line[1].set_yticklabels([])
        line[0].set_xlabel("completion error ‖M̂ − M‖$_F$/‖M‖$_F$")
        line[1].set_xlabel("CPU time (s)")
    return drawn
