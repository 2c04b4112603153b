"""Kinds of matrices with a known completion: each a small function from random numbers to an instance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soak.instance import EXACT, NOISY, Draw, Instance
from soak.patterns import see

__all__ = ["KINDS"]

Floats = NDArray[np.float64]

KINDS: dict[str, Draw] = {}


def kind(draw: Draw) -> Draw:
    """List a kind under its name."""
    KINDS[draw.__name__.replace("_", "-")] = draw
    return draw


def size(rng: np.random.Generator, low: int = 2, high: int = 60) -> int:
    """Small ones more often: they fail more often, and are tried faster."""
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))


def rank(rng: np.random.Generator, n: int, high: int = 6) -> int:
    """Between 1 and 6, low ones more often, and seldom near n."""
    return int(min(1 + rng.geometric(0.4), high, max(1, n // 2))) if rng.random() < 0.85 else int(rng.integers(1, 3))


def normal(rng: np.random.Generator, low: int = 4, high: int = 60) -> Floats:
    """Rows in general position."""
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


def some_family(rng: np.random.Generator, low: int = 2, high: int = 60) -> tuple[str, Floats]:
    """A factor of any family that is not zero throughout."""
    while True:
        name, n = str(rng.choice(list(FAMILIES))), size(rng, low, high)
        U = FAMILIES[name](rng, n, rank(rng, n))
        if U.any():
            return name, U


def observed(rng: np.random.Generator, U: Floats, names: tuple[str, ...] = (), **about: Any) -> Instance:
    """Part of UUᵀ without noise; every third is also permuted, another third also scaled."""
    truth = U @ U.T
    truth = (truth + truth.T) / 2
    pattern, seen, absence = see(rng, truth, names)
    data = np.where(seen, truth, np.nan)
    return finished(rng, EXACT, data, truth, seen, absence, U, pattern=pattern, **about)


def finished(
    rng: np.random.Generator,
    group: str,
    data: Any,
    truth: Floats,
    seen: NDArray[np.bool_],
    absence: dict[str, Any],
    U: Floats,
    *,
    noise: float = 0.0,
    consistent: bool = True,
    **about: Any,
) -> Instance:
    """The instance, with what it is compared with."""
    n, r = U.shape
    companion = str(rng.choice(["", "permuted", "scaled"]))
    about = {
        "n": n,
        "rank": r,
        "threshold": absence["threshold"] if np.ndim(absence["threshold"]) == 0 else "its own",
        "side": absence["seen"],
        "seen": round(float(seen.mean()), 3),
        **about,
    }
    options = {"rank": r, **absence}
    return Instance(group, data, truth, seen, options, U, noise, consistent, about, companion, unit_for(rng, truth))


def unit_for(rng: np.random.Generator, truth: Floats) -> float:
    """A factor that does not overflow: powers of four, which change no digit, far ones more seldom; and odd numbers."""
    pick = rng.random()
    if pick < 0.3:
        return float(rng.choice([3.7, 0.3, 7.0, 1 / 3, 1e3 / 7]))
    far = 498 if pick > 0.7 else 33
    room = 498 - int(abs(np.log2(np.abs(truth).max() or 1.0)) / 2)
    return 4.0 ** int(np.clip(rng.integers(-far, far + 1), -room, room))


def changes_digits(unit: float) -> bool:
    """Whether multiplying by it, or by its root, rounds: then the data are others in their last digit."""
    mantissa, power = np.frexp(unit)
    return bool(mantissa != 0.5 or (power - 1) % 2)


@kind
def families(rng: np.random.Generator) -> Instance:
    """Rows in general position, of many shapes of distribution, seen in any way."""
    name, U = some_family(rng)
    return observed(rng, U, family=name)


@kind
def small(rng: np.random.Generator) -> Instance:
    """Two to eight rows, any rank up to the size."""
    n = int(rng.integers(2, 9))
    return observed(rng, rng.standard_normal((n, int(rng.integers(1, min(n, 4) + 1)))))


@kind
def large(rng: np.random.Generator) -> Instance:
    """Thirty to sixty rows."""
    name, U = some_family(rng, 30, 60)
    return observed(rng, U, family=name)


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
    return observed(rng, rows + apart * rng.standard_normal(rows.shape), apart=apart)


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
            return observed(rng, U, high=high)


@kind
def clustered_rows(rng: np.random.Generator) -> Instance:
    """Tight clusters."""
    few, spread = normal(rng, 3, 8), 10.0 ** -rng.uniform(0.5, 3)
    rows = few[rng.integers(0, len(few), size(rng, 8, 40))]
    return observed(rng, rows + spread * rng.standard_normal(rows.shape), spread=spread)


@kind
def nearly_dependent(rng: np.random.Generator) -> Instance:
    """All or some rows lie nearly in fewer dimensions than the rank."""
    U, thin = normal(rng, 6, 40), 10.0 ** -rng.uniform(1, 6)
    flat = rng.random(len(U)) < rng.choice([0.5, 0.8, 1.0])
    U[flat, -1] *= thin
    turn, _ = np.linalg.qr(rng.standard_normal((U.shape[1],) * 2))
    return observed(rng, U @ turn, thin=thin)


@kind
def on_a_grid(rng: np.random.Generator) -> Instance:
    """Rows on a circle or sphere at equal angles, and other regular ones."""
    n = size(rng, 4, 30)
    angles = 2 * np.pi * rng.integers(0, int(rng.choice([3, 4, 5, 6, 8, 12, n])), n) / n
    U = np.column_stack([np.cos(angles), np.sin(angles)])
    return observed(rng, np.column_stack([U, np.ones(n)]) if rng.random() < 0.5 else U)


@kind
def one_way(rng: np.random.Generator) -> Instance:
    """Entries seen one way round."""
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
    found = observed(rng, np.round(2 * U) if form == "whole" and np.round(2 * U).any() else U)
    values, options = found.values(), dict(found.options)
    if form == "float32":
        data: Any = values.astype(np.float32)
        if options["threshold"] is not None:  # rounding must not bring a seen entry to the other side
            inner, edge = (min, data[found.seen].min()) if options["seen"] == "above" else (max, data[found.seen].max())
            options["threshold"] = float(inner(edge, options["threshold"]))
    elif form == "sparse":
        rows, cols = np.nonzero(found.seen)
        data = sp.csr_array((values[rows, cols], (rows, cols)), shape=values.shape)
    else:
        data = np.ma.masked_array(np.where(found.seen, values, 0.0), ~found.seen)
        data = data.astype(np.int64) if form == "whole" and (data == np.round(data)).all() else data
    companion = "permuted" if found.companion == "permuted" else ""
    return replace(found, data=data, options=options, about={**found.about, "form": form}, companion=companion)


@kind
def contradictory(rng: np.random.Generator) -> Instance:
    """Entries hidden at random, and a threshold that says they were hidden because of their values."""
    U = normal(rng, 6, 40)
    truth = U @ U.T
    hidden = rng.random(truth.shape) < rng.uniform(0.05, 0.4)
    if rng.random() < 0.5:
        hidden = np.triu(hidden, 1) | np.triu(hidden, 1).T
    seen = (truth >= 0) & ~hidden
    if not (seen.any() and np.triu(seen, 1).any() == np.tril(seen, -1).any()):
        return contradictory(rng)
    absence = {"threshold": 0.0, "seen": "above", "unknown": None}
    return finished(
        rng, EXACT, np.where(seen, truth, np.nan), truth, seen, absence, U, consistent=False, pattern="contradictory"
    )


def noisy(rng: np.random.Generator, U: Floats, noise: float, names: tuple[str, ...], **about: Any) -> Instance:
    """Noise first, then what is beyond the threshold is seen."""
    truth = U @ U.T
    truth = (truth + truth.T) / 2
    draw = noise * float(np.sqrt(np.mean(truth**2))) * rng.standard_normal(truth.shape)
    symmetric = bool(rng.random() < 0.7)
    if symmetric:
        draw = np.triu(draw) + np.triu(draw, 1).T
    measured = truth + draw
    while True:
        pattern, seen, absence = see(rng, measured, names)
        if seen.sum() > 1:
            break
    return finished(
        rng, NOISY, np.where(seen, measured, np.nan), truth, seen, absence, U,
        noise=noise, pattern=pattern, share=round(noise, 5), symmetric=symmetric, **about,
    )  # fmt: skip


ORDINARY = ("at-zero", "at-quantile", "hidden", "unknown-pairs", "unknown-one-way")


@kind
def noise_small(rng: np.random.Generator) -> Instance:
    """Noise of 0.1 to 1 %."""
    name, U = some_family(rng, 5)
    return noisy(rng, U, 10.0 ** -rng.uniform(2, 3), ORDINARY, family=name)


@kind
def noise_medium(rng: np.random.Generator) -> Instance:
    """Noise of 1 to 10 %, rows in general position."""
    return noisy(rng, normal(rng, 8), 10.0 ** -rng.uniform(1, 2), ORDINARY)


@kind
def noise_large(rng: np.random.Generator) -> Instance:
    """Noise of 10 to 30 %, rows in general position."""
    return noisy(rng, normal(rng, 12), rng.uniform(0.1, 0.3), ORDINARY)


@kind
def noise_small_matrix(rng: np.random.Generator) -> Instance:
    """Noise of 1 to 10 % on few rows."""
    n = int(rng.integers(4, 12))
    return noisy(rng, rng.standard_normal((n, int(rng.integers(1, 4)))), 10.0 ** -rng.uniform(1, 2), ORDINARY)


@kind
def noise_special_rows(rng: np.random.Generator) -> Instance:
    """Noise on repeated, clustered or zero rows."""
    few = normal(rng, 4, 8)
    rows = few[rng.integers(0, len(few), size(rng, 10, 40))]
    rows = rows + float(rng.choice([0.0, 0.0, 0.1])) * rng.standard_normal(rows.shape)
    if rng.random() < 0.3:
        rows[rng.random(len(rows)) < 0.2] = 0.0
    return noisy(rng, rows, 10.0 ** -rng.uniform(1, 3), ORDINARY)
