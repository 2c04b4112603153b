"""Every solver and every start, by name and with parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tests.golden import planted
from tests.golden.case import Case, Data

__all__ = ["cases"]

METHODS = (
    "auto",
    "gauss-newton",
    "direct",
    "gradient-descent",
    "scaled-gd",
    "pam",
    "momentum-pam",
    "gnmr",
    "admm",
    "sdp",
)
STARTS = (
    "clique",
    "tailored",
    "random-imputation",
    "random-spectral",
    "spectral",
    "gaussian",
    "random-fill",
    "rank-increasing",
    "shrinking",
)


def near_start(g: np.random.Generator, n: int, r: int) -> Data:
    """Draw a matrix, and a factor near its own to start from."""
    u = planted.factor(g, n, r)
    known = planted.observe(u @ u.T)
    return Data({"X": known.values, "start": u + 0.1 * g.standard_normal((n, r))}, u @ u.T, known=known)


def more_later(g: np.random.Generator, n: int, r: int, noise: float) -> Data:
    """Draw a matrix of which more entries are observed later."""
    data = planted.matrix(g, n, r, noise=noise)
    assert data.known is not None
    lost = np.triu(g.random((n, n)) < 0.2)
    lost |= lost.T
    values = np.where(lost, np.nan, data.known.values)
    low, high = data.known.low, np.where(lost, np.inf, data.known.high)
    known = replace(data.known, values=values, low=low, high=high)
    return replace(data, given={"X": values, "unknown": lost, "more": data.given["X"]}, known=known)


def cases() -> Iterator[Case]:
    """Yield the instances of this module."""
    for method in METHODS:
        n, r = (15, 2) if method == "sdp" else (30, 2)
        draw = partial(planted.matrix, n=n, r=r)
        rank = {"rank": r, "method": method}
        seed = f"methods {n}"
        yield Case(f"methods/{method}", "complete", draw, rank, seed=seed, quick=method in ("direct", "gauss-newton"))
        if method in ("gradient-descent", "pam", "gnmr", "admm"):
            draw = partial(planted.matrix, n=n, r=r, noise=0.05)
            yield Case(f"methods/{method} noisy", "complete", draw, rank, ("fit",), seed=f"{seed} noisy")
    exact = partial(planted.matrix, n=40, r=2)
    noisy = partial(planted.matrix, n=40, r=2, noise=0.05)
    parameters: dict[str, tuple[Any, str, dict[str, Any]]] = {
        "gauss-newton-object": (
            exact,
            "gauss-newton",
            {"forcing": 0.05, "tightest": 1e-3, "max_inner": 50, "tol": 1e-12, "max_iter": 100},
        ),
        "momentum-pam-momentum": (exact, "momentum-pam", {"variant": "adaptive", "momentum": 0.5}),
        "momentum-pam-ebcd": (exact, "momentum-pam", {"variant": "ebcd"}),
        "pam-penalties": (noisy, "pam", {"alpha": 0.01, "beta": 0.02}),
        "gnmr-variant": (exact, "gnmr", {"variant": "updating"}),
        "scaled-gd-step": (exact, "scaled-gd", {"symmetric": True, "step_size": 0.4}),
        "gradient-descent-step": (exact, "gradient-descent", {"step_size": 1e-3, "max_iter": 200}),
        "admm-options": (noisy, "admm", {"sigma": 0.1, "rho": 1.0, "adaptive": False, "projection": "printed"}),
        "admm-delta": (noisy, "admm", {"delta": 2.0}),
        "auto-object": (exact, "auto", {"starts": ("clique",), "passes": 500}),
        "diverged": (noisy, "gradient-descent", {"step_size": 10.0}),
        "stopped": (noisy, "gradient-descent", {"max_iter": 3}),
        "paper-rule": (exact, "gradient-descent", {"tol": {"gradient norm": 1e-6, "seconds": 60}}),
    }
    for name, (draw, method, options) in parameters.items():
        yield Case(
            f"methods/{name}", "complete", draw, {"rank": 2, "method": [method, options]}, seed=f"methods {name}"
        )
    draw = partial(planted.matrix, n=15, r=2, noise=0.05)
    method_of_sdp = ["sdp", {"objective": "trace", "slack": 0.5, "eps": 1e-6, "max_inner": 2000}]
    yield Case("methods/sdp-slack", "complete", draw, {"rank": 2, "method": method_of_sdp})
    method_of_sdp = ["sdp", {"max_inner": 50}]
    yield Case("methods/stalled", "complete", draw, {"rank": 2, "method": method_of_sdp}, seed="methods/sdp-slack")
    for method in ("gradient-descent", "gauss-newton"):
        draw = partial(planted.matrix, n=60, r=3, family="condition-10")
        options = {"rank": 3, "method": [method, {"max_iter": 300}]}
        yield Case(f"methods/{method} ill-conditioned", "complete", draw, options, seed="methods ill-conditioned")

    draw = partial(planted.matrix, n=60, r=3)
    for start in STARTS:
        options = {"rank": 3, "method": ["gauss-newton", {"start": start}]}
        quick = start in ("clique", "tailored")
        yield Case(f"starts/{start}", "complete", draw, options, seed="starts", quick=quick)
    draw = partial(planted.matrix, n=60, r=3, quantile=0.7, observed="below")
    for start in ("tailored",):
        options = {"rank": 3, "observed": "below", "method": ["gauss-newton", {"start": start}]}
        yield Case(f"starts/{start} below", "complete", draw, options, seed="starts below")
    options = {"rank": 3, "method": "gauss-newton"}
    yield Case("starts/array", "complete", partial(near_start, n=60, r=3), options, quick=True)
    draw = partial(more_later, n=60, r=3, noise=0.05)
    yield Case("starts/earlier", "complete", draw, {"rank": 3}, ("resumed",), quick=True)
    draw = partial(more_later, n=60, r=3, noise=0.0)
    yield Case("starts/earlier exact", "complete", draw, {"rank": 3}, ("resumed",))
