"""What a worker of dask does in a pass: the kernel of one pair of chunks, and what it finds of their rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Floats
from unrelu._old.base.engines import noting
from unrelu._old.data.bipartite import Bipartite
from unrelu._old.data.dask_graph import Sides, unhurried
from unrelu._old.data.observations import Observations
from unrelu._old.data.source import ArraySource, Place, Source
from unrelu._old.kernels.in_memory import kernel_in_memory
from unrelu._old.kernels.protocol import PairsSeen
from unrelu._old.kernels.threads import owning_the_cores
from unrelu._old.kernels.tiles import added
from unrelu._old.model.losses import Loss

__all__ = [
    "Bands",
    "Chunks",
    "Factors",
    "Held",
    "Here",
    "How",
    "Kept",
    "Nowhere",
    "Told",
    "bent",
    "constant",
    "done",
    "evaluated",
    "looked",
    "made",
    "matrix",
    "moved",
    "numbers_added",
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


# A scheduler brings tasks to what is large, and asks for that as Python does: an object of ours is small to it unless
# it says what it holds. It would send kernels from worker to worker.


@dataclass(frozen=True, eq=False)
class Held:
    """The kernel of a pair, and about how many bytes it has."""

    kernel: Any
    size: int

    def __sizeof__(self) -> int:
        return self.size


@dataclass(frozen=True)
class Chunks:
    """How many chunks a block has, below and beside each other; and whether those of the opposite block follow."""

    down: int
    right: int
    opposite: bool

    def joined(self, chunks: Sequence[Any]) -> list[Array]:
        """The block, and the opposite one."""
        blocks = [np.asarray(chunk) for chunk in chunks]
        whole = self.down * self.right
        first = [blocks[k * self.right : (k + 1) * self.right] for k in range(self.down)]
        second = [blocks[whole + k * self.down : whole + (k + 1) * self.down] for k in range(self.right)]
        return [
            rows[0][0] if whole == 1 else np.block(rows) for rows in ([first, second] if self.opposite else [first])
        ]


@dataclass(frozen=True)
class Bands:
    """Two bands of rows, or one and the same."""

    first: int
    second: int


@dataclass(frozen=True, eq=False)
class Factors:
    """Some factors, and the bands of their rows."""

    factors: tuple[Any, ...]
    bands: list[slice]

    def __sizeof__(self) -> int:
        return _bytes_of(self.factors)

    def of(self, pair: Bands) -> list[Any]:
        """Rows of two bands, one below the other."""
        one, other = (self.bands[band] for band in (pair.first, pair.second))
        if one == other:
            return [factor[one] for factor in self.factors]
        return [np.concatenate([factor[one], factor[other]]) for factor in self.factors]


@dataclass(frozen=True, eq=False)
class Kept:
    """What the kernel of a pair has kept of a pass."""

    value: Any

    def __sizeof__(self) -> int:
        return _bytes_of(self.value)


def _bytes_of(value: Any) -> int:
    """Of arrays, inside lists and tuples too."""
    if isinstance(value, list | tuple):
        return sum(_bytes_of(one) for one in value)
    return int(getattr(value, "nbytes", 0))


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


def made(told: Told, chunks: Chunks, *values: Any) -> Held:
    """The kernel of a block, or of two opposite ones; in the unit of the whole matrix, which follows from its norm."""
    unhurried()
    here, *there = chunks.joined(values)
    source: Source = ArraySource(here)
    if told.table:
        source = Bipartite(source)
    elif there:
        source = _Opposite(here, *there)
    with noting(), owning_the_cores():  # who makes it here is no news
        kernel = kernel_in_memory(replace(told.observations, source=source), told.loss)
    return Held(kernel, _bytes_of([here, *there]))  # packed, with marks beside the values, about as many


# --- a pass of one pair -----------------------------------------------------------------------------------------------


def done(how: How, kernel: Held, factors: Factors, pair: Bands, *kept: Kept) -> Any:
    """One pass of one kernel: (product for the first rows, for the second, numbers), and what it keeps, if it does."""
    rows = factors.of(pair)
    with _busy():
        product, numbers, *found = how.what(_under(how, kernel), how.more, *rows, *(one.value for one in kept))
    band = factors.bands[pair.first]
    height = band.stop - band.start if len(product) else 0
    sent = product[:height], product[height:], np.asarray(numbers, np.float64)
    return (sent, Kept(found[0])) if found else sent


def _under(how: How, held: Held) -> Any:
    return held.kernel.with_loss(how.loss).signed(how.signs)


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
    numbers = numbers_added([part[2] * (1 - side) for part, side in zip(parts, sides.numbers, strict=True)])
    return np.asarray(rows), None, numbers


def numbers_added(parts: Sequence[Floats]) -> Floats:
    """Sums of numbers, place by place; a pair in which nothing is to be looked at has fewer of them.

    Examples
    --------
    >>> numbers_added([np.array([1.0, 2.0, 3.0]), np.array([0.5])]).tolist()
    [1.5, 2.0, 3.0]
    """
    total = np.zeros(max((len(part) for part in parts), default=0))
    for part in parts:
        total[: len(part)] += part
    return total


def matrix(how: How, kernel: Held, factors: Factors, pair: Bands, kept: Kept | None = None) -> Floats:
    """The matrix of the curvature product of a pair."""
    (rows,) = factors.of(pair)
    with _busy():
        found: Floats = _under(how, kernel).curvature_matrix(rows, None if kept is None else kept.value)
    return found


# --- visits -----------------------------------------------------------------------------------------------------------


def visited(how: How, kernel: Held, here: Here) -> Any:
    """The sum of what a visit returns for the blocks of a pair; or, with zeros to begin with, of what it adds there."""
    visit, zeros = how.more
    with _busy():
        its = _under(how, kernel)
        if zeros is None:
            return (its.total(lambda pairs: visit(_Placed.of(pairs, here))),)
        return (its.gather(lambda pairs, into: visit(_Placed.of(pairs, here), into), zeros),)


def weighed(how: How, kernel: Held, here: Here) -> Kept:
    """Weights of the blocks of a pair."""
    with _busy():
        return Kept(_under(how, kernel).weighted(lambda pairs: how.more(_Placed.of(pairs, here))))


def moved(_: Sides, *parts: Any) -> Any:
    """The sum of what visits have found, of any kind, in the order given."""
    return (added([part[0] for part in parts]),)
