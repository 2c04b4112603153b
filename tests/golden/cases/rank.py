"""Data without a named rank: validation on held-out entries, and what is predicted where there is no low rank."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from tests.golden import planted
from tests.golden.case import Case, Data

__all__ = ["cases"]


def kernel(g: np.random.Generator, n: int, quantile: float) -> Data:
    """Draw the Gaussian kernel of n points in the plane, observed above a quantile."""
    points = g.standard_normal((n, 2))
    squares = np.sum((points[:, None] - points) ** 2, axis=2)
    return _kept(np.exp(-squares), quantile)


def correlations(g: np.random.Generator, n: int, quantile: float) -> Data:
    """Draw correlations of n columns by five common factors and their own parts."""
    loadings = g.standard_normal((n, 5)) * np.geomspace(1, 0.3, 5)
    samples = g.standard_normal((200, 5)) @ loadings.T + g.standard_normal((200, n))
    return _kept(np.corrcoef(samples.T), quantile)


def real(g: np.random.Generator, name: str, quantile: float) -> Data:
    """Return similarities of scikit-learn's data: a kernel of wines, or correlations of columns of breast_cancer."""
    from sklearn import datasets

    table = getattr(datasets, f"load_{name}")().data[:, :30]
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    if name == "breast_cancer":
        return _kept(np.corrcoef(table.T), quantile)
    wines = table[g.permutation(len(table))[:30]]
    squares = np.sum((wines[:, None] - wines) ** 2, axis=2)
    return _kept(np.exp(-squares / (2 * table.shape[1])), quantile)


def noise_alone(g: np.random.Generator, n: int) -> Data:
    """Draw a matrix without any structure."""
    return _kept(planted.symmetric_noise(g, n, 1.0), 0.5)


def _kept(values: np.ndarray, quantile: float) -> Data:
    values = (values + values.T) / 2
    threshold = float(np.quantile(values, quantile))
    known = planted.observe(values, threshold)
    return Data({"X": known.values, "threshold": threshold}, values)


def decaying(g: np.random.Generator, n: int) -> Data:
    """Draw a matrix whose eigenvalues fall by a third from one to the next."""
    vectors = np.linalg.qr(g.standard_normal((n, n)))[0]
    return _kept(vectors * 0.67 ** np.arange(n) @ vectors.T * n, 0.4)


def cases() -> Iterator[Case]:
    """Yield the instances of this module."""
    wants = ("validation", "intervals", "no objective")
    yield Case("rank/similarity", "complete", partial(kernel, n=30, quantile=0.5), {}, wants)
    draw = partial(correlations, n=30, quantile=0.5)
    yield Case("rank/correlations", "complete", draw, {}, wants)
    yield Case("rank/diagonal-limit", "complete", draw, {"diagonal": "limit"}, wants, seed="rank/correlations")
    yield Case("rank/diagonal-unknown", "complete", draw, {"diagonal": "free"}, wants, seed="rank/correlations")
    yield Case("rank/bounds", "complete", draw, {"bounds": (-1, 1)}, wants, seed="rank/correlations")
    yield Case("rank/no-structure", "complete", partial(noise_alone, n=20), {}, wants)
    yield Case("rank/decaying", "complete", partial(decaying, n=30), {}, wants)
    yield Case("rank/few", "complete", partial(correlations, n=12, quantile=0.5), {}, wants)
    draw = partial(planted.matrix, n=60, r=3, noise=0.2)
    yield Case("rank/validated", "complete", draw, {"rank": 3, "validate": True}, ("validation",))
    yield Case("rank/rehearse-function of a rank", "validate", draw, {"rank": 3})
    options = {"diagonal": "free", "bounds": (-12, 12), "observed": "below"}
    draw = partial(planted.matrix, n=24, r=2, noise=0.2, observed="below", quantile=0.6, random_share=0.1)
    yield Case("rank/rehearse-function", "validate", draw, options)
    for name in ("wine", "breast_cancer"):
        for quantile in (0.5, 0.75):
            draw = partial(real, name=name, quantile=quantile)
            yield Case(f"rank/{name} above {quantile:.0%}", "complete", draw, {}, wants)
