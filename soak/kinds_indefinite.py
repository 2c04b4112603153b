"""Symmetric matrices that are not positive semidefinite: U D Uᵀ with signs that nobody is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soak.instance import EXACT, NOISY, Draw, Floats, Instance
from soak.kinds import finished, normal, some_family

__all__ = ["KINDS"]

KINDS: dict[str, Draw] = {}


def kind(draw: Draw) -> Draw:
    """List a kind under its name."""
    KINDS[draw.__name__.replace("_", "-")] = draw
    return draw


def _seen(rng: np.random.Generator, group: str, U: Floats, noise: float) -> Instance:
    """Seen beyond a threshold on either side, or at random; some of it one way round only."""
    n, r = U.shape
    signs = np.where(rng.random(r) < 0.5, -1.0, 1.0)
    M = (U * signs) @ U.T
    M = (M + M.T) / 2
    E = noise * float(np.sqrt(np.mean(M**2))) * rng.standard_normal((n, n))
    Y = M + np.triu(E) + np.triu(E, 1).T
    way = str(rng.choice(["sign", "quantile", "below", "random"]))
    tau: float | None = 0.0 if way == "sign" else float(np.quantile(Y, rng.uniform(0.2, 0.7)))
    side = "below" if way == "below" else "above"
    seen = tau >= Y if way == "below" else tau <= Y
    unknown = None
    if way == "random":
        tau = None
        upper = np.triu(rng.random((n, n)) < rng.uniform(0.4, 0.9))
        seen = upper | upper.T
    elif rng.random() < 0.3:
        unknown = rng.random((n, n)) < 0.1
        seen = seen & ~unknown
        unknown &= ~seen
    if not seen.any():
        return _seen(rng, group, U, noise)
    absence = {"threshold": tau, "seen": side, "unknown": unknown, "structure": "indefinite"}
    data = np.where(seen, Y, np.nan)
    drawn = finished(rng, group, data, M, seen, absence, U, noise=noise, pattern=way)
    return replace(drawn, signs=signs, about={**drawn.about, "positive": int((signs > 0).sum())})


@kind
def indefinite(rng: np.random.Generator) -> Instance:
    """Any family, without noise."""
    _, U = some_family(rng, 3, 40)
    return _seen(rng, EXACT, U, 0.0)


@kind
def indefinite_noisy(rng: np.random.Generator) -> Instance:
    """Rows in general position, with noise."""
    return _seen(rng, NOISY, normal(rng, 12, 60), float(rng.choice([0.003, 0.03, 0.1, 0.3])))
