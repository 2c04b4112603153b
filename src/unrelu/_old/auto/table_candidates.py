"""Models of a table among which one chooses where no rank is named: from no structure at all to low rank.

Each is fitted to a world, a table as it is or as it would have been seen with raised limits, and gives a forecast of
every cell.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from unrelu._old.auto.joint import Joint, joint, said_of
from unrelu._old.base.arrays import Array, Floats
from unrelu._old.base.tolerances import CANDIDATES_FITTED, CANDIDATES_SMALLEST, TABLE_CANDIDATES_PLACED
from unrelu._old.data.measured import Measured
from unrelu._old.data.observations import Observations
from unrelu._old.data.table_observations import table_observations
from unrelu._old.kernels import kernel_for
from unrelu._old.kernels.penalised import Penalised
from unrelu._old.loop.run import run
from unrelu._old.loop.stopping import MaxIterations, RelativeGradientNormBelow
from unrelu._old.model.losses import Censored
from unrelu._old.model.margins import Margins
from unrelu._old.model.predictive import Predictive
from unrelu._old.model.table_forecast import Forecast
from unrelu._old.problems.rectangular import RectangularProblem, balanced
from unrelu._old.solvers import GaussNewton

__all__ = ["Alone", "Fit", "LowRank", "Model", "Shrunk", "Together", "World", "Worth"]

# How far a fit goes: what is left is far below what choices differ by.
FAR = RelativeGradientNormBelow(CANDIDATES_FITTED) | MaxIterations(60)
# Steps in which a new row is placed.
STEPS = 500


@dataclass(frozen=True, eq=False)
class World:
    """A table, and what its columns are like.

    Attributes
    ----------
    cells : Measured
    margins : Margins
        What each column is like by itself.
    units : Margins
        Those in which low rank is looked for.
    """

    cells: Measured
    margins: Margins
    units: Margins
    found: dict[Hashable, Fit] = field(default_factory=dict, repr=False)

    @cached_property
    def standard(self) -> Measured:
        """The cells in z."""
        return self.margins.standard(self.cells)

    @cached_property
    def in_units(self) -> Measured:
        """The cells in the units for low rank."""
        return self.units.standard(self.cells)

    def fit(self, model: Model) -> Fit:
        """The fit of a model to it, made once."""
        if model not in self.found:
            self.found[model] = model.fit(self)
        return self.found[model]


class Fit(Protocol):
    """A model with its estimates."""

    @property
    def forecast(self) -> Forecast:
        """Of every cell it was fitted to."""

    @property
    def rank(self) -> int | None:
        """Columns of its factors, if it has any."""

    def of_rows(self, cells: Measured) -> Forecast:
        """Of other rows of the same columns."""


class Model(Hashable, Protocol):
    """What is fitted to a world."""

    @property
    def name(self) -> str:
        """What it is, in words."""

    def fit(self, world: World) -> Fit:
        """Its estimates."""


@dataclass(frozen=True)
class Alone:
    """No structure at all: each column by itself."""

    name = "each column by itself"

    def fit(self, world: World) -> Fit:
        """Nothing but the margins."""
        nobody = np.zeros(world.cells.shape)
        return _AloneFit(Forecast(world.margins, nobody, nobody + 1))


@dataclass(frozen=True, eq=False)
class _AloneFit:
    forecast: Forecast
    rank: int | None = None

    def of_rows(self, cells: Measured) -> Forecast:
        nobody = np.zeros(cells.shape)
        return Forecast(self.forecast.margins, nobody, nobody + 1)


@dataclass(frozen=True)
class Together:
    """One normal distribution for all rows, in z: what the columns say of each other.

    Parameters
    ----------
    weight : float
        How many rows no correlation at all weighs as much as; 0 stands for offsets of the rows and columns alone, with
        one correlation for all pairs of columns.
    """

    weight: float

    @property
    def name(self) -> str:
        """In words."""
        if self.weight == 0:
            return "offsets of rows and columns"
        return f"correlations of the columns, as if {self.weight:g} more row{'s' * (self.weight != 1)} had none"

    def fit(self, world: World) -> Fit:
        """From the fit of the next heavier weight."""
        known = [model for model in world.found if isinstance(model, Together) and model.weight > self.weight > 0]
        nearest = world.found[min(known, key=lambda model: model.weight)] if known else None
        before = nearest.joint if isinstance(nearest, _TogetherFit) else None
        found = joint(world.standard, self.weight, alike=self.weight == 0, before=before)
        return _TogetherFit(Forecast(world.margins, *said_of(found, world.standard)), found)


@dataclass(frozen=True, eq=False)
class _TogetherFit:
    forecast: Forecast
    joint: Joint
    rank: int | None = None

    def of_rows(self, cells: Measured) -> Forecast:
        margins = self.forecast.margins
        return Forecast(margins, *said_of(self.joint, margins.standard(cells)))


@dataclass(frozen=True)
class LowRank:
    """M ≈ LRᵀ with so many columns, unshrunk, by the censored likelihood."""

    columns: int

    @property
    def name(self) -> str:
        """In words."""
        return f"rank {self.columns}"

    def fit(self, world: World) -> Fit:
        """From the fit of the next lower rank that is there."""
        known = [model for model in world.found if isinstance(model, LowRank) and model.columns < self.columns]
        nearest = world.found[max(known, key=lambda model: model.columns)] if known else None
        before = nearest if isinstance(nearest, _FactorFit) else None
        return _factored(world.units, world.in_units, Worth(self.columns), before)


@dataclass(frozen=True)
class Shrunk:
    """Any rank with a price on the nuclear norm, in z: each singular value is shrunk by a share of the largest."""

    share: float

    @property
    def name(self) -> str:
        """In words."""
        return f"singular values shrunk by {self.share:.2g} of the largest"

    def fit(self, world: World) -> Fit:
        """From the fit of the next higher price that is there."""
        known = [model for model in world.found if isinstance(model, Shrunk) and model.share > self.share]
        nearest = world.found[min(known, key=lambda model: model.share)] if known else None
        before = nearest if isinstance(nearest, _FactorFit) else None
        return _factored(world.margins, world.standard, Worth(min(world.cells.shape), self.share), before)


@dataclass(frozen=True)
class Worth:
    """How many columns factors may have, and which share of the largest singular value a size costs."""

    columns: int
    share: float = 0.0


@dataclass(frozen=True, eq=False)
class _FactorFit:
    forecast: Forecast
    left: Floats
    right: Floats
    sigma: float
    shrinkage: float
    largest: float

    @property
    def rank(self) -> int | None:
        return self.right.shape[1]

    def of_rows(self, cells: Measured) -> Forecast:
        standard = self.forecast.margins.standard(cells)
        rows = placed(self.right, standard, self.sigma, self.shrinkage)
        return Forecast(self.forecast.margins, rows @ self.right.T, np.full(cells.shape, self.sigma))


def _factored(margins: Margins, cells: Measured, worth: Worth, before: _FactorFit | None) -> _FactorFit:
    """Factors of cells, from those of a neighbour."""
    seen = table_observations(cells.values, threshold=cells.limits)
    m, size = cells.shape[0], seen.size
    largest = before.largest if before is not None else 0.0
    if before is None:
        start = _problem(seen, worth.columns, 0.0, None)
        largest = float(np.linalg.norm(_next(start, np.zeros((size, 1))), 2)) * start.unit
    shrinkage = worth.share * largest
    problem = _problem(seen, worth.columns, shrinkage, None if before is None else before.sigma)
    root = np.sqrt(problem.unit)
    here = np.zeros((size, 1)) if before is None else np.vstack([before.left, before.right]) / root
    begun = _begun(_next(problem, here), worth.columns, shrinkage / problem.unit)
    found = run(problem.at_rank(begun.shape[1]), GaussNewton(), (begun, begun), FAR, keep=False)
    factor = balanced(found.point.factor, m) * root
    loss = found.point.loss or problem.loss
    assert loss.noise is not None
    sigma = float(loss.noise)
    forecast = Forecast(margins, factor[:m] @ factor[m:].T, np.full(cells.shape, sigma))
    return _FactorFit(forecast, factor[:m], factor[m:], sigma, shrinkage, largest)


def _problem(seen: Observations, columns: int, shrinkage: float, sigma: float | None) -> RectangularProblem:
    kernel: Any = Penalised(shrinkage) if shrinkage else kernel_for
    return RectangularProblem(seen, columns, Censored(level=sigma) if sigma else Censored(), kernel)


def _next(problem: RectangularProblem, unknown: Array) -> Floats:
    """LRᵀ − S/2k, S the slopes there and k the curvature of an entry that is met: a step of expectation."""
    m = problem.cut
    columns = np.zeros((problem.size, problem.size - m))
    columns[m:] = np.eye(problem.size - m)
    slopes = problem.kernel.residual_times(unknown, columns)[:m]
    step: Floats = unknown[:m] @ unknown[m:].T - slopes / (2 * problem.stiffness)
    return step


def _begun(matrix: Floats, columns: int, shrinkage: float) -> Floats:
    """Balanced factors of its largest singular values, less the price, as many as that leaves; one at least."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    values = values - shrinkage
    floor = CANDIDATES_SMALLEST * max(values[0], float(np.sqrt(np.mean(matrix**2))))
    count = min(columns, len(values))
    if shrinkage:
        count = max(1, min(count, int(np.sum(values > floor))))
    root = np.sqrt(np.maximum(values[:count], floor))
    return np.vstack([left[:, :count] * root, right[:count].T * root])


