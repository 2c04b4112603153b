"""Symmetric matrices whose limits differ: from row to row, column to column, entry to entry."""

from __future__ import annotations

import numpy as np

from soak.instance import EXACT, NOISY, Draw, Floats, Instance
from soak.kinds import finished, normal, some_family

__all__ = ["KINDS"]

KINDS: dict[str, Draw] = {}


def kind(draw: Draw) -> Draw:
    """List a kind under its name."""
    KINDS[draw.__name__.replace("_", "-")] = draw
    return draw


def _thresholds(rng: np.random.Generator, M: Floats) -> tuple[str, Floats]:
    """One per row, per column or per entry, at quantiles between 20 and 80 %; as many as there are entries."""
    n = len(M)
    way = str(rng.choice(["rows", "columns", "entries", "pairs"]))
    levels = rng.uniform(0.2, 0.8, (n, n))
    if way == "rows":
        found = np.array([np.full(n, np.quantile(row, level)) for row, level in zip(M, levels[0], strict=True)])
    elif way == "columns":
        found = np.array([np.full(n, np.quantile(row, level)) for row, level in zip(M.T, levels[0], strict=True)]).T
    else:
        found = np.quantile(M, levels)
        found = np.triu(found) + np.triu(found, 1).T if way == "pairs" else found
    return way, found


def _seen(rng: np.random.Generator, group: str, U: Floats, noise: float) -> Instance:
    while True:
        M = U @ U.T
        M = (M + M.T) / 2
        E = noise * float(np.sqrt(np.mean(M**2))) * rng.standard_normal(M.shape)
        Y = M + np.triu(E) + np.triu(E, 1).T
        way, tau = _thresholds(rng, Y)
        side = "below" if rng.random() < 0.3 else "above"
        seen = tau >= Y if side == "below" else tau <= Y
        if seen.any() and np.triu(seen, 1).any() == np.tril(seen, -1).any():
            break
    absence = {"threshold": tau, "seen": side, "unknown": None}
    data = np.where(seen, Y, np.nan)
    return finished(rng, group, data, M, seen, absence, U, noise=noise, pattern=way)


@kind
def limits(rng: np.random.Generator) -> Instance:
    """Any family, without noise."""
    _, U = some_family(rng, 3, 40)
    return _seen(rng, EXACT, U, 0.0)


@kind
def limits_noisy(rng: np.random.Generator) -> Instance:
    """Rows in general position, with noise."""
    return _seen(rng, NOISY, normal(rng, 12, 60), float(rng.choice([0.003, 0.03, 0.1, 0.3])))
