"""What the runs of ``table-initialisation`` say of Tables 1 and 2 and of the text about them, under every reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from unrelu._old.experiments import rules
from unrelu._old.experiments.base import Judgement, Row, numbers
from unrelu._old.experiments.judging import printed, spread_text
from unrelu._old.experiments.solve import AT_REST, FITTED, RECOVERED, ending, over_steps, value_of

__all__ = [
    "COLUMNS",
    "JUDGED_UNITS",
    "QUANTITIES",
    "START_NAMES",
    "UNITS",
    "Groups",
    "arrives",
    "compared",
    "elsewhere",
    "end_of",
    "grouped",
    "neighbourhood",
    "optimal",
    "power",
    "values",
]

START_NAMES = {"tailored": "our init", "random-imputation": "RI init", "random-spectral": "RS init"}
COLUMNS = {"scaled": True, "orthonormal": False}
QUANTITIES = ("alpha", "beta", "gamma")
# Of which gradient the norm is taken, for α and for the end of a run: the suffix of what was read off there.
GRADIENTS = {"printed gradient": "", "true gradient": "_true"}
# What β may be, as a multiple of F = ¼‖Z‖² less a multiple of ½‖Z − Zᵀ‖²; for ½‖Z + Zᵀ‖² = 2‖Z‖² − ½‖Z − Zᵀ‖².
UNITS = {
    "½‖Z+Zᵀ‖²": (8.0, 1.0),
    "2‖Z‖²": (8.0, 0.0),
    "‖Z‖²": (4.0, 0.0),
    "½‖Z‖²": (2.0, 0.0),
    "¼‖Z‖²": (1.0, 0.0),
}
# The one that fits, the one that fits our init only, and the one that is printed.
JUDGED_UNITS = ("½‖Z+Zᵀ‖²", "‖Z‖²", "¼‖Z‖²")
# "O(σ)": the power of σ with which the error grows.
POWERS = (0.9, 1.1)

# The runs of one noise level, start, reading of the start and step.
Groups = Mapping[tuple[float, str, bool, float], Sequence[Row]]


def grouped(rows: Sequence[Row]) -> Groups:
    """The runs by noise level, start, reading of the start and step."""
    groups: dict[tuple[float, str, bool, float], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["sigma"], row["start"], row["scaled"], row["step"]), []).append(row)
    return groups


def values(group: Sequence[Row], quantity: str, suffix: str = "", unit: str = "¼‖Z‖²") -> list[float]:
    """What each run found; β in a unit of choice.

    Examples
    --------
    >>> values([{"beta": 2.0, "skew": 3.0}], "beta", unit="½‖Z+Zᵀ‖²"), values([{"gamma": None}], "gamma")
    ([13.0], [nan])
    """
    found = [value_of(row, quantity + suffix) for row in group]
    if quantity != "beta":
        return found
    times, less = UNITS[unit]
    return [times * F - less * value_of(row, "skew") for F, row in zip(found, group, strict=True)]


def compared(key: str, sigma: float, start: str, quantity: str, groups: Groups) -> Judgement:
    """A printed number under every reading: of the start, of β's unit, of the gradient, at every step."""
    rule = rules.stalled if printed()["numbers"][key].get("rule") == "stalled" else rules.number
    note = "The inferred step was fitted to this number" if (start, quantity) == ("tailored", "alpha") else ""

    def at(scaled: bool, suffix: str, step: float) -> Judgement:
        group = groups.get((sigma, start, scaled, step), ())
        rests = ("noise",) if sigma else ()
        if quantity != "beta":
            return rule(key, values(group, quantity, suffix), note, rests=rests)
        units = {unit: rule(key, values(group, quantity, suffix, unit), note, rests=rests) for unit in JUDGED_UNITS}
        return rules.across(units, ["β's unit"])

    def by_gradient(scaled: bool) -> Judgement:
        found = {name: over_steps(partial(at, scaled, suffix)) for name, suffix in GRADIENTS.items()}
        return rules.across(found, ["gradient"])

    return rules.across({name: by_gradient(scaled) for name, scaled in COLUMNS.items()}, ["start"])


def end_of(row: Row) -> str:
    """Where a run ended."""
    return ending(value_of(row, "gamma_clean"), value_of(row, "rest"), row["sigma"])


