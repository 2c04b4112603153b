"""What the paper says of the methods it compares, judged on the trials of ``figure-methods``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unrelu._old.experiments import rules
from unrelu._old.experiments.base import Judgement, Row, Sizes
from unrelu._old.experiments.methods_readings import ERRORS, MAIN, VARIANTS
from unrelu._old.experiments.methods_sample import Trials
from unrelu._old.experiments.rules.common import LEAST_VALUES
from unrelu._old.experiments.solve import RECOVERED, STEPS

__all__ = ["ALIKE", "SUBSTANTIAL", "judge_methods", "reached"]

# What the words of a claim stand for. "Slightly", "as fast" and "similar" end at a factor of two.
ALIKE, SUBSTANTIAL, COMPARABLE = 2.0, 5.0, 10.0
# Up to this relative error a completion counts as reasonable.
REASONABLE = 1e-2
# Relative errors below this are rounding, and none is better than another.
ROUNDING = 1e-12
# The default has reached another method's error if its own is at most this many times as large.
AS_CLOSE = 1.02


@dataclass(frozen=True)
class Speed:
    """A claim about CPU time over that of gradient descent, and what is wrong with a ratio out of its bounds."""

    method: str
    low: float
    high: float
    below: str
    above: str = ""


SPEEDS = {
    "methods/as-mpam": Speed("MPAM", 1 / ALIKE, ALIKE, "GD takes more than twice as long", "GD takes less than half"),
    "methods/pam": Speed("PAM", 1.0, ALIKE, "GD is the slower one", "GD is more than slightly faster"),
    "methods/scaled-gd": Speed("ScaledGD", 1.0, ALIKE, "GD is the slower one", "GD is more than slightly faster"),
    "methods/admm": Speed("ADMM", SUBSTANTIAL, math.inf, "GD is not substantially faster"),
    "methods/gnmr": Speed("GNMR", SUBSTANTIAL, math.inf, "GD is not substantially faster"),
}
# The nonconvex methods; gradient descent at every step, from the start that does not go astray.
NONCONVEX = [*(f"gd {step:g}" for step in STEPS), *(name for m, name in MAIN.items() if m not in ("GD", "ADMM"))]
# Of which more readings run at a smaller size than at the paper's.
READ_TWICE = ("methods/admm", "methods/gnmr")


def judge_methods(sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
    """Speeds, errors, what noise changes, and the default beside them."""
    paper = [Trials.at(rows, (sizes["n"], sizes["r"]), sigma, paper=True) for sigma in sizes["sigmas"]]
    readings = [Trials.at(rows, sizes["readings"], sigma, paper=False) for sigma in sizes["sigmas"]]
    found = [_comparable(at) for at in paper]
    for key, speed in SPEEDS.items():
        places = [*paper, *readings] if key in READ_TWICE else paper
        found += [_speed(key, speed, at) for at in places]
    found.append(_scaled_gd([*paper, *readings]))
    found += [_reasonable(at) for at in paper]
    noisy = [at for at in [*paper, *readings] if at.sigma > 0]
    found += [_noisy_error(at) for at in noisy]
    found += [_noisy_time(paper, method, method) for method in MAIN]
    found.append(_noisy_time(readings, "ADMM", "ADMM, n = {}, r = {}".format(*sizes["readings"])))
    found += [_default(at) for at in paper]
    return [*found, *(_convex(at) for at in [*paper, *(at for at in readings if at.sigma > 0)])]


def _fault(ratios: Sequence[float], bounds: tuple[float, float], below: str, above: str) -> str:
    """What is wrong with ratios that do not lie between two bounds; nothing if they do, or are too few to say."""
    if len(ratios) < LEAST_VALUES or not all(0 < ratio < math.inf for ratio in ratios):
        return ""
    middle = math.exp(float(np.mean(np.log(ratios))))
    return below if middle < bounds[0] else above if middle > bounds[1] else ""


def _across(found: Mapping[str, Judgement], rests: Sequence[str], chosen: str) -> Judgement:
    return rules.across(found, rests, chosen=chosen)


def _middle(values: Mapping[int, float]) -> float:
    return float(np.median(list(values.values()))) if values else math.nan


def _chosen(method: str) -> str:
    return VARIANTS[MAIN[method]].setting


def _at_every(at: Trials, method: str, judged: Any) -> Judgement:
    """A claim at every variant of a method."""
    found = {variant.setting: judged(name) for name, variant in at.variants(method).items()}
    return _across(found, at.rests(method), _chosen(method))


def _by_error(judged: Any) -> Judgement:
    """A claim with each matrix that may be meant."""
    return _across({label: judged(name) for name, label in ERRORS.items()}, ["error"], next(iter(ERRORS.values())))


def _speed(key: str, speed: Speed, at: Trials) -> Judgement:
    """A method's CPU time over that of gradient descent, on each matrix, with every setting of both."""
    every = [at.over(name, descent) for name in at.variants(speed.method) for descent in at.variants("GD")]
    means = [math.exp(float(np.mean(np.log(ratios)))) for ratios in every if ratios]
    # Where all settings agree only one is shown; its reason may be the opposite of another's.
    span = f"Over all settings the ratio is {min(means):.2g} to {max(means):.2g}" if means else ""

    def one(name: str, descent: str, why: str) -> Judgement:
        ratios = at.over(name, descent)
        fault = _fault(ratios, (speed.low, speed.high), speed.below, speed.above)
        efforts = f": {at.effort(name, speed.method)}, {at.effort(descent, 'GD')}"
        return rules.ratio(
            key,
            ratios,
            speed.low,
            speed.high,
            f"{speed.method}/GD",
            otherwise=fault and fault + efforts,
            why=why,
            case=at.case,
        )

    def judged(why: str) -> Judgement:
        return _at_every(at, speed.method, lambda name: _at_every(at, "GD", lambda descent: one(name, descent, why)))

    found = judged("")
    return found if found.verdict == rules.DEPENDS else judged(span)


