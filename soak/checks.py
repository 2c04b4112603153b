"""What must hold for an answer: each check maps an instance and its answer to a description of a fault, or None."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import norm, t

from soak.answer import Answer
from soak.instance import DISTANCES, Bools, Floats, Instance

CERTAIN = ("generic", "proved")
# With noise, an entry is wrong beyond so many standard errors; for few degrees of freedom the same probability by t.
FAR = 6.0
# The factor where the answer warns that its standard errors are too small.
CAUTIOUS = 2.0
# Bounds may be off by this share of the largest entry: the rounding of the truth itself.
ROUNDING = 1e-9
# Without standard errors, an entry is wrong beyond so many standard deviations of the noise.
PLAINLY = 10.0
# Two answers to equivalent problems with noise agree to this share of the largest entry.
ALIKE = 1e-4

CHECKS: dict[str, Callable[[Instance, Answer], str | None]] = {}


def check(function: Any) -> Any:
    """Register a check under the name of its function."""
    CHECKS[function.__name__.replace("_", "-")] = function
    return function


def failed_checks(instance: Instance, answer: Answer) -> dict[str, str]:
    """Return the faults of an answer by name, exceptions and warnings included."""
    if answer.values is None:
        return dict(answer.failures)
    faults = {name: function(instance, answer) for name, function in CHECKS.items()}
    return answer.failures | {name: fault for name, fault in faults.items() if fault is not None}


def determined_pairs(answer: Answer) -> Bools:
    """Return the pairs of determined rows of one component."""
    if answer.determined is None or answer.components is None:
        return np.zeros(np.shape(answer.values), bool)
    return np.outer(answer.determined, answer.determined) & np.equal.outer(answer.components, answer.components)


def limit(freedom: int) -> float:
    """Return the quantile of Student's t with the same probability as six standard deviations."""
    return float(t.isf(norm.sf(FAR), freedom)) if freedom > 0 else np.inf


def allowed(answer: Answer) -> float:
    """Return how many standard errors an entry may be off."""
    return limit(answer.freedom) * (CAUTIOUS if answer.cautious else 1.0)


def excess(instance: Instance, answer: Answer) -> Floats:
    """Return the error of each entry over what is still right; for noisy distances that of the worse point."""
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.abs(answer.values - instance.truth)
        if not instance.noise and not instance.wrong:
            return error / instance.close
        if answer.errors is None:
            return np.zeros_like(instance.truth)
        if instance.group == DISTANCES:
            return _excess_of_points(instance, answer)
        most = allowed(answer) * answer.errors + allowed(answer) ** 2 * _own_square(instance, answer)
        return np.where(np.isfinite(answer.errors), error / most, 0.0)


def _own_square(instance: Instance, answer: Answer) -> Floats:
    """Return δ² on the diagonal, where a row of length u moves by a standard error δ: its square is 2u·δ + δ² off.

    For a small row δ² dominates, and is not normal: it exceeds six of its standard deviations once in a few hundred.
    A row moves by at least the errors of its entries over the lengths of rows that are not small.
    """
    sizes = np.linalg.norm(instance.planted, axis=1)
    large = sizes >= max(float(np.median(sizes)), np.finfo(float).tiny)
    shares = np.where(np.isfinite(answer.errors[:, large]), answer.errors[:, large], 0.0) / sizes[large]
    return np.diag(shares.max(axis=1, initial=0.0) ** 2)


def _excess_of_points(instance: Instance, answer: Answer) -> Floats:
    """Align each component with the truth, and return the excess of the worse point of each pair."""
    worst = np.zeros(instance.size)
    for part in np.unique(answer.components):
        rows = np.flatnonzero((answer.components == part) & answer.determined & np.isfinite(answer.errors).all(axis=1))
        if len(rows) < 2:
            continue
        # Scaled, since squares of numbers near 1e-281 are zero.
        A, B, errors = (values[rows] / instance.scale for values in (answer.points, instance.planted, answer.errors))
        A, B = A - A.mean(axis=0), B - B.mean(axis=0)
        left, _, right = np.linalg.svd(A.T @ B)
        most = limit(answer.freedom) * np.linalg.norm(errors, axis=1, keepdims=True)
        if instance.wrong:  # the other distances may be exact
            most = most + instance.close / instance.scale
        worst[rows] = (np.abs(A @ left @ right - B) / most).max(axis=1)
    return np.maximum(worst[:, None], worst)


