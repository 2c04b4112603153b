"""What is tried: data with a known answer, and how the package is asked."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DISTANCES", "EXACT", "NOISY", "TABLES", "Draw", "Instance", "name_of", "stream"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

EXACT, NOISY, DISTANCES, TABLES = "noiseless", "noisy", "distances", "tables"

# How far an entry may be off, as a share of the largest, before it counts as wrong.
CLOSE, CLOSE_FLOAT32 = 1e-6, 1e-2


@dataclass(frozen=True, eq=False)
class Instance:
    """Data whose answer is known.

    Attributes
    ----------
    group : str
        ``noiseless``, ``noisy`` or ``distances``: what is counted together.
    data : array, sparse array or masked array of shape (n, n)
        What the front door is given.
    truth : ndarray of shape (n, n)
        The planted matrix, or all distances, without noise.
    seen : boolean ndarray of shape (n, n)
        Which entries of ``data`` are seen, in whatever form they are given.
    options : dict
        Further arguments of the front door: ``rank``, ``threshold``, ``seen``, ``unknown``, or ``dim``, ``cutoff``.
    planted : ndarray of shape (n, rank) or (n, dim)
        The factor, or the points.
    noise : float
        Standard deviation of the noise as a share of the rms entry; 0 without.
    consistent : bool
        Whether the truth agrees with what absence is said to mean.
    about : dict
        What a person wants to know of it, ready for JSON.
    companion : str
        ``permuted``, ``scaled`` or nothing: what the answer is compared with.
    unit : float
        The factor of a scaled companion.
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
    about: dict[str, Any] = field(default_factory=dict)
    companion: str = ""
    unit: float = 1.0
    wrong: bool = False  # whether some of the data are grossly wrong, which an answer may take for noise
    kind: str = ""
    name: str = ""
    signs: Any = 1.0  # of the columns of an indefinite matrix

    @property
    def size(self) -> int:
        """n, the number of rows or points."""
        return len(self.truth)

    @property
    def front_door(self) -> str:
        """The function of the package that is asked."""
        return {DISTANCES: "complete_distances", TABLES: "complete_rectangular"}.get(self.group, "complete")

    @property
    def exists(self) -> Any:
        """Which entries there are at all: all, unless a kind says otherwise."""
        return True

    @property
    def exact(self) -> bool:
        """Whether there is no noise and no contradiction, so that the truth fits to rounding."""
        return self.noise == 0 and self.consistent and not self.wrong

    @property
    def scale(self) -> float:
        """The largest entry of the truth."""
        return float(np.abs(self.truth).max()) or 1.0

    @property
    def single(self) -> bool:
        """Whether the data are float32."""
        return bool(getattr(self.data, "dtype", None) == np.float32)

    @property
    def close(self) -> float:
        """How far an entry may be off before it counts as wrong."""
        return (CLOSE_FLOAT32 if self.single else CLOSE) * self.scale

    def values(self) -> Floats:
        """The data as a dense array, NaN where nothing was seen."""
        dense = self.data.toarray() if hasattr(self.data, "toarray") else np.ma.getdata(self.data)
        return np.where(self.seen, dense, np.nan).astype(np.float64)

    def permuted(self, order: NDArray[np.intp]) -> Instance:
        """The same with its rows and columns in another order; dense."""
        grid = np.ix_(order, order)
        options = {key: value[grid] if np.ndim(value) == 2 else value for key, value in self.options.items()}
        data = self.values().astype(np.float32 if self.single else np.float64)[grid]
        return replace(
            self,
            data=data,
            truth=self.truth[grid],
            seen=self.seen[grid],
            options=options,
            planted=self.planted[order],
        )

    def scaled(self, unit: float) -> Instance:
        """The same in other units; dense."""
        options = dict(self.options)
        for key in ("threshold", "cutoff", "sigma"):
            if options.get(key) is not None:
                options[key] = options[key] * unit
        root = unit if self.group == DISTANCES else np.sqrt(unit)
        return replace(
            self,
            data=self.values() * unit,
            truth=self.truth * unit,
            options=options,
            planted=self.planted * root,
        )


Draw = Callable[[np.random.Generator], Instance]


def name_of(kind: str, seed: int, number: int) -> str:
    """By which ``python -m soak replay`` draws it again."""
    return f"{kind}:{seed}:{number}"


def stream(kind: str, seed: int, number: int) -> np.random.Generator:
    """Random numbers of one instance: those of other kinds do not change when a kind is added."""
    return np.random.default_rng([seed, number, zlib.crc32(kind.encode())])