def arrives(key: str, groups: Groups, scaled: bool, step: float) -> Judgement:
    """Whether the tailored start always leads to the planted matrix, without noise."""
    runs = groups.get((0.0, "tailored", scaled, step), ())
    ends = Counter(map(end_of, runs))
    return rules.always(
        key,
        ends["planted"],
        len(runs),
        f"σ = 0: {ends['planted']} of {len(runs)} matrices",
        otherwise=f"{ends['elsewhere']} come to rest elsewhere, {ends['cut off']} are cut off before"
        + ("" if scaled else "; orthonormal columns start at the wrong scale"),
        rests=("start", "recovered") if scaled else ("recovered",),
    )


def elsewhere(key: str, sigma: float, start: str, groups: Groups) -> Judgement:
    """Runs that were cut off say nothing of where they would have ended, and are not counted."""
    case = START_NAMES[start] + (f", σ = {sigma:g}" if sigma else "")

    def at(scaled: bool, step: float) -> Judgement:
        runs = groups.get((sigma, start, scaled, step), ())
        ends = Counter(map(end_of, runs))
        errors = numbers([r for r in runs if end_of(r) == "elsewhere"], "gamma_clean")
        nearest = f" (error {min(errors):.2g} or more)" if errors else ""
        return rules.generally(
            key,
            ends["elsewhere"],
            ends["elsewhere"] + ends["planted"],
            f"{ends['elsewhere']} runs come to rest elsewhere{nearest}, {ends['planted']} at the planted matrix; "
            f"{ends['cut off']} cut off before and not counted",
            otherwise="most runs reach the planted matrix",
            case=case,
            rests=("at rest", "recovered"),
        )

    return rules.across({name: over_steps(partial(at, scaled)) for name, scaled in COLUMNS.items()}, ["start"])


def neighbourhood(sigma: float, groups: Groups) -> Judgement:
    """Whether runs from the tailored start always come to rest near the planted matrix, with noise."""

    def at(step: float) -> Judgement:
        runs = groups.get((sigma, "tailored", True, step), ())
        good = sum(end_of(r) == "planted" and value_of(r, "rest") <= AT_REST for r in runs)
        worst = max(numbers(runs, "gamma_clean"), default=float("nan")) / sigma
        return rules.always(
            "init/neighbourhood",
            good,
            len(runs),
            f"{good} of {len(runs)} runs come to rest with an error of at most σ against M*; largest {worst:.2g} σ",
            otherwise="the others end further away or are cut off",
            case=f"σ = {sigma:g}",
            rests=("start", "at rest", "recovered"),
        )

    return over_steps(at)


def power(noisy: Sequence[float], groups: Groups, step: float) -> Judgement:
    """Of each matrix the power of σ between the lowest and the highest noise level."""
    key, rests = "init/neighbourhood-power", ("start",)
    if len(noisy) < 2:
        return rules.no_evidence(key, "it takes two noise levels", rests=rests)
    low, high = (
        {r["seed"]: value_of(r, "gamma_clean") for r in groups.get((sigma, "tailored", True, step), ())}
        for sigma in (noisy[0], noisy[-1])
    )
    pairs = [(low[seed], high[seed]) for seed in low if seed in high]
    powers = [
        float(np.log(b / a) / np.log(noisy[-1] / noisy[0])) if 0 < a < np.inf and 0 < b < np.inf else float("nan")
        for a, b in pairs
    ]
    words = (
        f"the error against M* grows like σ to the power {spread_text(powers)} from σ = {noisy[0]:g} to {noisy[-1]:g}"
    )
    return rules.bounded(key, powers, *POWERS, words, otherwise="it grows with another power", rests=rests)


def optimal(rows: Sequence[Row]) -> Judgement:
    """Theorem 1 on the runs without noise that fit what is seen, from whatever start: a matrix counts once."""
    fits: dict[int, list[float]] = {}
    for row in rows:
        if row["sigma"] == 0 and value_of(row, "beta") < FITTED:
            fits.setdefault(row["seed"], []).append(value_of(row, "gamma"))
    good = sum(all(gamma < RECOVERED for gamma in found) for found in fits.values())
    worst = max((gamma for found in fits.values() for gamma in found), default=float("nan"))
    return rules.always(
        "init/optimal",
        good,
        len(fits),
        f"{sum(map(len, fits.values()))} runs on {len(fits)} matrices fit every seen entry; largest completion error "
        f"{worst:.2g}",
        otherwise="some fit without residual is another matrix",
        rests=("fit", "recovered"),
    )
