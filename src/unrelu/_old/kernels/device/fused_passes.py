"""The fused passes: each reads a region once and leaves nothing of its size behind.

A program has one block of rows and every SHARES-th tile of columns: first those at edges and on the diagonal, where
each entry is asked where it lies, then all others. What it finds for its rows stays with it to the end; what it finds
for columns is added as it goes. Factors come as wide as they are read (operands.py). Names in
capitals are known when a pass is compiled.
"""

import triton
import triton.language as tl

from unrelu._old.kernels.device.fused_parts import (
    CENSORED,
    NOTHING,
    UNSPECIAL,
    both_ways,
    entries,
    factor,
    fitted,
    judged,
    laid_out,
    summed,
    tile_number,
    turned,
)

__all__ = ["curvature_pass", "quartic_pass", "slopes_pass", "steps_pass"]


@triton.jit(do_not_specialize=UNSPECIAL)
def slopes_pass(
    values, quiet, left, right, left_high, left_low, right_high, right_low, to_rows, to_cols, sums,
    height, width, row_stride, col_stride, first_row, first_col,
    inverse: tl.float64, threshold: tl.float64, sigma: tl.float64,
    WIDE: tl.constexpr, TIMES: tl.constexpr, TIMES_WIDE: tl.constexpr,
    TRIANGLE: tl.constexpr, INSIDE: tl.constexpr, SAYS: tl.constexpr, BELOW: tl.constexpr,
    TILE: tl.constexpr, SHARES: tl.constexpr, FIT: tl.constexpr, PRODUCTS: tl.constexpr,
):  # fmt: skip
    """Sums of a fit, and its slopes times the factors."""
    dtype: tl.constexpr = left.dtype.element_ty
    program = tl.program_id(0)
    row, share = program // SHARES * TILE, program % SHARES
    rows = row + tl.arange(0, TILE)
    mine = factor(left, rows, WIDE)
    my_high = turned(left_high, rows, height, TIMES_WIDE)
    my_low = my_high
    if left_low is not None:
        my_low = turned(left_low, rows, height, TIMES_WIDE)
    found = tl.zeros((TILE, TIMES_WIDE), dtype)
    total = tl.zeros((TILE,), tl.float64)
    totals = (total, total, total, total)
    first, inner, last, count = laid_out(row, first_row - first_col, (height, width), TRIANGLE, INSIDE, TILE)
    matrix = (values, quiet, (height, width), (row_stride, col_stride), (first_row, first_col))
    own, terms = (rows, mine, my_high, my_low), (inverse, threshold, sigma)
    theirs = (right, right_high, right_low, to_cols)
    for k in range(share, inner - first + count - last, SHARES):
        number = tile_number(k, first, inner, last)
        found, totals = _slopes_of(
            matrix, own, theirs, number * TILE, terms, found, totals,
            WIDE, TIMES, TIMES_WIDE, TRIANGLE, SAYS, BELOW, TILE, FIT, PRODUCTS, True,
        )  # fmt: skip
    for number in range(inner + share, last, SHARES):
        found, totals = _slopes_of(
            matrix, own, theirs, number * TILE, terms, found, totals,
            WIDE, TIMES, TIMES_WIDE, TRIANGLE, SAYS, BELOW, TILE, FIT, PRODUCTS, False,
        )  # fmt: skip
    summed(to_rows, rows, found, TIMES, TIMES_WIDE)
    for j in tl.static_range(4):
        if j == 0 or SAYS == CENSORED:
            tl.store(sums + program * 4 + j, tl.sum(totals[j]))


@triton.jit
def _slopes_of(
    matrix, own, theirs, col, terms, found, totals,
    WIDE: tl.constexpr, TIMES: tl.constexpr, TIMES_WIDE: tl.constexpr,
    TRIANGLE: tl.constexpr, SAYS: tl.constexpr, BELOW: tl.constexpr, TILE: tl.constexpr,
    FIT: tl.constexpr, PRODUCTS: tl.constexpr, EDGE: tl.constexpr,
):  # fmt: skip
    """One tile of it."""
    values, quiet, shape, strides, places = matrix
    rows, mine, my_high, my_low = own
    right, right_high, right_low, to_cols = theirs
    cols = col + tl.arange(0, TILE)
    value, seen, weight = entries(values, quiet, rows, cols, shape, strides, places, mine.dtype, TRIANGLE, EDGE)
    x = fitted(mine, right, cols, WIDE, FIT)
    slope, _, square, log, once, twice = judged(x, value, seen, terms, SAYS, BELOW)
    if EDGE:
        slope *= weight
        square *= weight
        log *= weight
        once *= weight
        twice *= weight
    squares, logs, onces, twices = totals
    squares += tl.sum(square, 1).to(tl.float64)
    if SAYS == CENSORED:
        logs += tl.sum(log, 1).to(tl.float64)
        onces += tl.sum(once, 1).to(tl.float64)
        twices += tl.sum(twice, 1).to(tl.float64)
    halves, others = (my_high, my_low), (right_high, right_low)
    found = both_ways(found, slope, cols, shape[1], halves, others, to_cols, TIMES, TIMES_WIDE, PRODUCTS)
    return found, (squares, logs, onces, twices)


