"""What fused passes do to one tile, as parts that Triton puts into each of them.

A tile is in registers from the time it is read. Most tiles lie inside of a region and above the diagonal: there no
entry has to be asked where it lies. Names in capitals are known when a pass is compiled.
"""

import os

import triton
import triton.language as tl

from unrelu._old.kernels.device import operands
from unrelu._old.kernels.device import tails as exact

__all__ = [
    "CENSORED",
    "EVERY",
    "NOTHING",
    "ONE_SIDED",
    "SURE",
    "UNSPECIAL",
    "both_ways",
    "entries",
    "factor",
    "fitted",
    "judged",
    "laid_out",
    "summed",
    "tile_number",
    "turned",
]

# Arguments whose value is no reason to compile a pass anew, as Triton does for 1 and for multiples of 16.
UNSPECIAL = ("height", "width", "first_row", "first_col")
# What unseen entries say.
NOTHING, ONE_SIDED, CENSORED = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)
# How slopes are multiplied with factors: by their first eleven bits, by all in three products, or as they are.
SHORT, IN_THREE = tl.constexpr(1), tl.constexpr(3)
ROWS = tl.constexpr(operands.ROWS)
# Instructions of the hardware are unknown to the interpreter.
INTERPRETED = tl.constexpr(os.environ.get("TRITON_INTERPRET", "0") == "1")
# Of the bits of a single-precision number, those that matrix units read.
ELEVEN_BITS = tl.constexpr(-8192)

DEGREE, DEGREE_DOUBLE = (tl.constexpr(exact.DEGREES[name]) for name in ("float32", "float64"))
SINGLE, DOUBLE = (tl.constexpr(exact.polynomial(exact.DEGREES[name])) for name in ("float32", "float64"))
LAST_OF_LOG, LAST_OF_LOG_DOUBLE = (tl.constexpr(exact.LOG_DEGREES[name]) for name in ("float32", "float64"))
LOG_SINGLE, LOG_DOUBLE = (
    tl.constexpr(exact.log_polynomial(exact.LOG_DEGREES[name])) for name in ("float32", "float64")
)
MIDDLE = tl.constexpr(exact.MIDDLE)
FURTHEST, LARGEST, SURE = (
    tl.constexpr(number) for number in (exact.FURTHEST["float32"], exact.LARGEST["float32"], exact.SURE)
)
# A fit that is NaN shows in every sum.
EVERY = tl.constexpr(tl.PropagateNan.ALL)
LOG_TWO = tl.constexpr(0.6931471805599453)
LOG_ROOT_TWO_PI = tl.constexpr(exact.LOG_ROOT_TWO_PI)


@triton.jit
def inverse(x):
    """1/x for x > 0: a root and a product take a third of the time of a division, and lose two bits."""
    if x.dtype == tl.float64:
        return 1.0 / x
    root = tl.rsqrt(x)
    return root * root


