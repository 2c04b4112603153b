"""Why entries are missing, found from the data: thresholds, shares at random, detection curves."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from tests.golden import planted
from tests.golden.case import Case, Data

__all__ = ["cases"]


def lost(
    g: np.random.Generator,
    n: int = 60,
    r: int = 2,
    *,
    level: float = 0.3,
    width: float = 0.0,
    share: float = 0.0,
    noise: float = 0.1,
) -> Data:
    """Draw a matrix of which entries are lost below a level, smoothly if it has a width, and a share at random."""
    u = planted.factor(g, n, r)
    truth = u @ u.T
    values = truth + planted.symmetric_noise(g, n, noise)
    blur, chance = g.standard_normal((n, n)), g.random((n, n))
    blur, chance = (np.triu(draw) + np.triu(draw, 1).T for draw in (blur, chance))
    kept = (values + width * blur >= level) & (chance >= share)
    return Data({"X": np.where(kept, values, np.nan)}, truth, noise)


def lost_table(
    g: np.random.Generator, m: int = 60, n: int = 40, r: int = 2, *, share: float, noise: float = 0.1
) -> Data:
    """Draw a rectangular matrix of which entries are lost below 0.3, and a share at random."""
    truth = g.standard_normal((m, r)) @ g.standard_normal((r, n))
    values = truth + noise * g.standard_normal((m, n))
    kept = (values >= 0.3) & (g.random((m, n)) >= share)
    return Data({"X": np.where(kept, values, np.nan)}, truth, noise)


def cases() -> Iterator[Case]:
    """Yield the instances of this module."""
    wants = ("detection", "intervals")
    auto = {"rank": 2, "threshold": "auto"}
    draw = partial(planted.matrix, n=60, r=2, threshold=0.4)
    yield Case("missing/threshold-auto", "complete", draw, auto, wants, quick=True)
    draw = partial(planted.matrix, n=60, r=2, threshold=0.4, noise=0.1)
    yield Case("missing/threshold-auto noisy", "complete", draw, auto, wants)
    yield Case("missing/threshold-auto without rank", "complete", draw, {"threshold": "auto"}, wants)
    draw = partial(planted.matrix, n=60, r=2, noise=0.1)
    yield Case("missing/threshold-auto zero", "complete", draw, auto, wants)
    draw = partial(planted.matrix, n=60, r=2, threshold=0.4, noise=0.1, observed="below")
    yield Case("missing/threshold-auto below", "complete", draw, auto | {"observed": "below"}, wants)
    drawn = {
        "random": partial(lost, level=-np.inf, share=0.4),
        "mixed": partial(lost, share=0.2),
        "curve": partial(lost, width=0.4),
        "censored": lost,
    }
    for kind, draw in drawn.items():
        seed = f"missing/{kind}"
        options = auto | {"missing": kind}
        name = seed if kind != "censored" else "missing/censored named"
        yield Case(name, "complete", draw, options, wants, seed=seed, quick=kind == "mixed")
        name = f"missing/auto on {kind}" if kind != "mixed" else "missing/auto"
        yield Case(name, "complete", draw, auto | {"missing": "auto"}, wants, seed=seed)
    named = {"rank": 2, "threshold": 0.3, "missing": "mixed"}
    yield Case("missing/mixed at a threshold", "complete", partial(lost, share=0.2), named, wants)
    yield Case("missing/mixed without rank", "complete", partial(lost, share=0.2), {"missing": "mixed"}, wants)
    options = auto | {"missing": "mixed", "structure": "rectangular"}
    yield Case("missing/rectangular-mixed", "complete", partial(lost_table, share=0.2), options, ("detection",))
    options = auto | {"missing": "auto", "structure": "rectangular"}
    yield Case("missing/rectangular-auto", "complete", partial(lost_table, share=0.0), options, ("detection",))
    refused = {"rank": 2, "threshold": None, "missing": "mixed"}
    yield Case("missing/refused", "complete", lost, refused)