@triton.jit(do_not_specialize=UNSPECIAL)
def curvature_pass(
    values, quiet, left, right, left_along, right_along, left_high, left_low, right_high, right_low, to_rows, to_cols,
    height, width, row_stride, col_stride, first_row, first_col,
    inverse: tl.float64, threshold: tl.float64, sigma: tl.float64,
    WIDE: tl.constexpr, ALONG_WIDE: tl.constexpr, TIMES: tl.constexpr, TIMES_WIDE: tl.constexpr,
    TRIANGLE: tl.constexpr, INSIDE: tl.constexpr, SAYS: tl.constexpr, BELOW: tl.constexpr,
    TILE: tl.constexpr, SHARES: tl.constexpr,
    FIT: tl.constexpr, ALONG_FIT: tl.constexpr, PRODUCTS: tl.constexpr,
):  # fmt: skip
    """Curvatures of a fit times a change of it, times the factors; without a change the curvatures themselves."""
    dtype: tl.constexpr = left_high.dtype.element_ty
    program = tl.program_id(0)
    row, share = program // SHARES * TILE, program % SHARES
    rows = row + tl.arange(0, TILE)
    my_high = turned(left_high, rows, height, TIMES_WIDE)
    my_along = my_high
    if left_along is not None:
        my_along = factor(left_along, rows, ALONG_WIDE)
    my_low = my_high
    if left_low is not None:
        my_low = turned(left_low, rows, height, TIMES_WIDE)
    mine = my_along
    if SAYS != NOTHING:
        mine = factor(left, rows, WIDE)
    found = tl.zeros((TILE, TIMES_WIDE), dtype)
    first, inner, last, count = laid_out(row, first_row - first_col, (height, width), TRIANGLE, INSIDE, TILE)
    matrix = (values, quiet, (height, width), (row_stride, col_stride), (first_row, first_col))
    own, terms = (rows, mine, my_along, my_high, my_low), (inverse, threshold, sigma)
    theirs = (right, right_along, right_high, right_low, to_cols)
    for k in range(share, inner - first + count - last, SHARES):
        found = _curvature_of(
            matrix, own, theirs, tile_number(k, first, inner, last) * TILE, terms, found,
            WIDE, ALONG_WIDE, TIMES, TIMES_WIDE, TRIANGLE, SAYS, BELOW, TILE, FIT, ALONG_FIT, PRODUCTS, True,
        )  # fmt: skip
    for number in range(inner + share, last, SHARES):
        found = _curvature_of(
            matrix, own, theirs, number * TILE, terms, found,
            WIDE, ALONG_WIDE, TIMES, TIMES_WIDE, TRIANGLE, SAYS, BELOW, TILE, FIT, ALONG_FIT, PRODUCTS, False,
        )  # fmt: skip
    summed(to_rows, rows, found, TIMES, TIMES_WIDE)


@triton.jit
def _curvature_of(
    matrix, own, theirs, col, terms, found,
    WIDE: tl.constexpr, ALONG_WIDE: tl.constexpr, TIMES: tl.constexpr, TIMES_WIDE: tl.constexpr,
    TRIANGLE: tl.constexpr, SAYS: tl.constexpr, BELOW: tl.constexpr, TILE: tl.constexpr,
    FIT: tl.constexpr, ALONG_FIT: tl.constexpr, PRODUCTS: tl.constexpr, EDGE: tl.constexpr,
):  # fmt: skip
    """One tile of it."""
    values, quiet, shape, strides, places = matrix
    rows, mine, my_along, my_high, my_low = own
    right, right_along, right_high, right_low, to_cols = theirs
    cols = col + tl.arange(0, TILE)
    value, seen, weight = entries(values, quiet, rows, cols, shape, strides, places, my_along.dtype, TRIANGLE, EDGE)
    change = tl.full(seen.shape, 1.0, my_along.dtype)
    if right_along is not None:
        change = fitted(my_along, right_along, cols, ALONG_WIDE, ALONG_FIT)
    if SAYS == NOTHING:
        change = tl.where(seen, change, 0.0)
    else:
        x = fitted(mine, right, cols, WIDE, FIT)
        _, bend, _, _, _, _ = judged(x, value, seen, terms, SAYS, BELOW)
        change *= bend
    if EDGE:
        change *= weight
    halves, others = (my_high, my_low), (right_high, right_low)
    return both_ways(found, change, cols, shape[1], halves, others, to_cols, TIMES, TIMES_WIDE, PRODUCTS)


