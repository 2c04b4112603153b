"""What a worker of dask does in a pass: the kernel of one pair of chunks, and what it finds of their rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unrelu.base.arrays import Array, Floats
from unrelu.data.bipartite import Bipartite
from unrelu.data.dask_graph import Sides, unhurried
from unrelu.data.observations import Observations
from unrelu.data.source import ArraySource, Place, Source
from unrelu.kernels.in_memory import kernel_in_memory
from unrelu.kernels.protocol import PairsSeen
from unrelu.kernels.threads import owning_the_cores
from unrelu.kernels.tiles import added
from unrelu.model.losses import Loss

__all__ = [
    "Here",
    "How",
    "Kept",
    "Nowhere",
    "Rows",
    "Told",
    "bent",
    "constant",
    "done",
    "evaluated",
    "looked",
    "made",
    "matrix",
    "moved",
    "quartic",
    "residual",
    "rows_added",
    "visited",
    "weighed",
]


class Nowhere(Source):
    """The shape of a matrix whose values are elsewhere."""

    def __init__(self, size: int, dtype: Any) -> None:
        self.shape, self.dtype = (size, size), dtype


class _Opposite(Bipartite):
    """A chunk off the diagonal and the one opposite, which may say something else, in a symmetric matrix of their own.

    Kernels ask for blocks on one side of the diagonal blocks alone.
    """

    def __init__(self, here: Array, there: Array) -> None:
        super().__init__(ArraySource(here))
        self.there = there

    def block(self, rows: Place, cols: Place) -> Array:
        """Values of the one or of the other."""
        if isinstance(rows, slice) and rows.start >= self.cut:
            return self.there[rows.start - self.cut : rows.stop - self.cut, cols]
        return super().block(rows, cols)


@dataclass(frozen=True, eq=False)
class Told:
    """What is known of the whole matrix beside its values; the loss; and whether a chunk is part of a table."""

    observations: Observations
    loss: Loss
    table: bool


@dataclass(frozen=True, eq=False)
class How:
    """What to do in a pass, under which loss and signs, and what it has to know besides."""

    what: Callable[..., Any]
    loss: Loss
    signs: Array | None
    more: Any


@dataclass(frozen=True, eq=False)
class Rows:
    """A band of rows of some factors."""

    factors: tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class Kept:
    """What the kernel of a pair has kept of a pass."""

    value: Any


@dataclass(frozen=True, eq=False)
class Here:
    """Where the rows of a pair of bands lie in the whole, and its number among the pairs."""

    rows: slice
    cols: slice
    number: int

    def of(self, local: slice) -> slice:
        """Rows of the whole that are some rows of the pair: those of the first band come first."""
        height = self.rows.stop - self.rows.start
        offset = self.rows.start if local.start < height else self.cols.start - height
        return slice(local.start + offset, local.stop + offset)


@dataclass(frozen=True, eq=False)
class _Placed:
    """Pairs of a block by their places in the whole matrix."""

    rows: slice
    cols: slice
    index: int
    target: Array
    seen: Any
    absent: Any

    @classmethod
    def of(cls, pairs: PairsSeen, here: Here) -> _Placed:
        number = (here.number << 32) + pairs.index  # no two blocks of the whole have the same
        return cls(here.of(pairs.rows), here.of(pairs.cols), number, pairs.target, pairs.seen, pairs.absent)

    @property
    def diagonal(self) -> bool:
        return self.rows == self.cols


def made(told: Told, here: Any, there: Any = None) -> Any:
    """The kernel of a chunk, or of two opposite ones; in the unit of the whole matrix, which follows from its norm."""
    unhurried()
    source: Source = ArraySource(np.asarray(here))
    if told.table:
        source = Bipartite(source)
    elif there is not None:
        source = _Opposite(np.asarray(here), np.asarray(there))
    with owning_the_cores():
        return kernel_in_memory(replace(told.observations, source=source), told.loss)


# --- a pass of one pair -----------------------------------------------------------------------------------------------


def done(how: How, kernel: Any, rows: Rows, *others: Any) -> Any:
    """One pass of one kernel: (product for the first rows, for the second, numbers), and what it keeps, if it does."""
    beside = [one.factors for one in others if isinstance(one, Rows)]
    kept = [one.value for one in others if isinstance(one, Kept)]
    factors = [np.concatenate(parts) for parts in zip(rows.factors, *beside, strict=True)]
    with _busy():
        product, numbers, *found = how.what(_under(how, kernel), how.more, *factors, *kept)
    height = len(rows.factors[0]) if len(product) else 0
    sent = product[:height], product[height:], np.asarray(numbers, np.float64)
    return (sent, Kept(found[0])) if found else sent


def _under(how: How, kernel: Any) -> Any:
    return kernel.with_loss(how.loss).signed(how.signs)


def _busy() -> Any:
    unhurried()
    return owning_the_cores()


NO_ROWS = np.zeros((0, 0))


def evaluated(kernel: Any, _: Any, U: Array) -> tuple[Any, ...]:
    """Gradient; F, and the sums of a loss that gathers; what is kept."""
    value, gradient, kept, *sums = kernel.evaluate(U)
    return gradient, [value, *(one for part in sums for one in part)], kept


def constant(kernel: Any, _: Any) -> tuple[Any, ...]:
    """The part of F that no fit lowers."""
    return NO_ROWS, [kernel.constant]


def residual(kernel: Any, _: Any, U: Array, V: Array) -> tuple[Any, ...]:
    """Slopes times V."""
    return kernel.residual_times(U, V), []


def bent(kernel: Any, _: Any, U: Array, D: Array, kept: Any = None) -> tuple[Any, ...]:
    """The curvature product."""
    return kernel.curvature(U, D, kept), []


def quartic(kernel: Any, _: Any, U: Array, D: Array, kept: Any = None) -> tuple[Any, ...]:
    """Coefficients of t², t³ and t⁴."""
    return NO_ROWS, kernel.line(U, D, 0.0, 0.0, kept).coefficients[2:]


def looked(kernel: Any, steps: list[float], U: Array, D: Array) -> tuple[Any, ...]:
    """Values and slopes after some steps."""
    return NO_ROWS, np.concatenate(kernel.looked(U, D, steps))


def rows_added(sides: Sides, *parts: Any) -> tuple[Array, Any, Floats]:
    """Sums in doubles, in the order given; numbers stand for a whole pair, and are counted with its first rows."""
    rows = sum(np.asarray(part[side], np.float64) for part, side in zip(parts, sides.numbers, strict=True))
    numbers = sum(part[2] * (1 - side) for part, side in zip(parts, sides.numbers, strict=True))
    return np.asarray(rows), None, np.asarray(numbers)


def matrix(how: How, kernel: Any, rows: Rows, kept: Kept | None = None) -> Floats:
    """The matrix of the curvature product of a pair."""
    with _busy():
        found: Floats = _under(how, kernel).curvature_matrix(rows.factors[0], None if kept is None else kept.value)
    return found


# --- visits -----------------------------------------------------------------------------------------------------------


def visited(how: How, kernel: Any, here: Here) -> Any:
    """The sum of what a visit returns for the blocks of a pair; or, with zeros to begin with, of what it adds there."""
    visit, zeros = how.more
    with _busy():
        kernel = _under(how, kernel)
        if zeros is None:
            return (kernel.total(lambda pairs: visit(_Placed.of(pairs, here))),)
        return (kernel.gather(lambda pairs, into: visit(_Placed.of(pairs, here), into), zeros),)


def weighed(how: How, kernel: Any, here: Here) -> Kept:
    """Weights of the blocks of a pair."""
    with _busy():
        return Kept(kernel.weighted(lambda pairs: how.more(_Placed.of(pairs, here))))


def moved(_: Sides, *parts: Any) -> Any:
    """The sum of what visits have found, of any kind, in the order given."""
    return (added([part[0] for part in parts]),)
