"""A seen matrix with its gaps filled by a draw that is mirrored to the right side, times columns: without making it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.data.observations import Observations
from unrelu._old.kernels import kernel_for
from unrelu._old.model.losses import Observed, OneSided

__all__ = ["MirroredPasses"]


class MirroredPasses:
    """The filled matrix of the tailored start times columns, made of residuals alone, which every kernel knows.

    With q = YYᵀ the residual of the squares on what was seen is S = q − m there and 0 elsewhere. The one-sided loss
    adds the hinge H, how far q is on the wrong side of the threshold. Where an entry is absent the start has q mirrored
    to the right side, q − 2H; where it was seen it has m = q − S. So the filled matrix is q − 2(S + H) + S.

    Of a table q stands beside the diagonal blocks alone. With the columns' rows of Y turned round, as Ỹ, it is
    (YYᵀ − ỸỸᵀ)/2 there and 0 in those blocks.
    """

    def __init__(self, observations: Observations, Y: Array) -> None:
        if observations.source.tensor is not None:  # a start needs few digits, and single ones are quick there
            single = observations.source.in_dtype(np.float32)
            observations = replace(observations, source=single, scanned=observations._counts)
        seen = kernel_for(observations.seen_only, Observed())
        self._nothing = observations.limits.nothing
        self._one_sided = None if self._nothing else kernel_for(observations, OneSided())
        self._seen, self._Y = seen, np.zeros_like(Y) if self._nothing else Y
        cut = observations.source.cut
        turned = None if cut is None else self.brought(np.concatenate([self._Y[:cut], -self._Y[cut:]]))
        self._Y, self._turned = self.brought(self._Y), turned
        own = np.arange(observations.size)
        quiet = ~observations.source.diagonal_seen() & ~observations.told_at(own, own) & (cut is None)
        self._quiet = (np.einsum("ik,ik->i", Y, Y) * quiet).astype(Y.dtype)[:, None]

    def brought(self, V: Array) -> Array:
        """Columns where the passes run."""
        there: Array = self._seen.brought(V) if hasattr(self._seen, "brought") else V
        return there

    def __call__(self, V: Array) -> Array:
        """Two passes."""
        found = self._seen.residual_times(self._Y, V)
        if self._one_sided is None:
            return -found
        found = found - 2 * self._one_sided.residual_times(self._Y, V)
        found = found + self._drawn(V)
        return found - self._quiet * V if self._quiet.any() else found

    def _drawn(self, V: Array) -> Array:
        """What q is, times columns."""
        product: Array = self._Y @ (self._Y.T @ V)
        if self._turned is None:
            return product
        return (product - self._turned @ (self._turned.T @ V)) * V.dtype.type(0.5)