@triton.jit(do_not_specialize=UNSPECIAL)
def quartic_pass(
    values, quiet, left, right, left_along, right_along, left_beyond, right_beyond, sums,
    height, width, row_stride, col_stride, first_row, first_col,
    inverse: tl.float64, threshold: tl.float64, sigma: tl.float64,
    WIDE: tl.constexpr, ALONG_WIDE: tl.constexpr, BEYOND_WIDE: tl.constexpr,
    TRIANGLE: tl.constexpr, INSIDE: tl.constexpr, SAYS: tl.constexpr, BELOW: tl.constexpr,
    TILE: tl.constexpr, SHARES: tl.constexpr,
    FIT: tl.constexpr, ALONG_FIT: tl.constexpr, BEYOND_FIT: tl.constexpr,
):  # fmt: skip
    """Sums of which squares along a line are made."""
    program = tl.program_id(0)
    row, share = program // SHARES * TILE, program % SHARES
    rows = row + tl.arange(0, TILE)
    mine = factor(left, rows, WIDE)
    my_along = factor(left_along, rows, ALONG_WIDE)
    my_beyond = factor(left_beyond, rows, BEYOND_WIDE)
    total = tl.zeros((TILE,), tl.float64)
    totals = (total, total, total)
    first, inner, last, count = laid_out(row, first_row - first_col, (height, width), TRIANGLE, INSIDE, TILE)
    matrix = (values, quiet, (height, width), (row_stride, col_stride), (first_row, first_col))
    own, terms = (rows, mine, my_along, my_beyond), (inverse, threshold, sigma)
    theirs = (right, right_along, right_beyond)
    for k in range(share, inner - first + count - last, SHARES):
        totals = _quartic_of(
            matrix, own, theirs, tile_number(k, first, inner, last) * TILE, terms, totals,
            WIDE, ALONG_WIDE, BEYOND_WIDE, TRIANGLE, SAYS, BELOW, TILE, FIT, ALONG_FIT, BEYOND_FIT, True,
        )  # fmt: skip
    for number in range(inner + share, last, SHARES):
        totals = _quartic_of(
            matrix, own, theirs, number * TILE, terms, totals,
            WIDE, ALONG_WIDE, BEYOND_WIDE, TRIANGLE, SAYS, BELOW, TILE, FIT, ALONG_FIT, BEYOND_FIT, False,
        )  # fmt: skip
    for j in tl.static_range(3):
        tl.store(sums + program * 3 + j, tl.sum(totals[j]))


@triton.jit
def _quartic_of(
    matrix, own, theirs, col, terms, totals,
    WIDE: tl.constexpr, ALONG_WIDE: tl.constexpr, BEYOND_WIDE: tl.constexpr,
    TRIANGLE: tl.constexpr, SAYS: tl.constexpr, BELOW: tl.constexpr, TILE: tl.constexpr,
    FIT: tl.constexpr, ALONG_FIT: tl.constexpr, BEYOND_FIT: tl.constexpr, EDGE: tl.constexpr,
):  # fmt: skip
    """One tile of it."""
    values, quiet, shape, strides, places = matrix
    rows, mine, my_along, my_beyond = own
    right, right_along, right_beyond = theirs
    cols = col + tl.arange(0, TILE)
    value, seen, weight = entries(values, quiet, rows, cols, shape, strides, places, mine.dtype, TRIANGLE, EDGE)
    x = fitted(mine, right, cols, WIDE, FIT)
    slope, bend, _, _, _, _ = judged(x, value, seen, terms, SAYS, BELOW)
    if EDGE:
        bend *= weight
        slope *= weight
    change = fitted(my_along, right_along, cols, ALONG_WIDE, ALONG_FIT)
    curve = fitted(my_beyond, right_beyond, cols, BEYOND_WIDE, BEYOND_FIT)
    second, third, fourth = totals
    bent = bend * change
    second += tl.sum(bent * change + 2.0 * slope * curve, 1).to(tl.float64)
    third += tl.sum(bent * curve, 1).to(tl.float64)
    fourth += tl.sum(bend * curve * curve, 1).to(tl.float64)
    return second, third, fourth