def placed(right: Floats, cells: Measured, sigma: float, shrinkage: float) -> Floats:
    """Rows of L that belong to new rows: by expectation and maximisation, limits heard and the price paid.

    Examples
    --------
    >>> from unrelu._old.data.limits import Ends
    >>> values = np.array([[2.0, np.nan, 5.0]])
    >>> nowhere = Ends((np.full((1, 3), -np.inf), np.full((1, 3), np.inf)))
    >>> cells = Measured(values, nowhere, np.isnan(values))
    >>> placed(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), cells, 0.1, 0.0).round(6).tolist()
    [[2.0, 3.0]]
    """
    heard = cells.seen | cells.limited
    normal = np.einsum("ij,jk,jl->ikl", heard, right, right) + shrinkage * np.eye(right.shape[1])
    inverse = np.linalg.pinv(normal, hermitian=True)
    rows = np.zeros((cells.shape[0], right.shape[1]))
    known = np.where(cells.seen, cells.values, 0.0)
    for _ in range(STEPS):
        fit = rows @ right.T
        there = np.where(cells.limited, Predictive(fit, sigma, cells.ends).expectation(), known)
        step = np.where(heard, there - fit, 0.0) @ right - shrinkage * rows
        move = np.einsum("ikl,il->ik", inverse, step)
        rows += move
        if np.abs(move).max(initial=0.0) <= TABLE_CANDIDATES_PLACED * np.abs(rows).max(initial=0.0):
            break
    return rows
