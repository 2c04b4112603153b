"""Kinds of tables, each as part of the symmetric matrix [[·, M], [Mᵀ, ·]], of which nothing else exists."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from soak.instance import TABLES, Floats, Instance, kind, rms
from soak.kinds import FAMILIES, size, varied_thresholds
from soak.patterns import censoring


@dataclass(frozen=True, eq=False)
class TableInstance(Instance):
    """``data`` is the table, of ``cut`` rows; truth and pattern are those of the symmetric matrix."""

    cut: int = 0

    def values(self) -> Floats:
        """Return the symmetric matrix of the data, NaN where missing."""
        return symmetric(np.asarray(self.data, float), np.nan)

    @property
    def exists(self) -> Any:
        """The entries of the table and of its transpose."""
        row = np.arange(self.size) < self.cut
        return row[:, None] != row

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of the public function."""
        own = slice(self.cut), slice(self.cut, None)
        options = {key: self.options[key] for key in ("rank", "threshold", "seen")}
        if np.ndim(options["threshold"]):
            options["threshold"] = options["threshold"][own]
        unknown = self.options["unknown"][own]
        return options | ({"unknown": unknown} if unknown.any() else {})


def symmetric(table: Any, elsewhere: Any) -> Any:
    """Return the symmetric matrix that contains a table, filled elsewhere with a constant."""
    table = np.asarray(table)
    m, n = table.shape
    matrix = np.full((m + n, m + n), elsewhere, dtype=table.dtype)
    matrix[:m, m:], matrix[m:, :m] = table, table.T
    return matrix


def table(rng: np.random.Generator, L: Floats, R: Floats, noise: float) -> Instance:
    """Observe what is beyond a threshold, or entries at random; some missing for another reason."""
    M = L @ R.T
    measured = M + noise * rms(M) * rng.standard_normal(M.shape)
    way = str(rng.choice(["sign", "quantile", "below", "random"]))
    tau: float | None = 0.0 if way == "sign" else float(np.quantile(measured, rng.uniform(0.2, 0.7)))
    seen = measured <= tau if way == "below" else measured >= tau
    unknown = np.zeros(M.shape, bool)
    if way == "random":
        tau, seen = None, rng.random(M.shape) < rng.uniform(0.3, 0.9)
    elif rng.random() < 0.3:
        unknown = rng.random(M.shape) < 0.1
        seen = seen & ~unknown
    if not seen.any():
        return table(rng, L, R, noise)
    options = censoring(tau, "below" if way == "below" else "above", symmetric(unknown, True))
    return made(L, R, np.where(seen, measured, np.nan), options, noise)


def made(L: Floats, R: Floats, data: Floats, options: dict[str, Any], noise: float) -> Instance:
    """Return the instance of a table."""
    truth, seen = symmetric(L @ R.T, 0.0), symmetric(~np.isnan(data), False)
    options, planted = {"rank": L.shape[1]} | options, np.vstack([L, R])
    return TableInstance(TABLES, data, truth, seen, options, planted, noise=noise, cut=len(L))


def factors(rng: np.random.Generator, low: int, high: int) -> tuple[Floats, Floats]:
    """Draw rows of any family, and columns in general position."""
    while True:
        family = FAMILIES[str(rng.choice(list(FAMILIES)))]
        m, n = size(rng, low, high), size(rng, low, high)
        r = int(min(1 + rng.geometric(0.4), 5, max(1, min(m, n) // 2)))
        L = family(rng, m, r)
        if L.any():
            return L, rng.standard_normal((n, r))


@kind
def tables(rng: np.random.Generator) -> Instance:
    """Any family, without noise."""
    return table(rng, *factors(rng, 2, 40), 0.0)


@kind
def tables_small(rng: np.random.Generator) -> Instance:
    """A few rows and columns, integers, repeated rows."""
    L, R = factors(rng, 2, 8)
    if rng.random() < 0.5:
        L, R = np.round(2 * L), np.round(2 * R)
    if rng.random() < 0.3:
        L = L[rng.integers(0, len(L), len(L))]
    return table(rng, L, R, 0.0) if L.any() and R.any() else tables_small(rng)


@kind
def tables_limits(rng: np.random.Generator) -> Instance:
    """Thresholds of rows, columns or entries at quantiles between 20 and 80 %, with noise or without."""
    L, R = factors(rng, 6, 40)
    noise = float(rng.choice([0.0, 0.0, 0.03, 0.1]))
    M = L @ R.T
    measured = M + noise * rms(M) * rng.standard_normal(M.shape)
    way = str(rng.choice(["rows", "columns", "entries"]))
    thresholds = varied_thresholds(way, measured, rng.uniform(0.2, 0.8, M.shape))
    options = censoring(symmetric(thresholds, 0.0), unknown=symmetric(np.zeros(M.shape, bool), True))
    return made(L, R, np.where(thresholds <= measured, measured, np.nan), options, noise)


@kind
def tables_noisy(rng: np.random.Generator) -> Instance:
    """Noise of 0.3 to 30 %."""
    return table(rng, *factors(rng, 12, 60), float(rng.choice([0.003, 0.03, 0.1, 0.3])))
