"""A problem with a known solution, and the registry of kinds of problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Record = dict[str, Any]

EXACT, NOISY, DISTANCES, TABLES = GROUPS = ("noiseless", "noisy", "distances", "tables")

# How far an entry may be off, as a share of the largest, before it counts as wrong.
CLOSE, CLOSE_FLOAT32 = 1e-6, 1e-2


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem with a known solution.

    Attributes
    ----------
    group : str
        ``noiseless``, ``noisy``, ``distances`` or ``tables``: the unit of the statistics.
    data : array, sparse array or masked array of shape (n, n)
        The argument of the public function.
    truth : ndarray of shape (n, n)
        The planted matrix, or all distances, without noise.
    seen : boolean ndarray of shape (n, n)
        The observed entries of ``data``, whatever its format.
    options : dict
        Further arguments: ``rank``, ``threshold``, ``seen``, ``unknown``, or ``dim``, ``cutoff``.
    planted : ndarray of shape (n, rank) or (n, dim)
        The factor, or the points.
    noise : float
        Standard deviation of the noise divided by the rms of the truth; 0 for exact data.
    consistent : bool
        Whether the truth meets the censoring constraints.
    companion : str
        ``permuted``, ``scaled`` or empty: the variant whose answer is compared.
    unit : float
        The factor of a scaled companion.
    wrong : bool
        Whether some of the data are gross errors.
    signs : ndarray of shape (rank,) or 1
        The diagonal of D, where the matrix is U D Uᵀ.
    """

    group: str
    data: Any
    truth: Floats
    seen: Bools
    options: dict[str, Any]
    planted: Floats
    noise: float = 0.0
    consistent: bool = True
    companion: str = ""
    unit: float = 1.0
    wrong: bool = False
    kind: str = ""
    name: str = ""
    signs: Any = 1.0

    @property
    def size(self) -> int:
        """The number of rows or points, n."""
        return len(self.truth)

    @property
    def about(self) -> dict[str, Any]:
        """The description in the journal."""
        return {"n": self.size} | {key: value for key, value in self.options.items() if np.ndim(value) == 0}

    @property
    def exists(self) -> Any:
        """The entries that are part of the problem, as a mask; True for all."""
        return True

    @property
    def observed_either_way(self) -> Bools:
        """The entries (i, j) for which (i, j) or (j, i) is observed."""
        return self.seen | self.seen.T

    @property
    def exact(self) -> bool:
        """Whether the truth meets all data up to rounding."""
        return self.noise == 0 and self.consistent and not self.wrong

    @property
    def scale(self) -> float:
        """The largest absolute entry of the truth."""
        return float(np.abs(self.truth).max()) or 1.0

    @property
    def rms(self) -> float:
        """The root mean square of the truth; of distances, between different points."""
        if self.group == DISTANCES:
            return rms(self.truth[np.triu_indices(self.size, 1)]) or 1.0
        return rms(self.truth[np.broadcast_to(self.exists, self.truth.shape)]) or 1.0

    @property
    def single(self) -> bool:
        """Whether the data are float32."""
        return bool(getattr(self.data, "dtype", None) == np.float32)

    @property
    def close(self) -> float:
        """How far an entry may be off before it counts as wrong."""
        return (CLOSE_FLOAT32 if self.single else CLOSE) * self.scale

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of the public function."""
        return self.options

    def values(self) -> Floats:
        """Return the data as a dense array, NaN where missing."""
        dense = self.data.toarray() if hasattr(self.data, "toarray") else np.ma.getdata(self.data)
        return np.where(self.seen, dense, np.nan).astype(np.float64)

    def permuted(self, order: NDArray[np.intp]) -> Instance:
        """Return the same problem with its rows and columns in another order, dense."""
        grid = np.ix_(order, order)
        data = self.values().astype(np.float32 if self.single else np.float64)[grid]
        options = {key: value[grid] if np.ndim(value) == 2 else value for key, value in self.options.items()}
        truth, seen, planted = self.truth[grid], self.seen[grid], self.planted[order]
        return replace(self, data=data, truth=truth, seen=seen, options=options, planted=planted)

    def scaled(self, unit: float) -> Instance:
        """Return the same problem in other units, dense."""
        options = dict(self.options)
        for key in ("threshold", "cutoff", "sigma"):
            if options.get(key) is not None:
                options[key] = options[key] * unit
        root = unit if self.group == DISTANCES else np.sqrt(unit)
        data, truth = self.values() * unit, self.truth * unit
        return replace(self, data=data, truth=truth, options=options, planted=self.planted * root)


Draw = Callable[[np.random.Generator], Instance]
KINDS: dict[str, Draw] = {}


def kind(draw: Draw) -> Draw:
    """Register a kind of instance under the name of its function."""
    KINDS[draw.__name__.replace("_", "-")] = draw
    return draw


def rms(values: Floats) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(values**2)))


def mirrored(values: Any) -> Any:
    """Return the symmetric matrix with the same upper triangle."""
    return np.triu(values) + np.triu(values, 1).T