@triton.jit
def logarithm(x):
    """Log x, right to 2e-7 of 1 or of itself: what the hardware has, without what makes it better near 1."""
    if INTERPRETED or x.dtype == tl.float64:
        return tl.log(x)
    else:  # noqa: RET505  (Triton looks at both branches where one is not excluded)
        two = tl.inline_asm_elementwise(
            "lg2.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )  # fmt: skip
        return two * LOG_TWO


@triton.jit
def tails(t):
    """−log Φ(t), h = φ(t)/Φ(t) and h(h + t), as in tails.py; relative errors of no more than 1e-5, NaN of NaN."""
    a = tl.minimum(tl.abs(t), LARGEST, propagate_nan=EVERY)
    near = inverse(a + MIDDLE)
    y = 1.0 - near * (2 * MIDDLE)
    COEFFICIENTS: tl.constexpr = DOUBLE if t.dtype == tl.float64 else SINGLE
    LAST: tl.constexpr = DEGREE_DOUBLE if t.dtype == tl.float64 else DEGREE
    d = tl.full(t.shape, COEFFICIENTS[0], t.dtype)
    for j in tl.static_range(LAST):
        d = d * y + COEFFICIENTS[j + 1]
    d = d * near
    h = a + d  # of −a
    within = tl.minimum(a, FURTHEST, propagate_nan=EVERY)
    exponent = within * within * 0.5 + LOG_ROOT_TWO_PI
    density = tl.exp2(exponent * (-1.0 / LOG_TWO))
    over = density * inverse(h - density)  # Φ(−a)/Φ(a)
    LOGS: tl.constexpr = LOG_DOUBLE if t.dtype == tl.float64 else LOG_SINGLE
    LAST_LOG: tl.constexpr = LAST_OF_LOG_DOUBLE if t.dtype == tl.float64 else LAST_OF_LOG
    log = tl.full(t.shape, LOGS[0], t.dtype)
    for j in tl.static_range(LAST_LOG):
        log = log * over + LOGS[j + 1]
    left = t <= 0
    log = tl.where(left, exponent + logarithm(h), log * over)
    ratio = tl.where(left, h, h * over)
    bend = tl.where(left, h * d, ratio * (ratio + a))
    return log, ratio, tl.minimum(bend, 1.0, propagate_nan=EVERY)


@triton.jit
def factor(start, places, WIDTH: tl.constexpr):
    """Rows of a factor; there are zeros after the last."""
    return tl.load(start + places.to(tl.int64)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :])


@triton.jit
def turned(start, places, length, WIDTH: tl.constexpr):
    """The same of a factor that lies on its side, as matrix units want what they multiply from the right."""
    stride = tl.cdiv(length, ROWS) * ROWS
    return tl.trans(tl.load(start + tl.arange(0, WIDTH).to(tl.int64)[:, None] * stride + places[None, :]))


@triton.jit
def fitted(mine, right, cols, WIDTH: tl.constexpr, HOW: tl.constexpr):
    """A product of some rows of two factors."""
    return tl.dot(mine, tl.trans(factor(right, cols, WIDTH)), input_precision=HOW, out_dtype=mine.dtype)


@triton.jit
def gathered(found, z, high, low, HOW: tl.constexpr):
    """Add a tile times a factor, of which there is what matrix units read, and the rest."""
    if HOW == IN_THREE:
        first = (z.to(tl.int32, bitcast=True) & ELEVEN_BITS).to(tl.float32, bitcast=True)
        rest = z - first
        found = tl.dot(rest, high, found, input_precision="tf32", out_dtype=z.dtype)
        found = tl.dot(first, low, found, input_precision="tf32", out_dtype=z.dtype)
        return tl.dot(first, high, found, input_precision="tf32", out_dtype=z.dtype)
    if HOW == SHORT:
        return tl.dot(z, high, found, input_precision="tf32", out_dtype=z.dtype)
    return tl.dot(z, high, found, input_precision="ieee", out_dtype=z.dtype)


@triton.jit
def summed(start, places, found, RANK: tl.constexpr, WIDTH: tl.constexpr):
    """Add to rows that others add to as well; there is room after the last."""
    ranks = tl.arange(0, WIDTH)
    at = start + places.to(tl.int64)[:, None] * WIDTH + ranks[None, :]
    tl.atomic_add(at, found, mask=(ranks < RANK)[None, :], sem="relaxed")


@triton.jit
def both_ways(found, z, cols, width, mine, theirs, to_cols, RANK: tl.constexpr, WIDTH: tl.constexpr, HOW: tl.constexpr):
    """Add a tile times the factor of its columns to what is found of its rows, and the other way to the columns."""
    my_high, my_low = mine
    right_high, right_low = theirs
    high = turned(right_high, cols, width, WIDTH)
    low = high
    if right_low is not None:
        low = turned(right_low, cols, width, WIDTH)
    found = gathered(found, z, high, low, HOW)  # first, so that what it reads is let go
    mirrored = gathered(tl.zeros_like(found), tl.trans(z), my_high, my_low, HOW)
    summed(to_cols, cols, mirrored, RANK, WIDTH)
    return found