def right_rows(instance: Instance, answer: Answer) -> list[int]:
    """Return the determined rows if all entries between them are right, otherwise none."""
    if answer.values is None or answer.determined is None:
        return []
    wrong = excess(instance, answer) > 1
    if instance.noise and instance.group != DISTANCES:
        # Where there is no standard error the entry itself must be close.
        silent = np.ones_like(wrong) if answer.errors is None or answer.freedom <= 0 else ~np.isfinite(answer.errors)
        sigma = instance.noise * np.sqrt(np.mean(instance.truth**2))
        wrong |= silent & (np.abs(answer.values - instance.truth) > PLAINLY * sigma)
    return [] if (wrong & determined_pairs(answer)).any() else np.flatnonzero(answer.determined).tolist()


def meets_the_data(instance: Instance, answer: Answer) -> bool:
    """Return whether the determined rows meet all contradictory data, which the truth does not."""
    inside, options = determined_pairs(answer), instance.options
    misfit = np.abs(answer.values - instance.values())[instance.seen & inside]
    missing = ~instance.seen & inside & ~np.eye(instance.size, dtype=bool)
    if options["unknown"] is not None:
        missing &= ~options["unknown"]
    beyond = (answer.values - options["threshold"])[missing] * (1 if options["seen"] == "above" else -1)
    return bool(misfit.max(initial=0.0) <= instance.close and beyond.max(initial=0.0) <= instance.close)


def _wrong(instance: Instance, answer: Answer) -> str | None:
    if not instance.consistent and meets_the_data(instance, answer):
        return None
    pairs = determined_pairs(answer)
    far = np.where(pairs, excess(instance, answer), 0.0)
    if not far.max(initial=0.0) > 1:
        return None
    i, j = np.unravel_index(int(np.argmax(far)), far.shape)
    count, measured = int((far > 1).sum()), instance.noise > 0 or instance.wrong
    much = far.max() * (allowed(answer) if measured else instance.close / instance.scale)
    unit = "standard errors" if measured else "of max|M|"
    return f"entry ({i}, {j}), one of {count}, is off by {much:.2g} {unit}, {answer.code}"


@check
def wrong(instance: Instance, answer: Answer) -> str | None:
    """Converged, determined and wrong."""
    return _wrong(instance, answer) if answer.converged else None


@check
def wrong_not_converged(instance: Instance, answer: Answer) -> str | None:
    """Determined and wrong, although not converged."""
    return None if answer.converged else _wrong(instance, answer)


def _largest(instance: Instance, difference: Floats, entries: Any = True) -> str | None:
    """Describe the largest difference among some entries if it is too large, otherwise return None."""
    error = np.where(entries, np.abs(difference), 0.0)
    i, j = np.unravel_index(int(np.argmax(error)), error.shape)
    much = error[i, j] / instance.scale
    return f"entry ({i}, {j}) is off by {much:.2g} of max|M|" if error[i, j] > instance.close else None


@check
def entry(instance: Instance, answer: Answer) -> str | None:
    """An entry called generic or proved, or observed, and filled with a wrong value."""
    if instance.noise or instance.wrong or answer.entry_levels is None or answer.filled is None:
        return None
    certain = instance.observed_either_way
    if instance.consistent:
        certain |= np.isin(answer.entry_levels, CERTAIN) & ~determined_pairs(answer)
    return _largest(instance, answer.filled - instance.truth, certain)


@check
def proved(instance: Instance, answer: Answer) -> str | None:
    """Rows called proved that are wrong."""
    completion = ("the completion", answer.levels, answer.components)
    for source, levels, components in (completion, ("certify", answer.certified, answer.certified_components)):
        if instance.exact and levels is not None and components is not None:
            pairs = determined_pairs(Answer(determined=levels == "proved", components=components))
            fault = _largest(instance, answer.values - instance.truth, pairs)
            if fault:
                return f"rows are called proved by {source}, but {fault}"
    return None


@check
def unique(instance: Instance, answer: Answer) -> str | None:
    """Proved to be unique, and not the truth."""
    return _largest(instance, answer.values - instance.truth) if instance.exact and answer.unique else None