@triton.jit(do_not_specialize=UNSPECIAL)
def steps_pass(
    values, quiet, left, right, left_along, right_along, left_beyond, right_beyond, sums,
    height, width, row_stride, col_stride, first_row, first_col,
    inverse: tl.float64, threshold: tl.float64, sigma: tl.float64,
    step_0: tl.float64, step_1: tl.float64, step_2: tl.float64, step_3: tl.float64,
    WIDE: tl.constexpr, ALONG_WIDE: tl.constexpr, BEYOND_WIDE: tl.constexpr,
    TRIANGLE: tl.constexpr, INSIDE: tl.constexpr, SAYS: tl.constexpr, BELOW: tl.constexpr, STEPS: tl.constexpr,
    TILE: tl.constexpr, SHARES: tl.constexpr,
    FIT: tl.constexpr, ALONG_FIT: tl.constexpr, BEYOND_FIT: tl.constexpr,
):  # fmt: skip
    """Sums of the fits after steps of up to four lengths: eight places for each, of which five are used."""
    program = tl.program_id(0)
    row, share = program // SHARES * TILE, program % SHARES
    rows = row + tl.arange(0, TILE)
    mine = factor(left, rows, WIDE)
    my_along = factor(left_along, rows, ALONG_WIDE)
    my_beyond = factor(left_beyond, rows, BEYOND_WIDE)
    # One array for all sums, an element a thread: twenty of them would not leave room for the tile.
    totals = tl.zeros((32,), tl.float64)
    first, inner, last, count = laid_out(row, first_row - first_col, (height, width), TRIANGLE, INSIDE, TILE)
    matrix = (values, quiet, (height, width), (row_stride, col_stride), (first_row, first_col))
    own, terms = (rows, mine, my_along, my_beyond), (inverse, threshold, sigma)
    theirs, lengths = (right, right_along, right_beyond), (step_0, step_1, step_2, step_3)
    for k in range(share, inner - first + count - last, SHARES):
        totals = _steps_of(
            matrix, own, theirs, tile_number(k, first, inner, last) * TILE, terms, lengths, totals,
            WIDE, ALONG_WIDE, BEYOND_WIDE, TRIANGLE, SAYS, BELOW, STEPS, TILE, FIT, ALONG_FIT, BEYOND_FIT, True,
        )  # fmt: skip
    for number in range(inner + share, last, SHARES):
        totals = _steps_of(
            matrix, own, theirs, number * TILE, terms, lengths, totals,
            WIDE, ALONG_WIDE, BEYOND_WIDE, TRIANGLE, SAYS, BELOW, STEPS, TILE, FIT, ALONG_FIT, BEYOND_FIT, False,
        )  # fmt: skip
    tl.store(sums + program * 32 + tl.arange(0, 32), totals)


@triton.jit
def _steps_of(
    matrix, own, theirs, col, terms, lengths, totals,
    WIDE: tl.constexpr, ALONG_WIDE: tl.constexpr, BEYOND_WIDE: tl.constexpr,
    TRIANGLE: tl.constexpr, SAYS: tl.constexpr, BELOW: tl.constexpr, STEPS: tl.constexpr, TILE: tl.constexpr,
    FIT: tl.constexpr, ALONG_FIT: tl.constexpr, BEYOND_FIT: tl.constexpr, EDGE: tl.constexpr,
):  # fmt: skip
    """One tile of it."""
    values, quiet, shape, strides, places = matrix
    rows, mine, my_along, my_beyond = own
    right, right_along, right_beyond = theirs
    cols = col + tl.arange(0, TILE)
    value, seen, weight = entries(values, quiet, rows, cols, shape, strides, places, mine.dtype, TRIANGLE, EDGE)
    fit = fitted(mine, right, cols, WIDE, FIT)
    change = fitted(my_along, right_along, cols, ALONG_WIDE, ALONG_FIT)
    curve = fitted(my_beyond, right_beyond, cols, BEYOND_WIDE, BEYOND_FIT)
    for j in tl.static_range(STEPS):
        step = tl.full([1, 1], lengths[j], mine.dtype)
        x = fit + step * (change + step * curve)
        slope, _, square, log, once, twice = judged(x, value, seen, terms, SAYS, BELOW)
        totals = _with(totals, 8 * j, square * weight)
        if SAYS == CENSORED:
            totals = _with(totals, 8 * j + 1, log * weight)
            totals = _with(totals, 8 * j + 2, once * weight)
            totals = _with(totals, 8 * j + 3, twice * weight)
        totals = _with(totals, 8 * j + 4, slope * weight * (change + 2.0 * step * curve))
    return totals


@triton.jit
def _with(totals, place: tl.constexpr, found):
    """Add the sum of a tile at one place."""
    return totals + tl.where(tl.arange(0, 32) == place, tl.sum(tl.sum(found, 1).to(tl.float64)), 0.0)
