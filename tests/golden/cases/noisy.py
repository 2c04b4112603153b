"""Symmetric matrices with noise: what is said of a fit and of its errors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.golden import planted
from tests.golden.case import Case, Data

__all__ = ["cases"]


def uneven(g: np.random.Generator, n: int, r: int, given: str) -> Data:
    """Draw a matrix whose noise differs from row to row, with its standard deviations or its weights."""
    u = planted.factor(g, n, r)
    truth = u @ u.T
    spread = np.geomspace(0.05, 0.5, n)[g.permutation(n)]
    sigma = np.sqrt(spread[:, None] * spread)
    known = planted.observe(truth + sigma * planted.symmetric_noise(g, n, 1.0))
    more: dict[str, Any] = {"weights": 1 / sigma**2} if given == "weights" else {"sigma": sigma}
    if given == "sigma per row":
        known = planted.observe(truth + spread[:, None] * g.standard_normal((n, n)))
        more = {"sigma": spread[:, None]}
    return Data({"X": known.values} | more, truth, float(sigma.mean()))


def cases() -> Iterator[Case]:
    """Yield the instances of this module."""
    for family in planted.FAMILIES:
        draw = partial(planted.matrix, n=80, r=3, family=family, noise=0.01)
        yield Case(f"noisy/{family} 1 %", "complete", draw, {"rank": 3}, quick=family == "gaussian")
    draw = partial(planted.matrix, n=60, r=3, noise=0.06)
    wants = ("fit", "errors", "saved")
    yield Case("noisy/named-rank", "complete", draw, {"rank": 3}, wants, quick=True)
    yield Case("noisy/no-rank", "complete", draw, {}, (*wants, "validation"))
    options: dict[str, Any] = {"rank": 3, "loss": ["auto", {"pairs": "one"}]}
    yield Case("noisy/one-noise", "complete", draw, options, ("errors",))
    draw = partial(planted.matrix, n=60, r=3, noise=0.06, one_noise=False)
    options = {"rank": 3, "loss": ["auto", {"pairs": "independent"}]}
    yield Case("noisy/two-noises", "complete", draw, options, ("errors",))
    yield Case("noisy/two-noises found", "complete", draw, {"rank": 3}, ("errors",))
    draw = partial(uneven, n=50, r=2, given="sigma per row")
    yield Case("noisy/sigma-per-row", "complete", draw, {"rank": 2}, ("fit", "errors"))
    draw = partial(uneven, n=50, r=2, given="sigma per entry")
    yield Case("noisy/sigma-per-entry", "complete", draw, {"rank": 2}, ("errors",))
    draw = partial(uneven, n=50, r=2, given="weights")
    yield Case("noisy/weights", "complete", draw, {"rank": 2}, ("fit", "errors"))
    draw = partial(planted.matrix, n=60, r=4, noise=0.02)
    yield Case("noisy/rank-below", "complete", draw, {"rank": 2}, ("fit", "intervals"))
    draw = partial(planted.matrix, n=12, r=2, noise=0.1)
    yield Case("noisy/underdetermined", "complete", draw, {"rank": 8}, ("fit",))
    for share in (0.1, 0.3, 1.0):
        draw = partial(planted.matrix, n=60, r=3, noise=share)
        yield Case(f"noisy/{share:.0%}", "complete", draw, {"rank": 3}, ("errors", "intervals"))
        yield Case(f"noisy/{share:.0%} without rank", "complete", draw, {}, ("intervals",), seed=f"noisy/{share:.0%}")
    for n, r in ((20, 1), (150, 5)):
        draw = partial(planted.matrix, n=n, r=r, noise=0.1)
        yield Case(f"noisy/size {n} rank {r}", "complete", draw, {"rank": r}, ("errors",), quick=n == 20)
    draw = partial(planted.matrix, n=100, r=3, noise=0.1, quantile=0.8)
    yield Case("noisy/above 80 %", "complete", draw, {"rank": 3}, ("intervals",))
    draw = partial(planted.matrix, n=60, r=2, noise=0.05, dtype=np.float32)
    yield Case("noisy/float32", "complete", draw, {"rank": 2}, ("types",), quick=True)