@check
def bounds(instance: Instance, answer: Answer) -> str | None:
    """Guaranteed bounds that miss the truth."""
    if not instance.exact or answer.bounds is None or not len(answer.bounds[0]):
        return None
    rows, cols, low, high = answer.bounds
    truth = instance.truth[rows, cols]
    miss = np.maximum(low - truth, truth - high) / instance.scale
    k = int(np.argmax(miss))
    if not miss[k] > (instance.close / instance.scale if instance.single else ROUNDING):
        return None
    return f"entry ({rows[k]}, {cols[k]}) is {truth[k]:.6g}, bounds are {low[k]:.6g} and {high[k]:.6g}"


@check
def misfit(instance: Instance, answer: Answer) -> str | None:
    """Converged without noise while an observed entry is not met."""
    if instance.noise or instance.wrong or not answer.converged:
        return None
    return _largest(instance, answer.values - instance.values(), instance.seen)


@check
def best_of_rank(instance: Instance, answer: Answer) -> str | None:
    """Exact data of this rank called data of a higher rank."""
    return answer.reason if instance.exact and answer.code == "best-of-rank" else None


@check
def nan(instance: Instance, answer: Answer) -> str | None:
    """NaN where numbers belong."""
    if not np.isfinite(answer.values).all():
        return "the fit is not finite"
    if answer.errors is not None and np.isnan(answer.errors).any():
        return "standard errors are NaN"
    return "bounds are NaN" if answer.bounds is not None and np.isnan(answer.bounds[2:]).any() else None


def difference(instance: Instance, answer: Answer, other: Answer) -> str | None:
    """Describe the first difference between the answers to two equivalent problems, or return None."""
    if answer.values is None or other.values is None:
        return None
    if answer.code != other.code:
        return f"code: {answer.code} became {other.code}"
    rows, others = answer.determined, other.determined
    if rows is not None and others is not None and (rows != others).any() and not exchanged(instance, rows, others):
        changed = np.flatnonzero(rows != others).tolist()
        return f"rows: {changed[:8]} changed ({int(rows.sum())} and {int(others.sum())} determined)"
    if answer.converged and other.converged:
        both = determined_pairs(answer) & determined_pairs(other)
        change = np.abs(answer.values - other.values)[both].max(initial=0.0)
        if change > max(instance.close, ALIKE * instance.scale if instance.noise else 0.0):
            return f"values: an entry changed by {change / instance.scale:.2g} of max|M|"
    return None


def exchanged(instance: Instance, rows: Any, others: Any) -> bool:
    """Return whether only rows were exchanged that repeat each other or that the data do not distinguish."""
    _, same = np.unique(instance.planted, axis=0, return_inverse=True)
    labels = (same.ravel(), interchangeable(instance))
    return any(sorted(alike[rows].tolist()) == sorted(alike[others].tolist()) for alike in labels)


def interchangeable(instance: Instance) -> Any:
    """Return a label per row that two rows share if exchanging them does not change the data."""
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


def planted_errors(instance: Instance, answer: Answer) -> dict[str, float | None]:
    """Return rms errors of missing entries against the planted truth.

    In units of the rms of the truth or, with noise, of the standard deviation of the noise: over the missing entries
    between determined rows of one component (``determined``), and over all missing entries (``missing``).
    """
    errors: dict[str, float | None] = {"determined": None, "missing": None}
    missing = np.triu(~instance.observed_either_way) & instance.exists
    for name in errors if answer.values is not None else ():
        entries = missing & determined_pairs(answer) if name == "determined" else missing
        relative = (answer.values - instance.truth)[entries] / instance.rms / (instance.noise or 1.0)
        if relative.size and np.isfinite(relative).all():
            errors[name] = float(f"{np.sqrt(np.mean(relative**2)):.4g}")
    return errors


def coverage(instance: Instance, answer: Answer) -> tuple[int, int]:
    """Return how many 95 % intervals of missing entries of determined rows contain the truth, and their number."""
    if not (instance.noise and answer.converged) or answer.low is None or answer.high is None or answer.errors is None:
        return 0, 0
    counted = np.triu(determined_pairs(answer) & ~instance.observed_either_way) & np.isfinite(answer.errors)
    inside = (answer.low <= instance.truth) & (instance.truth <= answer.high)
    return int((inside & counted).sum()), int(counted.sum())
