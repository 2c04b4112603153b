"""What fused passes do to one tile, as parts that Triton puts into each of them.

A tile is in registers from the time it is read. Names in capitals are known when a pass is compiled.
"""

import triton
import triton.language as tl

from unrelu.kernels.device import tails as exact

__all__ = ["CENSORED", "NOTHING", "ONE_SIDED", "entries", "factor", "first_tile", "judged", "product", "summed"]

# What unseen entries say.
NOTHING, ONE_SIDED, CENSORED = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)

DEGREE, DEGREE_DOUBLE = (tl.constexpr(exact.DEGREES[name]) for name in ("float32", "float64"))
SINGLE, DOUBLE = (tl.constexpr(exact.polynomial(exact.DEGREES[name])) for name in ("float32", "float64"))
MIDDLE = tl.constexpr(exact.MIDDLE)
FURTHEST = tl.constexpr(exact.FURTHEST)
LOG_ROOT_TWO_PI = tl.constexpr(exact.LOG_ROOT_TWO_PI)


@triton.jit
def log_of_rest(part):
    """log(1 − part) for part between 0 and ½, as −2 artanh(part/(2 − part)): a series in v² ≤ 1/9.

    Device logarithms near 1 are right to so many digits after the point only.
    """
    v = part / (2.0 - part)
    square = v * v
    TERMS: tl.constexpr = 18 if part.dtype == tl.float64 else 8
    series = tl.full(v.shape, 1.0 / (2 * TERMS + 1), v.dtype)
    for j in tl.static_range(TERMS):
        series = series * square + 1.0 / (2 * (TERMS - j) - 1)
    return -2.0 * v * series


@triton.jit
def tails(t):
    """Log Φ(t), h = φ(t)/Φ(t) and h(h + t), as in tails.py, where the errors stand too."""
    a = tl.minimum(tl.abs(t), FURTHEST)
    near = 1.0 / (a + MIDDLE)
    y = 1.0 - near * (2 * MIDDLE)
    COEFFICIENTS: tl.constexpr = DOUBLE if t.dtype == tl.float64 else SINGLE
    LAST: tl.constexpr = DEGREE_DOUBLE if t.dtype == tl.float64 else DEGREE
    d = tl.full(t.shape, COEFFICIENTS[0], t.dtype)
    for j in tl.static_range(LAST):
        d = d * y + COEFFICIENTS[j + 1]
    d = d * near
    h = a + d  # of −a
    exponent = a * a * -0.5 - LOG_ROOT_TWO_PI
    density = tl.exp(exponent)
    above = density / h  # Φ(−a)
    right = density / (1.0 - above)
    left = t <= 0
    log = tl.where(left, exponent - tl.log(h), log_of_rest(above))
    bend = tl.where(left, h * d, right * (right + t))
    return log, tl.where(left, h, right), tl.minimum(bend, 1.0)


@triton.jit
def factor(start, places, count, RANK: tl.constexpr, WIDTH: tl.constexpr):
    """Rows of a factor, with zeros beyond its rank and beyond its rows."""
    ranks = tl.arange(0, WIDTH)
    there = (places < count)[:, None] & (ranks < RANK)[None, :]
    return tl.load(start + places.to(tl.int64)[:, None] * RANK + ranks[None, :], mask=there, other=0.0)


@triton.jit
def product(one, other, PRECISION: tl.constexpr):
    """A product of two tiles in their own precision."""
    return tl.dot(one, other, input_precision=PRECISION, out_dtype=one.dtype)


@triton.jit
def summed(start, places, count, found, RANK: tl.constexpr, WIDTH: tl.constexpr):
    """Add to rows that others add to as well."""
    ranks = tl.arange(0, WIDTH)
    there = (places < count)[:, None] & (ranks < RANK)[None, :]
    at = start + places.to(tl.int64)[:, None] * RANK + ranks[None, :]
    tl.atomic_add(at, found, mask=there, sem="relaxed")


@triton.jit
def first_tile(row, offset, TRIANGLE: tl.constexpr, TILE: tl.constexpr):
    """The first tile of columns that reaches up to the diagonal; ``offset`` is first_row − first_col."""
    if TRIANGLE:
        return tl.maximum(row + offset, 0) // TILE
    return 0


@triton.jit
def entries(values, quiet, rows, cols, shape, strides, first, dtype: tl.constexpr, TRIANGLE: tl.constexpr):
    """Values of a tile, which of them were seen, and how often each counts."""
    inside = (rows < shape[0])[:, None] & (cols < shape[1])[None, :]
    at = rows.to(tl.int64)[:, None] * strides[0] + cols.to(tl.int64)[None, :] * strides[1]
    value = tl.load(values + at, mask=inside, other=float("nan"))
    seen = value == value
    here, there = (rows + first[0])[:, None], (cols + first[1])[None, :]
    weight = tl.where(inside, 1.0, 0.0).to(dtype)
    if TRIANGLE:
        weight *= tl.where(here < there, 2.0, tl.where(here == there, 1.0, 0.0)).to(dtype)
    if quiet is not None:
        silent = tl.load(quiet + (rows + first[0]), mask=rows < shape[0], other=0) != 0
        weight = tl.where(silent[:, None] & (here == there) & (seen == 0), 0.0, weight)
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
        gap = tl.maximum(gap, 0.0) if BELOW else tl.minimum(gap, 0.0)
        slope = tl.where(seen, slope, gap)
        bend = tl.where(seen | (gap != 0), 1.0, 0.0).to(x.dtype)
        square = slope * slope
    if SAYS == CENSORED:
        sigma = tl.full([1, 1], terms[2], x.dtype)
        gap = tl.full([1, 1], terms[1], x.dtype) - x
        t = (gap if BELOW else -gap) / sigma
        t = tl.where(seen, 0.0, t)
        log, ratio, curve = tails(t)
        slope = tl.where(seen, slope, (ratio if BELOW else -ratio) * sigma)
        bend = tl.where(seen, 1.0, curve)
        log = tl.where(seen, 0.0, -log)
        once = t * ratio
        twice = t * t * curve
    return slope, bend, square, log, once, twice
