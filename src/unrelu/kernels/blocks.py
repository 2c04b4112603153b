"""Passes over a matrix that does not fit in memory: blocks are read anew in every pass, and a bit is kept per entry.

Everything is what the kernels that hold the matrix find: F, its gradient, its curvature, F along a line. What a pass
leaves of a point is the loss, for weights are found again from the factor and the pattern of what was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unrelu.base.arrays import Array, Bools, Floats
from unrelu.base.errors import InputError
from unrelu.data.observations import Observations
from unrelu.kernels.block_costs import Costs, Work, products_summed
from unrelu.kernels.line import Quartic, Sampled
from unrelu.kernels.protocol import Line, PairsSeen
from unrelu.kernels.readahead import Block, BlockReader, Piece
from unrelu.kernels.threads import map_chunks, owning_the_cores
from unrelu.kernels.tiles import Tile, added, times_signs, weighted_matrix
from unrelu.model.losses import Loss

__all__ = ["BlocksKernel"]

# Sums that a visitor adds to: so many threads can be at work.
LANES = 2

# Of a tile: sums, what is multiplied by the factor, and how often it counts.
Found = tuple[Any, Array, float]


@dataclass(frozen=True, eq=False)
class _At:
    """A point: what it costs there, and both factors of the fit."""

    costs: Costs
    left: Array
    right: Array


@dataclass(frozen=True, eq=False)
class _Weighing:
    """Weights that are asked for again in every pass."""

    weigh: Callable[[PairsSeen], Any]


class BlocksKernel:
    """F, its gradient, its curvature and F along a line, in one pass over blocks of the matrix each.

    For squares and the censored likelihood, with one threshold or none. Everything is in units of
    ``observations.unit``. The order of all sums depends on the blocks, never on the number of threads.

    Parameters
    ----------
    observations : Observations
    loss : Loss
        ``observed``, ``one-sided`` or ``censored``.
    memory : int, optional
        Bytes for everything that is allocated: blocks in use and being read, work arrays of each thread, results of
        n×r numbers, and one bit for each entry, if that fits. Default: as many as it likes.

    Examples
    --------
    >>> from unrelu.model.losses import Observed
    >>> kernel = BlocksKernel(Observations.of(np.array([[1.0, 2.0], [2.0, 4.0]])), Observed())
    >>> value, gradient, _ = kernel.evaluate(np.array([[0.5], [1.0]]))
    >>> value, gradient.tolist()
    (0.0, [[0.0], [0.0]])
    """

    _signs: Array | None = None

    def __init__(self, observations: Observations, loss: Loss, memory: int | None = None) -> None:
        heard = loss.heard(observations.limits)
        self.bounded = not heard.nothing
        observations = observations.with_limits(heard) if self.bounded else observations
        _require_one_threshold(observations, loss, bounded=self.bounded)
        self.size, self.dtype = observations.size, observations.dtype
        self._observations, self._loss = observations, loss
        self._costs = Costs.of(observations, loss, bounded=self.bounded)
        self._reader = BlockReader(observations, memory)

    @cached_property
    def constant(self) -> float:
        """The part of a squared F that no fit lowers: of pairs seen twice, with two values."""
        if not self._loss.squared:
            return 0.0

        def visit(block: Block, piece: Piece) -> float:
            if block.facts.alike:
                return 0.0
            assert block.here is not None
            apart = block.here[piece.within].astype(np.float64) - block.opposite(piece)
            apart *= float(self._costs.inverse)
            np.fmax(np.square(apart, out=apart), 0, out=apart)  # NaN, where one was not seen, becomes 0
            return float(apart.sum()) / (2 if piece.diagonal else 1)

        return float(self._summed(visit, 1)) / 8

    def with_loss(self, loss: Loss) -> BlocksKernel:
        """The same blocks under other estimates."""
        other = copy(self)
        other._loss, other._costs = loss, Costs.of(self._observations, loss, bounded=self.bounded)
        return other

    def signed(self, signs: Any) -> BlocksKernel:
        """The same data, which USUᵀ with S = diag(signs) is fitted to instead of UUᵀ; None: UUᵀ.

        With V = US the fit is UVᵀ, its gradient has V in the place of U, and its change VDᵀ + DVᵀ along D is that of
        the fit VVᵀ: so curvatures are those at V.
        """
        other = copy(self)
        other._signs = None if signs is None else np.asarray(signs, self.dtype)
        return other

    def evaluate(self, U: Array) -> tuple[Any, ...]:
        """F(U), ∇F(U), what the curvature at U needs to know beside it, and what the loss asks for."""
        costs, V = self._costs, times_signs(U, self._signs)
        found, gradient = self._slopes(U, V)
        value, once, twice, squares, count = (float(number) for number in found)
        if costs.sigma is None:
            return value, gradient, _At(costs, U, V)
        value += count * float(np.log(costs.sigma))
        sums = np.array([count - squares + once, 2 * squares + twice - once, squares])
        return value, gradient, _At(costs, U, V), sums

    def residual_times(self, U: Array, V: Array) -> Array:
        """The matrix of slopes, symmetrised, times V."""
        return self._slopes(U, V)[1]

    def _slopes(self, U: Array, V: Array) -> tuple[Floats, Array]:
        """Sums of all tiles, and of how many entries; the matrix of slopes, symmetrised, times V."""
        costs, other = self._costs, times_signs(U, self._signs)

        def visit(block: Block, piece: Piece, work: Work) -> Found:
            fit = _product(U, other, piece, work.lend("fit", piece.shape))
            found, slopes = costs.slopes(fit, block.values(piece), self._quiet(piece), work, tidy=block.facts.tidy)
            return found, slopes, block.times(piece)

        found, product, count = self._products(visit, V)
        return np.append(found, count), _scaled(product, costs.stiffness, self.dtype)

    def curvature(self, U: Array, D: Array, kept: Any) -> Array:
        """(S ∘ (UDᵀ + DUᵀ)) U with the curvatures S at U; where the pattern is kept nothing is read."""
        V = times_signs(U, self._signs)
        left, right = np.hstack([V, D]), np.hstack([D, V])
        self._begin(kept, U.shape[1])

        def visit(block: Block, piece: Piece, work: Work) -> Found:
            along = _product(left, right, piece, work.lend("along", piece.shape))
            return 0.0, along, self._bent(block, piece, along, kept, work)

        _, product, _ = self._products(visit, V, values=isinstance(kept, _Weighing))
        return _scaled(product, _stiffness(kept), self.dtype)

    def _bent(self, block: Block, piece: Piece, along: Array, kept: Any, work: Work) -> float:
        """Multiply by the curvatures at a point over the stiffness; how often the tile counts then."""
        if isinstance(kept, _Weighing):
            np.multiply(along, kept.weigh(self._pairs(block, piece)), out=along, casting="same_kind")
            return 0.5 if piece.diagonal else 1.0
        (seen, ways), unseen = block.seen(piece), self._unseen_before(kept, piece)
        if unseen is None:
            fit, quiet = _product(kept.left, kept.right, piece, work.lend("fit", piece.shape)), self._quiet(piece)
            unseen = kept.costs.unseen(fit, seen, ways, quiet, work)
            self._reader.recall(kept).keep(piece, unseen)
        kept.costs.bend(along, seen, ways, unseen)
        return block.times(piece)

    def _begin(self, kept: Any, width: int) -> None:
        """Make ready what threads look up."""
        self._reader.planned(width)
        if isinstance(kept, _At):
            self._reader.recall(kept)

    def _unseen_before(self, kept: _At, piece: Piece) -> tuple[Any, ...] | None:
        """What unseen entries of a tile add to the curvature at a point, if that is known; None: it is not."""
        return self._reader.recall(kept).get(piece) if kept.costs.bounded else ()

    def curvature_matrix(self, U: Array, kept: Any) -> Floats:
        """The matrix of :meth:`curvature`, of shape (nr, nr): for small problems only."""
        V, S = times_signs(U, self._signs), np.zeros((self.size, self.size))
        stiffness = _stiffness(kept)
        self._begin(kept, U.shape[1])

        def visit(block: Block, piece: Piece) -> float:
            with self._reader.work() as work:
                ones = work.lend("along", piece.shape)
                ones.fill(1)
                times = self._bent(block, piece, ones, kept, work) * stiffness
                S[piece.rows, piece.cols] += times * ones
                S[piece.cols, piece.rows] += times * ones.T
            return 0.0

        self._summed(visit, U.shape[1])
        return weighted_matrix(S, V)

    def line(self, U: Array, D: Array, value: float, slope: float, kept: Any) -> Line:
        """F(U + tD): a quartic under squares, with the weights held at those of U; else values by a pass."""
        V, E = (times_signs(factor, self._signs) for factor in (U, D))
        left, right = np.hstack([V, D]), np.hstack([D, V])
        if self._costs.sigma is not None:
            bend = float(np.vdot(D, self.curvature(U, D, kept)))
            return Sampled(value, slope, bend, lambda steps: self._looked((U, V), (left, right), (D, E), steps))

        def visit(block: Block, piece: Piece) -> Floats:
            with self._reader.work() as work:
                fit, along, beyond = (work.lend(name, piece.shape) for name in ("fit", "along", "beyond"))
                _product(U, V, piece, fit)
                _product(left, right, piece, along)
                _product(D, E, piece, beyond)
                return self._coefficients(block, piece, (fit, along, beyond), work) * block.times(piece)

        higher = self._summed(visit, U.shape[1])
        return Quartic(np.array([value, slope, *(float(c) for c in higher)]), exact=not self.bounded)

    def _coefficients(self, block: Block, piece: Piece, parts: tuple[Array, ...], work: Work) -> Floats:
        """Those of t², t³ and t⁴ of a tile: ¼Σ w(L² + 2TQ), ½Σ w LQ and ¼Σ w Q² with T = UUᵀ − t at U."""
        (fit, along, beyond), costs, quiet = parts, self._costs, self._quiet(piece)
        _, slopes = costs.slopes(fit, block.values(piece), quiet, work, tidy=block.facts.tidy)
        second = 2 * products_summed(slopes, beyond)
        weights, weighed = costs.weights(fit, *block.seen(piece), quiet, work), work.lend("more", piece.shape)
        np.multiply(along, weights, out=weighed)
        second += products_summed(along, weighed)
        third = products_summed(beyond, weighed)
        np.multiply(beyond, weights, out=weighed)
        return np.array([second / 4, third / 2, products_summed(beyond, weighed) / 4])

    def _looked(self, here: Any, along: Any, beyond: Any, steps: Sequence[float]) -> tuple[Floats, Floats]:
        """Values and slopes of F along a line, given as pairs of factors of the fit and of its two derivatives."""
        costs, kinds = self._costs, self.dtype.type
        offset = 0.0 if costs.sigma is None else float(np.log(costs.sigma))

        def visit(block: Block, piece: Piece) -> Floats:
            quiet, found = self._quiet(piece), np.zeros((2, len(steps)))
            with self._reader.work() as work:
                start, first, second, fit = (
                    work.lend(name, piece.shape) for name in ("start", "along", "beyond", "fit")
                )
                for factors, out in ((here, start), (along, first), (beyond, second)):
                    _product(factors[0], factors[1], piece, out)
                for k, step in enumerate(steps):
                    np.multiply(second, kinds(step), out=fit)
                    fit += first
                    fit *= kinds(step)
                    fit += start
                    sums, slopes = costs.slopes(fit, block.values(piece), quiet, work, tidy=block.facts.tidy)
                    moved = products_summed(slopes, first) + 2 * step * products_summed(slopes, second)
                    found[:, k] = sums[0], costs.stiffness * moved
            found *= block.times(piece)
            if piece.number == 0:
                found[0] += block.facts.count * offset
            return found

        values, slopes = self._summed(visit, here[0].shape[1])
        return values, slopes

    def weighted(self, weigh: Callable[[PairsSeen], Any]) -> Any:
        """Other weights, asked for again in every pass that needs them."""
        return _Weighing(weigh)

    def gather(self, visit: Callable[[PairsSeen, Any], None], zeros: Any) -> Any:
        """The sum over blocks of pairs of what ``visit`` adds to an array, in a fixed order."""
        lanes = [zeros.copy() for _ in range(LANES)]

        def of_lane(block: Block, lane: int) -> None:
            for strip in block.strips[lane::LANES]:
                for piece in strip:
                    visit(self._pairs(block, piece), lanes[lane])

        for block in self._blocks(1):
            map_chunks(lambda lane, block=block: of_lane(block, lane), range(LANES))  # type: ignore[misc]
        return added(lanes)

    def total(self, visit: Callable[[PairsSeen], Any]) -> Any:
        """The sum of what ``visit`` returns for each block of pairs, in a fixed order."""
        return self._summed(lambda block, piece: visit(self._pairs(block, piece)), 1)

    def _pairs(self, block: Block, piece: Piece) -> Tile:
        """How often each pair of a tile was seen, their means in units, and how often they are absent."""
        assert block.here is not None
        first, *other = block.values(piece)
        p = np.multiply(first, self._costs.inverse, dtype=self.dtype)
        q = p.T if piece.diagonal else np.multiply(other[0], self._costs.inverse, dtype=self.dtype) if other else p
        seen_p, seen_q = ~np.isnan(p), ~np.isnan(q)
        seen = seen_p.astype(np.uint8) + seen_q
        mean = (np.where(seen_p, p, 0) + np.where(seen_q, q, 0)) / np.maximum(seen, 1).astype(self.dtype)
        absent = None
        if self.bounded:
            absent = np.uint8(2) - seen
            quiet = self._quiet(piece)
            if quiet is not None:
                absent.reshape(-1)[:: piece.shape[1] + 1][quiet] = 0
        return Tile(piece.rows, piece.cols, mean, seen, absent, None, piece.index)

    def _quiet(self, piece: Piece) -> Bools | None:
        """Of which entries of the diagonal of a tile absence says nothing; None: there are none."""
        quiet = self._costs.quiet
        return None if quiet is None or not piece.diagonal else quiet[piece.rows]

    def _blocks(self, width: int, *, values: bool = True) -> Generator[Block, None, None]:
        """All blocks in turn, while the cores are ours."""
        self._reader.planned(width)
        with owning_the_cores(), closing(self._reader.blocks(values=values)) as blocks:
            yield from blocks

    def _summed(self, visit: Callable[[Block, Piece], Any], width: int) -> Any:
        """The sum of what ``visit`` returns for each tile, in a fixed order."""
        total = None
        with closing(self._blocks(width)) as blocks:
            for block in blocks:
                parts = map_chunks(
                    lambda strip, block=block: added([visit(block, piece) for piece in strip]),  # type: ignore[misc]
                    block.strips,
                )
                total = added(parts) if total is None else added([total, *parts])
        return total

    def _products(
        self, visit: Callable[[Block, Piece, Work], Found], V: Array, *, values: bool = True
    ) -> tuple[Any, Floats, int]:
        """Sums of all tiles, the symmetric matrix Z + Zᵀ of what ``visit`` returns times V, and how many were seen."""
        total, count, product = np.zeros(1), 0, np.zeros(V.shape)

        def of_strip(block: Block, strip: list[Piece]) -> tuple[Any, Array, Array]:
            start, sums = block.cols.start, np.zeros(1)
            down = np.zeros((strip[0].shape[0], V.shape[1]), self.dtype)
            across = np.zeros((block.cols.stop - start, V.shape[1]), self.dtype)
            with self._reader.work() as work:
                for piece in strip:
                    found, Z, times = visit(block, piece, work)
                    sums = sums + times * found
                    down += self.dtype.type(times) * (Z @ V[piece.cols])
                    across[piece.within[1]] += self.dtype.type(times) * (Z.T @ V[piece.rows])
            return sums, down, across

        with closing(self._blocks(V.shape[1], values=values)) as blocks:
            for block in blocks:
                parts = map_chunks(lambda strip, block=block: of_strip(block, strip), block.strips)  # type: ignore[misc]
                for strip, (sums, down, across) in zip(block.strips, parts, strict=True):
                    total = total + sums
                    product[strip[0].rows] += down
                    product[block.cols] += across
                count += block.facts.count
        return total, product, count


def _product(left: Array, right: Array, piece: Piece, out: Array) -> Array:
    """The tile of a product of two factors."""
    found: Array = np.matmul(left[piece.rows], right[piece.cols].T, out=out)
    return found


def _stiffness(kept: _At | _Weighing) -> float:
    """What curvatures are multiplied by; weights are given twice as large."""
    return 0.5 if isinstance(kept, _Weighing) else kept.costs.stiffness


def _scaled(product: Floats, factor: float, dtype: np.dtype[Any]) -> Array:
    product *= factor
    return product.astype(dtype, copy=False)


def _require_one_threshold(observations: Observations, loss: Loss, *, bounded: bool) -> None:
    """Refuse what this kernel does not know of."""
    limits, what = observations.limits, None
    if not (loss.squared or loss.name == "censored"):
        what = f"the loss {loss.name!r}"
    elif not observations.plain:
        what = "weights, or noise, that differ between entries"
    elif bounded and not limits.uniform:
        what = "limits that differ between entries, or on both sides"
    elif bounded and limits.unknown is not None:
        what = "entries that are unknown"
    elif observations.source.cut is not None:
        what = "a table"
    if what is not None:
        raise InputError(
            "BlocksKernel is for a symmetric matrix with one threshold or none, under 'observed', 'one-sided' or "
            f"'censored', and got {what}; pass kernel_for(observations, loss), which knows of all"
        )
