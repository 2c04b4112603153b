"""What must be true of an answer: each check is a small function from instance and answer to a sentence, or None."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

from soak.answer import Answer
from soak.instance import DISTANCES, Instance

__all__ = ["CHECKS", "COMPARISONS", "compared", "coverage", "failures", "found", "interchangeable", "off", "right_rows"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Check = Callable[[Instance, Answer], str | None]
Comparison = Callable[[Instance, Answer, Answer], str | None]

SURE = ("generic", "proved")
# With noise: so many standard errors, for many degrees of freedom; for few the same probability by Student's t.
FAR = 6.0
# Where the answer itself says that noise decided what was seen, and that its errors are too small, so many times that.
CAUTIOUS = 2.0
# Bounds may be off by this share of the largest entry: the rounding of the truth itself.
ROUNDING = 1e-9
# Without standard errors: so many standard deviations of the noise are plainly too far.
PLAINLY = 10.0
# Two answers to the same question agree to this share of the largest entry where there is noise.
ALIKE = 1e-4

CHECKS: dict[str, Check] = {}
COMPARISONS: dict[str, Comparison] = {}


def check(function: Check) -> Check:
    """List a check under its name."""
    CHECKS[function.__name__.replace("_", "-")] = function
    return function


def found(instance: Instance, answer: Answer) -> dict[str, str]:
    """Every check that fails, with a sentence each."""
    said = {name: one(instance, answer) for name, one in CHECKS.items()} if answer.values is not None else {}
    return failures(answer) | {name: words for name, words in said.items() if words is not None}


def failures(answer: Answer) -> dict[str, str]:
    """Exceptions and warnings, the first of each."""
    said: dict[str, str] = {}
    for _, what, words in answer.failures:
        said.setdefault(what, words)
    return said


def together(answer: Answer) -> Bools:
    """Pairs of determined rows that share a frame."""
    if answer.determined is None or answer.components is None:
        return np.zeros((0, 0), bool)
    fixed, part = answer.determined, answer.components
    pairs: Bools = fixed[:, None] & fixed & (part[:, None] == part)
    return pairs


def limit(freedom: int) -> float:
    """How many standard errors six are, with so many degrees of freedom."""
    return float(t.isf(norm.sf(FAR), freedom)) if freedom > 0 else np.inf


def allowed(answer: Answer) -> float:
    """How many of its standard errors an entry may be off."""
    return limit(answer.freedom) * (CAUTIOUS if answer.cautious else 1.0)


def off(instance: Instance, answer: Answer) -> Floats:
    """How far each entry is from the truth, 1 being as far as is still right; for noisy distances each point."""
    assert answer.values is not None
    with np.errstate(invalid="ignore", divide="ignore"):
        if not instance.noise and not instance.wrong:
            return np.abs(answer.values - instance.truth) / instance.close
        if answer.errors is None:
            return np.zeros_like(instance.truth)
        if instance.group == DISTANCES:
            return _places_off(instance, answer)
        far = allowed(answer)
        room = far * answer.errors + far**2 * _own_square(instance, answer)
        return np.where(np.isfinite(answer.errors), np.abs(answer.values - instance.truth) / room, 0.0)


def _own_square(instance: Instance, answer: Answer) -> Floats:
    """What a row that moves by a standard error adds to its own diagonal entry beside 2u·δ: δ², and 0 elsewhere.

    Where the row is small that is nearly all there is, and no normal number: it is six times its standard deviation
    once in a few hundred. A row moves by at least the errors of its entries over the sizes of others that are not
    small.
    """
    assert answer.errors is not None
    sizes = np.linalg.norm(instance.planted, axis=1)
    large = sizes >= max(float(np.median(sizes)), np.finfo(float).tiny)
    shares = np.where(np.isfinite(answer.errors[:, large]), answer.errors[:, large], 0.0) / sizes[large]
    return np.diag(shares.max(axis=1, initial=0.0) ** 2)


def _places_off(instance: Instance, answer: Answer) -> Floats:
    """Noisy distances: each point after the best alignment with the truth, as a full matrix of the worse of two."""
    assert answer.points is not None
    assert answer.errors is not None
    assert answer.components is not None
    worst = np.zeros(instance.size)
    for part in np.unique(answer.components):
        rows = np.flatnonzero((answer.components == part) & answer.determined & np.isfinite(answer.errors).all(axis=1))
        if len(rows) < 2:
            continue
        # In units: squares of numbers near 1e-281 are zero.
        A, B, errors = (values[rows] / instance.scale for values in (answer.points, instance.planted, answer.errors))
        A, B = A - A.mean(axis=0), B - B.mean(axis=0)
        left, _, right = np.linalg.svd(A.T @ B)
        gaps = np.abs(A @ left @ right - B)
        room = limit(answer.freedom) * np.linalg.norm(errors, axis=1, keepdims=True)
        if instance.wrong:  # what is left may be exact
            room = room + instance.close / instance.scale
        worst[rows] = (gaps / room).max(axis=1)
    return np.maximum(worst[:, None], worst)


def right_rows(instance: Instance, answer: Answer) -> list[int]:
    """The determined rows, if all that is said of them is right; none otherwise."""
    if answer.values is None or answer.determined is None:
        return []
    wrong = off(instance, answer) > 1
    if instance.noise and instance.group != DISTANCES:
        # Where no standard error says how far off an entry may be, being right must show in the entry itself.
        silent = np.ones_like(wrong) if answer.errors is None or answer.freedom <= 0 else ~np.isfinite(answer.errors)
        sigma = instance.noise * float(np.sqrt(np.mean(instance.truth**2)))
        wrong |= silent & (np.abs(answer.values - instance.truth) > PLAINLY * sigma)
    return [] if (wrong & together(answer)).any() else np.flatnonzero(answer.determined).tolist()


def obeyed(instance: Instance, answer: Answer) -> bool:
    """Whether the determined rows meet all that the data say of them, though the truth does not."""
    assert answer.values is not None
    inside, values = together(answer), instance.values()
    seen, threshold, unknown = instance.seen, instance.options["threshold"], instance.options["unknown"]
    met = np.abs(answer.values - values)[seen & inside]
    absent = ~seen & inside & ~np.eye(instance.size, dtype=bool)
    if unknown is not None:
        absent &= ~unknown
    beyond = (answer.values - threshold)[absent] * (1 if instance.options["seen"] == "above" else -1)
    return bool(met.max(initial=0.0) <= instance.close and beyond.max(initial=0.0) <= instance.close)


def _wrong(instance: Instance, answer: Answer) -> str | None:
    if not instance.consistent and obeyed(instance, answer):
        return None
    far = np.where(together(answer), off(instance, answer), 0.0)
    if not far.size or not far.max() > 1:
        return None
    i, j = np.unravel_index(int(np.argmax(far)), far.shape)
    measured = instance.noise > 0 or instance.wrong
    unit = "standard errors" if measured else "of max|M|"
    much = far.max() * (allowed(answer) if measured else instance.close / instance.scale)
    return f"entry ({i}, {j}) of {int((far > 1).sum())} is off by {much:.2g} {unit}, {answer.code}"


@check
def wrong(instance: Instance, answer: Answer) -> str | None:
    """Converged, determined and wrong."""
    return _wrong(instance, answer) if answer.converged else None


@check
def wrong_not_converged(instance: Instance, answer: Answer) -> str | None:
    """Determined and wrong, although not converged."""
    return None if answer.converged else _wrong(instance, answer)


@check
def entry(instance: Instance, answer: Answer) -> str | None:
    """An entry called generic or proved, outside the determined rows, and written wrong."""
    if instance.noise or instance.wrong or answer.entry_levels is None or answer.filled is None:
        return None
    sure = instance.seen | instance.seen.T
    if instance.consistent:
        sure |= np.isin(answer.entry_levels, SURE) & ~together(answer)
    gaps = np.where(sure, np.abs(answer.filled - instance.truth), 0.0)
    i, j = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
    if not gaps[i, j] > instance.close:
        return None
    much = gaps[i, j] / instance.scale
    return f"entry ({i}, {j}), called {answer.entry_levels[i, j]}, is written off by {much:.2g} of max|M|"


@check
def proved(instance: Instance, answer: Answer) -> str | None:
    """Rows called proved, by the completion or by its certificate, that are wrong."""
    if not instance.exact or answer.values is None or answer.components is None or answer.levels is None:
        return None
    gaps = np.abs(answer.values - instance.truth)
    for who, levels, groups in (
        ("the completion", answer.levels, answer.components),
        ("certify", answer.certified, answer.certified_components),
    ):
        if levels is None or groups is None:
            continue
        rows = levels == "proved"
        pairs = rows[:, None] & rows & (groups[:, None] == groups)
        worst = float(np.where(pairs, gaps, 0.0).max())
        if worst > instance.close:
            return f"{who} calls rows proved that are off by {worst / instance.scale:.2g} of max|M|"
    return None


@check
def unique(instance: Instance, answer: Answer) -> str | None:
    """Called unique by a proof, and not the truth."""
    if not (instance.exact and answer.unique and answer.values is not None):
        return None
    worst = float(np.abs(answer.values - instance.truth).max())
    return f"certify says unique, off by {worst / instance.scale:.2g} of max|M|" if worst > instance.close else None


@check
def bounds(instance: Instance, answer: Answer) -> str | None:
    """Guaranteed bounds that miss the truth."""
    if not instance.exact or answer.bounds is None:
        return None
    rows, cols, low, high = answer.bounds
    if not len(rows):
        return None
    truth = instance.truth[rows, cols]
    miss = np.maximum(low - truth, truth - high) / instance.scale
    k = int(np.argmax(miss))
    slack = instance.close / instance.scale if instance.single else ROUNDING
    if not miss[k] > slack:
        return None
    return f"entry ({rows[k]}, {cols[k]}) is {truth[k]:.6g}, bounds are {low[k]:.6g} and {high[k]:.6g}"


@check
def misfit(instance: Instance, answer: Answer) -> str | None:
    """Converged without noise while a seen entry is not met."""
    if instance.noise or instance.wrong or not answer.converged or answer.values is None:
        return None
    gaps = np.abs(np.where(instance.seen, answer.values - instance.values(), 0.0))
    worst = float(gaps.max())
    return (
        f"a seen entry is off by {worst / instance.scale:.2g} of max|M|, {answer.code}"
        if worst > instance.close
        else None
    )


@check
def best_of_rank(instance: Instance, answer: Answer) -> str | None:
    """Exact data of this rank called data of a higher rank."""
    return answer.reason if instance.exact and answer.code == "best-of-rank" else None


@check
def nan(instance: Instance, answer: Answer) -> str | None:
    """NaN or infinite in the fit, NaN in standard errors or bounds."""
    if answer.values is not None and not np.isfinite(answer.values).all():
        return "the fit is not finite"
    if answer.errors is not None and np.isnan(answer.errors).any():
        return "standard errors are NaN"
    if answer.bounds is not None and np.isnan(answer.bounds[2:]).any():
        return "bounds are NaN"
    return None


def comparison(function: Comparison) -> Comparison:
    """List a comparison of two answers under its name."""
    COMPARISONS[function.__name__.replace("_", "-")] = function
    return function


@comparison
def code(instance: Instance, answer: Answer, other: Answer) -> str | None:
    """The verdict must not depend on the order of the rows, nor on units."""
    return f"{answer.code} became {other.code}" if answer.code != other.code else None


@comparison
def rows(instance: Instance, answer: Answer, other: Answer) -> str | None:
    """Nor which rows are determined."""
    if answer.determined is None or other.determined is None:
        return None
    changed = np.flatnonzero(answer.determined != other.determined)
    # Rows that repeat each other exactly may stand for each other, and so may those that the data do not tell apart.
    _, same = np.unique(instance.planted, axis=0, return_inverse=True)
    for alike in (same.ravel(), interchangeable(instance)) if changed.size else ():
        counts_of = [np.bincount(alike, one.determined.astype(float)) for one in (answer, other)]
        if np.array_equal(*counts_of):
            return None
    counts = f"{int(answer.determined.sum())} and {int(other.determined.sum())}"
    return f"rows {changed.tolist()[:8]} changed ({counts} determined)" if changed.size else None


def interchangeable(instance: Instance) -> NDArray[np.intp]:
    """A number that rows share if the data stay as they are when two of them change places."""
    parts = [instance.values(), *(np.asarray(one) for one in instance.options.values() if np.ndim(one) == 2)]
    alike = np.arange(instance.size)
    for i in range(instance.size):
        for j in np.unique(alike[:i]):
            swapped = np.arange(instance.size)
            swapped[[i, j]] = j, i
            grid = np.ix_(swapped, swapped)
            if all(np.array_equal(part[grid], part, equal_nan=part.dtype.kind == "f") for part in parts):
                alike[i] = j
                break
    return alike


@comparison
def values(instance: Instance, answer: Answer, other: Answer) -> str | None:
    """Nor the values of what is determined in both."""
    if answer.values is None or other.values is None or not (answer.converged and other.converged):
        return None
    both = together(answer) & together(other)
    gaps = np.where(both, np.abs(answer.values - other.values), 0.0)
    allowed = max(instance.close, ALIKE * instance.scale if instance.noise else 0.0)
    return (
        f"an entry changed by {gaps.max() / instance.scale:.2g} of max|M|" if gaps.max(initial=0.0) > allowed else None
    )


def compared(instance: Instance, answer: Answer, other: Answer) -> str | None:
    """The first that differs between an answer and that to the same question put otherwise, put back."""
    if answer.values is None or other.values is None:
        return None
    said = (f"{name}: {words}" for name, one in COMPARISONS.items() if (words := one(instance, answer, other)))
    return next(said, None)


def coverage(instance: Instance, answer: Answer) -> tuple[int, int]:
    """Of how many unseen pairs of determined rows the 95 % interval holds the truth, and how many there are."""
    if not instance.noise or answer.low is None or answer.high is None or answer.errors is None:
        return 0, 0
    if not answer.converged:
        return 0, 0
    asked = np.triu(together(answer) & ~(instance.seen | instance.seen.T)) & np.isfinite(answer.errors)
    inside = (answer.low <= instance.truth) & (instance.truth <= answer.high)
    return int((inside & asked).sum()), int(asked.sum())
