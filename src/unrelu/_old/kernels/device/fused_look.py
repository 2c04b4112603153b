"""The look at a large matrix as one fused pass: what is left of each row and column, and what each asks for.

As in fused_passes.py a program has one block of rows and every SHARES-th tile of columns.
"""

import triton
import triton.language as tl

from unrelu._old.kernels.device.fused_parts import (
    CENSORED,
    EVERY,
    NOTHING,
    SURE,
    UNSPECIAL,
    both_ways,
    entries,
    factor,
    fitted,
    laid_out,
    summed,
    tails,
    tile_number,
    turned,
)

__all__ = ["look_pass"]


@triton.jit(do_not_specialize=UNSPECIAL)
def look_pass(
    values, quiet, left, right, left_high, left_low, right_high, right_low, to_rows, to_cols, of_rows, of_cols, sums,
    height, width, row_stride, col_stride, first_row, first_col,
    inverse: tl.float64, threshold: tl.float64, sigma: tl.float64,
    WIDE: tl.constexpr, TIMES: tl.constexpr, TIMES_WIDE: tl.constexpr,
    TRIANGLE: tl.constexpr, INSIDE: tl.constexpr, SAYS: tl.constexpr, BELOW: tl.constexpr,
    TILE: tl.constexpr, SHARES: tl.constexpr, FIT: tl.constexpr, PRODUCTS: tl.constexpr, FIRST: tl.constexpr,
):  # fmt: skip
    """What is left, and slopes times the factors, which need not be there; and seven sums, eight places each.

    The first time also how many were seen, and the sizes of their values.
    """
    dtype: tl.constexpr = left.dtype.element_ty
    program = tl.program_id(0)
    row, share = program // SHARES * TILE, program % SHARES
    rows = row + tl.arange(0, TILE)
    mine = factor(left, rows, WIDE)
    my_high = mine
    if left_high is not None:
        my_high = turned(left_high, rows, height, TIMES_WIDE)
    my_low = my_high
    if left_low is not None:
        my_low = turned(left_low, rows, height, TIMES_WIDE)
    found = tl.zeros((TILE, TIMES_WIDE), dtype)
    nothing = tl.zeros((TILE,), tl.float64)
    low = tl.full((TILE,), float("inf"), dtype)
    totals = (nothing, nothing, nothing, nothing, nothing, low, -low)
    first, inner, last, count = laid_out(row, first_row - first_col, (height, width), TRIANGLE, INSIDE, TILE)
    matrix = (values, quiet, (height, width), (row_stride, col_stride), (first_row, first_col))
    own, terms = (rows, mine, my_high, my_low), (inverse, threshold, sigma)
    theirs = (right, right_high, right_low, to_cols, of_cols)
    for k in range(share, inner - first + count - last, SHARES):
        number = tile_number(k, first, inner, last)
        found, totals = _look_of(
            matrix, own, theirs, number * TILE, terms, found, totals,
            WIDE, TIMES, TIMES_WIDE, TRIANGLE, SAYS, BELOW, TILE, FIT, PRODUCTS, FIRST, True,
        )  # fmt: skip
    for number in range(inner + share, last, SHARES):
        found, totals = _look_of(
            matrix, own, theirs, number * TILE, terms, found, totals,
            WIDE, TIMES, TIMES_WIDE, TRIANGLE, SAYS, BELOW, TILE, FIT, PRODUCTS, FIRST, False,
        )  # fmt: skip
    if to_rows is not None:
        summed(to_rows, rows, found, TIMES, TIMES_WIDE)
    seen, squares, beyond, pulled, norm, low, high = totals
    tl.atomic_add(of_rows + rows * 2, squares, mask=rows < height, sem="relaxed")
    at = sums + program * 8
    tl.store(at, tl.sum(seen))
    tl.store(at + 1, tl.sum(squares))
    tl.store(at + 2, tl.sum(beyond))
    tl.store(at + 3, tl.sum(pulled))
    if FIRST:
        tl.atomic_add(of_rows + rows * 2 + 1, seen, mask=rows < height, sem="relaxed")
        tl.store(at + 4, tl.sum(norm))
        tl.store(at + 5, tl.min(low).to(tl.float64))
        tl.store(at + 6, tl.max(high).to(tl.float64))


@triton.jit
def _look_of(
    matrix, own, theirs, col, terms, found, totals,
    WIDE: tl.constexpr, TIMES: tl.constexpr, TIMES_WIDE: tl.constexpr,
    TRIANGLE: tl.constexpr, SAYS: tl.constexpr, BELOW: tl.constexpr, TILE: tl.constexpr,
    FIT: tl.constexpr, PRODUCTS: tl.constexpr, FIRST: tl.constexpr, EDGE: tl.constexpr,
):  # fmt: skip
    """One tile of it."""
    values, quiet, shape, strides, places = matrix
    rows, mine, my_high, my_low = own
    right, right_high, right_low, to_cols, of_cols = theirs
    seens, lefts, beyonds, pulleds, norms, lows, highs = totals
    cols = col + tl.arange(0, TILE)
    value, seen, weight = entries(values, quiet, rows, cols, shape, strides, places, mine.dtype, TRIANGLE, EDGE)
    x = fitted(mine, right, cols, WIDE, FIT)
    value = (value * tl.full([1, 1], terms[0], value.dtype)).to(x.dtype)
    slope = tl.where(seen, x - value, 0.0)
    square = slope * slope * weight
    once = tl.where(seen, weight, 0.0)
    if SAYS != NOTHING:
        over = x - tl.full([1, 1], terms[1], x.dtype)
        over = tl.where(seen, 0.0, over if BELOW else -over)
        beyond = tl.maximum(over, 0.0, propagate_nan=EVERY)
        beyonds += tl.sum(beyond * beyond * weight, 1).to(tl.float64)
        if SAYS == CENSORED:
            sigma = tl.full([1, 1], terms[2], x.dtype)
            t = over * (-1.0 / sigma)
            _, ratio, _ = tails(t)
            slope = tl.where(seen, slope, (ratio if BELOW else -ratio) * sigma)
            pulled = tl.minimum(t, SURE, propagate_nan=EVERY) * ratio
            pulleds += tl.sum(tl.where(seen, 0.0, pulled) * weight, 1).to(tl.float64)
    seens += tl.sum(once, 1).to(tl.float64)
    lefts += tl.sum(square, 1).to(tl.float64)
    inside = cols < shape[1]
    tl.atomic_add(of_cols + cols * 2, tl.sum(square, 0).to(tl.float64), mask=inside, sem="relaxed")
    if FIRST:
        tl.atomic_add(of_cols + cols * 2 + 1, tl.sum(once, 0).to(tl.float64), mask=inside, sem="relaxed")
        lows = tl.minimum(lows, tl.min(tl.where(seen, value, float("inf")), 1))
        highs = tl.maximum(highs, tl.max(tl.where(seen, value, -float("inf")), 1))
        norms += tl.sum(tl.where(seen, value * value, 0.0) * weight, 1).to(tl.float64)
    if to_cols is not None:
        slope *= weight
        halves, others = (my_high, my_low), (right_high, right_low)
        found = both_ways(found, slope, cols, shape[1], halves, others, to_cols, TIMES, TIMES_WIDE, PRODUCTS)
    return found, (seens, lefts, beyonds, pulleds, norms, lows, highs)
