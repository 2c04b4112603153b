"""Compare an answer with the stored one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.golden.case import Case

__all__ = ["WORDS", "compare"]

# An instance is listed under the first of these words that holds.
WORDS = ("worse", "changed", "better", "slower", "same")
EXACT, EXACT_SINGLE = 1e-8, 1e-5  # of the rms entry, in double and single precision
RIGHT = 1e-6  # error against the truth below which every entry is compared, whatever is said to be determined
NOISY = 1e-3  # of the standard deviation of the noise
ERROR = 1.001  # times the stored error against the planted truth
LOWER = 1e-9  # relative, of the objective
ENDS = 1e-3  # of their own size: ends of intervals, standard errors, estimated levels
SLOWER, SECONDS = 1.5, 0.3  # times the stored time, and by at least so many units of the workload


def compare(case: Case, stored: dict[str, Any], now: dict[str, Any], single: bool, noise: float) -> tuple[str, str]:
    """Return a word of `WORDS` and a sentence of what differs.

    Parameters
    ----------
    stored, now : dict
        Answers as stored; ``seconds`` is a ratio to the workload.
    single : bool
        Whether the data are of single precision.
    noise : float
        Standard deviation of the planted noise.
    """
    found: list[tuple[str, str]] = []
    if stored["status"] != now["status"]:
        found.append(("changed", f"status {stored['status']} is now {now['status']}"))
    if stored["rank"] != now["rank"]:
        found.append(("changed", f"rank {stored['rank']} is now {now['rank']}"))
    found.append(_entries(case, stored, now, single, noise))
    found.extend(_numbers(case, stored, now, single, noise))
    found.extend(
        ("changed", f"{name}: {stored['facts'].get(name)} is now {now['facts'].get(name)}")
        for name in sorted({*stored["facts"], *now["facts"]})
        if stored["facts"].get(name) != now["facts"].get(name)
    )
    if now["seconds"] > SLOWER * stored["seconds"] + SECONDS:
        found.append(("slower", f"{now['seconds']:.2f} units of work, was {stored['seconds']:.2f}"))
    found = [(word, text) for word, text in found if word != "same"]
    if not found:
        return "same", ""
    word = min((word for word, _ in found), key=WORDS.index)
    return word, "; ".join(text for _, text in found)


def _entries(case: Case, stored: dict[str, Any], now: dict[str, Any], single: bool, noise: float) -> tuple[str, str]:
    """Compare predictions at the probes that are determined in both answers, then the errors against the truth."""
    before, after = np.array(stored["values"], float), np.array(now["values"], float)
    if before.shape != after.shape:
        return "changed", f"{after.size} predictions instead of {before.size}"
    if before.size == 0:
        return "same", ""
    if (np.isnan(before) != np.isnan(after)).any():
        return "changed", "other entries are NaN"
    both = ~np.isnan(before)
    right = stored["error"] is not None and stored["error"] < RIGHT
    if stored["determined"] and now["determined"] and not right:
        both &= np.array(stored["determined"]) & np.array(now["determined"])
    if not both.any():
        return "same", ""
    scale = float(np.sqrt(np.mean(before[both] ** 2))) or 1.0
    tolerance = max(NOISY * noise, (EXACT_SINGLE if single else EXACT) * scale)
    if case.sampled:
        tolerance = 5 * np.sqrt(2) * np.array(stored["numbers"]["monte carlo error"])[both]
    difference = np.abs(after - before)[both]
    if (difference <= tolerance).all():
        return "same", ""
    by = f"entries differ by {difference.max() / scale:.1e} of their rms"
    exact = noise == 0 and (right or bool(stored["determined"]))
    return _by_error(stored, now, by, exact)


def _by_error(stored: dict[str, Any], now: dict[str, Any], by: str, exact: bool) -> tuple[str, str]:
    """Judge different entries by the truth, and of noisy data by the objective as well.

    With noise a fit with a lower objective may lie farther from the truth. Exact data have one answer.
    """
    if stored["error"] is None or now["error"] is None:
        return "changed", by
    by += f", error against the truth {stored['error']:.3g}, now {now['error']:.3g}"
    if now["error"] < stored["error"] / ERROR:
        return "better", by
    if exact:
        return "worse", by
    worse = now["error"] > ERROR * stored["error"]
    if now["objective"] is not None and stored["objective"] is not None:
        by += f", objective {stored['objective']:.6g}, now {now['objective']:.6g}"
        worse &= now["objective"] > stored["objective"] + LOWER * abs(stored["objective"])
    return ("worse", by) if worse else ("same", by)


def _numbers(
    case: Case, stored: dict[str, Any], now: dict[str, Any], single: bool, noise: float
) -> list[tuple[str, str]]:
    # Residuals of exact data are rounding errors: what is small beside the entries is compared with these.
    entries = np.array(stored["values"], float)
    size = float(np.sqrt(np.nanmean(entries**2))) if np.isfinite(entries).any() else 0.0
    found = []
    for name in sorted({*stored["numbers"], *now["numbers"]}):
        before, after = (np.array(answer["numbers"].get(name, []), float) for answer in (stored, now))
        if before.shape != after.shape:
            found.append(("changed", f"{name}: {after.size} numbers instead of {before.size}"))
        elif case.sampled and "monte carlo error" in stored["numbers"]:
            if not _close_to_sampled(name, before, after, np.array(stored["numbers"]["monte carlo error"])):
                found.append(("changed", f"{name} differs by more than the Monte-Carlo error"))
        elif not _close(before, after, size, single, noise):
            with np.errstate(invalid="ignore"):
                most = np.nanmax(np.abs(after - before), initial=0.0)
            found.append(("changed", f"{name} differs by at most {most:.2e}"))
    return found


def _close(before: np.ndarray, after: np.ndarray, size: float, single: bool, noise: float) -> bool:
    finite = before[np.isfinite(before)]
    size = max(size, float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0)
    absolute = max(NOISY * noise, (EXACT_SINGLE if single else EXACT) * size)
    return bool(np.allclose(after, before, rtol=ENDS, atol=absolute, equal_nan=True))


def _close_to_sampled(name: str, before: np.ndarray, after: np.ndarray, errors: np.ndarray) -> bool:
    if name == "monte carlo error":
        return True
    if name == "sampled above":  # a probability
        return bool((np.abs(after - before) <= 0.1).all())
    if before.size == errors.size:
        # An end of a 95 % interval has about 2.7 times the error of a mean; five of them, of two estimates.
        return bool((np.abs(after - before) <= 15 * np.sqrt(2) * errors).all())
    return bool(np.allclose(after, before, rtol=0.1, equal_nan=True))
