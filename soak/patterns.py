"""Ways of seeing part of a matrix, and what absence is then said to mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["PATTERNS", "Seen", "see"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
# Which entries are seen, and the arguments threshold, seen and unknown of the front door.
Seen = tuple[Bools, dict[str, Any]]


def _coins(rng: np.random.Generator, n: int, share: float, *, symmetric: bool = True) -> Bools:
    draw = rng.random((n, n))
    if symmetric:
        draw = np.triu(draw) + np.triu(draw, 1).T
    return draw < share


def _absence(threshold: float | None, side: str = "above", unknown: Bools | None = None) -> dict[str, Any]:
    return {"threshold": threshold, "seen": side, "unknown": unknown}


def _beyond(M: Floats, threshold: float, side: str) -> Bools:
    return np.greater_equal(M, threshold) if side == "above" else np.less_equal(M, threshold)


def at_zero(rng: np.random.Generator, M: Floats) -> Seen:
    """The paper's: what is not negative."""
    return M >= 0, _absence(0.0)


def at_quantile(rng: np.random.Generator, M: Floats) -> Seen:
    """Either side of a quantile."""
    side = str(rng.choice(["above", "above", "below"]))
    threshold = float(np.quantile(M, rng.uniform(0.1, 0.75)))
    return _beyond(M, threshold, side), _absence(threshold, side)


def untold(rng: np.random.Generator, M: Floats) -> Seen:
    """What is not negative, but absence says nothing."""
    return M >= 0, _absence(None)


def hidden(rng: np.random.Generator, M: Floats) -> Seen:
    """Pairs hidden at random."""
    return ~_coins(rng, len(M), rng.uniform(0.1, 0.6)), _absence(None)


def hidden_one_way(rng: np.random.Generator, M: Floats) -> Seen:
    """Entries hidden at random, (i, j) and (j, i) apart."""
    return ~_coins(rng, len(M), rng.uniform(0.1, 0.7), symmetric=False), _absence(None)


def unknown_pairs(rng: np.random.Generator, M: Floats) -> Seen:
    """A threshold, and pairs that are missing for another reason."""
    return _with_unknown(rng, M, symmetric=True)


def unknown_one_way(rng: np.random.Generator, M: Floats) -> Seen:
    """A threshold, and entries that are missing for another reason, (i, j) and (j, i) apart."""
    return _with_unknown(rng, M, symmetric=False)


def _with_unknown(rng: np.random.Generator, M: Floats, *, symmetric: bool) -> Seen:
    threshold = 0.0 if rng.random() < 0.5 else float(np.quantile(M, rng.uniform(0.1, 0.6)))
    unknown = _coins(rng, len(M), rng.uniform(0.05, 0.5), symmetric=symmetric)
    return _beyond(M, threshold, "above") & ~unknown, _absence(threshold, "above", unknown)


def one_triangle(rng: np.random.Generator, M: Floats) -> Seen:
    """The upper triangle only, absence saying nothing."""
    return np.triu(~_coins(rng, len(M), rng.uniform(0.0, 0.4))), _absence(None)


def no_diagonal(rng: np.random.Generator, M: Floats) -> Seen:
    """Nothing of the diagonal."""
    seen, absence = hidden(rng, M) if rng.random() < 0.5 else at_zero(rng, M)
    off = ~np.eye(len(M), dtype=bool)
    if absence["threshold"] is not None:
        absence["unknown"] = ~off
    return seen & off, absence


def in_pieces(rng: np.random.Generator, M: Floats) -> Seen:
    """Two or three groups of rows that never meet."""
    group = rng.integers(0, rng.integers(2, 4), len(M))
    together = group[:, None] == group
    if rng.random() < 0.5:
        return together & ~_coins(rng, len(M), rng.uniform(0.0, 0.3)), _absence(None)
    return together & (M >= 0), _absence(0.0, "above", ~together)


PATTERNS = {
    one.__name__.replace("_", "-"): one
    for one in (
        at_zero,
        at_quantile,
        untold,
        hidden,
        hidden_one_way,
        unknown_pairs,
        unknown_one_way,
        one_triangle,
        no_diagonal,
        in_pieces,
    )
}
# How often each is drawn where a kind leaves it open.
OFTEN = {"at-zero": 5, "at-quantile": 5, "hidden": 3, "unknown-one-way": 2}


def see(rng: np.random.Generator, M: Floats, names: tuple[str, ...] = ()) -> tuple[str, Bools, dict[str, Any]]:
    """One of the ways, by name (default: any), that leaves something to be seen."""
    chosen = list(names or PATTERNS)
    weights = np.array([OFTEN.get(name, 1) for name in chosen], float)
    while True:
        name = str(rng.choice(chosen, p=weights / weights.sum()))
        seen, absence = PATTERNS[name](rng, M)
        if acceptable(seen, absence):
            return name, seen, absence


def acceptable(seen: Bools, absence: dict[str, Any]) -> bool:
    """Whether the front door takes it: something is seen, and not one triangle only where a threshold would deny it."""
    if not seen.any():
        return False
    upper, lower = bool(np.triu(seen, 1).any()), bool(np.tril(seen, -1).any())
    return absence["threshold"] is None or absence["unknown"] is not None or upper == lower
