"""Patterns of observed entries, with the censoring constraint that describes the missing ones."""

from typing import Any

import numpy as np

from soak.instance import Bools, Floats, mirrored

# The observed entries, and the arguments threshold, seen and unknown.
Pattern = tuple[Bools, dict[str, Any]]
PATTERNS = {}
# How often each is drawn where a kind does not name any; others once.
OFTEN = {"at-zero": 5, "at-quantile": 5, "hidden": 3, "unknown-one-way": 2}


def pattern(function: Any) -> Any:
    """Register a pattern under the name of its function."""
    PATTERNS[function.__name__.replace("_", "-")] = function
    return function


def censoring(threshold: Any, side: str = "above", unknown: Bools | None = None) -> dict[str, Any]:
    """Return the arguments that describe the missing entries."""
    return {"threshold": threshold, "seen": side, "unknown": unknown}


def hide(rng: np.random.Generator, n: int, share: float, *, symmetric: bool = True) -> Bools:
    """Return a random mask with this share of entries."""
    draw = rng.random((n, n))
    return (mirrored(draw) if symmetric else draw) < share


def beyond(M: Floats, threshold: Any, side: str) -> Bools:
    """Return the entries at the threshold or on the observed side of it."""
    return np.greater_equal(M, threshold) if side == "above" else np.less_equal(M, threshold)


@pattern
def at_zero(rng: np.random.Generator, M: Floats) -> Pattern:
    """Observe what is not negative."""
    return M >= 0, censoring(0.0)


@pattern
def at_quantile(rng: np.random.Generator, M: Floats) -> Pattern:
    """Observe either side of a quantile."""
    side = str(rng.choice(["above", "above", "below"]))
    threshold = float(np.quantile(M, rng.uniform(0.1, 0.75)))
    return beyond(M, threshold, side), censoring(threshold, side)


@pattern
def untold(rng: np.random.Generator, M: Floats) -> Pattern:
    """Observe what is not negative, without passing the threshold."""
    return M >= 0, censoring(None)


@pattern
def hidden(rng: np.random.Generator, M: Floats) -> Pattern:
    """Hide pairs at random."""
    return ~hide(rng, len(M), rng.uniform(0.1, 0.6)), censoring(None)


@pattern
def hidden_one_way(rng: np.random.Generator, M: Floats) -> Pattern:
    """Hide entries at random, (i, j) and (j, i) independently."""
    return ~hide(rng, len(M), rng.uniform(0.1, 0.7), symmetric=False), censoring(None)


@pattern
def unknown_pairs(rng: np.random.Generator, M: Floats, symmetric: bool = True) -> Pattern:
    """Observe what is above a threshold, but for pairs that are missing for another reason."""
    threshold = 0.0 if rng.random() < 0.5 else float(np.quantile(M, rng.uniform(0.1, 0.6)))
    unknown = hide(rng, len(M), rng.uniform(0.05, 0.5), symmetric=symmetric)
    return (threshold <= M) & ~unknown, censoring(threshold, "above", unknown)


@pattern
def unknown_one_way(rng: np.random.Generator, M: Floats) -> Pattern:
    """Observe what is above a threshold, but for entries that are missing for another reason."""
    return unknown_pairs(rng, M, symmetric=False)


@pattern
def one_triangle(rng: np.random.Generator, M: Floats) -> Pattern:
    """Observe part of the upper triangle, without a threshold."""
    return np.triu(~hide(rng, len(M), rng.uniform(0.0, 0.4))), censoring(None)


@pattern
def no_diagonal(rng: np.random.Generator, M: Floats) -> Pattern:
    """Observe nothing of the diagonal."""
    seen, options = hidden(rng, M) if rng.random() < 0.5 else at_zero(rng, M)
    off = ~np.eye(len(M), dtype=bool)
    if options["threshold"] is not None:
        options["unknown"] = ~off
    return seen & off, options


@pattern
def in_pieces(rng: np.random.Generator, M: Floats) -> Pattern:
    """Observe two or three blocks of rows without an entry between them."""
    group = rng.integers(0, rng.integers(2, 4), len(M))
    together = group[:, None] == group
    if rng.random() < 0.5:
        return together & ~hide(rng, len(M), rng.uniform(0.0, 0.3)), censoring(None)
    return together & (M >= 0), censoring(0.0, "above", ~together)


def see(rng: np.random.Generator, M: Floats, names: tuple[str, ...] = ()) -> Pattern:
    """Return one of the named patterns (default: any) that observes something."""
    chosen = list(names or PATTERNS)
    weights = np.array([OFTEN.get(name, 1) for name in chosen], float)
    while True:
        seen, options = PATTERNS[str(rng.choice(chosen, p=weights / weights.sum()))](rng, M)
        if seen.any() and (options["threshold"] is None or options["unknown"] is not None or both_triangles(seen)):
            return seen, options


def both_triangles(seen: Bools) -> bool:
    """Return whether both triangles or none have observed entries; else a threshold would contradict the other."""
    return bool(np.triu(seen, 1).any() == np.tril(seen, -1).any())
