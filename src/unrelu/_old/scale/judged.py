"""What an answer by landmarks may be called, and the completion it becomes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu._old.base.tolerances import FLOOR_NOISELESS, LANDMARKS_FITTED
from unrelu._old.loop.history import History, Record, Stop, Verdict, in_units
from unrelu._old.proofs.determinacy import GENERIC, LOCAL, PROVED
from unrelu._old.results.streamed import LandmarkWitnesses, StreamedCompletion
from unrelu._old.results.streamed_table import StreamedTable
from unrelu._old.scale.blocks import Totals
from unrelu._old.scale.landmarks import Answer, Large
from unrelu._old.scale.polish import balanced_pair

__all__ = ["completed", "verdict_on"]

# A row whose misfit exceeds the noise of the block by this factor, and the share of such rows that noise explains.
MISFITS, A_FEW = 2.0, 0.01
# What the last pass may have had to gain, beside the error that noise makes, in a fit that is called one.
SETTLED = 0.25
# A row is apart if its misfit is so many times the noise, and with few entries so much more over the root of their
# number: five standard deviations of a mean square.
APART, FEW = 1.3, 3.5


def verdict_on(large: Large, answer: Answer) -> Verdict:
    """Fitted, to rounding or to the noise that the block shows; or only as good as could be done."""
    seed, fit, name = answer.seed, answer.fit, large.source.dtype.name
    rows = sum(len(side.placed.factor) for side in answer.sides)
    missing = sum(side.placed.missing.size for side in answer.sides)
    read = large.source.entries_read / (large.source.shape[0] * large.source.shape[1])
    how = (
        f"a block of {len(seed.rows)} rows was solved ({seed.code.value}), and {rows - missing} of {rows} rows attached"
    )
    how += f" to {len(answer.sides[0].landmarks)} landmarks; {_percent(read)} of the entries were read"
    if missing:
        how += f"; {missing} rows see too little to be placed"
    totals = answer.totals
    if seed.exact:
        if totals is not None and answer.checked:
            left = np.sqrt((totals.squares + totals.beyond) / max(totals.norm, np.finfo(float).tiny))
            if left <= FLOOR_NOISELESS[name]:
                all_ = "all seen entries" + (" of rows that have a place" if missing else "")
                return Verdict(Stop.FITTED, f"{how}; {all_} are fitted to rounding, {left:.2g} of their size")
            return Verdict(
                Stop.STATIONARY,
                f"{how}, but the others do not follow it: {left:.2g} of the entries' size is left; the matrix is not "
                f"of rank {seed.rank} to rounding",
            )
        off = _misfits(answer, LANDMARKS_FITTED[name])
        if off == 0:
            return Verdict(Stop.FITTED, f"{how}; each fits the landmarks it sees to rounding")
        return Verdict(Stop.STATIONARY, f"{how}, but {off} rows do not fit what they see; the rank is too low for them")
    words = f"{how}; {_polished(answer)}"
    if seed.code is Stop.BEST_OF_RANK:
        return Verdict(Stop.BEST_OF_RANK, f"{words}; the block shows more rank than {seed.rank}")
    sigma, shown = fit.sigma or 0.0, seed.sigma or 0.0
    apart = np.flatnonzero(misfitting(answer))
    if apart.size:
        named = ", ".join(str(row) for row in apart[:3]) + (f" and {apart.size - 3} more" if apart.size > 3 else "")
        words += f"; rows {named} fit worse than noise explains, and are not called determined"
    if apart.size > A_FEW * rows or (answer.totals is not None and sigma > MISFITS * shown):
        return Verdict(
            Stop.STATIONARY,
            f"{words}, but the misfit of all entries, {sigma * seed.unit:.3g}, is not the noise of the block, "
            f"{shown * seed.unit:.3g}; the matrix is not of rank {seed.rank}",
        )
    if fit.gains and fit.gains[-1] > SETTLED:
        return Verdict(Stop.MAX_ITERATIONS, f"{words}, and the passes have not settled; raise passes= of landmarks")
    return Verdict(Stop.FITTED_TO_NOISE, f"{words}; the data are fitted to noise of {sigma * seed.unit:.3g}")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share > 0.1 else f"{100 * share:.2g} %"


def _polished(answer: Answer) -> str:
    passes = len(answer.fit.gains)
    if not passes:
        return "no pass over further entries"
    over = "all entries" if answer.checked else "some columns"
    many = f"{passes} pass{'' if passes == 1 else 'es'} over {over}"
    return f"{many}, the last had {answer.fit.gains[-1]:.2g} of the noise's error to gain"


def misfitting(answer: Answer) -> NDArray[np.bool_]:
    """Rows, and after them columns, of which more is left than noise explains: they are not of the others' rank."""
    fit = answer.fit
    placed = np.concatenate([side.placed.share for side in answer.sides]) > 0
    if answer.seed.exact:
        return np.zeros(len(placed), bool)
    if fit.squares is None or fit.seen is None:
        left = np.concatenate([side.placed.misfit for side in answer.sides])
        return placed & (left > APART * MISFITS * (answer.seed.sigma or 0.0))
    usual = (fit.sigma or 0.0) ** 2 * np.maximum(fit.seen, 1)
    return placed & (fit.squares > usual * (APART + FEW / np.sqrt(np.maximum(fit.seen, 1))) ** 2)