@triton.jit
def laid_out(row, offset, shape, TRIANGLE: tl.constexpr, INSIDE: tl.constexpr, TILE: tl.constexpr):
    """Tiles of columns beside a block of rows: the first, from where to where they are inside, and how many there are.

    ``offset`` is first_row − first_col. Without ``INSIDE`` none are: entries of the diagonal may be anywhere.
    """
    height, width = shape
    count = tl.cdiv(width, TILE)
    first = 0
    inner = 0
    if TRIANGLE:
        first = tl.minimum(tl.maximum(row + offset, 0) // TILE, count)
        inner = tl.minimum(tl.maximum(tl.cdiv(tl.maximum(row + TILE + offset, 0), TILE), first), count)
    last = tl.maximum(width // TILE, inner)
    whole = row + TILE <= height
    last = tl.where(whole, last, inner) if INSIDE else inner
    return first, inner, last, count


@triton.jit
def tile_number(k, first, inner, last):
    """Of the k-th of the tiles that are not inside."""
    return tl.where(k < inner - first, first + k, last + k - (inner - first))


@triton.jit
def entries(values, quiet, rows, cols, shape, strides, places, dtype, TRIANGLE: tl.constexpr, EDGE: tl.constexpr):
    """Values of a tile, which of them were seen, and how often each counts: half on the diagonal of a triangle.

    What is found above a diagonal is doubled when all is done.
    """
    at = rows.to(tl.int64)[:, None] * strides[0] + cols.to(tl.int64)[None, :] * strides[1]
    if EDGE:
        inside = (rows < shape[0])[:, None] & (cols < shape[1])[None, :]
        value = tl.load(values + at, mask=inside, other=float("nan"))
        seen = value == value
        here, there = (rows + places[0])[:, None], (cols + places[1])[None, :]
        weight = tl.where(inside, 1.0, 0.0).to(dtype)
        if TRIANGLE:
            weight *= tl.where(here < there, 1.0, tl.where(here == there, 0.5, 0.0)).to(dtype)
        if quiet is not None:
            silent = tl.load(quiet + (rows + places[0]), mask=rows < shape[0], other=0) != 0
            weight = tl.where(silent[:, None] & (here == there) & (seen == 0), 0.0, weight)
    else:
        value = tl.load(values + at)
        seen = value == value
        weight = tl.full([1, 1], 1.0, dtype)
    return value, seen, weight


@triton.jit
def judged(x, value, seen, terms, SAYS: tl.constexpr, BELOW: tl.constexpr):
    """Slope, curvature, and the four costs and sums of each entry: z², −log Φ, t h, t²h(h + t).

    ``terms`` are inverse, threshold and sigma.
    """
    value = (value * tl.full([1, 1], terms[0], value.dtype)).to(x.dtype)
    slope = tl.where(seen, x - value, 0.0)
    bend = tl.where(seen, 1.0, 0.0).to(x.dtype)
    square = slope * slope
    log, once, twice = square, square, square
    if SAYS == ONE_SIDED:
        gap = x - tl.full([1, 1], terms[1], x.dtype)
        gap = tl.maximum(gap, 0.0, propagate_nan=EVERY) if BELOW else tl.minimum(gap, 0.0, propagate_nan=EVERY)
        slope = tl.where(seen, x - value, gap)
        bend = tl.where(seen | (gap != 0), 1.0, 0.0).to(x.dtype)
        square = slope * slope
    if SAYS == CENSORED:
        sigma = tl.full([1, 1], terms[2], x.dtype)
        gap = tl.full([1, 1], terms[1], x.dtype) - x
        t = (gap if BELOW else -gap) * (1.0 / sigma)
        t = tl.where(seen, 0.0, t)
        log, ratio, curve = tails(t)
        slope = tl.where(seen, slope, (ratio if BELOW else -ratio) * sigma)
        bend = tl.where(seen, 1.0, curve)
        log = tl.where(seen, 0.0, log)
        t = tl.minimum(t, SURE, propagate_nan=EVERY)  # beyond it h is 0, and the square of t may be infinite
        once = t * ratio
        twice = t * t * curve
    return slope, bend, square, log, once, twice
