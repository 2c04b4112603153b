"""Passes over all entries in blocks: what a fit leaves of them, and what each row asks for.

With the other rows held, row i of the fit UUᵀ is a problem of its own: its gradient is g_i = Σ_j s_ij u_j, its
curvature N_i = Σ_j w_ij u_j u_jᵀ. A seen entry has the slope s = u_i·u_j − m_ij and the weight 1. With noise σ an
unseen one has those of −σ² log Φ(z), z = (τ − u_i·u_j)/σ: with h = φ(z)/Φ(z) the slope σh and the weight h(h + z). One
pass finds g_i and N_i of all rows. A block is read, used and forgotten; nothing n×n is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrelu.base.arrays import Array, Floats
from unrelu.kernels.threads import in_order
from unrelu.scale.arithmetic import Work
from unrelu.scale.blocks import Asked, Data, Totals

__all__ = ["SIDE", "Found", "look"]

# Rows and columns of a block where the source has no grid of its own.
SIDE = 1024


@dataclass(eq=False)
class Found:
    """What a pass adds up: for the rows, and of a table for the columns, in two pieces of one array each."""

    seen: NDArray[np.int64]
    gradient: Floats
    normal: NDArray[np.floating[Any]]
    squares: Floats  # what is left of the seen entries of each, where the gradient is asked for
    totals: Totals = field(default_factory=Totals)
    done: int = 0  # blocks

    @classmethod
    def nothing(cls, size: int, rank: int, asked: Asked) -> Found:
        """Before the first block."""
        some, wide = rank * (rank + 1) // 2 if asked.curvature else 0, rank if asked.gradient else 0
        return cls(np.zeros(size, np.int64), np.zeros((size, wide)), np.zeros((size, some)), np.zeros(size))


def look(
    data: Data,
    factors: tuple[Array, Array],
    asked: Asked,
    side: int = SIDE,
    found: Found | None = None,
    told: Callable[[Found, int], object] = lambda found, rows: None,
) -> Found:
    """One pass: ``factors`` are U twice, or L and R; ``told`` hears after each block what there is so far.

    With ``found`` from an earlier pass that was cut short it goes on from there, to the same last digit.
    """
    dtype = data.source.dtype
    left, right = (factor.astype(dtype, copy=False) for factor in factors)
    right = left if factors[0] is factors[1] else right
    height, blocks = len(left), data.blocks(side)
    size = height if data.symmetric else height + len(right)
    found = Found.nothing(size, left.shape[1], asked) if found is None else found
    work = Work(data, left, right, asked)

    def read(block: tuple[slice, slice]) -> Array:
        return data.source.block(*block)

    parts = in_order(blocks[found.done :], read, work.block, threads=data.source.thread_safe)
    for (rows, cols), part in zip(blocks[found.done :], parts, strict=True):
        there = cols if data.symmetric else slice(height + cols.start, height + cols.stop)
        for place, side_of in ((rows, part.rows), (there, part.cols)):
            found.seen[place] += side_of[0]
            found.squares[place] += side_of[3]
            found.gradient[place] += side_of[1]
            found.normal[place] += side_of[2]
        found.totals += part.totals
        found.done += 1
        told(found, rows.stop - rows.start)
    return found
