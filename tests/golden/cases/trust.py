"""What is determined, proved and how exact: determinacy, certificates, intervals, and new rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from tests.golden import planted
from tests.golden.case import Case, Data

__all__ = ["cases"]


def hinged(g: np.random.Generator, n: int = 40, r: int = 2) -> Data:
    """Draw a matrix with rows that are loosely observed, one less than the other; without censoring limits."""
    truth = planted.factor(g, n, r)
    truth = truth @ truth.T
    unknown = np.triu(g.random((n, n)) < 0.2)
    for row, left in ((n - 1, 0), (n - 2, 1), (n - 3, 2), (n - 4, 3)):
        unknown[:row, row] = True
        unknown[row, row:] = True
        unknown[g.choice(n - 4, left, replace=False), row] = False
    known = planted.observe(truth, None, unknown=unknown | unknown.T)
    return Data({"X": known.values}, truth, known=known)


def hinged_table(g: np.random.Generator, m: int = 30, n: int = 20, r: int = 2) -> Data:
    """Draw a rectangular matrix with a loose row, a loose column and a separate block."""
    truth = g.standard_normal((m, r)) @ g.standard_normal((r, n))
    unknown = g.random((m, n)) < 0.1
    unknown[0, 1:] = unknown[1:, 0] = True
    unknown[20:, :12] = unknown[:20, 12:] = True
    known = planted.observe(truth, None, unknown=unknown)
    return Data({"X": known.values}, truth, known=known)


def overlapping(g: np.random.Generator, n: int, r: int, shared: int) -> Data:
    """Draw a matrix of which two blocks that share some rows are observed."""
    truth = planted.factor(g, n, r)
    truth = truth @ truth.T
    half = (n + shared) // 2
    kept = np.zeros((n, n), bool)
    kept[:half, :half] = kept[n - half :, n - half :] = True
    known = planted.observe(truth, None, unknown=~kept)
    return Data({"X": known.values}, truth, known=known)


def bipartite(g: np.random.Generator, n: int, r: int) -> Data:
    """Draw a matrix of which the diagonal and the entries between two halves of the rows are observed."""
    truth = planted.factor(g, n, r)
    truth = truth @ truth.T
    half = np.arange(n) < n // 2
    kept = (half[:, None] != half) | np.eye(n, dtype=bool)
    known = planted.observe(truth, None, unknown=~kept)
    return Data({"X": known.values}, truth, known=known)


def rounded(g: np.random.Generator, n: int, r: int) -> Data:
    """Draw a matrix that is rounded to six digits after the point."""
    u = planted.factor(g, n, r)
    known = planted.observe(np.round(u @ u.T, 6))
    return Data({"X": known.values}, u @ u.T)


def with_factor(g: np.random.Generator, n: int, r: int) -> Data:
    """Draw a matrix that is certified with its planted factor."""
    u = planted.factor(g, n, r)
    known = planted.observe(u @ u.T)
    return Data({"X": known.values, "planted": u}, u @ u.T)


def new_rows(
    g: np.random.Generator, n: int, r: int, new: int = 12, noise: float = 0.0, observed: str = "above"
) -> Data:
    """Draw a matrix of which some rows come later."""
    data = planted.matrix(g, n + new, r, noise=noise, observed=observed)
    assert data.truth is not None
    values = data.given["X"]
    return Data({"X": values[:n, :n], "new": values[n:, :n]}, data.truth[n:, :n], data.noise)


def new_table_rows(g: np.random.Generator, m: int, n: int, r: int, new: int = 12, noise: float = 0.0) -> Data:
    """Draw a rectangular matrix of which some rows come later."""
    data = planted.rectangular(g, m + new, n, r, noise=noise)
    assert data.truth is not None
    assert data.known is not None
    values = data.given["X"]
    known = replace(data.known, values=values[:m], low=-np.inf, high=0.0)
    return Data({"X": values[:m], "new": values[m:]}, data.truth[:m], data.noise, known=known)


def kernel_rows(g: np.random.Generator, n: int, new: int) -> Data:
    """Draw a Gaussian kernel, which has no low rank, of which some rows come later."""
    points = g.standard_normal((n + new, 2))
    values = np.exp(-np.sum((points[:, None] - points) ** 2, axis=2))
    threshold = float(np.median(values))
    kept = np.where(values >= threshold, values, np.nan)
    return Data({"X": kept[:n, :n], "new": kept[n:, :n], "threshold": threshold}, values[n:, :n])


def cases() -> Iterator[Case]:
    """Yield the instances of this module."""
    free = {"rank": 2, "threshold": None}
    yield Case("determinacy/rows", "complete", hinged, free, ("levels",), quick=True)
    yield Case(
        "determinacy/entries", "complete", hinged, free, ("levels", "certificate", "errors"), seed="determinacy/rows"
    )
    yield Case("determinacy/bounds", "complete", partial(planted.matrix, n=40, r=2), {"rank": 2}, ("levels", "bounds"))
    table = free | {"structure": "rectangular"}
    yield Case("determinacy/table", "complete", hinged_table, table, ("levels", "bounds"), quick=True)
    draw = partial(overlapping, n=40, r=2, shared=2)
    yield Case("determinacy/glued", "complete", draw, free, ("levels", "certificate"))
    draw = partial(overlapping, n=40, r=2, shared=1)
    yield Case("determinacy/hinge", "complete", draw, free, ("levels", "certificate"))
    draw = partial(planted.matrix, n=60, r=3, noise=0.05, quantile=0.75)
    yield Case("determinacy/noisy", "complete", draw, {"rank": 3}, ("levels", "bounds"))

    draw = partial(planted.matrix, n=60, r=3)
    yield Case("certificates/unique", "complete", draw, {"rank": 3}, ("certificate",), quick=True)
    draw = partial(planted.matrix, n=40, r=3, observed="below", random_share=0.05, threshold=0.5)
    options = {"rank": 3, "threshold": 0.5, "observed": "below", "bounds": (-20, 20), "stress": False}
    yield Case("certificates/matrix", "certify", draw, options, quick=True)
    draw = partial(planted.matrix, n=30, r=3, quantile=0.85)
    yield Case("certificates/open", "complete", draw, {"rank": 3}, ("certificate", "levels"))
    draw = partial(bipartite, n=24, r=3)
    across = {"rank": 3, "threshold": None}
    yield Case("certificates/stress", "certify", draw, across | {"stress": True}, quick=True)
    yield Case("certificates/no stress", "certify", draw, across | {"stress": False}, seed="certificates/stress")
    yield Case("certificates/data-error", "certify", partial(rounded, n=40, r=2), {"rank": 2, "data_error": 5e-7})
    draw = partial(planted.matrix, n=40, r=2, noise=1e-4)
    yield Case("certificates/noisy", "certify", draw, {"rank": 2, "data_error": 1e-3})
    yield Case("certificates/assumptions", "certify", partial(with_factor, n=40, r=2), {"rank": 2})
    draw = partial(planted.rectangular, m=40, n=25, r=2)
    table = {"rank": 2, "structure": "rectangular"}
    yield Case("certificates/rectangular", "certify", draw, table, quick=True)
    options = table | {"threshold": None}
    yield Case("certificates/rectangular open", "certify", hinged_table, options, seed="determinacy/table")

    draw = partial(planted.matrix, n=80, r=2, noise=0.15)
    yield Case("intervals/standard-errors", "complete", draw, {"rank": 2}, ("errors",), quick=True)
    draw = partial(planted.matrix, n=40, r=3, noise=0.15)
    yield Case("intervals/confidence", "complete", draw, {"rank": 3}, ("errors", "intervals"))
    draw = partial(planted.matrix, n=120, r=2, noise=0.15)
    yield Case("intervals/confidence of many", "complete", draw, {"rank": 2}, ("errors",))
    draw = partial(planted.matrix, n=60, r=3, noise=0.4)
    yield Case("intervals/prediction", "complete", draw, {"rank": 3, "validate": True}, ("intervals", "validation"))
    draw = partial(planted.matrix, n=25, r=2, noise=0.3, quantile=0.7)
    yield Case("intervals/few", "complete", draw, {"rank": 2}, ("errors", "intervals"))
    draw = partial(planted.rectangular, m=30, n=20, r=2, noise=0.3)
    yield Case("intervals/rectangular", "complete", draw, table, ("errors", "intervals"))

    named = {"rank": 2, "threshold": 0.0}
    yield Case("newrows/psd", "complete rows", partial(new_rows, n=50, r=2), named, quick=True)
    yield Case("newrows/psd-score", "complete rows", partial(new_rows, n=50, r=2, noise=0.1), named, quick=True)
    draw = partial(new_rows, n=50, r=2, noise=0.1)
    yield Case("newrows/psd-score of a low rank", "complete rows", draw, named | {"rank": 1}, seed="newrows/psd-score")
    draw = partial(new_rows, n=50, r=2, noise=0.1, observed="below")
    yield Case("newrows/psd below", "complete rows", draw, named | {"observed": "below"})
    yield Case("newrows/psd without rank", "complete rows", partial(kernel_rows, n=30, new=10), {})
    draw = partial(new_table_rows, m=50, n=30, r=2)
    yield Case("newrows/rectangular", "complete", draw, table, ("new rows",), quick=True)
    draw = partial(new_table_rows, m=50, n=30, r=2, noise=0.1)
    yield Case("newrows/rectangular noisy", "complete", draw, table, ("new rows",))
