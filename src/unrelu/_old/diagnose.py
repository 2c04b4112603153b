"""The front door for who is not sure: what a matrix is, why entries are missing, and which call that leads to."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from unrelu._old.auto.detected import with_unseen
from unrelu._old.auto.ranks import Climb
from unrelu._old.auto.robust import doubted
from unrelu._old.base.arrays import Bools, Floats
from unrelu._old.base.budget import phase
from unrelu._old.base.errors import CompletionWarning, InputError, is_integer, is_number, unknown_name
from unrelu._old.base.generators import generator_of
from unrelu._old.complete import complete
from unrelu._old.complete_rectangular import complete_rectangular
from unrelu._old.data.inputs import read_mask
from unrelu._old.data.labels import Axes
from unrelu._old.data.observations import Observations
from unrelu._old.data.sheet import Sheet
from unrelu._old.data.table_observations import table_observations
from unrelu._old.detection.chosen import Detection
from unrelu._old.detection.edge import Edge, edge_of
from unrelu._old.detection.evidence import measured_once
from unrelu._old.judge.definite import not_definite
from unrelu._old.judge.likelihood import MANY_ROWS
from unrelu._old.kernels.threads import owning_the_cores
from unrelu._old.model.losses import Huber
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.problems.rectangular import RectangularProblem
from unrelu._old.results.diagnosis import Counted, Diagnosis
from unrelu._old.results.gaps import is_auto
from unrelu._old.results.inspected import (
    at_the_edge,
    beyond,
    contradicted_by,
    counted_in,
    distances_in,
    extrapolating,
    gaps_in,
    mirrored,
    noise_of_fit,
    nothing_told,
    objection_to,
    require_ordinary,
    some_rows,
    spectrum_of,
    structures_of,
    thin,
    verdict_of_fit,
)
from unrelu._old.results.recommended import Recommending, level_to_paste

__all__ = ["diagnose"]

# Of the seen entries, how many may be wrong for the rest to be believed.
FEW = 0.1
# Seen entries from which on some can be hidden on purpose.
HELD_OUT = 40

# How entries go unseen, or why that cannot be told.
Told = tuple[Detection | None, str]


@owning_the_cores()
def diagnose(
    X: Any,
    rank: int | None = None,
    *,
    threshold: Any = "auto",
    seen: str = "above",
    unknown: Any = None,
    rng: Any = None,
) -> Diagnosis:
    """Say what a matrix looks like, why its entries are missing, and how it had better be completed.

    Parameters
    ----------
    X : array, masked array, data frame or sparse matrix of shape (m, n)
        NaN where nothing was seen. Never modified.
    rank : int, optional
        If it is known; default: as low as the data ask for.
    threshold : "auto", float or None, default "auto"
        Beyond which entries go unseen, if it is known; ``auto``: found from the data.
    seen : {"above", "below"}, default "above"
        On which side of it entries are seen.
    unknown : boolean array of shape (m, n), optional
        Entries that are missing for a reason that is known.
    rng : int, Generator or None

    Returns
    -------
    Diagnosis
        Print it: sentences first. ``as_dict()`` has the numbers, ``recommended`` the call that this leads to.

    Raises
    ------
    InputError
        If there is nothing to look at, or rank, threshold or side cannot be what they are said to be.

    Examples
    --------
    >>> import numpy as np, unrelu
    >>> rng = np.random.default_rng(0)
    >>> U = rng.standard_normal((60, 2))
    >>> noise = 0.05 * rng.standard_normal((60, 60))
    >>> M = U @ U.T + np.tril(noise) + np.tril(noise, -1).T  # one measurement per pair
    >>> found = unrelu.diagnose(np.where(M >= 0.25, M, np.nan), rng=0)
    >>> found.detection.kind, found.rank, found.structure
    ('censored', 2, 'psd')
    >>> low, high = found.detection.curve.level_interval
    >>> bool(low <= 0.25 <= high)
    True
    >>> found.recommended
    'unrelu.complete(X, rank=2, threshold=0.25)'
    """
    sheet, named = Sheet.of(X), _level_checked(threshold)
    if not isinstance(seen, str) or seen not in ("above", "below"):
        raise unknown_name("side seen", seen, ["above", "below"])
    if not len(sheet.numeric) or not np.isfinite(sheet.values).any():
        raise InputError("X must hold numbers of which some were seen, got none; there is nothing to look at")
    require_ordinary(sheet)
    m, n = sheet.axes.shape
    most = min(m, len(sheet.numeric))
    if not (rank is None or (is_integer(rank) and 1 <= rank <= most)):
        raise InputError(f"rank must be an integer between 1 and {most}, or None for one that is found; got {rank!r}")
    square = m == n and len(sheet.numeric) == n and mirrored(sheet.values)
    mask = None if unknown is None else read_mask(unknown, sheet.axes)
    asked = _Asked(X, sheet, rank, named, seen, mask, generator_of(rng), square)
    return asked.diagnosed()


def _level_checked(threshold: Any) -> Any:
    """``auto``, None, or a number."""
    if threshold is None or is_auto(threshold):
        return threshold
    if not is_number(threshold):
        raise InputError(f"threshold must be one finite number, 'auto' or None, got {threshold!r}")
    return float(threshold)


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is to be looked at."""

    X: Any
    sheet: Sheet
    rank: int | None
    named: float | str | None
    seen: str
    unknown: Bools | None
    rng: np.random.Generator
    square: bool

    @cached_property
    def wrong_side(self) -> int:
        """Seen entries on the unseen side of a threshold that was named."""
        return beyond(self.sheet, self.named, self.seen) if isinstance(self.named, float) else 0

    @property
    def threshold(self) -> Any:
        """As it was named; ``auto`` where seen entries say that it cannot be that."""
        return "auto" if self.wrong_side else self.named

    @cached_property
    def numbers(self) -> Any:
        """Columns that hold numbers."""
        return self.X.iloc[:, self.sheet.numeric] if hasattr(self.X, "iloc") else self.X

    @cached_property
    def mask(self) -> Bools | None:
        """Of their entries, which are missing for a reason that is known."""
        return None if self.unknown is None else self.unknown[:, self.sheet.numeric]

    @cached_property
    def observations(self) -> Observations:
        """With nothing taken from absence."""
        read = Observations.of if self.square else table_observations
        return read(self.numbers, threshold=None, unknown=self.mask)

    @cached_property
    def values(self) -> Floats:
        """What was seen, each measurement once."""
        return measured_once(self.observations)

    @cached_property
    def edge(self) -> Edge | None:
        """Where seen values begin, or for ``below`` those with the other sign."""
        return edge_of(self.values if self.seen == "above" else -self.values)

    def diagnosed(self) -> Diagnosis:
        """Look at the values, fit them, and put together what that says."""
        counted = counted_in(self.sheet, self.unknown)
        distances = distances_in(self.sheet.values) if self.square else None
        with _quietly():
            found = self._fitted(counted) if np.nanmax(np.abs(self.sheet.values)) > 0 else _Fit(None)
            negative = self._negative(found.completion)
            other = None if negative is None else self._indefinite()
            found = found if other is None else _Fit(other)
            completion = found.completion
            detection, untold = found.told or self._detected(completion, counted)
        structures = structures_of(completion, self.square, negative, distances, found.rehearsed)
        rank = completion.rank if completion is not None and completion.verdict.determines else None
        asked = Recommending(
            self.sheet, self.square, counted, self.rank, self._meant(detection), self.seen, self.unknown
        )
        return Diagnosis(
            shape=self.sheet.axes.shape,
            counted=counted,
            detection=detection,
            untold=untold,
            wrong_side=self._beyond(detection),
            objection=self._objection(detection),
            structures=structures,
            rank=rank,
            spectrum=spectrum_of(completion),
            sigma=noise_of_fit(completion),
            verdict=verdict_of_fit(completion),
            extrapolates=extrapolating(completion),
            held_out=not counted.unseen or self.values.size >= HELD_OUT,
            thin_rows=thin(counted.per_row, rank),
            thin_columns=thin(counted.per_column, rank),
            contradicted=contradicted_by(completion, self.sheet),
            axes=Axes(self.sheet.axes.shape, self.sheet.axes.rows, self.sheet.axes.columns, alike=self.square),
            **asked.call(completion, detection, structures, rank),
        )

    def _fitted(self, counted: Counted) -> _Fit:
        """A fit, and how entries go unseen by it.

        Of a symmetric matrix it is the one completion with the wall that the seen values show: its rank is the rank,
        and nothing is fitted twice.
        """
        first = self._tried(None, threshold=self._wall) if self.square and self.rank is None else None
        alone, how = self._alone(first), {}
        if alone is None or not alone.verdict.determines:
            robust = self._rank_of_most()
            if robust is not None:
                how = {"loss": "huber"}
                alone = self._tried(robust, threshold=None, **how)
        if alone is None:
            return self._rehearsed(first)
        phase("comparing ways to go unseen")
        told = self._detected(alone, counted)
        found = self._with_gaps(told[0], first, alone, how)
        # A rank that leaves only noise is one, also where a rehearsal would rather have another model.
        if found is None or (not found.verdict.determines and alone.verdict.determines):
            found = alone if found is None else replace(alone, rehearsal=found.rehearsal)
        return _Fit(found, told)

    def _alone(self, first: Any) -> Any:
        """A fit of a rank that leaves only noise, with nothing taken from absence; None where there is none."""
        if self.rank is not None:
            return self._tried(self.rank, threshold=None)
        if first is not None and first.verdict.determines:
            return first if self._wall is None else self._tried(first.rank, threshold=None, start=first)
        # With a wall the first completion has climbed already; but a rehearsal may have preferred a rank to its noise.
        rehearsed = None if first is None else first.rehearsal
        plain = rehearsed is not None and not rehearsed.best.shrinkage
        rank = self._rank(self.observations, walled=first is None or self._wall is None or plain)
        return None if rank is None else self._tried(rank, threshold=None)

    def _with_gaps(self, detection: Detection | None, first: Any, alone: Any, how: dict[str, Any]) -> Any:
        """The fit that goes with the way in which entries go unseen."""
        kind = "random" if detection is None else detection.kind
        if detection is not None and kind in ("mixed", "curve"):
            return self._tried(alone.rank, threshold="auto", gaps=kind)
        level = None
        if detection is not None and kind == "censored":
            level = level_to_paste(detection, self.sheet, self._meant(detection), self.seen)
        if first is not None and first.verdict.determines and not how and (level is None) == (self._wall is None):
            return first
        return self._tried(self.rank, threshold=level, **how)

    def _rehearsed(self, first: Any) -> _Fit:
        """The model that forecasts best; of a few rows, among which nobody can tell noise, the fit of its rank."""
        if first is None or len(self.sheet.values) >= MANY_ROWS or first.rehearsal is None:
            return _Fit(first)
        named = self._tried(first.rank, threshold=self._wall) if first.rehearsal.extrapolates else None
        if named is None or not named.verdict.determines:
            return _Fit(first)
        return _Fit(replace(named, rehearsal=first.rehearsal), rehearsed=True)

    @cached_property
    def _wall(self) -> float | None:
        """The wall that was named, or that the seen values show by themselves; None where there is none."""
        if not is_auto(self.threshold):
            return None if self.threshold is None else float(self.threshold)
        if self.edge is None or not self.edge.sharp:
            return None
        return self.edge.level if self.seen == "above" else -self.edge.level

    def _rank(self, observations: Observations, walled: bool = True) -> int | None:
        """The rank that leaves only noise, or only rounding, of the seen entries; None if none does.

        If ``walled``, as if all that is unseen were beyond all that was seen; then with nothing taken from absence.
        Of many rows some are asked first: a part of a matrix of low rank is of low rank.
        """
        posed = PSDProblem if observations.source.cut is None else RectangularProblem
        values = measured_once(observations)
        wall = float(values.min(initial=np.inf) if self.seen == "above" else values.max(initial=-np.inf))
        some = some_rows(observations)
        for told in (*([with_unseen(observations, wall, self.seen)] if walled else []), observations):
            phase("looking for a rank")
            if len(some) < observations.size and Climb(told.restricted(some), posed).ladder().rank is None:
                continue
            rank = Climb(told, posed).ladder().rank
            if rank is not None:
                return rank
        return None

    def _negative(self, completion: Any) -> str | None:
        """What says that the matrix is not positive semidefinite; None where nothing does, or such a fit was found."""
        if not self.square or completion is None or completion.verdict.determines:
            return None
        return not_definite(self.observations, completion.rank)

    def _indefinite(self) -> Any:
        """A fit with eigenvalues of both signs, of the rank that fits the matrix as a table; None where none fits."""
        rank = self.rank or self._rank(table_observations(self.numbers, threshold=None, unknown=self.mask))
        if rank is None:
            return None
        found = self._tried(rank, structure="indefinite", threshold=self._wall)
        return found if found is not None and found.verdict.determines else None

    def _rank_of_most(self) -> int | None:
        """The same without a few entries that the others contradict; None where that leads nowhere either."""
        phase("looking for wrong entries")
        some = self.observations.restricted(some_rows(self.observations))
        doubts = doubted(some, self.rank, Huber(), self.rng)
        if not 0 < len(doubts.rows) <= FEW * some.count:
            return None
        posed = PSDProblem if self.square else RectangularProblem
        rest = some.without_entries(doubts.rows, doubts.cols)
        return Climb(rest, posed).ladder().rank if self.rank is None else self.rank

    def _tried(self, rank: int | None, **how: Any) -> Any:
        """A completion; None where it is refused."""
        door = complete if self.square else complete_rectangular
        try:
            return door(self.numbers, rank, seen=self.seen, unknown=self.mask, rng=self.rng, **how)
        except InputError:
            return None

    def _detected(self, completion: Any, counted: Counted) -> Told:
        """How entries go unseen; or why that cannot be told."""
        untold = nothing_told(self.sheet, counted, completion)
        if untold:
            return None, untold
        named = self.threshold if isinstance(self.threshold, float) else None
        found = gaps_in(completion, self.observations, self.seen, named, self.edge)
        if named is not None and found is not None and found.kind == "random":  # nothing speaks for what was named
            found = gaps_in(completion, self.observations, self.seen, None, self.edge)
        if found is None:
            rows = "rows that can be fitted"
            return None, f"Too few entries were seen, or unseen, in {rows} to tell why entries are missing."
        return (found if found.curve.level == named else at_the_edge(found, self.edge)), ""

    def _meant(self, detection: Detection | None) -> Any:
        """The threshold as it was named, unless the data speak against it."""
        if detection is None or not isinstance(self.threshold, float) or detection.curve.level == self.threshold:
            return self.threshold
        return "auto"

    def _objection(self, detection: Detection | None) -> str:
        """What the data say against a threshold that was named."""
        return "" if self._meant(detection) == self.named else objection_to(self.named, self.wrong_side, detection)

    def _beyond(self, detection: Detection | None) -> int | None:
        """Seen entries on the unseen side of the level."""
        curve = None if detection is None else detection.curve
        if self.wrong_side or curve is None or not np.isfinite(curve.level) or curve.width > 0:
            return self.wrong_side if isinstance(self.named, float) else None
        return beyond(self.sheet, curve.level, self.seen)


@dataclass(frozen=True)
class _Fit:
    """A fit, if there is one; what it tells of the gaps, if that was asked; whether only a rehearsal chose its rank."""

    completion: Any
    told: Told | None = None
    rehearsed: bool = False


@contextmanager
def _quietly() -> Iterator[None]:
    """Warnings about a fit that is only looked at are nobody's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompletionWarning)
        yield
