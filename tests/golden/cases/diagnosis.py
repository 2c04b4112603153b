"""Diagnosis (why entries are missing, and the recommended call) and comparison of methods."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.golden import planted
from tests.golden.case import Case, Data

__all__ = ["cases"]

Generator = np.random.Generator


def cases() -> Iterator[Case]:
    """Yield the instances of this module."""
    yield from _diagnoses()
    yield from _comparisons()


def contradicted(g: Generator) -> Data:
    """Draw a noisy matrix with one gross error."""
    data = planted.matrix(g, 40, 2, noise=0.03, threshold=0.2)
    X = data.given["X"]
    rows, cols = np.nonzero(np.triu(~np.isnan(X), 1))
    k = g.integers(len(rows))
    X[rows[k], cols[k]] = X[cols[k], rows[k]] = X[rows[k], cols[k]] + 8
    return data


def smooth(g: Generator) -> Data:
    """Draw a noisy matrix whose entries are observed with a chance that rises smoothly with the value."""
    truth_of = planted.matrix(g, 50, 2, noise=0.03, threshold=None)
    X = truth_of.given["X"]
    chance = 1 / (1 + np.exp(-(X - 0.3) / 0.3))
    drawn = np.triu(g.random(X.shape) < chance)
    return Data({"X": np.where(drawn | np.triu(drawn, 1).T, X, np.nan)}, truth_of.truth, truth_of.noise)


def distances(g: Generator) -> Data:
    """Draw distances up to a cut-off where products were expected."""
    data = planted.distances_within(g, g.random((24, 2)), 0.5)
    return Data({"X": data.given["D"]})


def unmarked(g: Generator, **options: Any) -> Data:
    """Draw a noisy matrix of which some entries are missing at random, and nothing says which."""
    data = planted.matrix(g, 40, 2, noise=0.03, **options)
    del data.given["unknown"]
    return data


def thin(g: Generator) -> Data:
    """Draw a table of which one column has hardly any observed entry."""
    data = planted.rectangular(g, 40, 20, 2, noise=0.03)
    data.given["X"][3:, 5] = np.nan
    return data


def _diagnoses() -> Iterator[Case]:
    noisy = partial(planted.matrix, n=30, r=2, noise=0.03, threshold=0.25)
    named: dict[str, Any] = {"rank": 2}
    yield Case("diagnose/censored", "diagnose", noisy, named, quick=True)
    yield Case("diagnose/no-rank", "diagnose", partial(noisy, n=24))
    yield Case("diagnose/exact", "diagnose", partial(planted.matrix, n=30, r=2), named)
    yield Case("diagnose/mixed", "diagnose", partial(unmarked, threshold=0.25, random_share=0.1), named)
    draw = partial(unmarked, threshold=None, random_share=0.3)
    yield Case("diagnose/random", "diagnose", draw, named)
    yield Case("diagnose/curve", "diagnose", smooth, named)
    yield Case("diagnose/below", "diagnose", partial(noisy, observed="below"), named | {"observed": "below"})
    yield Case("diagnose/unknown", "diagnose", partial(noisy, random_share=0.1), named)
    draw = partial(planted.rectangular, m=40, n=20, r=2, noise=0.03, threshold=0.1)
    yield Case("diagnose/rectangular", "diagnose", draw, named)
    yield Case("diagnose/thin-column", "diagnose", thin, named)
    yield Case("diagnose/distances", "diagnose", distances, {"rank": 3})
    yield Case("diagnose/wrong-threshold", "diagnose", noisy, named | {"threshold": 0.6})
    yield Case("diagnose/contradicted", "diagnose", contradicted, named)


def _comparisons() -> Iterator[Case]:
    noisy = partial(planted.matrix, n=30, r=2, noise=0.02)
    methods = ["gauss-newton", "direct", "scaled-gd", "momentum-pam"]
    yield Case("compare/matrix", "compare", noisy, {"rank": 2, "methods": methods}, wants=("truth",), quick=True)
    options: dict[str, Any] = {"methods": ["gauss-newton", "gradient-descent"], "trials": 3}
    yield Case("compare/planted", "compare", nothing, options | {"planted": (30, 2, 0.01)})
    draw = partial(planted.matrix, n=30, r=2, noise=0.02, threshold=0.2, observed="below", random_share=0.05)
    options = {"rank": 2, "methods": ["auto", "gauss-newton"], "threshold": 0.2, "observed": "below"}
    yield Case("compare/limits", "compare", draw, options, wants=("truth",))
    options = {"rank": 2, "methods": ["momentum-pam", "gnmr", "admm"], "trials": 2}
    yield Case("compare/trials", "compare", noisy, options, wants=("truth",))
    options = {"methods": ["gauss-newton", ["gauss-newton", {"max_inner": 50}]]}
    yield Case("compare/no-rank", "compare", partial(planted.matrix, n=24, r=2), options)
    draw = partial(planted.matrix, n=30, r=2, noise=0.02, threshold=0.3)
    yield Case("compare/threshold-auto", "compare", draw, {"rank": 2, "methods": ["auto"], "threshold": "auto"})


def nothing(g: Generator) -> Data:
    """Return no data: the call draws its own."""
    return Data({})
