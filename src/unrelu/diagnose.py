"""The front door for who is not sure: what a matrix is, why entries are missing, and which call that leads to."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unrelu.auto.detected import with_unseen
from unrelu.auto.ranks import Climb
from unrelu.auto.robust import doubted
from unrelu.base.arrays import Bools
from unrelu.base.budget import phase
from unrelu.base.errors import CompletionWarning, InputError, unknown_name
from unrelu.base.generators import generator_of
from unrelu.complete import complete
from unrelu.complete_rectangular import complete_rectangular
from unrelu.data.inputs import read_mask
from unrelu.data.labels import Axes
from unrelu.data.observations import Observations
from unrelu.data.sheet import Sheet
from unrelu.data.table_observations import table_observations
from unrelu.detection.chosen import Detection, detected, enough_to_tell
from unrelu.detection.edge import Edge, edge_of
from unrelu.detection.evidence import measured_once
from unrelu.judge.definite import not_definite
from unrelu.kernels.threads import owning_the_cores
from unrelu.model.losses import Huber
from unrelu.problems.psd import PSDProblem
from unrelu.problems.rectangular import RectangularProblem
from unrelu.results.diagnosis import Counted, Diagnosis, Structure
from unrelu.results.gaps import evidence_of
from unrelu.results.inspected import (
    contradicted_by,
    cutoff_of,
    distances_in,
    extrapolating,
    mirrored,
    noise_of_fit,
    roundest,
    spectrum_of,
    thin,
    verdict_of_fit,
)

__all__ = ["diagnose"]

# Of the seen entries, how many may be wrong for the rest to be believed.
FEW = 0.1
# Seen entries from which on some can be hidden on purpose.
HELD_OUT = 40


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
        If there is nothing to look at.

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
    if seen not in ("above", "below"):
        raise unknown_name("side seen", seen, ["above", "below"])
    sheet = Sheet.of(X)
    m, n = sheet.axes.shape
    if not len(sheet.numeric) or not np.isfinite(sheet.values).any():
        raise InputError("X must hold numbers of which some were seen, got none; there is nothing to look at")
    square = m == n and len(sheet.numeric) == n and mirrored(sheet.values)
    asked = _Asked(X, sheet, rank, threshold, seen, unknown, generator_of(rng), square)
    return asked.diagnosed()


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is to be looked at."""

    X: Any
    sheet: Sheet
    rank: int | None
    threshold: Any
    seen: str
    unknown: Any
    rng: np.random.Generator
    square: bool

    @property
    def _auto(self) -> bool:
        return isinstance(self.threshold, str) and self.threshold == "auto"

    @property
    def _mask(self) -> Bools:
        axes = self.sheet.axes
        return np.zeros(axes.shape, bool) if self.unknown is None else read_mask(self.unknown, axes)

    def diagnosed(self) -> Diagnosis:
        """Look at the values, fit them, and put together what that says."""
        counted = self._counted()
        numbers = self.X.iloc[:, self.sheet.numeric] if hasattr(self.X, "iloc") else self.X
        read = Observations.of if self.square else table_observations
        observations = read(numbers, threshold=None, unknown=self.unknown)
        values = measured_once(observations)
        edge = edge_of(values if self.seen == "above" else -values)
        distances = distances_in(self.sheet.values) if self.square else None
        with _quietly():
            completion, detection, untold = self._fitted(numbers, edge, observations, counted)
            negative = self._negative(completion, observations)
            other = None if negative is None else self._indefinite(numbers, edge)
            if other is not None:
                completion, (detection, untold) = other, self._detected(other, observations, counted)
        wrong = self._wrong_side(detection)
        structures = self._structures(completion, negative, distances)
        rank = completion.rank if completion is not None and completion.verdict.determines else None
        return Diagnosis(
            shape=self.sheet.axes.shape,
            counted=counted,
            detection=detection,
            untold=untold,
            wrong_side=wrong,
            structures=structures,
            rank=rank,
            spectrum=spectrum_of(completion),
            sigma=noise_of_fit(completion),
            verdict=verdict_of_fit(completion),
            extrapolates=extrapolating(completion),
            held_out=not counted.unseen or values.size >= HELD_OUT,
            thin_rows=thin(counted.per_row, rank),
            thin_columns=thin(counted.per_column, rank),
            contradicted=contradicted_by(completion, self.sheet),
            axes=Axes(self.sheet.axes.shape, self.sheet.axes.rows, self.sheet.axes.columns, alike=self.square),
            **self._recommended(completion, detection, structures, edge, rank),
        )

    def _counted(self) -> Counted:
        present, mask = ~np.isnan(self.sheet.values), self._mask
        unseen = ~present & ~mask
        unseen[:, np.setdiff1d(np.arange(present.shape[1]), self.sheet.numeric)] = False
        known = int((mask & ~present).sum())
        return Counted(int(present.sum()), int(unseen.sum()), known, present.sum(axis=1), present.sum(axis=0))

    def _fitted(
        self, X: Any, edge: Edge | None, observations: Observations, counted: Counted
    ) -> tuple[Any, Detection | None, str]:
        """A fit, how entries go unseen by it, and if that cannot be told, why not.

        A rank that leaves only noise of the seen entries is looked for with nothing taken from absence; where there is
        none, with the wall that the seen values show.
        """
        wall = self._wall(edge)
        rank = self._rank(observations) if self.rank is None else self.rank
        alone, how = (None, {}) if rank is None else (self._tried(X, rank, threshold=None), {})
        if alone is None or not alone.verdict.determines:
            robust = self._rank_of_most(observations)
            if robust is not None:
                rank, how = robust, {"loss": "huber"}
                alone = self._tried(X, rank, threshold=None, **how)
        if rank is None:
            completion = self._tried(X, None, threshold=wall if self._auto else self.threshold)
            return completion, *self._detected(completion, observations, counted)
        phase("comparing ways to go unseen")
        detection, untold = self._detected(alone, observations, counted)
        kind = "random" if detection is None else detection.kind
        if kind == "random":
            found = self._tried(X, self.rank, threshold=None, **how)
        elif kind == "censored" and detection is not None:
            found = self._tried(X, self.rank, threshold=self._level(detection), **how)
        else:
            found = self._tried(X, rank, threshold="auto", gaps=kind)
        # A rank that leaves only noise is one, also where a rehearsal would rather have another model.
        named = found is None or (not found.verdict.determines and alone is not None and alone.verdict.determines)
        if named and alone is not None and found is not None:
            alone = replace(alone, rehearsal=found.rehearsal)
        return (alone if named else found), detection, untold

    def _wall(self, edge: Edge | None) -> float | None:
        """The wall that the seen values show by themselves."""
        if edge is None or not edge.sharp:
            return None
        return edge.level if self.seen == "above" else -edge.level

    def _rank(self, observations: Observations) -> int | None:
        """The rank that leaves only noise, or only rounding, of the seen entries; None if none does.

        As if all that is unseen were beyond all that was seen; if that leads nowhere, with nothing taken from absence.
        """
        posed = PSDProblem if observations.source.cut is None else RectangularProblem
        values = measured_once(observations)
        wall = float(values.min(initial=np.inf) if self.seen == "above" else values.max(initial=-np.inf))
        for told in (with_unseen(observations, wall, self.seen), observations):
            phase("looking for a rank")
            rank = Climb(told, posed).ladder().rank
            if rank is not None:
                return rank
        return None

    def _negative(self, completion: Any, observations: Observations) -> str | None:
        """What says that the matrix is not positive semidefinite; None where nothing does, or such a fit was found."""
        if not self.square or completion is None or completion.verdict.determines:
            return None
        return not_definite(observations, completion.rank)

    def _indefinite(self, X: Any, edge: Edge | None) -> Any:
        """A fit with eigenvalues of both signs, of the rank that fits the matrix as a table; None where none fits."""
        rank = self.rank or self._rank(table_observations(X, threshold=None, unknown=self.unknown))
        if rank is None:
            return None
        wall = self._wall(edge) if self._auto else self.threshold
        found = self._tried(X, rank, structure="indefinite", threshold=wall)
        return found if found is not None and found.verdict.determines else None

    def _rank_of_most(self, observations: Observations) -> int | None:
        """The same without a few entries that the others contradict; None where that leads nowhere either."""
        phase("looking for wrong entries")
        doubts = doubted(observations, self.rank, Huber(), self.rng)
        if not 0 < len(doubts.rows) <= FEW * observations.count:
            return None
        posed = PSDProblem if self.square else RectangularProblem
        rest = observations.without_entries(doubts.rows, doubts.cols)
        return Climb(rest, posed).ladder().rank if self.rank is None else self.rank

    def _tried(self, X: Any, rank: int | None, **how: Any) -> Any:
        """A completion; None where it is refused."""
        door = complete if self.square else complete_rectangular
        try:
            return door(X, rank, seen=self.seen, unknown=self.unknown, rng=self.rng, **how)
        except InputError:
            return None

    def _detected(self, completion: Any, observations: Observations, counted: Counted) -> tuple[Detection | None, str]:
        """How entries go unseen; or why that cannot be told."""
        if not counted.unseen:
            return None, "Everything was seen: nothing can be told of why entries would be missing."
        values = self.sheet.values[~np.isnan(self.sheet.values)]
        if values.size > 1 and values.min() == values.max():
            return None, f"All seen values are {values[0]:g}: they show no threshold, and nothing of the others."
        if min(self.sheet.axes.shape) == 1:
            return None, "There is one row or column only: nothing says what its entries have in common."
        if completion is None:
            return None, "No fit of the seen entries was found, so that nothing can be told of the others."
        evidence = evidence_of(completion, observations)
        if not enough_to_tell(evidence):
            rows = "rows that can be fitted"
            return None, f"Too few entries were seen, or unseen, in {rows} to tell why entries are missing."
        named = not self._auto and self.threshold is not None and np.ndim(self.threshold) == 0
        return detected(evidence, side=self.seen, level=float(self.threshold) if named else None), ""

    def _wrong_side(self, detection: Detection | None) -> int | None:
        level = self.threshold if not self._auto else None if detection is None else detection.curve.level
        curve = None if detection is None else detection.curve
        if level is None or np.ndim(level) or not np.isfinite(level) or (curve is not None and curve.width > 0):
            return None
        values = self.sheet.values[~np.isnan(self.sheet.values)]
        return int(np.sum(values < level) if self.seen == "above" else np.sum(values > level))

    def _structures(self, completion: Any, negative: str | None, distances: Structure | None) -> tuple[Structure, ...]:
        answered = completion is not None and completion.verdict.determines
        name = "psd" if self.square else "rectangular"
        called = "A positive semidefinite matrix" if self.square else "A table"
        if answered and negative is None:
            words = f"{called} of rank {completion.rank} fits what was seen."
        elif completion is not None:
            words = f"{called} of low rank does not fit what was seen."
        else:
            words = f"No {called[2:]} of low rank was found that fits what was seen."
        found = [Structure(name, answered and negative is None, words)]
        if negative is not None:
            fits = "" if not answered else f" A symmetric matrix of rank {completion.rank} with both signs does fit."
            found.append(Structure("indefinite", answered, f"{negative[0].upper()}{negative[1:]}.{fits}"))
        if distances is not None:
            found.insert(0 if distances.fits else len(found), distances)
        return tuple(found)

    def _recommended(
        self, completion: Any, detection: Detection | None, structures: tuple[Structure, ...], edge: Any, rank: Any
    ) -> dict[str, Any]:
        """The call that this leads to."""
        options: dict[str, Any] = {}
        if structures[0].name == "distances":
            return {"function": "complete_distances", "options": {"dim": "auto", **cutoff_of(self.sheet.values)}}
        function = "complete" if self.square else "complete_rectangular" if completion is not None else "complete_table"
        kind = None if detection is None else detection.kind
        if function == "complete_table":
            return {"function": function, "options": {"threshold": "auto"} if kind != "random" else {}}
        if kind in ("mixed", "curve"):
            options = {"threshold": "auto", "gaps": kind}
        elif kind == "censored" and detection is not None:
            options = {"threshold": self._level(detection)}
        else:
            options = {"threshold": None}
        options |= {} if self.seen == "above" else {"seen": self.seen}
        options |= {"structure": "indefinite"} if any(o.name == "indefinite" and o.fits for o in structures) else {}
        options |= {"loss": "huber"} if completion is not None and completion.distrusted else {}
        by_itself = (completion is not None and completion.threshold is not None) or kind == "random"
        if rank is not None and (not self.square or not by_itself or "structure" in options):
            options = {"rank": rank, **options}
        return {"function": function, "options": options}

    def _level(self, detection: Detection) -> Any:
        """A threshold to paste: the roundest number that the data allow; ``auto`` where seen entries lie beyond it."""
        curve = detection.curve
        if not self._auto:
            return self.threshold
        values = self.sheet.values[~np.isnan(self.sheet.values)]
        if curve.stray > 0 or curve.before_noise:
            return "auto"
        low, high = curve.level_interval
        nearest = float(values.min() if self.seen == "above" else values.max())
        ends = (low, min(high, nearest)) if self.seen == "above" else (max(low, nearest), high)
        return roundest(min(ends), max(ends))


@contextmanager
def _quietly() -> Iterator[None]:
    """Warnings about a fit that is only looked at are nobody's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompletionWarning)
        yield
