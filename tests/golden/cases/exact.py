"""Symmetric matrices without noise: families of factors, sizes and ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from tests.golden import planted
from tests.golden.case import Case, Data

__all__ = ["cases"]


def two_groups(g: np.random.Generator, n: int = 30, r: int = 2) -> Data:
    """Draw two groups of n rows that share no observed entry, and one row of which nothing is observed."""
    truth = planted.factor(g, 2 * n + 1, r)
    truth = truth @ truth.T
    unknown = np.ones(truth.shape, bool)
    unknown[:n, :n] = unknown[n : 2 * n, n : 2 * n] = False
    known = planted.observe(truth, 0.0, unknown=unknown)
    return Data({"X": known.values, "unknown": unknown}, truth, known=known)


def with_truth(g: np.random.Generator) -> Data:
    """Draw a matrix of which the call is given the truth, for its history."""
    data = planted.matrix(g, 60, 3)
    return replace(data, given=data.given | {"truth": data.truth})


def without_diagonal(g: np.random.Generator) -> Data:
    """Draw a matrix whose diagonal is missing."""
    truth = planted.factor(g, 60, 3)
    truth = truth @ truth.T
    known = planted.observe(truth, 0.0, unknown=np.eye(60, dtype=bool))
    return Data({"X": known.values}, truth, known=known)


def one_way_round(g: np.random.Generator) -> Data:
    """Draw a matrix of which each pair is observed one way round."""
    truth = planted.factor(g, 60, 3)
    truth = truth @ truth.T
    first = g.random(truth.shape) < 0.5
    kept = np.triu(first) | (np.triu(~first, 1)).T
    known = planted.observe(truth, 0.0, unknown=~kept)
    return Data({"X": known.values, "unknown": ~kept}, truth, known=known)


def scaled(g: np.random.Generator, scale: float) -> Data:
    """Draw a matrix in other units."""
    truth = planted.factor(g, 60, 3)
    truth = scale * (truth @ truth.T)
    known = planted.observe(truth, 0.0)
    return Data({"X": known.values}, truth)


def constant(g: np.random.Generator, value: float) -> Data:
    """Return a matrix of one value, a part of it missing."""
    truth = np.full((12, 12), value)
    missing = np.triu(g.random((12, 12)) < 0.2, 1)
    known = planted.observe(truth, None, unknown=missing | missing.T)
    return Data({"X": known.values}, truth, scale=1.0, known=known)


def cases() -> Iterator[Case]:
    """Yield the instances of this module."""
    for family in planted.FAMILIES:
        draw = partial(planted.matrix, n=60, r=3, family=family)
        quick = family in ("gaussian", "sparse")
        yield Case(f"exact/{family}", "complete", draw, {"rank": 3}, quick=quick)
        draw = partial(planted.matrix, n=60, r=3, family=family, quantile=0.7)
        yield Case(f"exact/{family} above 70 %", "complete", draw, {"rank": 3})
    draw = partial(planted.matrix, n=60, r=3)
    yield Case("exact/default", "complete", draw, {}, ("fit", "errors", "intervals"), quick=True)
    yield Case("exact/named-rank", "complete", draw, {"rank": 3}, ("fit", "bounds", "saved"), quick=True)
    yield Case("exact/rank-below", "complete", draw, {"rank": 2}, ("fit",))
    yield Case("exact/rank-above", "complete", draw, {"rank": 4}, ("levels",))
    draw = partial(planted.matrix, n=60, r=3, dtype=np.float32)
    yield Case("exact/float32", "complete", draw, {"rank": 3}, ("types",), quick=True)
    draw = partial(planted.matrix, n=80, r=5, family="condition-10")
    yield Case("exact/ill-conditioned", "complete", draw, {"rank": 5}, ("fit",))
    wants = ("levels", "errors", "bounds")
    yield Case("exact/groups", "complete", two_groups, {"rank": 2}, wants, quick=True)
    yield Case("exact/groups without rank", "complete", two_groups, {}, ("levels",))
    yield Case("exact/truth", "complete", with_truth, {"rank": 3}, ("history",))
    yield Case("exact/no-diagonal", "complete", without_diagonal, {"rank": 3}, ("levels",))
    yield Case("exact/one-way-round", "complete", one_way_round, {"rank": 3})
    yield Case("exact/huge-units", "complete", partial(scaled, scale=1e100), {"rank": 3}, ("no objective",))
    yield Case("exact/zeros", "complete", partial(constant, value=0.0), {"rank": 1, "threshold": None})
    yield Case("exact/ones", "complete", partial(constant, value=1.0), {"threshold": None})
    for n, r in ((10, 1), (25, 2), (150, 5), (400, 20)):
        draw = partial(planted.matrix, n=n, r=r)
        yield Case(f"exact/size {n} rank {r}", "complete", draw, {"rank": r}, quick=n == 25)
    for n, r in ((20, 1), (200, 10)):
        draw = partial(planted.matrix, n=n, r=r)
        yield Case(f"exact/size {n} rank {r} not named", "complete", draw)
    draw = partial(planted.matrix, n=120, r=3, quantile=0.85)
    yield Case("exact/above 85 %", "complete", draw, {"rank": 3}, ("levels",))
