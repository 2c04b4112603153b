"""Passes over all entries in blocks: what a fit leaves of them, and what each row asks for.

With the other rows held, row i of the fit UUᵀ is a problem of its own: its gradient is g_i = Σ_j s_ij u_j, its
curvature N_i = Σ_j w_ij u_j u_jᵀ. A seen entry has the slope s = u_i·u_j − m_ij and the weight 1. With noise σ an
unseen one has those of −σ² log Φ(z), z = (τ − u_i·u_j)/σ: with h = φ(z)/Φ(z) the slope σh and the weight h(h + z). One
pass finds g_i and N_i of all rows. A block is read, used and forgotten; nothing n×n is kept.
"""

from __future__ import annotations

from unrelu._old.base.arrays import Array, Floats, Indices
from unrelu._old.scale.blocks import SIDE, Asked, Data, Found
from unrelu._old.scale.engines import engine_of
from unrelu._old.scale.engines.protocol import Attached, Looked
from unrelu._old.scale.rows import Placed, Reader

__all__ = ["attach", "look"]


def look(
    data: Data,
    factors: tuple[Array, Array],
    asked: Asked,
    side: int = SIDE,
    found: Found | None = None,
    told: Looked = lambda found, rows: None,
) -> Found:
    """One pass: ``factors`` are U twice, or L and R; ``told`` hears after each block what there is so far.

    With ``found`` from an earlier pass that was cut short it goes on from there, to the same last digit.
    """
    return engine_of(data.source).look(data, factors, asked, side, found, told)


def attach(
    read: Reader,
    anchors: tuple[Indices, Floats],
    into: Placed,
    least: float,
    rows: Indices | None = None,
    told: Attached = lambda placed, rows: None,
) -> None:
    """Place all rows, or some, against anchors: their positions, and their factor.

    A row counts as placed if the anchors it sees span every direction to the share ``least``. ``told`` hears after each
    block how many rows were done.
    """
    engine_of(read.source).attach(read, anchors, into, least, rows, told)
