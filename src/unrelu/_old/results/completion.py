"""What comes out: the factor, how sure it is, and the matrix when asked for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unrelu._old.auto.no_structure import NoStructure
from unrelu._old.auto.rehearsal import alone_beside
from unrelu._old.auto.rehearsed import Rehearsal
from unrelu._old.auto.task import Attempt
from unrelu._old.base.arrays import Array, Indices
from unrelu._old.base.tolerances import FLOOR_FINISHED
from unrelu._old.data.labels import as_positions
from unrelu._old.data.left_out import Places
from unrelu._old.data.observations import Observations
from unrelu._old.data.terms import Terms
from unrelu._old.kernels.memory import require_memory
from unrelu._old.loop.chains import Draws
from unrelu._old.loop.history import History, Stop, Verdict
from unrelu._old.model.detection import DetectionCurve
from unrelu._old.model.factors import Factors, Signed, Symmetric, TwoSided, positions_checked, together
from unrelu._old.results.data_again import framed, marked, read_again, refuse_another_mask
from unrelu._old.results.determined import Determined
from unrelu._old.results.distrusted import Distrusted
from unrelu._old.results.forecasts import blank, expected, fill, forecast, held, limits_of, noise_level
from unrelu._old.results.hidden import fill_hidden
from unrelu._old.results.misfit import Misfit, largest_misfit
from unrelu._old.results.posterior import Posterior
from unrelu._old.results.saving import read_fields, write_fields
from unrelu._old.results.summary import summary_of
from unrelu._old.results.uncertain import Uncertain
from unrelu._old.results.witnesses import PSDWitnesses, Witnesses
from unrelu._old.uncertainty.error_bars import ErrorBars

__all__ = ["Completion"]


@dataclass(frozen=True, eq=False)
class Completion(Determined, Uncertain):
    """A completed matrix M ≈ UUᵀ, kept as its factor; nothing n×n is stored but a reference to the input.

    Attributes
    ----------
    factor : ndarray of shape (n, rank)
        U. Determined up to a rotation of its columns.
    verdict : Verdict
        How the run ended: ``converged``, ``code``, ``reason``.
    history : History
        One record per iteration.
    objective : float
        F at ``factor``.
    residual : float
        √(4F) / ‖M_Ω‖_F: the misfit on the seen entries (and on absent ones, if the loss listens to them), relative.
    method, start, loss : str
        What was used.
    source : the caller's matrix, or None
        What the completion was made from: a reference, not a copy, which :meth:`filled` reads. None after :meth:`load`.
    seen : tuple of (int, float)
        How many entries were seen, and ‖M_Ω‖_F.
    iteration : int
        Which record of the history is that of ``factor``: the last, unless the run did not converge.
    labels : tuple or None
        Row and column labels, if the input had them: rows can be asked for by them. Integers are positions.
    undetermined_rows : int ndarray
        Rows of which too little was seen to place them among the others; completed as well as may be.
    left, right : ndarray of shape (n, k) or None
        A two-factor method's own L and R; ``factor`` is then that of the nearest positive semidefinite matrix.
    apart : float
        ‖LRᵀ − UUᵀ‖_F / ‖UUᵀ‖_F: how far those two are from each other.
    pairs : {"auto", "one", "independent"}
        Whether (i, j) and (j, i) carry one noise or two; for the error bars.
    threshold, side, unknown
        What absence says: ``threshold``, ``seen`` and ``unknown`` of :func:`unrelu.complete`. ``unknown`` is a
        reference, and None after :meth:`load`, where ``unknown_count`` says how many entries it marked.
    entry_range, weights, spread
        What else was said of the entries: ``entry_range`` and ``weights`` of :func:`unrelu.complete`, and how large
        the noise of each is relative to ``sigma``.
    seconds, cpu_seconds : float
        What the whole call took, by the clock and of the processor; the history counts the iterations' own time.
    sigma, sigma_given : float or None, bool
        The noise level of a fit by likelihood, and whether it was given; None for a fit of squares.
    attempts : tuple of Attempt
        Every start that ``auto`` tried, with the objective it ended at; empty for a named method. None ended lower.
    symmetric : bool
        Whether the matrix is UUᵀ or U D Uᵀ; else it is LRᵀ, with ``left`` and ``right``.
    signs : tuple of 1 and −1, or None
        The diagonal of D, where ``structure="indefinite"`` was asked for.
    alone : NoStructure or None
        Where no rank was named: what is known of an entry that the data do not determine, and filled in there.
    rehearsal : Rehearsal or None
        What was hidden on purpose, which models were tried and how well the best forecasts; None for exact data, and
        where a rank was named.
    drawn : Draws or None
        What the chains of ``method="gibbs"`` have drawn; :attr:`posterior` answers with it.
    witnesses : Witnesses
        Who is asked which rows are determined, and for error bars.
    detection : DetectionCurve or None
        How entries go unseen by their value, where ``threshold="auto"`` or ``gaps`` asked for that to be found.
    distrusted : tuple of Distrusted
        With ``loss="huber"`` the entries that the others contradict, the worst first; a pair once.
    left_out : pair of int ndarray
        Positions of the entries that were therefore not fitted, both halves of a pair.
    entries_read : int or None
        How many entries of the matrix were read to find it: all of them, unless they were read in blocks, and then each
        as often as it was read. None for what a file from before this was counted brings back.
    engine : str
        Who did the passes over the matrix, and in which precision where it was not NumPy in that of the data.
    conditioning : ndarray of shape (n,) or None
        Of a completion by landmarks: how well what was seen of each row holds it, 1/tr(N⁻¹) of its normal matrix N in
        a frame in which that of a row that sees everything is the identity; 0 for rows that have no place.
    """

    # What its file says that it holds, and which of its fields are labels.
    kind: ClassVar[str] = "matrix"
    labels_kept: ClassVar[tuple[str, ...]] = ("labels",)

    factor: Array
    verdict: Verdict
    history: History
    objective: float
    residual: float
    method: str
    start: str
    loss: str
    source: Any = None
    seen: tuple[int, float] = (0, 0.0)
    iteration: int = -1
    labels: tuple[Any, ...] | None = None
    undetermined_rows: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))
    left: Array | None = None
    right: Array | None = None
    apart: float = 0.0
    pairs: str = "auto"
    threshold: Any = 0.0
    side: str = "above"
    unknown: Any = None
    entry_range: tuple[float, float] | None = None
    weights: Any = None
    spread: Any = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    sigma: float | None = None
    sigma_given: bool = False
    attempts: tuple[Attempt, ...] = ()
    symmetric: bool = True
    signs: tuple[int, ...] | None = None
    witnesses: Witnesses = field(default_factory=PSDWitnesses)
    unknown_count: int | None = None
    rehearsal: Rehearsal | None = None
    alone: NoStructure | None = None
    detection: DetectionCurve | None = None
    distrusted: tuple[Distrusted, ...] = ()
    left_out: Places = field(default_factory=lambda: (np.zeros(0, np.intp), np.zeros(0, np.intp)))
    drawn: Draws | None = field(default=None, repr=False)
    entries_read: int | None = None
    engine: str = "NumPy"
    conditioning: Array | None = field(default=None, repr=False)

    @cached_property
    def _asked(self) -> dict[str, Any]:
        """What was asked already: rows, error bars."""
        return {}

    @cached_property
    def posterior(self) -> Posterior | None:
        """What ``method="gibbs"`` has drawn: means, intervals and probabilities of entries; None for other methods."""
        return None if self.drawn is None else Posterior(self.drawn, self._places, self._with_limits)

    @property
    def factors(self) -> Factors:
        """The completed matrix as its factors: UUᵀ, or LRᵀ if it is not symmetric."""
        if self.signs is not None:
            return Signed(self.factor, np.array(self.signs))
        if self.symmetric or self.left is None or self.right is None:
            return Symmetric(self.factor)
        return TwoSided(self.left, self.right)

    @property
    def rank(self) -> int:
        """Number of columns of the factor."""
        return int(self.factor.shape[1])

    @property
    def size(self) -> int:
        """n, the number of rows."""
        return int(self.factor.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self.size, self.size

    def entries(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        """Entries of the fit at positions, or labels if the input had them, that broadcast against each other."""
        return self.factors.entries(*self._places(rows, cols))

    def matrix(self, undetermined: str = "keep") -> Any:
        """The fit everywhere, UUᵀ: an n×n array, or a data frame if the input was one (also after :meth:`load`).

        Parameters
        ----------
        undetermined : {"keep", "nan"}
            ``nan`` blanks the entries that the data do not determine; see :attr:`determinacy`.
        """
        result = self._dense()
        return self._framed(self._blanked(result) if blank(undetermined) else result)

    def filled(self, X: Any = None, undetermined: str = "keep") -> Any:
        """Seen entries as they were given (one seen one way round is copied to the other), the rest from the fit.

        An entry that went unseen because of its value is filled with its expectation given that: around the fit by
        the noise, never beyond its limit; one that the data leave open goes no further than 95 % of all entries do.

        Parameters
        ----------
        X : optional
            The matrix that was completed; needed only after :meth:`load`, which does not bring it back.
        undetermined : {"keep", "nan"}
            ``nan`` blanks the unseen entries that the data do not determine.
        """
        if self.posterior is not None and not blank(undetermined):
            return self._framed(self.posterior.filled(X).astype(self.factor.dtype), X)
        result = self._dense()
        result = self._blanked(result) if blank(undetermined) else result
        seen = self._with_limits(X)
        known = None if blank(undetermined) else self._of_any(seen)
        if known is not None:
            i, j = np.nonzero(np.isnan(self._blanked(result.copy())))
            result[i, j] = held(result[i, j], limits_of(seen, i, j), known)
        fill(result, seen, self._expectation, both_ways=self.symmetric)
        return self._framed(fill_hidden(result, self, seen), X)

    def _of_any(self, seen: Observations) -> NoStructure | None:
        """What is known of an entry that nothing determines: by those that were seen, and those that are determined."""
        if self.alone is None or not self.at_floor:
            return self.alone
        if "rows" not in self._asked:  # after load only X brings them
            self._asked["rows"] = self.witnesses.rows(self, seen)
        if "alone" not in self._asked:
            self._asked["alone"] = alone_beside(self._determined_entries, seen, np.random.default_rng(0))
        return self._asked["alone"]

    def _determined_entries(self, i: Indices, j: Indices) -> Array:
        """Of the fit at (i[k], j[k]), NaN where the data leave them open."""
        return np.where(self._open(i, j), np.nan, self.entries(i, j))

    @property
    def forecasts(self) -> bool:
        """Whether unseen entries are forecast by a model that was rehearsed, of data that are of no low rank."""
        return self.rehearsal is not None and self.drawn is None and not self.verdict.determines

    def _expectation(self, fit: Array, ends: tuple[Any, Any]) -> Array:
        """Of unseen entries with this fit, between their ends."""
        if self.forecasts:
            assert self.rehearsal is not None
            return forecast(self.rehearsal, fit, ends, self.sigma or 0.0)
        return expected(fit, ends, noise_level(self))

    def _framed(self, values: Array, X: Any = None) -> Any:
        """A matrix as the caller's was."""
        return framed(values, self.source if X is None else X, self.labels)

    def seen_entries(self, X: Any = None) -> Observations:
        """What was seen, read again from the caller's matrix; refused if that has changed meanwhile."""
        return read_again(self, X, Terms(threshold=None))

    def _with_limits(self, X: Any) -> Observations:
        """What was seen, and what absence says as far as that is known: a file does not bring back a mask."""
        masked = self.unknown_count and self.unknown is None
        hanging = self.forecasts or self.alone is not None or self.drawn is not None
        if masked and hanging:  # every unseen entry hangs on its limits
            self._require_mask(None)
        return self.seen_entries(X) if masked else self.observed(X)

    def with_data(self, X: Any, unknown: Any = None) -> Completion:
        """The same completion with the matrix it was made from: what :meth:`load` does not bring back."""
        self.seen_entries(X)
        self._require_mask(unknown)
        return replace(self, source=X, unknown=unknown)

    def _require_mask(self, unknown: Any) -> None:
        """Refuse another mask than the one that the completion was made with."""
        known = self.unknown_count if self.unknown is None else marked(self.unknown, self.shape)
        refuse_another_mask(unknown, self.shape, known)

    def with_verdict(self, verdict: Verdict, undetermined_rows: NDArray[np.intp]) -> Completion:
        """The same completion with more to say; what was found out about its rows is kept."""
        other = replace(self, verdict=verdict, undetermined_rows=undetermined_rows)
        if "rows" in self._asked and other.at_floor == self.at_floor:
            other._asked["rows"] = self._asked["rows"]
        return other

    def observed(self, X: Any = None) -> Observations:
        """What was seen and what absence says, read again from the caller's matrix."""
        more = self.entry_range, self.weights, self.spread
        found = read_again(self, X, Terms(self.threshold, self.side, self.unknown, *more))
        return replace(found, definite=self.signs is None)

    @property
    def at_floor(self) -> bool:
        """Whether the fit is as good as the data allow, at this rank; above its floor no row is called determined."""
        exact = self.residual <= FLOOR_FINISHED[self.factor.dtype.name]
        return self.verdict.determines or (self.verdict.code is Stop.UNDERDETERMINED and exact)

    def _places(self, rows: ArrayLike, cols: ArrayLike) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows and columns as positions 0…n−1, from positions or labels."""
        places = (as_positions(index, self.labels) for index in (rows, cols))
        i, j = (positions_checked(index, self.size) % self.size for index in places)
        return together(i, j)

    def _places_of_errors(self, rows: ArrayLike, cols: ArrayLike) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where entries stand for the error bars."""
        return self._places(rows, cols)

    def error_bars(self, X: Any = None) -> ErrorBars:
        """The error bars of this fit, made when first asked for; ``error_bars().method`` says how they were found."""
        if X is not None or "error bars" not in self._asked:
            again = X is not None or self.source is None
            seen = self.observed(X) if again else self._rows.observations
            self._asked["error bars"] = self.witnesses.error_bars(self, seen, self._determined_rows())
        return self._asked["error bars"]

    def _determined_rows(self) -> NDArray[np.bool_]:
        """Rows whose entries have finite errors."""
        if self.source is None:  # only the quick answer came back with the file
            determined = np.ones(self.size, bool)
            determined[self.undetermined_rows] = False
            return determined
        return self.determined

    def _dense(self) -> Array:
        require_memory(self.size**2 * self.factor.itemsize, f"a {self.size}×{self.size} matrix")
        return self.factors.dense()

    def write_zarr(self, path: str | Path, X: Any = None) -> None:
        """Write what :meth:`filled` has as a zarr array, in blocks: it need not fit into memory.

        Parameters
        ----------
        path : path ending in ``.zarr``
            Whole afterwards, or absent.
        X : optional
            The matrix that was completed; needed only after :meth:`load`.
        """
        from unrelu._old.results.written import write_filled

        write_filled(self, self.source if X is None else X, path)

    def summary(self) -> dict[str, Any]:
        """What a person or a program wants to know at a glance, ready for JSON; rows go by their labels."""
        return summary_of(self)

    @property
    def determined_share(self) -> float | None:
        """Share of the rows that the data determine; None after :meth:`load`, until the data are there again."""
        if not self.at_floor:
            return 0.0
        return None if self.source is None else float(np.mean(self.determined))

    @cached_property
    def largest_misfit(self) -> Misfit | None:
        """The seen entry that the fit misses most; None after :meth:`load`, until the data are there again."""
        if self.source is None:
            return None
        return largest_misfit(self.seen_entries(), self.factors)

    def __repr__(self) -> str:
        n, code = self.size, self.verdict.code.value
        return f"Completion({n}×{n}, rank {self.rank}, {code}, residual {self.residual:.2g})"

    def __str__(self) -> str:
        return (
            f"{self.size}×{self.size} matrix completed at rank {self.rank} by {self.method} from {self.start} "
            f"({self.loss} loss), relative residual {self.residual:.2g}; {self.verdict}"
        )

    def save(self, path: str | Path) -> None:
        """Write factor, verdict, history and labels to an ``.npz`` file; the data it was made from are not kept.

        The file is written beside its target and moved into place, so an interrupted save leaves the old one whole.
        """
        write_fields(path, self)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote; labels that are neither text nor integers come back as text."""
        return read_fields(path, cls)
