"""Losses, gross errors, and samples of the posterior."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tests.golden import planted
from tests.golden.case import Case, Data

__all__ = ["cases"]


def gross(data: Data, g: np.random.Generator, share: float, *, symmetric: bool = True) -> Data:
    """Replace a share of the observed entries of a drawn matrix by gross errors on the observed side."""
    assert data.known is not None
    values = data.known.values.copy()
    rows, cols = np.nonzero(~np.isnan(np.triu(values, 1) if symmetric else values))
    if symmetric:
        rows, cols = rows[rows < cols], cols[rows < cols]
    wrong = g.choice(len(rows), round(share * len(rows)), replace=False)
    rows, cols = rows[wrong], cols[wrong]
    values[rows, cols] += g.uniform(5, 15, len(rows))
    if symmetric:
        values[cols, rows] = values[rows, cols]
    return replace(data, given=data.given | {"X": values}, known=replace(data.known, values=values))


def matrix_with_errors(g: np.random.Generator, share: float, **options: Any) -> Data:
    """Draw a matrix with gross errors; options are those of :func:`planted.matrix`."""
    return gross(planted.matrix(g, **options), g, share)


def table_with_errors(g: np.random.Generator, share: float, **options: Any) -> Data:
    """Draw a rectangular matrix with gross errors; options are those of :func:`planted.rectangular`."""
    return gross(planted.rectangular(g, **options), g, share, symmetric=False)


def weighted(g: np.random.Generator, n: int, r: int, noise: float) -> Data:
    """Draw a noisy matrix with a weight for each row."""
    data = planted.matrix(g, n, r, noise=noise)
    return replace(data, given=data.given | {"weights": g.uniform(0.5, 2, (n, 1))})


def lost_beyond_detection(g: np.random.Generator, n: int, r: int, level: float, width: float, noise: float) -> Data:
    """Draw a matrix whose entries are observed with a probability that rises around a level."""
    u = planted.factor(g, n, r)
    truth = u @ u.T
    values = truth + planted.symmetric_noise(g, n, noise)
    draw = np.triu(g.standard_normal((n, n)))
    kept = values + width * (draw + np.triu(draw, 1).T) >= level
    known = planted.observe(values, None, unknown=~kept)
    # Below this no entry is observed; the level is that of the loss.
    return Data({"X": known.values, "threshold": float(np.nanmin(known.values))}, truth, noise)


def cases() -> Iterator[Case]:
    """Yield the instances of this module."""
    draw = partial(planted.matrix, n=60, r=3, noise=0.05)
    seed = "losses/auto"
    for loss in ("auto", "observed", "one-sided", "censored"):
        options = {"rank": 3, "loss": loss}
        yield Case(f"losses/{loss}", "complete", draw, options, ("fit", "errors"), seed=seed, quick=loss == "auto")
        high = partial(planted.matrix, n=80, r=3, noise=0.1, quantile=0.75)
        yield Case(f"losses/{loss} above 75 %", "complete", high, options, ("fit",), seed="losses/auto above 75 %")
    made: dict[str, Any] = {"rank": 3, "loss": ["censored", {"sigma": 0.1, "smallest": 0.05}]}
    yield Case("losses/censored-object", "complete", draw, made, ("fit",), seed=seed)
    made = {"rank": 3, "sigma": 0.1}
    yield Case("losses/sigma", "complete", draw, made, ("fit", "errors"), seed=seed)
    weights = partial(weighted, n=60, r=3, noise=0.05)
    for loss in ("censored", "one-sided", "observed"):
        made = {"rank": 3, "loss": loss}
        yield Case(f"losses/{loss} weighted", "complete", weights, made, ("fit",), seed="losses/weighted")
    smooth = partial(lost_beyond_detection, n=60, r=2, level=0.3, width=0.4, noise=0.05)
    made = {"rank": 2, "loss": ["detected", {"level": 0.3, "width": 0.4}]}
    yield Case("losses/detected-object", "complete", smooth, made, ("fit",))

    wrong = partial(matrix_with_errors, share=0.03, n=60, r=2, noise=0.05)
    wants = ("outliers", "errors", "no objective")
    yield Case("huber/matrix", "complete", wrong, {"rank": 2, "loss": "huber"}, wants, quick=True)
    yield Case("huber/not used", "complete", wrong, {"rank": 2}, ("fit",), seed="huber/matrix")
    exact = partial(matrix_with_errors, share=0.03, n=60, r=2)
    yield Case("huber/exact", "complete", exact, {"rank": 2, "loss": "huber"}, ("outliers", "no objective"))
    clean = partial(planted.matrix, n=60, r=2, noise=0.05)
    yield Case("huber/clean", "complete", clean, {"rank": 2, "loss": "huber"}, wants)
    table = partial(table_with_errors, share=0.03, m=60, n=40, r=2, noise=0.05)
    made = {"rank": 2, "loss": "huber", "structure": "rectangular"}
    yield Case("huber/rectangular", "complete", table, made, wants)
    indefinite = partial(matrix_with_errors, share=0.03, n=60, r=2, noise=0.05, signs=(1, -1))
    made = {"rank": 2, "loss": "huber", "structure": "indefinite"}
    yield Case("huber/indefinite", "complete", indefinite, made, ("outliers", "signs", "no objective"))

    small = partial(planted.matrix, n=20, r=1, noise=0.1)
    posterior = ("posterior",)
    made = {"rank": 1, "method": "gibbs"}
    yield Case("gibbs/mean", "complete", small, made, posterior, sampled=True, seed="gibbs")
    large = partial(planted.matrix, n=20, r=1, noise=0.5)
    yield Case("gibbs/intervals", "complete", large, {"rank": 1, "method": "gibbs"}, posterior, sampled=True)
    above = partial(planted.matrix, n=20, r=2, noise=0.1, quantile=0.4)
    yield Case("gibbs/probability", "complete", above, {"rank": 2, "method": "gibbs"}, posterior, sampled=True)
    made = {"rank": 1, "method": ["gibbs", {"tol": 0.02, "max_iter": 4000}]}
    yield Case("gibbs/agreement", "complete", small, made, posterior, sampled=True, seed="gibbs")
    lost = partial(planted.matrix, n=20, r=1, noise=0.1, random_share=0.1)
    yield Case("gibbs/unknown", "complete", lost, {"rank": 1, "method": "gibbs"}, posterior, sampled=True)