def _comparable(at: Trials) -> Judgement:
    """The error of gradient descent over the median of the others', on each matrix."""
    others = [name for method, name in MAIN.items() if method != "GD"]

    def one(error: str, descent: str) -> Judgement:
        own, theirs = at.values(descent, error), [at.values(name, error) for name in others]
        seeds = sorted(set(own).intersection(*theirs))
        middle = {seed: float(np.median([values[seed] for values in theirs])) for seed in seeds}
        ends = [_middle(values) for values in theirs]
        words = f"GD {_middle(own):.2g}, others {min(ends):.2g} to {max(ends):.2g}" if seeds else ""
        ratios = [own[seed] / middle[seed] for seed in seeds if middle[seed]]
        larger = f"GD has more than {COMPARABLE:g} times the error of the others' median"
        return rules.ratio(
            "methods/comparable",
            ratios,
            0.0,
            COMPARABLE,
            words,
            otherwise=_fault(ratios, (0.0, COMPARABLE), "", larger),
            case=at.case,
        )

    return _by_error(lambda error: _at_every(at, "GD", lambda descent: one(error, descent)))


def _scaled_gd(places: Sequence[Trials]) -> Judgement:
    """Every run, not the median: one that goes astray is what the start is to prevent."""

    def one(name: str) -> Judgement:
        runs = []
        for at in places:
            own, theirs = at.values(name, "own_m"), at.values(MAIN["GD"], "own_m")
            ended = {row.get("seed"): row.get("code") == "converged" for row in at.group(name)}
            runs += [
                bool(ended.get(s)) and own[s] <= COMPARABLE * theirs[s] < math.inf for s in own.keys() & theirs.keys()
            ]
        return rules.always(
            "methods/scaled-gd-start",
            sum(runs),
            len(runs),
            f"{sum(runs)} of {len(runs)} runs converge to at most {COMPARABLE:g} times the error of GD",
            otherwise=f"{len(runs) - sum(runs)} of {len(runs)} do not",
        )

    found = {variant.setting: one(name) for name, variant in places[0].variants("ScaledGD").items()} if places else {}
    if not found:
        return rules.no_evidence("methods/scaled-gd-start", "no noise level was run")
    return _across(found, places[0].rests("ScaledGD"), _chosen("ScaledGD"))


def _reasonable(at: Trials) -> Judgement:
    """Every method on every matrix: with all its settings the error is reasonable."""

    def one(error: str) -> Judgement:
        found: dict[tuple[str, int], tuple[float, str]] = {}
        for method in MAIN:
            for name in at.variants(method):
                for seed, value in at.values(name, error).items():
                    found[method, seed] = max(found.get((method, seed), (value, name)), (value, name))
        good = sum(value < REASONABLE for value, _ in found.values())
        most = max(found.values(), default=None)
        worst = "" if most is None else f"{VARIANTS[most[1]].label} ends at {most[0]:.2g}"
        return rules.always(
            "methods/reasonable",
            good,
            len(found),
            f"{good} of {len(found)} errors below {REASONABLE:g}{worst and f'; {worst}, the largest'}",
            otherwise=worst,
            case=at.case,
        )

    return _by_error(one)


def _noisy_error(at: Trials) -> Judgement:
    """The largest error over the smallest, on each matrix."""

    def one(error: str, admm: str) -> Judgement:
        names = [*NONCONVEX, admm]
        spread = {name: at.values(name, error) for name in names}
        seeds = sorted(set(spread[admm]).intersection(*spread.values()))
        ratios = [
            max(v[s] for v in spread.values()) / low for s in seeds if (low := min(v[s] for v in spread.values())) > 0
        ]
        middle = (
            {name: float(np.median([values[s] for s in seeds])) for name, values in spread.items()} if seeds else {}
        )
        high = max(middle, key=lambda name: middle[name], default=admm)
        words = f"{min(middle.values()):.3g} to {middle[high]:.3g} ({VARIANTS[high].method})" if middle else ""
        return rules.ratio(
            "methods/noisy-error",
            ratios,
            1.0,
            ALIKE,
            words,
            otherwise=_fault(
                ratios, (1.0, ALIKE), "", f"{VARIANTS[high].method} has more than {ALIKE:g} times the least"
            ),
            case=at.case,
        )

    return _at_every(at, "ADMM", lambda admm: _by_error(lambda error: one(error, admm)))


