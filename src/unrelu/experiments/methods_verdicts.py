"""What the paper says of the methods it compares, judged on the trials of ``figure-methods``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from unrelu.experiments.base import Judgement, Row, Sizes, numbers
from unrelu.experiments.judging import judge_claim

__all__ = ["METHODS", "READINGS", "group_of", "median_of", "method_claims"]

# Names on the figure; gradient descent with the step that fits the paper's table, and with the longest safe one.
METHODS = {
    "default": "unrelu default",
    "gd": "GD",
    "gd-slow": "GD, inferred step",
    "momentum-pam": "MPAM",
    "pam": "PAM",
    "scaled-gd": "ScaledGD",
    "admm": "ADMM",
    "gnmr": "GNMR",
}
# ADMM once more with noise, at a smaller size: as printed it works with matrices of high rank and takes long.
READINGS = {"admm-ball": "projection onto the ball", "admm-printed": "as printed, with a square"}
# "As fast", "slightly faster" and "substantially faster", as ratios of CPU times.
ALIKE, SUBSTANTIAL = 2.0, 5.0
# Up to this relative error a completion counts as reasonable.
REASONABLE = 1e-2
# Relative errors below this are rounding, and none is better than another.
ROUNDING = 1e-12


def group_of(rows: Sequence[Row], sigma: float, method: str) -> list[Row]:
    """Trials of one method at one noise level."""
    return [r for r in rows if r["sigma"] == sigma and r["method"] == method]


def median_of(rows: Sequence[Row], sigma: float, method: str, name: str) -> float:
    """The median of one quantity over them."""
    return float(np.median(numbers(group_of(rows, sigma, method), name)))


def method_claims(sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
    """Speeds, errors, what noise changes, and the default beside them."""
    sigmas = sizes["sigmas"]
    theirs = [method for method in METHODS if method not in ("default", "gd-slow")]
    errors = {(m, s): median_of(rows, s, m, "error") for m in theirs for s in sigmas}
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
    ratios = {s: median_of(rows, s, method, "cpu") / median_of(rows, s, "gd", "cpu") for s in sigmas}
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
    count = median_of(rows, sigma, method, "iterations")
    each = 1000 * median_of(rows, sigma, method, "cpu") / max(count, 1.0)
    error = median_of(rows, sigma, method, "error")
    return f"{METHODS[method]} stops after {count:.0f} iterations of {each:.2g} ms at an error of {error:.2g}"


def _scaled_gd(sigmas: Sequence[float], rows: Sequence[Row]) -> Judgement:
    """Every run, not the median: one that goes astray is what the start is to prevent."""
    worst = max(r["error"] for s in sigmas for r in group_of(rows, s, "scaled-gd"))
    codes = {r["code"] for s in sigmas for r in group_of(rows, s, "scaled-gd")}
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
    clean = {m: median_of(rows, noisy, m, "clean") for m in theirs}
    nonconvex = max(value for m, value in clean.items() if m != "admm")
    found = [
        judge_claim(
            "methods/noisy-error",
            spread[high] / spread[low] < 2,
            f"from {spread[low]:.3g} ({METHODS[low]}) to {spread[high]:.3g} ({METHODS[high]}), against the noisy M",
            otherwise=f"without {METHODS[high]} the largest is {max(v for m, v in spread.items() if m != high):.3g}; "
            + _readings(noisy, rows, "error"),
        ),
        judge_claim(
            "convex/worse",
            clean["admm"] > 1.2 * nonconvex,
            f"error against M* at σ = {noisy:g}: ADMM {clean['admm']:.2g}, the worst of the others {nonconvex:.2g}; "
            + _readings(noisy, rows, "clean"),
            otherwise=f"ADMM is within 1.2 times of {nonconvex:.2g}",
            why=_without_noise(theirs, errors),
        ),
    ]
    if ("gd", 0.0) in errors:
        found.insert(1, _noisy_time(noisy, theirs, rows))
    return found


def _readings(noisy: float, rows: Sequence[Row], name: str) -> str:
    """What the square that the paper prints in ADMM's X-update makes of its error."""
    ball, printed = (median_of(rows, noisy, reading, name) for reading in READINGS)
    n, r = next((row["n"], row["r"]) for row in group_of(rows, noisy, "admm-printed"))
    return f"with its X-update as printed ADMM has {printed / ball:.2g} times its error (n = {n}, r = {r})"


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
    times = {m: median_of(rows, noisy, m, "cpu") / median_of(rows, 0.0, m, "cpu") for m in theirs}
    off_by = max(times, key=lambda m: abs(np.log(times[m])))
    with_noise, without = (median_of(rows, s, off_by, "iterations") for s in (noisy, 0.0))
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
        own = {row["seed"]: row for row in group_of(rows, sigma, "default")}
        for method in theirs:
            pairs = [(r, own[r["seed"]]) for r in group_of(rows, sigma, method) if r["seed"] in own]
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
