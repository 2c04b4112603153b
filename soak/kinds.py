"""Kinds of symmetric matrices with a known completion."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from soak.instance import EXACT, NOISY, Bools, Floats, Instance, kind, mirrored, rms
from soak.patterns import beyond, both_triangles, censoring, see

ORDINARY = ("at-zero", "at-quantile", "hidden", "unknown-pairs", "unknown-one-way")


def size(rng: np.random.Generator, low: int = 2, high: int = 60) -> int:
    """Draw a number of rows, small ones more often."""
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))


def rank(rng: np.random.Generator, n: int, high: int = 6) -> int:
    """Draw a rank between 1 and 6, low ones more often, and seldom near n."""
    return int(min(1 + rng.geometric(0.4), high, max(1, n // 2))) if rng.random() < 0.85 else int(rng.integers(1, 3))


def normal(rng: np.random.Generator, low: int = 4, high: int = 60) -> Floats:
    """Draw a factor with rows in general position."""
    n = size(rng, low, high)
    return rng.standard_normal((n, rank(rng, n)))


FAMILIES = {
    "gaussian": lambda rng, n, r: rng.standard_normal((n, r)),
    "condition-10": lambda rng, n, r: rng.standard_normal((n, r)) * np.geomspace(1, 0.1, r),
    "condition-100": lambda rng, n, r: rng.standard_normal((n, r)) * np.geomspace(1, 0.01, r),
    "sparse": lambda rng, n, r: rng.standard_normal((n, r)) * (rng.random((n, r)) < 0.3),
    "uniform": lambda rng, n, r: rng.uniform(-0.3, 0.7, (n, r)),
    "student-t": lambda rng, n, r: rng.standard_t(3, (n, r)),
    "cauchy": lambda rng, n, r: rng.standard_cauchy((n, r)),
    "log-normal": lambda rng, n, r: rng.standard_normal((n, r)) * rng.lognormal(size=(n, 1)),
    "shifted": lambda rng, n, r: rng.standard_normal((n, r)) + 0.5,
    "positive": lambda rng, n, r: np.abs(rng.standard_normal((n, r))),
}


def some_family(rng: np.random.Generator, low: int = 2, high: int = 60) -> Floats:
    """Draw a nonzero factor of any family."""
    while True:
        family, n = FAMILIES[str(rng.choice(list(FAMILIES)))], size(rng, low, high)
        U = family(rng, n, rank(rng, n))
        if U.any():
            return U


def observed(rng: np.random.Generator, U: Floats, names: tuple[str, ...] = ()) -> Instance:
    """Return part of UUᵀ, without noise."""
    truth = product(U)
    return finished(rng, truth, truth, *see(rng, truth, names), U)


def product(U: Floats, signs: Any = 1.0) -> Floats:
    """Return U D Uᵀ, exactly symmetric."""
    M = (U * signs) @ U.T
    return (M + M.T) / 2


def finished(
    rng: np.random.Generator, measured: Floats, truth: Floats, seen: Bools, options: dict[str, Any], U: Floats,
    *, noise: float = 0.0, consistent: bool = True,
) -> Instance:  # fmt: skip
    """Return the instance; a third are also permuted, another third also scaled."""
    companion = str(rng.choice(["", "permuted", "scaled"]))
    group, data, options = NOISY if noise else EXACT, np.where(seen, measured, np.nan), {"rank": U.shape[1]} | options
    return Instance(group, data, truth, seen, options, U, noise, consistent, companion, unit_for(rng, truth))


def unit_for(rng: np.random.Generator, truth: Floats) -> float:
    """Draw a factor that does not overflow: mostly powers of four, which change no digit."""
    pick = rng.random()
    if pick < 0.3:
        return float(rng.choice([3.7, 0.3, 7.0, 1 / 3, 1e3 / 7]))
    far = 498 if pick > 0.7 else 33
    most = 498 - int(abs(np.log2(np.abs(truth).max() or 1.0)) / 2)
    return 4.0 ** int(np.clip(rng.integers(-far, far + 1), -most, most))


@kind
def families(rng: np.random.Generator) -> Instance:
    """Rows in general position, of many distributions, with any pattern."""
    return observed(rng, some_family(rng))


@kind
def small(rng: np.random.Generator) -> Instance:
    """Two to eight rows, any rank up to the size."""
    n = int(rng.integers(2, 9))
    return observed(rng, rng.standard_normal((n, int(rng.integers(1, min(n, 4) + 1)))))


@kind
def large(rng: np.random.Generator) -> Instance:
    """Thirty to sixty rows."""
    return observed(rng, some_family(rng, 30, 60))


@kind
def repeated_rows(rng: np.random.Generator) -> Instance:
    """A few different rows, each several times."""
    few = normal(rng, 3, 10)
    return observed(rng, few[rng.integers(0, len(few), size(rng, 6, 30))])


@kind
def nearly_repeated_rows(rng: np.random.Generator) -> Instance:
    """A few different rows, each several times and a little off."""
    few, apart = normal(rng, 3, 10), 10.0 ** -rng.uniform(1, 9)
    rows = few[rng.integers(0, len(few), size(rng, 6, 30))]
    return observed(rng, rows + apart * rng.standard_normal(rows.shape))


@kind
def opposite_rows(rng: np.random.Generator) -> Instance:
    """Rows that are multiples of each other, with either sign."""
    few = normal(rng, 3, 10)
    rows = few[rng.integers(0, len(few), size(rng, 6, 30))]
    return observed(rng, rows * rng.choice([-2.0, -1.0, 1.0, 2.0], (len(rows), 1)))


@kind
def zero_rows(rng: np.random.Generator) -> Instance:
    """Some rows are zero."""
    U = normal(rng, 5, 30)
    U[rng.permutation(len(U))[: int(rng.integers(1, len(U) // 2 + 1))]] = 0.0
    return observed(rng, U)


@kind
def integer_rows(rng: np.random.Generator) -> Instance:
    """Small whole numbers: many ties, many zeros, many dependent rows."""
    high = int(rng.integers(1, 4))
    while True:
        n = size(rng, 4, 30)
        U = rng.integers(-high, high + 1, (n, rank(rng, n, 4))).astype(float)
        if U.any():
            return observed(rng, U)


@kind
def clustered_rows(rng: np.random.Generator) -> Instance:
    """Tight clusters."""
    few, spread = normal(rng, 3, 8), 10.0 ** -rng.uniform(0.5, 3)
    rows = few[rng.integers(0, len(few), size(rng, 8, 40))]
    return observed(rng, rows + spread * rng.standard_normal(rows.shape))


@kind
def nearly_dependent(rng: np.random.Generator) -> Instance:
    """All or some rows lie nearly in fewer dimensions than the rank."""
    U, thin = normal(rng, 6, 40), 10.0 ** -rng.uniform(1, 6)
    flat = rng.random(len(U)) < rng.choice([0.5, 0.8, 1.0])
    U[flat, -1] *= thin
    turn, _ = np.linalg.qr(rng.standard_normal((U.shape[1],) * 2))
    return observed(rng, U @ turn)


@kind
def on_a_grid(rng: np.random.Generator) -> Instance:
    """Rows on a circle or sphere at equal angles, and other regular ones."""
    n = size(rng, 4, 30)
    angles = 2 * np.pi * rng.integers(0, int(rng.choice([3, 4, 5, 6, 8, 12, n])), n) / n
    U = np.column_stack([np.cos(angles), np.sin(angles)])
    return observed(rng, np.column_stack([U, np.ones(n)]) if rng.random() < 0.5 else U)


@kind
def one_way(rng: np.random.Generator) -> Instance:
    """Entries observed one way round."""
    return observed(rng, normal(rng, 4, 30), ("hidden-one-way", "unknown-one-way", "one-triangle"))


@kind
def pieces(rng: np.random.Generator) -> Instance:
    """Groups of rows that never meet."""
    return observed(rng, normal(rng, 6, 40), ("in-pieces",))


@kind
def forms(rng: np.random.Generator) -> Instance:
    """float32, sparse and masked arrays, and masked whole numbers."""
    form = str(rng.choice(["float32", "sparse", "masked", "whole"]))
    U = normal(rng, 4, 40)
    instance = observed(rng, np.round(2 * U) if form == "whole" and np.round(2 * U).any() else U)
    values, options = instance.values(), dict(instance.options)
    if form == "float32":
        data: Any = values.astype(np.float32)
        if options["threshold"] is not None:  # rounding must not bring a seen entry to the other side
            inner = min if options["seen"] == "above" else max
            options["threshold"] = float(inner(inner(data[instance.seen]), options["threshold"]))
    elif form == "sparse":
        rows, cols = np.nonzero(instance.seen)
        data = sp.csr_array((values[rows, cols], (rows, cols)), shape=values.shape)
    else:
        data = np.ma.masked_array(np.where(instance.seen, values, 0.0), ~instance.seen)
        data = data.astype(np.int64) if form == "whole" and (data == np.round(data)).all() else data
    companion = "permuted" if instance.companion == "permuted" else ""
    return replace(instance, data=data, options=options, companion=companion)


@kind
def contradictory(rng: np.random.Generator) -> Instance:
    """Entries hidden at random, with a threshold that claims they are missing because of their values."""
    U = normal(rng, 6, 40)
    truth = U @ U.T
    hidden = rng.random(truth.shape) < rng.uniform(0.05, 0.4)
    seen = (truth >= 0) & ~(np.triu(hidden, 1) | np.triu(hidden, 1).T if rng.random() < 0.5 else hidden)
    if not (seen.any() and both_triangles(seen)):
        return contradictory(rng)
    return finished(rng, truth, truth, seen, censoring(0.0), U, consistent=False)


def with_noise(rng: np.random.Generator, truth: Floats, noise: float) -> Floats:
    """Return the truth plus symmetric normal noise, whose standard deviation is a share of the rms of the truth."""
    return truth + mirrored(noise * rms(truth) * rng.standard_normal(truth.shape))


def noisy(rng: np.random.Generator, U: Floats, noise: float, names: tuple[str, ...] = ORDINARY) -> Instance:
    """Return part of UUᵀ with noise; the pattern depends on the noisy values."""
    truth = product(U)
    errors = noise * rms(truth) * rng.standard_normal(truth.shape)
    measured = truth + (mirrored(errors) if rng.random() < 0.7 else errors)
    seen = np.zeros(truth.shape, bool)
    while seen.sum() <= 1:
        seen, options = see(rng, measured, names)
    return finished(rng, measured, truth, seen, options, U, noise=noise)


@kind
def noise_small(rng: np.random.Generator) -> Instance:
    """Noise of 0.1 to 1 %."""
    return noisy(rng, some_family(rng, 5), 10.0 ** -rng.uniform(2, 3))


@kind
def noise_medium(rng: np.random.Generator) -> Instance:
    """Noise of 1 to 10 %, rows in general position."""
    return noisy(rng, normal(rng, 8), 10.0 ** -rng.uniform(1, 2))


@kind
def noise_large(rng: np.random.Generator) -> Instance:
    """Noise of 10 to 30 %, rows in general position."""
    return noisy(rng, normal(rng, 12), rng.uniform(0.1, 0.3))


@kind
def noise_small_matrix(rng: np.random.Generator) -> Instance:
    """Noise of 1 to 10 % on few rows."""
    n = int(rng.integers(4, 12))
    return noisy(rng, rng.standard_normal((n, int(rng.integers(1, 4)))), 10.0 ** -rng.uniform(1, 2))


@kind
def noise_special_rows(rng: np.random.Generator) -> Instance:
    """Noise on repeated, clustered or zero rows."""
    few = normal(rng, 4, 8)
    rows = few[rng.integers(0, len(few), size(rng, 10, 40))]
    rows = rows + float(rng.choice([0.0, 0.0, 0.1])) * rng.standard_normal(rows.shape)
    if rng.random() < 0.3:
        rows[rng.random(len(rows)) < 0.2] = 0.0
    return noisy(rng, rows, 10.0 ** -rng.uniform(1, 3))


def varied_thresholds(way: str, M: Floats, levels: Floats) -> Floats:
    """Return quantiles at these levels of the rows, of the columns or of all entries, one for each entry."""
    if way == "rows":
        return np.array([np.full(len(row), np.quantile(row, level[0])) for row, level in zip(M, levels, strict=True)])
    if way == "columns":
        return varied_thresholds("rows", M.T, levels.T).T
    return np.quantile(M, levels)


def _censored(rng: np.random.Generator, U: Floats, noise: float) -> Instance:
    truth = product(U)
    while True:
        measured = with_noise(rng, truth, noise)
        way = str(rng.choice(["rows", "columns", "entries", "pairs"]))
        levels = rng.uniform(0.2, 0.8, truth.shape)
        thresholds = varied_thresholds(way, measured, levels.T if way == "rows" else levels)
        thresholds = mirrored(thresholds) if way == "pairs" else thresholds
        side = "below" if rng.random() < 0.3 else "above"
        seen = beyond(measured, thresholds, side)
        if seen.any() and both_triangles(seen):
            break
    return finished(rng, measured, truth, seen, censoring(thresholds, side), U, noise=noise)


@kind
def limits(rng: np.random.Generator) -> Instance:
    """Any family, without noise."""
    return _censored(rng, some_family(rng, 3, 40), 0.0)


@kind
def limits_noisy(rng: np.random.Generator) -> Instance:
    """Rows in general position, with noise."""
    return _censored(rng, normal(rng, 12, 60), float(rng.choice([0.003, 0.03, 0.1, 0.3])))


def _partly_observed(rng: np.random.Generator, U: Floats, noise: float) -> Instance:
    """Observe what is beyond a threshold, or pairs at random."""
    n, r = U.shape
    signs = np.where(rng.random(r) < 0.5, -1.0, 1.0)
    truth = product(U, signs)
    measured = with_noise(rng, truth, noise)
    way = str(rng.choice(["sign", "quantile", "below", "random"]))
    threshold: float | None = 0.0 if way == "sign" else float(np.quantile(measured, rng.uniform(0.2, 0.7)))
    side = "below" if way == "below" else "above"
    seen = beyond(measured, threshold, side)
    unknown = None
    if way == "random":
        threshold = None
        upper = np.triu(rng.random((n, n)) < rng.uniform(0.4, 0.9))
        seen = upper | upper.T
    elif rng.random() < 0.3:
        unknown = rng.random((n, n)) < 0.1
        seen = seen & ~unknown
    if not seen.any():
        return _partly_observed(rng, U, noise)
    options = censoring(threshold, side, unknown) | {"structure": "indefinite"}
    return replace(finished(rng, measured, truth, seen, options, U, noise=noise), signs=signs)


@kind
def indefinite(rng: np.random.Generator) -> Instance:
    """Any family, without noise."""
    return _partly_observed(rng, some_family(rng, 3, 40), 0.0)


@kind
def indefinite_noisy(rng: np.random.Generator) -> Instance:
    """Rows in general position, with noise."""
    return _partly_observed(rng, normal(rng, 12, 60), float(rng.choice([0.003, 0.03, 0.1, 0.3])))