def _noisy_time(places: Sequence[Trials], method: str, case: str) -> Judgement:
    """A method's CPU time with noise over that without, on the matrix from the same factor."""
    without = [at for at in places if at.sigma == 0]
    with_noise = [at for at in places if at.sigma > 0]
    if not (without and with_noise):
        return rules.no_evidence("methods/noisy-time", "needs runs with and without noise", case=case)
    clean, noisy = without[0], max(with_noise, key=lambda at: at.sigma)

    def one(name: str) -> Judgement:
        above, below = noisy.values(name, "cpu"), clean.values(name, "cpu")
        counts = noisy.median(name, "iterations"), clean.median(name, "iterations")
        words = "" if None in counts else f"{counts[0]:.0f} iterations with noise, {counts[1]:.0f} without"
        ratios = [above[seed] / below[seed] for seed in sorted(above.keys() & below.keys())]
        return rules.ratio(
            "methods/noisy-time",
            ratios,
            1 / ALIKE,
            ALIKE,
            words,
            otherwise=_fault(
                ratios, (1 / ALIKE, ALIKE), "less than half as long with noise", "more than twice as long"
            ),
            case=case,
        )

    both = noisy.variants(method).keys() & clean.variants(method).keys()
    judged = {v.setting: one(name) for name, v in noisy.variants(method).items() if name in both}
    return _across(judged, noisy.rests(method), _chosen(method))


def reached(row: Row, error: float) -> float:
    """When the default's error against M* was as small as another method's in the end, to two per cent.

    Errors at rounding are all the same. A default that never gets there takes for ever.
    """
    wanted = max(AS_CLOSE * error, ROUNDING)
    path, last, cpu = row.get("path") or {}, row.get("psd_clean"), row.get("cpu")
    pairs = zip(path.get("cpu", ()), path.get("clean", ()), strict=False)
    ended = float(cpu) if isinstance(last, float) and isinstance(cpu, float) and last <= wanted else math.inf
    return next((float(at) for at, own in pairs if own <= wanted), ended)


def _default(at: Trials) -> Judgement:
    """The path of the default is known against M*, so that is where it is compared."""
    against = {label: _soonest(at, error) for error, label in ERRORS.items() if error.endswith("clean")}
    return _across(against, ["error"], ERRORS["own_clean"])


def _soonest(at: Trials, error: str) -> Judgement:
    """On each matrix, the method that comes to its error soonest, over the default's way to the same error."""
    own = {row.get("seed"): row for row in at.group("default")}
    ratios: dict[int, tuple[float, str]] = {}
    for method in MAIN:
        for name in at.variants(method):
            cpu, errors = at.values(name, "cpu"), at.values(name, error)
            for seed in cpu.keys() & errors.keys() & own.keys():
                ours = reached(own[seed], errors[seed])
                found = (cpu[seed] / ours if ours > 0 else math.nan, name)
                ratios[seed] = min(ratios.get(seed, found), found)
    names = [name for _, name in ratios.values()]
    most = max(names, key=names.count, default="")
    words = f"soonest {VARIANTS[most].label}, on {names.count(most)} of {len(names)} matrices" if names else ""
    return rules.ratio(
        "methods/default",
        [ratio for ratio, _ in ratios.values()],
        1.0,
        math.inf,
        words,
        otherwise=f"{VARIANTS[most].label} is there before the default" if most else "",
        case=at.case,
        better=True,
    )


def _convex(at: Trials) -> Judgement:
    """The error of ADMM over the largest of the nonconvex methods', on each matrix."""
    exact = "ADMM finds the matrix too, and what is left says only where each method's rule stops"
    smaller = "ADMM has the smaller error"

    def one(error: str, admm: str) -> Judgement:
        own, theirs = at.values(admm, error), [at.values(name, error) for name in NONCONVEX]
        seeds = sorted(set(own).intersection(*theirs))
        worst = {seed: max(values[seed] for values in theirs) for seed in seeds}
        words = f"ADMM {_middle(own):.2g}, worst other {_middle(worst):.2g}"
        ratios = [own[seed] / worst[seed] for seed in seeds if worst[seed]]
        found = at.sigma == 0 and max(own.values(), default=math.inf) < RECOVERED
        return rules.ratio(
            "convex/worse",
            ratios,
            1.0,
            math.inf,
            words if seeds else "",
            otherwise=_fault(ratios, (1.0, math.inf), exact if found else smaller, ""),
            case=at.case,
        )

    return _by_error(lambda error: _at_every(at, "ADMM", lambda admm: one(error, admm)))
