"""Factors as matrix units read them: eleven bits at a time, and as wide as a power of two.

A product of single-precision numbers is the sum of three products of their parts, and that is one product of factors
three times as wide: [h h l] [h l h]ᵀ = hh + hl + lh, with h the first eleven bits and l the rest, of which a unit drops
the last bit or two. That, and what is left out, ll, is below single precision. So a fit takes no more than one product,
and nothing is cut into parts tile by tile.
"""

from __future__ import annotations

import torch

__all__ = ["Pair", "padded", "parts", "sides", "width_of"]

# Matrix units take no product narrower than this, and no tile has room for one wider than that.
NARROWEST, WIDEST = 16, 128
# Rows are padded to so many: no tile has more.
ROWS = 128
# Of single precision 24 bits count: 13 are cut off, after half of the last that stays was added.
CUT, HALF = -(1 << 13), 1 << 12

Pair = tuple[torch.Tensor, torch.Tensor]


def parts(factor: torch.Tensor) -> Pair:
    """The first eleven bits of each number, rounded, and the rest, which is at most half of the last of them.

    Examples
    --------
    >>> high, low = parts(torch.tensor([1.0 + 2**-12 + 2**-20, 3.0]))
    >>> high.tolist(), (low * 2**20).tolist()
    ([1.0, 3.0], [257.0, 0.0])
    """
    high = ((factor.view(torch.int32) + HALF) & CUT).view(torch.float32)
    return high, factor - high


def width_of(rank: int) -> int:
    """The power of two that so many columns are padded to."""
    return max(NARROWEST, 1 << (rank - 1).bit_length())


def padded(factor: torch.Tensor) -> torch.Tensor:
    """With columns of zeros up to a power of two, and rows of zeros up to whole tiles."""
    rows = -(-len(factor) // ROWS) * ROWS
    wide = torch.zeros((rows, width_of(factor.shape[1])), dtype=factor.dtype, device=factor.device)
    wide[: len(factor), : factor.shape[1]] = factor
    return wide


def sides(pair: Pair, precise: bool) -> tuple[torch.Tensor, torch.Tensor, str]:
    """The two sides of a fit, and how their product is made: ``tf32`` of parts, or by the unit itself."""
    if pair[0].dtype != torch.float32:
        return padded(pair[0]), padded(pair[1]), "ieee"
    if precise and 3 * pair[0].shape[1] > WIDEST:
        return padded(pair[0]), padded(pair[1]), "tf32x3"
    (high, low), (other, rest) = (parts(side) for side in pair)
    if not precise:
        return padded(high), padded(other), "tf32"
    return padded(torch.cat([high, high, low], 1)), padded(torch.cat([other, rest, other], 1)), "tf32"
