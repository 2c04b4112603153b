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
from unrelu.base.arrays import Array, Bools, Floats, Indices
from unrelu.base.budget import phase
from unrelu.base.errors import CompletionWarning, InputError, unknown_name
from unrelu.base.generators import generator_of
from unrelu.complete import complete
from unrelu.complete_rectangular import complete_rectangular
from unrelu.data.inputs import read_mask
from unrelu.data.labels import Axes, label_or_position
from unrelu.data.observations import Observations
from unrelu.data.sheet import Sheet
from unrelu.data.table_observations import table_observations
from unrelu.detection.chosen import Detection, detected, enough_to_tell
from unrelu.detection.edge import Edge, edge_of
from unrelu.detection.evidence import measured_once
from unrelu.judge.definite import not_definite
from unrelu.kernels.threads import owning_the_cores
from unrelu.loop.history import Stop, Verdict
from unrelu.problems.psd import PSDProblem
from unrelu.problems.rectangular import RectangularProblem
from unrelu.results.diagnosis import Contradicted, Counted, Diagnosis, Structure
from unrelu.results.gaps import evidence_of

__all__ = ["diagnose"]

# Standard deviations from which on a seen entry is called contradicted, and the most that are kept.
CONTRADICTED, MOST = 6.0, 1000
# Triples of a distance matrix that are looked at, and the share of them that may break the triangle inequality.
TRIPLES, BROKEN = 20_000, 0.01
# From the median of sizes to a standard deviation.
MEDIAN = 1.4826


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
    square = m == n and len(sheet.numeric) == n and _mirrored(sheet.values)
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
        distances = _distances(self.sheet.values) if self.square else None
        with _quietly():
            completion, detection, untold = self._fitted(numbers, edge, observations, counted)
        wrong = self._wrong_side(detection)
        structures = self._structures(completion, observations, distances)
        rank = completion.rank if completion is not None and completion.verdict.determines else None
        return Diagnosis(
            shape=self.sheet.axes.shape,
            counted=counted,
            detection=detection,
            untold=untold,
            wrong_side=wrong,
            structures=structures,
            rank=rank,
            spectrum=_spectrum(completion),
            sigma=_noise(completion),
            verdict=_verdict(completion),
            extrapolates=_extrapolates(completion),
            thin_rows=_thin(counted.per_row, rank),
            thin_columns=_thin(counted.per_column, rank),
            contradicted=_contradicted(completion, self.sheet),
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
        wall = None if edge is None or not edge.sharp else edge.level if self.seen == "above" else -edge.level
        rank = self._rank(observations) if self.rank is None else self.rank
        if rank is None:
            completion = self._tried(X, None, threshold=wall if self._auto else self.threshold)
            return completion, *self._detected(completion, observations, counted)
        alone = self._tried(X, rank, threshold=None)
        phase("comparing ways to go unseen")
        detection, untold = self._detected(alone, observations, counted)
        kind = "random" if detection is None else detection.kind
        if kind == "random":
            found = self._tried(X, self.rank, threshold=None)
        elif kind == "censored" and detection is not None:
            found = self._tried(X, self.rank, threshold=self._level(detection))
        else:
            found = self._tried(X, rank, threshold="auto", gaps=kind)
        # A rank that leaves only noise is one, also where a rehearsal would rather have another model.
        named = found is None or (not found.verdict.determines and alone is not None and alone.verdict.determines)
        if named and alone is not None and found is not None:
            alone = replace(alone, rehearsal=found.rehearsal)
        return (alone if named else found), detection, untold

    def _rank(self, observations: Observations) -> int | None:
        """The rank that leaves only noise, or only rounding, of the seen entries; None if none does.

        As if all that is unseen were beyond all that was seen; if that leads nowhere, with nothing taken from absence.
        """
        posed = PSDProblem if self.square else RectangularProblem
        values = measured_once(observations)
        wall = float(values.min(initial=np.inf) if self.seen == "above" else values.max(initial=-np.inf))
        for told in (with_unseen(observations, wall, self.seen), observations):
            phase("looking for a rank")
            rank = Climb(told, posed).ladder().rank
            if rank is not None:
                return rank
        return None

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

    def _structures(self, completion: Any, seen: Observations, distances: Structure | None) -> tuple[Structure, ...]:
        answered = completion is not None and completion.verdict.determines
        name = "psd" if self.square else "rectangular"
        called = "A positive semidefinite matrix" if self.square else "A table of low rank"
        if answered:
            words = f"{called} of rank {completion.rank} fits what was seen."
        elif completion is not None:
            words = f"{called} of low rank does not fit what was seen."
        else:
            words = f"No {called[2:]} was found that fits what was seen."
        found = [Structure(name, answered, words)]
        if self.square and not answered and completion is not None:
            negative = not_definite(seen, completion.rank)
            if negative is not None:
                found.append(Structure("indefinite", None, f"It cannot be positive semidefinite: {negative}."))
        if distances is not None:
            found.insert(0 if distances.fits else len(found), distances)
        return tuple(found)

    def _recommended(
        self, completion: Any, detection: Detection | None, structures: tuple[Structure, ...], edge: Any, rank: Any
    ) -> dict[str, Any]:
        """The call that this leads to."""
        options: dict[str, Any] = {}
        if structures[0].name == "distances":
            return {"function": "complete_distances", "options": {"dim": "auto", **_cutoff(self.sheet.values)}}
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
        by_itself = (completion is not None and completion.threshold is not None) or kind == "random"
        if rank is not None and (not self.square or not by_itself):
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


def roundest(low: float, high: float) -> float:
    """The number with fewest digits between two numbers.

    Examples
    --------
    >>> roundest(0.2993, 0.3002), roundest(-0.01, 0.02), roundest(1.23456, 1.23457)
    (0.3, 0.0, 1.23456)
    """
    if low <= 0 <= high:
        return 0.0
    size = max(abs(low), abs(high))
    for digits in range(17):
        step = 10.0 ** (np.floor(np.log10(size)) - digits)
        number = float(np.ceil(low / step) * step)
        if number <= high:
            return float(f"{number:.15g}") if low <= float(f"{number:.15g}") <= high else number
    return high


@contextmanager
def _quietly() -> Iterator[None]:
    """Warnings about a fit that is only looked at are nobody's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompletionWarning)
        yield


def _mirrored(values: Array) -> bool:
    return bool(np.allclose(values, values.T, equal_nan=True))


def _distances(values: Array) -> Structure | None:
    """Whether a symmetric matrix holds distances; None where nothing speaks for it."""
    own = np.diagonal(values)
    others = values[~np.eye(len(values), dtype=bool)]
    others = others[~np.isnan(others)]
    if not np.all((own == 0) | np.isnan(own)) or not np.any(own == 0) or np.any(others < 0) or not np.any(others > 0):
        return None
    rng, n = np.random.default_rng(0), len(values)
    i, j, k = rng.integers(0, n, (3, TRIPLES))
    sides = np.sort(np.stack([values[i, j], values[j, k], values[i, k]]), axis=0)
    known = ~np.isnan(sides).any(axis=0) & (i != j) & (j != k) & (i != k)
    if not known.any():
        return Structure("distances", None, "It may hold distances: zeros on the diagonal, and nothing below 0.")
    broken = float(np.mean(sides[2, known] > (sides[0] + sides[1])[known] * (1 + BROKEN)))
    if broken <= BROKEN:
        words = "It looks like distances: zeros on the diagonal, nothing below 0, and triangles hold."
        return Structure("distances", True, words)
    return Structure("distances", False, f"It holds no distances: {broken:.0%} of the seen triangles do not close.")


def _cutoff(values: Array) -> dict[str, float]:
    """Beyond which distances go unseen, if any do."""
    off = values[~np.eye(len(values), dtype=bool)]
    return {"cutoff": float(np.nanmax(off))} if np.isnan(off).any() else {}


def _spectrum(completion: Any) -> Floats:
    if completion is None:
        return np.zeros(0)
    left, right = completion.factors.left.astype(np.float64), completion.factors.right.astype(np.float64)
    first, second = np.linalg.qr(left)[1], np.linalg.qr(right)[1]
    found: Floats = np.linalg.svd(first @ second.T, compute_uv=False)
    return found


def _noise(completion: Any) -> float | None:
    if completion is None or not completion.verdict.determines:
        return None
    if completion.verdict.code is Stop.FITTED:
        return 0.0
    sigma = float(completion.error_bars().noise.sigma)
    return sigma if np.isfinite(sigma) else None


def _verdict(completion: Any) -> Verdict:
    if completion is None:
        return Verdict(Stop.UNDERDETERMINED, "no fit was found")
    found: Verdict = completion.verdict
    return found


def _extrapolates(completion: Any) -> bool | None:
    return None if completion is None or completion.rehearsal is None else bool(completion.rehearsal.extrapolates)


def _thin(count: Indices, rank: int | None) -> Indices:
    """Of which no more was seen than their places have numbers."""
    found: Indices = np.flatnonzero(count < max(rank or 1, 1))
    return found


def _contradicted(completion: Any, sheet: Sheet) -> tuple[Contradicted, ...]:
    """Seen entries far from a fit that meets the others."""
    if completion is None or not completion.verdict.answered or completion.verdict.code is Stop.FITTED:
        return ()
    values = sheet.values[:, sheet.numeric]
    off = values - np.asarray(completion.factors.dense(), np.float64)
    if completion.shape[0] == completion.shape[1] and completion.symmetric:
        off = np.where(np.tri(len(off), k=0, dtype=bool), np.nan, off) if not completion.forecasts else off * np.nan
    sizes = np.abs(off[~np.isnan(off)])
    spread = MEDIAN * float(np.median(sizes)) if sizes.size else 0.0
    if not spread > 0:
        return ()
    i, j = np.nonzero(np.abs(np.nan_to_num(off)) > CONTRADICTED * spread)
    order = np.argsort(-np.abs(off[i, j]))[:MOST]
    rows, columns = sheet.axes.rows, sheet.axes.columns
    return tuple(
        Contradicted(
            label_or_position(int(a), rows),
            label_or_position(int(sheet.numeric[b]), columns),
            float(values[a, b]),
            float(values[a, b] - off[a, b]),
            float(abs(off[a, b]) / spread),
        )
        for a, b in zip(i[order], j[order], strict=True)
    )
