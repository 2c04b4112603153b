"""The front door for tables of samples and variables with limits of detection, as they come."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from unrelu._old.auto.robust import robust_of
from unrelu._old.auto.robust_table import CellDoubts, doubted_cells
from unrelu._old.auto.table_choice import Chosen, TableRehearsal, choose
from unrelu._old.auto.table_rehearsal import Shape
from unrelu._old.base.arrays import Indices
from unrelu._old.base.budget import budget
from unrelu._old.base.errors import CompletionWarning, InputError, is_integer, is_number, warn
from unrelu._old.base.generators import generator_of
from unrelu._old.complete_rectangular import complete_rectangular, smallest_exact
from unrelu._old.data.inputs import read_mask
from unrelu._old.data.limits import Limits
from unrelu._old.data.measured import Measured
from unrelu._old.data.sheet import Sheet
from unrelu._old.data.terms import Terms
from unrelu._old.detection.columns import column_levels, levels_in_words, levels_of_columns
from unrelu._old.kernels.threads import owning_the_cores
from unrelu._old.loop.history import Stop, Verdict
from unrelu._old.loop.progress import Spinner
from unrelu._old.model.losses import Loss
from unrelu._old.results.distrust_words import with_warning
from unrelu._old.results.distrusted import Distrusted
from unrelu._old.results.rectangular import RectangularCompletion
from unrelu._old.results.table import TableCompletion

__all__ = ["complete_table"]

# Different values that a column must show to be completed.
LEAST_DIFFERENT = 3
# Columns that a warning names one by one.
NAMED = 5


@owning_the_cores()
def complete_table(
    X: Any,
    rank: int | None = None,
    *,
    threshold: Any = None,
    seen: str = "above",
    unknown: Any = None,
    entry_range: tuple[float, float] | None = None,
    log: bool = False,
    skew: bool = True,
    loss: str | Loss = "auto",
    max_seconds: float | None = None,
    progress: bool = False,
    rng: Any = None,
) -> TableCompletion:
    """Complete a table of samples by variables whose cells went unseen because of their values; no rank is needed.

    Each column is standardised by what it is like by itself, its unseen part estimated: a normal distribution, or a
    skew one where its seen part is skew. Then models from no structure at all over offsets, correlations of the columns
    and a price on the nuclear norm to low rank are rehearsed: the limit of every column is raised, what lies between is
    hidden as the sensor would have, and the model that foretells best what was hidden is taken. It must do clearly
    better than each column by itself. If the table is of low rank to rounding, it is completed by that rank and nothing
    else is tried.

    Columns of integers from 0 on are taken to be counts: what lies below their limit is no less than 0, unless
    ``entry_range`` says otherwise, as (−∞, ∞) does for all.

    Parameters
    ----------
    X : array, masked array, data frame or sparse matrix of shape (m, n)
        One row per sample; NaN where nothing was seen. A data frame may hold other columns than numbers, which are left
        as they are. Never modified; a sparse matrix is made dense.
    rank : int, optional
        The only rank that is tried. Default: the model that is rehearsed best.
    threshold : float, array, dict, pair, Limits or None, default None
        Beyond which cells go unseen: one number, one per column (a vector of n numbers, a series with the names of the
        columns, or a dict with those of the columns that have a limit), or one per cell; ``"auto"``: one for each
        column that shows one by its values, by how many are missing and by the other columns; where that cannot be
        told, none; as in :func:`unrelu.complete_rectangular`. None: absence says nothing. One number for all says that
        all columns are in one unit.
    seen : {"above", "below", "between", "outside"}, default "above"
    unknown : boolean array of shape (m, n), optional
        Cells that are missing for another reason than their value.
    entry_range : (least, most), optional
        Between which numbers every cell lies.
    log : bool, default False
        Whether it is the logarithms that are normal: for concentrations and the like. All values must be above 0.
    skew : bool, default True
        Whether columns may be skew; False: normal ones only. With ``log`` none is.
    loss : {"auto", "huber"}, default "auto"
        ``huber``: a few per cent of the cells may be wrong, also by lying beyond their limits; they are found, left out
        and named, see :attr:`TableCompletion.distrusted`.
    max_seconds : float, optional
        How long it may look for a model; then the best so far is taken, and the verdict says so. Ctrl-C does the same.
    progress : bool, default False
        Show on the terminal what is being rehearsed.
    rng : int, Generator or None
        Chooses which cells are hidden of columns that have gaps but no limit.

    Returns
    -------
    TableCompletion

    Raises
    ------
    InputError
        If the input cannot be what was meant; the message says what to do.

    Warns
    -----
    CompletionWarning
        If there are columns that cannot be completed, or that hold integers, so that what is filled in is rounded.

    Examples
    --------
    >>> import numpy as np, unrelu
    >>> rng = np.random.default_rng(0)
    >>> common = rng.standard_normal((200, 1))
    >>> M = 5 + common + 0.5 * rng.standard_normal((200, 6))  # six variables that go together
    >>> limits = np.quantile(M, 0.4, axis=0)
    >>> found = unrelu.complete_table(np.where(M >= limits, M, np.nan), threshold=limits, rng=0)
    >>> found.verdict.code.value, found.model
    ('predicts', 'offsets of rows and columns')
    >>> filled = found.filled()
    >>> bool((filled[M < limits] < np.broadcast_to(limits, M.shape)[M < limits]).all())
    True
    >>> i, j = np.nonzero(M < limits)
    >>> low, high = found.predict(i, j)
    >>> bool(0.9 < np.mean((low <= M[i, j]) & (M[i, j] <= high)) < 0.99)
    True
    """
    _require_seconds(max_seconds)
    with Spinner() if progress else nullcontext() as shown, budget(max_seconds, getattr(shown, "phase", None)) as clock:
        sheet = Sheet.of(X)
        threshold, words = _levels(sheet, threshold, seen, unknown)
        terms = sheet.settled(Terms(threshold, seen, unknown, None if _any_number(entry_range) else entry_range))
        if not len(sheet.numeric):
            raise InputError("X must hold at least one column of numbers, got none; convert it with pandas.to_numeric")
        robust, rng = _robust(loss), generator_of(rng)
        sheet, doubts = (sheet, None) if robust is None else _trusted(sheet, terms, rank, robust, rng, log=log)
        cells = sheet.cells(terms)
        columns, untouched = _usable(sheet, cells)
        part = cells.part(slice(None), np.searchsorted(sheet.numeric, columns))
        counts = part.counts & (entry_range is None and not log)
        part = part.from_zero(counts)
        _require_rank(rank, part)
        if log:
            _require_positive(sheet, part, columns)
        chosen = _chosen(part, rank, Shape(skew, log, np.ndim(threshold) == 0 and _is_one(threshold)), rng)
    _warn(sheet, part, columns, untouched)
    common: dict[str, Any] = dict(
        columns=columns,
        untouched=untouched,
        sheet=sheet,
        terms=terms,
        cells=part,
        counts=counts,
        seconds=clock.spent,
    )
    found = _completion(chosen, common)
    found = replace(found, verdict=_with_words(found.verdict, words)) if words else found
    return found if doubts is None else _named(found, doubts)


def _completion(chosen: Chosen | RectangularCompletion | None, common: dict[str, Any]) -> TableCompletion:
    """What was chosen, with what is ``common`` to all completions."""
    if isinstance(chosen, RectangularCompletion):
        said = f"rank {chosen.rank}, exactly"
        return TableCompletion(chosen.verdict, said, chosen.rank, TableRehearsal(chosen=said), exact=chosen, **common)
    if chosen is None:
        nothing = Verdict(Stop.DOES_NOT_EXTRAPOLATE, "no column shows three different values: none was completed")
        return TableCompletion(nothing, "nothing", None, TableRehearsal(), **common)
    verdict, told = _with_counts(chosen.rehearsal.verdict, int(common["counts"].sum())), chosen.rehearsal
    return TableCompletion(verdict, chosen.model.name, chosen.fit.rank, told, fit=chosen.fit, **common)


def _levels(sheet: Sheet, threshold: Any, seen: str, unknown: Any) -> tuple[Any, str]:
    """The threshold; where it is to be found, one for each column that shows one, and a sentence about them."""
    if not (isinstance(threshold, str) and threshold == "auto"):
        return threshold, ""
    if seen not in ("above", "below"):
        raise InputError(f"threshold='auto' is for cells seen 'above' or 'below' a limit, got seen={seen!r}; name it")
    mask = None if unknown is None else read_mask(unknown, sheet.axes)
    found = column_levels(sheet.values, sheet.numeric, seen, mask)
    names = {j: sheet.name(j) for j in found}
    absent = np.isnan(sheet.values[:, sheet.numeric].astype(np.float64))
    gapped = int((absent if mask is None else absent & ~mask[:, sheet.numeric]).any(axis=0).sum())
    words = levels_in_words(found, names, seen, gapped - len(found))
    return (levels_of_columns(found, sheet.axes.shape[1], seen) if found else None), words


def _with_words(verdict: Verdict, words: str) -> Verdict:
    return Verdict(verdict.code, f"{verdict.reason}; {words}")


def _with_counts(verdict: Verdict, count: int) -> Verdict:
    if not count:
        return verdict
    columns = "one column holds counts" if count == 1 else f"{count} columns hold counts"
    return Verdict(verdict.code, f"{verdict.reason}; {columns}, and nothing below 0 is filled in there")


def _any_number(entry_range: Any) -> bool:
    """Whether it says that cells may be anything, also where they look like counts."""
    return isinstance(entry_range, (tuple, list)) and tuple(entry_range) == (-np.inf, np.inf)


def _is_one(threshold: Any) -> bool:
    return threshold is not None and not isinstance(threshold, Limits)


def _chosen(cells: Measured, named: int | None, shape: Shape, rng: Any) -> Chosen | RectangularCompletion | None:
    """The model that is taken; None where there is no column to complete."""
    if not cells.shape[1]:
        return None

    def at_rank(rank: int) -> RectangularCompletion:
        return complete_rectangular(cells.values, rank, threshold=cells.limits, rng=rng)

    def exact(rank: int) -> RectangularCompletion | None:
        if shape.log:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CompletionWarning)
            found = smallest_exact(at_rank(rank), at_rank) if named is None else at_rank(rank)
        return found if found.verdict.code is Stop.FITTED else None

    found: Chosen | RectangularCompletion = choose(cells, shape, rng, named, exact)
    return found


def _robust(loss: Any) -> Loss | None:
    """The loss that distrusts cells, if one is named."""
    if isinstance(loss, str) and loss == "auto":
        return None
    robust = robust_of(loss)
    if robust is None:
        raise InputError(
            f"loss must be 'auto', or 'huber' if a few cells may be wrong, got {loss!r}; complete_rectangular takes "
            "others"
        )
    return robust


def _trusted(
    sheet: Sheet, terms: Terms, rank: int | None, loss: Loss, rng: np.random.Generator, *, log: bool
) -> tuple[Sheet, CellDoubts]:
    """The sheet without cells that are distrusted, and what is known of all of them."""
    impossible = sheet.impossible(terms)
    if log:
        impossible |= sheet.values <= 0
    given, sheet = sheet.values.astype(np.float64), sheet.without(impossible)
    cells = sheet.cells(terms)
    columns, _ = _usable(sheet, cells)
    marked, deviations = impossible.copy(), np.where(impossible, np.inf, 0.0)
    if len(columns):
        part = cells.part(slice(None), np.searchsorted(sheet.numeric, columns))
        beside = Measured(given[:, columns], part.ends, part.silent)
        found = doubted_cells(part, rank, loss, rng, log=log, beside=beside)
        marked[:, columns] |= found.marked
        deviations[:, columns] = found.deviations
    return sheet.without(marked), CellDoubts(marked, deviations)


def _named(found: TableCompletion, doubts: CellDoubts) -> TableCompletion:
    """The same with the cells that are distrusted, the worst first."""
    middle = np.full(found.shape, np.nan)
    middle[:, found.columns] = found.middle()
    rows, cols = np.nonzero(doubts.marked)
    given = Sheet.of(found.sheet.source).values
    order = np.argsort(-doubts.deviations[rows, cols], kind="stable")
    labels = found.labels or range(found.shape[0]), found.column_labels or range(found.shape[1])
    listed = tuple(
        Distrusted(labels[0][i], labels[1][j], float(given[i, j]), float(middle[i, j]), float(doubts.deviations[i, j]))
        for i, j in zip(rows[order].tolist(), cols[order].tolist(), strict=True)
    )
    verdict = with_warning(found.verdict, listed, int(found.cells.seen.sum()), left_out=True)
    return replace(found, distrusted=listed, verdict=verdict)


def _usable(sheet: Sheet, cells: Measured) -> tuple[Indices, dict[int, str]]:
    """Columns that can be completed, and why the others cannot."""
    numeric = set(sheet.numeric.tolist())
    untouched: dict[int, str] = {}
    usable: list[int] = []
    for j in range(sheet.axes.shape[1]):
        if j not in numeric:
            untouched[j] = f"column {sheet.name(j)} holds no numbers"
            continue
        column = cells.values[:, int(np.searchsorted(sheet.numeric, j))]
        different = len(np.unique(column[~np.isnan(column)]))
        if different >= LEAST_DIFFERENT:
            usable.append(j)
        elif different == 0:
            untouched[j] = f"nothing was seen of column {sheet.name(j)}"
        else:
            shows = "one value only" if different == 1 else "two different values only"
            untouched[j] = f"column {sheet.name(j)} shows {shows}"
    return np.array(usable, np.intp), untouched


def _require_rank(rank: Any, cells: Measured) -> None:
    most = min(cells.shape)
    if rank is not None and not (is_integer(rank) and 1 <= rank <= most):
        raise InputError(
            f"rank must be between 1 and {most}, the smaller side of what can be completed, or None; got {rank!r}"
        )


def _require_seconds(seconds: Any) -> None:
    if seconds is not None and not (is_number(seconds) and seconds > 0):
        raise InputError(f"max_seconds must be a positive number, or None for as long as it takes; got {seconds!r}")


def _require_positive(sheet: Sheet, cells: Measured, columns: Indices) -> None:
    for k, j in enumerate(columns):
        lowest = float(np.nanmin(cells.values[:, k]))
        limits = cells.ends[1][cells.limited[:, k], k]
        if lowest <= 0 or (limits.size and limits.min() <= 0):
            what = f"a value of {lowest:g}" if lowest <= 0 else f"a limit of {limits.min():g}"
            raise InputError(
                f"log=True needs values and limits above 0, got {what} in column {sheet.name(int(j))}; leave that "
                "column out, or drop log=True"
            )


def _warn(sheet: Sheet, cells: Measured, columns: Indices, untouched: dict[int, str]) -> None:
    """Say which columns stay as they were, if something is missing in them or they hold no numbers; and of integers."""
    reasons = list(untouched.values())
    if reasons:
        more = f" and {len(reasons) - NAMED} more" if len(reasons) > NAMED else ""
        fact = f"left as they were: {', '.join(reasons[:NAMED])}{more}"
        warn(fact, "see untouched")
    whole = [
        sheet.name(int(j)) for k, j in enumerate(columns) if sheet.holds_integers(j) and not cells.seen[:, k].all()
    ]
    if whole:
        named = ", ".join(whole[:NAMED])
        warn(f"columns of integers stay such, what is filled in is rounded: {named}")
