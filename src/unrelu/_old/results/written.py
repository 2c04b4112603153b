"""A completed matrix by blocks, for one that no memory holds: what was seen, and the fit where nothing was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array, Bools, Indices
from unrelu._old.base.errors import InputError
from unrelu._old.data.bipartite import Bipartite, BipartiteLimits
from unrelu._old.data.checks import Counts, within_range
from unrelu._old.data.inputs import read_table, read_values, square_size
from unrelu._old.data.labels import Axes
from unrelu._old.data.left_out import apart_from
from unrelu._old.data.observations import Observations
from unrelu._old.data.source import Source, source_of
from unrelu._old.data.terms import Terms, read_limits, settled
from unrelu._old.io.disk import FilePath
from unrelu._old.io.zarr_out import Block, Grid, grid_of, write_blocks
from unrelu._old.kernels.memory import require_memory
from unrelu._old.loop.rows_bar import NoRows, Rows
from unrelu._old.model.hidden import Hidden
from unrelu._old.results.data_again import refuse_another_mask
from unrelu._old.results.forecasts import _beside, expected, forecast, held, limits_of, noise_level

__all__ = ["Filled", "write_filled"]

# Rows of a block whose expectations are found together, so that what that needs stays small.
BAND = 256


def write_filled(
    completion: Any,
    source: Any,
    path: FilePath,
    *,
    fit: bool = False,
    blank: Indices | None = None,
    rows: Rows | None = None,
) -> None:
    """Write what :meth:`Completion.filled` gives into a zarr folder, block by block; it appears when it is whole.

    Parameters
    ----------
    completion : Completion
        Of a symmetric matrix or of a table.
    source : as in :func:`unrelu.complete`, or None
        The matrix that was completed. None: the one that the completion holds.
    path : str or path
        A folder ending in ``.zarr``. An array that is there is replaced.
    fit : bool
        Write the fit everywhere, instead of keeping seen entries as they were given.
    blank : int ndarray, optional
        Rows, and after them columns of a table, whose unseen entries are left out: NaN.
    rows : Rows, optional
        Whom to tell how far it has come.

    Examples
    --------
    >>> import tempfile, unrelu
    >>> from pathlib import Path
    >>> from unrelu._old.io.opened import open_zarr
    >>> U = np.random.default_rng(0).standard_normal((30, 2))
    >>> X = np.where(U @ U.T >= 0, U @ U.T, np.nan)
    >>> found = unrelu.complete(X, rank=2, rng=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_filled(found, X, Path(folder, "completed.zarr"))
    ...     bool(np.allclose(open_zarr(Path(folder, "completed.zarr"))[...], found.filled()))
    True
    """
    filled = Filled(completion, source, fit, blank)
    write_blocks(path, filled.grids, filled.dtype, filled.blocks(NoRows() if rows is None else rows))


@dataclass(frozen=True, eq=False)
class Filled:
    """What :meth:`Completion.filled` gives, without ever having all of it.

    Attributes
    ----------
    completion : Completion
    matrix : the matrix that was completed, or None for the one that the completion holds
    fit : bool
        Whether the fit is wanted everywhere.
    blank : int ndarray or None
        Rows, and after them columns of a table, whose unseen entries are left out.
    """

    completion: Any
    matrix: Any = None
    fit: bool = False
    blank: Indices | None = None

    def __post_init__(self) -> None:
        if self.completion.posterior is not None and not self.fit:
            raise InputError("what method='gibbs' has drawn is not written by blocks; write .npy, or the fit")

    @property
    def shape(self) -> tuple[int, int]:
        """That of the matrix."""
        m, n = self.completion.shape
        return int(m), int(n)

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the data; of the fit, if they are not read."""
        return np.dtype(self._observations.dtype if self._reads else self.completion.factor.dtype)

    @property
    def grids(self) -> tuple[Grid, Grid]:
        """How rows and columns are cut: along the grid of the data, where they have one."""
        given = getattr(self._source, "block_shape", None) if self._reads else None
        sides = (None, None) if given is None else given
        if self._symmetric:  # a block and its mirror image are cut alike
            sides = (None if given is None else max(given),) * 2
        rows, columns = (grid_of(length, side) for length, side in zip(self.shape, sides, strict=True))
        return rows, columns

    def whole(self) -> Array:
        """All of it, for a file that is not written by blocks."""
        m, n = self.shape
        require_memory(m * n * self.dtype.itemsize, f"a {m}×{n} matrix")
        result = np.empty((m, n), self.dtype)
        for rows, columns, values in self.blocks():
            result[rows, columns] = values
        return result

    def blocks(self, told: Rows | None = None) -> Iterator[Block]:
        """Rows, columns and values of one block after the other; each entry of the data is read once."""
        told = NoRows() if told is None else told
        rows, columns = self.grids
        m, n = self.shape
        told.begin("writing", m)
        done = 0
        for one in rows.pieces:
            for other in columns.pieces:
                if self._symmetric and other.start < one.start:
                    continue  # came with its mirror image
                for i, j, values in self._pair(one, other):
                    yield i, j, values
                    before, done = done, done + values.size
                    told.advance(done // n - before // n, values.nbytes if self._reads else 0)

    def _pair(self, rows: slice, cols: slice) -> Iterator[Block]:
        """A block, and for a symmetric matrix the block across the diagonal."""
        product = self._product(rows, cols)
        if not self._reads:
            yield rows, cols, product
            if self._symmetric and rows != cols:
                yield cols, rows, product.T
            return
        read, cut = self._observations.block, self._observations.source.cut
        beside = cols if cut is None else slice(cols.start + cut, cols.stop + cut)
        values = read(rows, beside)
        mirrored = None
        if cut is None:
            mirrored = values.T if rows == cols else read(cols, rows).T
        yield rows, cols, self._filled(product, rows, beside, values, mirrored)
        if self._symmetric and rows != cols:
            assert mirrored is not None
            yield cols, rows, self._filled(product.T, cols, rows, mirrored.T, values.T)

    def _product(self, rows: slice, cols: slice) -> Array:
        """The fit of a block, exactly symmetric on the diagonal."""
        product: Array = (self._factors.left[rows] @ self._right[cols].T).astype(self.dtype, copy=False)
        if self._symmetric and rows == cols:
            product = np.triu(product) + np.triu(product, 1).T
        return product

    def _filled(self, product: Array, rows: slice, cols: slice, values: Array, mirrored: Array | None) -> Array:
        """A block, in bands of rows."""
        result = np.array(product)
        for start in range(0, len(result), BAND):
            part = slice(start, min(start + BAND, len(result)))
            across = None if mirrored is None else mirrored[part]
            band = slice(rows.start + part.start, rows.start + part.stop)
            result[part] = self._band(result[part], band, cols, (values[part], across))
        return result

    def _band(self, fit: Array, rows: slice, cols: slice, known: tuple[Array, Array | None]) -> Array:
        """Some rows of a block: what is expected of its entries, and over it what was seen, one way round or both."""
        values, mirrored = known
        seen = ~np.isnan(values)
        across = np.zeros_like(seen) if mirrored is None else ~np.isnan(mirrored)
        either = seen | across
        found = self._expected(self._held(fit, rows, cols, either), rows, cols, either, known)
        if self.fit:
            found = np.array(fit)
        if self.blank is not None:
            found[self._open(self.blank, rows, cols) & ~either] = np.nan
        if self.fit:
            return found
        if mirrored is not None and self.completion.symmetric:
            found[across] = mirrored[across]
        found[seen] = values[seen]
        return found

    def _open(self, some: Indices, rows: slice, cols: slice) -> Bools:
        """Which entries of a block are in these rows, or columns."""
        i, j = (np.isin(np.arange(place.start, place.stop), some) for place in (rows, cols))
        found: Bools = i[:, None] | j[None, :]
        return found

    def _held(self, fit: Array, rows: slice, cols: slice, seen: Bools) -> Array:
        """The fit, and where the data leave an entry open no further out than 95 % of all entries are."""
        alone, some = self.completion.alone, self.completion.undetermined_rows
        if alone is None or not len(some) or self.blank is not None:
            return fit
        i, j = np.nonzero(self._open(some, rows, cols) & ~seen)
        result = np.array(fit)
        ends = limits_of(self._observations, i + rows.start, j + cols.start)
        result[i, j] = held(result[i, j], ends, alone)
        return result

    def _expected(self, fit: Array, rows: slice, cols: slice, seen: Bools, known: tuple[Array, Array | None]) -> Array:
        """The expectation of unseen entries, given what absence says of them."""
        if self.fit:
            return fit
        observations, limits = self._observations, self._observations.limits
        i, j = np.arange(rows.start, rows.stop), np.arange(cols.start, cols.stop)
        if not limits.nothing:
            ends = observations.bounds(i, j, seen)  # in units of 1
            if limits.gap is not None:
                ends = _beside(limits.of(rows, cols), observations.absent(rows, cols, known[0]), ends, fit)
                if known[1] is not None and self.completion.symmetric:
                    told = observations.absent(cols, rows, known[1].T).T
                    ends = _beside(limits.of(cols, rows).turned, told, ends, fit)
            fit = self._within(fit, ends)
        curve, sigma = self.completion.detection, noise_level(self.completion)
        if curve is not None and not curve.certain and sigma > 0:
            unknown = limits.unknown_in(rows, cols)
            hidden = ~seen & (i[:, None] != j[None, :])
            hidden = hidden if unknown is None else hidden & ~unknown
            fit = np.array(fit)
            means = fit[hidden].astype(np.float64)
            fit[hidden] = Hidden(means, np.full(means.shape, sigma), curve).expectation()
        return fit

    def _within(self, fit: Array, ends: Any) -> Array:
        """What is expected between two ends."""
        completion = self.completion
        if completion.forecasts:
            return forecast(completion.rehearsal, fit, ends, completion.sigma or 0.0)
        return expected(fit, ends, noise_level(completion))

    @property
    def _reads(self) -> bool:
        """Whether the data are needed: the fit alone does not hang on them."""
        return not self.fit or self.blank is not None

    @property
    def _symmetric(self) -> bool:
        """Whether the fit of a block is that of the block across the diagonal."""
        return bool(self.completion.symmetric) and self.completion.kind != "table"

    @cached_property
    def _factors(self) -> Any:
        return self.completion.factors

    @cached_property
    def _right(self) -> Array:
        right: Array = self._factors.right  # of signed factors this is a product
        return right

    @cached_property
    def _source(self) -> Source:
        """The data, without a table's being made part of a symmetric matrix."""
        return self._read[0]

    @cached_property
    def _read(self) -> tuple[Source, Axes]:
        X = self.completion.source if self.matrix is None else self.matrix
        if X is None:
            raise InputError("this completion does not hold the seen entries; pass the matrix that was completed")
        if self.completion.kind == "table":
            data, axes = read_table(X)
        else:
            data, labels = read_values(X)
            axes = Axes.square(square_size(data, "X"), labels)
        if axes.shape != self.shape:
            came, wanted = ("×".join(map(str, shape)) for shape in (axes.shape, self.shape))
            raise InputError(f"X must be {wanted} like the completed matrix, got {came}; pass the matrix as it was")
        return source_of(data), axes

    @cached_property
    def _observations(self) -> Observations:
        """What was seen and what absence says; nothing is scanned, so that the unit of its numbers is 1."""
        completion, (source, axes) = self.completion, self._read
        masked = completion.unknown is None and completion.unknown_count
        if masked and (completion.forecasts or completion.alone is not None):
            refuse_another_mask(None, completion.shape, completion.unknown_count)
        threshold = None if masked else completion.threshold
        terms = settled(Terms(threshold, completion.side, completion.unknown, completion.entry_range), axes)
        source, limits = apart_from(source, read_limits(terms, axes), completion.left_out)
        limits = limits if terms.entry_range is None else within_range(limits, terms.entry_range)
        nothing = Counts(np.zeros(0, np.int64), 1, 1.0)
        if completion.kind == "table":
            cut = BipartiteLimits.of_table(limits, axes.shape)
            return Observations(Bipartite(source), cut, diagonal_seen=False, scanned=nothing)
        found = Observations(source, limits, diagonal_seen=_diagonal_seen(source), scanned=nothing)
        return replace(found, definite=completion.signs is None)


def _diagonal_seen(source: Source) -> bool:
    """Whether anything was seen of the diagonal."""
    side = grid_of(source.shape[0], max(getattr(source, "block_shape", None) or (BAND,)))
    return any(not np.isnan(np.diagonal(source.block(part, part))).all() for part in side.pieces)
