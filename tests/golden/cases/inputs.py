"""Ways in which a matrix comes in, and what comes back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from tests.golden import planted
from tests.golden.case import Case, Data

__all__ = ["cases"]


def labelled(g: np.random.Generator, n: int, r: int, noise: float = 0.0) -> Data:
    """Draw a matrix with labels."""
    data = planted.matrix(g, n, r, noise=noise)
    return replace(data, given=data.given | {"labels": [f"item {i}" for i in range(n)]})


def asymmetric(g: np.random.Generator, n: int, r: int, noise: float) -> Data:
    """Draw a matrix with a noise of its own at (i, j) and at (j, i), so that its pattern is not symmetric."""
    return planted.matrix(g, n, r, noise=noise, one_noise=False)


def integers(g: np.random.Generator, n: int) -> Data:
    """Draw a matrix of whole numbers, observed above 0."""
    u = g.integers(-3, 4, (n, 2)).astype(float)
    known = planted.observe(u @ u.T)
    return Data({"X": known.values}, u @ u.T, known=known)


def cases() -> Iterator[Case]:
    """Yield the instances of this module."""
    back = ("types",)
    draw = partial(labelled, n=40, r=2)
    yield Case("inputs/frame", "complete", draw, {"rank": 2, "form": "frame"}, (*back, "errors"), quick=True)
    draw = partial(labelled, n=40, r=2, noise=0.1)
    yield Case("inputs/frame noisy", "complete", draw, {"rank": 2, "form": "frame"}, (*back, "errors"))
    draw = partial(planted.matrix, n=40, r=2, noise=0.05)
    forms = ("masked", "sparse", "memory map", "fortran", "strided", "source")
    for form in (*forms, "zarr", "edges", "list"):
        name = "memmap" if form == "memory map" else form
        options = {"rank": 2, "form": form}
        quick = form in ("masked", "sparse")
        yield Case(f"inputs/{name}", "complete", draw, options, back, seed="inputs", quick=quick)
    yield Case("inputs/integers", "complete", partial(integers, n=40), {"rank": 2, "form": "masked integers"}, back)
    draw = partial(asymmetric, n=50, r=2, noise=0.1)
    yield Case("inputs/asymmetric", "complete", draw, {"rank": 2}, ("errors", "fit"))
    draw = partial(planted.matrix, n=40, r=2, noise=0.05, dtype=np.float32)
    yield Case("inputs/float32 sparse", "complete", draw, {"rank": 2, "form": "sparse"}, back)
    for kind in ("not square", "infinite"):
        yield Case(f"inputs/refused {kind}", "complete", partial(refused, kind=kind), {"rank": 2})


def refused(g: np.random.Generator, kind: str) -> Data:
    """Return what cannot be completed."""
    values = g.standard_normal((8, 5 if kind == "not square" else 8))
    if kind == "infinite":
        values[2, 3] = np.inf
    return Data({"X": values})
