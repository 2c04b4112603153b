"""The fused passes: each reads a region once and leaves nothing of its size behind.

A program has one block of rows and every SHARES-th tile of columns. What it finds for its rows stays with it to the
end; what it finds for columns is added as it goes. Names in capitals are known when a pass is compiled.
"""

import triton
import triton.language as tl

from unrelu.kernels.device.fused_parts import (
    CENSORED,
    NOTHING,
    entries,
    factor,
    first_tile,
    judged,
    product,
    summed,
)

__all__ = ["curvature_pass", "quartic_pass", "slopes_pass", "steps_pass"]


@triton.jit
def slopes_pass(
    values, quiet, left, right, left_times, right_times, to_rows, to_cols, sums,
    height, width, row_stride, col_stride, first_row, first_col,
    inverse: tl.float64, threshold: tl.float64, sigma: tl.float64,
    RANK: tl.constexpr, TIMES: tl.constexpr, WIDE: tl.constexpr, TIMES_WIDE: tl.constexpr,
    TRIANGLE: tl.constexpr, SAYS: tl.constexpr, BELOW: tl.constexpr,
    TILE: tl.constexpr, SHARES: tl.constexpr, FIT: tl.constexpr, PRODUCTS: tl.constexpr,
):  # fmt: skip
    """Sums of a fit, and its slopes times the factors."""
    dtype: tl.constexpr = left.dtype.element_ty
    program = tl.program_id(0)
    rows = program // SHARES * TILE + tl.arange(0, TILE)
    mine = factor(left, rows, height, RANK, WIDE)
    my_times = factor(left_times, rows, height, TIMES, TIMES_WIDE)
    found = tl.zeros((TILE, TIMES_WIDE), dtype)
    squares, count = tl.zeros((TILE,), tl.float64), tl.zeros((TILE,), tl.float64)
    logs, onces, twices = squares, squares, squares
    start = first_tile(program // SHARES * TILE, first_row - first_col, TRIANGLE, TILE)
    for number in range(start + program % SHARES, tl.cdiv(width, TILE), SHARES):
        cols = number * TILE + tl.arange(0, TILE)
        value, seen, weight = entries(
            values,
            quiet,
            rows,
            cols,
            (height, width),
            (row_stride, col_stride),
            (first_row, first_col),
            dtype,
            TRIANGLE,
        )
        x = product(mine, tl.trans(factor(right, cols, width, RANK, WIDE)), FIT)
        slope, _, square, log, once, twice = judged(x, value, seen, (inverse, threshold, sigma), SAYS, BELOW)
        squares += tl.sum(square * weight, 1).to(tl.float64)
        count += tl.sum(tl.where(seen, weight, 0.0), 1).to(tl.float64)
        if SAYS == CENSORED:
            logs += tl.sum(log * weight, 1).to(tl.float64)
            onces += tl.sum(once * weight, 1).to(tl.float64)
            twices += tl.sum(twice * weight, 1).to(tl.float64)
        slope *= weight
        found += product(slope, factor(right_times, cols, width, TIMES, TIMES_WIDE), PRODUCTS)
        summed(to_cols, cols, width, product(tl.trans(slope), my_times, PRODUCTS), TIMES, TIMES_WIDE)
    summed(to_rows, rows, height, found, TIMES, TIMES_WIDE)
    tl.store(sums + program * 5, tl.sum(squares))
    tl.store(sums + program * 5 + 1, tl.sum(logs))
    tl.store(sums + program * 5 + 2, tl.sum(onces))
    tl.store(sums + program * 5 + 3, tl.sum(twices))
    tl.store(sums + program * 5 + 4, tl.sum(count))


@triton.jit
def curvature_pass(
    values, quiet, left, right, left_along, right_along, left_times, right_times, to_rows, to_cols,
    height, width, row_stride, col_stride, first_row, first_col,
    inverse: tl.float64, threshold: tl.float64, sigma: tl.float64,
    RANK: tl.constexpr, ALONG: tl.constexpr, TIMES: tl.constexpr,
    WIDE: tl.constexpr, ALONG_WIDE: tl.constexpr, TIMES_WIDE: tl.constexpr,
    TRIANGLE: tl.constexpr, SAYS: tl.constexpr, BELOW: tl.constexpr,
    TILE: tl.constexpr, SHARES: tl.constexpr, FIT: tl.constexpr, PRODUCTS: tl.constexpr,
):  # fmt: skip
    """Curvatures of a fit times a change of it, times the factors."""
    dtype: tl.constexpr = left_along.dtype.element_ty
    program = tl.program_id(0)
    rows = program // SHARES * TILE + tl.arange(0, TILE)
    my_along = factor(left_along, rows, height, ALONG, ALONG_WIDE)
    my_times = factor(left_times, rows, height, TIMES, TIMES_WIDE)
    mine = my_along
    if SAYS != NOTHING:
        mine = factor(left, rows, height, RANK, WIDE)
    found = tl.zeros((TILE, TIMES_WIDE), dtype)
    start = first_tile(program // SHARES * TILE, first_row - first_col, TRIANGLE, TILE)
    for number in range(start + program % SHARES, tl.cdiv(width, TILE), SHARES):
        cols = number * TILE + tl.arange(0, TILE)
        value, seen, weight = entries(
            values,
            quiet,
            rows,
            cols,
            (height, width),
            (row_stride, col_stride),
            (first_row, first_col),
            dtype,
            TRIANGLE,
        )
        change = product(my_along, tl.trans(factor(right_along, cols, width, ALONG, ALONG_WIDE)), PRODUCTS)
        if SAYS == NOTHING:
            change = tl.where(seen, change * weight, 0.0)
        else:
            x = product(mine, tl.trans(factor(right, cols, width, RANK, WIDE)), FIT)
            _, bend, _, _, _, _ = judged(x, value, seen, (inverse, threshold, sigma), SAYS, BELOW)
            change *= bend * weight
        found += product(change, factor(right_times, cols, width, TIMES, TIMES_WIDE), PRODUCTS)
        summed(to_cols, cols, width, product(tl.trans(change), my_times, PRODUCTS), TIMES, TIMES_WIDE)
    summed(to_rows, rows, height, found, TIMES, TIMES_WIDE)


@triton.jit
def quartic_pass(
    values, quiet, left, right, left_along, right_along, left_beyond, right_beyond, sums,
    height, width, row_stride, col_stride, first_row, first_col,
    inverse: tl.float64, threshold: tl.float64, sigma: tl.float64,
    RANK: tl.constexpr, ALONG: tl.constexpr, BEYOND: tl.constexpr,
    WIDE: tl.constexpr, ALONG_WIDE: tl.constexpr, BEYOND_WIDE: tl.constexpr,
    TRIANGLE: tl.constexpr, SAYS: tl.constexpr, BELOW: tl.constexpr,
    TILE: tl.constexpr, SHARES: tl.constexpr, FIT: tl.constexpr, PRODUCTS: tl.constexpr,
):  # fmt: skip
    """Sums of which squares along a line are made."""
    dtype: tl.constexpr = left.dtype.element_ty
    program = tl.program_id(0)
    rows = program // SHARES * TILE + tl.arange(0, TILE)
    mine = factor(left, rows, height, RANK, WIDE)
    my_along = factor(left_along, rows, height, ALONG, ALONG_WIDE)
    my_beyond = factor(left_beyond, rows, height, BEYOND, BEYOND_WIDE)
    second = tl.zeros((TILE,), tl.float64)
    third, fourth = second, second
    start = first_tile(program // SHARES * TILE, first_row - first_col, TRIANGLE, TILE)
    for number in range(start + program % SHARES, tl.cdiv(width, TILE), SHARES):
        cols = number * TILE + tl.arange(0, TILE)
        value, seen, weight = entries(
            values,
            quiet,
            rows,
            cols,
            (height, width),
            (row_stride, col_stride),
            (first_row, first_col),
            dtype,
            TRIANGLE,
        )
        x = product(mine, tl.trans(factor(right, cols, width, RANK, WIDE)), FIT)
        slope, bend, _, _, _, _ = judged(x, value, seen, (inverse, threshold, sigma), SAYS, BELOW)
        bend *= weight
        slope *= weight
        change = product(my_along, tl.trans(factor(right_along, cols, width, ALONG, ALONG_WIDE)), PRODUCTS)
        curve = product(my_beyond, tl.trans(factor(right_beyond, cols, width, BEYOND, BEYOND_WIDE)), PRODUCTS)
        second += tl.sum(bend * change * change + 2.0 * slope * curve, 1).to(tl.float64)
        third += tl.sum(bend * change * curve, 1).to(tl.float64)
        fourth += tl.sum(bend * curve * curve, 1).to(tl.float64)
    tl.store(sums + program * 3, tl.sum(second))
    tl.store(sums + program * 3 + 1, tl.sum(third))
    tl.store(sums + program * 3 + 2, tl.sum(fourth))


@triton.jit
def steps_pass(
    values, quiet, left, right, left_along, right_along, left_beyond, right_beyond, sums,
    height, width, row_stride, col_stride, first_row, first_col,
    inverse: tl.float64, threshold: tl.float64, sigma: tl.float64,
    step_0: tl.float64, step_1: tl.float64, step_2: tl.float64, step_3: tl.float64,
    RANK: tl.constexpr, ALONG: tl.constexpr, BEYOND: tl.constexpr,
    WIDE: tl.constexpr, ALONG_WIDE: tl.constexpr, BEYOND_WIDE: tl.constexpr,
    TRIANGLE: tl.constexpr, SAYS: tl.constexpr, BELOW: tl.constexpr, STEPS: tl.constexpr,
    TILE: tl.constexpr, SHARES: tl.constexpr, FIT: tl.constexpr, PRODUCTS: tl.constexpr,
):  # fmt: skip
    """Sums of the fits after steps of up to four lengths: eight places for each, of which six are used."""
    dtype: tl.constexpr = left.dtype.element_ty
    program = tl.program_id(0)
    rows = program // SHARES * TILE + tl.arange(0, TILE)
    mine = factor(left, rows, height, RANK, WIDE)
    my_along = factor(left_along, rows, height, ALONG, ALONG_WIDE)
    my_beyond = factor(left_beyond, rows, height, BEYOND, BEYOND_WIDE)
    # One array for all sums, an element a thread: twenty-four of them would not leave room for the tile.
    places = tl.arange(0, 32)
    totals = tl.zeros((32,), tl.float64)
    start = first_tile(program // SHARES * TILE, first_row - first_col, TRIANGLE, TILE)
    for number in range(start + program % SHARES, tl.cdiv(width, TILE), SHARES):
        cols = number * TILE + tl.arange(0, TILE)
        value, seen, weight = entries(
            values,
            quiet,
            rows,
            cols,
            (height, width),
            (row_stride, col_stride),
            (first_row, first_col),
            dtype,
            TRIANGLE,
        )
        fit = product(mine, tl.trans(factor(right, cols, width, RANK, WIDE)), FIT)
        change = product(my_along, tl.trans(factor(right_along, cols, width, ALONG, ALONG_WIDE)), FIT)
        curve = product(my_beyond, tl.trans(factor(right_beyond, cols, width, BEYOND, BEYOND_WIDE)), FIT)
        count = tl.sum(tl.sum(tl.where(seen, weight, 0.0), 1).to(tl.float64))
        for j in tl.static_range(STEPS):
            step = tl.full([1, 1], (step_0, step_1, step_2, step_3)[j], dtype)
            x = fit + step * (change + step * curve)
            slope, _, square, log, once, twice = judged(x, value, seen, (inverse, threshold, sigma), SAYS, BELOW)
            totals = _with(totals, places, 8 * j, square * weight)
            if SAYS == CENSORED:
                totals = _with(totals, places, 8 * j + 1, log * weight)
                totals = _with(totals, places, 8 * j + 2, once * weight)
                totals = _with(totals, places, 8 * j + 3, twice * weight)
            totals += tl.where(places == 8 * j + 4, count, 0.0)
            totals = _with(totals, places, 8 * j + 5, slope * weight * (change + 2.0 * step * curve))
    tl.store(sums + program * 32 + places, totals)


@triton.jit
def _with(totals, places, place: tl.constexpr, found):
    """Add the sum of a tile at one place."""
    return totals + tl.where(places == place, tl.sum(tl.sum(found, 1).to(tl.float64)), 0.0)
