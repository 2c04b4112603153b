"""What happened, iteration by iteration, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from math import isfinite
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["History", "Record", "Stop", "Verdict", "finite", "in_units"]


class Stop(StrEnum):
    """Why a run ended; each code means one thing.

    ``fitted``: the data are fitted to rounding. ``fitted-to-noise``: the misfit is that of the noise which the data
    themselves show. ``best-of-rank``: the data are not of this rank, and no lower misfit of this rank was found.
    ``stationary``: no step lowers the misfit, and nothing says that this is the answer. ``underdetermined``: many
    matrices fit as well. ``predicts``: the data are of no low rank, and a rehearsal says how well the chosen model
    forecasts what was not seen. ``does-not-extrapolate``: it forecasts no better than no structure at all.
    ``sampled``: the chains of a posterior agree. The others say what cut the run short. ``converged`` is what one loop
    says when its stopping rule is met; the front doors look at the fit and return one of the codes above instead.
    """

    CONVERGED = "converged"
    FITTED = "fitted"
    FITTED_TO_NOISE = "fitted-to-noise"
    BEST_OF_RANK = "best-of-rank"
    STATIONARY = "stationary"
    UNDERDETERMINED = "underdetermined"
    PREDICTS = "predicts"
    DOES_NOT_EXTRAPOLATE = "does-not-extrapolate"
    SAMPLED = "sampled"
    MAX_ITERATIONS = "max-iterations"
    MAX_SECONDS = "max-seconds"
    STALLED = "stalled"
    DIVERGED = "diverged"
    INTERRUPTED = "interrupted"
    CALLBACK = "callback"


@dataclass(frozen=True)
class Verdict:
    """How a run ended: a code for programs, a sentence for people.

    Examples
    --------
    >>> verdict = Verdict(Stop.FITTED, "gradient norm 8.1e-07 is below 1e-06; the data are fitted to rounding")
    >>> verdict.converged, verdict.answered
    (True, True)
    >>> print(verdict)
    fitted: gradient norm 8.1e-07 is below 1e-06; the data are fitted to rounding
    """

    code: Stop
    reason: str

    @property
    def converged(self) -> bool:
        """Whether the data are fitted, to rounding or to their noise, or sampled (in a loop: its rule was met)."""
        return self.code in (Stop.FITTED, Stop.FITTED_TO_NOISE, Stop.CONVERGED, Stop.SAMPLED)

    @property
    def answered(self) -> bool:
        """Whether this is the answer to what was asked: a fit that determines rows, forecasts, or a posterior."""
        return self.determines or self.code in (Stop.PREDICTS, Stop.SAMPLED)

    @property
    def determines(self) -> bool:
        """Whether rows may be called determined: fitted, or the best fit found of a rank that the data exceed."""
        return self.code is not Stop.SAMPLED and (self.converged or self.code is Stop.BEST_OF_RANK)

    def __str__(self) -> str:
        return f"{self.code.value}: {self.reason}"


@dataclass(frozen=True)
class Record:
    """One iteration, measured at the point that iteration produced.

    Attributes
    ----------
    iteration : int
        0 is the start.
    objective : float
        The paper's β_t = F(U); for a method with two factors the same of LRᵀ.
    gradient_norm : float or None
        The paper's α_t = ‖∇F(U)‖_F, for methods that have a gradient.
    seconds, cpu_seconds : float
        Wall-clock and processor time of the method so far, without what measuring ``error`` and callbacks cost.
    relative_gradient_norm : float or None
        ‖∇F(U)‖_F / ‖M_Ω‖_F^{3/2}, which scaling the data does not change.
    error : float or None
        The paper's γ_t = ‖UUᵀ − M‖_F / ‖M‖_F against ``truth``, when that was given.
    details : mapping of str to float
        What the method alone knows, such as its step length.
    """

    iteration: int
    objective: float
    gradient_norm: float | None
    seconds: float
    cpu_seconds: float = 0.0
    relative_gradient_norm: float | None = None
    error: float | None = None
    details: Mapping[str, float] = field(default_factory=dict)


class History(Sequence[Record]):
    """The records of a run, in order; columns as arrays by :meth:`column`."""

    def __init__(self, records: Sequence[Record] = ()) -> None:
        self._records = list(records)

    def append(self, record: Record) -> None:
        """Add the newest record."""
        self._records.append(record)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> History: ...
    def __getitem__(self, index: int | slice) -> Record | History:
        return History(self._records[index]) if isinstance(index, slice) else self._records[index]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __repr__(self) -> str:
        return f"History({len(self)} records)"

    def column(self, name: str) -> NDArray[np.float64]:
        """One quantity over all records, NaN where a record has none: a field's name or a detail's.

        Examples
        --------
        >>> History([Record(0, 2.0, 1.0, 0.0), Record(1, 0.5, 0.1, 0.01)]).column("objective")
        array([2. , 0.5])
        """
        plain = {f.name for f in fields(Record)} - {"details"}
        values = (getattr(r, name) if name in plain else r.details.get(name) for r in self)
        return np.array([np.nan if v is None else float(v) for v in values])

    def as_rows(self) -> list[dict[str, Any]]:
        """Plain dictionaries, for JSON or a data frame; what is not finite becomes None."""
        return [finite(asdict(record)) for record in self]


def finite(values: dict[str, Any]) -> dict[str, Any]:
    """The same dictionary with None for what JSON cannot say: NaN and infinities."""
    plain: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            plain[name] = finite(dict(value))
        else:
            plain[name] = None if isinstance(value, float) and not isfinite(value) else value
    return plain


def in_units(value: float, unit: float, power: float) -> float:
    """``value`` · unit^power; infinite where that is too large for a number, zero where it is too small.

    ``unit`` must be a power of two, as ``Observations.unit`` is: then the result is exact, also where unit^power alone
    would overflow.

    Examples
    --------
    >>> in_units(3.0, 16.0, 1.5), in_units(3.0, 4.0**400, 1.5), in_units(0.0, 4.0**-400, -2)
    (192.0, inf, 0.0)
    """
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(float(value), round(np.log2(unit) * power)))
