"""The paper's numbers and claims, as the data file has them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

__all__ = ["printed", "spread_text"]


@cache
def printed() -> dict[str, Any]:
    """The data file: ``numbers`` and ``claims`` by key.

    Examples
    --------
    >>> printed()["numbers"]["rank/breakdown"]["value"]
    45
    """
    text = files("unrelu._old.experiments").joinpath("printed.json").read_text(encoding="utf-8")
    content = json.loads(text)
    return {kind: {entry["key"]: entry for entry in content[kind]} for kind in ("numbers", "claims")}


def spread_text(values: Sequence[float]) -> str:
    """Mean and deviation, as the paper prints them.

    Examples
    --------
    >>> spread_text([0.5, 0.7])
    '0.6 ± 0.14'
    """
    if not values:
        return "nothing"
    if len(values) == 1:
        return f"{values[0]:.3g}"
    deviation = float(np.std(values, ddof=1))
    return f"{float(np.mean(values)):.3g} ± {deviation:.2g}"