def _misfits(answer: Answer, allowed: float) -> int:
    """Rows that fit what they see worse than that; beside how well they are held where it is rounding."""
    count = 0
    for side in answer.sides:
        placed = side.placed
        size = max(float(np.sqrt(np.mean(placed.factor**2))) ** 2, np.finfo(float).tiny) if answer.seed.exact else 1.0
        count += int(np.count_nonzero((placed.share > 0) & (placed.misfit > allowed * size)))
    return count


def _levels(answer: Answer, verdict: Verdict) -> NDArray[np.int8]:
    """Of rows that are placed, what the block they hang on has; of an answer that is none, nothing."""
    proved = answer.seed.exact and bool((answer.seed.level == PROVED).all())
    word = PROVED if proved and verdict.code is Stop.FITTED else GENERIC
    shares = np.concatenate([side.placed.share for side in answer.sides])
    level = np.where((shares > 0) & verdict.determines, word, 0)
    return np.where(misfitting(answer), np.minimum(level, LOCAL), level).astype(np.int8)


def completed(
    large: Large, answer: Answer, verdict: Verdict, about: dict[str, Any]
) -> StreamedCompletion | StreamedTable:
    """A matrix or a table, in the caller's units."""
    seed, fit, dtype = answer.seed, answer.fit, large.source.dtype
    root = np.sqrt(seed.unit)
    totals = answer.totals if answer.totals is not None else _of_rows(answer)
    objective = in_units(totals.squares / 4, seed.unit, 2.0)
    norm = float(np.sqrt(totals.norm)) * seed.unit
    share = np.concatenate([side.placed.share for side in answer.sides]) if fit.share is None else fit.share
    whole = answer.checked or (fit.share is not None and large.method.columns is None and large.whole)
    seen = fit.seen if fit.seen is not None else np.zeros(len(share), np.int64)
    level = _levels(answer, verdict)
    known: dict[str, Any] = dict(
        verdict=verdict,
        history=History([Record(0, objective, None, 0.0)]),
        objective=objective,
        residual=float(np.sqrt(totals.squares / totals.norm)) if totals.norm else 0.0,
        method="landmarks",
        start="landmarks",
        loss="observed" if seed.exact or large.threshold is None else "censored",
        seen=(totals.count, norm),
        undetermined_rows=np.flatnonzero(np.concatenate([side.placed.share for side in answer.sides]) == 0),
        sigma=None if seed.exact else (fit.sigma or seed.sigma or 0.0) * seed.unit,
        entries_read=int(large.source.entries_read),
        conditioning=share,
        per_row=seen,
        **about,
    )
    if large.symmetric:
        known["pairs"] = "one" if seed.alike else "independent"
        witnesses = LandmarkWitnesses(level, None if whole else answer.sides[0].landmarks)
        return StreamedCompletion(factor=(fit.left * root).astype(dtype), witnesses=witnesses, **known)
    left, right = balanced_pair(fit.left, fit.right)
    factor = (np.vstack([left, right]) * root).astype(dtype)
    halves = dict(left=factor[: len(left)], right=factor[len(left) :])
    return StreamedTable(factor=factor, symmetric=False, pairs="one", level=level, **halves, **known)


def _of_rows(answer: Answer) -> Totals:
    """Sums over what the rows saw of the landmarks, where nothing else was read: as if each had seen half of them."""
    side = answer.sides[0]
    placed, some = side.placed, max(len(side.landmarks) // 2, 1)
    squares = float(np.sum(placed.misfit**2)) * some
    grams = placed.factor.T @ placed.factor, side.factor.T @ side.factor
    norm = float(np.sum(grams[0] * grams[1])) / 2
    return Totals(count=len(placed.factor) * some, squares=squares, norm=max(norm, 0.0))
